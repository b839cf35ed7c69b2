/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs a late map of whole owners that live where they are computed. Rank 0 does it directly: owners need not be
 * lined up along the curve, and only keys, work and parts are sent. */
#include "late/late.h"

#include "assign/parts.h"
#include "assign/shares.h"
#include "comm/agree.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <limits.h>
#include <stdlib.h>

/* The data of an owner that rank 0 needs. */
typedef struct piece {
    uint64_t key; /* orders the curve, together with the id */
    int64_t id;
    double seconds;
    int32_t part;
    int32_t at_home;
} piece;

typedef struct whole {
    int64_t n;
    piece *piece;        /* [n] of this rank, in curve order */
    int *part;           /* [n] after the repair */
    double *sum;         /* [2 parts] seconds, and numbers of owners */
    int64_t *nowners;    /* [parts] the numbers of owners */
    double *own_share;   /* [parts] */
    const double *share; /* own_share, or NULL if all are equal */
    eqp_part_loads loads;
    /* on rank 0: */
    int64_t nall;
    int *count, *at; /* [ranks], [ranks + 1] pieces, and their offsets */
    int *bytes;      /* [2 ranks] the same in bytes */
    piece *all;      /* [nall] */
    int *all_part;   /* [nall] */
    int32_t *order;  /* [2 nall] of the pieces along the curve, and scratch */
    double *weight;  /* [nall] in that order */
    int *part_of;    /* [nall] in that order */
} whole;

static void whole_free(whole *w)
{
    void *owned[] = {w->piece, w->part, w->sum,      w->nowners, w->own_share, w->count,
                     w->bytes, w->all,  w->all_part, w->order,   w->weight,    w->part_of};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
}

static int make_room(const eqp_balancer *b, whole *w)
{
    const int64_t nparts = b->nparts, nranks = b->nranks;
    int64_t has = 0;
    int code;

    EQP_TRY(eqp_array_reserve(&w->piece, &has, w->n, sizeof *w->piece));
    EQP_TRY(eqp_array_create(&w->part, w->n, sizeof *w->part));
    EQP_TRY(eqp_array_create(&w->sum, 2 * nparts, sizeof *w->sum));
    EQP_TRY(eqp_array_create(&w->nowners, nparts, sizeof *w->nowners));
    EQP_TRY(eqp_array_create(&w->own_share, nparts, sizeof *w->own_share));
    EQP_TRY(eqp_array_create(&w->count, 2 * nranks + 1, sizeof *w->count));
    EQP_TRY(eqp_array_create(&w->bytes, 2 * nranks, sizeof *w->bytes));
    w->at = w->count + nranks;
done:
    return code;
}

static int along_curve(const void *left, const void *right)
{
    const piece *a = left, *b = right;

    return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : (a->id > b->id) - (a->id < b->id);
}

static void sort_pieces(int64_t n, piece *list)
{
    for (int64_t i = 1; i < n; i++) { /* usually sorted already */
        if (along_curve(&list[i - 1], &list[i]) > 0) {
            qsort(list, (size_t)n, sizeof *list, along_curve);
            return;
        }
    }
}

/* False unless this rank's work consists of owners at home, each once, and whole in the map. */
static bool read_pieces(const eqp_balancer *b, const eqp_placement *placement, whole *w)
{
    const eqp_survey *survey = &b->survey;

    for (int64_t i = 0; i < survey->n; i++) {
        const eqp_owner *owner = &survey->owner[i];
        const bool here = owner->home == b->rank && owner->at_home >= 0 && owner->at_home < w->n;
        if (!here || w->part[owner->at_home]++ > 0) {
            return false;
        }
        w->piece[i] = (piece){owner->key, owner->id, eqp__costs_predict(&b->costs, owner->count),
                              (int32_t)placement[owner->at_home].tag, (int32_t)owner->at_home};
    }
    sort_pieces(w->n, w->piece);
    return true;
}

/* *can: the map is of that kind on all ranks. */
static int whole_open(const eqp_balancer *b, const eqp_new_map *found, whole *w, bool *can)
{
    const bool fits = w->n <= INT_MAX / (int64_t)sizeof(piece) / b->nranks, /* fits into messages to rank 0 */
        shared = eqp_map_shared(b->map) > 0 || eqp_map_shared(found->map) > 0;
    int64_t all = 0;
    int code = make_room(b, w);

    if (code == EQP_OK && fits && !shared && !eqp__survey_cycles(&b->survey) && b->survey.n == w->n) {
        all = read_pieces(b, found->placement, w);
    }
    EQP_TRY(eqp__agree_least(b->comm, code, 1, &all, NULL));
    *can = all != 0;
done:
    return code;
}

/* The work of the parts by the original map. */
static int weigh(const eqp_balancer *b, const eqp_making *how, whole *w)
{
    double total = 0.0;
    int code;

    for (int64_t i = 0; i < w->n; i++) {
        w->sum[w->piece[i].part] += w->piece[i].seconds;
        w->sum[b->nparts + w->piece[i].part] += 1.0;
    }
    EQP_TRY(eqp__sum_double(b->comm, 2 * (int64_t)b->nparts, w->sum));
    for (int p = 0; p < b->nparts; p++) {
        total += w->sum[p];
        w->nowners[p] = (int64_t)w->sum[b->nparts + p];
        w->nall += w->nowners[p];
    }
    if (how->speeds.n > 0 || (how->base != NULL && total > 0.0)) {
        eqp__draft_share_out(b->nparts, total, how->base, how->speeds, w->own_share);
        w->share = w->own_share;
    }
    eqp__part_loads_finish(b->nparts, w->share, w->sum, w->nowners, &w->loads);
done:
    return code;
}

