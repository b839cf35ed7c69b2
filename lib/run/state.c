/* SPDX-License-Identifier: BSD-3-Clause */
/* What a balancer knows, as bytes for a restart file. */
#include "run/balancer.h"
#include "run/bytes.h"

#include <equipoise/base.h>
#include <equipoise/units.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Begins the bytes; another form gets another name. */
static const char magic[8] = "EQPBAL7";

/* What is the same for every number of ranks, then what is not, then the shared owners of the map. */
typedef struct head {
    char magic[8];
    int64_t nranks, nkinds, known, has_map, kept, calibrated, scaled;
    eqp_noise_state noise;
    eqp__table_size table;
    eqp_cost_fit fit;
    eqp_cost_sums samples;
    eqp_costs overhead;
    double scatter, steps;
    eqp_policy policy;
    eqp_units_totals totals;
    eqp_step now;
    eqp_exchange_plan plan;
    eqp_auto_memory memory;
} head;

/* Of a rank: its row, what calibration and noise have seen, its speed. */
#define RANK_BYTES (sizeof(eqp_rank_row) + (5 + EQP__RANK_NOISE_ROWS) * sizeof(double))

static size_t bytes_of(const head *h)
{
    return sizeof *h + (size_t)h->nranks * RANK_BYTES + eqp__table_bytes(&h->table);
}

/* That of all ranks. */
static void pass_ranks(eqp__cursor *c, eqp_balancer *b)
{
    const size_t n = (size_t)b->nranks;
    double none = 0.0;

    eqp__pass(c, b->row, n * sizeof *b->row);
    for (size_t i = 0; i < 4 * n; i++) {
        eqp__pass(c, b->calibration.load != NULL ? &b->calibration.load[i] : &none, sizeof none);
    }
    eqp__pass(c, b->noise.last, EQP__RANK_NOISE_ROWS * n * sizeof(double));
    eqp__rank_shares_pass(b->shares, c->reads, (void *)c->at);
    c->at += n * sizeof(double);
}

int eqp_balancer_pack(const eqp_balancer *balancer, size_t *size, void **bytes)
{
    eqp_balancer *const b = (eqp_balancer *)(uintptr_t)balancer;
    unsigned char *made = NULL;
    int code;

    if (b == NULL || size == NULL || bytes == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    head h;
    memset(&h, 0, sizeof h); /* no byte is left to chance */
    memcpy(h.magic, magic, sizeof magic);
    h.nranks = b->nranks;
    h.nkinds = b->model.nkinds;
    h.table = eqp__table_of(b->map);
    h.known = b->costs.known;
    h.has_map = b->has_map;
    h.kept = b->kept;
    h.calibrated = b->calibration.active;
    h.scaled = b->calibration.scaled;
    h.fit = b->costs.fit;
    h.samples = b->costs.samples;
    h.overhead = b->overheads.costs;
    h.scatter = b->overheads.scatter;
    h.steps = b->overheads.steps;
    h.policy = b->policy;
    h.noise = b->noise.now;
    h.totals = b->totals;
    h.now = b->now;
    h.plan = b->plan;
    h.memory = b->memory;
    EQP_TRY(eqp_array_create(&made, (int64_t)bytes_of(&h), 1));
    eqp__cursor c = {made, false};
    eqp__pass(&c, &h, sizeof h);
    pass_ranks(&c, b);
    eqp__table_write(&c, b->map);
    *size = bytes_of(&h);
    *bytes = made;
done:
    return code;
}

/* Whether a byte of a file is a truth value. */
static bool can_be_bool(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, 1);
    return byte <= 1;
}

static bool can_be_fit(int nkinds, const eqp_cost_fit *fit, const eqp_cost_sums *samples)
{
    bool can_be = fit->nkinds == nkinds && samples->nkinds == nkinds && samples->weighting == EQP_COST_RELATIVE;

    for (int k = 0; k < nkinds; k++) {
        can_be = can_be && isfinite(fit->cost[k]) && fit->cost[k] >= 0;
    }
    for (int k = 0; k < EQP_COST_KINDS; k++) {
        can_be = can_be && can_be_bool(&fit->seen[k]);
    }
    for (int i = 0; i < EQP_COST_SUMS; i++) {
        can_be = can_be && isfinite(samples->sum[i]);
    }
    return can_be;
}

