/* SPDX-License-Identifier: BSD-3-Clause */
/* A tangle whose nodes are shaken, so that segments meet, shrink and grow: after every step the network is sound, and
 * it is the same to the last bit for every number of ranks and wherever the nodes live, also when they move between
 * steps. Close pairs are those that brute force finds. */
#include "dd_sound.h"
#include "harness.h"

#include "topology/topology.h"

#include "motion/generate.h"
#include "network/operations.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>

#include "failing_ranks.h"

enum { STEPS = 4 };

typedef struct scene {
    const char *text; /* of the generator; NULL: screws() */
    dd_rules rules;
    double shake; /* largest way of a node in a step, each direction */
} scene;

static const scene scenes[] = {
    {"chains:n=9,box=3000,maxseg=400,corners=6,seed=3", {.max_seg = 400, .min_seg = 100, .r_tol = 10, .rann = 60}, 50},
    {"frank-read:n=12,box=3000,maxseg=300,length=1200,seed=5",
     {.max_seg = 280, .min_seg = 60, .r_tol = 5, .rann = 40},
     40},
    {NULL, {.max_seg = 280, .min_seg = 40, .area_min = 10, .r_tol = 0.5, .rann = 1, .cross_slip = DD_FCC}, 0.3},
    {"loops:n=10,box=2500,maxseg=300,radius=500,seed=1", {.max_seg = 280, .min_seg = 80, .r_tol = 5, .rann = 50}, 60},
};

static const dd_medium medium = {.mu = 1, .nu = 0.3, .a = 5, .core = 0.6};

static const dd_mobility mobility = {.law = DD_FCC_0, .edge = 1, .screw = 1, .climb = 1};

enum { LOOPS = 9, CORNERS = 12 };

/* Loops in a {111} plane, of which four pieces on either side are screws and two between these are edges. */
static void screws(dd_network *all)
{
    const double r2 = sqrt(0.5), r3 = 1 / sqrt(3.0), r6 = 1 / sqrt(6.0);
    const double b[3] = {r2, r2, 0}, normal[3] = {r3, -r3, r3}, aside[3] = {r6, -r6, -2 * r6};
    static const double at[CORNERS][2] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {4, 1},
                                          {4, 2}, {3, 2}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};

    for (int i = 0; i < LOOPS * CORNERS; i++) {
        const int loop = i / CORNERS, c = i % CORNERS, first = loop * CORNERS;
        dd_node node = {.tag = DD_TAG(0, i), .order = i};
        for (int d = 0; d < 3; d++) { /* some across the faces */
            node.x[d] = 900.0 * (d == 0   ? loop % 3
                                 : d == 1 ? loop / 3
                                          : loop % 2) +
                        100.0 * (at[c][0] * b[d] + at[c][1] * aside[d]);
        }
        for (int k = 0; k < 2; k++) {
            dd_arm *arm;
            CHECK_EQUAL(dd_node_add_arm(&node, DD_TAG(0, first + (c + (k == 0 ? CORNERS - 1 : 1)) % CORNERS), &arm),
                        EQP_OK);
            for (int d = 0; d < 3; d++) {
                arm->burgers[d] = k == 0 ? -b[d] : b[d];
                arm->normal[d] = normal[d];
            }
        }
        CHECK_EQUAL(dd_network_add(all, &node), EQP_OK);
    }
}

