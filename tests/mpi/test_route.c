/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes: every block reaches exactly the ranks that need it and contributions return, by every plan, with exactly the
 * messages that the model without MPI counts. */
#include "harness.h"
#include "move/traffic.h"

#include <equipoise/more/random.h>

/* Internal entry with a small limit on message size, so that split messages need no gigabytes of data. */
int eqp__route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, size_t largest,
                      eqp_route **route);

enum { MOST_RANKS = 8, MOST_BLOCKS = 12 * MOST_RANKS };

/* Blocks of all ranks, known to every rank, ordered by home. */
typedef struct scene {
    int nranks, rank;
    int64_t n, id[MOST_BLOCKS], bytes[MOST_BLOCKS], first[MOST_BLOCKS + 1];
    int home[MOST_BLOCKS], user[MOST_BLOCKS * MOST_RANKS];
    int64_t begin, end; /* of this rank */
    int64_t own_bytes, own_first[MOST_BLOCKS + 1];
} scene;

typedef enum kind { MIXED, ODD_SIZES, NOBODY_NEEDS, NO_BLOCKS, ALL_NEED_ALL, ONE_HOME, NKINDS } kind;

static uint64_t bits_of(int64_t a, int64_t b)
{
    return eqp_random_bits(17, (uint64_t)a, (uint64_t)b);
}

static int64_t blocks_of(kind k, int rank)
{
    switch (k) {
    case NO_BLOCKS:
        return 0;
    case ONE_HOME:
        return rank == 0 ? 12 : 0;
    case ALL_NEED_ALL:
        return 2;
    default:
        return rank % 3 == 1 ? 0 : 3 + (int64_t)(bits_of(k, rank) % 8);
    }
}

static int is_needed(kind k, int64_t block, int rank)
{
    switch (k) {
    case NOBODY_NEEDS:
        return 0;
    case ALL_NEED_ALL:
        return 1;
    default: /* needed by few, by some, by all, by the home alone */
        return bits_of(1000 + block, rank) % 8 < bits_of(2000, block) % 10;
    }
}

static void scene_make(scene *s, MPI_Comm comm, kind k)
{
    *s = (scene){.nranks = mpi_test_size(comm), .rank = mpi_test_rank(comm)};
    CHECK(s->nranks <= MOST_RANKS);
    for (int r = 0; r < s->nranks; r++) {
        s->begin = r == s->rank ? s->n : s->begin;
        for (int64_t i = blocks_of(k, r); i > 0; i--) {
            const int64_t b = s->n++;
            s->id[b] = (int64_t)(bits_of(4000, b) % 50) - 20; /* arbitrary, with duplicates */
            s->bytes[b] = (int64_t)(bits_of(3000, b) % 5) * (k == ODD_SIZES ? 7 : (int64_t)sizeof(double));
            s->home[b] = r;
            s->first[b + 1] = s->first[b];
            for (int u = 0; u < s->nranks; u++) {
                if (is_needed(k, b, u)) {
                    s->user[s->first[b + 1]++] = u;
                }
            }
        }
        s->end = r == s->rank ? s->n : s->end;
    }
    for (int64_t b = s->begin; b < s->end; b++) {
        s->own_bytes += s->bytes[b];
        s->own_first[b + 1 - s->begin] = s->first[b + 1] - s->first[s->begin];
    }
}

static eqp_route_blocks own_blocks(const scene *s)
{
    return (eqp_route_blocks){.n = s->end - s->begin,
                              .id = s->id + s->begin,
                              .bytes = s->bytes + s->begin,
                              .first = s->own_first,
                              .rank = s->user + s->first[s->begin]};
}

static int needs(const scene *s, int64_t block, int rank)
{
    for (int64_t k = s->first[block]; k < s->first[block + 1]; k++) {
        if (s->user[k] == rank) {
            return 1;
        }
    }
    return 0;
}

static char content(int64_t block, int64_t at, int trip)
{
    return (char)bits_of(block * 1000 + at, trip);
}

