/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of maps that are made while the run goes on, in virtual time (Pearce 2014, figures 5.1, 5.10 to 5.12).
 *
 *     mpirun -n RANKS build/bench/study_beside price PARTS METHOD gravity GENERATOR
 *     build/bench/study_beside run PARTS sfc:1=SECONDS,2=... METHOD:1=... gravity GENERATOR
 *
 * instead of `gravity GENERATOR` also `network OPTION...` of dislocation. The first prints what a map costs on these
 * ranks, but to line owners up: CPU seconds of the one that needs most, the least of up to TIMES. The second takes such
 * seconds, follows a run of STEPS steps, makes maps of its owners at every step, and says what all steps last over even
 * ones, by who makes maps when. A step is the largest load of a part, and the most bytes that one gets at 1 GB/s, the
 * branches of a tree among them; DEAR multiplies the cost of interactions, for codes with more expensive ones. A map is
 * made of the weights of the step before. A late map is there when the seconds that it costs are over, is taken before
 * the next step, and repaired where the work is over the tolerance; the best interval between a take and the next offer
 * is printed, as of maps in line. Ranks that make maps leave their work to the rest. In line on all parts a
 * map costs what the resource model's fit says, no less than the least of the samples; `capped`, no more than on the
 * last number of ranks, as more would wait for each other on these cores; `free`, nothing.
 *
 * Left out: migration, latency, noise, differences of maps with fewer parts, and maps by work units.
 *
 * CSV: dear,step_seconds,maps,method,balancers,number,total. number: the interval that is best, or steps until the
 * first late map. `chosen` rows: the choice of eqp_lazy_decide() of maps in line, by given ranks, or by a thread where
 * the method allows it.
 */
#include "history.h"
#include "timing.h"

#include <equipoise/balance.h>
#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/lazy.h>
#include <equipoise/more/lazy_model.h>

#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 32, TIMES = 3, MOST_SAMPLES = 16, MOST_GIVEN = 8 };

static const double tolerance = 0.01, byte = 1e-9;
static const double dears[] = {1.0, 10.0, 20.0, 100.0};

/* Seconds of a map for ranks that do not wait for it: measured with 7260 owners on 16 ranks. */
static const double offer = 0.14e-3, take = 0.23e-3, repair_seconds = 0.5e-3;

/* Repairs of a late map: none, one when it is taken, or also one every 1, 2, 4 or 8 steps. */
enum { NEVER = -1, TAKEN = 0, MOST_APART = 8, CARES = 5 };

#define FIT_TERMS 3

/* Terms of a fit, fewer before more: divided, fixed, per_rank. The first of equally good subsets wins. */
static const int subsets[][FIT_TERMS] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};

/* Sums of products of the three columns 1/n, 1, n and of the right side, each scaled to length 1. */
typedef struct normal_sums {
    double scale[FIT_TERMS];
    double product[FIT_TERMS][FIT_TERMS];
    double right[FIT_TERMS];
} normal_sums;

static void columns_of(int ranks, double weight, double column[FIT_TERMS])
{
    column[0] = weight / ranks;
    column[1] = weight;
    column[2] = weight * ranks;
}

/* unit: seconds by which a sample is divided so that errors are relative. */
static double unit_of(double seconds, double shortest)
{
    return seconds > 0.0 ? seconds : shortest;
}

static void add_up(int n, const int *ranks, const double *seconds, double shortest, normal_sums *sums)
{
    double column[FIT_TERMS];

    *sums = (normal_sums){.scale = {0.0}};
    for (int i = 0; i < n; i++) {
        columns_of(ranks[i], shortest / unit_of(seconds[i], shortest), column);
        for (int k = 0; k < FIT_TERMS; k++) {
            sums->scale[k] += column[k] * column[k];
        }
    }
    for (int k = 0; k < FIT_TERMS; k++) {
        sums->scale[k] = sqrt(sums->scale[k]);
    }
    for (int i = 0; i < n; i++) {
        columns_of(ranks[i], shortest / unit_of(seconds[i], shortest), column);
        for (int k = 0; k < FIT_TERMS; k++) {
            for (int l = 0; l < FIT_TERMS; l++) {
                sums->product[k][l] += column[k] / sums->scale[k] * (column[l] / sums->scale[l]);
            }
            sums->right[k] += column[k] / sums->scale[k] * (seconds[i] / unit_of(seconds[i], shortest));
        }
    }
}

