/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a balancer as bytes for a restart file. */
#include "run/run.h"

#include <limits.h>

/* Starts the bytes; changes with their format. A checksum ends them. */
static const char magic[8] = "EQPBAL8";

/* The part that does not depend on the number of ranks; the rows of all ranks and the map's shared owners follow. */
typedef struct head {
    char magic[8];
    char word[EQP_WORD_SIZE]; /* the method */
    int64_t nranks, nkinds, known;
    eqp__kept_run run;
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
    eqp__kept_calibration calibration;
    eqp__kept_shares shares;
    eqp__kept_feedback feedback;
} head;

/* Per rank: its row, the records of calibration and noise, its speed and their inputs, its best part. */
#define RANK_BYTES (sizeof(eqp_rank_row) + (4 + EQP__RANK_NOISE_ROWS + EQP__SHARE_ROWS + 1) * sizeof(double))

static size_t bytes_of(const head *h)
{
    return sizeof *h + (size_t)h->nranks * RANK_BYTES + eqp__table_bytes(&h->table) + EQP__SEAL;
}

static void pass_ranks(eqp__cursor *c, eqp_balancer *b, head *h)
{
    const size_t n = (size_t)b->nranks;
    double none = 0.0;

    eqp__pass(c, b->row, n * sizeof *b->row);
    for (size_t i = 0; i < 4 * n; i++) {
        eqp__pass(c, b->calibration.load != NULL ? &b->calibration.load[i] : &none, sizeof none);
    }
    eqp__pass(c, b->noise.last, EQP__RANK_NOISE_ROWS * n * sizeof(double));
    eqp__rank_shares_pass(b->shares, c);
    eqp__feedback_steps_pass(b->feedback, b->nranks, &h->feedback, c);
}

static void fill_head(const eqp_balancer *b, head *h)
{
    memset(h, 0, sizeof *h); /* no uninitialized bytes */
    memcpy(h->magic, magic, sizeof magic);
    memcpy(h->word, b->options.method.word, sizeof h->word);
    h->nranks = b->nranks;
    h->nkinds = b->model.nkinds;
    h->table = eqp__table_of(b->map);
    h->known = b->costs.known;
    h->run = b->run;
    h->fit = b->costs.fit;
    h->samples = b->costs.samples;
    h->overhead = b->overheads.costs;
    h->scatter = b->overheads.scatter;
    h->steps = b->overheads.steps;
    h->policy = b->policy;
    h->noise = b->noise.now;
    h->totals = b->totals;
    h->now = b->now;
    h->plan = b->plan;
    h->memory = b->memory;
    h->calibration = b->calibration.now;
    h->shares = *eqp__rank_shares_kept(b->shares);
}

int eqp_balancer_pack(const eqp_balancer *balancer, size_t *size, void **bytes)
{
    eqp_balancer *const b = (eqp_balancer *)(uintptr_t)balancer;
    unsigned char *made = NULL;
    head h;

    EQP__FAIL_IF(b == NULL || size == NULL || bytes == NULL, EQP_ERR_ARGUMENT);
    fill_head(b, &h);
    EQP_CHECK(eqp_array_create(&made, (int64_t)bytes_of(&h), 1));
    eqp__cursor head_at = {made, false}, c = {made + sizeof h, false};
    pass_ranks(&c, b, &h);
    eqp__pass(&head_at, &h, sizeof h);
    eqp__table_write(&c, b->map);
    eqp__seal(made, bytes_of(&h));
    *size = bytes_of(&h);
    *bytes = made;
    return EQP_OK;
}

static bool can_be_bool(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, 1);
    return byte <= 1;
}

