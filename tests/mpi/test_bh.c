/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of the gravity app, step by step. Difficult particle sets: with every method the forces are those of direct
 * summation before and after three steps, the interactions are those of one rank, and every number is finite. A signal
 * within a step: the resumed run is bitwise equal to one that was never stopped. */
#include "failures.h"
#include "fake_clock.h"
#include "meet.h"
#include "slow.h"

#include "files/output.h"
#include "signals.h"
#include "simulation.h"

#include <equipoise/more/random.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOFTENING 0.01
enum { STEPS = 3, X = 0, AX = 3, POT = 6, MASS = 7, FIELDS = 8 };

static bool start(MPI_Comm comm, const char *words, const char *path, bh_settings *settings, bh_simulation *sim)
{
    static char all[256];
    char *argv[32] = {"test"};
    eqp_message message = {""};
    app_action action;
    int argc = 1;

    snprintf(all, sizeof all, "%s", words);
    for (char *word = strtok(all, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (path != NULL) {
        argv[argc++] = (char *)path;
    }
    int code = app_options_parse(bh_settings_table(), argc, argv, settings, &action, &message);
    code = code == EQP_OK ? bh_settings_complete(settings, &message) : code;
    code = code == EQP_OK ? bh_simulation_create(comm, settings, sim, &message) : code;
    CHECK(code == EQP_OK, "%s: %s", words, message.text);
    return code == EQP_OK;
}

static bool step(bh_simulation *sim, const char *what)
{
    eqp_message message = {""};
    const int code = bh_simulation_step(sim, &message);

    CHECK(code == EQP_OK, "%s: %s", what, message.text);
    return code == EQP_OK;
}

/* Positions, accelerations, potential and masses of all particles in file order, on every rank. */
static double *fields_of(const bh_simulation *sim)
{
    const bh_particles *p = &sim->domain.particles;
    const double *const local[FIELDS] = {p->x, p->y, p->z, p->ax, p->ay, p->az, p->pot, p->m};
    const int64_t n = sim->input.total;
    double *all = calloc((size_t)(FIELDS * n) + 1, sizeof *all);

    for (int64_t i = 0; i < FIELDS * p->n; i++) {
        all[i / p->n * n + p->index[i % p->n]] = local[i / p->n][i % p->n];
    }
    MPI_Allreduce(MPI_IN_PLACE, all, (int)(FIELDS * n), MPI_DOUBLE, MPI_SUM, sim->comm);
    return all;
}

/* --- hard sets --- */

enum hard_shape { CLOUD, POINT, CLOUD_WITH_POINT, EIGHT, HALF_MASS, NO_MASS, RATIOS, PLANE, AXIS, LINE, SCALES };

typedef struct hard_scene {
    const char *name;
    int64_t n;
    bool floats; /* numbers of single precision */
    enum hard_shape shape;
    double times, away; /* factor on positions; shift of a cloud along x */
} hard_scene;

static const hard_scene hard_scenes[] = {
    {"all in one point", 2000, false, POINT, 1, 0},
    {"thousands in one point of a cloud", 1600, false, CLOUD_WITH_POINT, 1, 0},
    {"eight points", 400, false, EIGHT, 1, 0},
    {"half without mass", 400, false, HALF_MASS, 1, 0},
    {"no mass at all", 400, false, NO_MASS, 1, 0},
    {"mass ratios of 1e6 and 1e12", 400, false, RATIOS, 1, 0},
    {"one particle", 1, false, CLOUD, 1, 0},
    {"two particles", 2, false, CLOUD, 1, 0},
    {"fewer particles than ranks", 5, false, CLOUD, 1, 0},
    {"fewer groups than ranks", 70, false, CLOUD, 1, 0},
    {"plane", 400, false, PLANE, 1, 0},
    {"axis", 400, false, AXIS, 1, 0},
    {"tilted line", 400, false, LINE, 1, 0},
    {"every scale to 1e18, floats", 400, true, SCALES, 1, 0},
    {"1e18 wide, floats", 400, true, CLOUD, 1e18, 0},     /* squares and cubes of distances overflow a float */
    {"cloud at 1e18, floats", 400, true, CLOUD, 1, 1e18}, /* all particles at one point */
    {"cloud at 1e15", 400, false, CLOUD, 1, 1e15},        /* many particles share few places */
    {"within 1e-30", 400, false, CLOUD, 1e-30, 0},
};

/* A round cloud of radius 1, nearly at rest, transformed into the shape of the scene. */
static void hard_place(const hard_scene *s, int64_t i, double *m, double x[3], double v[3])
{
    const bool point = s->shape == POINT || (s->shape == CLOUD_WITH_POINT && i % 4 != 0);
    const bool resting = point || s->shape == EIGHT || s->times < 1;
    const double scale = s->shape == SCALES ? pow(10, -3 + 21 * eqp_random_uniform(1, 2, (uint64_t)i)) : s->times;

    *m = 1.0 / (double)s->n;
    *m *= s->shape == NO_MASS || (s->shape == HALF_MASS && i % 2 == 0) ? 0 : 1;
    *m *= s->shape != RATIOS || i % 100 > 1 ? 1 : i % 100 == 0 ? 1e6 : 1e-6;
    for (int k = 0; k < 3; k++) {
        double pair[2];
        eqp_random_normal(1, 0, (uint64_t)(3 * i + k), pair);
        x[k] = point ? 0.3 + 0.1 * k : s->shape == EIGHT ? (double)(i >> k & 1) : scale * pair[0];
        v[k] = resting ? 0 : (s->shape == SCALES ? 1e-4 : 0.1) * pair[1];
    }
    x[0] += s->away;
    x[2] -= s->away > 1e15 ? s->away : 0;
    for (int k = s->shape == PLANE ? 2 : 1; k < 3 && (s->shape == PLANE || s->shape == AXIS || s->shape == LINE); k++) {
        x[k] = s->shape == LINE ? x[0] : 0;
        v[k] = s->shape == LINE ? v[0] : 0;
    }
}

static bool hard_write(const hard_scene *s, FILE *file)
{
    bool good = true;

    for (int64_t i = 0; i < s->n && good; i++) {
        double m, x[3], v[3];
        hard_place(s, i, &m, x, v);
        for (int k = 0; k < 3 && s->floats; k++) {
            x[k] = (float)x[k];
            v[k] = (float)v[k];
        }
        m = s->floats ? (float)m : m;
        good = fprintf(file, "%.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", m, x[0], x[1], x[2], v[0], v[1], v[2]) > 0;
    }
    return good;
}

typedef struct outcome {
    int64_t n, pairs[2], cells[2];
    double dt, *of[2]; /* fields at the start and at the end, [FIELDS][n] */
    double *scale[2];  /* of the forces, as accuracy() computes it, once known */
} outcome;

static void outcome_free(outcome *o)
{
    for (int w = 0; w < 2; w++) {
        free(o->of[w]);
        free(o->scale[w]);
    }
}

static bool run(MPI_Comm comm, const char *path, const char *method, const char *more, outcome *o)
{
    char words[160];
    bh_settings settings;
    bh_simulation sim;
    bool good;

    snprintf(words, sizeof words, "--steps %d --softening %g --balance %s --rebalance 2 %s", STEPS, SOFTENING, method,
             more);
    good = start(comm, words, path, &settings, &sim);
    for (int w = 0; w < 2 && good; w++) {
        for (int s = 0; s < w * STEPS && good; s++) {
            good = step(&sim, words);
        }
        o->n = sim.input.total;
        o->dt = sim.dt;
        o->of[w] = fields_of(&sim);
        o->pairs[w] = sim.now.pairs;
        o->cells[w] = sim.now.cells;
    }
    if (o->n > 0) {
        bh_simulation_free(&sim);
    }
    return good;
}

/* The larger one; NaN if one is. */
static double larger(double a, double b)
{
    return b <= a ? a : b;
}

/* Compares forces and potentials with direct sums, relative to the sum of the magnitudes of all terms, since terms may
 * cancel; checks the total force. */
static void check_accuracy(outcome *o, int w, double tolerance, const char *what)
{
    const double *of = o->of[w];
    double force = 0, potential = 0, all[3] = {0}, weight = 0;
    const int64_t n = o->n;

    o->scale[w] = calloc((size_t)n, sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        double sum[4] = {0}, scale[2] = {0}, off2 = 0;
        for (int64_t j = 0; j < n; j++) {
            double d[3], square = SOFTENING * SOFTENING;
            for (int k = 0; k < 3; k++) {
                d[k] = of[(X + k) * n + j] - of[(X + k) * n + i];
                square += d[k] * d[k];
            }
            const double s = sqrt(square), size = of[MASS * n + j] / s;
            for (int k = 0; k < 3; k++) {
                sum[k] += size / s * (d[k] / s);
            }
            sum[3] -= j == i ? 0 : size;
            scale[0] += size / s;
            scale[1] += size;
        }
        o->scale[w][i] = scale[0] > 0 ? scale[0] : 1;
        for (int k = 0; k < 3; k++) {
            const double off = (of[(AX + k) * n + i] - sum[k]) / o->scale[w][i];
            off2 += off * off;
            all[k] += of[MASS * n + i] * of[(AX + k) * n + i];
        }
        weight += of[MASS * n + i] * scale[0];
        force = larger(force, sqrt(off2));
        potential = larger(potential, fabs(of[POT * n + i] - sum[3]) / (scale[1] > 0 ? scale[1] : 1));
    }
    const double left = sqrt(all[0] * all[0] + all[1] * all[1] + all[2] * all[2]) / (weight > 0 ? weight : 1);
    CHECK(force <= tolerance && potential <= tolerance && left <= tolerance,
          "%s: forces are off by %g, potentials by %g, all forces leave %g", what, force, potential, left);
}

static void compare_runs(const outcome *o, const outcome *reference, const double tolerance[2], const char *what)
{
    CHECK(o->n == reference->n && o->dt == reference->dt, "%s: n %lld, dt %.17g", what, (long long)o->n, o->dt);
    for (int w = 0; w < 2; w++) {
        double worst = 0;
        for (int64_t i = 0; i < o->n; i++) {
            double square = 0;
            for (int64_t at = AX * o->n + i; at < (AX + 3) * o->n; at += o->n) {
                const double off = (o->of[w][at] - reference->of[w][at]) / reference->scale[w][i];
                square += off * off;
            }
            worst = larger(worst, sqrt(square));
        }
        CHECK(o->pairs[w] == reference->pairs[w] && o->cells[w] == reference->cells[w],
              "%s: %lld + %lld interactions instead of %lld + %lld", what, (long long)o->pairs[w],
              (long long)o->cells[w], (long long)reference->pairs[w], (long long)reference->cells[w]);
        CHECK(worst <= tolerance[w], "%s: forces differ by %g after %d steps", what, worst, w * STEPS);
    }
}

/* Methods on several ranks against one rank without a method. At an angle of 0.1 hardly any cell is accepted, so
 * errors of the opening criterion hide no missing or doubled interaction. */
static void check_scene(const hard_scene *scene, const char *path, bool mixed, MPI_Comm comm)
{
    static const char *const methods[] = {"none", "count", "sfc", "rcb", "interaction"};
    /* Another order of summation changes the last digits, those of a float where floats are summed. */
    const double tolerance[2] = {mixed ? 1e-5 : 1e-12, mixed ? 1e-4 : 1e-9};
    const char *more = mixed ? "--precision mixed --theta 0.6" : "--precision double --theta 0.6";
    outcome reference = {0}, careful = {0};
    char what[160];
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    snprintf(what, sizeof what, "%s, reference", scene->name);
    if (rank == 0 && run(MPI_COMM_SELF, path, "none", more, &reference)) {
        for (int w = 0; w < 2; w++) {
            check_accuracy(&reference, w, 5e-3, what);
        }
    }
    meet_in(comm);
    /* In mixed precision only lists matter, which split owners shorten; two methods on many ranks save time. */
    for (int m = mixed || size == 1 ? 4 : size > 3 ? 2 : 0; m<5; m += size> 3 ? 2 : 1) {
        outcome o = {0};
        snprintf(what, sizeof what, "%s, %s, %s on %d ranks", scene->name, more, methods[m], size);
        if (run(comm, path, methods[m], more, &o) && rank == 0 && reference.n > 0) {
            compare_runs(&o, &reference, tolerance, what);
        }
        outcome_free(&o);
        meet_in(comm);
    }
    if (size > 3 && run(comm, path, "interaction", "--precision double --theta 0.1", &careful) && rank == 0) {
        check_accuracy(&careful, 0, 1e-4, what);
        check_accuracy(&careful, 1, 1e-4, what);
    }
    outcome_free(&careful);
    outcome_free(&reference);
    meet_in(comm);
}

static void write_scene(const hard_scene *scene, int rank, char path[64])
{
    strcpy(path, "equipoise-hard-XXXXXX");
    if (rank == 0) {
        const int fd = mkstemp(path);
        FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
        const bool good = file != NULL && hard_write(scene, file);
        if (file == NULL || fclose(file) != 0 || !good) {
            perror(path);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Bcast(path, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void check_hard_scenes(int rank, int size)
{
    static const int counts[] = {1, 3, 7};

    for (size_t s = 0; s < sizeof hard_scenes / sizeof hard_scenes[0]; s++) {
        char path[64];
        write_scene(&hard_scenes[s], rank, path);
        for (int c = 0; c < 3 && counts[c] <= size; c++) {
            MPI_Comm comm;
            meet();
            MPI_Comm_split(MPI_COMM_WORLD, rank < counts[c] ? 0 : MPI_UNDEFINED, rank, &comm);
            if (comm != MPI_COMM_NULL) {
                check_scene(&hard_scenes[s], path, false, comm);
                if (counts[c] == 3) { /* sums of floats are the same on any number of ranks */
                    check_scene(&hard_scenes[s], path, true, comm);
                }
                MPI_Comm_free(&comm);
            }
        }
        meet();
        if (rank == 0) {
            (void)unlink(path);
        }
    }
}

/* --- a signal within a step --- */

/* Raises a signal in the first forces after a tick, when they read the clock; they continue once all ranks know of
 * it. */
static struct {
    const bh_simulation *sim;
    int64_t tick;
    bool began; /* between steps the tick is that of the end */
    bool raised;
} alarm_clock;

static void raise_signal(void)
{
    alarm_clock.began = alarm_clock.began || alarm_clock.sim->tick <= alarm_clock.tick;
    if (alarm_clock.began && alarm_clock.sim->tick > alarm_clock.tick && !alarm_clock.raised) {
        alarm_clock.raised = true;
        (void)raise(SIGTERM);
        while (app_signals_stop() == EQP_OK) {
        }
    }
}

/* One rank gets a signal in the forces of tick `stop`, after the first step: all ranks stop. drifted: the tree has
 * drifted. Few particles are active then, so every rank gets the signal. */
static void check_stopped_within_a_step(const char *opening, int64_t tick, int64_t stop, bool drifted, int rank,
                                        int size)
{
    bh_settings settings;
    bh_simulation whole, part, rest;
    eqp_message message = {""};
    char path[64], words[200];

    snprintf(path, sizeof path, "stopped-%d-%d.hdf5", size, (int)tick);
    snprintf(words, sizeof words, /* gives the last rank several groups */
             "--generate disks:n=800 --balance sfc --rebalance never --steps 10 --precision double --group-size 16 %s",
             opening);
    if (!start(MPI_COMM_WORLD, words, NULL, &settings, &whole) ||
        !start(MPI_COMM_WORLD, words, NULL, &settings, &part) || !step(&whole, words) || !step(&whole, words) ||
        !step(&part, words)) {
        return;
    }
    CHECK(app_signals_install() == EQP_OK, "signals");
    app_signals_share(MPI_COMM_WORLD);
    alarm_clock.sim = &part;
    alarm_clock.tick = tick;
    alarm_clock.began = tick == 0; /* no forces in between */
    alarm_clock.raised = false;
    fake_clock_hook = drifted || rank == size - 1 ? raise_signal : NULL;
    CHECK(bh_simulation_step(&part, &message) == EQP_ERR_STOPPED, "%s: a step goes on after a signal", opening);
    fake_clock_hook = NULL;
    CHECK(app_signals_pending() == SIGTERM, "%s: a rank does not know of the signal", opening);
    app_signals_restore();
    CHECK(
        part.now.common.step == 2 && part.kick == 0.5 * part.dt && part.tick == stop && part.domain.drifted == drifted,
        "%s: step %lld, kick %g, tick %lld", opening, (long long)part.now.common.step, part.kick, (long long)part.tick);
    CHECK(bh_output_snapshot(&part, path, &message) == EQP_OK, "%s", message.text);
    settings.run.generate = NULL;
    settings.run.restart = path;
    CHECK(bh_simulation_create(MPI_COMM_WORLD, &settings, &rest, &message) == EQP_OK, "%s", message.text);
    if (failures == 0) {
        double *a = fields_of(&rest), *b = fields_of(&whole);
        CHECK(rest.now.common.step == 2 && rest.now.common.time == whole.now.common.time, "%s: goes on at step %lld",
              opening, (long long)rest.now.common.step);
        CHECK(memcmp(a, b, FIELDS * (size_t)whole.input.total * sizeof *a) == 0, "%s: other bits", opening);
        free(a);
        free(b);
    }
    bh_simulation_free(&rest);
    bh_simulation_free(&part);
    bh_simulation_free(&whole);
    if (rank == 0) {
        (void)unlink(path);
    }
}

/* The root box stays while particles move a little, and is replaced if one leaves it or if it is far too large. */
static void check_box(void)
{
    static const struct {
        double low, high;
        bool changes;
    } moves[] = {{0.0, 1.0, true},    {-0.1, 1.1, false}, {0.25, 0.75, false}, {-0.1, 5.0, true},
                 {-0.5, 5.25, false}, {0.0, 1.0, true},   {0.9, 1.1, true}};
    bh_domain domain;

    bh_domain_init(&domain, MPI_COMM_WORLD, 8, 8, false);
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const double low = moves[i].low, high = moves[i].high, bound[6] = {low, low, low, -high, -high, -high};
        bh_migration migration = {false, 0, 0};
        const int code = bh_domain_migrate(&domain, bound, &migration, EQP_OK);
        const bh_box *box = &domain.box;
        CHECK(code == EQP_OK && migration.box_changed == moves[i].changes, "move %d: the box %s", (int)i,
              migration.box_changed ? "changes" : "stays");
        CHECK(box->corner[0] <= low && high < box->corner[0] + box->side && box->side <= 8 * (high - low),
              "move %d: a box of %g from %g", (int)i, box->side, box->corner[0]);
    }
    bh_domain_free(&domain);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_stopped_within_a_step("--opening=relative", 0, 1, false, rank, size);
    check_stopped_within_a_step("--opening=geometric", 0, 1, false, rank, size);
    check_stopped_within_a_step("--rungs=3 --eta=0.0005 --opening=relative", 3, 4, false, rank, size);
    check_stopped_within_a_step("--rungs=6 --eta=0.0005 --dt=0.01 --opening=relative", 4, 8, true, rank, size);
    check_stopped_within_a_step("--rungs=6 --eta=0.0005 --dt=0.01 --opening=geometric", 20, 24, true, rank, size);
    check_box();
    if (!slow_here()) { /* under sanitizers the app's tests read difficult sets from files */
        check_hard_scenes(rank, size);
    }
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
