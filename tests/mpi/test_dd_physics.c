/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dislocation run must show to be believed: sources that bow out and multiply, loops that collapse, junctions
 * that form, strain that is the area swept, stress that rises elastically. The network is whole after every step. */
#include "simulation.h"

#include <equipoise/par.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
#define MU 50e9
#define NU 0.3
#define RC 5.0
#define CORE 0.1 /* b: the core energy is that of a cylinder from here to the core radius */

static int failures;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
        }                                                                                                              \
    } while (0)

/* --- networks made by hand --- */

#define MOST_NODES 64

/* Lines of nodes one after the other; a closed one comes back to its first node, the ends of others are pinned. */
typedef struct scene {
    double box;
    int n;
    double x[MOST_NODES][3];
    int next[MOST_NODES], previous[MOST_NODES]; /* -1: none */
    double burgers[MOST_NODES][3];              /* for the sense of the line */
    double normal[MOST_NODES][3];
} scene;

static void scene_add(scene *s, bool first, const double x[3], const double burgers[3], const double normal[3])
{
    const int i = s->n++;

    memcpy(s->x[i], x, sizeof s->x[i]);
    memcpy(s->burgers[i], burgers, sizeof s->burgers[i]);
    memcpy(s->normal[i], normal, sizeof s->normal[i]);
    s->next[i] = -1;
    s->previous[i] = first ? -1 : i - 1;
    if (!first) {
        s->next[i - 1] = i;
    }
}

static void scene_line(scene *s, const double from[3], const double to[3], int pieces, const double burgers[3],
                       const double normal[3])
{
    for (int k = 0; k <= pieces; k++) {
        double x[3];
        for (int d = 0; d < 3; d++) {
            x[d] = from[d] + (to[d] - from[d]) * k / pieces;
        }
        scene_add(s, k == 0, x, burgers, normal);
    }
}

/* In the plane z = 0 about the origin, clockwise: with b along x a positive stress zx makes it grow. */
static void scene_loop(scene *s, double radius, int sides, const double burgers[3])
{
    static const double up[3] = {0, 0, 1};
    const int first = s->n;

    for (int k = 0; k < sides; k++) {
        const double x[3] = {radius * cos(2 * PI * k / sides), -radius * sin(2 * PI * k / sides), 0};
        scene_add(s, k == 0, x, burgers, up);
    }
    s->next[s->n - 1] = first;
    s->previous[first] = s->n - 1;
}

static void print_arm(FILE *file, const scene *s, int node, int to, double sense)
{
    const int of = sense > 0 ? node : to; /* the segment belongs to its first node */

    fprintf(file, " 0,%d %.15g %.15g %.15g\n  %.15g %.15g %.15g\n", to, sense * s->burgers[of][0],
            sense * s->burgers[of][1], sense * s->burgers[of][2], s->normal[of][0], s->normal[of][1], s->normal[of][2]);
}

static void scene_write(const scene *s, const char *path)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL, "%s cannot be written", path);
    if (file == NULL) {
        return;
    }
    fprintf(file, "dataFileVersion = 4\nnumFileSegments = 1\n");
    fprintf(file, "minCoordinates = [ %g %g %g ]\n", -s->box / 2, -s->box / 2, -s->box / 2);
    fprintf(file, "maxCoordinates = [ %g %g %g ]\n", s->box / 2, s->box / 2, s->box / 2);
    fprintf(file, "nodeCount = %d\ndataDecompType = 1\ndataDecompGeometry = [ 1 1 1 ]\n", s->n);
    fprintf(file, "domainDecomposition =\n %g\n %g\n %g\n %g\n %g\n %g\nnodalData =\n", -s->box / 2, -s->box / 2,
            -s->box / 2, s->box / 2, s->box / 2, s->box / 2);
    for (int i = 0; i < s->n; i++) {
        const bool inner = s->next[i] >= 0 && s->previous[i] >= 0;
        fprintf(file, "0,%d %.15g %.15g %.15g %d %d\n", i, s->x[i][0], s->x[i][1], s->x[i][2], inner ? 2 : 1,
                inner ? 0 : 7);
        if (s->previous[i] >= 0) {
            print_arm(file, s, i, s->previous[i], -1);
        }
        if (s->next[i] >= 0) {
            print_arm(file, s, i, s->next[i], 1);
        }
    }
    CHECK(fclose(file) == 0, "%s cannot be written", path);
}

