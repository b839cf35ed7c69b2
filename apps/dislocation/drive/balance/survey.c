/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include <equipoise/more/curve.h>
#include <equipoise/units.h>

#include <math.h>

int dd_key(const dd_domain *domain, const double x[3], uint64_t *key)
{
    const double side = fmax(domain->edge[0], fmax(domain->edge[1], domain->edge[2]));

    return eqp_hilbert_keys(1, &x[0], &x[1], &x[2], domain->low, side, key);
}

typedef struct surveyor {
    const dd_domain *domain;
    const dd_stage *stage;
    const dd_evaluator *evaluator;
    eqp_survey *survey;
    uint64_t pin_below; /* owners with smaller keys are pins: see the survey's detail of interactions */
    uint64_t *pin_key;  /* [local segments] key of each segment's owner */
    uint64_t seed;
} surveyor;

/* An owner's segments, which are consecutive, and its source cells computed here. */
typedef struct lot {
    int64_t first, n; /* local segments */
    uint32_t sources; /* bits */
    bool tiles;       /* tiles are added */
} lot;

/* Adds the owners in a source cell that are pins, each once. A tile's pins have the smallest keys, so that all ranks
 * with the cell choose the same ones. */
static int add_pins(const surveyor *s, dd_tag owner, int64_t first, int64_t end, int64_t tile_pin[EQP_TILE_PINS])
{
    const dd_stage *stage = s->stage;
    uint64_t least[EQP_TILE_PINS];

    for (int p = 0; p < EQP_TILE_PINS; p++) {
        tile_pin[p] = -1;
        least[p] = s->pin_below;
    }
    for (int64_t j = s->pin_below > 0 ? first : end; j < end; j++) {
        const dd_tag tag = stage->key[j].owner;
        const bool again = j > first && tag == stage->key[j - 1].owner;
        if (again || tag == owner || s->pin_key[j] >= s->pin_below) {
            continue;
        }
        EQP_CHECK(eqp_survey_add_pin(s->survey, (int64_t)tag));
        for (int p = EQP_TILE_PINS - 1; p >= 0 && s->pin_key[j] < least[p]; p--) {
            if (p + 1 < EQP_TILE_PINS) {
                least[p + 1] = least[p];
                tile_pin[p + 1] = tile_pin[p];
            }
            least[p] = s->pin_key[j];
            tile_pin[p] = (int64_t)tag;
        }
    }
    return EQP_OK;
}

/* Nanoseconds of a segment's pairs with a run of segments, including the kernel call. */
static double weigh(const surveyor *s, int64_t local, int64_t first, int64_t end)
{
    const dd_segment segment = dd_stage_segment(s->stage, local);
    int64_t count[DD_KINDS] = {[DD_KIND_RUN] = first < end};

    for (int64_t j = first; j < end; j++) {
        const dd_segment other = dd_stage_segment(s->stage, j);
        count[dd_pairs_parallel(&s->evaluator->medium, &segment, &other) ? DD_KIND_PARALLEL : DD_KIND_PAIR]++;
    }
    return eqp_survey_weigh(s->survey, count);
}

/* Adds an owner's work with one source cell; in its own cell a segment has pairs with the segments after it. */
static int add_source(const surveyor *s, const lot *of, int64_t source, bool own_cell, int64_t *interactions)
{
    const dd_stage *stage = s->stage;
    const int64_t first = own_cell ? of->first + 1 : stage->cell_first[source], end = stage->cell_first[source + 1];
    eqp_tile tile = {.weight = 0.0};

    if (first >= end) {
        return EQP_OK;
    }
    ++*interactions;
    EQP_CHECK(add_pins(s, stage->key[of->first].owner, first, end, tile.pin));
    if (!of->tiles) {
        return EQP_OK;
    }
    dd_share_centroid(&stage->grid, dd_stage_cell(stage, of->first), source, tile.centroid);
    for (int64_t local = of->first; local < of->first + of->n; local++) {
        tile.weight += weigh(s, local, own_cell ? local + 1 : first, end);
    }
    return eqp_survey_add_tile(s->survey, &tile);
}

