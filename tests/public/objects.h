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

#ifdef EQUIPOISE_SURVEY_H
static inline eqp_timings *make_eqp_timings(void)
{
    eqp_timings *timings = NULL;

    made(eqp_timings_create(2, &timings), "timings");
    return timings;
}
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
static inline eqp_map *make_eqp_map(void)
{
    const int64_t nunits[1] = {2};
    const double centroid[6] = {0, 0, 0, 1, 1, 1};
    const int rank[2] = {0, 0};
    eqp_map *map = NULL;

    made(eqp_map_create(1, nunits, centroid, rank, &map), "map");
    return map;
}
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

static inline eqp_units *make_eqp_units(void)
{
    const eqp_units_options options = eqp_units_options_defaults();
    const int64_t id[2] = {3, 4};
    eqp_units *units = NULL;

    made(eqp_units_create_serial(2, id, two_interactions, NULL, &options, &units), "units");
    return units;
}

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
static inline eqp_kdtree *make_eqp_kdtree(void)
{
    const double points[4] = {0.0, 0.0, 1.0, 1.0};
    eqp_kdtree *tree = NULL;

    made(eqp_kdtree_create(2, 2, points, NULL, &tree), "kdtree");
    return tree;
}

#endif

#ifdef EQUIPOISE_MORE_METHODS_H
static inline eqp_boxes *make_eqp_boxes(void)
{
    const double low[3] = {0, 0, 0}, high[3] = {1, 1, 1};
    const int n[3] = {2, 1, 1};
    eqp_boxes *boxes = NULL;

    made(eqp_boxes_create(EQP_BOXES_BISECTION, low, high, n, &boxes), "boxes");
    return boxes;
}
#endif

#ifdef EQUIPOISE_MORE_WHATIF_H
static inline eqp_needs *make_eqp_needs(void)
{
    eqp_needs *needs = NULL;

    made(eqp_needs_create(2, &needs), "needs");
    return needs;
}

static inline eqp_evaluation *make_eqp_evaluation(void)
{
    const int out[2] = {0, 0};
    eqp_evaluation *evaluation = NULL;

    made(eqp_evaluation_create(2, 2, out, out, &evaluation), "evaluation");
    return evaluation;
}
#endif

#ifdef EQUIPOISE_MORE_MODELS_H
static inline eqp_functional_samples *make_eqp_functional_samples(void)
{
    const double x[2] = {0, 1}, t[2] = {0, 1};
    eqp_functional_samples *samples = NULL;

    made(eqp_functional_samples_create(2, x, t, NULL, &samples), "functional samples");
    return samples;
}

#endif
#ifdef EQUIPOISE_MORE_COMM_H
static inline eqp_move_plan *make_eqp_move_plan(void)
{
#ifdef MPI_VERSION
    enum { RANKS = 1 };
#else
    enum { RANKS = 2 };
#endif
    const int dest[2] = {RANKS - 1, 0};
    eqp_move_plan *plan = NULL;

    made(eqp_move_plan_create(2, dest, RANKS, &plan), "move plan");
    return plan;
}

#endif

#ifdef EQUIPOISE_MORE_IO_H
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
static inline eqp_output *make_eqp_output(void)
{
    eqp_output *output = NULL;

    made(eqp_output_create("written", &output, NULL), "output");
    return output;
}

static inline eqp_lock *make_eqp_lock(void)
{
    eqp_lock *lock = NULL;

    made(eqp_lock_take("lock", "calls", &lock, NULL), "lock");
    return lock;
}
#endif

#ifdef EQUIPOISE_MORE_REPORT_H
static inline eqp_report *make_eqp_report(void)
{
    eqp_report *report = NULL;

    made(eqp_report_create("calls", ".", &report, NULL), "report");
    return report;
}