/* --- runs --- */

typedef struct experiment {
    MPI_Comm comm;
    char path[256], words[1024];
    dd_settings settings;
    dd_simulation sim;
    eqp_message message;
    bool runs;
} experiment;

/* Starts a run of a data file with these options. */
static void begin(experiment *e, MPI_Comm comm, const char *path, const char *options)
{
    char *argv[48] = {"test"};
    app_action action;
    int argc = 1, code;

    e->comm = comm;
    e->message.text[0] = '\0';
    snprintf(e->words, sizeof e->words, "%s --balance=sfc %s", path, options);
    for (char *word = strtok(e->words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    code = app_options_parse(dd_settings_table(), argc, argv, &e->settings, e->settings.given, &action, &e->message);
    if (code == EQP_OK) {
        code = dd_settings_complete(&e->settings, &e->message);
    }
    if (code == EQP_OK) {
        code = dd_simulation_create(comm, &e->settings, &e->sim, &e->message);
    }
    CHECK(code == EQP_OK, "%s %s: %s", path, options, e->message.text);
    e->runs = code == EQP_OK;
}

/* The same of a scene, for which it writes a file that goes as soon as it was read. */
static void begin_scene(experiment *e, MPI_Comm comm, const scene *s, const char *options)
{
    const char *folder = getenv("TMPDIR");
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        int fd;
        snprintf(e->path, sizeof e->path, "%s/ddXXXXXX", folder != NULL ? folder : "/tmp");
        fd = mkstemp(e->path);
        CHECK(fd >= 0, "no temporary file");
        if (fd >= 0) {
            FILE *file = fdopen(fd, "w");
            if (file != NULL) {
                fclose(file);
            }
        }
        scene_write(s, e->path);
    }
    MPI_Bcast(e->path, (int)sizeof e->path, MPI_CHAR, 0, comm);
    begin(e, comm, e->path, options);
    MPI_Barrier(comm);
    if (rank == 0) {
        remove(e->path);
    }
}

static void end(experiment *e)
{
    if (e->runs) {
        dd_simulation_free(&e->sim);
    }
    e->runs = false;
}

/* A step, and the network after it. */
static bool step(experiment *e)
{
    int code;

    if (!e->runs) {
        return false;
    }
    code = dd_simulation_step(&e->sim, &e->message);
    CHECK(code == EQP_OK, "step %lld: %s", (long long)e->sim.now.common.step, e->message.text);
    if (code == EQP_OK) {
        code = dd_topology_check(&e->sim.domain, &e->message);
        CHECK(code == EQP_OK, "after step %lld: %s", (long long)e->sim.now.common.step, e->message.text);
    }
    if (code != EQP_OK) {
        end(e);
    }
    return code == EQP_OK;
}

static int64_t topology_changes(const dd_simulation *sim)
{
    int64_t n = 0;

    for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
        n += sim->now.topology.done[k];
    }
    return n;
}

/* --- the whole network on every rank --- */

typedef struct segment {
    dd_tag from, to;
    int constraint; /* of from */
    double x[3], way[3], burgers[3], normal[3];
} segment;

