/* SPDX-License-Identifier: BSD-3-Clause */
/* Hard sets of particles: on 1, 3 and 8 ranks, with every method on 3, the forces are those of direct summation before
 * and after three steps, the interactions are those of one rank, every number is finite, and what is conserved stays.
 */
#include "failures.h"
#include "meet.h"

#include "hard_scenes.h"

#include "simulation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOFTENING 0.01
#define STEPS 3
#define MOST_RANKS 8

/* One moment of a run, by the particles' place in the file: positions, accelerations, potential, masses. */
enum { X, Y, Z, AX, AY, AZ, POT, MASS, FIELDS };
typedef struct moment {
    double *of[FIELDS];
    double *scale; /* of forces, as sum_directly() has it, once it is known */
    int64_t pairs, cells;
    bh_sums sums;
} moment;

/* A run at its beginning and at its end. */
typedef struct outcome {
    int64_t n;
    double dt;
    moment at[2];
} outcome;

static void *room(int64_t n)
{
    void *array = calloc(n > 0 ? (size_t)n : 1, sizeof(double));

    if (array == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return array;
}

static void outcome_free(outcome *o)
{
    for (int i = 0; i < 2 * FIELDS; i++) {
        free(o->at[i / FIELDS].of[i % FIELDS]);
    }
    free(o->at[0].scale);
    free(o->at[1].scale);
}

static void moment_take(const bh_simulation *sim, moment *m)
{
    const bh_particles *p = &sim->domain.particles;
    const double *const local[FIELDS] = {p->x, p->y, p->z, p->ax, p->ay, p->az, p->pot, p->m};

    for (int f = 0; f < FIELDS; f++) {
        m->of[f] = room(sim->input.total);
        for (int64_t i = 0; i < p->n; i++) {
            m->of[f][p->index[i]] = local[f][i];
        }
        MPI_Allreduce(MPI_IN_PLACE, m->of[f], (int)sim->input.total, MPI_DOUBLE, MPI_SUM, sim->comm);
    }
    m->pairs = sim->now.pairs;
    m->cells = sim->now.cells;
    m->sums = sim->now.sums;
}

/* The field of all particles at place i, independent of the code under test. scale: sum of the magnitudes of all terms,
 * for forces and for potentials; the reference of errors, since forces may cancel. */
static void sum_directly(const moment *m, int64_t n, int64_t i, double field[4], double scale[2])
{
    memset(field, 0, 4 * sizeof *field);
    scale[0] = scale[1] = 0;
    for (int64_t j = 0; j < n; j++) {
        double d[3], square = SOFTENING * SOFTENING;
        for (int k = 0; k < 3; k++) {
            d[k] = m->of[X + k][j] - m->of[X + k][i];
            square += d[k] * d[k];
        }
        double s = sqrt(square), size = m->of[MASS][j] / s;
        for (int k = 0; k < 3; k++) {
            field[k] += size / s * (d[k] / s);
        }
        field[3] -= j == i ? 0 : size;
        scale[0] += size / s;
        scale[1] += size;
    }
}

/* Largest deviation of a moment from direct sums, and the force that is left over, both in parts of the scale, which is
 * kept. */
static void compare_directly(moment *m, int64_t n, double *force, double *potential, double *left_over)
{
    double all[3] = {0}, weight = 0;

    *force = *potential = 0;
    m->scale = room(n);
    for (int64_t i = 0; i < n; i++) {
        double field[4], scale[2], square = 0;
        sum_directly(m, n, i, field, scale);
        m->scale[i] = scale[0] > 0 ? scale[0] : 1;
        for (int k = 0; k < 3; k++) {
            double off = (m->of[AX + k][i] - field[k]) / m->scale[i];
            square += off * off;
            all[k] += m->of[MASS][i] * m->of[AX + k][i];
        }
        weight += m->of[MASS][i] * scale[0];
        /* NaN propagates through all comparisons. */
        *force = sqrt(square) <= *force ? *force : sqrt(square);
        double off = fabs(m->of[POT][i] - field[3]) / (scale[1] > 0 ? scale[1] : 1);
        *potential = off <= *potential ? *potential : off;
    }
    *left_over = sqrt(all[0] * all[0] + all[1] * all[1] + all[2] * all[2]) / (weight > 0 ? weight : 1);
}

/* Largest difference between the forces of two runs, in parts of the scale. */
static double worst_difference(const moment *m, const moment *reference, int64_t n)
{
    double worst = 0;

    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int k = 0; k < 3; k++) {
            double off = (m->of[AX + k][i] - reference->of[AX + k][i]) / reference->scale[i];
            square += off * off;
        }
        worst = sqrt(square) <= worst ? worst : sqrt(square);
    }
    return worst;
}

