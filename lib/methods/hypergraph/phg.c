/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of PHG, Zoltan's hypergraph partitioner. */
#include "methods/hypergraph/phg.h"
#include "base/internal.h"
#include "methods/frame/frame.h"
#include "methods/rcb/session.h"

#include <equipoise/more/comm.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Cap of an edge's weight: Zoltan sums in float, which holds the sum of a hundred million edges of this weight. */
#define MOST_EDGE_WEIGHT 1e30

static void size_pins(void *data, int *nlists, int *npins, int *format, int *error)
{
    const eqp__zoltan_input *in = data;

    *nlists = (int)in->items->n;
    *npins = (int)in->list_first[in->items->n];
    *format = ZOLTAN_COMPRESSED_VERTEX;
    *error = ZOLTAN_OK;
}

static void list_pins(void *data, int gid_words, int nlists, int npins, int format, ZOLTAN_ID_PTR vertex, int *first,
                      ZOLTAN_ID_PTR edge, int *error)
{
    const eqp__zoltan_input *in = data;

    (void)format;
    for (int64_t i = 0; i < nlists; i++) {
        eqp__zoltan_put_id(vertex + i * gid_words, in->items->id[i]);
        first[i] = (int)in->list_first[i];
    }
    for (int64_t k = 0; k < npins; k++) {
        eqp__zoltan_put_id(edge + k * gid_words, in->list[k]);
    }
    *error = ZOLTAN_OK;
}

/* Every pin passes a weight for its edge; Zoltan keeps the largest. */
static void count_edges(void *data, int *nedges, int *error)
{
    const eqp__zoltan_input *in = data;

    *nedges = (int)in->list_first[in->items->n];
    *error = ZOLTAN_OK;
}

static void weigh_edges(void *data, int gid_words, int lid_words, int nedges, int weights, ZOLTAN_ID_PTR edge,
                        ZOLTAN_ID_PTR lid, float *weight, int *error)
{
    const eqp__zoltan_input *in = data;

    for (int64_t k = 0; k < nedges; k++) {
        eqp__zoltan_put_id(edge + k * gid_words, in->list[k]);
        for (int w = 0; w < lid_words; w++) {
            lid[k * lid_words + w] = (ZOLTAN_ID_TYPE)k;
        }
        for (int w = 0; w < weights; w++) {
            weight[k * weights + w] = in->list_weight ? (float)fmin(in->list_weight[k], MOST_EDGE_WEIGHT) : 1;
        }
    }
    *error = ZOLTAN_OK;
}

/* Cost of moving an item, in the unit of the edges' weights. */
static void size_objects(void *data, int gid_words, int lid_words, int n, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
                         int *size, int *error)
{
    const eqp__zoltan_input *in = data;

    (void)gid_words, (void)lid_words, (void)gid;
    for (int i = 0; i < n; i++) {
        int64_t bytes = in->list_weight && in->items->size ? in->items->size[lid[i]] : 1;
        size[i] = (int)(bytes < INT_MAX ? bytes : INT_MAX);
    }
    *error = ZOLTAN_OK;
}

static void list_parts(void *data, int gid_words, int lid_words, int n, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int *part,
                       int *error)
{
    const eqp__zoltan_input *in = data;

    (void)gid_words, (void)lid_words, (void)gid;
    for (int i = 0; i < n; i++) {
        part[i] = in->start[lid[i]];
    }
    *error = ZOLTAN_OK;
}

static int add_callbacks(struct Zoltan_Struct *zoltan, eqp__zoltan_input *input)
{
    EQP__FAIL_IF(Zoltan_Set_HG_Size_CS_Fn(zoltan, size_pins, input) != ZOLTAN_OK ||
                     Zoltan_Set_HG_CS_Fn(zoltan, list_pins, input) != ZOLTAN_OK ||
                     Zoltan_Set_HG_Size_Edge_Wts_Fn(zoltan, count_edges, input) != ZOLTAN_OK ||
                     Zoltan_Set_HG_Edge_Wts_Fn(zoltan, weigh_edges, input) != ZOLTAN_OK ||
                     Zoltan_Set_Obj_Size_Multi_Fn(zoltan, size_objects, input) != ZOLTAN_OK ||
                     Zoltan_Set_Part_Multi_Fn(zoltan, list_parts, input) != ZOLTAN_OK,
                 EQP_ERR_ZOLTAN);
    return EQP_OK;
}

