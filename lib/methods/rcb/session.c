/* SPDX-License-Identifier: BSD-3-Clause */
/* Zoltan's interface: ids as 32-bit words, callbacks, parameters as strings, output switched off. */
#include "methods/rcb/session.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

void eqp__zoltan_put_id(ZOLTAN_ID_PTR words, int64_t id)
{
    words[0] = (ZOLTAN_ID_TYPE)((uint64_t)id >> 32);
    words[1] = (ZOLTAN_ID_TYPE)((uint64_t)id & 0xffffffffu);
}

static int count_objects(void *data, int *error)
{
    const eqp__zoltan_input *in = data;

    *error = ZOLTAN_OK;
    return (int)in->items->n;
}

static void list_objects(void *data, int gid_words, int lid_words, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int weights,
                         float *weight, int *error)
{
    const eqp__zoltan_input *in = data;

    (void)lid_words;
    for (int64_t i = 0; i < in->items->n; i++) {
        eqp__zoltan_put_id(gid + i * gid_words, in->items->id[i]);
        lid[i] = (ZOLTAN_ID_TYPE)i;
        for (int k = 0; k < weights; k++) {
            weight[i * weights + k] = (float)(in->weight[i] / in->weight_unit);
        }
    }
    *error = ZOLTAN_OK;
}

int eqp__zoltan_weight_unit(MPI_Comm comm, const eqp_balance_items *items, double *unit)
{
    double sum[2] = {0, (double)items->n};

    for (int64_t i = 0; i < items->n; i++) {
        sum[0] += items->weight[i];
    }
    int code = eqp_sum_double(comm, 2, sum);
    *unit = !code && sum[0] > 0 ? sum[0] / sum[1] : 1;
    return code;
}

/* Sets the common parameters (64-bit ids, weights, a part for every object, no output) and those of the method. */
static int set_parameters(struct Zoltan_Struct *zoltan, const eqp_balance_options *options,
                          const eqp__zoltan_setting *settings)
{
    char parts[32], tolerance[32], seed[32];
    const eqp__zoltan_setting common[] = {
        {"DEBUG_LEVEL", "0"},
        {"NUM_GID_ENTRIES", "2"},
        {"NUM_LID_ENTRIES", "1"},
        {"OBJ_WEIGHT_DIM", "1"},
        {"RETURN_LISTS", "PARTS"},
        {"REMAP", "0"},
        {"NUM_GLOBAL_PARTS", parts},
        {"IMBALANCE_TOL", tolerance},
        {"SEED", seed},
        {NULL, NULL},
    };
    int failed = 0;

    snprintf(parts, sizeof parts, "%d", options->nparts);
    snprintf(tolerance, sizeof tolerance, "%.9g", 1 + options->imbalance_tol);
    /* Zoltan's seed is an int; 0 selects its default. */
    snprintf(seed, sizeof seed, "%d", (int)((options->seed ^ options->seed >> 31) % (INT_MAX - 1)) + 1);
    for (const eqp__zoltan_setting *s = common; s->name; s++) {
        failed |= Zoltan_Set_Param(zoltan, s->name, s->value) != ZOLTAN_OK;
    }
    for (const eqp__zoltan_setting *s = settings; s->name; s++) {
        failed |= Zoltan_Set_Param(zoltan, s->name, s->value) != ZOLTAN_OK;
    }
    return failed ? EQP_ERR_ZOLTAN : EQP_OK;
}

static int set_part_sizes(struct Zoltan_Struct *zoltan, const eqp_balance_options *options)
{
    int *id = NULL, code;
    float *size = NULL;

    if (!options->share) {
        return EQP_OK;
    }
    code = EQP__ARRAYS(EQP__ARRAY(id, options->nparts), EQP__ARRAY(size, options->nparts));
    for (int p = 0; !code && p < options->nparts; p++) {
        id[p] = p;
        size[p] = (float)options->share[p];
    }
    if (!code && Zoltan_LB_Set_Part_Sizes(zoltan, 1, options->nparts, id, NULL, size) != ZOLTAN_OK) {
        code = EQP_ERR_ZOLTAN;
    }
    EQP__FREE(id, size);
    return code;
}

static int set_up(struct Zoltan_Struct *zoltan, eqp__zoltan_input *input, const eqp_balance_options *options,
                  const eqp__zoltan_setting *settings,
                  int (*add_callbacks)(struct Zoltan_Struct *zoltan, eqp__zoltan_input *input))
{
    int code;

    EQP__FAIL_IF(!zoltan || Zoltan_Set_Num_Obj_Fn(zoltan, count_objects, input) != ZOLTAN_OK ||
                     Zoltan_Set_Obj_List_Fn(zoltan, list_objects, input) != ZOLTAN_OK,
                 EQP_ERR_ZOLTAN);
    code = set_parameters(zoltan, options, settings);
    code = code ? code : add_callbacks(zoltan, input);
    return code ? code : set_part_sizes(zoltan, options);
}