/* Each segment from both its ends. */
static segment *all_segments(const dd_simulation *sim, int64_t *n)
{
    const dd_network *network = &sim->domain.network;
    int64_t mine = 0, k = 0;
    segment *own, *all = NULL;

    for (int64_t i = 0; i < network->n; i++) {
        mine += network->node[i].narms;
    }
    own = calloc((size_t)mine + 1, sizeof *own);
    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        for (int a = 0; a < node->narms; a++, k++) {
            own[k] = (segment){.from = node->tag, .to = node->arm[a].tag, .constraint = node->constraint};
            memcpy(own[k].x, node->x, sizeof own[k].x);
            memcpy(own[k].burgers, node->arm[a].burgers, sizeof own[k].burgers);
            memcpy(own[k].normal, node->arm[a].normal, sizeof own[k].normal);
        }
    }
    CHECK(eqp_gather_records(sim->comm, sizeof *own, mine, own, n, &all) == EQP_OK, "gather");
    free(own);
    for (int64_t i = 0; i < *n; i++) {
        for (int64_t j = 0; j < *n; j++) {
            if (all[j].from == all[i].to) {
                dd_domain_offset(&sim->domain, all[j].x, all[i].x, all[i].way);
                break;
            }
        }
    }
    return all;
}

/* Lines that hang together, of which none is pinned: nodes of the largest such, 0: none. */
static int64_t free_loop(const segment *all, int64_t n)
{
    dd_tag *least = calloc((size_t)n + 1, sizeof *least);
    int64_t most = 0;
    bool changed = true;

    for (int64_t i = 0; i < n; i++) {
        least[i] = all[i].from;
    }
    while (changed) {
        changed = false;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                if ((all[j].from == all[i].from || all[j].from == all[i].to) && least[j] < least[i]) {
                    least[i] = least[j];
                    changed = true;
                }
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t size = 0;
        for (int64_t j = 0; j < n; j++) {
            if (least[j] == least[i]) {
                size = all[j].constraint != DD_FREE ? -2 * n : size + 1;
            }
        }
        most = size / 2 > most ? size / 2 : most;
    }
    free(least);
    return most;
}

/* Largest |x[2]|, and the largest part of a Burgers vector out of its plane. */
static void out_of_plane(const segment *all, int64_t n, double *height, double *burgers)
{
    *height = *burgers = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *b = all[i].burgers, *p = all[i].normal;
        *height = fmax(*height, fabs(all[i].x[2]));
        *burgers = fmax(*burgers, fabs(b[0] * p[0] + b[1] * p[1] + b[2] * p[2]));
    }
}

/* --- Frank-Read sources: b = x, glide plane z = 0, line across b (edge) or along it (screw) --- */

/* Length of a line between pinned ends. */
static double length_of(const dd_simulation *sim)
{
    double sum = 0;

    for (int64_t own = 0; own < sim->stage.nown; own++) {
        const dd_segment s = dd_stage_segment(&sim->stage, sim->stage.own_local[own]);
        sum += sqrt(pow(s.x2[0] - s.x1[0], 2) + pow(s.x2[1] - s.x1[1], 2) + pow(s.x2[2] - s.x1[2], 2));
    }
    eqp_sum_double(sim->comm, 1, &sum);
    return sum;
}

static void source_scene(scene *s, double length, bool screw)
{
    static const double burgers[3] = {1, 0, 0}, up[3] = {0, 0, 1};
    const double from[3] = {screw ? -length / 2 : 0, screw ? 0 : -length / 2, 0};
    const double to[3] = {-from[0], -from[1], 0};

    *s = (scene){.box = 20 * length};
    scene_line(s, from, to, 12, burgers, up);
}

static void source_options(double length, double tau, char *words, size_t room)
{
    snprintf(words, room,
             "--steps=100000 --cells=3 --mobility=FCC_0 --mu=%g --nu=%g --rc=%g --max-seg=%g --min-seg=%g --r-tol=%g "
             "--rann=%g --dt=1e-9 --stress=0,0,0,0,%.15g,0",
             MU, NU, RC, length / 8, length / 25, length / 2000, length / 1000, tau);
}

typedef struct fate {
    bool multiplies, rests;
    double bow; /* length over distance of the ends, at the end */
    int64_t steps;
} fate;

