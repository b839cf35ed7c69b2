/* SPDX-License-Identifier: BSD-3-Clause */
/* Physics of dislocation runs: sources that bow out and multiply, loops that collapse, junctions that form. The
 * network is sound after every step. test_dd_strain.c tests the strain of each step and the stress at a given strain
 * rate. */
#include "dd_experiment.h"

#define MU 50e9
#define NU 0.3
#define RC 5.0
#define CORE 0.1 /* b: the core energy is that of a cylinder between this radius and the core radius */

static void begin(dd_experiment *e, MPI_Comm comm, const dd_scene *s, const char *options, double tau)
{
    char words[512];

    snprintf(words, sizeof words,
             "--steps=100000 --cells=3 --far-order=2 --mobility=FCC_0 --mu=%g --nu=%g --rc=%g %s "
             "--stress=0,0,0,0,%.15g,0",
             MU, NU, RC, options, tau);
    dd_experiment_of(e, comm, s, words);
}

/* --- Frank-Read sources: b = x, glide plane z = 0, line across b (edge) or along it (screw) --- */

/* Length of a line between pinned ends. */
static void begin_source(dd_experiment *e, MPI_Comm comm, double length, bool screw, double tau)
{
    const double from[3] = {screw ? -length / 2 : 0, screw ? 0 : -length / 2, 0}, to[3] = {-from[0], -from[1], 0};
    dd_scene s = {.box = 20 * length};
    char words[256];

    dd_scene_line(&s, from, to, 12, (double[]){1, 0, 0}, (double[]){0, 0, 1});
    snprintf(words, sizeof words, "--max-seg=%g --min-seg=%g --r-tol=%g --rann=%g --dt=1e-9", length / 8, length / 25,
             length / 2000, length / 1000);
    begin(e, comm, &s, words, tau);
}

typedef struct fate {
    bool multiplies, rests;
    double bow; /* length over end-to-end distance at the end */
    int64_t steps;
} fate;

/* Runs until the line rests or is longer than three times its end-to-end distance, which no resting arc can be. Rest
 * is judged by mean velocities of a step, since nodes near the pins oscillate if steps are as long as the stiffest
 * bend allows. */
static fate source_run(double length, bool screw, double tau)
{
    dd_experiment e;
    fate f = {.bow = 1};
    double first = 0;

    begin_source(&e, MPI_COMM_SELF, length, screw, tau);
    while (e.runs && !f.multiplies && !f.rests && f.steps < 6000 && dd_experiment_step(&e)) {
        double fastest = 0;
        f.steps++;
        f.bow = e.sim.now.length / length;
        f.multiplies = f.bow > 3;
        for (int64_t i = 0; i < e.sim.domain.network.n; i++) {
            const dd_node *node = &e.sim.domain.network.node[i];
            const double mean[3] = {(node->v[0] + node->last_v[0]) / 2, (node->v[1] + node->last_v[1]) / 2,
                                    (node->v[2] + node->last_v[2]) / 2};
            fastest = fmax(fastest, dd_step_largest(1, mean));
        }
        first = fmax(first, fastest);
        f.rests = fastest < 2e-3 * first;
    }
    dd_experiment_end(&e);
    return f;
}

/* mu b / (2 pi L) ln(L / core), over 1 - nu for a source that starts as a screw: A. J. E. Foreman, Phil. Mag. 15
 * (1967) 1011. The core energy in use extends the logarithm to the core's inner radius. */
static double foreman(double length, bool screw)
{
    return MU / (2 * PI * length) * log(length / CORE) / (screw ? 1 - NU : 1);
}

/* Critical stress, bracketed to two percent. */
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
    /* A resting arc has bowed out, but not far beyond a half circle. */
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
    /* The constant added to the logarithm is the same for all lengths, so the slope is more accurate. */
    for (int screw = 0; screw < 2 && rank == 0; screw++) {
        const int i = screw ? 3 : 0, j = screw ? 4 : 2;
        const double slope =
            (tau[j] * source[j].length - tau[i] * source[i].length) / MU / log(source[j].length / source[i].length);
        const double known = 1 / (2 * PI * (screw ? 1 - NU : 1));
        CHECK(fabs(slope / known - 1) < 0.2, "%s: tau L / (mu b) grows by %g ln L, not by %g", screw ? "screw" : "edge",
              slope, known);
    }
}

/* Nodes of the largest loop of nodes of two arms. */
static int64_t largest_loop(const dd_seen *all, int64_t n)
{
    int64_t most = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t size = 1, last = i, next = 0;
        while (next >= 0 && all[last].to != all[i].from && size <= n) {
            int64_t narms = 0;
            next = -1;
            for (int64_t j = 0; j < n; j++) {
                narms += all[j].from == all[last].to;
                next = all[j].from == all[last].to && all[j].to != all[last].from ? j : next;
            }
            next = narms == 2 ? next : -1;
            last = next >= 0 ? next : last;
            size++;
        }
        most = next >= 0 && size <= n && size > most ? size : most;
    }
    return most;
}