/* The nodes that live here by a seed; all of them on rank 0 for seed -1. */
static void make_domain(MPI_Comm comm, const scene *from, int seed, dd_domain *domain)
{
    dd_generator generator;
    dd_network all;
    eqp_message message = {""};

    dd_domain_init(domain, comm);
    dd_network_init(&all);
    if (from->text == NULL) {
        screws(&all);
        for (int d = 0; d < 3; d++) {
            domain->low[d] = -100;
            domain->box[d] = 2700;
        }
    } else {
        CHECK_EQUAL(dd_generator_parse(from->text, &generator, &message), EQP_OK);
        CHECK_EQUAL(dd_generator_make(&generator, 0, dd_generator_count(&generator), &all), EQP_OK);
        dd_generator_box(&generator, domain->low, domain->box);
    }
    memcpy(domain->edge, domain->box, sizeof domain->edge);
    for (int64_t i = all.n - 1; i >= 0; i--) {
        dd_node node;
        dd_network_take(&all, i, &node);
        node.home = domain->rank;
        node.split = -1;
        if ((seed < 0 ? 0 : (int)eqp_random_below((uint64_t)seed, node.tag, 0, (uint64_t)domain->nranks)) ==
            domain->rank) {
            CHECK_EQUAL(dd_network_add(&domain->network, &node), EQP_OK);
        }
        dd_node_free(&node);
    }
    dd_network_free(&all);
    CHECK_EQUAL(dd_domain_connect(domain, &message), EQP_OK);
    dd_network_sort(&domain->network);
    CHECK_EQUAL(dd_check_sound(domain, &message), EQP_OK);
}

static void shake(dd_domain *domain, double way, uint64_t step)
{
    for (int64_t i = 0; i < domain->network.n; i++) {
        dd_node *node = &domain->network.node[i];
        for (int d = 0; d < 3; d++) {
            node->v[d] = 2 * way * (eqp_random_uniform(step, node->tag, (uint64_t)d) - 0.5);
            node->x[d] += node->constraint == DD_FREE ? node->v[d] : 0;
        }
        for (int k = 0; k < node->narms; k++) {
            for (int d = 0; d < 3; d++) {
                node->arm[k].force[d] =
                    way * (eqp_random_uniform(step, node->tag, node->arm[k].tag + (uint64_t)d) - 0.5);
            }
        }
        dd_domain_fold(domain, node->x);
    }
}

static void find_closes(const dd_domain *domain, double reach, dd_closes *closes)
{
    static const int64_t cells[3] = {4, 3, 5};
    dd_halo halo;
    dd_stage stage = {0};

    CHECK_EQUAL(dd_stage_open(domain, cells, &stage), EQP_OK);
    CHECK_EQUAL(dd_halo_create(domain, EQP_OK, &halo), EQP_OK);
    CHECK_EQUAL(dd_stage_create(domain, &halo, NULL, &stage), EQP_OK);
    CHECK_EQUAL(dd_stage_refresh(domain, &halo, &stage), EQP_OK);
    CHECK_EQUAL(dd_close_find(domain, &stage, reach, closes), EQP_OK);
    dd_stage_free(&stage);
    dd_halo_free(&halo);
}

static void wander(dd_domain *domain, uint64_t seed)
{
    int *dest = mpi_test_alloc(domain->network.n, sizeof *dest);
    dd_moved moved = {0, 0};

    for (int64_t i = 0; i < domain->network.n; i++) {
        dest[i] = (int)eqp_random_below(seed, domain->network.node[i].tag, 7, (uint64_t)domain->nranks);
    }
    CHECK_EQUAL(dd_domain_migrate(domain, dest, &moved), EQP_OK);
    free(dest);
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

/* A sum over all nodes with their arms in their order, but for homes. */
static uint64_t fingerprint(const dd_domain *domain)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        uint64_t one = mix(node->tag, node->x, sizeof node->x);
        one = mix(one, node->v, sizeof node->v);
        one = mix(one, &node->order, sizeof node->order);
        for (int k = 0; k < node->narms; k++) {
            const dd_arm *arm = &node->arm[k];
            one = mix(one, &arm->tag, sizeof arm->tag);
            one = mix(one, arm->burgers, sizeof arm->burgers);
            one = mix(one, arm->normal, sizeof arm->normal);
            one = mix(one, arm->force, sizeof arm->force);
        }
        sum += one;
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, domain->comm);
    return sum;
}

typedef struct story {
    uint64_t after[STEPS];
    dd_topology_counts counts[STEPS];
    double area[STEPS][9];
    int64_t closes[STEPS];
    dd_tag next_tag;
} story;

