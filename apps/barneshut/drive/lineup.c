/* SPDX-License-Identifier: BSD-3-Clause */
#include "lineup.h"

#include "gather.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void bh_owners_free(bh_owners *owners)
{
    void *owned[] = {owners->group,         owners->id,          owners->count,   owners->weight,
                     owners->seconds,       owners->pin_first,   owners->pin,     owners->tile_first,
                     owners->tile_centroid, owners->tile_weight, owners->tile_pin};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    *owners = (bh_owners){.n = 0};
}

/* Lists of the groups, one after another. */
typedef struct lists {
    size_t size;     /* of an element */
    int64_t *length; /* [groups] */
    int64_t *first;  /* [groups + 1] */
    char *element;
} lists;

static void lists_free(lists *of)
{
    free(of->length);
    free(of->first);
    free(of->element);
}

static int lists_create(int64_t n, const bh_surveyed *group, bool tiles, size_t size, lists *made)
{
    int code = eqp_array_create(&made->length, n, sizeof *made->length);

    made->size = size;
    if (code == EQP_OK) {
        code = eqp_array_create(&made->first, n + 1, sizeof *made->first);
    }
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        made->length[i] = tiles ? group[i].ntiles : group[i].npins;
        made->first[i + 1] = made->first[i] + made->length[i];
    }
    return code;
}

/* A rank's lists in the order of another array of the same groups: new list i is old list order[i]. */
static int lists_permuted(const lists *from, int64_t n, const int64_t *order, const char *element, char **out)
{
    char *at;
    int code = eqp_array_create(out, from->first[n], from->size);

    at = *out;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        size_t bytes = (size_t)from->length[order[i]] * from->size;
        if (bytes > 0) { /* a rank whose lists are all empty has no array */
            memcpy(at, element + (size_t)from->first[order[i]] * from->size, bytes);
        }
        at += bytes;
    }
    return code;
}

static bool is_identity(int64_t n, const int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        if (order[i] != i) {
            return false;
        }
    }
    return true;
}

/* Sends the lists of the groups along the groups' plan. */
static int lists_send(MPI_Comm comm, const eqp_move_plan *plan, const lists *mine, const void *element, void *in,
                      int64_t *bytes)
{
    const eqp_move_view view = eqp_move_plan_arrays(plan);
    const bool in_order = is_identity(view.n, view.order);
    int64_t *sent = NULL, *received = NULL, total = 0;
    char *out = NULL, *array = NULL;
    int me, code = eqp_array_create(&sent, view.nranks, sizeof *sent);

    MPI_Comm_rank(comm, &me);
    if (code == EQP_OK) {
        code = eqp_array_create(&received, view.nranks, sizeof *received);
    }
    if (code == EQP_OK && !in_order) {
        code = lists_permuted(mine, view.n, view.order, element, &out);
    }
    for (int r = 0; r < view.nranks && code == EQP_OK; r++) {
        for (int64_t i = view.offset[r]; i < view.offset[r + 1]; i++) {
            sent[r] += mine->length[view.order[i]];
        }
        *bytes += r == me ? 0 : sent[r] * (int64_t)mine->size;
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_exchange_counts(comm, sent, received, &total);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_array_create(&array, total, mine->size), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_exchange(comm, mine->size, sent, in_order ? element : out, received, array);
    }
    free(out);
    free(received);
    free(sent);
    if (code != EQP_OK) {
        free(array);
        return code;
    }
    memcpy(in, &array, sizeof array);
    return EQP_OK;
}

/* What arrived, by sending rank, before it is in order. */
typedef struct arrivals {
    int64_t n;
    bh_surveyed *group;
    int64_t *pin;
    bh_survey_tile *tile;
} arrivals;

static int send_survey(MPI_Comm comm, const bh_survey *survey, const int *rank, arrivals *in, int64_t *bytes)
{
    lists pins = {0}, tiles = {0};
    eqp_move_plan *plan = NULL;
    int me, nranks, code;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    code = eqp_move_plan_create(survey->n, rank, nranks, &plan);
    if (code == EQP_OK) {
        code = lists_create(survey->n, survey->group, false, sizeof *survey->pin, &pins);
    }
    if (code == EQP_OK) {
        code = lists_create(survey->n, survey->group, true, sizeof *survey->tile, &tiles);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = bh_send_records(comm, sizeof *survey->group, survey->n, rank, survey->group, &in->n, &in->group);
    }
    if (code == EQP_OK) {
        code = lists_send(comm, plan, &pins, survey->pin, &in->pin, bytes);
    }
    if (code == EQP_OK) {
        code = lists_send(comm, plan, &tiles, survey->tile, &in->tile, bytes);
    }
    if (code == EQP_OK) {
        eqp_move_view view = eqp_move_plan_arrays(plan);
        *bytes += (view.n - view.count[me]) * (int64_t)sizeof *survey->group;
    }
    lists_free(&pins);
    lists_free(&tiles);
    eqp_move_plan_free(plan);
    return code;
}

