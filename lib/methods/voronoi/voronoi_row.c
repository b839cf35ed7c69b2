/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `voronoi`: rank 0 finds the cells of all items, or of a sample, and every rank finds the cells of its own
 * items. */
#include "methods/voronoi/voronoi.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/collect.h"
#include "methods/frame/relabel_all.h"
#include "methods/frame/rows.h"
#include "methods/points/regions.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Settings of the method; 0: the default of eqp_voronoi_options. */
typedef struct own_settings {
    int64_t iterations, sample;
    int centres; /* 0: fixed, 1: moving */
} own_settings;

/* Limit on the number of parts, so that centres and biases fit into one message. */
#define MOST_PARTS (1 << 28)

static eqp_voronoi_options how(const eqp_balance_options *options)
{
    eqp_voronoi_options these = eqp__voronoi_options_defaults();
    own_settings own;

    memcpy(&own, &options->settings, sizeof own);
    these.share = options->share;
    these.tolerance = options->imbalance_tol;
    these.iterations = own.iterations > 0 ? own.iterations : these.iterations;
    these.sample = own.sample > 0 ? own.sample : these.sample;
    these.moving = own.centres == 1;
    return these;
}

/* Takes this rank's items of a sample of every stride-th item of all ranks. point: [n / stride + 1][3]; weight: [n /
 * stride + 1]. Returns their number. */
static int64_t take_sample(const eqp_balance_items *items, int64_t before, int64_t stride, double *point,
                           double *weight)
{
    int64_t count = 0;

    for (int64_t i = (stride - before % stride) % stride; i < items->n; i += stride) {
        memcpy(point + 3 * count, items->point + 3 * i, 3 * sizeof *point);
        weight[count++] = items->weight[i];
    }
    return count;
}

/* Collects the sample of all ranks on rank 0, in the order of the items. Both arrays are owned by the caller even on
 * error. Collective. */
static int collect_sample(MPI_Comm comm, const eqp_balance_items *items, int64_t most, int64_t *total, double **point,
                          double **weight)
{
    eqp__collect c = {.comm = MPI_COMM_NULL};
    double *my_point = NULL, *my_weight = NULL;
    int64_t before = 0, all = 0, stride;
    int code;

    EQP_TRY(eqp_scan_int64(comm, items->n, &before, &all));
    stride = eqp__voronoi_stride(all, most);
    code = EQP__ARRAYS(EQP__ARRAY(my_point, 3 * (items->n / stride + 1)), EQP__ARRAY(my_weight, items->n / stride + 1));
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__collect_open(comm, &c));
    EQP_TRY(eqp__collect_announce(&c, take_sample(items, before, stride, my_point, my_weight), total));
    EQP_TRY(eqp__collect_array(&c, EQP_OK, *total, 3 * sizeof *my_point, my_point, point));
    EQP_TRY(eqp__collect_array(&c, EQP_OK, *total, sizeof *my_weight, my_weight, weight));
done:
    eqp__collect_close(&c);
    EQP__FREE(my_point, my_weight);
    return code;
}

static int assign_voronoi(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                          eqp_balance_result *result)
{
    const eqp_voronoi_options these = how(options);
    double *point = NULL, *weight = NULL;
    eqp_voronoi *v = NULL;
    int64_t n = 0;
    int rank, nranks, code;

    (void)result;
    EQP_TRY(options->nparts <= MOST_PARTS ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(eqp__comm_shape(comm, &rank, &nranks));
    EQP_TRY(collect_sample(comm, items, these.sample, &n, &point, &weight));
    code = rank == 0 ? eqp__voronoi_create(n, point, weight, options->nparts, &these, &v)
                     : eqp__voronoi_open(options->nparts, &v);
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__cells_share(comm, rank, v));
    EQP_TRY(eqp_agree(comm, eqp__voronoi_parts(v, items->n, items->point, part), NULL));
    EQP_TRY(eqp__relabel_all(comm, items, items->part_now, options, part,
                             options->regions != NULL ? (*options->regions)->part_of : NULL));
    if (options->regions != NULL) {
        (*options->regions)->cells = v;
        v = NULL;
    }
done:
    EQP__FREE(point, weight);
    eqp__voronoi_free(v);
    return code;
}

#define MOST_ITERATIONS 1e9

static const eqp_option own_options[] = {{"centres", EQP_OPTION_CHOICE, offsetof(own_settings, centres), 0, false, 0,
                                          "fixed|moving",
                                          "moving: centres follow the centres of gravity of their cells"},
                                         {"iterations", EQP_OPTION_INT, offsetof(own_settings, iterations), 1, false,
                                          MOST_ITERATIONS, NULL, "most searches of all items; without it 200"},
                                         {"sample", EQP_OPTION_INT, offsetof(own_settings, sample), 1, false, INT32_MAX,
                                          NULL, "most items that rank 0 looks at; without it 262144"}};

const eqp_method eqp__method_voronoi = {.name = "voronoi",
                                        .summary = "equal work in convex cells: nearest centres, a bias for each",
                                        .flags = EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_SHAPED | EQP_GATHERS,
                                        .assign = assign_voronoi,
                                        .noptions = 3,
                                        .option = own_options};