static double term(int64_t block, int64_t at, int rank, int trip)
{
    return (double)(bits_of(block * 1000 + at, 100 * trip + rank) % 1000) - 500;
}

static void check_counts(const scene *s, const eqp_exchange_plan *plan, int back, eqp_route_counts counts)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    const eqp__plan_family family = {plan->stages, plan->node, 1, {plan->broadcast}};
    const eqp_phase phase = {back, s->n, s->bytes, s->home, s->first, s->user};
    int64_t sum[4][MOST_RANKS] = {{0}};
    const eqp_traffic traffic = {sum[0], sum[1], sum[2], sum[3], NULL, NULL};

    CHECK_EQUAL(eqp__traffic_count(&phase, s->nranks, &family, &network, &traffic), EQP_OK);
    CHECK_EQUAL(counts.messages_sent, traffic.messages_sent[s->rank]);
    CHECK_EQUAL(counts.messages_received, traffic.messages_received[s->rank]);
    CHECK_EQUAL(counts.bytes_sent, traffic.bytes_sent[s->rank]);
    CHECK_EQUAL(counts.bytes_received, traffic.bytes_received[s->rank]);
}

/* Blocks arrive by home, in the home's order, without gaps, for every plan. */
static int64_t check_arrivals(const scene *s, const eqp_route *route)
{
    const eqp_route_view view = eqp_route_arrivals(route);
    int64_t n = 0, bytes = 0;

    for (int64_t b = 0; b < s->n; b++) {
        if (s->home[b] != s->rank && needs(s, b, s->rank)) {
            CHECK(n < view.n);
            CHECK_EQUAL(view.id[n], s->id[b]);
            CHECK_EQUAL(view.home[n], s->home[b]);
            CHECK_EQUAL(view.bytes[n], s->bytes[b]);
            CHECK_EQUAL(view.offset[n], bytes);
            bytes += view.bytes[n++];
        }
    }
    CHECK_EQUAL(n, view.n);
    return bytes;
}

static void go_out(const scene *s, eqp_route *route, int trip)
{
    char *data = mpi_test_alloc(s->own_bytes, 1), *to = data;
    const void *received = NULL;
    int64_t at = 0;

    for (int64_t b = s->begin; b < s->end; b++) {
        for (int64_t i = 0; i < s->bytes[b]; i++) {
            *to++ = content(b, i, trip);
        }
    }
    CHECK_EQUAL(eqp_route_start(route, data), EQP_OK);
    for (int i = 0; i < trip; i++) {
        CHECK_EQUAL(eqp_route_progress(route), EQP_OK);
    }
    CHECK_EQUAL(eqp_route_finish(route, &received), EQP_OK);
    free(data);
    for (int64_t b = 0; b < s->n; b++) {
        for (int64_t i = 0; i < s->bytes[b] && s->home[b] != s->rank && needs(s, b, s->rank); i++) {
            CHECK_EQUAL(((const char *)received)[at++], content(b, i, trip));
        }
    }
}

static void come_back(const scene *s, eqp_route *route, int64_t arriving, int trip)
{
    double *mine = mpi_test_alloc(arriving, 1), *to = mine;
    double *sum = mpi_test_alloc(s->own_bytes, 1);
    int64_t at = 0;

    for (int64_t b = 0; b < s->n; b++) {
        for (int64_t i = 0; i < s->bytes[b] / 8 && s->home[b] != s->rank && needs(s, b, s->rank); i++) {
            *to++ = term(b, i, s->rank, trip);
        }
    }
    memset(sum, 0x7f, (size_t)s->own_bytes);
    CHECK_EQUAL(eqp_route_back_start(route, mine), EQP_OK);
    for (int i = 0; i < trip; i++) {
        CHECK_EQUAL(eqp_route_progress(route), EQP_OK);
    }
    CHECK_EQUAL(eqp_route_back_finish(route, sum), EQP_OK);
    for (int64_t b = s->begin; b < s->end; b++) {
        for (int64_t i = 0; i < s->bytes[b] / 8; i++) {
            double serial = 0;
            for (int r = 0; r < s->nranks; r++) {
                serial += r != s->rank && needs(s, b, r) ? term(b, i, r, trip) : 0;
            }
            CHECK_EQUAL(sum[at++], serial);
        }
    }
    free(mine);
    free(sum);
}

