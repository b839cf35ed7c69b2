/* SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include "share.h"

#include <equipoise/base.h>
#include <equipoise/curve.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

const app_work_model dd_work_model = {DD_KINDS, dd_kind_nominal, 0};

/* What moves with a node. */
static int64_t bytes_of(const dd_node *node)
{
    return (int64_t)sizeof *node + node->narms * (int64_t)sizeof *node->arm;
}

int dd_keys(const dd_domain *domain, uint64_t **keys)
{
    const int64_t n = domain->network.n;
    const double side = fmax(domain->edge[0], fmax(domain->edge[1], domain->edge[2]));
    double *x = NULL;
    int code = eqp_array_create(&x, 3 * n, sizeof *x);

    if (code == EQP_OK) {
        code = eqp_array_create(keys, n, sizeof **keys);
    }
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        for (int d = 0; d < 3; d++) {
            x[d * n + i] = domain->network.node[i].x[d];
        }
    }
    if (code == EQP_OK && n > 0) {
        code = eqp_hilbert_keys(n, x, x + n, x + 2 * n, domain->low, side, *keys);
    }
    free(x);
    return code;
}

/* What a survey looks at. */
typedef struct surveyor {
    const dd_domain *domain;
    const dd_stage *stage;
    const dd_evaluator *evaluator;
    uint64_t seed;
    app_survey *survey;
    uint64_t *pin_key; /* [local segments] of each segment's owner */
} surveyor;

static int64_t as_pin(const surveyor *s, dd_tag tag)
{
    return eqp_pin_key(s->seed, (int64_t)tag) < s->survey->detail.pin_below ? (int64_t)tag : -1;
}

/* A sample of the owners that a segment's pairs touch. */
static int add_pins(const surveyor *s, int64_t own)
{
    const dd_stage *stage = s->stage;
    const int64_t local = stage->own_local[own];
    dd_run runs[DD_GRID_RUNS + 1];
    const int nruns = dd_stage_runs(stage, local, dd_stage_cell(stage, local), runs);
    const int64_t other = as_pin(s, stage->key[local].other);
    int code = other < 0 ? EQP_OK : app_survey_add_pin(s->survey, other);

    for (int r = 0; r < nruns && code == EQP_OK; r++) {
        for (int64_t j = runs[r].first; j < runs[r].first + runs[r].n && code == EQP_OK; j++) {
            const bool again = j > runs[r].first && stage->key[j].owner == stage->key[j - 1].owner;
            if (!again && s->pin_key[j] < s->survey->detail.pin_below) {
                code = app_survey_add_pin(s->survey, (int64_t)stage->key[j].owner);
            }
        }
    }
    return code;
}

/* Every pair of a segment whose owner is too heavy for one unit. */
static int add_tiles(const surveyor *s, int64_t own)
{
    const dd_stage *stage = s->stage;
    const int64_t local = stage->own_local[own];
    const dd_segment segment = dd_stage_segment(stage, local);
    dd_run runs[DD_GRID_RUNS + 1];
    const int nruns = dd_stage_runs(stage, local, dd_stage_cell(stage, local), runs);
    int code = EQP_OK;

    for (int r = 0; r < nruns; r++) {
        for (int64_t j = runs[r].first; j < runs[r].first + runs[r].n && code == EQP_OK; j++) {
            const dd_segment other = dd_stage_segment(stage, j);
            const bool parallel = dd_pairs_parallel(&s->evaluator->medium, &segment, &other);
            app_tile tile = {.weight = 1e9 * dd_kind_nominal[parallel ? DD_KIND_PARALLEL : DD_KIND_PAIR],
                             .pin = {as_pin(s, stage->key[j].owner), as_pin(s, stage->key[j].other)}};
            dd_pair_centroid(s->domain, &segment, &other, tile.centroid);
            code = app_survey_add_tile(s->survey, &tile);
        }
    }
    return code;
}

static int add_node(const surveyor *s, int64_t node, uint64_t key, int64_t first, int64_t end)
{
    const dd_node *of = &s->domain->network.node[node];
    app_owner owner = {.key = key,
                       .id = (int64_t)of->tag,
                       .particles = 1,
                       .home = s->domain->rank,
                       .at_home = node,
                       .bytes = bytes_of(of),
                       .tag = of->split < 0 ? s->domain->rank : -1 - of->split,
                       .interactions = 1};
    const int64_t before = s->survey->ntiles;
    bool heavy;
    int code = EQP_OK;

    memcpy(owner.centre, of->x, sizeof owner.centre);
    for (int k = 0; k < DD_KINDS && node < s->evaluator->of_nodes; k++) {
        owner.count[k] = s->evaluator->of_node[node].of[k];
    }
    heavy = app_work_weight(&dd_work_model, owner.count) >= s->survey->detail.heavy;
    for (int64_t own = first; own < end && code == EQP_OK; own++) {
        code = add_pins(s, own);
        if (code == EQP_OK && heavy) {
            code = add_tiles(s, own);
        }
    }
    owner.interactions +=
        heavy ? s->survey->ntiles - before : owner.count[DD_KIND_PAIR] + owner.count[DD_KIND_PARALLEL];
    return code == EQP_OK ? app_survey_add_owner(s->survey, &owner) : code;
}

