/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that cut the curve: `none`, `count`, `sfc`. Every rank gathers the loads and computes the same cuts. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/methods.h>

/* Most loads gathered, 32 MiB per rank. With more items, runs of equal length are cut instead of single items. */
#define MOST_RUNS ((int64_t)1 << 22)

/* Runs of `length` consecutive items. A run may extend over several ranks, which then hold a piece each. */
typedef struct runs {
    int64_t length;
    int64_t before; /* items of lower ranks */
    int64_t n;      /* items of this rank */
    int64_t total;  /* items of all ranks */
} runs;

static int64_t count_runs(const runs *r, int64_t before, int64_t n)
{
    return n == 0 ? 0 : (before + n - 1) / r->length - before / r->length + 1;
}

static void sum_runs(const runs *r, const double *load, double *sum)
{
    for (int64_t i = 0; i < r->n; i++) {
        sum[(r->before + i) / r->length - r->before / r->length] += load[i];
    }
}

/* Loads of all runs, summed from the ranks' pieces in rank order, so that every rank gets the same sums. */
static void join_runs(const runs *r, int nranks, const int64_t *items, const double *piece, double *load)
{
    int64_t before = 0, at = 0;

    for (int k = 0; k < nranks; k++) {
        int64_t pieces = count_runs(r, before, items[k]), first = before / r->length;
        for (int64_t j = 0; j < pieces; j++) {
            load[first + j] += piece[at++];
        }
        before += items[k];
    }
}

/* Gathers every rank's number of items, and computes its number of pieces. Collective. */
static int gather_shape(MPI_Comm comm, int rank, int nranks, runs *r, int64_t *items, int64_t *pieces, int64_t *npieces)
{
    int64_t before = 0;

    EQP__CHECK(EQP__MPI(MPI_Allgather(&r->n, 1, MPI_INT64_T, items, 1, MPI_INT64_T, comm)));
    for (int k = 0; k < nranks; k++) {
        r->before += k < rank ? items[k] : 0;
        r->total += items[k];
    }
    r->length = r->total / MOST_RUNS + (r->total % MOST_RUNS != 0);
    r->length = r->length > 0 ? r->length : 1;
    *npieces = 0;
    for (int k = 0; k < nranks; k++) {
        pieces[k] = count_runs(r, before, items[k]);
        *npieces += pieces[k];
        before += items[k];
    }
    return EQP_OK;
}

/* Gathers the loads of all runs on every rank. shape: [2 ranks] work. all: owned by the caller. Collective. */
static int gather_runs(MPI_Comm comm, int rank, int nranks, runs *r, const double *load, int64_t *shape, double **all)
{
    int64_t *items = shape, *pieces = shape + nranks, npieces;
    double *mine = NULL, *piece = NULL, *joined = NULL;
    int code;

    EQP_TRY(gather_shape(comm, rank, nranks, r, items, pieces, &npieces));
    code = EQP__ARRAYS(EQP__ARRAY(mine, pieces[rank]), EQP__ARRAY(piece, npieces),
                       EQP__ARRAY(joined, count_runs(r, 0, r->total)));
    if (!code) {
        sum_runs(r, load, mine);
    }
    EQP_TRY(eqp__gather_all(comm, code, sizeof *mine, pieces[rank], mine, pieces, piece));
    join_runs(r, nranks, items, piece, joined);
    *all = joined;
    joined = NULL;
done:
    EQP__FREE(mine, piece, joined);
    return code;
}

/* Parts of this rank's items from the cuts of the runs. */
static void read_parts(const runs *r, const int64_t *first, int *part)
{
    int p = 0;

    for (int64_t i = 0; i < r->n; i++) {
        while (first[p + 1] <= (r->before + i) / r->length) {
            p++;
        }
        part[i] = p;
    }
}

int eqp__cut_curve(MPI_Comm comm, int code, int64_t n, const double *load, const eqp_balance_options *options,
                   int optimal, int *part)
{
    int rank, nranks;
    int64_t *first = NULL, *shape = NULL;
    double *all = NULL;
    runs r = {.n = n};

    EQP__CHECK(eqp__comm_shape(comm, &rank, &nranks));
    code = code ? code
                : EQP__ARRAYS(EQP__ARRAY(first, (int64_t)options->nparts + 1), EQP__ARRAY(shape, 2 * (int64_t)nranks));
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(gather_runs(comm, rank, nranks, &r, load, shape, &all));
    int64_t nruns = count_runs(&r, 0, r.total);
    code = optimal ? eqp_cuts_optimal(nruns, all, options->nparts, options->share, first, NULL)
                   : eqp__cuts_from_shares(nruns, all, options->nparts, options->share, first);
    EQP_TRY(eqp_agree(comm, code, NULL));
    read_parts(&r, first, part);
done:
    EQP__FREE(first, shape, all);
    return code;
}

