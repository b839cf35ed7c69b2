/* SPDX-License-Identifier: BSD-3-Clause */
/* One small object of every opaque type, for calls.h. A type without a make_ function here does not compile. */
#ifndef EQUIPOISE_TEST_OBJECTS_H
#define EQUIPOISE_TEST_OBJECTS_H

#include "calls.h"

/* The child exits if an object cannot be made, since calls without it would be meaningless. */
static inline void made(int code, const char *what)
{
    if (code) {
        fprintf(stderr, "objects: %s: %s\n", what, eqp_error_text(code));
        _exit(3);
    }
}

#define MAKER(type, create)                                                                                            \
    static inline type *make_##type(void)                                                                              \
    {                                                                                                                  \
        type *object = NULL;                                                                                           \
        made(create, #type);                                                                                           \
        return object;                                                                                                 \
    }

#ifdef EQUIPOISE_SURVEY_H
MAKER(eqp_timings, eqp_timings_create(2, &object))
#endif

#ifdef EQUIPOISE_MORE_LAZY_H
static inline int make_nothing(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                               eqp_lazy_parcel *answer)
{
    return user || balancers == MPI_COMM_NULL || nranks < 1 || n < 0 || !offer || !answer ? EQP_ERR_DATA : EQP_OK;
}

static inline eqp_lazy *make_eqp_lazy(void)
{
    eqp_lazy_options options = eqp_lazy_options_defaults();
    eqp_lazy *lazy = NULL;
    MPI_Comm mine;

    options.mode = EQP_LAZY_BY_RANKS;
    options.delay = 1;
    made(eqp_lazy_split(MPI_COMM_SELF, &options, &mine, &lazy, NULL), "lazy");
    made(eqp_lazy_host(lazy, make_nothing, NULL), "lazy host");
    return lazy;
}
#endif

#ifdef EQUIPOISE_PROBLEM_H
MAKER(eqp_map,
      eqp_map_create(1, (const int64_t[]){2}, (const double[]){0, 0, 0, 1, 1, 1}, (const int[]){0, 0}, &object))
#endif

#ifdef EQUIPOISE_UNITS_H
static eqp_sink *the_sink;

static inline eqp_sink *make_eqp_sink(void)
{
    return the_sink;
}

static inline int two_interactions(void *user, int64_t owner, eqp_sink *to)
{
    const double centroid[6] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    const int64_t pin[2] = {5, 6};
    const eqp_batch batch = {2, centroid, NULL, 1, pin};

    (void)user;
    (void)owner;
    return eqp_sink_add(to, &batch);
}

MAKER(eqp_units, eqp_units_create_serial(2, (const int64_t[]){3, 4}, two_interactions, NULL,
                                         (const eqp_units_options[]){eqp_units_options_defaults()}, &object))

static void (*run_in_sink)(void);

static inline int in_sink(void *user, int64_t owner, eqp_sink *to)
{
    (void)user;
    (void)owner;
    the_sink = to;
    run_in_sink();
    return EQP_OK;
}
#endif

#ifdef EQUIPOISE_MORE_KDTREE_H
MAKER(eqp_kdtree, eqp_kdtree_create(2, 2, (const double[]){0, 0, 1, 1}, NULL, &object))
#endif

#ifdef EQUIPOISE_MORE_METHODS_H
MAKER(eqp_boxes, eqp_boxes_create(EQP_BOXES_BISECTION, (const double[]){0, 0, 0}, (const double[]){1, 1, 1},
                                  (const int[]){2, 1, 1}, &object))
#endif

#ifdef EQUIPOISE_MORE_WHATIF_H
MAKER(eqp_evaluation, eqp_evaluation_create(2, 2, (const int[]){0, 0}, (const int[]){0, 0}, &object))
#endif

#ifdef EQUIPOISE_MORE_MODELS_H
MAKER(eqp_functional_samples,
      eqp_functional_samples_create(2, (const double[]){0, 1}, (const double[]){0, 1}, NULL, &object))
MAKER(eqp_speeds, eqp_speeds_create((eqp_speeds_kind)0, 2, 10.0, &object))
MAKER(eqp_speeds_functions, eqp_speeds_functions_parse("0 1 1\n0 2 2\n1 1 1\n", 18, "text", &object, NULL))
#endif
#ifdef EQUIPOISE_MORE_COMM_H
#ifdef MPI_VERSION
enum { PLAN_RANKS = 1 };
#else
enum { PLAN_RANKS = 2 };
#endif
MAKER(eqp_move_plan, eqp_move_plan_create(2, (const int[]){PLAN_RANKS - 1, 0}, PLAN_RANKS, &object))
#endif

#ifdef EQUIPOISE_MORE_IO_H
MAKER(eqp_vtk_writer, eqp_vtk_begin("written.vtp", 0.0, &object, NULL))

static inline eqp_paradis_writer *begin_network(const char *path)
{
    eqp_paradis_header header = {0};
    eqp_paradis_writer *writer = NULL;

    for (int d = 0; d < 3; d++) {
        header.max[d] = 1.0;
    }
    header.nnodes = 2;
    made(eqp_paradis_write_begin(path, &header, 0, NULL, &writer, NULL), path);
    return writer;
}

static inline eqp_paradis_writer *make_eqp_paradis_writer(void)
{
    return begin_network("written.data");
}

static inline eqp_paradis_reader *make_eqp_paradis_reader(void)
{
    eqp_paradis_reader *reader = NULL;

    if (access("read.data", R_OK)) {
        const eqp_paradis_arm arm[2] = {{1, {1, 0, 0}, {0, 0, 0}}, {0, {-1, 0, 0}, {0, 0, 0}}};
        const eqp_paradis_node node[2] = {{0, {0, 0, 0}, EQP_PARADIS_PINNED, 1, 0, {0, 0, 0}},
                                          {1, {0.5, 0, 0}, EQP_PARADIS_PINNED, 1, 1, {0, 0, 0}}};
        eqp_paradis_writer *writer = begin_network("read.data");
        made(eqp_paradis_write_nodes(writer, 2, node, arm, NULL), "nodes");
        made(eqp_paradis_write_finish(writer, NULL), "network");
    }
    made(eqp_paradis_open("read.data", &reader, NULL), "read.data");
    return reader;
}
#endif

#ifdef EQUIPOISE_MORE_BASE_H
MAKER(eqp_output, eqp_output_create("written", &object, NULL))
MAKER(eqp_lock, eqp_lock_take("lock", "calls", &object, NULL))
#endif

#ifdef EQUIPOISE_MORE_LOOPS_H
MAKER(eqp_schedule, eqp_schedule_create(eqp_schedule_method_at(0), 16, 2, NULL, &object))
#endif

#ifdef EQUIPOISE_SNAPSHOT_H
static inline eqp_snapshot *make_eqp_snapshot(void)
{
    eqp_snapshot *snapshot = NULL;

    if (access("read.txt", R_OK)) {
        FILE *file = fopen("read.txt", "w");
        if (!file || fputs("0 0 0 0 0 0 1\n1 1 1 0 0 0 1\n", file) < 0 || fclose(file)) {
            made(EQP_ERR_IO, "read.txt");
        }
    }
    made(eqp_snapshot_open("read.txt", &snapshot, NULL), "read.txt");
    return snapshot;
}

static inline eqp_snapshot_writer *make_eqp_snapshot_writer(void)
{
    eqp_snapshot_layout layout = eqp_snapshot_layout_defaults();
    eqp_snapshot_writer *writer = NULL;

    layout.type_n[0] = 2;
    made(eqp_snapshot_write_begin("written.hdf5", &layout, &writer, NULL), "snapshot");
    return writer;
}

MAKER(eqp_table_writer,
      eqp_table_write_begin("table.hdf5", 2, 1, &(const eqp_column){"a", EQP_KIND_DOUBLE, 1}, &object, NULL))
#endif

#ifdef MPI_VERSION
static MPI_Comm world_comm = MPI_COMM_NULL;

static MPI_Comm plain_comm(void)
{
    return world_comm;
}

static MPI_Comm plain_own_comm(void)
{
    MPI_Comm own = MPI_COMM_NULL;

    made(eqp_comm_create(MPI_COMM_SELF, &own), "communicator");
    return own;
}

MAKER(eqp_route, eqp_route_create(world_comm, &(const eqp_exchange_plan)EQP_EXCHANGE_PLAN_DEFAULTS,
                                  &(const eqp_route_blocks){0}, &object))
MAKER(eqp_messenger, eqp_messenger_create(world_comm, &object))
MAKER(eqp_gatherer, eqp_gatherer_create(world_comm, 8, &object))
MAKER(eqp_node, eqp_node_create(world_comm, 0, &object))

static const double two_places[6] = {0, 0, 0, 1, 1, 1};
static const eqp_points two_points = {.n = 2, .x = two_places};

MAKER(eqp_regions, eqp_regions_create(world_comm, &two_points, (const int[]){0, 1}, 2, &object, NULL))
MAKER(eqp_directory, eqp_directory_create(world_comm, 2, (const int64_t[]){3, -5}, &object))
MAKER(eqp_loop, eqp_loop_create(world_comm, eqp_schedule_method_at(0), 16, NULL, NULL, &object))

static eqp_survey *the_survey;
static void (*run_in_survey)(void);

static inline eqp_survey *make_eqp_survey(void)
{
    return the_survey;
}

/* One owner; the first invocation makes the calls that need a survey. */
static inline int in_survey(void *user, eqp_survey_kind kind, eqp_survey *survey)
{
    const eqp_owner owner = {.key = 1, .count = {1}, .interactions = 1};

    (void)user;
    (void)kind;
    if (run_in_survey != NULL && the_survey == NULL) {
        the_survey = survey;
        run_in_survey();
    }
    return eqp_survey_add_owner(survey, &owner);
}

static inline eqp_balancer *make_eqp_balancer(void)
{
    const eqp_problem problem = {.survey = in_survey};
    eqp_balancer_options options;
    eqp_balancer *balancer = NULL;

    made(eqp_balancer_options_init(&options, sizeof options), "options");
    options.method = (eqp_choice){.word = "sfc", .method = eqp_method_find("sfc")};
    made(eqp_balancer_create(world_comm, &problem, &options, &balancer, NULL), "balancer");
    return balancer;
}

static inline void with_world(void (*run)(void))
{
    eqp_balancer *balancer;
    eqp_advice advice;

    MPI_Init(NULL, NULL);
    world_comm = plain_own_comm();
    balancer = make_eqp_balancer();
    run_in_survey = run;
    (void)eqp_balancer_begin(balancer, &advice, NULL); /* after these calls the survey gives no valid map */
    eqp_balancer_free(balancer);
    /* Launchers treat a process that does not finalize MPI as failed. */
    MPI_Finalize();
}
#else
static inline void with_world(void (*run)(void))
{
    const int64_t id = 1;
    const eqp_units_options options = eqp_units_options_defaults();
    int64_t count;
    double weight;

    run_in_sink = run;
    eqp_owners_weigh(1, &id, NULL, in_sink, NULL, &options, &count, &weight);
}
#endif
#endif
