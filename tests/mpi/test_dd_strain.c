/* SPDX-License-Identifier: BSD-3-Clause */
/* In a run with collisions, splits, cross slip and remeshing the plastic strain of every step is the change of the
 * network's area, and the stress follows from it, on any ranks. Close pairs are those of brute force. */
#include "dd_experiment.h"

#include "network/operations.h"
#include "network/vector.h"
#include "topology/topology.h"

/* The area of a network: area[3 i + j] sums b_i A_j over all segments, A the triangle of a segment and its line's first
 * node. Returns false if lines cross the periodic box, where the area is undefined. Brute force, O(n^2). */
static bool find_area(int64_t n, const dd_seen *all, double area[9])
{
    DD_FREED double(*at)[3] = calloc((size_t)n + 1, sizeof *at); /* of the first end */
    DD_FREED bool *placed = calloc((size_t)n + 1, sizeof *placed);
    DD_FREED int64_t *order = calloc((size_t)n + 1, sizeof *order); /* in which they are placed */
    int64_t nplaced = 0;
    bool good = true;

    for (int64_t k = 0, root = 0; k < n; k++) {
        while (k == nplaced && placed[root]) {
            root++;
        }
        if (k == nplaced) { /* at 0 */
            placed[root] = true;
            order[nplaced++] = root;
        }
        const int64_t i = order[k];
        for (int64_t j = 0; j < n; j++) {
            const bool next = all[j].from == all[i].to;
            double put[3], gap[3];
            if (!next && all[j].from != all[i].from) {
                continue;
            }
            dd_v3_along(at[i], next ? 1.0 : 0.0, all[i].way, put);
            dd_v3_minus(put, at[j], gap);
            if (!placed[j]) {
                dd_v3_copy(at[j], put);
                placed[j] = true;
                order[nplaced++] = j;
            } else {
                good = good && dd_v3_length(gap) < 1e-6 * (1.0 + dd_v3_length(put));
            }
        }
    }
    for (int k = 0; k < 9; k++) {
        area[k] = 0.0;
    }
    for (int64_t i = 0; i < n; i++) {
        double end[3], cross[3];
        dd_v3_along(at[i], 1.0, all[i].way, end);
        dd_v3_cross(at[i], end, cross);
        for (int k = 0; k < 9 && all[i].from < all[i].to; k++) {
            area[k] += 0.5 * all[i].burgers[k / 3] * cross[k % 3];
        }
    }
    return good;
}

/* Brute force after every step on one rank, after every tenth on several. */
enum { EVERY = 10 };

typedef struct story {
    double strain[6], stress[6]; /* plastic; applied */
    int64_t nodes, done[DD_TOPOLOGY_KINDS];
} story;

static void area_of(const dd_simulation *sim, double area[9])
{
    int64_t n;
    DD_FREED dd_seen *all = dd_all_segments(sim, &n);

    CHECK(find_area(n, all, area), "a line goes around the box: the scene is too dense for this test");
}

static void check_step(const dd_simulation *sim, const double before[9], const double after[9], const double last[6])
{
    const double volume = sim->domain.edge[0] * sim->domain.edge[1] * sim->domain.edge[2];
    const dd_loading *now = &sim->loading;
    double swept[9], known[6] = {0.0}, size = 0.0;

    for (int k = 0; k < 9; k++) {
        swept[k] = before[k] - after[k];
        size += fabs(before[k]) / volume;
    }
    dd_strain_slip(swept, volume, known);
    for (int k = 0; k < 6; k++) {
        const double more = now->strain[k] - last[k];
        CHECK(fabs(more - known[k]) <= 1e-12 * size, "step %lld: strain %d grows by %.12g, area says %.12g",
              (long long)sim->now.common.step, k, more, known[k]);
    }
    const double elastic = now->young * (now->rate * sim->now.common.time - sim->now.strain);
    CHECK(now->kind != DD_STRAIN_RATE || fabs(sim->now.stress - elastic) <= 1e-9 * fabs(elastic),
          "step %lld: stress %g, elastic strain %g", (long long)sim->now.common.step, sim->now.stress, elastic);
}

static bool is_lower(const dd_seen *a, const dd_seen *b)
{
    return a->from < a->to && b->from < b->to && (a->from < b->from || (a->from == b->from && a->to < b->to));
}

