/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of data files in XML. */
#ifndef EQP_IO_OUTPUT_H
#define EQP_IO_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Base name of a file. XML files refer to data files in their own folder. */
const char *eqp__base_name(const char *path);
bool eqp__same_folder(const char *a, const char *b);

/* Escapes text for XML. */
void eqp__put_escaped(FILE *to, const char *text);

#endif
