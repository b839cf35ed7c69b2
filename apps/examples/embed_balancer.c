/* SPDX-License-Identifier: BSD-3-Clause */
/* A molecular dynamics code of its own, balanced: soft spheres in a periodic box, link cells, velocity Verlet. A rank
 * has whole cells with their particles; which ones, the balancer says. usage: embed_balancer [METHOD] */
#include <equipoise/balancer.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* M cells along an edge of the box, which is 1; N particles. */
enum { M = 20, CELLS = M * M * M, N = 12000, MOST = 14 * N, STEPS = 6 };
static const double reach = 1.0 / M, dt = 2e-4;

typedef struct particle {
    double x[3], v[3], f[3];
    int cell, home; /* home, index: where a copy comes from */
    int64_t index;
} particle;

static int rank, size, home_of[CELLS]; /* rank of each cell, on all ranks */
static particle p[MOST], copy[MOST];   /* n that live here, then copies of remote ones */
static int to[MOST];                   /* where they are sent */
static int64_t n, ncopies;
static int64_t nlooked, npairs;               /* pairs: looked at, within reach */
static int64_t first[CELLS + 1], order[MOST]; /* particles and copies, cell by cell */
static int64_t work[CELLS];                   /* pairs that each cell has looked at */
static eqp_balancer *balancer;

/* Neighbour k of 27. A cell looks at itself (13) and at the later ones, so each pair of cells is looked at once. */
static int neighbour(int cell, int k)
{
    const int x = (cell / (M * M) + k / 9 - 1 + M) % M, y = (cell / M % M + k / 3 % 3 - 1 + M) % M;
    return (x * M + y) * M + (cell % M + k % 3 - 1 + M) % M;
}

/* The force of b on a, by the nearest image; returns whether they are within reach. */
static int pair_force(const double a[3], const double b[3], double f[3])
{
    double r2 = 0.0;
    for (int d = 0; d < 3; d++) {
        f[d] = a[d] - b[d] - rint(a[d] - b[d]);
        r2 += f[d] * f[d];
    }
    for (int d = 0; d < 3; d++) {
        f[d] *= 1.0 / sqrt(r2) - 1.0 / reach;
    }
    return r2 < reach * reach && r2 > 0.0;
}

/* Sends particles; what arrives goes to p[at]. */
static int exchange(int64_t nsent, const particle *sent, int64_t at, int64_t *narrived)
{
    particle *in = NULL;
    const int code = eqp_send_records(MPI_COMM_WORLD, sizeof *sent, nsent, to, sent, narrived, &in);

    memcpy(p + at, in, in != NULL ? (size_t)*narrived * sizeof *in : 0);
    free(in);
    return code;
}

/* Particles to where their cells are. */
static int migrate(void)
{
    for (int64_t i = 0; i < n; i++) {
        p[i].cell = 0;
        for (int d = 0; d < 3; d++) {
            p[i].x[d] -= floor(p[i].x[d]);
            p[i].cell = p[i].cell * M + (int)fmin(p[i].x[d] * M, M - 1);
        }
        to[i] = home_of[p[i].cell];
    }
    return exchange(n, p, 0, &n);
}

/* Sends copies of particles to ranks whose cells look at their cells. */
static int send_copies(void)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0, begin = count, known; k < 13; k++) {
            to[count] = home_of[neighbour(p[i].cell, (int)k)];
            for (known = begin; to[known] != to[count]; known++) {
            }
            if (known == count && to[count] != rank) {
                copy[count] = p[i];
                copy[count].home = rank;
                copy[count++].index = i;
            }
        }
    }
    return exchange(count, copy, n, &ncopies);
}

