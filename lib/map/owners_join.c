/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins owners on both sides of a rank boundary that form one unit. */
#include "map/owners.h"

#include "base/internal.h"
#include "comm/send.h"

#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

/* An owner without its lists. */
typedef struct record {
    eqp_owner owner;
    int64_t id, own_pin, count, npins, ntiles;
    double weight, again, seconds;
} record;

/* The intervals of a rank; empty without owners. */
typedef struct range {
    int64_t n, first, last;
} range;

/* Owners moving to a lower rank, and owners arriving from higher ones. */
typedef struct journey {
    int64_t *sent;            /* [3][ranks]: owners, pins, tiles */
    int64_t n, npins, ntiles; /* the first owners here, which leave */
    int64_t nin, npins_in, ntiles_in;
    record *out, *in;
} journey;

static record record_of(const eqp_owners *owners, int64_t o)
{
    return (record){.owner = owners->owner[o],
                    .id = owners->id[o],
                    .own_pin = owners->own_pin[o],
                    .count = owners->count[o],
                    .npins = owners->pin_first[o + 1] - owners->pin_first[o],
                    .ntiles = owners->tile_first[o + 1] - owners->tile_first[o],
                    .weight = owners->weight[o],
                    .again = owners->again[o],
                    .seconds = owners->seconds[o]};
}

static void put(eqp_owners *owners, int64_t o, const record *r)
{
    owners->owner[o] = r->owner;
    owners->id[o] = r->id;
    owners->own_pin[o] = r->own_pin;
    owners->count[o] = r->count;
    owners->weight[o] = r->weight;
    owners->again[o] = r->again;
    owners->seconds[o] = r->seconds;
    owners->pin_first[o + 1] = owners->pin_first[o] + r->npins;
    owners->tile_first[o + 1] = owners->tile_first[o] + r->ntiles;
}

/* The rank to which the owners of this rank's first interval move: itself if no lower rank has that interval.
 * Intervals ascend. */
static int find_target(int rank, const range *all)
{
    int target = rank;

    for (int r = rank - 1; r >= 0 && all[rank].n > 0 && (all[r].n == 0 || all[r].last == all[rank].first); r--) {
        target = all[r].n > 0 ? r : target;
    }
    return target;
}

static int pack(const eqp_owners *owners, const int64_t *interval, int target, int nranks, journey *j)
{
    while (j->n < owners->n && interval[j->n] == interval[0]) {
        j->n++;
    }
    j->npins = owners->pin_first[j->n];
    j->ntiles = owners->tile_first[j->n];
    j->sent[target] = j->n;
    j->sent[nranks + target] = j->npins;
    j->sent[2 * nranks + target] = j->ntiles;
    EQP__CHECK(eqp_array_create(&j->out, j->n, sizeof *j->out));
    for (int64_t o = 0; o < j->n; o++) {
        j->out[o] = record_of(owners, o);
    }
    return EQP_OK;
}

static int create(const eqp_owners *owners, const journey *j, eqp_owners *made)
{
    return eqp__owners_create(owners->n - j->n + j->nin, owners->pin_first[owners->n] - j->npins + j->npins_in,
                              owners->tile_first[owners->n] - j->ntiles + j->ntiles_in, &owners->phases, made);
}

/* Moves the elements from `gone` on to the front and appends the arriving ones. */
static int splice(MPI_Comm comm, size_t size, const int64_t *sent, int64_t gone, int64_t n, const void *old, void *made)
{
    const size_t stays = (size_t)(n - gone) * size;
    char *came = NULL;
    int64_t ncame;
    int code;

    EQP_TRY(eqp__send(comm, EQP_OK, size, sent, old, NULL, &ncame, &came));
    if (stays > 0) {
        memcpy(made, (const char *)old + (size_t)gone * size, stays);
    }
    if (ncame > 0) {
        memcpy((char *)made + stays, came, (size_t)ncame * size);
    }
done:
    free(came);
    return code;
}

/* made: with room for all owners. */
static int travel(MPI_Comm comm, int nranks, const eqp_owners *owners, journey *j, eqp_owners *made)
{
    const int64_t *const pins_out = j->sent + nranks, *const tiles_out = pins_out + nranks;
    const int64_t npins = owners->pin_first[owners->n], ntiles = owners->tile_first[owners->n];

    if (owners->phases.n > 0) { /* the same on all ranks */
        EQP__CHECK(splice(comm, (size_t)owners->phases.n * sizeof *made->phase, j->sent, j->n, owners->n, owners->phase,
                          made->phase));
    }
    EQP__CHECK(splice(comm, sizeof *made->pin, pins_out, j->npins, npins, owners->pin, made->pin));
    EQP__CHECK(splice(comm, 3 * sizeof *made->tile_centroid, tiles_out, j->ntiles, ntiles, owners->tile_centroid,
                      made->tile_centroid));
    EQP__CHECK(
        splice(comm, sizeof *made->tile_weight, tiles_out, j->ntiles, ntiles, owners->tile_weight, made->tile_weight));
    EQP__CHECK(splice(comm, EQP_TILE_PINS * sizeof *made->tile_pin, tiles_out, j->ntiles, ntiles, owners->tile_pin,
                      made->tile_pin));
    for (int64_t o = j->n; o < owners->n; o++) {
        const record r = record_of(owners, o);
        put(made, made->n++, &r);
    }
    for (int64_t i = 0; i < j->nin; i++) {
        put(made, made->n++, &j->in[i]);
    }
    return EQP_OK;
}

/* Exchanges the ranks' intervals and packs the leaving owners. *any: false on all ranks if no owner leaves. */
static int plan(MPI_Comm comm, const int64_t *interval, const eqp_owners *owners, journey *j, bool *any)
{
    const range mine = {owners->n, owners->n > 0 ? interval[0] : 0, owners->n > 0 ? interval[owners->n - 1] : 0};
    range *all = NULL;
    int64_t n = 0;
    int rank, nranks, code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    EQP_TRY(eqp_gather_records(comm, sizeof mine, 1, &mine, &n, &all));
    *any = false;
    for (int r = 0; r < nranks && !*any; r++) {
        *any = find_target(r, all) != r;
    }
    code = eqp_array_create(&j->sent, 3 * (int64_t)nranks, sizeof *j->sent);
    const int target = find_target(rank, all);
    code = code == EQP_OK && target != rank ? pack(owners, interval, target, nranks, j) : code;
    code = eqp_agree(comm, code, NULL);
done:
    free(all);
    return code;
}

int eqp__owners_join(MPI_Comm comm, const int64_t *interval, eqp_owners *owners)
{
    eqp_owners made = {.n = 0};
    journey j = {.n = 0};
    bool any = false;
    int nranks, code;

    MPI_Comm_size(comm, &nranks);
    EQP_TRY(plan(comm, interval, owners, &j, &any));
    if (!any) { /* the same on all ranks */
        goto done;
    }
    EQP_TRY(eqp__send(comm, code, sizeof *j.out, j.sent, j.out, NULL, &j.nin, &j.in));
    for (int64_t i = 0; i < j.nin; i++) {
        j.npins_in += j.in[i].npins;
        j.ntiles_in += j.in[i].ntiles;
    }
    EQP_TRY(eqp_agree(comm, create(owners, &j, &made), NULL));
    EQP_TRY(travel(comm, nranks, owners, &j, &made));
    eqp__owners_free(owners);
    *owners = made;
    made = (eqp_owners){.n = 0};
done:
    eqp__owners_free(&made);
    EQP__FREE(j.sent, j.out, j.in);
    return code;
}