/* Numbers of particles as loads. *load: owned by the caller. */
static int count_particles(const eqp_balance_items *items, double **load)
{
    EQP__CHECK(eqp_array_create(load, items->n, sizeof **load));
    for (int64_t i = 0; i < items->n; i++) {
        (*load)[i] = (double)items->particles[i];
    }
    return EQP_OK;
}

static int assign_count(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    double *load = NULL;
    int code = count_particles(items, &load);

    (void)result;
    code = eqp__cut_curve(comm, code, items->n, load, options, 0, part);
    free(load);
    return code;
}

static int assign_sfc(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                      eqp_balance_result *result)
{
    (void)result;
    return eqp__cut_curve(comm, EQP_OK, items->n, items->weight, options, 1, part);
}

/* Cuts the items of one rank. Local. */
static int cut_alone(const eqp_balance_items *items, const double *load, const eqp_balance_options *options,
                     int optimal, int *part)
{
    int64_t *first = NULL;
    int code;

    EQP_TRY(eqp_array_create(&first, (int64_t)options->nparts + 1, sizeof *first));
    EQP_TRY(optimal ? eqp_cuts_optimal(items->n, load, options->nparts, options->share, first, NULL)
                    : eqp__cuts_from_shares(items->n, load, options->nparts, options->share, first));
    for (int p = 0; p < options->nparts; p++) {
        for (int64_t i = first[p]; i < first[p + 1]; i++) {
            part[i] = p;
        }
    }
done:
    free(first);
    return code;
}

static int count_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result)
{
    double *load = NULL;
    int code;

    (void)result;
    EQP_TRY(count_particles(items, &load));
    EQP_TRY(cut_alone(items, load, options, 0, part));
done:
    free(load);
    return code;
}

static int sfc_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                     eqp_balance_result *result)
{
    (void)result;
    return cut_alone(items, items->weight, options, 1, part);
}

int eqp__parts_are_known(MPI_Comm comm, const eqp_balance_items *items, int nparts, int *known)
{
    int mine = items->n == 0 || items->part_now != NULL;

    for (int64_t i = 0; mine && i < items->n; i++) {
        mine = items->part_now[i] >= 0 && items->part_now[i] < nparts;
    }
    return EQP__MPI(MPI_Allreduce(&mine, known, 1, MPI_INT, MPI_MIN, comm));
}

/* Copies the present parts of the items. *known: as by eqp__parts_are_known(); otherwise nothing is copied. */
static int copy_parts(MPI_Comm comm, const eqp_balance_items *items, int nparts, int *part, int *known)
{
    EQP__CHECK(eqp__parts_are_known(comm, items, nparts, known));
    for (int64_t i = 0; i < items->n && *known; i++) {
        part[i] = items->part_now[i];
    }
    return EQP_OK;
}

int eqp__present_parts(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part)
{
    int known;

    EQP__CHECK(copy_parts(comm, items, options->nparts, part, &known));
    return known ? EQP_OK : assign_sfc(comm, items, options, part, NULL);
}

static int assign_none(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result)
{
    int known;

    EQP__CHECK(copy_parts(comm, items, options->nparts, part, &known));
    return known ? EQP_OK : assign_count(comm, items, options, part, result);
}

const eqp_method eqp__method_none = {
    .name = "none", .summary = "keep the present parts", .flags = EQP_KEEPS, .assign = assign_none};

const eqp_method eqp__method_count = {.name = "count",
                                      .summary = "equal numbers of particles along the curve",
                                      .assign = assign_count,
                                      .assign_alone = count_alone};

const eqp_method eqp__method_sfc = {.name = "sfc",
                                    .summary = "equal work along the curve, the best cut there is",
                                    .flags = EQP_NEEDS_WEIGHTS | EQP_CAN_SPLIT | EQP_CAN_EVEN,
                                    .assign = assign_sfc,
                                    .assign_alone = sfc_alone};
