/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on nodes that live anywhere: the same network comes out for every number of ranks and every distribution
 * of the nodes; of operations that contend for a node one goes ahead; who fails, fails everywhere. The operations are
 * toys on closed rings: cutting an arm, taking a node out. */
#include "harness.h"

#include "topology/transact.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>

#include "failing_ranks.h"

enum { CUT, DROP, IDLE, BREAK };

#define RINGS 4
#define RING 12

static const double low[3] = {-5, -5, -5}, box[3] = {10, 10, 10};

static int home_of(dd_tag tag, int seed, int nranks)
{
    return seed < 0 ? 0 : (int)eqp_random_below((uint64_t)seed, tag, 0, (uint64_t)nranks);
}

static dd_tag ring_tag(int ring, int i)
{
    return DD_TAG(ring, (i + RING) % RING);
}

/* The nodes of the rings that live here by a seed; -1: all of them on rank 0. */
static void make_rings(MPI_Comm comm, int seed, dd_domain *domain)
{
    dd_domain_init(domain, comm);
    memcpy(domain->low, low, sizeof low);
    memcpy(domain->edge, box, sizeof box);
    memcpy(domain->box, box, sizeof box);
    for (int i = 0; i < RINGS * RING; i++) {
        const int ring = i / RING, at = i % RING;
        const double angle = 6.283185307179586 * at / RING;
        dd_node node = {.tag = ring_tag(ring, at),
                        .x = {cos(angle), sin(angle), ring},
                        .home = domain->rank,
                        .order = i,
                        .split = -1};
        if (home_of(node.tag, seed, domain->nranks) != domain->rank) {
            continue;
        }
        for (int side = -1; side <= 1; side += 2) {
            dd_arm *arm;
            CHECK_EQUAL(dd_node_add_arm(&node, ring_tag(ring, at + side), &arm), EQP_OK);
            arm->burgers[2] = side;
            arm->home = home_of(arm->tag, seed, domain->nranks);
        }
        CHECK_EQUAL(dd_network_add(&domain->network, &node), EQP_OK);
    }
    domain->next_tag = DD_TAG(RINGS, 0x7ffffff0); /* indices run over on the way */
}

static int join(dd_patch_node *from, dd_patch_node *to, double burgers)
{
    dd_arm *arm, *back;
    int code = dd_node_add_arm(&from->node, to->node.tag, &arm);

    if (code == EQP_OK) {
        code = dd_node_add_arm(&to->node, from->node.tag, &back);
    }
    if (code == EQP_OK) {
        arm->burgers[2] = burgers;
        back->burgers[2] = -burgers;
        from->changed = to->changed = true;
    }
    return code;
}

static double part(dd_patch_node *from, dd_patch_node *to)
{
    dd_arm *arm = dd_node_find_arm(&from->node, to->node.tag);
    const double burgers = arm->burgers[2];

    dd_node_remove_arm(&from->node, arm);
    dd_node_remove_arm(&to->node, dd_node_find_arm(&to->node, from->node.tag));
    return burgers;
}

static int cut(dd_patch *patch, bool *done)
{
    dd_patch_node *a = &patch->at[0], *b = &patch->at[1], *middle = &patch->at[2];
    double burgers;
    int code;

    CHECK_EQUAL(patch->n, 2);
    if (dd_node_find_arm(&a->node, b->node.tag) == NULL) {
        return EQP_OK;
    }
    *middle = (dd_patch_node){.created = true, .node = {.tag = patch->new_tag[patch->nnew++]}};
    patch->n++;
    for (int d = 0; d < 3; d++) {
        middle->node.x[d] = 0.5 * (a->node.x[d] + b->node.x[d]);
    }
    burgers = part(a, b);
    code = join(a, middle, burgers);
    if (code == EQP_OK) {
        code = join(middle, b, burgers);
    }
    *done = true;
    return code;
}