static story live(MPI_Comm comm, const scene *from, int seed, bool wanders)
{
    story told = {0};
    dd_domain domain;
    dd_rules rules = from->rules;
    dd_closes closes = {0};
    eqp_message message = {""};
    const dd_mover mover = dd_topology_mover(&mobility, &medium, 0.0);

    CHECK_EQUAL(dd_rules_complete(&rules), EQP_OK);
    make_domain(comm, from, seed, &domain);
    for (int s = 0; s < STEPS; s++) {
        shake(&domain, from->shake, (uint64_t)s);
        if (wanders) {
            wander(&domain, (uint64_t)(seed + s));
        }
        find_closes(&domain, rules.rann, &closes);
        MPI_Allreduce(&closes.n, &told.closes[s], 1, MPI_INT64_T, MPI_SUM, comm);
        CHECK_EQUAL(dd_topology_step(&domain, EQP_OK, &rules, &mover, true, s, &closes, 0, NULL, &told.counts[s],
                                     told.area[s], &message),
                    EQP_OK);
        if (dd_check_sound(&domain, &message) != EQP_OK) {
            fprintf(stderr, "%s, step %d: %s\n", from->text != NULL ? from->text : "screws", s, message.text);
            CHECK(0);
        }
        told.after[s] = fingerprint(&domain);
    }
    told.next_tag = domain.next_tag;
    dd_closes_free(&closes);
    dd_domain_free(&domain);
    return told;
}

/* The whole network on one rank. */
static story alone(const scene *from)
{
    MPI_Comm self;
    story told;

    CHECK_EQUAL(eqp_comm_create(MPI_COMM_SELF, &self), EQP_OK);
    told = live(self, from, 0, false);
    eqp_comm_free(&self);
    return told;
}

/* Sums in another order. */
static void check_areas(const double *area, const double *expected)
{
    double most = 0, all = 0;

    for (int k = 0; k < 9; k++) {
        most = fmax(most, fabs(area[k] - expected[k]));
        all += fabs(expected[k]);
    }
    CHECK(all > 0 && most <= 1e-12 * all);
}

static void networks_depend_on_no_home(MPI_Comm comm)
{
    int64_t done[DD_TOPOLOGY_KINDS] = {0};

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const story expected = alone(&scenes[i]);
        for (int s = 0; s < STEPS; s++) {
            for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
                done[k] += expected.counts[s].done[k];
            }
        }
        for (int seed = -1; seed < 2; seed++) {
            const story told = live(comm, &scenes[i], seed, seed > 0);
            for (int s = 0; s < STEPS; s++) {
                CHECK_EQUAL(told.closes[s], expected.closes[s]);
                CHECK_EQUAL(memcmp(&told.counts[s], &expected.counts[s], sizeof told.counts[s]), 0);
                CHECK_EQUAL(told.after[s], expected.after[s]);
                check_areas(told.area[s], expected.area[s]);
            }
            CHECK_EQUAL(told.next_tag, expected.next_tag);
        }
    }
    for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
        if (getenv("DD_SHOW") && mpi_test_rank(comm) == 0) {
            printf("%s %" PRId64 "\n", dd_topology_names[k], done[k]);
        }
        CHECK(done[k] > 0);
    }
}