static bool can_be_costs(const eqp_balancer *b, const head *h)
{
    return can_be_fit(b->model.nkinds, &h->fit, &h->samples) && can_be_bool(&h->overhead.known) &&
           can_be_fit(b->overheads.costs.fit.nkinds, &h->overhead.fit, &h->overhead.samples) && isfinite(h->scatter) &&
           isfinite(h->steps) && h->steps >= 0;
}

static bool can_be_plan(const head *h)
{
    return h->plan.stages >= EQP_STAGES_DIRECT && h->plan.stages <= EQP_STAGES_LOG && h->plan.broadcast >= 0 &&
           h->plan.node >= 1 && h->nranks % h->plan.node == 0;
}

/* All but the map, which is there. */
static void take_head(eqp_balancer *b, const head *h)
{
    const eqp_policy_options options = b->policy.options;

    if (!b->options.fixed_costs) {
        b->costs.fit = h->fit;
        b->costs.samples = h->samples;
        b->costs.known = h->known != 0;
        b->overheads.costs.fit = h->overhead.fit;
        b->overheads.costs.samples = h->overhead.samples;
        b->overheads.costs.known = h->overhead.known;
    }
    b->overheads.scatter = h->scatter;
    b->overheads.steps = h->steps;
    if (h->nranks != b->nranks) { /* what a piece of work costs is all that still holds */
        return;
    }
    b->policy = h->policy;
    b->policy.options = options;
    b->noise.now = h->noise;
    b->policy.left = b->left = INT64_MAX; /* this run may be longer than that one was to be */
    b->totals = h->totals;
    b->has_map = h->has_map != 0;
    b->kept = h->kept != 0;
    b->now = h->now;
    b->now.chosen[sizeof b->now.chosen - 1] = '\0';
    b->now.why[0] = '\0';
    b->now.lazy = EQP_LAZY_IDLE;
    b->born = b->clock - 1 - h->now.map_age;
    b->now.action = EQP_KEEP;
    b->plan = b->options.plan_auto ? h->plan : b->plan;
    b->memory = h->memory;
    b->calibration.active = h->calibrated != 0 && b->calibration.load != NULL;
    b->calibration.scaled = h->scaled != 0 && b->calibration.load != NULL;
}

int eqp_balancer_unpack(eqp_balancer *balancer, size_t size, const void *bytes)
{
    eqp_balancer *const b = balancer;
    eqp_map *map = NULL;
    head h;
    int code;

    if (b == NULL || bytes == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    if (size < sizeof h) {
        return EQP_ERR_FORMAT;
    }
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.nranks < 1 || h.nranks > INT32_MAX ||
        !eqp__can_be_table(&h.table, size) || bytes_of(&h) != size || !can_be_costs(b, &h) || !can_be_plan(&h) ||
        !eqp__auto_can_be(&h.memory) || !eqp__noise_can_be(&h.policy.noise, &h.noise) ||
        !can_be_bool(&h.policy.has_map) || !can_be_bool(&h.policy.repairable) || !can_be_bool(&h.now.rebalanced)) {
        return EQP_ERR_FORMAT;
    }
    eqp__cursor c = {(unsigned char *)(uintptr_t)bytes + sizeof h, true};
    if (h.nranks == b->nranks) {
        eqp__cursor table = {c.at + (size_t)h.nranks * RANK_BYTES, true};
        EQP_TRY(eqp__table_read(&table, &h.table, b->nranks, &map));
        pass_ranks(&c, b);
        eqp_map_free(b->map);
        b->map = map;
    }
    take_head(b, &h);
    code = EQP_OK;
done:
    return code;
}
