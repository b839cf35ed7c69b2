/* SPDX-License-Identifier: BSD-3-Clause */
/* A text file that replaces an older one whole or not at all. */
#ifndef EQP_IO_OUTPUT_H
#define EQP_IO_OUTPUT_H

#include <equipoise/base.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct eqp__output {
    char *path, *temporary; /* owned */
    FILE *to;
} eqp__output;

/* On error nothing is left, and *output holds nothing. */
int eqp__output_begin(const char *path, eqp__output *output, eqp_message *message);

/* Has all been written so far? To be asked soon after writing, while the reason is known. */
int eqp__output_check(const eqp__output *output, eqp_message *message);

/* Both free what the output holds; on error no temporary file is left. */
int eqp__output_finish(eqp__output *output, eqp_message *message);
void eqp__output_discard(eqp__output *output);

/* Files that name others do so without folders: they must be in the same one. */
const char *eqp__base_name(const char *path);
bool eqp__same_folder(const char *a, const char *b);

/* Text as XML wants it. */
void eqp__put_escaped(FILE *to, const char *text);

#endif