/* Until the line rests or is longer than three times the way between its ends, which no arc that rests can be. */
static fate source_run(double length, bool screw, double tau)
{
    experiment e;
    scene s;
    char words[512];
    fate f = {.bow = 1};
    double first = 0;

    source_scene(&s, length, screw);
    source_options(length, tau, words, sizeof words);
    begin_scene(&e, MPI_COMM_SELF, &s, words);
    while (e.runs && !f.multiplies && !f.rests && f.steps < 6000 && step(&e)) {
        double fastest = 0;
        f.steps++;
        f.bow = length_of(&e.sim) / length;
        f.multiplies = f.bow > 3;
        for (int64_t i = 0; i < e.sim.domain.network.n; i++) {
            fastest = fmax(fastest, dd_step_largest(1, e.sim.domain.network.node[i].v));
        }
        first = fmax(first, fastest);
        f.rests = fastest < 2e-3 * first;
    }
    if (getenv("DD_VERBOSE") != NULL) {
        fprintf(stderr, "L %g %s: tau L/(mu b) %.4g %s, bow %.3f, %lld steps\n", length, screw ? "screw" : "edge",
                tau * length / MU, f.multiplies ? "multiplies" : "rests", f.bow, (long long)f.steps);
    }
    end(&e);
    return f;
}

/* mu b / (2 pi L) ln(L / core), over 1 - nu for a source that starts as a screw: A. J. E. Foreman, Phil. Mag. 15 (1967)
 * 1011. With the core energy in use the logarithm goes on to the core's inner radius. */
static double foreman(double length, bool screw)
{
    return MU / (2 * PI * length) * log(length / CORE) / (screw ? 1 - NU : 1);
}

/* Critical stress, bracketed to two per cent. */
static double source_critical(double length, bool screw)
{
    double low = 0.4 * foreman(length, screw), high = 2.0 * foreman(length, screw), bow = 1;

    for (int k = 0; k < 7; k++) {
        const double middle = (low + high) / 2;
        const fate f = source_run(length, screw, middle);
        CHECK(f.multiplies != f.rests, "L = %g, %g Pa: neither rests nor multiplies", length, middle);
        bow = f.rests ? fmax(bow, f.bow) : bow;
        *(f.multiplies ? &high : &low) = middle;
    }
    /* An arc that rests has bowed out, though not much beyond a half circle. */
    CHECK(bow > 1.2 && bow < 2.2, "L = %g: just below the critical stress the line is %g times longer", length, bow);
    return (low + high) / 2;
}

static void check_critical_stress(void)
{
    static const struct {
        double length;
        bool screw;
    } source[] = {{1000, false}, {2000, false}, {4000, false}, {1000, true}, {4000, true}};
    enum { SOURCES = sizeof source / sizeof source[0] };
    double tau[SOURCES] = {0};
    int rank, nranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    for (int i = rank; i < SOURCES; i += nranks) {
        tau[i] = source_critical(source[i].length, source[i].screw);
    }
    eqp_sum_double(MPI_COMM_WORLD, SOURCES, tau);
    for (int i = 0; i < SOURCES && rank == 0; i++) {
        const double known = foreman(source[i].length, source[i].screw);
        CHECK(fabs(tau[i] / known - 1) < 0.2, "L = %g, %s: critical stress %g Pa, known %g", source[i].length,
              source[i].screw ? "screw" : "edge", tau[i], known);
    }
    /* The constant beside the logarithm is the same for all lengths, so that the slope is known better. */
    for (int screw = 0; screw < 2 && rank == 0; screw++) {
        const int i = screw ? 3 : 0, j = screw ? 4 : 2;
        const double slope =
            (tau[j] * source[j].length - tau[i] * source[i].length) / MU / log(source[j].length / source[i].length);
        const double known = 1 / (2 * PI * (screw ? 1 - NU : 1));
        CHECK(fabs(slope / known - 1) < 0.2, "%s: tau L / (mu b) grows by %g ln L, not by %g", screw ? "screw" : "edge",
              slope, known);
    }
}

