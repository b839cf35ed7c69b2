/* SPDX-License-Identifier: BSD-3-Clause */
#include "map.h"

#include <equipoise/base.h>

#include <stdlib.h>
#include <string.h>

void app_map_init(app_map *map)
{
    memset(map, 0, sizeof *map);
}

void app_map_free(app_map *map)
{
    eqp_units_free(map->units);
    free(map->centroid);
    free(map->rank);
    app_map_init(map);
}

/* The split owners as the sampler's map; the ids of their units are here their places in the table. */
static int rebuild(int64_t nsplit, const int64_t *nunits_of, const double *centroid, int64_t nunits, eqp_units **units)
{
    int64_t *first = NULL, *unit_id = NULL;
    int code;

    EQP_TRY(eqp_array_create(&first, nsplit + 1, sizeof *first));
    EQP_TRY(eqp_array_create(&unit_id, nunits, sizeof *unit_id));
    for (int64_t s = 0; s < nsplit; s++) {
        first[s + 1] = first[s] + nunits_of[s];
    }
    for (int64_t u = 0; u < nunits; u++) {
        unit_id[u] = u;
    }
    EQP_TRY(eqp_units_rebuild(3, nsplit, first, unit_id, centroid, units));
done:
    free(unit_id);
    free(first);
    return code;
}

int app_map_set(app_map *map, int64_t nsplit, const int64_t *nunits_of, const double *centroid, const int *rank)
{
    app_map made = {.nsplit = nsplit};
    int64_t nunits = 0;
    int code = EQP_OK;

    for (int64_t s = 0; s < nsplit; s++) {
        nunits += nunits_of[s];
    }
    if (nsplit > 0) {
        code = eqp_array_create(&made.rank, nunits, sizeof *made.rank);
    }
    if (nsplit > 0 && code == EQP_OK) {
        code = eqp_array_create(&made.centroid, 3 * nunits, sizeof *made.centroid);
    }
    if (nsplit > 0 && code == EQP_OK) {
        memcpy(made.rank, rank, (size_t)nunits * sizeof *rank);
        memcpy(made.centroid, centroid, 3 * (size_t)nunits * sizeof *centroid);
        code = rebuild(nsplit, nunits_of, centroid, nunits, &made.units);
    }
    if (code != EQP_OK) {
        app_map_free(&made);
        return code;
    }
    app_map_free(map);
    *map = made;
    return EQP_OK;
}

int app_map_rank(const app_map *map, int64_t tag, const double centroid[3])
{
    return tag >= 0 ? (int)tag : map->rank[eqp_units_find(map->units, -1 - tag, centroid)];
}

int app_map_own_rank(const app_map *map, int64_t tag)
{
    static const double own_centre[3] = {0.0, 0.0, 0.0};

    return app_map_rank(map, tag, own_centre);
}

int app_map_ranks(const app_map *map, int64_t tag, int nranks, int *ranks)
{
    int64_t first = 0, count = 0;
    int n = 0;

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

int64_t app_map_units(const app_map *map, int64_t tag, const double **centroid, const int **rank)
{
    int64_t first = 0, count = 0;

    eqp_units_of_owner(map->units, -1 - tag, &first, &count);
    *centroid = map->centroid + 3 * first;
    *rank = map->rank + first;
    return count;
}