/* On one rank: all pairs of segments. */
static int64_t brute_force(const dd_domain *domain, double reach, const dd_closes *closes)
{
    const dd_network *network = &domain->network;
    int64_t n = 0, found = 0, room = 0;
    dd_tag(*ends)[2] = NULL;
    double(*x)[2][3] = NULL;
    int64_t xroom = 0;

    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        for (int k = 0; k < node->narms; k++) {
            if (node->tag < node->arm[k].tag) {
                double along[3];
                CHECK_EQUAL(eqp_array_reserve(&ends, &room, n + 1, sizeof *ends), EQP_OK);
                CHECK_EQUAL(eqp_array_reserve(&x, &xroom, n + 1, sizeof *x), EQP_OK);
                ends[n][0] = node->tag;
                ends[n][1] = node->arm[k].tag;
                dd_domain_offset(domain, network->node[dd_network_find(network, ends[n][1])].x, node->x, along);
                for (int d = 0; d < 3; d++) {
                    x[n][0][d] = node->x[d];
                    x[n][1][d] = node->x[d] + along[d];
                }
                n++;
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            const int64_t a = ends[i][0] < ends[j][0] || (ends[i][0] == ends[j][0] && ends[i][1] < ends[j][1]) ? i : j;
            const int64_t b = a == i ? j : i;
            double mid[2][3], between[3], xb[2][3], s, t;
            int64_t times = 0;
            if (ends[a][0] == ends[b][0] || ends[a][0] == ends[b][1] || ends[a][1] == ends[b][0] ||
                ends[a][1] == ends[b][1]) {
                continue;
            }
            for (int d = 0; d < 3; d++) {
                mid[0][d] = 0.5 * (x[a][0][d] + x[a][1][d]);
                mid[1][d] = 0.5 * (x[b][0][d] + x[b][1][d]);
            }
            dd_domain_offset(domain, mid[1], mid[0], between);
            for (int d = 0; d < 3; d++) {
                xb[0][d] = x[b][0][d] - mid[1][d] + mid[0][d] + between[d];
                xb[1][d] = x[b][1][d] - mid[1][d] + mid[0][d] + between[d];
            }
            for (int64_t c = 0; c < closes->n; c++) {
                const dd_tag *tag = closes->pair[c].tag;
                times += tag[0] == ends[a][0] && tag[1] == ends[a][1] && tag[2] == ends[b][0] && tag[3] == ends[b][1];
            }
            if (dd_segments_distance2(x[a][0], x[a][1], xb[0], xb[1], &s, &t) < reach * reach) {
                found++;
                CHECK_EQUAL(times, 1);
            } else {
                CHECK_EQUAL(times, 0);
            }
        }
    }
    free(x);
    free(ends);
    return found;
}

static void close_pairs_are_those_of_brute_force(MPI_Comm comm)
{
    MPI_Comm self;

    CHECK_EQUAL(eqp_comm_create(MPI_COMM_SELF, &self), EQP_OK);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0] && mpi_test_rank(comm) == 0; i++) {
        dd_domain domain;
        dd_closes closes = {0};
        make_domain(self, &scenes[i], 0, &domain);
        shake(&domain, scenes[i].shake, 9);
        find_closes(&domain, 100, &closes);
        CHECK_EQUAL(brute_force(&domain, 100, &closes), closes.n);
        CHECK(closes.n > 0);
        dd_closes_free(&closes);
        dd_domain_free(&domain);
    }
    eqp_comm_free(&self);
}

static const scene small = {
    "loops:n=2,box=1000,maxseg=200,radius=200,seed=1", {.max_seg = 180, .min_seg = 60, .r_tol = 5, .rann = 50}, 50};

static int one_step(MPI_Comm comm, void *user)
{
    dd_rules rules = small.rules;
    dd_closes closes = {0};
    dd_topology_counts counts;
    double area[9];
    eqp_message message = {""};
    dd_domain domain;
    const dd_mover mover = dd_topology_mover(&mobility, &medium, 0.0);
    int code;

    (void)user;
    CHECK_EQUAL(dd_rules_complete(&rules), EQP_OK);
    make_domain(comm, &small, 2, &domain);
    shake(&domain, small.shake, 0);
    find_closes(&domain, 2 * rules.rann, &closes);
    failing_ranks_begin();
    code = dd_topology_step(&domain, EQP_OK, &rules, &mover, true, 0, &closes, 0, NULL, &counts, area, &message);
    failing_ranks_end();
    dd_closes_free(&closes);
    dd_domain_free(&domain);
    return code;
}

static void lack_of_memory_reaches_all_ranks(MPI_Comm comm)
{
    if (failing_malloc_modules > 0 && mpi_test_size(comm) <= 2) {
        CHECK(failing_ranks_check(comm, one_step, NULL) > mpi_test_size(comm));
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(networks_depend_on_no_home),
        MPI_TEST(close_pairs_are_those_of_brute_force),
        MPI_TEST(lack_of_memory_reaches_all_ranks),
    };

    if (!failing_malloc_only_ours()) {
        printf("failing allocations cannot be tested on this system\n");
    }
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