/* The least squares of a subset by Gauss-Jordan with diagonal pivots, which suffices for a matrix of this kind. False
 * where the samples do not tell its terms apart. */
static bool solve(const normal_sums *sums, const int subset[FIT_TERMS], double x[FIT_TERMS])
{
    double a[FIT_TERMS][FIT_TERMS + 1];

    for (int k = 0; k < FIT_TERMS; k++) {
        for (int l = 0; l < FIT_TERMS; l++) {
            a[k][l] = subset[k] && subset[l] ? sums->product[k][l] : k == l;
        }
        a[k][FIT_TERMS] = subset[k] ? sums->right[k] : 0.0;
    }
    for (int k = 0; k < FIT_TERMS; k++) {
        if (!(a[k][k] > 1e-9)) {
            return false;
        }
        for (int l = 0; l < FIT_TERMS; l++) {
            const double times = a[l][k] / a[k][k];
            for (int c = k; c <= FIT_TERMS && l != k; c++) {
                a[l][c] -= times * a[k][c];
            }
        }
    }
    for (int k = 0; k < FIT_TERMS; k++) {
        x[k] = a[k][FIT_TERMS] / a[k][k] / sums->scale[k];
    }
    return true;
}

static double error_of(int n, const int *ranks, const double *seconds, double shortest, const double x[FIT_TERMS])
{
    double column[FIT_TERMS], sum = 0.0;

    for (int i = 0; i < n; i++) {
        const double unit = unit_of(seconds[i], shortest);
        columns_of(ranks[i], shortest / unit, column);
        const double off = x[0] * column[0] + x[1] * column[1] + x[2] * column[2] - seconds[i] / unit;
        sum += off * off;
    }
    return sum;
}

/* The least squares without negative terms are the plain ones of the subset of terms that are not zero. */
static void fit_seconds(int n, const int *ranks, const double *seconds, eqp_seconds_fit *fit)
{
    double best[FIT_TERMS] = {0.0}, least = INFINITY, shortest = INFINITY;
    normal_sums sums;

    for (int i = 0; i < n; i++) {
        shortest = seconds[i] > 0.0 ? fmin(shortest, seconds[i]) : shortest;
    }
    if (shortest == INFINITY) {
        *fit = (eqp_seconds_fit){0.0, 0.0, 0.0};
        return;
    }
    add_up(n, ranks, seconds, shortest, &sums);
    for (size_t s = 0; s < sizeof subsets / sizeof subsets[0]; s++) {
        double x[FIT_TERMS];
        if (!solve(&sums, subsets[s], x) || x[0] < 0.0 || x[1] < 0.0 || x[2] < 0.0) {
            continue;
        }
        const double error = error_of(n, ranks, seconds, shortest, x);
        if (error < least - 1e-12 * (1.0 + n)) {
            least = error;
            for (int k = 0; k < FIT_TERMS; k++) {
                best[k] = x[k];
            }
        }
    }
    *fit = (eqp_seconds_fit){
        .divided = shortest * best[0], .fixed = shortest * best[1], .per_rank = shortest * best[2]};
}

static double seconds_at(const eqp_seconds_fit *fit, double n)
{
    return fit->fixed + fit->divided / n + fit->per_rank * n;
}

/* A map from the step in which it is taken, with what is done to it. */
typedef struct course {
    int *part; /* [items] as the last step has it that is known */
    int until; /* the first step that is not known */
    bool mended, repaired[STEPS];
    double load[STEPS], bytes[STEPS];
} course;