/* All pairs of a cell, if it lives here. */
static void compute_cell(int c)
{
    for (int k = 13; k < 27 && home_of[c] == rank; k++) {
        const int other = neighbour(c, k);
        for (int64_t i = first[c]; i < first[c + 1]; i++) {
            for (int64_t j = k == 13 ? i + 1 : first[other]; j < first[other + 1]; j++) {
                particle *a = &p[order[i]], *b = &p[order[j]];
                double f[3];
                const int near = pair_force(a->x, b->x, f);
                for (int d = 0; d < 3 && near; d++) {
                    a->f[d] += f[d];
                    b->f[d] -= f[d];
                }
                npairs += near;
                work[c]++;
            }
        }
    }
    nlooked += work[c];
}

/* All forces; forces on copies go back to the particles' ranks. *seconds: time in pairs. */
static int compute_forces(double *seconds)
{
    int64_t nback = 0;
    int code = send_copies();
    *seconds = eqp_cpu_seconds();
    nlooked = npairs = 0;
    memset(work, 0, sizeof work);
    memset(first, 0, sizeof first);
    for (int64_t i = 0; i < n + ncopies; i++) {
        first[p[i].cell]++;
        memset(p[i].f, 0, sizeof p[i].f);
    }
    for (int c = 0; c < CELLS; c++) {
        first[c + 1] += first[c];
    }
    for (int64_t i = n + ncopies - 1; i >= 0; i--) {
        order[--first[p[i].cell]] = i;
    }
    for (int c = 0; c < CELLS && code == EQP_OK; c++) {
        compute_cell(c);
    }
    *seconds = eqp_cpu_seconds_since(*seconds);
    for (int64_t i = 0; i < ncopies; i++) {
        to[i] = p[n + i].home;
    }
    code = code == EQP_OK ? exchange(ncopies, p + n, n, &nback) : code;
    for (int64_t i = 3 * n; i < 3 * (n + nback); i++) {
        p[p[i / 3].index].f[i % 3] += p[i / 3].f[i % 3];
    }
    return code;
}

static void kick(void)
{
    for (int64_t i = 0; i < 3 * n; i++) {
        p[i / 3].v[i % 3] += 0.5 * dt * p[i / 3].f[i % 3];
    }
}

static int move(double *seconds)
{
    int code;
    kick();
    for (int64_t i = 0; i < 3 * n; i++) {
        p[i / 3].x[i % 3] += dt * p[i / 3].v[i % 3];
    }
    code = migrate();
    code = code == EQP_OK ? compute_forces(seconds) : code;
    kick();
    return code;
}

/* Every cell that lives here is an owner, with its work and the cells that it looks at. */
static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const double corner[3] = {0, 0, 0};
    int64_t at_home = 0;
    int code = EQP_OK;

    (void)user;
    for (int c = 0; c < CELLS; c++) {
        eqp_owner owner = {.id = c, .pin = c, .home = rank, .tag = rank, .count = {work[c]}, .interactions = 14};
        if (home_of[c] == rank) {
            const double centre[3] = {(c / (M * M) + 0.5) / M, (c / M % M + 0.5) / M, (c % M + 0.5) / M};
            owner.at_home = at_home++;
            owner.particles = (int32_t)(first[c + 1] - first[c]);
            owner.bytes = owner.particles * (int64_t)sizeof(particle);
            memcpy(owner.centre, centre, sizeof centre);
            EQP_TRY(eqp_hilbert_keys(1, centre, centre + 1, centre + 2, corner, 1.0, &owner.key));
            for (int k = 14; k < 27 && kind == EQP_SURVEY_WORK; k++) {
                EQP_TRY(eqp_survey_add_pin(list, neighbour(c, k)));
            }
            EQP_TRY(eqp_survey_add_owner(list, &owner));
        }
    }
done:
    return code;
}

