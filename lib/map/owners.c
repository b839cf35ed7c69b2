/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/owners.h"

#include "base/internal.h"
#include "comm/send.h"

#include <equipoise/more/comm.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void eqp__owners_free(eqp_owners *owners)
{
    EQP__FREE(owners->owner, owners->id, owners->own_pin, owners->count, owners->weight, owners->seconds, owners->again,
              owners->pin_first, owners->pin, owners->tile_first, owners->tile_centroid, owners->tile_weight,
              owners->tile_pin, owners->phase);
    *owners = (eqp_owners){.n = 0};
}

double eqp__owners_bytes(const eqp_owners *o)
{
    const int64_t npins = o->pin_first != NULL ? o->pin_first[o->n] : 0,
                  ntiles = o->tile_first != NULL ? o->tile_first[o->n] : 0;

    return (double)o->n * (double)(sizeof *o->owner + (8 + (size_t)o->phases.n) * sizeof(double)) +
           (double)npins * sizeof *o->pin + (double)ntiles * (4 + EQP_TILE_PINS) * sizeof(double);
}

/* Owners with their lists, concatenated in the order of the owners. */
typedef struct bundle {
    int64_t n, npins, ntiles;
    eqp_cycle_turns phases; /* n 0: one phase */
    eqp_owner *owner;
    double *phase; /* [n][phases.n] */
    int64_t *pin;
    eqp_tile *tile;
} bundle;

static void bundle_free(bundle *of)
{
    EQP__FREE(of->owner, of->phase, of->pin, of->tile);
}

static int bundle_create(bundle *made)
{
    return EQP__ARRAYS(EQP__ARRAY(made->owner, made->n), EQP__ARRAY(made->phase, made->n * made->phases.n),
                       EQP__ARRAY(made->pin, made->npins), EQP__ARRAY(made->tile, made->ntiles));
}

/* An owner and pointers to its lists. */
typedef struct entry {
    const eqp_owner *owner;
    const double *phase;
    const int64_t *pin;
    const eqp_tile *tile;
    int64_t place; /* order of the shares of one owner */
} entry;

/* Entries of owners with concatenated lists. wanted: selects some, or NULL. */
static int64_t list_entries(const bundle *of, const int *rank, int wanted, int64_t before, entry *entries)
{
    const int64_t *pin = of->pin;
    const eqp_tile *tile = of->tile;
    int64_t count = 0;

    for (int64_t i = 0; i < of->n; i++) {
        const eqp_owner *owner = &of->owner[i];
        if (rank == NULL || rank[i] == wanted) {
            const double *phase = of->phases.n > 0 ? of->phase + i * of->phases.n : NULL;
            entries[count] = (entry){owner, phase, pin, tile, before + count};
            count++;
        }
        pin = pin == NULL ? NULL : pin + owner->npins;
        tile = tile == NULL ? NULL : tile + owner->ntiles;
    }
    return count;
}

/* The contents of a survey (borrowed). */
static bundle bundle_of(const eqp_survey *survey)
{
    return (bundle){.n = survey->n,
                    .npins = survey->npins,
                    .ntiles = survey->ntiles,
                    .phases = eqp__survey_cycles(survey) ? survey->model.phases : (eqp_cycle_turns){.n = 0},
                    .owner = survey->owner,
                    .phase = survey->phase,
                    .pin = survey->pin,
                    .tile = survey->tile};
}

/* Packs the owners for each other rank, by rank. sent [3][ranks]: owners, pins, tiles. */
static int pack_foreign(const eqp_survey *survey, const int *rank, int me, int nranks, bundle *out, int64_t *sent)
{
    int64_t *next = NULL;
    int code;

    for (int64_t i = 0; i < survey->n; i++) {
        if (rank[i] != me) {
            sent[rank[i]]++;
            sent[nranks + rank[i]] += survey->owner[i].npins;
            sent[2 * nranks + rank[i]] += survey->owner[i].ntiles;
        }
    }
    EQP_TRY(eqp_array_create(&next, 3 * (int64_t)nranks, sizeof *next));
    for (int r = 0; r < nranks; r++) {
        next[r] = out->n;
        next[nranks + r] = out->npins;
        next[2 * nranks + r] = out->ntiles;
        out->n += sent[r];
        out->npins += sent[nranks + r];
        out->ntiles += sent[2 * nranks + r];
    }
    EQP_TRY(bundle_create(out));
    for (int64_t i = 0, pin = 0, tile = 0; i < survey->n; i++) {
        const eqp_owner *owner = &survey->owner[i];
        const int r = rank[i];
        if (r != me) {
            if (out->phases.n > 0) {
                memcpy(out->phase + next[r] * out->phases.n, survey->phase + i * out->phases.n,
                       (size_t)out->phases.n * sizeof *out->phase);
            }
            out->owner[next[r]++] = *owner;
            /* a rank without any pins has no array */
            if (owner->npins > 0) {
                memcpy(out->pin + next[nranks + r], survey->pin + pin, (size_t)owner->npins * sizeof *out->pin);
                next[nranks + r] += owner->npins;
            }
            if (owner->ntiles > 0) {
                memcpy(out->tile + next[2 * nranks + r], survey->tile + tile,
                       (size_t)owner->ntiles * sizeof *out->tile);
                next[2 * nranks + r] += owner->ntiles;
            }
        }
        pin += owner->npins;
        tile += owner->ntiles;
    }
done:
    free(next);
    return code;
}