/* A method, the cost of its maps, and the maps. */
typedef struct maker {
    const eqp_method *method;
    int n, ranks[MOST_SAMPLES + 1];
    double seconds[MOST_SAMPLES + 1];
    eqp_seconds_fit fit;
    int *part[STEPS];                               /* [items] of the map before each step; NULL: not made */
    double load[STEPS][STEPS], bytes[STEPS][STEPS]; /* of map s in step t; < 0: not known */
    course *course[STEPS][STEPS][CARES];            /* of map s taken in step t; NULL: not known */
} maker;

typedef struct world {
    bench_history h;
    int nparts;
    double dear;
    int *now; /* [items] */
} world;

static void check(int code)
{
    if (code) {
        bench_die("study_beside", eqp_error_text(code));
    }
}

/* The part of each of a frame's owners: that of most of its items; for a new owner, the part of its predecessor on the
 * curve. */
static void parts_of(const bench_frame *f, const int *item_part, int *part)
{
    for (int64_t o = 0; o < f->n; o++) {
        int most = -1, votes = 0;
        for (int64_t i = f->first[o]; i < f->first[o + 1]; i++) {
            const int vote = item_part[f->item[i]];
            most = votes == 0 ? vote : most;
            votes += vote == most ? 1 : -1;
        }
        part[o] = most >= 0 ? most : o > 0 ? part[o - 1] : 0;
    }
}

static void tell_items(const bench_frame *f, const int *part, int *item_part)
{
    for (int64_t o = 0; o < f->n; o++) {
        for (int64_t i = f->first[o]; i < f->first[o + 1]; i++) {
            item_part[f->item[i]] = part[o];
        }
    }
}

/* Assigns this rank's owners of a frame to parts and returns the CPU seconds. part: [owners], complete on one rank. */
static double assign(MPI_Comm comm, const eqp_method *method, const bench_frame *f, int nparts, int *part)
{
    eqp_balance_options options = eqp_balance_options_defaults();
    int64_t *id = NULL, *count = NULL, *pin = NULL, *pin_first = NULL;
    double *cost = NULL;
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int64_t begin = f->n * rank / size, n = f->n * (rank + 1) / size - begin, at = f->pin_first[begin];
    const int64_t npins = f->pin_first[begin + n] - at;
    const bool pins = (method->flags & EQP_NEEDS_PINS) != 0; /* as in runs */
    check(eqp_array_create(&id, n, sizeof *id));
    check(eqp_array_create(&count, n, sizeof *count));
    check(eqp_array_create(&pin_first, n + 1, sizeof *pin_first));
    check(eqp_array_create(&pin, npins, sizeof *pin));
    check(eqp_array_create(&cost, npins, sizeof *cost));
    for (int64_t o = 0; o < n; o++) {
        id[o] = begin + o;
        count[o] = f->first[begin + o + 1] - f->first[begin + o];
        pin_first[o + 1] = f->pin_first[begin + o + 1] - at;
    }
    for (int64_t i = 0; i < npins; i++) {
        pin[i] = f->pin[at + i];
        cost[i] = f->bytes[pin[i]];
    }
    const eqp_balance_items items = {.n = n,
                                     .id = id,
                                     .weight = f->weight + begin,
                                     .particles = count,
                                     .point = f->point + 3 * begin,
                                     .source = f->source + 3 * begin,
                                     .pin_first = pins ? pin_first : NULL,
                                     .pin = pins ? pin : NULL,
                                     .pin_weight = pins ? cost : NULL};
    options.nparts = nparts;
    const double start = eqp_cpu_seconds();
    check(eqp_balance(comm, method, &items, &options, part, NULL));
    const double seconds = eqp_cpu_seconds_since(start);
    free(id);
    free(count);
    free(pin_first);
    free(pin);
    free(cost);
    return seconds;
}

static void print_price(const bench_history *h, const eqp_method *method, int nparts)
{
    double least = INFINITY, most;
    int *part = NULL, rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(eqp_array_create(&part, h->frame[0].n, sizeof *part));
    for (int i = 0; i < TIMES && least > i; i++) { /* an expensive one is measured once or twice */
        MPI_Barrier(MPI_COMM_WORLD);
        const double seconds = assign(MPI_COMM_WORLD, method, &h->frame[0], nparts, part);
        MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        least = fmin(least, most);
    }
    if (rank == 0) {
        printf("%s,%d,%.6f,%lld\n", method->name, size, least, (long long)h->frame[0].n);
    }
    free(part);
}