static int drop(dd_patch *patch, bool *done)
{
    dd_patch_node *a = &patch->at[1], *gone = &patch->at[0], *b = &patch->at[2];
    double burgers;

    if (patch->n != 3 || dd_node_find_arm(&a->node, b->node.tag) != NULL) {
        return EQP_OK; /* a ring stays a ring */
    }
    CHECK_EQUAL(gone->node.arm[0].tag, a->node.tag);
    CHECK_EQUAL(gone->node.arm[1].tag, b->node.tag);
    burgers = part(a, gone);
    part(gone, b);
    gone->deleted = true;
    *done = true;
    return join(a, b, burgers);
}

static int run(const dd_operation *operation, dd_patch *patch, void *context, bool *done, eqp_message *message)
{
    int *calls = context;

    (*calls)++;
    if (operation->kind == BREAK) {
        eqp_message_set(message, "node %u broke", DD_TAG_INDEX(patch->at[0].node.tag));
        return EQP_ERR_DATA;
    }
    if (operation->kind == IDLE) {
        return EQP_OK;
    }
    return operation->kind == CUT ? cut(patch, done) : drop(patch, done);
}

typedef struct wishes {
    int64_t n;
    dd_operation *operation;
} wishes;

static void wish(wishes *w, dd_operation operation, uint64_t step)
{
    operation.key = dd_operation_key(step, &operation);
    w->operation = realloc(w->operation, (size_t)(w->n + 1) * sizeof *w->operation);
    CHECK(w->operation != NULL);
    w->operation[w->n++] = operation;
}

/* A third of all segments want a cut, a third of all nodes want to go. Both ends of a segment ask for its cut. */
static wishes find_wishes(const dd_domain *domain, uint64_t step)
{
    wishes w = {0};

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms; k++) {
            const dd_arm *arm = &node->arm[k];
            const bool owner = node->tag < arm->tag;
            dd_operation operation = {.kind = CUT, .nbase = 2, .nnew = 1};
            operation.base[0] = owner ? node->tag : arm->tag;
            operation.base[1] = owner ? arm->tag : node->tag;
            operation.home[0] = owner ? domain->rank : arm->home;
            operation.home[1] = owner ? arm->home : domain->rank;
            if (eqp_random_below(step, operation.base[0], operation.base[1], 3) == 0) {
                wish(&w, operation, step);
            }
        }
        if (eqp_random_below(step, node->tag, 1, 3) == 0) {
            dd_operation operation = {.kind = DROP, .nbase = 1, .neighbours = true};
            operation.base[0] = node->tag;
            operation.home[0] = domain->rank;
            wish(&w, operation, step);
        }
    }
    return w;
}

static uint64_t mix(uint64_t sum, const void *bytes, size_t size)
{
    for (size_t i = 0; i + sizeof sum <= size; i += sizeof sum) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + i, sizeof word);
        sum = eqp_random_bits(sum, word, 0);
    }
    return sum;
}

/* Of all nodes with their arms in their order, but for homes. */
static uint64_t fingerprint(const dd_domain *domain)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        uint64_t one = mix(node->tag, node->x, sizeof node->x);
        one = mix(one, &node->order, sizeof node->order);
        for (int k = 0; k < node->narms; k++) {
            one = mix(one, &node->arm[k].tag, sizeof(dd_tag));
            one = mix(one, node->arm[k].burgers, sizeof node->arm[k].burgers);
        }
        sum += one;
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, domain->comm);
    return sum;
}

/* Every arm is right about where its neighbour lives. */
static void check_homes(dd_domain *domain)
{
    dd_domain fresh;
    eqp_message message = {""};

    dd_domain_init(&fresh, domain->comm);
    for (int64_t i = 0; i < domain->network.n; i++) {
        dd_node node = {0};
        CHECK_EQUAL(domain->network.node[i].home, domain->rank);
        CHECK_EQUAL(dd_node_copy(&node, &domain->network.node[i]), EQP_OK);
        CHECK_EQUAL(dd_network_add(&fresh.network, &node), EQP_OK);
    }
    CHECK_EQUAL(dd_domain_connect(&fresh, &message), EQP_OK);
    for (int64_t i = 0; i < domain->network.n; i++) {
        for (int k = 0; k < domain->network.node[i].narms; k++) {
            CHECK_EQUAL(domain->network.node[i].arm[k].home, fresh.network.node[i].arm[k].home);
        }
    }
    CHECK(fresh.next_tag <= domain->next_tag);
    dd_domain_free(&fresh);
}