/* Sends owners to the ranks in charge of them. Owners that stay are not in *in. */
static int send_foreign(MPI_Comm comm, const eqp_survey *survey, const int *rank, bundle *in, int64_t *bytes)
{
    const eqp_cycle_turns phases = bundle_of(survey).phases; /* the same on all ranks */
    bundle out = {.phases = phases};
    int64_t *sent = NULL, n;
    int me, nranks, code;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    code = eqp_array_create(&sent, 3 * (int64_t)nranks, sizeof *sent);
    code = code ? code : pack_foreign(survey, rank, me, nranks, &out, sent);
    in->phases = phases;
    EQP_TRY(eqp__send(comm, code, sizeof *out.owner, sent, out.owner, NULL, &in->n, &in->owner));
    if (phases.n > 0) {
        EQP_TRY(eqp__send(comm, code, (size_t)phases.n * sizeof *out.phase, sent, out.phase, NULL, &n, &in->phase));
    }
    EQP_TRY(eqp__send(comm, code, sizeof *out.pin, sent + nranks, out.pin, NULL, &in->npins, &in->pin));
    EQP_TRY(eqp__send(comm, code, sizeof *out.tile, sent + 2 * nranks, out.tile, NULL, &in->ntiles, &in->tile));
done:
    *bytes += out.n * (int64_t)(sizeof *out.owner + (size_t)phases.n * sizeof *out.phase) +
              out.npins * (int64_t)sizeof *out.pin + out.ntiles * (int64_t)sizeof *out.tile;
    bundle_free(&out);
    free(sent);
    return code;
}

static int compare_entries(const void *a, const void *b)
{
    const entry *first = a, *second = b;

    if (first->owner->key != second->owner->key) {
        return first->owner->key < second->owner->key ? -1 : 1;
    }
    if (first->owner->id != second->owner->id) {
        return first->owner->id < second->owner->id ? -1 : 1;
    }
    return (first->place > second->place) - (first->place < second->place);
}