/* Adds an owner with the pins and tiles of its lot. */
static int add_owner(const surveyor *s, const lot *of, eqp_owner *owner)
{
    int64_t sources[DD_GRID_SOURCES];

    owner->interactions = 1;
    if (of->n == 0) {
        return eqp_survey_add_owner(s->survey, owner);
    }
    const int nsources = dd_grid_sources(&s->stage->grid, dd_stage_cell(s->stage, of->first), sources);
    for (int64_t i = of->first; i < of->first + of->n; i++) {
        const int64_t other = (int64_t)s->stage->key[i].other;
        if (eqp_pin_key(s->seed, other) < s->pin_below) {
            EQP_CHECK(eqp_survey_add_pin(s->survey, other));
        }
    }
    for (int i = 0; i < nsources; i++) {
        if ((of->sources >> i & 1) != 0) {
            EQP_CHECK(add_source(s, of, sources[i], i == 0, &owner->interactions));
        }
    }
    return eqp_survey_add_owner(s->survey, owner);
}

/* An own node as an owner without work. */
static int name_node(const dd_domain *domain, int64_t node, eqp_owner *owner)
{
    const dd_node *of = &domain->network.node[node];

    *owner = (eqp_owner){.id = (int64_t)of->tag,
                         .pin = (int64_t)of->tag,
                         .particles = 1,
                         .home = domain->rank,
                         .at_home = node,
                         .bytes = dd_node_bytes(of),
                         .tag = of->split < 0 ? domain->rank : -1 - of->split,
                         .label = of->label};
    memcpy(owner->centre, of->x, sizeof owner->centre);
    return dd_key(domain, of->x, &owner->key);
}

int dd_survey_names(const dd_domain *domain, eqp_survey *survey)
{
    EQP_CHECK(eqp_survey_reserve(survey, domain->network.n));
    for (int64_t node = 0; node < domain->network.n; node++) {
        eqp_owner owner;
        EQP_CHECK(name_node(domain, node, &owner));
        EQP_CHECK(eqp_survey_add_owner(survey, &owner));
    }
    return EQP_OK;
}

/* own: its first own segment. Shares add the pairs of shared nodes later. */
static int add_node(const surveyor *s, int64_t node, int64_t own, int64_t nown)
{
    const bool whole = s->domain->network.node[node].split < 0;
    lot segments = {.first = INT64_MAX, .n = nown, .sources = whole ? UINT32_MAX : 0};
    eqp_owner owner;

    EQP_CHECK(name_node(s->domain, node, &owner));
    for (int k = 0; k < DD_KINDS && node < s->evaluator->of_nodes; k++) {
        owner.count[k] = s->evaluator->of_node[node].of[k];
    }
    for (int64_t i = own; i < own + nown; i++) {
        const int64_t local = s->stage->own_local[i];
        segments.first = local < segments.first ? local : segments.first;
    }
    segments.tiles = eqp_survey_weigh(s->survey, owner.count) >= eqp_survey_heavy(s->survey);
    return add_owner(s, &segments, &owner);
}

static int add_nodes(const surveyor *s)
{
    const dd_stage *stage = s->stage;
    int64_t own = 0;

    for (int64_t node = 0; node < s->domain->network.n; node++) { /* in the order of own segments */
        const int64_t first = own;
        while (own < stage->nown && stage->own[own].node == node) {
            own++;
        }
        EQP_CHECK(add_node(s, node, first, own - first));
    }
    return EQP_OK;
}

/* Adds a share with its segments, from the first of its targets on. */
static int add_share(const surveyor *s, int64_t target, int64_t ntargets)
{
    const dd_stage *stage = s->stage;
    const int64_t number = stage->target[target].share;
    const dd_share *share = &stage->shares.share[number];
    const lot segments = {stage->target[target].local, ntargets, share->sources,
                          eqp_survey_heavy(s->survey) < INFINITY};
    eqp_owner owner = {.id = (int64_t)share->owner,
                       .pin = (int64_t)share->owner,
                       .particles = 1,
                       .home = share->home,
                       .at_home = share->at_home,
                       .bytes = share->bytes,
                       .tag = -1 - share->split};

    memcpy(owner.centre, dd_stage_segment(stage, segments.first).x1, sizeof owner.centre);
    EQP_CHECK(dd_key(s->domain, owner.centre, &owner.key));
    for (int k = 0; k < DD_KINDS && number < s->evaluator->of_shares; k++) {
        owner.count[k] = s->evaluator->of_share[number].of[k];
    }
    return add_owner(s, &segments, &owner);
}