static bool can_be_fit(int nkinds, const eqp_cost_fit *fit, const eqp_cost_sums *samples)
{
    bool can_be = fit->nkinds == nkinds && samples->nkinds == nkinds && samples->relative == 1;

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

static bool can_be_count(int64_t n)
{
    return n >= 0 && n <= INT64_C(1) << 62;
}

static bool can_be_policy(const head *h)
{
    return eqp__policy_can_be(&h->policy) && can_be_bool(&h->policy.has_map) && can_be_bool(&h->policy.repairable) &&
           eqp__noise_can_be(&h->policy.noise, &h->noise);
}

/* True if the numbers of the last step that are still used are valid. */
static bool can_be_step(const eqp_step *now)
{
    return can_be_bool(&now->rebalanced) && isfinite(now->imbalance_promised) && isfinite(now->imbalance_work) &&
           eqp__is_amount(now->load_mean) && eqp__is_amount(now->memory_use) && can_be_count(now->map_age) &&
           memchr(now->chosen, 0, sizeof now->chosen) != NULL && memchr(now->why, 0, sizeof now->why) != NULL;
}

static bool can_be_map(const head *h)
{
    const eqp__kept_run *r = &h->run;

    return r->action >= EQP_KEEP && r->action <= EQP_RENEW && r->grain >= 0 && r->grain <= INT32_MAX &&
           r->grain_lost >= 0 && r->grain_lost <= EQP__GRAIN_LOST && r->grain_rest >= 0 &&
           r->grain_rest < INT64_C(1) << EQP__GRAIN_LOST && can_be_count(r->clock) && can_be_count(r->repaired) &&
           can_be_count(r->late) && eqp__is_amount(r->inline_seconds) && eqp__is_amount(r->take_seconds) &&
           eqp__is_amount(r->memory_made) && h->now.map_age <= r->clock && can_be_count(h->totals.owners) &&
           can_be_count(h->totals.interactions) && can_be_count(h->totals.weight) && can_be_count(h->totals.draws);
}

static bool can_be_objects(const head *h)
{
    const eqp__kept_calibration *c = &h->calibration;
    const eqp__kept_shares *s = &h->shares;

    return can_be_count(c->steps) && c->in_vain >= 0 && c->in_vain < INT_MAX / 2 && isfinite(c->uneven) &&
           eqp__is_amount(c->noise) && isfinite(c->before) && s->maps >= 0 && s->maps < INT_MAX / 2 &&
           can_be_count(s->steps) && can_be_count(s->evaluations) && eqp__feedback_steps_can_be(&h->feedback);
}

/* True if the numbers of all ranks that are still used are finite. Other members of a row belong to the caller. */
static bool can_be_ranks(const unsigned char *at, int64_t nranks)
{
    const size_t rows = (size_t)nranks * sizeof(eqp_rank_row), all = (size_t)nranks * RANK_BYTES;
    bool can_be = true;
    double value;

    for (int64_t r = 0; r < nranks; r++) {
        eqp_rank_row row;
        memcpy(&row, at + (size_t)r * sizeof row, sizeof row);
        can_be = can_be && eqp__is_amount(row.load) && eqp__is_amount(row.work) && eqp__is_amount(row.predicted) &&
                 eqp__is_amount(row.speed);
    }
    for (size_t i = rows; i < all && can_be; i += sizeof value) {
        memcpy(&value, at + i, sizeof value);
        can_be = isfinite(value);
    }
    return can_be;
}

static bool can_be_head(const eqp_balancer *b, const head *h, size_t size)
{
    return memcmp(h->magic, magic, sizeof magic) == 0 && memchr(h->word, 0, sizeof h->word) != NULL && h->nranks >= 1 &&
           h->nranks <= INT32_MAX && eqp__can_be_table(&h->table, size) && bytes_of(h) == size && can_be_costs(b, h) &&
           can_be_plan(h) && can_be_policy(h) && can_be_step(&h->now) && can_be_map(h) &&
           eqp__auto_can_be(&h->memory) && can_be_objects(h);
}

/* Costs are valid for any number of ranks. */
static void take_costs(eqp_balancer *b, const head *h)
{
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
}

/* Takes everything else except the map, which is already set. */
static void take_head(eqp_balancer *b, const head *h)
{
    const eqp_policy_options options = b->policy.options;

    b->policy = h->policy;
    b->policy.options = options;
    b->noise.now = h->noise;
    if (h->policy.left == 0) { /* the run has been extended */
        b->policy.left = INT64_MAX;
    }
    b->left = b->policy.left;
    b->totals = h->totals;
    b->run = h->run;
    b->run.grain = h->run.grain < b->problem.ngrains ? h->run.grain : 0;
    b->unpaid = b->run.action != EQP_KEEP;
    b->map_seconds = 0.0;
    b->now = h->now;
    b->now.lazy = b->news = EQP_LAZY_IDLE; /* offers do not survive a restart */
    b->born = b->run.clock - 1 - h->now.map_age;
    b->plan = b->options.plan_auto ? h->plan : b->plan;
    b->memory = h->memory;
    if (b->calibration.load != NULL) {
        b->calibration.now = h->calibration;
    }
    *eqp__rank_shares_kept(b->shares) = h->shares;
}

int eqp_balancer_unpack(eqp_balancer *balancer, size_t size, const void *bytes)
{
    eqp_balancer *const b = balancer;
    const unsigned char *const at = bytes;
    eqp_map *map = NULL;
    head h;

    EQP__FAIL_IF(b == NULL || bytes == NULL, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(size < sizeof h + EQP__SEAL || !eqp__sealed(bytes, size), EQP_ERR_FORMAT);
    memcpy(&h, bytes, sizeof h);
    EQP__FAIL_IF(!can_be_head(b, &h, size) || !can_be_ranks(at + sizeof h, h.nranks), EQP_ERR_FORMAT);
    if (h.nranks == b->nranks && strcmp(h.word, b->options.method.word) == 0) {
        eqp__cursor c = {(unsigned char *)(uintptr_t)at + sizeof h, true};
        eqp__cursor table = {c.at + (size_t)h.nranks * RANK_BYTES, true};
        EQP_CHECK(eqp__table_read(&table, &h.table, b->nranks, &map));
        pass_ranks(&c, b, &h);
        eqp_map_free(b->map);
        b->map = map;
        take_head(b, &h);
    }
    take_costs(b, &h);
    return EQP_OK;
}