/* Properties of single sets. */
static void check_promises(const hard_scene *scene, const outcome *o, const char *what)
{
    for (int64_t i = 1; i < o->n && strcmp(scene->name, "all in one point") == 0; i++) {
        for (int f = X; f <= AZ; f++) {
            CHECK(o->at[1].of[f][i] == o->at[1].of[f][0], "%s: %d and 0 have parted", what, (int)i);
        }
    }
    for (int64_t i = 0; i < o->n && strcmp(scene->name, "no mass at all") == 0; i++) {
        for (int f = AX; f <= POT; f++) {
            CHECK(o->at[1].of[f][i] == 0, "%s: a force out of nothing", what);
        }
    }
}

/* Against direct sums, at the beginning and at the end. */
static void check_accuracy(outcome *o, double tolerance, const char *what)
{
    for (int w = 0; w < 2; w++) {
        double force, potential, left_over;
        compare_directly(&o->at[w], o->n, &force, &potential, &left_over);
        CHECK(force <= tolerance, "%s: forces are off by %g", what, force);
        CHECK(potential <= tolerance, "%s: potentials are off by %g", what, potential);
        CHECK(left_over <= tolerance, "%s: all forces together leave %g", what, left_over);
    }
}

static void check_conservation(const hard_scene *scene, const outcome *o, const char *what)
{
    const bh_sums *first = &o->at[0].sums, *last = &o->at[1].sums;
    double turnover = fmax(fmax(first->kinetic, last->kinetic), -first->potential);
    double drift = last->kinetic + last->potential - first->kinetic - first->potential;

    CHECK(fabs(drift) <= 1e-2 * turnover || (scene->flags & HARD_STIFF), "%s: the energy drifts by %g of %g", what,
          drift, turnover);
    CHECK(last->mass == first->mass, "%s: mass %g becomes %g", what, first->mass, last->mass);
}

static int run(MPI_Comm comm, const char *path, const char *method, const char *theta, const char *precision,
               const char *what, outcome *o)
{
    char steps[8], softening[16];
    char *argv[] = {"test",    "--steps",     steps,         "--softening",    softening,
                    "--theta", (char *)theta, "--balance",   (char *)method,   "--rebalance",
                    "2",       (char *)path,  "--precision", (char *)precision};
    const int argc = (int)(sizeof argv / sizeof argv[0]);
    eqp_message message = {""};
    bh_settings settings;
    bh_simulation sim;
    app_action action;

    snprintf(steps, sizeof steps, "%d", STEPS);
    snprintf(softening, sizeof softening, "%g", SOFTENING);
    int code = app_options_parse(bh_settings_table(), argc, argv, &settings, NULL, &action, &message);
    code = code == EQP_OK ? bh_settings_complete(&settings, &message) : code;
    code = code == EQP_OK ? bh_simulation_create(comm, &settings, &sim, &message) : code;
    if (code == EQP_OK) {
        *o = (outcome){.n = sim.input.total, .dt = sim.dt};
        moment_take(&sim, &o->at[0]);
        for (int s = 0; s < STEPS && code == EQP_OK; s++) {
            code = bh_simulation_step(&sim, &message);
        }
        moment_take(&sim, &o->at[1]);
        bh_simulation_free(&sim);
    }
    CHECK(code == EQP_OK, "%s: %s", what, message.text);
    return code == EQP_OK;
}

/* The first ranks of the world. */
static MPI_Comm first_ranks(int nranks)
{
    MPI_Comm comm;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    meet();
    MPI_Comm_split(MPI_COMM_WORLD, rank < nranks ? 0 : MPI_UNDEFINED, rank, &comm);
    return comm;
}

static void compare_runs(const outcome *o, const outcome *reference, double first, double last, const char *what)
{
    CHECK(o->n == reference->n && o->dt == reference->dt, "%s: n %lld, dt %.17g instead of %lld and %.17g", what,
          (long long)o->n, o->dt, (long long)reference->n, reference->dt);
    for (int w = 0; w < 2; w++) {
        const moment *a = &o->at[w], *b = &reference->at[w];
        CHECK(a->pairs == b->pairs && a->cells == b->cells, "%s: %lld + %lld interactions instead of %lld + %lld", what,
              (long long)a->pairs, (long long)a->cells, (long long)b->pairs, (long long)b->cells);
        double off = worst_difference(a, b, o->n);
        CHECK(off <= (w == 0 ? first : last), "%s: forces differ by %g after %d steps", what, off, w * STEPS);
    }
}