/* Trips in both directions with changing data. */
static void travel(MPI_Comm comm, const scene *s, const eqp_exchange_plan *plan, int whole_doubles, size_t largest)
{
    const eqp_route_blocks blocks = own_blocks(s);
    eqp_route *route = NULL;
    double nothing = 0;

    CHECK_EQUAL(largest ? eqp__route_create(comm, plan, &blocks, largest, &route)
                        : eqp_route_create(comm, plan, &blocks, &route),
                EQP_OK);
    const int64_t arriving = check_arrivals(s, route);
    for (int trip = 0; trip < 2; trip++) {
        go_out(s, route, trip);
        check_counts(s, plan, 0, eqp_route_last_counts(route));
        if (whole_doubles) {
            come_back(s, route, arriving, trip);
            check_counts(s, plan, 1, eqp_route_last_counts(route));
        } else {
            CHECK_EQUAL(eqp_route_back_start(route, &nothing), EQP_ERR_ARGUMENT);
        }
    }
    eqp_route_free(route);
}

/* All kinds of blocks by every plan that fits the ranks, and the first two in messages of at most 16 bytes. */
MPI_TEST(every_plan_brings_blocks_there_and_sums_back)
{
    static const int broadcast[] = {0, 1, 4};
    static const struct {
        eqp_exchange_plan plan;
        size_t largest;
    } by[] = {{{EQP_STAGES_DIRECT, 0, 2}, 0}, {{EQP_STAGES_LOG, 2, 2}, 0},  {{EQP_STAGES_TWO, 4, 4}, 0},
              {{EQP_STAGES_DIRECT, 1, 8}, 0}, {{EQP_STAGES_TWO, 0, 1}, 16}, {{EQP_STAGES_LOG, 3, 1}, 16},
              {{EQP_STAGES_LOG, 2, 2}, 16}};

    for (size_t i = 0; i < 9 + sizeof by / sizeof by[0]; i++) {
        const eqp_exchange_plan grid = {(eqp_stages)(i / 3), broadcast[i % 3], 1};
        const eqp_exchange_plan plan = i >= 9 ? by[i - 9].plan : grid;
        const size_t largest = i >= 9 ? by[i - 9].largest : 0;
        eqp_exchange_plan fitted = plan;
        CHECK_EQUAL(eqp_route_fit(comm, &fitted), EQP_OK);
        CHECK(fitted.stages == plan.stages && fitted.broadcast == plan.broadcast);
        for (int k = 0; k < (largest > 0 ? ODD_SIZES + 1 : NKINDS) && fitted.node == plan.node; k++) {
            static scene s;
            scene_make(&s, comm, (kind)k);
            travel(comm, &s, &plan, k != ODD_SIZES || s.n == 0, largest);
        }
    }
}