static inline eqp_csv *make_eqp_csv(void)
{
    static const char *const column[] = {"x"};
    eqp_csv *csv = NULL;

    made(eqp_csv_create("loads.csv", 1, column, &csv, NULL), "csv");
    return csv;
}

static inline eqp_table *make_eqp_table(void)
{
    const char *const header[2] = {"a", "b"};
    eqp_table *table = NULL;

    made(eqp_table_create(2, header, &table), "table");
    return table;
}
#endif

#ifdef EQUIPOISE_MORE_LOOPS_H
static inline eqp_schedule *make_eqp_schedule(void)
{
    eqp_schedule *schedule = NULL;

    made(eqp_schedule_create(eqp_schedule_method_at(0), 16, 2, NULL, &schedule), "schedule");
    return schedule;
}
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

static inline eqp_table_writer *make_eqp_table_writer(void)
{
    const eqp_column column = {"a", EQP_KIND_DOUBLE, 1};
    eqp_table_writer *writer = NULL;

    made(eqp_table_write_begin("table.hdf5", 2, 1, &column, &writer, NULL), "table file");
    return writer;
}
#endif

#ifdef EQUIPOISE_MORE_MODELS_H
static inline eqp_speeds *make_eqp_speeds(void)
{
    eqp_speeds *speeds = NULL;

    made(eqp_speeds_create((eqp_speeds_kind)0, 2, 10.0, &speeds), "speeds");
    return speeds;
}

static inline eqp_speeds_functions *make_eqp_speeds_functions(void)
{
    static const char text[] = "0 1 1\n0 2 2\n1 1 1\n";
    eqp_speeds_functions *functions = NULL;

    made(eqp_speeds_functions_parse(text, (int64_t)strlen(text), "text", &functions, NULL), "speed functions");
    return functions;
}
#endif

#ifdef EQUIPOISE_MORE_IO_H
static inline eqp_vtk_writer *make_eqp_vtk_writer(void)
{
    eqp_vtk_writer *writer = NULL;

    made(eqp_vtk_begin("written.vtp", 0.0, &writer, NULL), "vtk");
    return writer;
}
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

static inline eqp_route *make_eqp_route(void)
{
    const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
    const eqp_route_blocks none = {0};
    eqp_route *route = NULL;

    made(eqp_route_create(world_comm, &plan, &none, &route), "route");
    return route;
}

static inline eqp_messenger *make_eqp_messenger(void)
{
    eqp_messenger *messenger = NULL;

    made(eqp_messenger_create(world_comm, &messenger), "messenger");
    return messenger;
}

static inline eqp_gatherer *make_eqp_gatherer(void)
{
    eqp_gatherer *gatherer = NULL;

    made(eqp_gatherer_create(world_comm, 8, &gatherer), "gatherer");
    return gatherer;
}

static inline eqp_point_order *make_eqp_point_order(void)
{
    const double x[6] = {0, 0, 0, 1, 1, 1};
    const eqp_points points = {.n = 2, .x = x};
    eqp_point_order *order = NULL;

    made(eqp_point_order_create(world_comm, &points, &order), "order of points");
    return order;
}

static inline eqp_regions *make_eqp_regions(void)
{
    const double x[6] = {0, 0, 0, 1, 1, 1};
    const eqp_points points = {.n = 2, .x = x};
    const int part[2] = {0, 1};
    eqp_regions *regions = NULL;

    made(eqp_regions_create(world_comm, &points, part, 2, &regions, NULL), "regions");
    return regions;
}

static inline eqp_directory *make_eqp_directory(void)
{
    const int64_t id[2] = {3, -5};
    eqp_directory *directory = NULL;

    made(eqp_directory_create(world_comm, 2, id, &directory), "directory");
    return directory;
}

static inline eqp_loop *make_eqp_loop(void)
{
    eqp_loop *loop = NULL;

    made(eqp_loop_create(world_comm, eqp_schedule_method_at(0), 16, NULL, NULL, &loop), "loop");
    return loop;
}

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