static void sort_entries(int64_t n, entry *entries)
{
    for (int64_t i = 1; i < n; i++) {
        if (compare_entries(&entries[i - 1], &entries[i]) > 0) {
            qsort(entries, (size_t)n, sizeof *entries, compare_entries);
            return;
        }
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds another rank's share of an owner. */
static void add_share(const eqp_work_model *model, eqp_owner *owner, const eqp_owner *share)
{
    for (int k = 0; k < model->nkinds; k++) {
        const bool once = (model->once >> k & 1) != 0;
        owner->count[k] = once ? larger(owner->count[k], share->count[k]) : owner->count[k] + share->count[k];
    }
    owner->interactions += share->interactions - 1;
    owner->npins += share->npins;
    owner->ntiles += share->ntiles;
}

int eqp__owners_create(int64_t n, int64_t npins, int64_t ntiles, const eqp_cycle_turns *phases, eqp_owners *owners)
{
    owners->phases = *phases;
    EQP__CHECK(phases->n > 0 ? eqp_array_create(&owners->phase, n * phases->n, sizeof *owners->phase) : EQP_OK);
    return EQP__ARRAYS(EQP__ARRAY(owners->owner, n), EQP__ARRAY(owners->id, n + 1), EQP__ARRAY(owners->own_pin, n + 1),
                       EQP__ARRAY(owners->count, n + 1), EQP__ARRAY(owners->pin_first, n + 1),
                       EQP__ARRAY(owners->tile_first, n + 1), EQP__ARRAY(owners->weight, n),
                       EQP__ARRAY(owners->seconds, n), EQP__ARRAY(owners->again, n), EQP__ARRAY(owners->pin, npins),
                       EQP__ARRAY(owners->tile_centroid, 3 * ntiles), EQP__ARRAY(owners->tile_weight, ntiles),
                       EQP__ARRAY(owners->tile_pin, EQP_TILE_PINS * ntiles));
}

/* Adds the phases of one share of the last owner. */
static void add_phases(eqp_owners *owners, const double *phase)
{
    for (int k = 0; k < owners->phases.n; k++) {
        owners->phase[(owners->n - 1) * owners->phases.n + k] += phase[k];
    }
}

/* Owners from sorted entries, with shares added up. The sampler needs the members of tiles in separate arrays. */
static void fill_owners(int64_t n, const entry *entries, const eqp_work_model *model, eqp_owners *owners)
{
    int64_t pin = 0, tile = 0;

    for (int64_t i = 0; i < n; i++) {
        const eqp_owner *next = entries[i].owner;
        eqp_owner *last = owners->n > 0 ? &owners->owner[owners->n - 1] : NULL;
        if (last != NULL && last->key == next->key && last->id == next->id) {
            add_share(model, last, next);
        } else {
            owners->owner[owners->n++] = *next;
        }
        add_phases(owners, entries[i].phase);
        for (int64_t p = 0; p < next->npins; p++) {
            owners->pin[pin++] = entries[i].pin[p];
        }
        for (int64_t t = 0; t < next->ntiles; t++, tile++) {
            memcpy(owners->tile_centroid + 3 * tile, entries[i].tile[t].centroid, 3 * sizeof(double));
            owners->tile_weight[tile] = entries[i].tile[t].weight;
            memcpy(owners->tile_pin + EQP_TILE_PINS * tile, entries[i].tile[t].pin, sizeof entries[i].tile[t].pin);
        }
        owners->pin_first[owners->n] = pin;
        owners->tile_first[owners->n] = tile;
    }
}

/* Nanoseconds of some kinds of work: bit k of `kinds` for kind k. */
static double weight_of_kinds(const eqp_work_model *model, unsigned kinds, const int64_t *count)
{
    double seconds = 0.0;

    for (int k = 0; k < model->nkinds; k++) {
        seconds += (kinds >> k & 1) != 0 ? model->nominal[k] * (double)count[k] : 0.0;
    }
    return 1e9 * seconds;
}

/* Converts surveyed nanoseconds to fractions of the owner's seconds in all turns. */
static void scale_phases(const eqp_cycle_turns *phases, double seconds, double *phase)
{
    double cycle = 0.0;

    for (int k = 0; k < phases->n; k++) {
        cycle += phases->times[k] * phase[k];
    }
    const bool even = !(cycle > 0.0);
    for (int k = 0; k < phases->n && even; k++) {
        phase[k] = 1.0;
        cycle += phases->times[k];
    }
    for (int k = 0; k < phases->n; k++) {
        phase[k] *= seconds / cycle;
    }
}

static int make_owners(const eqp_survey *survey, const int *rank, int me, const bundle *in, const eqp_work_model *model,
                       const eqp_costs *costs, eqp_owners *owners)
{
    const bundle here = bundle_of(survey);
    entry *entries = NULL;
    int64_t n = 0, npins = 0, ntiles = 0;
    int code;

    EQP_TRY(eqp_array_create(&entries, survey->n + in->n, sizeof *entries));
    n = list_entries(&here, rank, me, 0, entries);
    n += list_entries(in, NULL, 0, n, entries + n);
    sort_entries(n, entries);
    for (int64_t i = 0; i < n; i++) {
        npins += entries[i].owner->npins;
        ntiles += entries[i].owner->ntiles;
    }
    EQP_TRY(eqp__owners_create(n, npins, ntiles, &here.phases, owners));
    fill_owners(n, entries, model, owners);
done:
    for (int64_t o = 0; o < owners->n; o++) {
        const eqp_owner *owner = &owners->owner[o];
        owners->count[o] = owner->interactions;
        owners->weight[o] = eqp__work_weight(model, owner->count);
        owners->again[o] = weight_of_kinds(model, model->once, owner->count);
        owners->seconds[o] = eqp__costs_predict(costs, owner->count);
        if (owners->phases.n > 0) {
            scale_phases(&owners->phases, owners->seconds[o], owners->phase + o * owners->phases.n);
        }
    }
    free(entries);
    return code;
}

/* Keys that a rank contributes for cutting the curve into ranges of nearly equal numbers of owners. */
#define SHOWN 64

typedef struct shown_key {
    uint64_t key;
    double owners; /* number of owners that it represents */
} shown_key;

static int compare_shown(const void *a, const void *b)
{
    const shown_key *first = a, *second = b;
    return (first->key > second->key) - (first->key < second->key);
}

/* cut [nranks + 1]: rank r is in charge of the owners with cut[r] <= key < cut[r + 1]. */
static int cut_curve(MPI_Comm comm, int nranks, int64_t nkeys, const uint64_t *keys, uint64_t *cut)
{
    const int total = SHOWN * nranks;
    shown_key mine[SHOWN], *all = NULL;
    double sum = 0.0, before = 0.0;
    int r = 1, code;

    EQP_TRY(eqp_agree(comm, eqp_array_create(&all, total, sizeof *all), NULL));
    for (int i = 0; i < SHOWN; i++) {
        const int64_t at = nkeys * (2 * i + 1) / (2 * SHOWN);
        mine[i] = (shown_key){nkeys > 0 ? keys[at] : 0, (double)nkeys / SHOWN};
    }
    EQP_TRY(EQP__MPI(MPI_Allgather(mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, comm)));
    qsort(all, (size_t)total, sizeof *all, compare_shown);
    for (int i = 0; i < total; i++) {
        sum += all[i].owners;
    }
    cut[0] = 0;
    for (int i = 0; i < total; i++) {
        for (; r < nranks && before >= sum * r / nranks && before > 0.0; r++) {
            cut[r] = all[i].key;
        }
        before += all[i].owners;
    }
    for (; r <= nranks; r++) {
        cut[r] = UINT64_MAX;
    }
done:
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

static int deal_out(MPI_Comm comm, const eqp_survey *survey, int64_t nkeys, const uint64_t *keys, int **rank)
{
    uint64_t *cut = NULL;
    int nranks, code;

    MPI_Comm_size(comm, &nranks);
    code = eqp_array_create(&cut, nranks + 1, sizeof *cut);
    code = code ? code : eqp_array_create(rank, survey->n, sizeof **rank);
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(cut_curve(comm, nranks, nkeys, keys, cut));
    for (int64_t i = 0; i < survey->n; i++) {
        (*rank)[i] = find_rank(nranks, cut, survey->owner[i].key);
    }
done:
    free(cut);
    return code;
}

int eqp__owners_line_up(MPI_Comm comm, const eqp_survey *survey, const eqp_work_model *model, const eqp_costs *costs,
                        int64_t nkeys, const uint64_t *keys, eqp_owners *owners, int64_t *bytes)
{
    bundle in = {0};
    int64_t before = 0;
    int *rank = NULL, me;
    int code;

    MPI_Comm_rank(comm, &me);
    *owners = (eqp_owners){.n = 0};
    EQP_TRY(deal_out(comm, survey, nkeys, keys, &rank));
    EQP_TRY(send_foreign(comm, survey, rank, &in, bytes));
    EQP_TRY(eqp_agree(comm, make_owners(survey, rank, me, &in, model, costs, owners), NULL));
    EQP_TRY(eqp_scan_int64(comm, owners->n, &before, NULL));
done:
    for (int64_t o = 0; o < owners->n; o++) {
        owners->id[o] = before + o;
        owners->own_pin[o] = owners->owner[o].pin >= 0 ? owners->owner[o].pin : before + o;
    }
    bundle_free(&in);
    free(rank);
    return code;
}

int eqp__owners_line_up_alone(const eqp_survey *survey, const eqp_work_model *model, const eqp_costs *costs,
                              eqp_owners *owners)
{
    const bundle none = {0};
    const int code = make_owners(survey, NULL, 0, &none, model, costs, owners);

    for (int64_t o = 0; o < owners->n; o++) {
        owners->id[o] = o;
        owners->own_pin[o] = owners->owner[o].pin >= 0 ? owners->owner[o].pin : o;
    }
    return code;
}

/* Remainders of an owner's weight below this many nanoseconds are rounding errors, and no unit could hold them. */
#define NO_REST 1e-2

/* Adds the tiles of an owner, and what is left of its weight at its own centre. rest: NULL: each has weight 1. */
static int add_tiles(const eqp_owners *owners, int64_t owner, const double *rest, eqp_sink *sink)
{
    static const double own_centre[3] = {0.0, 0.0, 0.0};
    static const int64_t no_pin = -1;
    const int64_t first = owners->tile_first[owner];

    EQP__CHECK(eqp_sink_add(sink, &(eqp_batch){.n = owners->tile_first[owner + 1] - first,
                                               .centroid = owners->tile_centroid + 3 * first,
                                               .weight = rest != NULL ? owners->tile_weight + first : NULL,
                                               .npins = EQP_TILE_PINS,
                                               .pin = owners->tile_pin + EQP_TILE_PINS * first}));
    return eqp_sink_add(sink, &(eqp_batch){.n = 1, .centroid = own_centre, .weight = rest, .npins = 1, .pin = &no_pin});
}

int eqp__owners_enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    const eqp_owners *owners = user;
    double rest = owners->weight[owner];

    for (int64_t t = owners->tile_first[owner]; t < owners->tile_first[owner + 1]; t++) {
        rest -= owners->tile_weight[t];
    }
    rest = rest > NO_REST ? rest : 0.0;
    return add_tiles(owners, owner, &rest, sink);
}

int eqp__owners_enumerate_alike(void *user, int64_t owner, eqp_sink *sink)
{
    return add_tiles(user, owner, NULL, sink);
}