/* The largest load in nanoseconds, and the most bytes, of a step with owners in these parts. */
static void weigh(const bench_frame *f, const int *part, int nparts, double *load, double *bytes)
{
    double *of = NULL, *in = NULL;
    int64_t *begin = NULL, *owner = NULL, *piece = bench_pieces(f, part);
    double common = 0.0;
    int *seen = NULL;

    check(eqp_array_create(&of, nparts, sizeof *of));
    check(eqp_array_create(&in, nparts, sizeof *in));
    check(eqp_array_create(&begin, nparts + 1, sizeof *begin));
    check(eqp_array_create(&owner, f->n, sizeof *owner));
    check(eqp_array_create(&seen, f->nsources, sizeof *seen));
    for (int64_t o = 0; o < f->n; o++) {
        of[part[o]] += f->weight[o];
        begin[part[o] + 1]++;
    }
    for (int p = 0; p < nparts; p++) {
        begin[p + 1] += begin[p];
    }
    for (int64_t o = f->n - 1; o >= 0; o--) {
        owner[--begin[part[o] + 1]] = o;
    }
    for (int64_t k = 0; k < f->n; k++) {
        const int64_t o = owner[k];
        for (int64_t i = f->pin_first[o]; i < f->pin_first[o + 1]; i++) {
            const int32_t source = f->pin[i];
            if (seen[source] != part[o] + 1 && bench_is_below(f, piece, source) && !bench_is_branch(f, piece, source)) {
                seen[source] = part[o] + 1;
                in[part[o]] += part[f->home[source]] != part[o] ? f->bytes[source] : 0;
            }
        }
    }
    for (int64_t s = 0; s < f->nsources; s++) {
        if (bench_is_branch(f, piece, s)) {
            common += f->bytes[s];
            in[part[f->home[s]]] -= f->bytes[s];
        }
    }
    *load = *bytes = 0.0;
    for (int p = 0; p < nparts; p++) {
        *load = fmax(*load, of[p]);
        *bytes = fmax(*bytes, in[p] + common);
    }
    free(of);
    free(in);
    free(begin);
    free(piece);
    free(owner);
    free(seen);
}

static double even(const world *w, int t)
{
    const bench_frame *f = &w->h.frame[t];
    double sum = 0.0;

    for (int64_t o = 0; o < f->n; o++) {
        sum += f->weight[o];
    }
    return w->dear * 1e-9 * sum / w->nparts;
}

static const bench_frame *before(const world *w, int t)
{
    return &w->h.frame[t > 0 ? t - 1 : 0];
}

/* The map before step s. */
static const int *map_of(world *w, maker *m, int s)
{
    if (m->part[s] == NULL) {
        const bench_frame *f = before(w, s);
        check(eqp_array_create(&m->part[s], w->h.nitems, sizeof(int)));
        for (int64_t i = 0; i < w->h.nitems; i++) {
            m->part[s][i] = -1;
        }
        (void)assign(MPI_COMM_SELF, m->method, f, w->nparts, w->now);
        tell_items(f, w->now, m->part[s]);
    }
    return m->part[s];
}

static double seconds_of(const world *w, double load, double bytes, double scale)
{
    return w->dear * scale * 1e-9 * load + byte * bytes;
}

/* Step t with map s as it is; a part has `scale` times its load. */
static double step(world *w, maker *m, int s, int t, double scale)
{
    if (m->load[s][t] < 0.0) {
        parts_of(&w->h.frame[t], map_of(w, m, s), w->now);
        weigh(&w->h.frame[t], w->now, w->nparts, &m->load[s][t], &m->bytes[s][t]);
    }
    return seconds_of(w, m->load[s][t], m->bytes[s][t], scale);
}