/* Hardly any cell is accepted, so that the errors of the opening criterion hide no missing or doubled interaction. */
static void check_cautious(const hard_scene *scene, const char *path, const char *precision, MPI_Comm comm)
{
    outcome o = {0};
    char what[160];
    int rank;

    MPI_Comm_rank(comm, &rank);
    snprintf(what, sizeof what, "%s, %s, opening angle 0.1", scene->name, precision);
    if (run(comm, path, "interaction", "0.1", precision, what, &o) && rank == 0) {
        check_accuracy(&o, 1e-4, what);
    }
    outcome_free(&o);
    meet_in(comm);
}

/* All methods on some ranks against one rank without any. */
static void check_scene(const hard_scene *scene, const char *path, const char *precision, int nranks, MPI_Comm comm)
{
    static const char *const methods[] = {"none", "count", "sfc", "rcb", "interaction"};
    const int mixed = strcmp(precision, "mixed") == 0;
    outcome reference = {0};
    char what[160];
    int rank;

    MPI_Comm_rank(comm, &rank);
    snprintf(what, sizeof what, "%s, %s, reference", scene->name, precision);
    if (rank == 0) {
        if (run(MPI_COMM_SELF, path, "none", "0.6", precision, what, &reference)) {
            check_accuracy(&reference, 5e-3, what);
            check_conservation(scene, &reference, what);
            check_promises(scene, &reference, what);
        }
    }
    meet_in(comm);
    /* One rank has nothing to balance; in mixed precision only lists matter, which split owners shorten; two
     * methods on many ranks save time. */
    for (int m = mixed || nranks == 1 ? 4 : nranks == MOST_RANKS ? 2 : 0; m < 5; m += nranks == MOST_RANKS ? 2 : 1) {
        outcome o = {0};
        snprintf(what, sizeof what, "%s, %s, %s on %d ranks", scene->name, precision, methods[m], nranks);
        if (run(comm, path, methods[m], "0.6", precision, what, &o) && rank == 0 && reference.n > 0) {
            /* Sums in another order differ in their last digits, of a float where floats are summed. */
            compare_runs(&o, &reference, mixed ? 1e-5 : 1e-12, mixed ? 1e-4 : 1e-9, what);
            check_promises(scene, &o, what);
        }
        outcome_free(&o);
        meet_in(comm);
    }
    outcome_free(&reference);
    if (nranks == MOST_RANKS) {
        check_cautious(scene, path, precision, comm);
    }
}

/* A file where TMPDIR says, or here; the same name on all ranks. */
static void write_scene(const hard_scene *scene, size_t room_for_path, char *path)
{
    const char *folder = getenv("TMPDIR");
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, room_for_path, "%s/equipoise-hard-XXXXXX", folder != NULL ? folder : ".");
    if (rank == 0) {
        int fd = mkstemp(path);
        FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
        int good = file != NULL && hard_scene_write(scene, file);
        if (file == NULL || fclose(file) != 0 || !good) {
            perror(path);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Bcast(path, (int)room_for_path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* test_bh_hard [NAME]: all scenes, or one. */
int main(int argc, char **argv)
{
    static const int counts[] = {1, 3, MOST_RANKS};
    int rank, world;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    for (int s = 0; s < hard_scenes_count; s++) {
        char path[256];
        if (argc > 1 && strcmp(argv[1], hard_scenes[s].name) != 0) {
            continue;
        }
        write_scene(&hard_scenes[s], sizeof path, path);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0] && counts[c] <= world; c++) {
            MPI_Comm comm = first_ranks(counts[c]);
            if (comm != MPI_COMM_NULL) {
                check_scene(&hard_scenes[s], path, "double", counts[c], comm);
                if (counts[c] == 3) { /* floats are summed alike on any number of ranks */
                    check_scene(&hard_scenes[s], path, "mixed", counts[c], comm);
                }
                MPI_Comm_free(&comm);
            }
        }
        meet();
        if (rank == 0) {
            (void)unlink(path);
        }
    }
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
