/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/random.h>

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"

/* Key of the hash; arbitrary. */
enum { HASH_SEED = 29 };

typedef struct entry {
    int64_t id;
    int rank;
} entry;

struct eqp_directory {
    MPI_Comm comm;
    int64_t n;
    entry *entry; /* [n] entries kept by this rank, ids ascending */
};

/* Ids from all ranks at their keepers, by sending rank. */
typedef struct delivery {
    eqp_move_plan *plan;
    int64_t *count; /* [ranks] ids from each rank */
    int64_t n;
    int64_t *id;
} delivery;

static void free_delivery(delivery *in)
{
    eqp_move_plan_free(in->plan);
    EQP__FREE(in->count, in->id);
}

/* Sends ids to their keepers. code: this rank's so far. The caller frees `in`, even on failure. */
static int deliver(MPI_Comm comm, int code, int64_t n, const int64_t *id, delivery *in)
{
    int *keeper = NULL, rank, nranks = 0, failed = eqp__comm_shape(comm, &rank, &nranks);

    code = code ? code : failed;
    code = !code && (n < 0 || (n > 0 && !id)) ? EQP_ERR_ARGUMENT : code;
    code = code ? code : eqp_array_create(&keeper, n, sizeof *keeper);
    for (int64_t i = 0; i < n && !code; i++) {
        keeper[i] = (int)eqp_random_below(HASH_SEED, (uint64_t)id[i], 0, (uint64_t)nranks);
    }
    code = code ? code : eqp_move_plan_create(n, keeper, nranks, &in->plan);
    code = code ? code : eqp_array_create(&in->count, nranks, sizeof *in->count);
    code = eqp__move_new(comm, code, in->plan, sizeof *id, id, in->count, &in->n, &in->id);
    free(keeper);
    return code;
}

static int by_id(const void *left, const void *right)
{
    const entry *a = left, *b = right;

    return (a->id > b->id) - (a->id < b->id);
}

static int make_entries(eqp_directory *d, const delivery *in)
{
    int64_t end = 0;
    int code;

    EQP_TRY(eqp_array_create(&d->entry, in->n, sizeof *d->entry));
    for (int rank = 0; d->n < in->n; rank++) {
        for (end += in->count[rank]; d->n < end; d->n++) {
            d->entry[d->n] = (entry){in->id[d->n], rank};
        }
    }
    qsort(d->entry, (size_t)d->n, sizeof *d->entry, by_id);
    for (int64_t i = 1; i < d->n; i++) {
        code = d->entry[i - 1].id == d->entry[i].id ? EQP_ERR_DATA : code;
    }
done:
    return code;
}

int eqp_directory_create(MPI_Comm comm, int64_t n, const int64_t *id, eqp_directory **directory)
{
    MPI_Comm own = MPI_COMM_NULL;
    eqp_directory *d = NULL;
    delivery in = {.plan = NULL};
    int code = eqp__comm_dup(comm, &own);

    EQP__CHECK(code);
    code = directory ? eqp_array_create(&d, 1, sizeof *d) : EQP_ERR_ARGUMENT;
    EQP_TRY(deliver(own, code, n, id, &in));
    EQP_TRY(eqp_agree(own, make_entries(d, &in), NULL));
    d->comm = own;
    *directory = d;
done:
    if (code) {
        EQP__FREE(d ? d->entry : NULL, d);
        eqp_comm_free(&own);
    }
    free_delivery(&in);
    return code;
}

int eqp_directory_find(eqp_directory *directory, int64_t n, const int64_t *id, int *rank)
{
    delivery asked = {.plan = NULL};
    int *answer = NULL, code;

    EQP_REQUIRE(directory);
    EQP_TRY(deliver(directory->comm, n > 0 && !rank ? EQP_ERR_ARGUMENT : EQP_OK, n, id, &asked));
    code = eqp_array_create(&answer, asked.n, sizeof *answer);
    for (int64_t i = 0; i < asked.n && !code; i++) {
        const entry key = {.id = asked.id[i]};
        const entry *found = bsearch(&key, directory->entry, (size_t)directory->n, sizeof key, by_id);
        answer[i] = found ? found->rank : -1;
    }
    EQP_TRY(eqp__move_return(directory->comm, code, asked.plan, asked.count, sizeof *answer, answer, rank));
done:
    free_delivery(&asked);
    free(answer);
    return code;
}

void eqp_directory_free(eqp_directory *directory)
{
    if (directory) {
        eqp_comm_free(&directory->comm);
        EQP__FREE(directory->entry, directory);
    }
}
