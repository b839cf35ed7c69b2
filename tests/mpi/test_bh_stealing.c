/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks that are handed out while they are computed: the same forces to the last bit and the same work on any rank, by
 * every method and with shared groups; and some tasks are handed out. */
#include "harness.h"

#include "shell.h"
#include "simulation.h"

#include <equipoise/more/loops.h>
#include <equipoise/more/random.h>

enum { FIELDS = 4 };

/* A set of options; NULL ends them. */
static void parse(bh_settings *settings, const char *const *option)
{
    const char *argv[24] = {"test", "--generate"};
    int argc = 2;
    app_action action;
    eqp_message message = {""};

    for (; *option != NULL; option++) {
        argv[argc++] = *option;
    }
    CHECK_EQUAL(app_options_parse(bh_settings_table(), argc, (char **)argv, settings, NULL, &action, &message), EQP_OK);
    CHECK_EQUAL(bh_settings_complete(settings, &message), EQP_OK);
}

static void create(MPI_Comm comm, const bh_settings *settings, bh_simulation *sim)
{
    eqp_message message = {""};
    const int code = bh_simulation_create(comm, settings, sim, &message);

    if (code != EQP_OK) {
        fprintf(stderr, "%s\n", message.text);
    }
    CHECK_EQUAL(code, EQP_OK);
}

/* Accelerations and potentials of this rank's particles, one after another. */
static double *fields_of(const bh_simulation *sim)
{
    const bh_particles *p = &sim->domain.particles;
    const double *const field[FIELDS] = {p->ax, p->ay, p->az, p->pot};
    double *kept = mpi_test_alloc(FIELDS * p->n, sizeof *kept);

    for (int f = 0; f < FIELDS && p->n > 0; f++) {
        memcpy(kept + f * p->n, field[f], (size_t)p->n * sizeof *kept);
    }
    return kept;
}

static void put_back(bh_simulation *sim, const double *kept)
{
    bh_particles *p = &sim->domain.particles;
    double *const field[FIELDS] = {p->ax, p->ay, p->az, p->pot};

    for (int f = 0; f < FIELDS && p->n > 0; f++) {
        memcpy(field[f], kept + f * p->n, (size_t)p->n * sizeof *kept);
    }
}

/* Work of an evaluation on all ranks, and the forces of this rank's particles. */
typedef struct outcome {
    int64_t done[BH_KINDS + 2]; /* work of each kind; targets; tasks computed for other ranks */
    double *field;
} outcome;

enum { TARGETS = BH_KINDS, HELPED };

/* Evaluates with the forces `before` as those of the step before, on which the relative criterion depends. */
static void evaluate(bh_simulation *sim, const eqp_map *map, bh_stealing *stealing, const double *before, outcome *o)
{
    bh_evaluated evaluated;

    put_back(sim, before);
    CHECK_EQUAL(bh_domain_build_tree(&sim->domain, EQP_OK), EQP_OK);
    sim->evaluator.stealing = stealing;
    CHECK_EQUAL(bh_evaluate(&sim->evaluator, &sim->domain, map, NULL, 0, EQP_OK, &evaluated), EQP_OK);
    sim->evaluator.stealing = NULL;
    memcpy(o->done, evaluated.counts.of, sizeof evaluated.counts.of);
    o->done[TARGETS] = evaluated.targets;
    o->done[HELPED] = evaluated.handed.helped;
    CHECK(evaluated.handed.helped == 0 || evaluated.handed.bytes_sent > 0);
    CHECK_EQUAL(bh_tree_check(&sim->domain.tree), EQP_OK);
    MPI_Allreduce(MPI_IN_PLACE, o->done, BH_KINDS + 2, MPI_INT64_T, MPI_SUM, sim->comm);
    o->field = fields_of(sim);
    eqp_timings_clear(sim->evaluator.timings);
}

static void check_same(const bh_simulation *sim, const outcome *a, const outcome *b)
{
    for (int k = 0; k <= TARGETS; k++) {
        CHECK_EQUAL(a->done[k], b->done[k]);
    }
    CHECK(memcmp(a->field, b->field, FIELDS * (size_t)sim->domain.particles.n * sizeof(double)) == 0);
}

/* Evaluates twice by a method, which learns in between; returns the number of tasks handed out. */
static int64_t check_method(bh_simulation *sim, const eqp_map *map, const eqp_schedule_method *method,
                            const double *before, const outcome *reference)
{
    bh_stealing *stealing = NULL;
    int64_t helped = 0;

    CHECK_EQUAL(bh_stealing_create(sim->comm, method, NULL, &stealing), EQP_OK);
    for (int round = 0; round < 2; round++) {
        outcome o;
        evaluate(sim, map, stealing, before, &o);
        check_same(sim, reference, &o);
        helped += o.done[HELPED];
        free(o.field);
    }
    bh_stealing_free(stealing);
    return helped;
}