/* Repairs the parts of items by the step before t, where they are uneven; whether anything moved. */
static bool mend(world *w, int t, int *part)
{
    const bench_frame *f = before(w, t);
    eqp_repair_result result;
    eqp_part_loads loads;

    parts_of(f, part, w->now);
    check(eqp_parts_load(f->n, f->weight, w->now, w->nparts, NULL, NULL, &loads));
    if (loads.imbalance <= tolerance) {
        return false;
    }
    check(eqp_repair(f->n, f->weight, NULL, w->nparts, NULL, tolerance, w->now, &result));
    tell_items(f, w->now, part);
    return result.moved > 0;
}

/* Map s, taken in step `taken` and repaired by `care`, up to step t. */
static const course *course_of(world *w, maker *m, int s, int taken, int care, int t)
{
    const int number = care <= 2 ? care : care == 4 ? 3 : 4;
    course **known = &m->course[s][taken][number], *c = *known;

    if (c == NULL) {
        check(eqp_array_create(known, 1, sizeof **known));
        c = *known;
        check(eqp_array_create(&c->part, w->h.nitems, sizeof *c->part));
        memcpy(c->part, map_of(w, m, s), (size_t)w->h.nitems * sizeof *c->part);
        c->until = taken;
    }
    for (; c->until <= t; c->until++) {
        const int u = c->until;
        const bool due = u > 0 && (u == taken || (care > 0 && (u - taken) % care == 0));
        c->repaired[u] = due && mend(w, u, c->part);
        c->mended = c->mended || c->repaired[u];
        if (c->mended) {
            parts_of(&w->h.frame[u], c->part, w->now);
            weigh(&w->h.frame[u], w->now, w->nparts, &c->load[u], &c->bytes[u]);
        } else {
            (void)step(w, m, s, u, 1.0);
            c->load[u] = m->load[s][u];
            c->bytes[u] = m->bytes[s][u];
        }
    }
    return c;
}

/* Such a step, and the repair before it. */
static double step_of(world *w, maker *m, int s, int taken, int care, int t, double scale)
{
    if (care == NEVER) {
        return step(w, m, s, t, scale);
    }
    const course *c = course_of(w, m, s, taken, care, t);
    return seconds_of(w, c->load[t], c->bytes[t], scale) + (c->repaired[t] ? repair_seconds : 0.0);
}

static double all_even(const world *w)
{
    double sum = 0.0;

    for (int t = 0; t < STEPS; t++) {
        sum += even(w, t);
    }
    return sum;
}

static void print(const world *w, const char *maps, const maker *m, int balancers, int number, double seconds)
{
    printf("%g,%.6f,%s,%s,%d,%d,%.4f\n", w->dear, all_even(w) / STEPS, maps, m->method->name, balancers, number,
           seconds / all_even(w));
}

/* Maps in line at this cost each; the best interval. */
static void in_line(world *w, maker *m, const char *maps, int balancers, double price)
{
    double best = INFINITY;
    int interval = 0;

    for (int every = 1; every < STEPS; every++) {
        double sum = 0.0;
        for (int t = 0; t < STEPS; t++) {
            sum += step(w, m, t / every * every, t, 1.0) + (t > 0 && t % every == 0 ? price : 0.0);
        }
        interval = sum < best ? every : interval;
        best = fmin(best, sum);
    }
    print(w, maps, m, balancers, interval, best);
}

static void never(world *w, maker *m)
{
    double sum = 0.0;

    for (int t = 0; t < STEPS; t++) {
        sum += step(w, m, 0, t, 1.0);
    }
    print(w, "first", m, 0, 0, sum);
}

/* The first map, repaired at intervals; the best interval. */
static void repaired(world *w, maker *m)
{
    double best = INFINITY;
    int interval = 0;

    for (int every = 1; every <= 8; every *= 2) {
        double sum = 0.0;
        for (int t = 0; t < STEPS; t++) {
            sum += step_of(w, m, 0, 0, every, t, 1.0);
        }
        interval = sum < best ? every : interval;
        best = fmin(best, sum);
    }
    print(w, "repaired", m, 0, interval, best);
}