/* Squared distance of two segments, b in its image nearest to a. */
static double distance2(const dd_domain *domain, const dd_seen *a, const dd_seen *b)
{
    double xa[3], xb[2][3], mid[2][3], between[3], s, t;

    for (int d = 0; d < 3; d++) {
        mid[0][d] = a->x[d] + 0.5 * a->way[d];
        mid[1][d] = b->x[d] + 0.5 * b->way[d];
        xa[d] = a->x[d] + a->way[d];
    }
    dd_domain_offset(domain, mid[1], mid[0], between);
    for (int d = 0; d < 3; d++) {
        xb[0][d] = mid[0][d] + between[d] - 0.5 * b->way[d];
        xb[1][d] = mid[0][d] + between[d] + 0.5 * b->way[d];
    }
    return dd_segments_distance2(a->x, xa, xb[0], xb[1], &s, &t);
}

/* Each close pair is found exactly once, on one rank. */
static void check_close(const dd_simulation *sim, double reach)
{
    DD_FREED_BY(dd_closes_free) dd_closes closes = {0};
    DD_FREED dd_close *found = NULL;
    int64_t n, nfound = 0, expected = 0;
    DD_FREED dd_seen *all = dd_all_segments(sim, &n);

    CHECK(dd_close_find(&sim->domain, &sim->stage, reach, &closes) == EQP_OK, "no close pairs");
    CHECK(eqp_gather_records(sim->comm, sizeof *found, closes.n, closes.pair, &nfound, &found) == EQP_OK, "gather");
    for (int64_t k = 0; k < n * n; k++) {
        const dd_seen *a = &all[k / n], *b = &all[k % n];
        int64_t times = 0;
        if (!is_lower(a, b) || a->from == b->from || a->from == b->to || a->to == b->from || a->to == b->to ||
            distance2(&sim->domain, a, b) >= reach * reach) {
            continue;
        }
        for (int64_t c = 0; c < nfound; c++) {
            const dd_tag *tag = found[c].tag;
            times += tag[0] == a->from && tag[1] == a->to && tag[2] == b->from && tag[3] == b->to;
        }
        CHECK(times == 1, "a close pair is found %d times", (int)times);
        expected++;
    }
    CHECK(nfound == expected && expected > 0, "%d close pairs instead of %d", (int)nfound, (int)expected);
}

enum { LOOPS = 5, CORNERS = 12 };

/* Loops in one glide plane with four screw pieces on either side and two edge pieces between. */
static void screw_scene(const double burgers[3], const double normal[3], dd_scene *s)
{
    static const double at[CORNERS][2] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {4, 1},
                                          {4, 2}, {3, 2}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    double aside[3];

    *s = (dd_scene){.box = 4000};
    dd_v3_cross(normal, burgers, aside);
    for (int i = 0; i < LOOPS * CORNERS; i++) {
        const int loop = i / CORNERS, c = i % CORNERS;
        double x[3];
        for (int d = 0; d < 3; d++) {
            x[d] = 800.0 * (d == loop % 3 ? loop - 2 : 0) + 100.0 * (at[c][0] * burgers[d] + at[c][1] * aside[d]);
        }
        dd_scene_node(s, x, DD_FREE);
    }
    for (int i = 0; i < s->n; i++) {
        dd_scene_join(s, i, i / CORNERS * CORNERS + (i + 1) % CORNERS, burgers, normal);
    }
}

typedef struct plot {
    const char *generated;        /* NULL: screw_scene() */
    double burgers[3], normal[3]; /* not normalized */
    const char *options;
    int steps;
    bool wanted[DD_TOPOLOGY_KINDS]; /* must occur */
} plot;

