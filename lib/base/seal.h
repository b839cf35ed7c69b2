/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that a caller keeps and hands back end with a checksum of all before it, so that damaged ones are refused. */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the checksum. */
#define EQP__SEAL 8

/* Writes the checksum of the first size - EQP__SEAL bytes into the last ones. size: at least EQP__SEAL. */
void eqp__seal(void *bytes, size_t size);

/* True if the bytes end with their checksum. A change within one aligned word of 8 bytes never passes, any other one
 * with a probability of 2^-64. */
bool eqp__sealed(const void *bytes, size_t size);

#endif
