/* SPDX-License-Identifier: BSD-3-Clause */
/* What maps that are made beside the run cost the ranks of the application, as CSV: a balancer whose owners' work moves
 * along a line, by `sfc`, and the bare protocol with as many bytes as it offers.
 *
 *   mpirun -n 8 --oversubscribe --bind-to none build/bench/bench_lazy [OWNERS [DELAY [CYCLES [MS]]]]
 *
 * Arguments: owners of all ranks (32768), steps that a map is late (8), maps (24), busy milliseconds of a step (5).
 * With
 * `--lazy 1` the last rank makes maps and is not counted. Times are microseconds of CPU time: of each rank the median,
 * and of those the largest. offer_us, take_us: eqp_balancer_advise() where it does that, without the code's moving of
 * owners; or eqp_lazy_offer(), eqp_lazy_take(). step_us: eqp_balancer_record() and other advices; or eqp_lazy_poll().
 * share: all that per step, beyond step_us of `none`, in percent of a step. mended: maps that a repair changed. All
 * ranks meet before anything is timed, so that the steps' unevenness is not. */
#include "timing.h"

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/lazy.h>

#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long nowners = 32768, delay = 8, cycles = 24, busy_ms = 5;

typedef struct times {
    bench_times offer, take, step;
    int64_t bytes;   /* of this rank's last offer */
    int64_t nmended; /* maps that were mended */
} times;

typedef struct world {
    MPI_Comm comm;
    int rank, size;
    int64_t step, n, *mine; /* mine: [n] owners that live here, ascending */
    int64_t *home, *label;  /* [nowners] */
} world;

