/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include "../simulation.h"

#include "../../physics/motion.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* Runs of neighbouring groups on each rank that sample costs before the first forces are known. */
#define COST_SAMPLE_RUNS 32

static const int back[BH_PHASES] = {[BH_PHASE_FORCES] = 1};
static const int ghosts[BH_PHASES] = {[BH_PHASE_GHOSTS] = 1};

_Static_assert(BH_RUNGS_MAX <= EQP_CYCLE_PHASES, "a phase for each rung");

/* The phases of a step for particles down to the deepest rung, as if they did not move. */
static int cycle(void *user, eqp_cycle_turns *phases)
{
    const bh_problem *p = user;

    *phases = (eqp_cycle_turns){.n = 1 + bh_rungs_deepest(p->rungs, p->on_rung)};
    for (int k = 0; k < phases->n; k++) {
        phases->times[k] = (double)bh_phase_turns(k);
    }
    return EQP_OK;
}

static int turn(void *user, int phase)
{
    ((bh_problem *)user)->trace.phase = phase;
    return EQP_OK;
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *owners)
{
    bh_problem *p = user;
    const bh_domain *domain = p->domain;

    if (kind == EQP_SURVEY_WORK) {
        EQP_CHECK(bh_evaluate_survey(p->evaluator, &domain->tree, eqp_balancer_map(p->balancer), domain->rank,
                                     &p->tasks, owners));
    }
    for (int64_t g = 0; g < domain->ngroups && kind == EQP_SURVEY_NAMES; g++) {
        const bh_group *group = &domain->group[g];
        EQP_CHECK(bh_survey_add_group(owners, group, domain->tag[g],
                                      domain->particles.label[group->first + group->count / 2], domain->rank, g));
    }
    return EQP_OK;
}

/* Measures the costs of all kinds of work on a few tasks, unless they are known. */
static int learn(bh_problem *p, const eqp_map *map)
{
    eqp_timings *timings = NULL;
    int code;

    if (eqp_balancer_knows_costs(p->balancer)) {
        return EQP_OK;
    }
    code = eqp_timings_create(BH_KINDS, &timings);
    if (code == EQP_OK) {
        code = bh_evaluate_sample(p->evaluator, &p->domain->tree, map, p->domain->rank, &p->tasks, COST_SAMPLE_RUNS,
                                  timings);
    }
    EQP_TRY(eqp_agree(p->domain->comm, code, NULL));
    EQP_TRY(eqp_balancer_learn(p->balancer, timings));
done:
    eqp_timings_free(timings);
    return code;
}

/* The tasks of a map and the trees that they need. */
static int fetch(bh_problem *p, const eqp_map *map)
{
    bh_domain *domain = p->domain;
    const eqp_exchange_plan *plan = &p->evaluator->plan;
    bh_traffic traffic = {0};
    int code = bh_tasks_send(&p->tasks, &domain->messengers, plan, &domain->particles, domain->ngroups, domain->group,
                             domain->tag, domain->away, map, 0, EQP_OK, &traffic.phase[BH_PHASE_TASKS]);

    EQP_TRY(bh_essential_fetch(&domain->tree, &domain->messengers, plan, &p->tasks, &p->evaluator->mac, map, code,
                               &traffic));
    p->bytes += bh_phases_bytes(traffic.phase);
done:
    return code;
}

/* Builds the tree, assigns all groups to their homes, and fetches the trees they need. */
static int bring_home(bh_problem *p)
{
    bh_domain *domain = p->domain;
    const int64_t bytes = p->bytes;
    int code;

    EQP_TRY(eqp_agree(domain->comm, bh_domain_build_tree(domain, EQP_OK), NULL));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        domain->tag[g] = domain->rank;
    }
    domain->away = false;
    EQP_TRY(eqp_scan_int64(domain->comm, domain->ngroups, &p->trace.first_group, NULL));
    EQP_TRY(fetch(p, NULL));
done:
    p->bytes = bytes; /* no step sends them */
    return code;
}

/* Swaps the particles' forces with those of the first lists, or back. */
static void take_first(bh_problem *p, bool wanted)
{
    if (p->first != NULL && !p->moved && wanted != p->has_first) {
        bh_forces_swap(&p->domain->particles, p->first);
        p->has_first = wanted;
    }
}