/* Lists each item's pins without repetitions, which Zoltan does not handle. */
static int list_unique_pins(eqp__zoltan_input *in)
{
    const eqp_balance_items *t = in->items;
    int64_t npins = t->n > 0 ? t->pin_first[t->n] : 0, longest = 0, at = 0;
    eqp__pin *work = NULL;
    int code;

    for (int64_t i = 0; i < t->n; i++) {
        int64_t count = t->pin_first[i + 1] - t->pin_first[i];
        longest = count > longest ? count : longest;
    }
    if ((code = eqp_array_create(&in->list_first, t->n + 1, sizeof *in->list_first)) ||
        (code = eqp_array_create(&in->list, npins, sizeof *in->list)) ||
        (t->pin_weight && (code = eqp_array_create(&in->list_weight, npins, sizeof *in->list_weight))) ||
        (code = eqp_array_create(&work, longest, sizeof *work))) {
        goto done;
    }
    for (int64_t i = 0; i < t->n; i++) {
        int64_t first = t->pin_first[i], count = t->pin_first[i + 1] - first;
        for (int64_t k = 0; k < count; k++) {
            work[k] = (eqp__pin){t->pin[first + k], t->pin_weight ? t->pin_weight[first + k] : 1};
        }
        count = eqp__pins_unique(count, work);
        for (int64_t k = 0; k < count; k++, at++) {
            in->list[at] = work[k].id;
            if (in->list_weight) {
                in->list_weight[at] = work[k].weight;
            }
        }
        in->list_first[i + 1] = at;
    }
done:
    free(work);
    return code;
}

/* Partitions distributed items on all ranks of comm. Collective. */
static int partition(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                     const char *approach, double quality, int *part)
{
    char multiplier[32];
    const eqp__zoltan_setting settings[] = {
        {"LB_METHOD", "HYPERGRAPH"},        {"HYPERGRAPH_PACKAGE", "PHG"},
        {"LB_APPROACH", approach},          {"PHG_REPART_MULTIPLIER", multiplier},
        {"EDGE_WEIGHT_DIM", "1"},           {"PHG_EDGE_WEIGHT_OPERATION", "MAX"},
        {"PHG_EDGE_SIZE_THRESHOLD", "1.0"}, {"PHG_OUTPUT_LEVEL", "0"},
        {"CHECK_HYPERGRAPH", "0"},          {NULL, NULL},
    };
    eqp__zoltan_input input = {.items = items, .weight = items->weight, .start = part};
    int code = eqp__zoltan_weight_unit(comm, items, &input.weight_unit);

    snprintf(multiplier, sizeof multiplier, "%.9g", quality > 0 ? quality : 1);
    code = code ? code : eqp_agree(comm, list_unique_pins(&input), NULL);
    code = code ? code : eqp__zoltan_partition(comm, &input, options, settings, add_callbacks, part);
    EQP__FREE(input.list_first, input.list, input.list_weight);
    return code;
}

/* Partitions all items on rank 0. part: start in, parts out. Local. */
static int partition_alone(const eqp_balance_items *items, const eqp_balance_options *options, const char *approach,
                           double quality, int *part)
{
    MPI_Comm self = MPI_COMM_NULL;
    eqp_balance_items numbered = *items;
    int64_t *id = NULL;
    int code;

    EQP_TRY(eqp_array_create(&id, items->n, sizeof *id));
    for (int64_t i = 0; i < items->n; i++) {
        id[i] = i;
    }
    numbered.id = id;
    EQP_TRY(eqp_comm_create(MPI_COMM_SELF, &self));
    EQP_TRY(partition(self, &numbered, options, approach, quality, part));
done:
    eqp_comm_free(&self);
    free(id);
    return code;
}

static int start_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result)
{
    (void)result;
    return partition_alone(items, options, "PARTITION", 0, part);
}

static int refine_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    eqp__interaction_settings own;

    (void)result;
    memcpy(&own, &options->settings, sizeof own);
    return partition_alone(items, options, own.fresh > 0 ? "REPARTITION" : "REFINE", own.fresh, part);
}

/* Partitions all items on rank 0, so that the result does not depend on the number of ranks. Collective. */
static int partition_on_root(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                             const char *approach, double quality, int *part)
{
    const eqp__interaction_settings own = {quality};
    eqp_balance_options here = *options;
    eqp_balance_result unused = {0};

    memcpy(&here.settings, &own, sizeof own);
    EQP__CHECK(eqp__zoltan_check_ids(comm, items->n, items->id, options->message)); /* before indices replace the ids */
    return eqp__gather_and_assign(comm, items, &here, EQP__PINS | EQP__SIZES,
                                  strcmp(approach, "PARTITION") == 0 ? start_alone : refine_alone, part, &unused);
}

int eqp__phg_partition(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                       const char *approach, double quality, int64_t most_on_root, int *part)
{
    int64_t npins = items->n > 0 ? items->pin_first[items->n] : 0;

    EQP__CHECK(eqp_sum_int64(comm, 1, &npins));
    return npins <= most_on_root ? partition_on_root(comm, items, options, approach, quality, part)
                                 : partition(comm, items, options, approach, quality, part);
}