/* Every method on few ranks; where all takes much longer, every third, beginning with another each time. */
static int64_t check_methods(bh_simulation *sim, const eqp_map *map)
{
    static int turn;
    const int every = sim->domain.nranks > 3 ? 3 : 1;
    double *before = fields_of(sim);
    outcome reference;
    int64_t helped = 0;

    evaluate(sim, map, NULL, before, &reference);
    CHECK_EQUAL(reference.done[HELPED], 0);
    for (int m = turn++ % every; m < eqp_schedule_method_count(); m += every) {
        helped += check_method(sim, map, eqp_schedule_method_at(m), before, &reference);
    }
    free(reference.field);
    free(before);
    return helped;
}

static void check_options(MPI_Comm comm, const char *const *option)
{
    bh_settings settings;
    bh_simulation sim;

    parse(&settings, option);
    create(comm, &settings, &sim);
    check_methods(&sim, eqp_balancer_map(sim.balancer));
    bh_simulation_free(&sim);
}

static void forces_are_the_same_whoever_computes_them(MPI_Comm comm)
{
    static const char *const none[] = {"clusters:n=900", "--balance", "none", "--group-size", "8", NULL};
    static const char *const sfc[] = {"plummer:n=900", "--balance", "sfc", "--exchange", "log", NULL};
    static const char *const split[] = {"clusters:n=900",         "--balance", "interaction", "--sample-rate=0.05",
                                        "--imbalance-tol=0.0005", NULL};
    static const char *const relative[] = {"disks:n=900",        "--balance",      "interaction",
                                           "--opening=relative", "--group-size=8", NULL};
    static const char *const angle[] = {"disks:n=900", "--balance", "interaction", "--theta=0.6", NULL};
    static const char *const within[] = {"clusters:n=900", "--balance", "none", "--cutoff=0.2", NULL};
    static const char *const exact[] = {"clusters:n=900", "--balance", "none", "--precision=double", NULL};
    static const char *const few[] = {"plummer:n=3", "--balance", "none", NULL};
    static const char *const *const option[] = {none, sfc, split, relative, angle, within, exact, few};

    for (size_t i = 0; i < sizeof option / sizeof option[0]; i++) {
        check_options(comm, option[i]);
    }
}

/* All groups are shared by all ranks, each of which has its units anywhere around them. */
static eqp_map *share_everything(bh_simulation *sim)
{
    enum { SPLIT = 5, UNITS = 3 };
    const bh_particles *p = &sim->domain.particles;
    const int64_t each = UNITS * (int64_t)sim->domain.nranks;
    int64_t nunits_of[SPLIT];
    double *centroid = mpi_test_alloc(SPLIT * each * 3, sizeof *centroid);
    int *rank = mpi_test_alloc(SPLIT * each, sizeof *rank);
    eqp_map *map = NULL;

    for (int s = 0; s < SPLIT; s++) {
        nunits_of[s] = each;
    }
    for (int64_t u = 0; u < SPLIT * each; u++) {
        rank[u] = (int)(u % sim->domain.nranks);
        for (int k = 0; k < 3; k++) {
            const double at = eqp_random_uniform(3, (uint64_t)u, (uint64_t)k);
            centroid[3 * u + k] = 0.2 * (at - 0.5) * sim->domain.box.side;
        }
    }
    CHECK_EQUAL(eqp_map_create(SPLIT, nunits_of, centroid, rank, &map), EQP_OK);
    for (int64_t i = 0; i < p->n; i++) {
        p->tag[i] = -1 - p->index[i] % SPLIT;
    }
    free(rank);
    free(centroid);
    return map;
}

static void shares_of_groups_are_computed_for_their_rank(MPI_Comm comm)
{
    static const char *const kinds[][6] = {{"clusters:n=600", "--balance", "none", "--group-size", "8", NULL},
                                           {"clusters:n=600", "--balance", "none", "--cutoff=0.2", NULL}};

    for (int kind = 0; kind < 2; kind++) {
        bh_settings settings;
        bh_simulation sim;
        parse(&settings, kinds[kind]);
        create(comm, &settings, &sim);
        eqp_map *map = share_everything(&sim);
        check_methods(&sim, map);
        eqp_map_free(map);
        bh_simulation_free(&sim);
    }
}

/* One rank has the tasks of all ranks' particles. */
static void tasks_of_one_rank_are_handed_out(MPI_Comm comm)
{
    static const char *const option[] = {"clusters:n=4000", "--balance", "none", "--group-size", "8", NULL};
    const int nranks = mpi_test_size(comm);
    bh_settings settings;
    bh_simulation sim;

    parse(&settings, option);
    create(comm, &settings, &sim);
    for (int loaded = 0; loaded<nranks; loaded += nranks> 1 ? nranks - 1 : 1) {
        int64_t helped = 0;
        for (int64_t i = 0; i < sim.domain.particles.n; i++) {
            sim.domain.particles.tag[i] = loaded;
        }
        /* Ranks that get no processor meanwhile cannot help: several tries. */
        for (int tries = 0; helped == 0 && tries < (nranks > 1 ? 20 : 1); tries++) {
            helped = check_methods(&sim, eqp_balancer_map(sim.balancer));
        }
        CHECK((helped > 0) == (nranks > 1));
    }
    bh_simulation_free(&sim);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(forces_are_the_same_whoever_computes_them),
        MPI_TEST(shares_of_groups_are_computed_for_their_rank),
        MPI_TEST(tasks_of_one_rank_are_handed_out),
    };

    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