/* Well above the critical stress the arms meet behind the source and leave a loop and a line between the pins. */
static void check_multiplication(MPI_Comm comm)
{
    const double length = 1000;
    experiment e;
    scene s;
    char words[512];
    int64_t loop = 0, touched = 0;

    source_scene(&s, length, false);
    source_options(length, 2 * foreman(length, false), words, sizeof words);
    begin_scene(&e, comm, &s, words);
    for (int k = 0; k < 1500 && loop == 0 && step(&e); k++) {
        const int64_t *done = e.sim.now.topology.done;
        if (done[DD_TOPOLOGY_COLLIDE] + done[DD_TOPOLOGY_ZIP] > 0) {
            double height, screwed;
            int64_t n;
            segment *all = all_segments(&e.sim, &n);
            touched++;
            loop = free_loop(all, n);
            out_of_plane(all, n, &height, &screwed);
            CHECK(height < 1e-6 && screwed < 1e-9, "nodes leave their plane by %g b, Burgers vectors by %g", height,
                  screwed);
            free(all);
        }
    }
    CHECK(loop > 8, "no loop after %lld steps of a source, %lld of them with contacts; its length is %g",
          (long long)(e.runs ? e.sim.now.common.step : -1), (long long)touched, e.runs ? length_of(&e.sim) : -1);
    end(&e);
}

/* --- loops: area and strain --- */

/* Area of what the one loop encloses, positive for clockwise. */
static double enclosed(const segment *all, int64_t n)
{
    double area = 0;

    for (int64_t i = 0; i < n; i++) {
        if (all[i].burgers[0] > 0) { /* each segment once, in the line's sense */
            area -= 0.5 * (all[i].x[0] * all[i].way[1] - all[i].x[1] * all[i].way[0]);
        }
    }
    return area;
}

static void loop_scene(scene *s, double radius)
{
    static const double burgers[3] = {1, 0, 0};

    *s = (scene){.box = 20 * radius};
    scene_loop(s, radius, 24, burgers);
}

/* Stress at which a circular loop neither grows nor shrinks: the derivative of its energy (W. Cai et al., J. Mech.
 * Phys. Solids 54 (2006) 561, non-singular, by radius) with the core energy's inner radius in the logarithm. */
static double loop_balance(double radius)
{
    return MU / (8 * PI * radius) * ((2 - NU) / (1 - NU) * (log(8 * radius / CORE) - 1) + 0.5);
}

/* Strain grows by b A / V, A the area that the loop has gained: exactly, where only nodes move. */
static void check_loop(MPI_Comm comm, double tau, bool grows)
{
    const double radius = 500;
    experiment e;
    scene s;
    char words[512];
    double area, start, volume, lost = 0, last = 0;
    int64_t n, moves = 0;
    segment *all;

    loop_scene(&s, radius);
    snprintf(words, sizeof words,
             "--steps=100000 --cells=3 --mobility=FCC_0 --mu=%g --nu=%g --rc=%g --max-seg=300 --min-seg=8 --r-tol=0.5 "
             "--rann=1 --dt=1e-11 --stress=0,0,0,0,%.15g,0",
             MU, NU, RC, tau);
    begin_scene(&e, comm, &s, words);
    if (!e.runs) {
        return;
    }
    all = all_segments(&e.sim, &n);
    start = area = enclosed(all, n);
    free(all);
    volume = s.box * s.box * s.box;
    for (int k = 0; k < 1500 && (grows ? area < 4 * start : n > 0) && step(&e); k++) {
        const double strain = e.sim.loading.strain[4] - last, before = area;
        last += strain;
        all = all_segments(&e.sim, &n);
        area = enclosed(all, n);
        free(all);
        /* b n + n b over 2: half of it in the component zx. */
        if (topology_changes(&e.sim) == 0) {
            CHECK(fabs(2 * strain * volume - (area - before)) <= 1e-9 * fabs(area - before) + 1e-12 * start,
                  "step %d: strain says %.12g swept, the polygon %.12g", k, 2 * strain * volume, area - before);
            moves++;
        } else {
            lost += fabs(2 * strain * volume - (area - before));
        }
    }
    CHECK(moves > 10, "only %lld steps without changes of the topology", (long long)moves);
    CHECK(grows ? area >= 4 * start : n == 0, "a loop of area %g has %g after %lld steps", start, area,
          (long long)(e.runs ? e.sim.now.common.step : -1));
    if (e.runs) {
        CHECK(fabs(2 * last * volume - (area - start)) <= 3e-3 * start,
              "the strain of the whole run is that of the area %g, the polygon swept %g", 2 * last * volume,
              area - start);
        if (getenv("DD_VERBOSE") != NULL) {
            fprintf(stderr, "loop: %lld steps, %lld moves, area %g to %g, strain %g, remesh %g\n",
                    (long long)e.sim.now.common.step, (long long)moves, start, area, 2 * last * volume, lost);
        }
    }
    end(&e);
}