typedef struct place {
    uint64_t key;
    int32_t part;
    int64_t arrival;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *first = a, *second = b;

    if (first->key != second->key) {
        return first->key < second->key ? -1 : 1;
    }
    if (first->part != second->part) {
        return first->part < second->part ? -1 : 1;
    }
    return (first->arrival > second->arrival) - (first->arrival < second->arrival);
}

static int curve_order(const arrivals *in, int64_t **order)
{
    place *places = NULL;
    int code = eqp_array_create(&places, in->n, sizeof *places);

    if (code == EQP_OK) {
        code = eqp_array_create(order, in->n, sizeof **order);
    }
    if (code == EQP_OK && in->n > 0) {
        for (int64_t i = 0; i < in->n; i++) {
            places[i] = (place){in->group[i].key, in->group[i].part, i};
        }
        qsort(places, (size_t)in->n, sizeof *places, compare_places);
        for (int64_t i = 0; i < in->n; i++) {
            (*order)[i] = places[i].arrival;
        }
    }
    free(places);
    return code;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Another rank's share in the same group. Every sharer looks at the group's cells; a single rank would do it once. */
static void add_share(bh_surveyed *group, const bh_surveyed *share)
{
    const int64_t visits = larger(group->counts.of[BH_KIND_VISIT], share->counts.of[BH_KIND_VISIT]);

    bh_counts_add(&group->counts, &share->counts);
    group->counts.of[BH_KIND_VISIT] = visits;
    group->counts.of[BH_KIND_GROUP] = 1;
    group->interactions += share->interactions - 1;
    group->npins += share->npins;
    group->ntiles += share->ntiles;
}

/* Groups in order, shares of one group together; their lists are in the same order already. */
static int join_shares(const arrivals *in, const int64_t *order, const bh_costs *costs, const bh_survey *survey,
                       bh_owners *owners)
{
    int64_t n = 0;
    void *const array[] = {&owners->id, &owners->count, &owners->pin_first, &owners->tile_first};
    int code = eqp_array_create(&owners->group, in->n, sizeof *owners->group);

    for (int i = 0; i < 4 && code == EQP_OK; i++) {
        code = eqp_array_create((int64_t **)array[i], in->n + 1, sizeof(int64_t));
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&owners->weight, in->n, sizeof *owners->weight);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&owners->seconds, in->n, sizeof *owners->seconds);
    }
    for (int64_t i = 0; i < in->n && code == EQP_OK; i++) {
        const bh_surveyed *next = &in->group[order[i]];
        if (n > 0 && owners->group[n - 1].key == next->key && owners->group[n - 1].part == next->part) {
            add_share(&owners->group[n - 1], next);
        } else {
            owners->group[n++] = *next;
        }
    }
    for (int64_t o = 0; o < n && code == EQP_OK; o++) {
        const bh_surveyed *group = &owners->group[o];
        owners->count[o] = group->interactions;
        owners->weight[o] = bh_survey_weight(survey, &group->counts);
        owners->seconds[o] = bh_costs_predict(costs, &group->counts);
        owners->pin_first[o + 1] = owners->pin_first[o] + group->npins;
        owners->tile_first[o + 1] = owners->tile_first[o] + group->ntiles;
    }
    owners->n = code == EQP_OK ? n : 0;
    return code;
}

/* Tiles in the order of the owners, each of their fields by itself, as the sampler wants them. */
static int split_tiles(const lists *tiles, int64_t n, const int64_t *order, const bh_survey_tile *in, bh_owners *owners)
{
    int64_t at = 0;
    int code = eqp_array_create(&owners->tile_centroid, 3 * tiles->first[n], sizeof *owners->tile_centroid);

    if (code == EQP_OK) {
        code = eqp_array_create(&owners->tile_weight, tiles->first[n], sizeof *owners->tile_weight);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&owners->tile_pin, tiles->first[n], sizeof *owners->tile_pin);
    }
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        const bh_survey_tile *tile = in + tiles->first[order[i]];
        for (int64_t t = 0; t < tiles->length[order[i]]; t++, at++) {
            memcpy(owners->tile_centroid + 3 * at, tile[t].centroid, sizeof tile[t].centroid);
            owners->tile_weight[at] = tile[t].weight;
            owners->tile_pin[at] = tile[t].pin;
        }
    }
    return code;
}

/* Pins in the order of the owners: those that arrived, if that is their order already. */
static int take_pins(const lists *pins, int64_t n, const int64_t *order, arrivals *in, bh_owners *owners)
{
    if (!is_identity(n, order)) {
        return lists_permuted(pins, n, order, (const char *)in->pin, (char **)&owners->pin);
    }
    owners->pin = in->pin;
    in->pin = NULL;
    return EQP_OK;
}