/* Where a run with late maps stands. */
typedef struct late_run {
    double clock, begun;
    int offered, taken, in_force; /* steps; offered < 0: nothing is under way */
    int first;                    /* how late the first map was */
} late_run;

/* Offers and takes before a step, whatever is due. */
static void exchange(late_run *r, double price, int every, int t)
{
    if (r->offered >= 0 && t > r->offered && r->clock - r->begun >= price) {
        r->first = r->first == 0 ? t - r->offered : r->first;
        r->in_force = r->offered;
        r->taken = t;
        r->offered = -1;
        r->clock += take;
    }
    if (r->offered < 0 && t >= r->taken + every) {
        r->offered = t;
        r->begun = r->clock;
        r->clock += offer;
    }
}

/* Offers a number of steps after a take: `given` ranks are missing, or none if there is a spare core. */
static late_run run_beside(world *w, maker *m, int care, int makers, int given, int every)
{
    const double price = seconds_at(&m->fit, makers) + offer, scale = (double)w->nparts / (w->nparts - given);
    late_run r = {.offered = -1};

    for (int t = 0; t < STEPS; t++) {
        exchange(&r, price, every, t);
        r.clock += step_of(w, m, r.in_force, r.taken, care, t, scale);
    }
    return r;
}

/* The best interval of offers, and of repairs if they are repeated. */
static void beside(world *w, maker *m, const char *maps, int care, int makers, int given)
{
    late_run best = {.clock = INFINITY};

    for (int apart = care > 0 ? 1 : care; apart <= (care > 0 ? MOST_APART : care); apart += apart > 0 ? apart : 1) {
        for (int every = 1; every < STEPS; every *= 2) {
            const late_run r = run_beside(w, m, apart, makers, given, every);
            best = r.clock < best.clock ? r : best;
        }
    }
    print(w, maps, m, given, best.first, best.clock);
}

/* The choice of the resource model if the work drifts as it did under the first map. */
static void choose(world *w, maker *m, double in_line_price)
{
    eqp_lazy_model model = {.talk = {.fixed = offer},
                            .own = offer + take + repair_seconds,
                            .imbalance = 0.1,
                            .steps = STEPS,
                            .spare = true};
    eqp_lazy_options options = eqp_lazy_options_defaults();
    double sum = 0.0, grown = 0.0;

    for (int t = 0; t < 8; t++) {
        sum += even(w, t) / 8.0;
        grown += (step(w, m, 0, t, 1.0) / even(w, t) - step(w, m, 0, 0, 1.0) / even(w, 0)) / 28.0;
    }
    model.step.divided = w->nparts * sum;
    model.drift = fmax(grown, 0.0);
    maker all = *m; /* a map on all ranks costs what one in line does here */
    all.ranks[all.n] = w->nparts;
    all.seconds[all.n++] = in_line_price;
    fit_seconds(all.n, all.ranks, all.seconds, &model.map);
    check(eqp_lazy_decide(&model, w->nparts, m->method->assign_alone, &options, NULL));
    static const char *const word[] = {
        [EQP_LAZY_NONE] = "inline", [EQP_LAZY_BY_THREAD] = "thread", [EQP_LAZY_BY_RANKS] = "beside"};
    printf("%g,%.6f,chosen,%s,%d,0,%s\n", w->dear, sum, m->method->name, options.balancers, word[options.mode]);
}