/* Well above the critical stress the arms meet behind the source and leave a loop and a line between the pins. */
static void check_multiplication(MPI_Comm comm)
{
    const double length = 1000;
    dd_experiment e;
    int64_t loop = 0;

    begin_source(&e, comm, length, false, 2 * foreman(length, false));
    for (int k = 0; k < 1500 && loop <= 8 && dd_experiment_step(&e); k++) {
        const int64_t *done = e.sim.now.topology.done;
        if (done[DD_TOPOLOGY_COLLIDE] + done[DD_TOPOLOGY_ZIP] > 0) {
            int64_t n;
            DD_FREED dd_seen *all = dd_all_segments(&e.sim, &n);
            loop = largest_loop(all, n);
            for (int64_t i = 0; i < n; i++) {
                const double *b = all[i].burgers, *p = all[i].normal;
                const double off = fabs(b[0] * p[0] + b[1] * p[1] + b[2] * p[2]);
                CHECK(fabs(all[i].x[2]) < 1e-6 && off < 1e-9,
                      "a node leaves its plane by %g b, its Burgers vector by %g", all[i].x[2], off);
            }
        }
    }
    CHECK(loop > 8, "no loop after %lld steps of a source", (long long)(e.runs ? e.sim.now.common.step : -1));
    dd_experiment_end(&e);
}

/* --- loops --- */

/* Stress at which a circular loop is in equilibrium: the derivative of its energy (W. Cai et al., J. Mech. Phys.
 * Solids 54 (2006) 561, non-singular, by radius) with the core energy's inner radius in the logarithm. */
static double loop_balance(double radius)
{
    return MU / (8 * PI * radius) * ((2 - NU) / (1 - NU) * (log(8 * radius / CORE) - 1) + 0.5);
}

/* Without stress a loop shrinks until it is gone. */
static void check_collapse(MPI_Comm comm)
{
    dd_experiment e;
    dd_scene s = {.box = 20 * 500};

    dd_scene_loop(&s, 500, 24);
    begin(&e, comm, &s, "--max-seg=300 --min-seg=8 --r-tol=0.5 --rann=1 --dt=1e-11", 0);
    for (int k = 0; k < 1500 && e.runs && e.sim.now.nodes > 0; k++) {
        (void)dd_experiment_step(&e);
    }
    CHECK(e.runs && e.sim.now.nodes == 0, "a loop without stress does not collapse");
    dd_experiment_end(&e);
}

/* Loops grow above the balance stress and shrink below it. */
static void check_loop_balance(MPI_Comm comm)
{
    const double radius = 2000;
    double rate[2] = {0};

    for (int i = 0; i < 2; i++) {
        const double tau = (i == 0 ? 0.97 : 1.03) * loop_balance(radius);
        dd_experiment e;
        dd_scene s = {.box = 20 * radius};

        dd_scene_loop(&s, radius, 60);
        begin(&e, comm, &s, "--max-seg=1000 --min-seg=50 --r-tol=0.01 --dt=1e-14", tau);
        if (dd_experiment_step(&e)) {
            rate[i] = e.sim.loading.strain[4];
        }
        dd_experiment_end(&e);
    }
    CHECK(rate[0] < 0 && rate[1] > 0, "around the stress that balances a loop it strains by %g and %g", rate[0],
          rate[1]);
}

/* --- junctions --- */

/* Length of segments with this Burgers vector of either sign. */
static double junction_length(const dd_seen *all, int64_t n, const double burgers[3])
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

/* Runs until a junction forms, then as many steps again, in which it must not dissolve. */
static void expect_junction(dd_experiment *e, const double burgers[3], double wanted, int most, int after)
{
    double length = 0, longest = 0;
    int formed = -1;

    for (int k = 0; k < most && (formed < 0 || k < formed + after) && dd_experiment_step(e); k++) {
        int64_t n;
        DD_FREED dd_seen *all = dd_all_segments(&e->sim, &n);
        length = junction_length(all, n, burgers);
        longest = fmax(longest, length);
        if (formed < 0 && length > wanted) {
            formed = k;
        }
    }
    CHECK(formed >= 0, "no junction of %g b, but %g", wanted, longest);
    CHECK(formed < 0 || length > 0.8 * wanted, "the junction has shrunk from %g to %g", longest, length);
    dd_experiment_end(e);
}

/* A Lomer lock: two attractive lines at a small angle to the intersection of their planes. */
static void check_lomer(MPI_Comm comm)
{
    const double r2 = sqrt(0.5), r3 = 1 / sqrt(3), angle = 20 * PI / 180;
    const double b1[3] = {0, r2, -r2}, b2[3] = {r2, 0, r2}, sum[3] = {r2, r2, 0};
    const double n1[3] = {r3, r3, r3}, n2[3] = {r3, r3, -r3}, along[3] = {r2, -r2, 0};
    double across[2][3], end_of[2][2][3];
    dd_experiment e;
    dd_scene s = {.box = 20000};

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
    dd_scene_line(&s, end_of[0][0], end_of[0][1], 15, b1, n1);
    dd_scene_line(&s, end_of[1][0], end_of[1][1], 15, b2, n2);
    begin(&e, comm, &s, "--max-seg=300 --min-seg=60 --r-tol=1 --rann=5 --dt=1e-11", 0);
    expect_junction(&e, sum, 500, 400, 30);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_critical_stress();
    check_loop_balance(MPI_COMM_WORLD);
    check_collapse(MPI_COMM_WORLD);
    check_lomer(MPI_COMM_WORLD);
    check_multiplication(MPI_COMM_WORLD);
    return dd_experiments_end();
}
