/* SPDX-License-Identifier: BSD-3-Clause */
/* An artificial world of owners, their surveys, and the owners in curve order. Include once per program, after
 * harness.h. */
#ifndef EQP_MPI_OWNERS_WORLD_H
#define EQP_MPI_OWNERS_WORLD_H

#include "map/assignment.h"

#include <equipoise/more/random.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { KINDS = 3, PER_RANK = 40, TILES = 60, HEAVY = 3 };
static const double nominal[KINDS] = {1e-9, 3e-9, 100e-9};
static const eqp_work_model model = {
    .nkinds = KINDS, .nominal = nominal, .once = 1u << 2}; /* kind 2 counts once per owner */

static const eqp_work_model cycle_model = {
    .nkinds = KINDS, .nominal = nominal, .once = 1u << 2, .phases = {3, {1.0, 1.0, 2.0}}};

/* Owners of all ranks in an order along the curve unrelated to their homes. All ranks compute a share of every
 * seventh; HEAVY exceeds the work of one part. */
typedef struct world {
    int rank, size;
    int64_t n; /* total over ranks */
} world;

static inline world make_world(MPI_Comm comm)
{
    const int size = mpi_test_size(comm);

    return (world){mpi_test_rank(comm), size, (int64_t)PER_RANK * size};
}

/* Place of an owner along the curve; 7919 is coprime to all numbers of owners here. */
static inline int64_t place_of(const world *w, int64_t owner)
{
    return owner * 7919 % w->n;
}

static inline bool is_shared(int64_t owner)
{
    return owner % 7 == 0;
}

static inline bool is_heavy(int64_t owner)
{
    return owner == HEAVY;
}

static inline int64_t pairs_of(int64_t owner)
{
    return is_heavy(owner) ? 200000 : 900 + owner % 5 * 50;
}

/* Keys come in pairs distinguished by the id. */
static inline eqp_owner describe(const world *w, int64_t owner)
{
    const int64_t place = place_of(w, owner);
    eqp_owner made = {.key = (uint64_t)(place / 2) << 20,
                      .id = place % 2,
                      .pin = is_heavy(owner) ? -1 : 7 * w->n + place,
                      .particles = 2,
                      .home = (int32_t)(owner / PER_RANK),
                      .at_home = owner % PER_RANK,
                      .bytes = 160,
                      .tag = owner / PER_RANK,
                      .centre = {(double)place, 1.0, 2.0},
                      .count = {pairs_of(owner), 5, 1},
                      .interactions = TILES + 1};

    return made;
}

static inline int add_lists(eqp_survey *survey, const world *w, int64_t owner, bool tiles)
{
    const int64_t ntiles = tiles && is_heavy(owner) ? TILES : 0;
    int code = eqp_survey_add_pin(survey, (place_of(w, owner) + 1) % w->n);

    for (int64_t t = 0; t < ntiles && code == EQP_OK; t++) {
        eqp_tile tile = {.weight = 1e9 * nominal[0] * (double)pairs_of(owner) / TILES, .pin = {owner, -1}};
        for (int a = 0; a < 3; a++) {
            tile.centroid[a] = eqp_random_uniform(5, (uint64_t)t, (uint64_t)a) - 0.5;
        }
        code = eqp_survey_add_tile(survey, &tile);
    }
    return code;
}

/* Only odd owners work in the second phase, none in the last. Owner 1 lists no phases. */
static inline int add_phases(eqp_survey *survey, int64_t owner, int64_t pairs)
{
    const double load[3] = {(double)pairs, owner % 2 != 0 ? (double)pairs : 0.0, 0.0};

    return eqp_survey_phases(survey) > 1 && owner != 1 ? eqp_survey_add_phases(survey, load) : EQP_OK;
}

static inline int add_owner(eqp_survey *survey, const world *w, int64_t owner, bool tiles)
{
    const eqp_owner made = describe(w, owner);
    int code = add_lists(survey, w, owner, tiles);

    code = code == EQP_OK ? add_phases(survey, owner, pairs_of(owner)) : code;
    return code == EQP_OK ? eqp_survey_add_owner(survey, &made) : code;
}

/* Adds one pair and one pin of an owner, and a visit. */
static inline int add_share(eqp_survey *survey, const world *w, int64_t owner)
{
    eqp_owner share = describe(w, owner);
    int code = eqp_survey_add_pin(survey, 1000 + w->rank);

    share.count[0] = 1;
    share.count[1] = 0;
    share.interactions = 2;
    code = code == EQP_OK ? add_phases(survey, owner, 1) : code;
    return code == EQP_OK ? eqp_survey_add_owner(survey, &share) : code;
}

/* tiles: HEAVY lists its tiles. shares: ranks have shares in every seventh owner of another rank. */
static inline int take_survey(const world *w, bool tiles, bool shares, eqp_survey *survey)
{
    int code = EQP_OK;

    for (int64_t owner = 0; owner < w->n && code == EQP_OK; owner++) {
        if (owner / PER_RANK == w->rank) {
            code = add_owner(survey, w, owner, tiles);
        } else if (shares && is_shared(owner)) {
            code = add_share(survey, w, owner);
        }
    }
    return code;
}

static inline int compare_keys(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static inline int line_up(MPI_Comm comm, const eqp_survey *survey, eqp_owners *owners)
{
    const world w = make_world(comm);
    uint64_t key[PER_RANK];
    eqp_costs costs;
    int64_t bytes = 0;

    CHECK_EQUAL(eqp__costs_init(&costs, KINDS, nominal), EQP_OK);
    for (int i = 0; i < PER_RANK; i++) {
        key[i] = describe(&w, w.rank * PER_RANK + i).key;
    }
    qsort(key, PER_RANK, sizeof *key, compare_keys);
    return eqp__owners_line_up(comm, survey, survey->model.nkinds > 0 ? &survey->model : &model, &costs, PER_RANK, key,
                               owners, &bytes);
}

static inline int64_t owner_at(const world *w, int64_t place)
{
    for (int64_t owner = 0; owner < w->n; owner++) {
        if (place_of(w, owner) == place) {
            return owner;
        }
    }
    return -1;
}

#endif