/* Two trips at once, with routes created meanwhile. */
MPI_TEST(routes_of_different_communicators_travel_at_once)
{
    const eqp_exchange_plan plan = {EQP_STAGES_LOG, 0, 1};
    MPI_Comm other = MPI_COMM_NULL;
    eqp_route *route[3] = {NULL, NULL, NULL};
    const void *received[2] = {NULL, NULL};
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    const int64_t id = rank, bytes = sizeof(int), first[2] = {0, size};
    int all[64], value[2] = {100 + rank, 200 + rank};
    const eqp_route_blocks blocks = {.n = 1, .id = &id, .bytes = &bytes, .first = first, .rank = all};

    CHECK(size <= 64);
    for (int r = 0; r < size; r++) {
        all[r] = r;
    }
    CHECK_EQUAL(eqp_comm_create(comm, &other), EQP_OK);
    CHECK_EQUAL(eqp_route_create(comm, &plan, &blocks, &route[0]), EQP_OK);
    CHECK_EQUAL(eqp_route_start(route[0], &value[0]), EQP_OK);
    CHECK_EQUAL(eqp_route_create(comm, &plan, &blocks, &route[2]), EQP_OK);
    CHECK_EQUAL(eqp_route_create(other, &plan, &blocks, &route[1]), EQP_OK);
    CHECK_EQUAL(eqp_route_start(route[1], &value[1]), EQP_OK);
    for (int i = 1; i >= 0; i--) { /* finished in reverse order */
        CHECK_EQUAL(eqp_route_finish(route[i], &received[i]), EQP_OK);
    }
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < size - 1; r++) {
            CHECK_EQUAL(((const int *)received[i])[r], 100 * (i + 1) + r + (r >= rank));
        }
    }
    for (int i = 0; i < 3; i++) {
        eqp_route_free(route[i]);
    }
    eqp_comm_free(&other);
}

/* Sums of 1/n, which reveal any other order. */
static void sum_fractions(MPI_Comm comm, const eqp_exchange_plan *plan, double *sum)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    const int64_t id = rank, bytes = 8 * sizeof(double), first[2] = {0, size};
    double mine[8 * 64];
    int all[64];
    const eqp_route_blocks blocks = {.n = 1, .id = &id, .bytes = &bytes, .first = first, .rank = all};
    eqp_route *route = NULL;

    CHECK(size <= 64);
    for (int i = 0; i < 8 * 64; i++) {
        mine[i] = 1 / (1 + (double)(bits_of(rank, i) % 1000));
    }
    for (int r = 0; r < size; r++) {
        all[r] = r;
    }
    CHECK_EQUAL(eqp_route_create(comm, plan, &blocks, &route), EQP_OK);
    CHECK_EQUAL(eqp_route_back_start(route, mine), EQP_OK);
    CHECK_EQUAL(eqp_route_back_finish(route, sum), EQP_OK);
    eqp_route_free(route);
}

MPI_TEST(sums_have_the_same_bits_again)
{
    static const eqp_exchange_plan plans[] = {
        {EQP_STAGES_DIRECT, 0, 1}, {EQP_STAGES_TWO, 0, 1}, {EQP_STAGES_LOG, 0, 2}};
    double once[8], again[8];

    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        eqp_exchange_plan plan = plans[i];
        CHECK_EQUAL(eqp_route_fit(comm, &plan), EQP_OK);
        sum_fractions(comm, &plan, once);
        for (int k = 0; k < 5; k++) {
            sum_fractions(comm, &plan, again);
            CHECK(memcmp(once, again, sizeof once) == 0);
        }
    }
}

/* One block per rank for its right neighbor. */
typedef struct ring {
    int64_t id, bytes, first[2];
    int to[2];
} ring;

static eqp_route_blocks ring_blocks(MPI_Comm comm, ring *r)
{
    *r = (ring){.id = 5, .bytes = 8, .first = {0, 1}, .to = {(mpi_test_rank(comm) + 1) % mpi_test_size(comm), 0}};
    return (eqp_route_blocks){.n = 1, .id = &r->id, .bytes = &r->bytes, .first = r->first, .rank = r->to};
}

/* test_disagree_messages.c tests arguments that differ on one rank. */
MPI_TEST(plans_are_fitted_to_the_ranks)
{
    const int size = mpi_test_size(comm);
    eqp_exchange_plan plan = {EQP_STAGES_DIRECT, 0, size + 1};
    ring r;
    const eqp_route_blocks blocks = ring_blocks(comm, &r);
    eqp_route *route = NULL;

    CHECK_EQUAL(eqp_route_create(comm, &plan, &blocks, &route), EQP_ERR_ARGUMENT);
    CHECK(route == NULL);
    plan = (eqp_exchange_plan){EQP_STAGES_LOG, 3, 1000};
    CHECK_EQUAL(eqp_route_fit(comm, &plan), EQP_OK);
    CHECK_EQUAL(plan.node, size); /* the tests run on one node */
}