static void check(int code, const char *what)
{
    if (code != EQP_OK) {
        fprintf(stderr, "bench_lazy: %s: %s\n", what, eqp_error_text(code));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* All ranks meet, after so many busy milliseconds. */
static double meet(MPI_Comm comm, long busy)
{
    const double begin = eqp_cpu_seconds();

    while (eqp_cpu_seconds_since(begin) < 1e-3 * (double)busy) {
    }
    MPI_Barrier(comm);
    return eqp_cpu_seconds();
}

/* A hump of work that moves along the line. */
static int64_t work_of(const world *w, int64_t i)
{
    const int64_t away = llabs(i - nowners * (100 + w->step) / 500 % nowners) * 4000 / nowners;

    return 100 + (away < 400 ? 400 - away : 0);
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;
    int code = EQP_OK;

    for (int64_t k = 0; k < w->n && code == EQP_OK; k++) {
        const int64_t i = w->mine[k];
        eqp_owner owner = {.key = (uint64_t)i << 30, .id = i, .pin = i, .particles = 1, .bytes = 64, .interactions = 1};
        owner.home = w->rank;
        owner.at_home = k;
        owner.tag = w->rank;
        owner.label = w->label[i];
        owner.count[0] = kind == EQP_SURVEY_WORK ? work_of(w, i) : 0;
        code = eqp_survey_add_owner(list, &owner);
    }
    return code;
}

static int give_labels(void *user, int64_t first)
{
    world *w = user;

    for (int64_t k = 0; k < w->n; k++) {
        w->label[w->mine[k]] = first + k;
    }
    return EQP_OK;
}

/* All ranks hear where owners live, and their labels; they are 0 on those that do not know them. */
static void settle(world *w)
{
    MPI_Allreduce(MPI_IN_PLACE, w->home, (int)nowners, MPI_INT64_T, MPI_SUM, w->comm);
    MPI_Allreduce(MPI_IN_PLACE, w->label, (int)nowners, MPI_INT64_T, MPI_SUM, w->comm);
    w->n = 0;
    for (int64_t i = 0; i < nowners; i++) {
        if (w->home[i] == w->rank) {
            w->mine[w->n++] = i;
        }
    }
}

static void move(world *w, const eqp_placement *placement)
{
    for (int64_t i = 0, k = 0; i < nowners; i++) {
        const bool here = w->home[i] == w->rank;
        w->home[i] = here ? placement[k++].home : 0;
        w->label[i] = here ? w->label[i] : 0;
    }
    settle(w);
}

static void world_open(MPI_Comm comm, world *w)
{
    *w = (world){.comm = comm};
    MPI_Comm_rank(comm, &w->rank);
    MPI_Comm_size(comm, &w->size);
    check(eqp_array_create(&w->home, nowners, sizeof *w->home), "owners");
    check(eqp_array_create(&w->label, nowners, sizeof *w->label), "owners");
    check(eqp_array_create(&w->mine, nowners, sizeof *w->mine), "owners");
    for (int64_t i = w->rank * nowners / w->size; i < (w->rank + 1) * nowners / w->size; i++) {
        w->home[i] = w->rank;
    }
    settle(w);
}

/* A step after its advice, which took so long if it was idle; returns whether a late map was mended in it. */
static bool go_on(world *w, eqp_balancer *b, const eqp_advice *advice, double idle, times *t)
{
    int64_t count = 0;
    eqp_rank_row row = {.balance_seconds = 1e-4};
    eqp_step told;

    if (advice->changed) {
        move(w, advice->placement);
    }
    for (int64_t k = 0; k < w->n; k++) {
        count += work_of(w, w->mine[k]);
    }
    row.load = 1e-8 * (double)count;
    const double record = meet(w->comm, busy_ms);
    check(eqp_balancer_record(b, &(eqp_work){.row = &row, .count = &count}, &told), "record");
    bench_times_add_since(&t->step, record - idle);
    w->step++;
    return strstr(told.why, "mended") != NULL;
}

static void run_balancer(MPI_Comm comm, eqp_lazy *lazy, times *t)
{
    world w;
    const eqp_problem problem = {.user = &w, .survey = survey, .label = give_labels};
    eqp_balancer_options options;
    eqp_balancer *b = NULL;
    eqp_advice advice;

    world_open(comm, &w);
    check(eqp_balancer_options_init(&options, sizeof options), "options");
    check(eqp_choice_parse(NULL, NULL, "sfc", &options.method, NULL), "method");
    check(eqp_policy_options_parse(lazy != NULL ? "1" : "never", &options.policy), "policy");
    options.calibrate = false;
    options.lazy = lazy;
    check(eqp_balancer_create(comm, &problem, &options, &b, NULL), "balancer");
    for (long s = 0; s <= cycles * (delay + 1); s++) {
        const double begin = meet(comm, 0);
        check(eqp_balancer_advise(b, 1000, &advice, NULL), "advice");
        const double seconds = eqp_cpu_seconds_since(begin);
        const bool offers = advice.action == EQP_KEEP && advice.bytes > 0, idle = !offers && !advice.changed;
        if (s <= delay) { /* the first map is made in line, and the first one beside it warms up */
            *t = (times){.bytes = 0};
        } else if (!idle) {
            bench_times_add(offers ? &t->offer : &t->take, seconds);
        }
        t->bytes = offers ? advice.bytes : t->bytes;
        t->nmended += go_on(&w, b, &advice, idle ? seconds : 0.0, t);
    }
    eqp_balancer_free(b);
    free(w.home);
    free(w.label);
    free(w.mine);
}

/* A map as large as that of the balancer, at once. */
static int make(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                eqp_lazy_parcel *answer)
{
    int code = EQP_OK;

    (void)user, (void)balancers, (void)offer;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        answer[i].bytes = (size_t)(nowners / nranks) * sizeof(eqp_placement);
        code = eqp_array_create(&answer[i].data, (int64_t)answer[i].bytes, 1);
    }
    return code;
}

static void run_bare(MPI_Comm comm, eqp_lazy *lazy, int64_t bytes, times *t)
{
    char *data = NULL;
    eqp_lazy_parcel answer;
    int64_t step = 0;

    check(eqp_array_create(&data, bytes, 1), "offer");
    check(eqp_lazy_host(lazy, make, NULL), "host");
    for (long c = 0; c < cycles; c++) {
        eqp_lazy_phase news = EQP_LAZY_IDLE;
        double begin = meet(comm, 0);
        check(eqp_lazy_offer(lazy, step, (size_t)bytes, data), "offer");
        bench_times_add_since(&t->offer, begin);
        while (news != EQP_LAZY_READY) {
            begin = meet(comm, busy_ms);
            check(eqp_lazy_poll(lazy, ++step, &news), "poll");
            bench_times_add_since(&t->step, begin);
            check(news == EQP_LAZY_LOST ? EQP_ERR_STATE : EQP_OK, "lost");
        }
        begin = meet(comm, 0);
        check(eqp_lazy_take(lazy, &answer), "take");
        bench_times_add_since(&t->take, begin);
    }
    t->bytes = bytes;
    free(data);
}

/* The largest of the ranks' medians. */
static double most_us(MPI_Comm comm, const bench_times *of)
{
    double most = 1e6 * bench_median(of);

    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    return most;
}

/* none: microseconds of a step without lazy maps. */
static void print(MPI_Comm comm, const char *what, const char *words, const times *t, double none)
{
    const double offer = most_us(comm, &t->offer), take = most_us(comm, &t->take), step = most_us(comm, &t->step);
    const double share = ((offer + take) / (double)delay + fmax(step - none, 0.0)) / (10.0 * (double)busy_ms);
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0) {
        printf("%s,%s,%d,%ld,%lld,%ld,%ld,%.1f,%.1f,%.1f,%lld,%.3f\n", what, words, size, nowners, (long long)t->bytes,
               delay, busy_ms, offer, take, step, (long long)t->nmended, share);
        fflush(stdout);
    }
}