int dd_survey(const dd_domain *domain, const dd_stage *stage, const dd_evaluator *evaluator, uint64_t seed,
              const uint64_t *keys, app_survey *survey)
{
    surveyor s = {.domain = domain, .stage = stage, .evaluator = evaluator, .seed = seed, .survey = survey};
    int64_t own = 0;
    int code = eqp_array_create(&s.pin_key, stage->n, sizeof *s.pin_key);

    if (code == EQP_OK) { /* exactly, as owners are large */
        code = eqp_array_reserve(&survey->owner, &survey->capacity, domain->network.n, sizeof *survey->owner);
    }
    for (int64_t i = 0; i < stage->n && code == EQP_OK; i++) {
        s.pin_key[i] = eqp_pin_key(seed, (int64_t)stage->key[i].owner);
    }
    for (int64_t node = 0; node < domain->network.n && code == EQP_OK; node++) { /* as own segments lie */
        const int64_t first = own;
        while (own < stage->nown && stage->own_node[own] == node) {
            own++;
        }
        code = add_node(&s, node, keys[node], first, own);
    }
    free(s.pin_key);
    return code;
}

/* Nodes go where they are computed; one that ranks share to its heaviest sharer. */
static int apply(dd_domain *domain, const app_verdict *verdict, int64_t *migrated)
{
    int *dest = NULL;
    int code = eqp_agree(domain->comm, eqp_array_create(&dest, domain->network.n, sizeof *dest), NULL);

    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        dest[i] = verdict[i].home;
        domain->network.node[i].split = verdict[i].tag >= 0 ? -1 : -1 - verdict[i].tag;
    }
    if (code == EQP_OK) {
        code = dd_domain_migrate(domain, dest, migrated);
    }
    free(dest);
    return code;
}

static int compare_keys(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static int survey_all(const dd_domain *domain, const dd_stage *stage, const dd_evaluator *evaluator,
                      const app_rebalance_options *options, const eqp_units_totals *totals, uint64_t *keys,
                      app_survey *survey)
{
    const app_survey_detail nothing = {INFINITY, 0};
    app_survey_detail detail = nothing;
    eqp_units_totals last = *totals;
    int code = EQP_OK;

    if ((options->method->needs & EQP_NEEDS_UNITS) && last.owners == 0) { /* the first map: weigh the owners first */
        app_survey_clear(survey, &nothing);
        code = eqp_agree(domain->comm, dd_survey(domain, stage, evaluator, options->seed, keys, survey), NULL);
        if (code == EQP_OK) {
            code = app_survey_totals(domain->comm, survey, &dd_work_model, &last);
        }
    }
    if (code == EQP_OK) {
        detail = app_rebalance_detail(options, domain->nranks, &last);
        app_survey_clear(survey, &detail);
        code = eqp_agree(domain->comm, dd_survey(domain, stage, evaluator, options->seed, keys, survey), NULL);
    }
    return code;
}

int dd_rebalance(dd_domain *domain, dd_stage *stage, const dd_evaluator *evaluator, const app_costs *costs,
                 const app_rebalance_options *options, bool has_map, app_map *map, eqp_units_totals *totals,
                 app_rebalanced *rebalanced, int64_t *migrated, int64_t *bytes, eqp_message *message)
{
    app_survey survey = {.n = 0};
    app_owners owners = {.n = 0};
    app_verdict *verdict = NULL;
    app_map made;
    uint64_t *keys = NULL;
    int code = eqp_agree(domain->comm, dd_keys(domain, &keys), NULL);

    app_map_init(&made);
    *rebalanced = (app_rebalanced){.units = 0};
    if (code == EQP_OK) {
        code = survey_all(domain, stage, evaluator, options, totals, keys, &survey);
    }
    dd_stage_free(stage);
    if (code == EQP_OK) {
        if (domain->network.n > 1) {
            qsort(keys, (size_t)domain->network.n, sizeof *keys, compare_keys);
        }
        code =
            app_owners_line_up(domain->comm, &survey, &dd_work_model, costs, domain->network.n, keys, &owners, bytes);
    }
    app_survey_free(&survey);
    if (code == EQP_OK) {
        code = app_newmap_make(domain->comm, options, &owners, has_map ? map : NULL, domain->network.n, &made, &verdict,
                               rebalanced, message);
    }
    if (code == EQP_OK) {
        code = apply(domain, verdict, migrated);
    }
    if (code == EQP_OK) {
        app_map_free(map);
        *map = made;
        *totals = rebalanced->totals;
    } else {
        app_map_free(&made);
    }
    free(verdict);
    app_owners_free(&owners);
    free(keys);
    return code;
}