static int add_shares(const surveyor *s)
{
    const dd_stage *stage = s->stage;

    for (int64_t t = 0, end; t < stage->ntargets; t = end) {
        for (end = t + 1; end < stage->ntargets && stage->target[end].share == stage->target[t].share;) {
            end++;
        }
        EQP_CHECK(stage->target[t].share >= 0 ? add_share(s, t, end - t) : EQP_OK);
    }
    return EQP_OK;
}

/* Tiles of the targets and owners in their source cells, of this rank. */
static int count_pins(const surveyor *s, int64_t sum[2])
{
    const dd_stage *stage = s->stage;
    int32_t *owners = NULL; /* in each cell */
    int code;

    EQP_TRY(eqp_array_create(&owners, stage->grid.ncells, sizeof *owners));
    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        for (int64_t j = stage->cell_first[c]; j < stage->cell_first[c + 1]; j++) {
            owners[c] += j == stage->cell_first[c] || stage->key[j].owner != stage->key[j - 1].owner;
        }
    }
    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        int64_t sources[DD_GRID_SOURCES], own = 0, last = -1;
        const int n = dd_grid_sources(&stage->grid, c, sources);
        for (int64_t j = stage->cell_first[c]; j < stage->cell_first[c + 1]; j++) {
            const int64_t node = stage->source[j] < 0 ? -1 : stage->own[stage->source[j]].node;
            own += node >= 0 && node != last;
            last = node;
        }
        for (int i = 0; i < n; i++) {
            sum[0] += own * (owners[sources[i]] > 0);
            sum[1] += own * owners[sources[i]];
        }
    }
done:
    free(owners);
    return code;
}

/* An interaction is a tile with many owners, so a few pins of each suffice. */
static int choose_pins(surveyor *s)
{
    const uint64_t below = eqp_survey_pin_below(s->survey);
    int64_t sum[2] = {0, 0};

    s->pin_below = below;
    if (below > 0 && below < UINT64_MAX) { /* the same on all ranks */
        EQP_CHECK(eqp_agree(s->domain->comm, count_pins(s, sum), NULL));
        EQP_CHECK(eqp_sum_int64(s->domain->comm, 2, sum));
        if (sum[1] > sum[0]) {
            s->pin_below = (uint64_t)((double)below * (double)sum[0] / (double)sum[1]);
        }
    }
    return EQP_OK;
}

static int reserve(surveyor *s)
{
    EQP_CHECK(eqp_array_create(&s->pin_key, s->stage->n, sizeof *s->pin_key));
    return eqp_survey_reserve(s->survey, s->domain->network.n + s->stage->shares.n); /* exact: owners are large */
}

static int add_all(surveyor *s)
{
    for (int64_t i = 0; i < s->stage->n; i++) {
        s->pin_key[i] = eqp_pin_key(s->seed, (int64_t)s->stage->key[i].owner);
    }
    EQP_CHECK(add_nodes(s));
    return add_shares(s);
}

int dd_survey(const dd_domain *domain, const dd_stage *stage, const dd_evaluator *evaluator, uint64_t seed,
              eqp_survey *survey)
{
    surveyor s = {.domain = domain, .stage = stage, .evaluator = evaluator, .survey = survey, .seed = seed};
    int code;

    EQP_TRY(eqp_agree(domain->comm, reserve(&s), NULL));
    EQP_TRY(choose_pins(&s));
    EQP_TRY(eqp_agree(domain->comm, add_all(&s), NULL));
done:
    free(s.pin_key);
    return code;
}