/* *none, *bytes: of the last balancer without and with lazy maps. */
static void run(bool bare, const char *words, double *none, int64_t *bytes)
{
    eqp_lazy_options options = eqp_lazy_options_defaults();
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = NULL;
    times t = {.bytes = 0};

    check(eqp_lazy_options_parse(words, &options, NULL), words);
    check(eqp_lazy_split(MPI_COMM_WORLD, &options, &mine, &lazy, NULL), words);
    if (eqp_lazy_serves(lazy)) {
        check(bare ? eqp_lazy_serve(lazy, make, NULL) : eqp_balancer_serve(lazy, NULL), "serve");
    } else if (bare) {
        run_bare(mine, lazy, *bytes, &t);
        print(mine, "bare", words, &t, 0.0);
    } else {
        run_balancer(mine, lazy, &t);
        *bytes = t.bytes;
        *none = lazy == NULL ? most_us(mine, &t.step) : *none;
        print(mine, "balancer", words, &t, *none);
    }
    check(eqp_lazy_leave(&lazy, NULL), "leave");
    eqp_comm_free(&mine);
}

int main(int argc, char **argv)
{
    static const char *const maker[] = {"0", "thread", "1"};
    long *const number[] = {&nowners, &delay, &cycles, &busy_ms};
    char words[64];
    int64_t bytes = 1;
    double none = 0.0;
    int rank, size;

    for (int i = 1; i < argc && i <= 4; i++) {
        *number[i - 1] = atol(argv[i]);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (nowners < size || nowners > 10000000 || delay < 1 || cycles < 2 || busy_ms < 1) {
        bench_die("bench_lazy", "give owners, the steps that maps are late, maps, and milliseconds of a step");
    }
    if (rank == 0) {
        printf("what,lazy,ranks,owners,bytes,delay,busy_ms,offer_us,take_us,step_us,mended,share\n");
    }
    run(false, "none", &none, &bytes);
    for (int i = 0; i < (size > 1 ? 3 : 2); i++) {
        for (int k = 0; k < 3; k++) {
            snprintf(words, sizeof words, "%s:delay=%ld%s", maker[i], delay, k == 0 ? ",repair=never" : "");
            run(k == 2, words, &none, &bytes);
        }
    }
    MPI_Finalize();
    return 0;
}