/* A failed rank passes its code to the call that all ranks make. */
MPI_TEST(codes_travel_with_blocks_and_trips)
{
    static const eqp_exchange_plan plans[] = {{EQP_STAGES_DIRECT, 0, 1}, {EQP_STAGES_LOG, 1, 1}};
    const int size = mpi_test_size(comm), last = mpi_test_rank(comm) == size - 1;
    const eqp_route_blocks failed = {.code = EQP_ERR_DATA};

    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        const void *received = NULL;
        double value = 1, sum = -7;
        eqp_route *route = NULL;
        ring r;
        const eqp_route_blocks blocks = ring_blocks(comm, &r);

        CHECK_EQUAL(eqp_route_create(comm, &plans[i], last ? &failed : &blocks, &route), EQP_ERR_DATA);
        CHECK(route == NULL);
        CHECK_EQUAL(eqp_route_create(comm, &plans[i], &blocks, &route), EQP_OK);
        eqp_route_give_up(last ? route : NULL, EQP_ERR_OVERFLOW);
        CHECK_EQUAL(eqp_route_start(route, &value), last ? EQP_ERR_OVERFLOW : EQP_OK);
        CHECK_EQUAL(eqp_route_finish(route, &received), EQP_ERR_OVERFLOW);
        CHECK_EQUAL(eqp_route_start(route, &value), EQP_OK); /* the next trip works */
        CHECK_EQUAL(eqp_route_finish(route, &received), EQP_OK);
        eqp_route_give_up(last ? route : NULL, 1);
        CHECK_EQUAL(eqp_route_back_start(route, received), last ? EQP_ERR_ARGUMENT : EQP_OK);
        CHECK_EQUAL(eqp_route_back_finish(route, &sum), EQP_ERR_ARGUMENT);
        CHECK_EQUAL(sum, -7);
        eqp_route_free(route);
    }
}

MPI_TEST(calls_out_of_turn_are_refused)
{
    const eqp_exchange_plan plan = {EQP_STAGES_LOG, 0, 1};
    const int size = mpi_test_size(comm), left = (mpi_test_rank(comm) + size - 1) % size;
    ring r;
    const eqp_route_blocks blocks = ring_blocks(comm, &r);
    const void *received = NULL;
    double value = mpi_test_rank(comm), sum = -7;
    eqp_route *route = NULL;

    CHECK_EQUAL(eqp_route_create(comm, &plan, &blocks, &route), EQP_OK);
    CHECK_EQUAL(eqp_route_progress(route), EQP_OK);
    CHECK_EQUAL(eqp_route_finish(route, &received), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_route_back_finish(route, &sum), EQP_ERR_STATE);
    /* A start without data still begins a trip, whose end returns the code on all ranks. */
    CHECK_EQUAL(eqp_route_start(route, NULL), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_route_start(route, &value), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_route_finish(route, &received), EQP_ERR_ARGUMENT);
    CHECK(received == NULL);
    CHECK_EQUAL(eqp_route_start(route, &value), EQP_OK);
    CHECK_EQUAL(eqp_route_start(route, &value), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_route_back_start(route, &value), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_route_back_finish(route, &sum), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_route_finish(route, &received), EQP_OK);
    CHECK(size == 1 || *(const double *)received == left);
    CHECK_EQUAL(eqp_route_back_start(route, NULL), size == 1 ? EQP_OK : EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_route_back_start(route, &value), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_route_back_finish(route, &sum), size == 1 ? EQP_OK : EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_route_back_start(route, &value), EQP_OK);
    CHECK_EQUAL(eqp_route_finish(route, &received), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_route_back_finish(route, &sum), EQP_OK);
    CHECK_EQUAL(sum, size == 1 ? 0 : (mpi_test_rank(comm) + 1) % size);
    eqp_route_free(route);
}