static int take_in(arrivals *in, const bh_costs *costs, const bh_survey *survey, bh_owners *owners)
{
    lists pins = {0}, tiles = {0};
    int64_t *order = NULL;
    int code = curve_order(in, &order);

    if (code == EQP_OK) {
        code = lists_create(in->n, in->group, false, sizeof *in->pin, &pins);
    }
    if (code == EQP_OK) {
        code = lists_create(in->n, in->group, true, sizeof *in->tile, &tiles);
    }
    if (code == EQP_OK) {
        code = take_pins(&pins, in->n, order, in, owners);
    }
    if (code == EQP_OK) {
        code = split_tiles(&tiles, in->n, order, in->tile, owners);
    }
    if (code == EQP_OK) {
        code = join_shares(in, order, costs, survey, owners);
    }
    lists_free(&pins);
    lists_free(&tiles);
    free(order);
    return code;
}

/* Keys that a rank shows of its groups: enough to cut the curve into stretches of nearly equally many. */
#define SHOWN 64

typedef struct shown_key {
    uint64_t key;
    double groups; /* that it stands for */
} shown_key;

static int compare_shown(const void *a, const void *b)
{
    const shown_key *first = a, *second = b;
    return (first->key > second->key) - (first->key < second->key);
}

/* cut [nranks + 1]: rank r speaks for the groups with cut[r] <= key < cut[r + 1]. */
static int cut_curve(MPI_Comm comm, int nranks, int64_t nkeys, const uint64_t *keys, uint64_t *cut)
{
    const int total = SHOWN * nranks;
    shown_key mine[SHOWN], *all = NULL;
    double sum = 0.0, before = 0.0;
    int r = 1, code = eqp_agree(comm, eqp_array_create(&all, total, sizeof *all), NULL);

    for (int i = 0; i < SHOWN; i++) {
        const int64_t at = nkeys * (2 * i + 1) / (2 * SHOWN);
        mine[i] = (shown_key){nkeys > 0 ? keys[at] : 0, (double)nkeys / SHOWN};
    }
    if (code == EQP_OK &&
        MPI_Allgather(mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    if (code == EQP_OK) {
        qsort(all, (size_t)total, sizeof *all, compare_shown);
        for (int i = 0; i < total; i++) {
            sum += all[i].groups;
        }
        cut[0] = 0;
        for (int i = 0; i < total; i++) {
            for (; r < nranks && before >= sum * r / nranks && before > 0.0; r++) {
                cut[r] = all[i].key;
            }
            before += all[i].groups;
        }
        for (; r <= nranks; r++) {
            cut[r] = UINT64_MAX;
        }
    }
    free(all);
    return code;
}

static int find_rank(int nranks, const uint64_t *cut, uint64_t key)
{
    int low = 0, high = nranks - 1;

    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (cut[middle] <= key) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Which rank speaks for which group. */
static int deal_out(MPI_Comm comm, const bh_survey *survey, int64_t nkeys, const uint64_t *keys, int **rank)
{
    uint64_t *cut = NULL;
    int nranks, code;

    MPI_Comm_size(comm, &nranks);
    code = eqp_array_create(&cut, nranks + 1, sizeof *cut);
    if (code == EQP_OK) {
        code = eqp_array_create(rank, survey->n, sizeof **rank);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = cut_curve(comm, nranks, nkeys, keys, cut);
    }
    for (int64_t i = 0; i < survey->n && code == EQP_OK; i++) {
        (*rank)[i] = find_rank(nranks, cut, survey->group[i].key);
    }
    free(cut);
    return code;
}

int bh_owners_line_up(MPI_Comm comm, const bh_survey *survey, const bh_costs *costs, int64_t nkeys,
                      const uint64_t *keys, bh_owners *owners, int64_t *bytes)
{
    arrivals in = {0};
    int64_t before = 0;
    int *rank = NULL;
    int code = deal_out(comm, survey, nkeys, keys, &rank);

    *owners = (bh_owners){.n = 0};
    if (code == EQP_OK) {
        code = send_survey(comm, survey, rank, &in, bytes);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, take_in(&in, costs, survey, owners), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_scan_int64(comm, owners->n, &before, NULL);
    }
    for (int64_t o = 0; o < owners->n; o++) {
        owners->id[o] = before + o;
    }
    free(in.tile);
    free(in.pin);
    free(in.group);
    free(rank);
    return code;
}

int bh_owners_enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    static const double own_centre[3] = {0.0, 0.0, 0.0};
    static const int64_t no_pin = -1;
    const bh_owners *owners = user;
    const int64_t first = owners->tile_first[owner], n = owners->tile_first[owner + 1] - first;
    double rest = owners->weight[owner];
    int code;

    for (int64_t t = first; t < first + n; t++) {
        rest -= owners->tile_weight[t];
    }
    rest = rest > 0.0 ? rest : 0.0;
    code = eqp_sink_add(sink, &(eqp_batch){.n = n,
                                           .centroid = owners->tile_centroid + 3 * first,
                                           .weight = owners->tile_weight + first,
                                           .npins = 1,
                                           .pin = owners->tile_pin + first});
    return code == EQP_OK
               ? eqp_sink_add(sink,
                              &(eqp_batch){.n = 1, .centroid = own_centre, .weight = &rest, .npins = 1, .pin = &no_pin})
               : code;
}