static const plot plots[] = {
    {.generated = "--generate loops:n=24,box=4000,maxseg=150,radius=350,seed=4",
     .options = "--cells=4 --max-seg=150 --min-seg=40 --r-tol=4 --rann=16 --dt=1e-11 --strain-rate=1e6",
     .steps = 40,
     .wanted = {[DD_TOPOLOGY_SPLIT] = true,
                [DD_TOPOLOGY_COLLIDE] = true,
                [DD_TOPOLOGY_ZIP] = true,
                [DD_TOPOLOGY_COARSEN] = true,
                [DD_TOPOLOGY_REFINE] = true}},
    /* Stress resolved on (1 -1 -1) only, (0 1 -1) in BCC: b n + n b. */
    {.burgers = {1, 1, 0},
     .normal = {1, -1, 1},
     .options = "--cells=4 --max-seg=150 --min-seg=40 --r-tol=1 --rann=2 --dt=1e-12 --cross-slip=yes "
                "--stress=300e6,-300e6,0,-150e6,-150e6,0",
     .steps = 10,
     .wanted = {[DD_TOPOLOGY_CROSS_SLIP] = true}},
    {.burgers = {1, 1, 1},
     .normal = {1, -1, 0},
     .options = "--mobility=BCC_0 --cells=4 --max-seg=150 --min-seg=40 --r-tol=1 --rann=2 --dt=1e-12 --cross-slip=yes "
                "--stress=0,500e6,-500e6,0,-250e6,250e6",
     .steps = 10,
     .wanted = {[DD_TOPOLOGY_CROSS_SLIP] = true}},
};

static void begin(dd_experiment *e, MPI_Comm comm, const plot *of)
{
    char words[512];

    snprintf(words, sizeof words, "--steps=1000 --rebalance=7 %s", of->options);
    if (of->generated != NULL) {
        dd_experiment_begin(e, comm, of->generated, words);
    } else {
        dd_scene scene;
        double burgers[3], normal[3];
        dd_v3_copy(burgers, of->burgers);
        dd_v3_copy(normal, of->normal);
        dd_v3_scale(1.0 / dd_v3_length(burgers), burgers);
        dd_v3_scale(1.0 / dd_v3_length(normal), normal);
        screw_scene(burgers, normal, &scene);
        dd_experiment_of(e, comm, &scene, words);
    }
}

static void live(MPI_Comm comm, const plot *of, story *told)
{
    double before[9], after[9], last[6] = {0.0};
    dd_experiment e;
    int size, every;

    MPI_Comm_size(comm, &size);
    every = size > 1 ? EVERY : 1;
    *told = (story){.nodes = 0};
    begin(&e, comm, of);
    if (e.runs) {
        area_of(&e.sim, before);
    }
    for (int s = 0; s < of->steps && dd_experiment_step(&e); s++) {
        if ((s + 1) % every == 0) {
            area_of(&e.sim, after);
            check_step(&e.sim, before, after, last);
            memcpy(last, e.sim.loading.strain, sizeof last);
            memcpy(before, after, sizeof before);
            if (of->generated != NULL) {
                check_close(&e.sim, 100);
            }
        }
        for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
            told->done[k] += e.sim.now.topology.done[k];
        }
    }
    if (e.runs) {
        told->nodes = e.sim.now.nodes;
        memcpy(told->strain, last, sizeof last);
        memcpy(told->stress, e.sim.loading.stress, sizeof told->stress);
    }
    dd_experiment_end(&e);
}

static void compare(int nranks, const story *told, const story *alone)
{
    double size = 0.0, stress = 0.0;

    for (int k = 0; k < 6; k++) {
        size += fabs(alone->strain[k]);
        stress += fabs(alone->stress[k]);
    }
    CHECK(told->nodes == alone->nodes && memcmp(told->done, alone->done, sizeof told->done) == 0,
          "%d ranks: another network", nranks);
    for (int k = 0; k < 6; k++) {
        CHECK(fabs(told->strain[k] - alone->strain[k]) <= 1e-9 * size, "%d ranks: strain %d is %.12g, alone %.12g",
              nranks, k, told->strain[k], alone->strain[k]);
        CHECK(fabs(told->stress[k] - alone->stress[k]) <= 1e-9 * stress, "%d ranks: stress %d is %.12g, alone %.12g",
              nranks, k, told->stress[k], alone->stress[k]);
    }
}

static void tell(const plot *of)
{
    story alone = {0}, told;
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 1; n <= size; n *= 4) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, rank < n, 0, &comm);
        if (rank < n) {
            live(comm, of, n == 1 ? &alone : &told);
        }
        MPI_Comm_free(&comm);
        MPI_Bcast(&alone, (int)sizeof alone, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (n > 1 && rank < n) {
            compare(n, &told, &alone);
        }
    }
    for (int k = 0; k < DD_TOPOLOGY_KINDS && rank == 0; k++) {
        CHECK(!of->wanted[k] || alone.done[k] > 0, "no operation was of kind %d", k);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
        tell(&plots[i]);
    }
    return dd_experiments_end();
}