enum { ROUNDS = 6 };

typedef struct story {
    uint64_t after[ROUNDS];
    dd_transact_counts counts[ROUNDS];
    dd_tag next_tag;
} story;

static story live(MPI_Comm comm, int seed)
{
    story told = {0};
    dd_domain domain;
    eqp_message message = {""};

    make_rings(comm, seed, &domain);
    for (int r = 0; r < ROUNDS; r++) {
        wishes w = find_wishes(&domain, (uint64_t)r);
        int calls = 0;
        CHECK_EQUAL(dd_transact(&domain, w.n, w.operation, 1, run, &calls, &told.counts[r], &message), EQP_OK);
        MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_SUM, comm);
        CHECK_EQUAL(calls, told.counts[r].done + told.counts[r].idle);
        check_homes(&domain);
        told.after[r] = fingerprint(&domain);
        free(w.operation);
    }
    told.next_tag = domain.next_tag;
    dd_domain_free(&domain);
    return told;
}

/* The whole network on one rank, for comparison. */
static story alone(void)
{
    MPI_Comm self;
    story told;

    CHECK_EQUAL(eqp_comm_create(MPI_COMM_SELF, &self), EQP_OK);
    told = live(self, 0);
    eqp_comm_free(&self);
    return told;
}

static void results_depend_on_no_home(MPI_Comm comm)
{
    const story expected = alone();

    for (int r = 0; r < ROUNDS; r++) {
        const dd_transact_counts *counts = &expected.counts[r];
        CHECK_EQUAL(counts->proposed, counts->done + counts->idle + counts->lost + counts->gone);
        CHECK(counts->done > 0 && counts->lost > 0);
        CHECK(r == 0 || expected.after[r] != expected.after[r - 1]);
    }
    CHECK(DD_TAG_DOMAIN(expected.next_tag) == RINGS + 1 && DD_TAG_INDEX(expected.next_tag) < 1000);
    for (int seed = -1; seed < 4; seed++) {
        const story told = live(comm, seed);
        CHECK_EQUAL(memcmp(told.after, expected.after, sizeof told.after), 0);
        CHECK_EQUAL(memcmp(told.counts, expected.counts, sizeof told.counts), 0);
        CHECK_EQUAL(told.next_tag, expected.next_tag);
    }
}

/* All ask for the same cut, and for one at a node that is not there. */
static void the_same_operation_counts_once(MPI_Comm comm)
{
    dd_domain domain;
    dd_transact_counts counts;
    eqp_message message = {""};
    dd_operation operation[2] = {{.kind = CUT, .nbase = 2, .nnew = 1}, {.kind = CUT, .nbase = 2, .nnew = 1}};
    int calls = 0;

    make_rings(comm, 3, &domain);
    for (int b = 0; b < 2; b++) {
        operation[0].base[b] = ring_tag(1, b);
        operation[0].home[b] = home_of(operation[0].base[b], 3, domain.nranks);
        operation[1].base[b] = DD_TAG(77, b);
    }
    CHECK_EQUAL(dd_transact(&domain, 2, operation, 1, run, &calls, &counts, &message), EQP_OK);
    CHECK_EQUAL(counts.proposed, 2);
    CHECK_EQUAL(counts.done, 1);
    CHECK_EQUAL(counts.gone, 1);
    check_homes(&domain);
    /* The arm is no more: the operation finds nothing to do, and changes nothing but the next tag. */
    const uint64_t before = fingerprint(&domain);
    CHECK_EQUAL(dd_transact(&domain, 1, operation, 1, run, &calls, &counts, &message), EQP_OK);
    CHECK_EQUAL(counts.idle, 1);
    CHECK_EQUAL(counts.proposed, 1);
    CHECK_EQUAL(fingerprint(&domain), before);
    CHECK_EQUAL(dd_transact(&domain, 0, NULL, 1, run, &calls, &counts, &message), EQP_OK);
    CHECK_EQUAL(counts.proposed, 0);
    dd_domain_free(&domain);
}