/* A loop's fate turns where energy says. */
static void check_loop_balance(MPI_Comm comm)
{
    const double radius = 2000;
    double rate[2] = {0};

    for (int i = 0; i < 2; i++) {
        const double tau = (i == 0 ? 0.97 : 1.03) * loop_balance(radius);
        experiment e;
        scene s;
        char words[512];

        s = (scene){.box = 20 * radius};
        scene_loop(&s, radius, 60, (const double[3]){1, 0, 0});
        snprintf(words, sizeof words,
                 "--steps=1 --cells=3 --mobility=FCC_0 --mu=%g --nu=%g --rc=%g --max-seg=1000 --min-seg=50 "
                 "--r-tol=0.01 --dt=1e-14 --stress=0,0,0,0,%.15g,0",
                 MU, NU, RC, tau);
        begin_scene(&e, comm, &s, words);
        if (step(&e)) {
            rate[i] = e.sim.loading.strain[4];
        }
        end(&e);
    }
    CHECK(rate[0] < 0 && rate[1] > 0, "around the stress that balances a loop it strains by %g and %g", rate[0],
          rate[1]);
}

/* --- stress that rises while nothing moves --- */

static void check_elastic_loading(MPI_Comm comm)
{
    static const double burgers[3] = {1, 0, 0}, up[3] = {0, 0, 1}, from[3] = {0, -100, 0}, to[3] = {0, 100, 0};
    experiment e;
    scene s = {.box = 4000};
    char words[512];

    scene_line(&s, from, to, 1, burgers, up);
    snprintf(words, sizeof words,
             "--steps=5 --cells=3 --mu=%g --nu=%g --rc=%g --max-seg=250 --strain-rate=1e3 --dt=1e-9", MU, NU, RC);
    begin_scene(&e, comm, &s, words);
    for (int k = 0; k < 5 && step(&e); k++) {
        const double known = 2 * MU * (1 + NU) * 1e3 * e.sim.now.common.time;
        CHECK(fabs(e.sim.now.stress / known - 1) < 1e-12, "stress %g after %g s, E rate t is %g", e.sim.now.stress,
              e.sim.now.common.time, known);
        CHECK(e.sim.now.strain == 0, "pinned nodes strain by %g", e.sim.now.strain);
    }
    end(&e);
}

/* --- junctions --- */

/* Length of segments with this Burgers vector, either sense. */
static double junction_length(const segment *all, int64_t n, const double burgers[3])
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        double off[2] = {0, 0};
        for (int d = 0; d < 3; d++) {
            off[0] += fabs(all[i].burgers[d] - burgers[d]);
            off[1] += fabs(all[i].burgers[d] + burgers[d]);
        }
        if (fmin(off[0], off[1]) < 1e-6) {
            sum += 0.5 * sqrt(pow(all[i].way[0], 2) + pow(all[i].way[1], 2) + pow(all[i].way[2], 2));
        }
    }
    return sum;
}