static void compare(world *w, maker *m)
{
    double least = INFINITY, best = INFINITY;
    int on = 1;

    for (int i = 0; i < m->n; i++) {
        on = m->seconds[i] < least ? m->ranks[i] : on;
        least = fmin(least, m->seconds[i]);
    }
    const double price = fmax(least, seconds_at(&m->fit, w->nparts));
    best = least + offer + take;
    never(w, m);
    repaired(w, m);
    in_line(w, m, "free", 0, 0.0);
    in_line(w, m, "inline", w->nparts, price);
    in_line(w, m, "capped", w->nparts, fmin(price, m->seconds[m->n - 1]));
    in_line(w, m, "decoupled", on, best);
    for (int given = 1; given <= MOST_GIVEN && given < w->nparts; given *= 2) {
        beside(w, m, "stale", NEVER, given, given);
        beside(w, m, "beside", TAKEN, given, given);
        beside(w, m, "tended", MOST_APART, given, given);
    }
    beside(w, m, "stale", NEVER, 1, 0);
    beside(w, m, "beside", TAKEN, 1, 0);
    beside(w, m, "tended", MOST_APART, 1, 0);
    choose(w, m, price);
}

/* METHOD:RANKS=SECONDS,... */
static void read_prices(char *text, maker *m)
{
    char *at = strchr(text, ':');

    if (at == NULL) {
        bench_die("study_beside", "prices are METHOD:RANKS=SECONDS,...");
    }
    *at++ = '\0';
    m->method = eqp_method_find(text);
    while (at != NULL && *at != '\0' && m->n < MOST_SAMPLES) {
        char *end;
        m->ranks[m->n] = (int)strtol(at, &end, 10);
        m->seconds[m->n++] = *end == '=' ? strtod(end + 1, &end) : -1.0;
        at = *end == ',' ? end + 1 : NULL;
    }
    if (m->method == NULL || m->n == 0) {
        bench_die("study_beside", "no such method, or no prices");
    }
    fit_seconds(m->n, m->ranks, m->seconds, &m->fit);
    for (int s = 0; s < STEPS; s++) {
        for (int t = 0; t < STEPS; t++) {
            m->load[s][t] = -1.0;
        }
    }
}

static void free_maps(maker *m)
{
    for (int s = 0; s < STEPS; s++) {
        free(m->part[s]);
        for (int i = 0; i < STEPS * CARES; i++) {
            course *c = m->course[s][i / CARES][i % CARES];
            if (c != NULL) {
                free(c->part);
            }
            free(c);
        }
    }
}

static void follow(int argc, char **argv, int nframes, bench_history *h)
{
    if (argc == 2 && strcmp(argv[0], "gravity") == 0) {
        bench_follow_particles(argv[1], nframes, h);
    } else if (argc > 1 && strcmp(argv[0], "network") == 0) {
        bench_follow_network(argc - 1, argv + 1, nframes, h);
    } else {
        bench_die("study_beside", "give gravity GENERATOR, or network OPTION...");
    }
}

int main(int argc, char **argv)
{
    static maker makers[2];
    world w = {.nparts = argc > 2 ? atoi(argv[2]) : 0};

    MPI_Init(&argc, &argv);
    const bool price = argc > 5 && strcmp(argv[1], "price") == 0 && eqp_method_find(argv[3]) != NULL;
    if (w.nparts < 2 || !(price || (argc > 6 && strcmp(argv[1], "run") == 0))) {
        bench_die("study_beside", "give price PARTS METHOD INPUT..., or run PARTS PRICES PRICES INPUT...");
    }
    if (price) {
        follow(argc - 4, argv + 4, 1, &w.h);
        print_price(&w.h, eqp_method_find(argv[3]), w.nparts);
    } else {
        int64_t most = 0;
        follow(argc - 5, argv + 5, STEPS, &w.h);
        for (int s = 0; s < STEPS; s++) {
            most = w.h.frame[s].n > most ? w.h.frame[s].n : most;
        }
        check(eqp_array_create(&w.now, most, sizeof *w.now));
        read_prices(argv[3], &makers[0]);
        read_prices(argv[4], &makers[1]);
        printf("dear,step_seconds,maps,method,balancers,number,total\n");
        for (size_t d = 0; d < sizeof dears / sizeof dears[0]; d++) {
            w.dear = dears[d];
            compare(&w, &makers[0]);
            compare(&w, &makers[1]);
        }
        free_maps(&makers[0]);
        free_maps(&makers[1]);
        free(w.now);
    }
    bench_history_free(&w.h);
    MPI_Finalize();
    return 0;
}
