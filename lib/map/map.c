/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "map/phased.h"
#include <equipoise/problem.h>
#include <equipoise/units.h>

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct eqp_map {
    int64_t nshared;  /* owners shared by positions of interactions */
    eqp_units *units; /* of the shared owners; NULL until there are any */
    double *centroid; /* [units][3] */
    int *rank;        /* [units] */
    int64_t nphased;  /* entries with parts by phase, after the shared ones */
    int nphases;
    int *phased; /* [nphased][nphases] ranks */
};

void eqp_map_free(eqp_map *map)
{
    if (map) {
        eqp_units_free(map->units);
        EQP__FREE(map->centroid, map->rank, map->phased, map);
    }
}

int64_t eqp_map_shared(const eqp_map *map)
{
    return map ? map->nshared + map->nphased : 0;
}

int64_t eqp_map_phased(const eqp_map *map, int *nphases, const int **rank)
{
    if (nphases) {
        *nphases = map ? map->nphases : 0;
    }
    if (rank) {
        *rank = map ? map->phased : NULL;
    }
    return map ? map->nphased : 0;
}

/* Builds the sampler's map of the shared owners; unit ids are indices in the table. */
static int rebuild(const int64_t *nunits_of, int64_t nunits, eqp_map *map)
{
    int64_t *first = NULL, *unit_id = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(first, map->nshared + 1), EQP__ARRAY(unit_id, nunits)));
    for (int64_t s = 0; s < map->nshared; s++) {
        first[s + 1] = first[s] + nunits_of[s];
    }
    for (int64_t u = 0; u < nunits; u++) {
        unit_id[u] = u;
    }
    EQP_TRY(eqp_units_rebuild(3, map->nshared, first, unit_id, map->centroid, &map->units));
done:
    EQP__FREE(unit_id, first);
    return code;
}

static bool can_be(int64_t nshared, const int64_t *nunits_of, const int *rank, int64_t *nunits)
{
    *nunits = 0;
    for (int64_t s = 0; s < nshared; s++) {
        if (nunits_of[s] < 1 || nunits_of[s] > INT64_MAX / 64 - *nunits) {
            return false;
        }
        *nunits += nunits_of[s];
    }
    for (int64_t u = 0; u < *nunits; u++) {
        if (rank[u] < 0) {
            return false;
        }
    }
    return true;
}

int eqp_map_create(int64_t nshared, const int64_t *nunits, const double *centroid, const int *rank, eqp_map **map)
{
    eqp_map *made = NULL;
    int64_t all = 0;
    int code;

    EQP__FAIL_IF(!map || nshared < 0 || (nshared > 0 && (!nunits || !centroid || !rank)) ||
                     !can_be(nshared, nunits, rank, &all),
                 EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    made->nshared = nshared;
    if (nshared > 0) {
        EQP_TRY(EQP__ARRAYS(EQP__ARRAY(made->rank, all), EQP__ARRAY(made->centroid, 3 * all)));
        memcpy(made->rank, rank, (size_t)all * sizeof *rank);
        memcpy(made->centroid, centroid, 3 * (size_t)all * sizeof *centroid);
        EQP_TRY(rebuild(nunits, all, made));
    }
    *map = made;
    made = NULL;
done:
    eqp_map_free(made);
    return code;
}

int eqp__map_add_phased(eqp_map *map, int64_t n, int nphases, const int *rank)
{
    if (n == 0) {
        return EQP_OK;
    }
    EQP__CHECK(eqp_array_create(&map->phased, n * nphases, sizeof *map->phased));
    memcpy(map->phased, rank, (size_t)(n * nphases) * sizeof *rank);
    map->nphased = n;
    map->nphases = nphases;
    return EQP_OK;
}

int64_t eqp_map_tag_in(const eqp_map *map, int64_t tag, int phase)
{
    const int64_t entry = map && tag < 0 ? -1 - tag - map->nshared : -1;

    if (entry < 0 || entry >= map->nphased || phase < 0) {
        return tag;
    }
    return map->phased[entry * map->nphases + (phase < map->nphases ? phase : map->nphases - 1)];
}

/* True if a tag < 0 is that of an owner shared by the positions of its interactions. */
static bool has(const eqp_map *map, int64_t tag)
{
    return map && tag >= -map->nshared;
}

int eqp_map_rank(const eqp_map *map, int64_t tag, const double *centroid)
{
    tag = eqp_map_tag_in(map, tag, 0);
    if (tag >= 0) {
        return (int)tag;
    }
    return has(map, tag) && centroid ? map->rank[eqp_units_find(map->units, -1 - tag, centroid)] : -1;
}

int eqp_map_own_rank(const eqp_map *map, int64_t tag)
{
    static const double own_centre[3] = {0.0, 0.0, 0.0};

    return eqp_map_rank(map, tag, own_centre);
}

int eqp_map_ranks(const eqp_map *map, int64_t tag, int nranks, int *ranks)
{
    int64_t first = 0, count = 0;
    int n = 0;

    tag = eqp_map_tag_in(map, tag, 0);
    if (!ranks || nranks < 1 || (tag < 0 && !has(map, tag))) {
        return -1;
    }
    if (tag >= 0) {
        ranks[0] = (int)tag;
        return 1;
    }
    eqp_units_of_owner(map->units, -1 - tag, &first, &count);
    for (int64_t u = first; u < first + count && n < nranks; u++) {
        int place = n;
        while (place > 0 && ranks[place - 1] > map->rank[u]) {
            place--;
        }
        if (place == 0 || ranks[place - 1] != map->rank[u]) {
            memmove(ranks + place + 1, ranks + place, (size_t)(n - place) * sizeof *ranks);
            ranks[place] = map->rank[u];
            n++;
        }
    }
    return n;
}

int64_t eqp_map_units(const eqp_map *map, int64_t tag, const double **centroid, const int **rank)
{
    int64_t first = 0, count = 0;

    if (tag >= 0 || !has(map, tag) || !centroid || !rank) {
        return 0;
    }
    eqp_units_of_owner(map->units, -1 - tag, &first, &count);
    *centroid = map->centroid + 3 * first;
    *rank = map->rank + first;
    return count;
}