/* Runs until there is a junction, then as many steps more, in which it may not go. */
static void expect_junction(experiment *e, const double burgers[3], double wanted, int most, int after)
{
    double length = 0, longest = 0;
    int formed = -1;

    for (int k = 0; k < most && (formed < 0 || k < formed + after) && step(e); k++) {
        int64_t n;
        segment *all = all_segments(&e->sim, &n);
        length = junction_length(all, n, burgers);
        longest = fmax(longest, length);
        free(all);
        if (formed < 0 && length > wanted) {
            formed = k;
        }
    }
    if (getenv("DD_VERBOSE") != NULL) {
        fprintf(stderr, "junction: formed at step %d, longest %g, length %g, time %g\n", formed, longest, length,
                e->runs ? e->sim.now.common.time : -1);
    }
    CHECK(formed >= 0, "no junction of %g b, but %g", wanted, longest);
    CHECK(formed < 0 || length > 0.8 * wanted, "the junction has shrunk from %g to %g", longest, length);
    end(e);
}

/* Two attractive lines at a small angle with the line in which their planes meet: a Lomer lock. */
static void check_lomer(MPI_Comm comm)
{
    const double r2 = sqrt(0.5), r3 = 1 / sqrt(3), angle = 20 * PI / 180;
    const double b1[3] = {0, r2, -r2}, b2[3] = {r2, 0, r2}, sum[3] = {r2, r2, 0};
    const double n1[3] = {r3, r3, r3}, n2[3] = {r3, r3, -r3}, along[3] = {r2, -r2, 0};
    double across[2][3], end_of[2][2][3];
    experiment e;
    scene s = {.box = 20000};
    char words[512];

    for (int l = 0; l < 2; l++) {
        const double *p = l == 0 ? n1 : n2;
        for (int d = 0; d < 3; d++) {
            across[l][d] = p[(d + 1) % 3] * along[(d + 2) % 3] - p[(d + 2) % 3] * along[(d + 1) % 3];
        }
        for (int d = 0; d < 3; d++) {
            end_of[l][1][d] = 1500 * (cos(angle) * along[d] + (l == 0 ? 1 : -1) * sin(angle) * across[l][d]);
            end_of[l][0][d] = -end_of[l][1][d];
        }
    }
    scene_line(&s, end_of[0][0], end_of[0][1], 15, b1, n1);
    scene_line(&s, end_of[1][0], end_of[1][1], 15, b2, n2);
    snprintf(words, sizeof words,
             "--steps=100000 --cells=3 --mobility=FCC_0 --mu=%g --nu=%g --rc=%g --max-seg=300 --min-seg=60 --r-tol=1 "
             "--rann=5 --dt=1e-11",
             MU, NU, RC);
    begin_scene(&e, comm, &s, words);
    expect_junction(&e, sum, 500, 1500, 100);
}

/* The example that comes with ParaDiS, where it is at hand: DD_DATA names the folder. */
static void check_binary_junction(MPI_Comm comm)
{
    static const double sum[3] = {0, 0, 2};
    const char *folder = getenv("DD_DATA");
    char path[400], words[512];
    experiment e;
    FILE *file;
    int rank;

    MPI_Comm_rank(comm, &rank);
    snprintf(path, sizeof path, "%s/form_binaryjunc.data", folder != NULL ? folder : ".");
    file = fopen(path, "r");
    if (file == NULL) {
        if (rank == 0) {
            printf("no form_binaryjunc.data: skipped\n");
        }
        return;
    }
    fclose(file);
    snprintf(words, sizeof words, "--ctrl=%s/form_binaryjunc.ctrl --steps=100000", folder);
    begin(&e, comm, path, words);
    expect_junction(&e, sum, 500, 1500, 100);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_critical_stress();
    check_elastic_loading(MPI_COMM_WORLD);
    check_loop_balance(MPI_COMM_WORLD);
    check_loop(MPI_COMM_WORLD, 0, false);
    check_loop(MPI_COMM_WORLD, 1.5 * loop_balance(500), true);
    check_lomer(MPI_COMM_WORLD);
    check_binary_junction(MPI_COMM_WORLD);
    check_multiplication(MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