static bool needs_repair(const eqp_balancer *b, const eqp_making *how, const whole *w)
{
    const int empty = w->loads.empty;

    return w->loads.imbalance > how->assign_tol + EQP__IMBALANCE_SLACK || (empty > 0 && w->nall > b->nparts - empty);
}

static int make_room_for_all(whole *w)
{
    int64_t has[5] = {0}; /* large arrays are written before they are read */
    int code;

    EQP_TRY(eqp_array_reserve(&w->all, &has[0], w->nall, sizeof *w->all));
    EQP_TRY(eqp_array_reserve(&w->all_part, &has[1], w->nall, sizeof *w->all_part));
    EQP_TRY(eqp_array_reserve(&w->order, &has[2], 2 * w->nall, sizeof *w->order));
    EQP_TRY(eqp_array_reserve(&w->weight, &has[3], w->nall, sizeof *w->weight));
    EQP_TRY(eqp_array_reserve(&w->part_of, &has[4], w->nall, sizeof *w->part_of));
done:
    return code;
}

/* Gathers all pieces on rank 0, by rank. */
static int gather(const eqp_balancer *b, whole *w)
{
    const int n = (int)w->n, size = (int)sizeof(piece);
    int code = b->rank == 0 ? make_room_for_all(w) : EQP_OK;

    EQP_TRY(eqp_agree(b->comm, code, NULL));
    if (MPI_Gather(&n, 1, MPI_INT, w->count, 1, MPI_INT, 0, b->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    for (int r = 0; r < b->nranks; r++) {
        w->at[r + 1] = w->at[r] + w->count[r];
        w->bytes[r] = size * w->count[r];
        w->bytes[b->nranks + r] = size * w->at[r];
    }
    code = MPI_Gatherv(w->piece, n * size, MPI_BYTE, w->all, w->bytes, w->bytes + b->nranks, MPI_BYTE, 0, b->comm) ==
                   MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
done:
    return code;
}

/* Merges two adjacent sorted ranges of `from` into `to`. */
static void merge(const piece *all, int32_t *from, int32_t *to, int begin, int middle, int end)
{
    int left = begin, right = middle;

    for (int k = begin; k < end; k++) {
        const bool first = right == end || (left < middle && along_curve(&all[from[left]], &all[from[right]]) <= 0);
        to[k] = from[first ? left++ : right++];
    }
}

/* Order of all pieces along the curve, by pairwise merging. */
static int32_t *find_order(const whole *w, int nranks)
{
    int32_t *from = w->order, *to = w->order + w->nall;

    for (int i = 0; i < (int)w->nall; i++) {
        from[i] = i;
    }
    for (int width = 1; width < nranks; width *= 2) {
        for (int r = 0; r < nranks; r += 2 * width) {
            const int middle = r + width < nranks ? r + width : nranks,
                      end = middle + width < nranks ? middle + width : nranks;
            merge(w->all, from, to, w->at[r], w->at[middle], w->at[end]);
        }
        int32_t *const before = from;
        from = to;
        to = before;
    }
    return from;
}

/* The repair, on rank 0. */
static int repair_here(const eqp_balancer *b, const eqp_making *how, whole *w, eqp_repair_result *result)
{
    const int32_t *order = find_order(w, b->nranks);
    int code;

    for (int64_t k = 0; k < w->nall; k++) {
        w->weight[k] = w->all[order[k]].seconds;
        w->part_of[k] = w->all[order[k]].part;
    }
    EQP_TRY(eqp_repair(w->nall, w->weight, NULL, b->nparts, w->share, how->assign_tol, w->part_of, result));
    for (int64_t k = 0; k < w->nall; k++) {
        w->all_part[order[k]] = w->part_of[k];
    }
done:
    return code;
}

/* Repairs on rank 0; w->part gets the result in the order of the pieces. */
static int repair(const eqp_balancer *b, const eqp_making *how, whole *w, eqp_repair_result *result)
{
    struct {
        int64_t code;
        eqp_repair_result result;
    } told = {.code = EQP_OK};
    int code;

    EQP_TRY(gather(b, w));
    if (b->rank == 0) {
        told.code = repair_here(b, how, w, &told.result);
    }
    EQP_TRY(MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, 0, b->comm) == MPI_SUCCESS ? (int)told.code : EQP_ERR_MPI);
    EQP_TRY(MPI_Scatterv(w->all_part, w->count, w->at, MPI_INT, w->part, (int)w->n, MPI_INT, 0, b->comm) == MPI_SUCCESS
                ? EQP_OK
                : EQP_ERR_MPI);
    *result = told.result;
done:
    return code;
}

int eqp__late_repair_whole(const eqp_balancer *b, const eqp_names *home, const eqp_making *how, eqp_new_map *found,
                           eqp__late_repaired *news, bool *can)
{
    whole w = {.n = home->n};
    eqp_repair_result result = {.moved = 0};
    int code;

    EQP_TRY(whole_open(b, found, &w, can));
    if (!*can) {
        goto done;
    }
    EQP_TRY(weigh(b, how, &w));
    *news = (eqp__late_repaired){.came = w.loads.imbalance, .reached = w.loads.imbalance};
    if (needs_repair(b, how, &w)) {
        EQP_TRY(repair(b, how, &w, &result));
        news->reached = result.imbalance;
        for (int64_t i = 0; i < w.n; i++) {
            found->placement[w.piece[i].at_home] = (eqp_placement){w.part[i], w.part[i]};
        }
    }
done:
    whole_free(&w);
    return code;
}
