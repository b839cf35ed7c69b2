/* SPDX-License-Identifier: BSD-3-Clause */
/* A balancer's state as bytes, readable by the same version on the same kind of machine. */
#ifndef RUN_BYTES_H
#define RUN_BYTES_H

#include <equipoise/problem.h>

#include <stdbool.h>
#include <stddef.h>

/* Copies to or from bytes, which are long enough. */
typedef struct eqp__cursor {
    unsigned char *at;
    bool reads;
} eqp__cursor;

void eqp__pass(eqp__cursor *c, void *data, size_t size);

/* The table of a map: owners shared by where interactions are, ways through phases. */
typedef struct eqp__table_size {
    int64_t nshared, nunits, nphased, nphases;
} eqp__table_size;

eqp__table_size eqp__table_of(const eqp_map *map);
size_t eqp__table_bytes(const eqp__table_size *size);

/* True if such a table fits in `size` bytes; eqp__table_bytes() then cannot overflow. */
bool eqp__can_be_table(const eqp__table_size *size, size_t bytes);
void eqp__table_write(eqp__cursor *c, const eqp_map *map);

/* Returns EQP_ERR_FORMAT unless the table is valid for this number of ranks. */
int eqp__table_read(eqp__cursor *c, const eqp__table_size *size, int nranks, eqp_map **map);

#endif
