/* SPDX-License-Identifier: BSD-3-Clause */
#include "whatif.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

static const int back[BH_PHASES] = {[BH_PHASE_FORCES] = 1};
static const int ghosts[BH_PHASES] = {[BH_PHASE_GHOSTS] = 1};

static int get_keys(void *user, int64_t *nhome, uint64_t **keys)
{
    const bh_whatif *w = user;
    const bh_domain *domain = w->domain;
    uint64_t *key = NULL;
    int code = eqp_agree(domain->comm, eqp_array_create(&key, domain->ngroups, sizeof *key), NULL);

    if (code != EQP_OK) {
        return code;
    }
    for (int64_t g = 0; g < domain->ngroups; g++) {
        key[g] = domain->group[g].key;
    }
    *nhome = domain->ngroups;
    *keys = key;
    return EQP_OK;
}

static int survey(void *user, bool weights, app_survey *owners)
{
    bh_whatif *w = user;
    const bh_domain *domain = w->domain;
    bh_survey filled = {.owners = *owners};
    int code = EQP_OK;

    if (weights) {
        app_map whole;
        app_map_init(&whole);
        code = bh_evaluate_survey(w->evaluator, &domain->tree, &whole, domain->rank, &w->works, &filled);
    }
    for (int64_t g = 0; g < domain->ngroups && !weights && code == EQP_OK; g++) {
        code = bh_survey_add_group(&filled, &domain->group[g], domain->rank, domain->rank, g);
    }
    *owners = filled.owners;
    filled.owners = (app_survey){.n = 0};
    bh_survey_free(&filled);
    return eqp_agree(domain->comm, code, NULL);
}

/* Tags for the groups of now from those of before. */
static int carry_tags(const bh_whatif *w, const app_verdict *verdict, int64_t **tags)
{
    int64_t *mine = NULL, *all = NULL, *tag = NULL, n = 0;
    int code = eqp_array_create(&mine, w->nbefore, sizeof *mine);

    if (code == EQP_OK) {
        code = eqp_array_create(&tag, w->domain->ngroups, sizeof *tag);
    }
    EQP_TRY(eqp_agree(w->domain->comm, code, NULL));
    for (int64_t g = 0; g < w->nbefore; g++) {
        mine[g] = verdict[g].tag;
    }
    EQP_TRY(eqp_gather_records(w->domain->comm, sizeof *mine, w->nbefore, mine, &n, &all));
    for (int64_t g = 0; g < w->domain->ngroups; g++) {
        tag[g] = all[w->before[g]];
    }
done:
    free(all);
    free(mine);
    if (code != EQP_OK) {
        free(tag);
        return code;
    }
    *tags = tag;
    return EQP_OK;
}

static int trace(void *user, int nparts, const app_map *map, const app_verdict *verdict, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const bh_whatif *w = user;
    int64_t *tag = NULL;
    int code;

    if (!loads_only) {
        return w->moved ? EQP_ERR_STATE : bh_trace_map(&w->trace, nparts, map, verdict, evaluation);
    }
    if (w->moved) {
        code = carry_tags(w, verdict, &tag);
    } else {
        code = eqp_agree(w->domain->comm, eqp_array_create(&tag, w->domain->ngroups, sizeof *tag), NULL);
        for (int64_t g = 0; g < w->domain->ngroups && code == EQP_OK; g++) {
            tag[g] = verdict[g].tag;
        }
    }
    if (code == EQP_OK) {
        code = eqp_agree(w->domain->comm, bh_trace_loads(&w->trace, nparts, map, tag, evaluation), NULL);
    }
    free(tag);
    return code;
}

/* Grows the tree, whose groups then are computed at home, and fetches what they need. */
static int prepare(bh_whatif *w)
{
    bh_domain *domain = w->domain;
    bh_traffic traffic = {0};
    app_map whole;
    int code = bh_domain_grow(domain);

    app_map_init(&whole);
    if (code != EQP_OK) {
        return code;
    }
    for (int64_t g = 0; g < domain->ngroups; g++) {
        domain->tag[g] = domain->rank;
    }
    EQP_TRY(eqp_scan_int64(domain->comm, domain->ngroups, &w->trace.first_group, NULL));
    EQP_TRY(bh_works_send(&w->works, domain->comm, &w->evaluator->plan, &domain->particles, domain->ngroups,
                          domain->group, domain->tag, &whole, &traffic.phase[BH_PHASE_WORKS]));
    EQP_TRY(bh_essential_fetch(&domain->tree, domain->comm, &w->evaluator->plan, &w->works, w->trace.mac, &whole,
                               &traffic));
done:
    return code;
}

/* Every particle takes the number of its group along, where it has the tag otherwise. */
static void label_particles(bh_whatif *w)
{
    bh_domain *domain = w->domain;

    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            domain->particles.tag[i] = w->trace.first_group + g;
        }
    }
}

/* Kick and drift, as a step does; a group follows the tag of its middle particle. */
static int advance(void *user, eqp_message *message)
{
    bh_whatif *w = user;
    bh_domain *domain = w->domain;
    bh_particles *p = &domain->particles;
    bh_settled settled = {0};
    int code;

    (void)message;
    label_particles(w);
    w->nbefore = domain->ngroups;
    bh_kick(p->n, 0.5 * w->dt, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    bh_drift(p->n, w->dt, p->vx, p->vy, p->vz, p->x, p->y, p->z);
    EQP_TRY(bh_domain_settle(domain, &settled));
    EQP_TRY(prepare(w));
    free(w->before);
    w->before = NULL;
    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&w->before, domain->ngroups, sizeof *w->before), NULL));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        w->before[g] = domain->particles.tag[group->first + group->count / 2];
    }
done:
    w->moved = code == EQP_OK;
    return code;
}

int bh_whatif_open(bh_domain *domain, bh_evaluator *evaluator, const app_costs *costs, double dt, bh_whatif *what)
{
    *what = (bh_whatif){.what = {.comm = domain->comm,
                                 .user = what,
                                 .model = &bh_work_model,
                                 .costs = costs,
                                 .nphases = BH_PHASES,
                                 .back = back,
                                 .ghosts = ghosts,
                                 .keys = get_keys,
                                 .survey = survey,
                                 .trace = trace,
                                 .advance = advance},
                        .domain = domain,
                        .evaluator = evaluator,
                        .dt = dt,
                        .trace = {.domain = domain, .mac = &evaluator->mac, .costs = costs}};
    bh_works_init(&what->works);
    return prepare(what);
}

void bh_whatif_close(bh_whatif *what)
{
    bh_works_free(&what->works);
    free(what->before);
    what->before = NULL;
}
