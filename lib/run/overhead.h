/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU seconds of a step outside interactions: a cost per particle held, per ghost, per byte sent and per rank,
 * fitted to the busy seconds of steps that kept their map. */
#ifndef RUN_OVERHEAD_H
#define RUN_OVERHEAD_H

#include "cost/costs.h"

#include <equipoise/balancer.h>
#include <equipoise/problem.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct eqp_overheads {
    eqp_overhead nominal;
    eqp_costs costs;
    double scatter; /* sum of log(measured / expected seconds) of the busiest ranks; fades */
    double steps;   /* number of these ranks; fades */
} eqp_overheads;

/* nominal: may be NULL. EQP_OK or EQP_ERR_ARGUMENT for costs out of range. */
int eqp__overheads_init(eqp_overheads *o, const eqp_overhead *nominal);

/* The fitted costs; before the first fit, the nominal ones. */
eqp_overhead eqp__overheads_now(const eqp_overheads *o);

/* Expected CPU seconds outside interactions of the rank with this row, in a step with this many evaluations. */
double eqp__overheads_predict(const eqp_overheads *o, const eqp_rank_row *row, int64_t evaluations);

/* Fits the costs again. rows: of all ranks, of a step that kept its map; rows without busy_seconds are left out. EQP_OK
 * or EQP_ERR_DATA for seconds that are not finite. Local. Allocates nothing, since it runs after the ranks have agreed,
 * when a single rank must not fail. */
int eqp__overheads_learn(eqp_overheads *o, int nranks, const eqp_rank_row *rows, int64_t evaluations);

/* Ratio of the busiest rank's seconds to the expected ones, from earlier steps; 1 without any. With scatter, the
 * maximum over many ranks exceeds the largest of their means. */
double eqp__overheads_factor(const eqp_overheads *o);

/* Records a step: seconds of its busiest rank, and of the rank expected to be busiest; ignored unless both are > 0. */
void eqp__overheads_scatter(eqp_overheads *o, double measured, double foretold);

/* Copies to or from bytes, which must be long enough. */
typedef struct eqp__cursor {
    unsigned char *at;
    bool reads;
} eqp__cursor;

void eqp__pass(eqp__cursor *c, void *data, size_t size);

/* Sizes of a map's table: owners shared by positions of interactions, and paths through phases. */
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
