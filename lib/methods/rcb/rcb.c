/* SPDX-License-Identifier: BSD-3-Clause */
/* Zoltan's bisections of the weights: along coordinate axes (`rcb`), or across the axis of least inertia (`rib`). */
#include "methods/rcb/rcb.h"
#include "base/internal.h"
#include "methods/frame/frame.h"
#include "methods/rcb/session.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <string.h>

/* Most items that rank 0 bisects alone; beyond that the weights are limited. Zoltan's parallel bisection reports a
 * false memory error and hangs if a rank with several parts gets no items, or if items without weight arrive where
 * no part is. Few items or very uneven weights cause this. */
#define MOST_ON_ROOT ((int64_t)1 << 22)

static int count_dimensions(void *data, int *error)
{
    (void)data;
    *error = ZOLTAN_OK;
    return 3;
}

static void list_points(void *data, int gid_words, int lid_words, int n, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
                        int dimensions, double *point, int *error)
{
    const eqp__zoltan_input *in = data;

    (void)gid_words, (void)lid_words, (void)gid;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < dimensions; k++) {
            const double x = in->items->point[3 * (int64_t)lid[i] + k];
            point[(int64_t)i * dimensions + k] = ldexp(x - in->shift[k], in->exponent);
        }
    }
    *error = ZOLTAN_OK;
}

static int add_callbacks(struct Zoltan_Struct *zoltan, eqp__zoltan_input *input)
{
    EQP__FAIL_IF(Zoltan_Set_Num_Geom_Fn(zoltan, count_dimensions, input) != ZOLTAN_OK ||
                     Zoltan_Set_Geom_Multi_Fn(zoltan, list_points, input) != ZOLTAN_OK,
                 EQP_ERR_ZOLTAN);
    return EQP_OK;
}

/* Exponents beyond which coordinates are scaled. Zoltan multiplies six coordinates and three weights (eigenvalues of
 * the inertia tensor), and finds no median among infinite values. Scaling by a power of two is exact. */
enum { MOST_EXPONENT = 100, LEAST_EXPONENT = -100 };

/* An axis is shifted if the extent of the points is below this fraction of their distance from 0; the shift is exact,
 * too. */
#define CLOSE 0x1p-26

/* Finds the shift and scale of the points that Zoltan gets. Collective. */
static int find_frame(MPI_Comm comm, const eqp_balance_items *items, eqp__zoltan_input *input)
{
    double low[6] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}, half = 0, widest = 0;
    int exponent;

    for (int64_t i = 0; i < 3 * items->n; i++) {
        low[i % 3] = fmin(low[i % 3], items->point[i]);
        low[3 + i % 3] = fmin(low[3 + i % 3], -items->point[i]);
    }
    EQP__CHECK(EQP__MPI(MPI_Allreduce(MPI_IN_PLACE, low, 6, MPI_DOUBLE, MPI_MIN, comm)));
    for (int k = 0; k < 3; k++) {
        half = fmax(half, -low[3 + k] / 2 - low[k] / 2);
    }
    for (int k = 0; k < 3; k++) {
        const double far = fmax(fabs(low[k]), fabs(low[3 + k]));
        input->shift[k] = half < CLOSE / 2 * far ? low[k] : 0;
        widest = fmax(widest, input->shift[k] != 0 ? -low[3 + k] - low[k] : far);
    }
    (void)frexp(widest, &exponent);
    input->exponent = exponent > MOST_EXPONENT ? MOST_EXPONENT - exponent : exponent < LEAST_EXPONENT ? -exponent : 0;
    return EQP_OK;
}

static int bisect(MPI_Comm comm, const eqp_balance_items *items, const double *weight,
                  const eqp_balance_options *options, const char *how, int *part)
{
    const eqp__zoltan_setting settings[] = {{"LB_METHOD", how},  {"RCB_OUTPUT_LEVEL", "0"}, {"RIB_OUTPUT_LEVEL", "0"},
                                            {"CHECK_GEOM", "0"}, {"KEEP_CUTS", "0"},        {NULL, NULL}};
    eqp__zoltan_input input = {.items = items, .weight = weight};
    int code = eqp__zoltan_weight_unit(comm, items, &input.weight_unit);

    code = code ? code : find_frame(comm, items, &input);
    return code ? code : eqp__zoltan_partition(comm, &input, options, settings, add_callbacks, part);
}