static int open_problem(void *user, bool traced)
{
    bh_problem *p = user;
    const eqp_map *map = traced ? NULL : eqp_balancer_map(p->balancer);

    p->trace = (bh_trace){.domain = p->domain,
                          .mac = &p->evaluator->mac,
                          .costs = eqp_balancer_costs(p->balancer),
                          .overlaps = p->evaluator->stealing == NULL};
    p->tasks = (bh_tasks){0};
    take_first(p, traced);
    EQP_CHECK(traced ? bring_home(p) : fetch(p, map));
    return learn(p, map);
}

static void close_problem(void *user)
{
    bh_problem *p = user;

    take_first(p, false);
    bh_tasks_free(&p->tasks);
    free(p->before);
    free(p->key);
    p->before = NULL;
    p->key = NULL;
    p->moved = false;
}

/* A group before anything moved, with its place in a map. */
typedef struct carried {
    uint64_t key;
    eqp_placement placement;
} carried;

/* Homes are key intervals, as in a run: a group that has moved into another interval lives there. Local. */
static int find_homes(int64_t n, const carried *all, bh_homes *homes)
{
    bh_home_run *runs = NULL;
    int code;

    EQP_TRY(eqp_array_create(&runs, n, sizeof *runs));
    for (int64_t i = 0; i < n; i++) {
        runs[i] = (bh_home_run){all[i].key, all[i].placement.home};
    }
    EQP_TRY(n > 0 ? bh_homes_set(homes, n, runs) : EQP_OK);
done:
    free(runs);
    return code;
}

static int carry(const bh_problem *of, const eqp_placement *placement, eqp_placement **found)
{
    const bh_domain *domain = of->domain;
    carried *mine = NULL, *all = NULL;
    eqp_placement *now = NULL;
    bh_homes homes = {0};
    int64_t n = 0;
    int code = eqp_array_create(&mine, of->nbefore, sizeof *mine);

    if (code == EQP_OK) {
        code = eqp_array_create(&now, domain->ngroups, sizeof *now);
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    for (int64_t g = 0; g < of->nbefore; g++) {
        mine[g] = (carried){of->key[g], placement[g]};
    }
    EQP_TRY(eqp_gather_records(domain->comm, sizeof *mine, of->nbefore, mine, &n, &all));
    EQP_TRY(eqp_agree(domain->comm, find_homes(n, all, &homes), NULL));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        now[g] = (eqp_placement){all[of->before[g]].placement.tag, bh_homes_rank(&homes, domain->group[g].key)};
    }
    *found = now;
    now = NULL;
done:
    bh_homes_free(&homes);
    free(now);
    free(all);
    free(mine);
    return code;
}

static int trace(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const bh_problem *of = user;
    eqp_placement *now = NULL;
    int code;

    EQP_TRY(of->moved ? carry(of, placement, &now) : EQP_OK);
    EQP_TRY(bh_trace_map(&of->trace, nparts, map, of->moved ? now : placement, loads_only, evaluation));
done:
    free(now);
    return code;
}

static void number_groups(const bh_domain *domain, int64_t first, int64_t *to)
{
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            to[i] = first + g;
        }
    }
}

/* A group, like its tag, is identified by its middle particle. */
static int label(void *user, int64_t first)
{
    bh_domain *domain = ((bh_problem *)user)->domain;

    number_groups(domain, first, domain->particles.label);
    return EQP_OK;
}

static int remember_groups(bh_problem *of)
{
    bh_domain *domain = of->domain;

    if (of->moved) {
        return EQP_OK;
    }
    free(of->key);
    of->key = NULL;
    const int code = eqp_agree(domain->comm, eqp_array_create(&of->key, domain->ngroups, sizeof *of->key), NULL);
    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        of->key[g] = domain->group[g].key;
    }
    of->nbefore = domain->ngroups;
    number_groups(domain, of->trace.first_group, domain->particles.tag);
    return code;
}

static int keep_state(bh_problem *of)
{
    bh_domain *domain = of->domain;
    int code = EQP_OK;

    if (of->ngrains > 1 && !of->has_kept) {
        code = bh_particles_copy(&domain->particles, &of->kept);
        of->has_kept = code == EQP_OK;
        of->box = domain->box;
        of->drifted = domain->drifted;
        code = eqp_agree(domain->comm, code, NULL);
    }
    return code;
}