/* With rounds enough nobody loses, also not against those who do nothing and would go first every time. */
static void who_loses_tries_again(MPI_Comm comm)
{
    uint64_t after[2];

    for (int alone = 0; alone < 2; alone++) {
        dd_domain domain;
        dd_transact_counts counts;
        eqp_message message = {""};
        MPI_Comm own;
        wishes w;
        int calls = 0;
        CHECK_EQUAL(eqp_comm_create(alone ? MPI_COMM_SELF : comm, &own), EQP_OK);
        make_rings(own, 6, &domain);
        w = find_wishes(&domain, 3);
        for (int64_t i = 0; i < domain.network.n; i++) {
            dd_operation idle = {.kind = IDLE, .nbase = 1, .neighbours = true};
            idle.base[0] = domain.network.node[i].tag;
            idle.home[0] = domain.rank;
            wish(&w, idle, 0);
            w.operation[w.n - 1].key = 0;
        }
        CHECK_EQUAL(dd_transact(&domain, w.n, w.operation, 30, run, &calls, &counts, &message), EQP_OK);
        CHECK_EQUAL(counts.lost, 0);
        CHECK(counts.idle >= RINGS * RING / 2 && counts.done > 0);
        check_homes(&domain);
        after[alone] = fingerprint(&domain);
        free(w.operation);
        dd_domain_free(&domain);
        eqp_comm_free(&own);
    }
    CHECK_EQUAL(after[0], after[1]);
}

static void faults_reach_all_ranks(MPI_Comm comm)
{
    dd_transact_counts counts = {.proposed = 42};
    dd_operation operation = {.kind = BREAK, .nbase = 1};

    operation.base[0] = ring_tag(2, 7);
    for (int fault = 0; fault < 4; fault++) {
        static const int code[] = {EQP_ERR_DATA, EQP_ERR_ARGUMENT, EQP_ERR_ARGUMENT, EQP_ERR_OVERFLOW};
        const int last = mpi_test_size(comm) - 1;
        dd_domain domain;
        eqp_message message = {""};
        dd_operation bad = operation;
        int calls = 0;
        make_rings(comm, 1, &domain);
        bad.home[0] = fault == 1 ? domain.nranks : home_of(bad.base[0], 1, domain.nranks);
        bad.nbase = fault == 2 ? 0 : 1;
        if (fault == 3) {
            bad.nnew = 1;
            domain.next_tag = DD_TAG(0x7fffffff, 0x7fffffff);
        }
        CHECK_EQUAL(dd_transact(&domain, domain.rank == last, &bad, 1, run, &calls, &counts, &message), code[fault]);
        CHECK(strlen(message.text) > 0);
        CHECK(fault != 0 || strcmp(message.text, "node 7 broke") == 0);
        CHECK_EQUAL(counts.proposed, 42);
        dd_domain_free(&domain);
    }
}

static int two_rounds(MPI_Comm comm, void *user)
{
    int code = EQP_OK, *seed = user;
    eqp_message message = {""};
    dd_domain domain;

    make_rings(comm, *seed, &domain);
    for (int r = 0; r < 2 && code == EQP_OK; r++) {
        wishes w = find_wishes(&domain, (uint64_t)r);
        dd_transact_counts counts;
        int calls = 0;
        failing_ranks_begin();
        code = dd_transact(&domain, w.n, w.operation, 1, run, &calls, &counts, &message);
        failing_ranks_end();
        free(w.operation);
    }
    dd_domain_free(&domain);
    return code;
}

static void lack_of_memory_reaches_all_ranks(MPI_Comm comm)
{
    int seed = 5;

    if (failing_malloc_modules > 0 && mpi_test_size(comm) <= 3) {
        CHECK(failing_ranks_check(comm, two_rounds, &seed) > mpi_test_size(comm));
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(results_depend_on_no_home),
        MPI_TEST(the_same_operation_counts_once),
        MPI_TEST(who_loses_tries_again),
        MPI_TEST(faults_reach_all_ranks),
        MPI_TEST(lack_of_memory_reaches_all_ranks),
    };

    if (!failing_malloc_only_ours()) {
        printf("lack of memory cannot be tested on this system\n");
    }
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