static int total_below(MPI_Comm comm, int64_t n, const double *weight, double most, double *total)
{
    *total = 0;
    for (int64_t i = 0; i < n; i++) {
        *total += fmin(weight[i], most);
    }
    return eqp_sum_double(comm, 1, total);
}

/* Limits the weights so that no rank ends up without items: at least 0.001 of the mean, at most half the target
 * weight of the smallest part. Every cut then misses its target by less than a quarter of a part, and the errors of
 * a chain of cuts sum to less than two parts, the minimum of a rank with several parts. Lowering weights lowers the
 * target, so the limit is a fixed point. Collective. */
static int limit_weights(MPI_Comm comm, int64_t n, double *weight, double mean, double smallest_share)
{
    double most = INFINITY, total = 0, next;

    for (int64_t i = 0; i < n; i++) {
        weight[i] = fmax(weight[i], 1e-3 * mean);
    }
    for (int round = 0; round < 200; round++) {
        EQP__CHECK(total_below(comm, n, weight, most, &total));
        next = total * smallest_share / 2;
        if (next > 0.999 * most) {
            break;
        }
        most = next;
    }
    for (int64_t i = 0; i < n; i++) {
        weight[i] = fmin(weight[i], most);
    }
    return EQP_OK;
}

static int bisect_together(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                           const char *how, int *part)
{
    double *limited = NULL, mean, smallest_share = 1;
    int code = eqp__zoltan_weight_unit(comm, items, &mean);

    for (int p = 0; p < options->nparts; p++) {
        smallest_share = fmin(smallest_share, options->share ? options->share[p] : 1.0 / options->nparts);
    }
    code = code ? code : eqp_agree(comm, eqp_array_create(&limited, items->n, sizeof *limited), NULL);
    if (!code && items->n > 0) {
        memcpy(limited, items->weight, (size_t)items->n * sizeof *limited);
    }
    code = code ? code : limit_weights(comm, items->n, limited, mean, smallest_share);
    code = code ? code : bisect(comm, items, limited, options, how, part);
    free(limited);
    return code;
}

/* Bisects all items on one rank, so that the parts do not depend on the number of ranks. Local. */
static int bisect_alone(const eqp_balance_items *items, const eqp_balance_options *options, const char *how, int *part)
{
    MPI_Comm self = MPI_COMM_NULL;
    int code;

    EQP_TRY(eqp_comm_create(MPI_COMM_SELF, &self));
    EQP_TRY(bisect(self, items, items->weight, options, how, part));
done:
    eqp_comm_free(&self);
    return code;
}

static int rcb_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                     eqp_balance_result *result)
{
    (void)result;
    return bisect_alone(items, options, "RCB", part);
}

static int rib_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                     eqp_balance_result *result)
{
    (void)result;
    return bisect_alone(items, options, "RIB", part);
}

int eqp__bisect_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                       const char *how, int64_t most_on_root, int *part, eqp_balance_result *result)
{
    /* The repair only fills empty parts; the balance is left to the bisection. */
    const double any_imbalance = 1e30;
    int64_t total;
    int code = eqp_scan_int64(comm, items->n, NULL, &total);

    if (code || total == 0) {
        return code;
    }
    code = total > most_on_root ? bisect_together(comm, items, options, how, part)
                                : eqp__gather_and_assign(comm, items, options, EQP__IDS | EQP__POINTS,
                                                         how[1] == 'C' ? rcb_alone : rib_alone, part, result);
    code = code ? code : eqp__relabel_all(comm, items, items->part_now, options, part, NULL);
    return code ? code : eqp__repair_all(comm, items, options, any_imbalance, part, result);
}

int eqp__rcb_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                    eqp_balance_result *result)
{
    return eqp__bisect_assign(comm, items, options, "RCB", MOST_ON_ROOT, part, result);
}

int eqp__rib_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                    eqp_balance_result *result)
{
    return eqp__bisect_assign(comm, items, options, "RIB", MOST_ON_ROOT, part, result);
}
