/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that name others, and XML. */
#ifndef EQP_IO_OUTPUT_H
#define EQP_IO_OUTPUT_H

#include <equipoise/file.h>

#include <stdbool.h>

/* Files that name others do so without folders: they must be in the same one. */
const char *eqp__base_name(const char *path);
bool eqp__same_folder(const char *a, const char *b);

/* Text as XML wants it. */
void eqp__put_escaped(FILE *to, const char *text);

#endif