static int run(struct Zoltan_Struct *zoltan, int64_t n, int nparts, int *part)
{
    int changes, gid_words, lid_words, nimport = 0, nexport = 0, code = EQP_OK;
    ZOLTAN_ID_PTR import_gid = NULL, import_lid = NULL, export_gid = NULL, export_lid = NULL;
    int *import_rank = NULL, *import_part = NULL, *export_rank = NULL, *export_part = NULL;
    int status =
        Zoltan_LB_Partition(zoltan, &changes, &gid_words, &lid_words, &nimport, &import_gid, &import_lid, &import_rank,
                            &import_part, &nexport, &export_gid, &export_lid, &export_rank, &export_part);

    /* A warning means that the tolerance was missed, which the caller checks. */
    if ((status != ZOLTAN_OK && status != ZOLTAN_WARN) || nexport != n) {
        code = status == ZOLTAN_MEMERR ? EQP_ERR_MEMORY : EQP_ERR_ZOLTAN;
    }
    for (int64_t i = 0; i < n; i++) {
        part[i] = -1;
    }
    /* n valid answers for different items cover every item. */
    for (int k = 0; !code && k < nexport; k++) {
        if (export_lid[k] >= (ZOLTAN_ID_TYPE)n || export_part[k] < 0 || export_part[k] >= nparts ||
            part[export_lid[k]] >= 0) {
            code = EQP_ERR_ZOLTAN;
        } else {
            part[export_lid[k]] = export_part[k];
        }
    }
    Zoltan_LB_Free_Part(&import_gid, &import_lid, &import_rank, &import_part);
    Zoltan_LB_Free_Part(&export_gid, &export_lid, &export_rank, &export_part);
    return code;
}

int eqp__zoltan_partition(MPI_Comm comm, const eqp__zoltan_input *input, const eqp_balance_options *options,
                          const eqp__zoltan_setting *settings,
                          int (*add_callbacks)(struct Zoltan_Struct *zoltan, eqp__zoltan_input *input), int *part)
{
    eqp__zoltan_input in = *input;
    struct Zoltan_Struct *zoltan = NULL;
    int64_t n = in.items->n, npins = in.list_first ? in.list_first[n] : 0;
    int *answer = NULL;
    float version;
    /* Zoltan counts in int and blocks until all ranks arrive, so errors must be detected before the call. */
    int code = n > INT_MAX || npins > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK;

    code = code ? code : eqp_array_create(&answer, n, sizeof *answer);
    code = code || Zoltan_Initialize(0, NULL, &version) == ZOLTAN_OK ? code : EQP_ERR_ZOLTAN;
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__zoltan_check_ids(comm, n, in.items->id, options->message));
    zoltan = Zoltan_Create(comm);
    code = set_up(zoltan, &in, options, settings, add_callbacks);
    EQP_TRY(eqp_agree(comm, code, NULL));
    code = run(zoltan, n, options->nparts, answer);
    if (!(code = eqp_agree(comm, code, NULL)) && n > 0) {
        memcpy(part, answer, (size_t)n * sizeof *part);
    }
done:
    if (zoltan) {
        Zoltan_Destroy(&zoltan);
    }
    free(answer);
    return code;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static int find_twins(int64_t n, int64_t *id, eqp_message *message)
{
    qsort(id, (size_t)n, sizeof *id, compare_ids);
    for (int64_t i = 1; i < n; i++) {
        EQP__FAIL_IF(id[i] == id[i - 1],
                     EQP__SAY(message, EQP_ERR_DATA, "balance: two items have the id %" PRId64, id[i]));
    }
    return EQP_OK;
}

/* The multiplier is 2^64 divided by the golden ratio, which spreads consecutive ids evenly. */
static int checking_rank(int64_t id, int nranks)
{
    return (int)(((uint64_t)id * 0x9e3779b97f4a7c15u >> 33) % (uint64_t)nranks);
}

int eqp__zoltan_check_ids(MPI_Comm comm, int64_t n, const int64_t *id, eqp_message *message)
{
    int *rank = NULL, nranks = 1, code = eqp_array_create(&rank, n, sizeof *rank);
    int64_t *arrived = NULL, narrived = 0;

    MPI_Comm_size(comm, &nranks);
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        rank[i] = checking_rank(id[i], nranks);
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp_send_records(comm, sizeof *id, n, rank, id, &narrived, &arrived));
    EQP_TRY(eqp_agree(comm, find_twins(narrived, arrived, message), message));
done:
    EQP__FREE(rank, arrived);
    return code;
}