/* Moves cells to the ranks that the advice names, with their particles. */
static int follow(const eqp_advice *advice)
{
    static int moved[CELLS];
    int64_t at_home = 0;

    for (int c = 0; c < CELLS; c++) {
        moved[c] = home_of[c] == rank ? advice->placement[at_home++].home : 0;
    }
    MPI_Allreduce(moved, home_of, CELLS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return migrate();
}

/* Step s; step 0 computes the first forces, and what they cost the first map is made of. */
static int step(int64_t s, eqp_step *now)
{
    const double begin = eqp_cpu_seconds();
    eqp_rank_row row = {.load = 0.0};
    eqp_advice advice = {.changed = false};
    int code;

    EQP_TRY(s > 0 ? eqp_balancer_advise(balancer, STEPS - s, &advice, NULL) : EQP_OK);
    EQP_TRY(advice.changed ? follow(&advice) : EQP_OK);
    row.balance_seconds = eqp_cpu_seconds_since(begin);
    EQP_TRY(s > 0 ? move(&row.load) : compute_forces(&row.load));
    EQP_TRY(eqp_balancer_record(balancer, &(eqp_work){.row = &row, .count = &nlooked}, now));
done:
    return code;
}

/* Half of the particles in a clump. */
static void make_particles(void)
{
    for (int64_t i = rank; i < N; i += size, n++) {
        for (int d = 0; d < 3; d++) {
            const double u = eqp_random_uniform(7, (uint64_t)i, (uint64_t)d);
            p[n].x[d] = i % 2 == 0 ? 0.55 + 0.3 * u : u;
            p[n].v[d] = eqp_random_uniform(8, (uint64_t)i, (uint64_t)d) - 0.5;
        }
    }
    for (int c = 0; c < CELLS; c++) {
        home_of[c] = c * size / CELLS;
    }
}

/* Compares the number of computed pairs with that of a direct count. */
static int check_pairs(void)
{
    int64_t nall = 0, count[2] = {npairs, 0};
    particle *all = NULL;
    double f[3];
    int code = eqp_gather_records(MPI_COMM_WORLD, sizeof *p, n, p, &nall, &all);

    for (int64_t i = rank; i < nall; i += size) {
        for (int64_t j = 0; j < i; j++) {
            count[1] += pair_force(all[i].x, all[j].x, f);
        }
    }
    free(all);
    code = code == EQP_OK ? eqp_sum_int64(MPI_COMM_WORLD, 2, count) : code;
    return code == EQP_OK && nall == N && count[0] == count[1] ? EQP_OK : EQP_ERR_INTERNAL;
}

int main(int argc, char **argv)
{
    const eqp_problem problem = {.survey = survey};
    const int64_t parts = 4096;
    eqp_balancer_options options;
    const eqp_comparison whatif = {.nchoices = 1, .choice = &options.method, .ncounts = 1, .parts = &parts};
    eqp_compared *row = NULL;
    eqp_step now = {.step = 0};
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_particles();
    EQP_TRY(migrate());
    EQP_TRY(eqp_balancer_options_init(&options, sizeof options));
    EQP_TRY(eqp_choice_parse(NULL, NULL, argc > 1 ? argv[1] : "auto", &options.method, NULL));
    options.calibrate = false; /* what is checked below is counted work, not seconds */
    EQP_TRY(eqp_balancer_create(MPI_COMM_WORLD, &problem, &options, &balancer, NULL));
    for (int64_t s = 0; s <= STEPS; s++) {
        EQP_TRY(step(s, &now));
        if (rank == 0 && (now.rebalanced || s == STEPS)) {
            printf("step %d: imbalance %.1f%% by work %s\n", (int)s, 100.0 * now.imbalance_predicted, now.why);
        }
    }
    EQP_TRY(check_pairs());
    EQP_TRY(eqp_balancer_compare(balancer, &whatif, &row, NULL));
    (void)(rank == 0 && printf("into 4096 parts: imbalance %.0f%%\n", 100.0 * row->evaluated.imbalance));
done:
    free(row);
    eqp_balancer_free(balancer);
    MPI_Finalize();
    return code != EQP_OK || now.imbalance_predicted > 0.05;
}
