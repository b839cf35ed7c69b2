/* SPDX-License-Identifier: BSD-3-Clause */
/* Particles whose map is made while they move: by the last rank, which has no particles then, or in a thread where
 * there is one rank only. A dense clump flies through a thin gas, so that a map that comes late finds other work than
 * it was made for. */
#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>
#include <equipoise/more/lazy.h>
#include <equipoise/more/random.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6000, STEPS = 30 };
static const double dt = 0.01;

typedef struct particle {
    double x[3], v[3];
    int64_t id, nsteps; /* nsteps: its work */
    int64_t label;      /* of when a map was last offered; travels with the particle */
} particle;

static MPI_Comm comm; /* the ranks that have particles */
static int rank, size, to[N];
static particle *p; /* [n] that live here */
static int64_t n;
static eqp_balancer *balancer;

static int make_particles(void)
{
    int code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    EQP_TRY(eqp_array_create(&p, N, sizeof *p));
    for (int64_t i = rank; i < N; i += size) {
        p[n] = (particle){.id = i};
        for (int d = 0; d < 3; d++) {
            p[n].x[d] = eqp_random_uniform(1, (uint64_t)i, (uint64_t)d);
        }
        n++;
    }
done:
    return code;
}

/* Each particle takes the shorter steps the nearer it is to the star, which flies; nsteps: of all that live here. */
static void move(int64_t s, double *seconds, int64_t *nsteps)
{
    const double star[3] = {0.015 * (double)s, 0.5, 0.5}, begin = eqp_cpu_seconds();

    *nsteps = 0;
    for (int64_t i = 0; i < n; i++) {
        particle *a = &p[i];
        const double r[3] = {a->x[0] - star[0], a->x[1] - star[1], a->x[2] - star[2]};
        a->nsteps = 1 + (int64_t)(1.0 / (0.01 + r[0] * r[0] + r[1] * r[1] + r[2] * r[2]));
        for (int64_t k = 0; k < 3 * a->nsteps; k++) {
            const int d = (int)(k % 3);
            a->v[d] -= dt / (double)a->nsteps * (a->x[d] - star[d]);
            a->x[d] += dt / (double)a->nsteps * a->v[d];
        }
        *nsteps += a->nsteps;
    }
    *seconds = eqp_cpu_seconds_since(begin);
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const double corner[3] = {-1.0, -1.0, -1.0};
    int code = EQP_OK;

    (void)user;
    (void)kind;
    for (int64_t i = 0; i < n; i++) {
        eqp_owner owner = {.id = p[i].id, .pin = -1, .home = rank, .at_home = i, .tag = rank, .label = p[i].label};
        owner.count[0] = p[i].nsteps;
        owner.particles = 1;
        owner.interactions = 1;
        owner.bytes = sizeof *p;
        memcpy(owner.centre, p[i].x, sizeof owner.centre);
        EQP_TRY(eqp_hilbert_keys(1, p[i].x, p[i].x + 1, p[i].x + 2, corner, 3.0, &owner.key));
        EQP_TRY(eqp_survey_add_owner(list, &owner));
    }
done:
    return code;
}

static int label(void *user, int64_t first)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) {
        p[i].label = first + i;
    }
    return EQP_OK;
}

static int follow(const eqp_advice *advice)
{
    particle *old = p;
    int code;

    for (int64_t i = 0; i < n; i++) {
        to[i] = advice->placement[i].home;
    }
    EQP_TRY(eqp_send_records(comm, sizeof *p, n, to, old, &n, &p));
    free(old);
done:
    return code;
}

static int step(int64_t s, eqp_step *now)
{
    eqp_advice advice = {.changed = false};
    eqp_rank_row row = {.load = 0.0};
    int64_t nsteps;
    int code;

    EQP_TRY(s > 0 ? eqp_balancer_advise(balancer, STEPS - s, &advice, NULL) : EQP_OK);
    EQP_TRY(advice.changed ? follow(&advice) : EQP_OK);
    move(s, &row.load, &nsteps);
    EQP_TRY(eqp_balancer_record(balancer, &(eqp_work){.row = &row, .count = &nsteps}, now));
    if (rank == 0 && now->rebalanced) {
        printf("step %d: imbalance %.1f%%: %s\n", (int)s, 100.0 * now->imbalance_work, now->why);
    }
done:
    return code;
}

static int run(eqp_lazy *beside)
{
    const eqp_problem problem = {.survey = survey, .label = label};
    eqp_balancer_options options;
    eqp_step now = {.step = 0};
    int64_t nlate = 0;
    int code;

    EQP_TRY(make_particles());
    EQP_TRY(eqp_balancer_options_init(&options, sizeof options));
    EQP_TRY(eqp_choice_parse(NULL, NULL, "sfc", &options.method, NULL));
    EQP_TRY(eqp_policy_options_parse("4", &options.policy));
    options.calibrate = false; /* what is checked below is counted work, not seconds */
    options.lazy = beside;
    EQP_TRY(eqp_balancer_create(comm, &problem, &options, &balancer, NULL));
    for (int64_t s = 0; s <= STEPS; s++) {
        EQP_TRY(step(s, &now));
        nlate += now.rebalanced && now.map_age > 0;
        EQP_TRY(now.rebalanced && now.imbalance_work > 0.1 ? EQP_ERR_INTERNAL : EQP_OK);
    }
    EQP_TRY(nlate > 0 ? EQP_OK : EQP_ERR_INTERNAL);
done:
    eqp_balancer_free(balancer);
    free(p);
    return code;
}

int main(int argc, char **argv)
{
    eqp_lazy_options options;
    eqp_lazy *beside = NULL;
    bool lost = false;
    int nranks, given, code;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given); /* a thread of the library calls no MPI */
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    EQP_TRY(eqp_lazy_options_parse(nranks > 1 ? "1:delay=3" : "thread:delay=3", &options, NULL));
    EQP_TRY(eqp_lazy_split(MPI_COMM_WORLD, &options, &comm, &beside, NULL));
    code = eqp_lazy_serves(beside) ? eqp_balancer_serve(beside, NULL) : run(beside);
    (void)eqp_lazy_leave(&beside, &lost);
    eqp_comm_free(&comm);
done:
    if (!lost) { /* else it would wait for a rank that is dead */
        MPI_Finalize();
    }
    return code != EQP_OK;
}
