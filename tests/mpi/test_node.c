/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes of any size: every rank is in one, memory is shared within it, and meetings agree on a code. */
#include "harness.h"

enum { WORDS = 1000 };

static const int most[] = {0, 1, 2, 3};

static void check_shape(MPI_Comm comm, const eqp_node_shape *shape, int limit)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);

    CHECK_EQUAL(shape->first[0], 0);
    CHECK_EQUAL(shape->first[shape->nnodes], size);
    CHECK_EQUAL(shape->of[rank], shape->node);
    CHECK_EQUAL(shape->nranks, shape->first[shape->node + 1] - shape->first[shape->node]);
    CHECK_EQUAL(shape->member[shape->first[shape->node] + shape->rank], rank);
    for (int k = 0; k < shape->nnodes; k++) {
        const int first = shape->first[k], n = shape->first[k + 1] - first;
        CHECK(n > 0 && (limit == 0 || n <= limit));
        CHECK(k == 0 || shape->member[first] > shape->member[shape->first[k - 1]]);
        for (int i = first; i < first + n; i++) {
            CHECK_EQUAL(shape->of[shape->member[i]], k);
            CHECK_EQUAL(shape->place[shape->member[i]], i - first);
            CHECK(i == first || shape->member[i] > shape->member[i - 1]);
        }
    }
    /* All ranks of a test are on one computer. */
    CHECK_EQUAL(shape->nnodes, limit == 0 ? 1 : (size + limit - 1) / limit);
}

/* Each rank writes a part of the memory, all of the node read it. */
static void check_memory(eqp_node *node, int words)
{
    const eqp_node_shape *shape = eqp_node_view(node);
    int64_t *memory = NULL;

    CHECK_EQUAL(eqp_node_share(node, (int64_t)shape->nranks * words * (int64_t)sizeof *memory, &memory), EQP_OK);
    for (int k = 0; k < words; k++) {
        memory[shape->rank * words + k] = (int64_t)shape->rank * WORDS * WORDS + k;
    }
    CHECK_EQUAL(eqp_node_meet(node, EQP_OK), EQP_OK);
    for (int k = 0; k < shape->nranks * words; k++) {
        CHECK_EQUAL(memory[k], (int64_t)(k / words) * WORDS * WORDS + k % words);
    }
    CHECK_EQUAL(eqp_node_meet(node, EQP_OK), EQP_OK);
}

MPI_TEST(ranks_of_a_node_share_memory)
{
    for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
        eqp_node *node = NULL;
        CHECK_EQUAL(eqp_node_create(comm, most[m], &node), EQP_OK);
        check_shape(comm, eqp_node_view(node), most[m]);
        check_memory(node, 10);
        check_memory(node, WORDS);
        check_memory(node, 1);
        eqp_node_free(node);
    }
}

MPI_TEST(a_meeting_returns_the_code_of_the_lowest_rank_that_failed_by_itself)
{
    eqp_node *node = NULL;

    CHECK_EQUAL(eqp_node_create(comm, 3, &node), EQP_OK);
    const eqp_node_shape *shape = eqp_node_view(node);
    for (int failing = 0; failing < shape->nranks; failing++) {
        const int code = shape->rank < failing    ? EQP_ERR_REMOTE
                         : shape->rank == failing ? EQP_ERR_FORMAT
                                                  : EQP_ERR_MEMORY;
        CHECK_EQUAL(eqp_node_meet(node, code), EQP_ERR_FORMAT);
        CHECK_EQUAL(eqp_node_meet(node, EQP_OK), EQP_OK);
        CHECK_EQUAL(eqp_node_meet(node, EQP_ERR_REMOTE), EQP_ERR_REMOTE);
    }
    eqp_node_free(node);
}