static void put_back(bh_problem *of)
{
    if (of->has_kept) {
        bh_particles_free(&of->domain->particles);
        of->domain->particles = of->kept;
        of->domain->box = of->box;
        of->domain->drifted = of->drifted;
        of->has_kept = false;
    }
}

/* Regroups the same particles at another size. Homes always follow from those of the last step, so that a size has the
 * same groups on the same ranks each time. */
static int grain(void *user, int number)
{
    bh_problem *of = user;
    bh_domain *domain = of->domain;
    bh_migration migration = {0};

    put_back(of);
    if (of->homes.n == 0) {
        EQP_CHECK(eqp_agree(domain->comm, bh_homes_copy(&of->homes, &domain->homes), NULL));
    }
    EQP_CHECK(bh_domain_regroup(domain, of->size[number], &of->homes, &migration));
    of->bytes += migration.bytes;
    return EQP_OK;
}

void bh_problem_forget(bh_problem *problem)
{
    put_back(problem);
    bh_homes_free(&problem->homes);
}

/* Kick and drift with one step size for all; a group follows the tag of its middle particle. */
static int advance(void *user, eqp_message *message)
{
    bh_problem *of = user;
    bh_domain *domain = of->domain;
    bh_particles *p = &domain->particles;
    bh_migration migration = {0};
    int code;

    (void)message;
    take_first(of, false);
    EQP_TRY(keep_state(of));
    EQP_TRY(remember_groups(of));
    if (!of->has_kept) { /* particles are reordered for good */
        free(of->first);
        of->first = NULL;
    }
    bh_kick(p->n, 0.5 * *of->dt, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    bh_drift(p->n, *of->dt, p->vx, p->vy, p->vz, p->x, p->y, p->z);
    code = bh_domain_migrate(domain, NULL, &migration, EQP_OK);
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(bring_home(of));
    free(of->before);
    of->before = NULL;
    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&of->before, domain->ngroups, sizeof *of->before), NULL));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        of->before[g] = domain->particles.tag[group->first + group->count / 2];
    }
    of->moved = true;
done:
    return code;
}

/* Seconds on a core with AVX-512. Calls as counted by tests/steps, plus two if some group is computed away from home,
 * as usual. The allgather of the top is counted separately; that of the ranks' rows is not. Messages between earlier
 * partners need no announcement. */
static const eqp_overhead overhead = {.held = 2.1e-7,
                                      .ghost = 9e-8,
                                      .byte = 3e-9,
                                      .part = 6.5e-4,
                                      .calls = 5,
                                      .gathers = 1,
                                      .gathered = (int)BH_ROW_BYTES};

/* The same for a substep, in which trees mostly drift and nothing is recorded: from runs of 2,000 to 40,000 particles
 * with 8 to 91 substeps in a step. */
static const eqp_overhead substep = {.held = 2.6e-8, .ghost = 9e-8, .byte = 3e-9, .part = 1.1e-4, .calls = 3};

/* From the peaks of processes with 5000 to 200,000 particles, even and uneven, with glibc: at most 12 % below and 24 %
 * above them. held: particles, groups, tree and keys; ghost: entries of lists; byte: packed and received messages and
 * bundles; fixed: the program, its libraries and MPI. */
static const eqp_memory memory = {.fixed = 3.2e7, .held = 290, .ghost = 220, .byte = 2.9};

/* Gives the shortest modelled steps of `hypergraph` between 0.004 and 0.12, on 16 to 256 parts. */
static const double branch_weight = 0.004;

eqp_problem bh_problem_functions(bh_problem *problem)
{
    return (eqp_problem){.user = problem,
                         .nkinds = BH_KINDS,
                         .nominal = bh_kind_nominal,
                         .once = BH_ONCE,
                         .nphases = BH_PHASES,
                         .back = back,
                         .ghosts = ghosts,
                         .overhead = problem->rungs->n > 1 ? &substep : &overhead,
                         .memory = &memory,
                         .branch = branch_weight,
                         .apart = true,
                         .cycle = cycle,
                         .turn = turn,
                         .survey = survey,
                         .open = open_problem,
                         .close = close_problem,
                         .trace = trace,
                         .advance = advance,
                         .label = label,
                         .ngrains = problem->ngrains,
                         .grain = grain};
}
