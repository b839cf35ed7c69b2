/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs a late map by the work of the last step, moving few owners. If ranks share owners, either only whole
 * owners move, or shared owners are made whole and move as well. */
#include "late/offer.h"

#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

/* Imbalance of a late map by the work of the last step, before and after its repair. */
typedef struct outcome {
    double came, reached;
    bool around; /* shared owners stayed as they were */
} outcome;

/* Owners in curve order, placed by a map that is not in use yet. */
typedef struct late_repair {
    eqp_map_options how;
    eqp_owners owners; /* tags: parts of whole owners; for shared owners the part with most of their units */
    double *seconds;   /* [owners] of work */
    bool *shared;      /* [owners] */
    double *load;      /* [parts] by the original map */
    double *fixed;     /* [parts] part of `load` that does not move: base and shared owners */
    double *tried;     /* [parts] */
    double heaviest;   /* owner, in seconds */
    double imbalance;  /* of `load` */
} late_repair;

static void late_repair_free(late_repair *m)
{
    eqp__owners_free(&m->owners);
    EQP__FREE(m->seconds, m->shared, m->load, m->fixed, m->tried);
}

static double mean_of(int nparts, const double *load)
{
    double sum = 0.0;

    for (int p = 0; p < nparts; p++) {
        sum += load[p];
    }
    return sum / nparts;
}

static double imbalance_of(const late_repair *m, int nparts, const double *load)
{
    const double mean = mean_of(nparts, load);
    double most = 0.0;

    for (int p = 0; p < nparts; p++) {
        most = fmax(most, load[p] / eqp_part_speed(m->how.speeds, p));
    }
    return mean > 0.0 ? most / mean - 1.0 : 0.0;
}

static double floor_of(const late_repair *m, int nparts)
{
    const double mean = mean_of(nparts, m->load);
    double fastest = 0.0;

    for (int p = 0; p < nparts; p++) {
        fastest = fmax(fastest, eqp_part_speed(m->how.speeds, p));
    }
    return mean > 0.0 ? m->heaviest / (mean * fastest) - 1.0 : 0.0;
}

/* Divides a shared owner's work evenly among its units; every sharer repeats `again`. Returns the rank with most units,
 * preferably its home. units: [parts] zeros before and after. */
static int add_shared(const eqp_map *map, int64_t tag, double seconds, double again, int home, int64_t *units,
                      double *load)
{
    const double *centroid = NULL;
    const int *rank = NULL;
    const int64_t n = eqp_map_units(map, tag, &centroid, &rank);
    int most = home;

    for (int64_t u = 0; u < n; u++) {
        load[rank[u]] += (seconds - again) / (double)n + (units[rank[u]]++ == 0 ? again : 0.0);
    }
    for (int64_t u = 0; u < n; u++) {
        most = units[rank[u]] > units[most] ? rank[u] : most;
    }
    for (int64_t u = 0; u < n; u++) {
        units[rank[u]] = 0;
    }
    return most;
}

/* Loads of all parts by the map. heard: [owners]. */
static int weigh(eqp_balancer *b, const eqp_map *map, const eqp_placement *heard, late_repair *m)
{
    eqp_owners *owners = &m->owners;
    double heaviest = 0.0;
    int64_t *units = NULL;
    int code = eqp_array_create(&units, b->nparts, sizeof *units);

    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        const double seconds = owners->seconds[o], weight = owners->weight[o];
        const double again = weight > 0.0 ? seconds * owners->again[o] / weight : 0.0;
        int64_t *tag = &owners->owner[o].tag;
        *tag = heard[o].tag;
        m->seconds[o] = seconds;
        m->shared[o] = *tag < 0;
        heaviest = fmax(heaviest, seconds);
        if (m->shared[o]) {
            *tag = add_shared(map, *tag, seconds, again, heard[o].home, units, m->fixed);
        } else {
            m->load[*tag] += seconds;
        }
    }
    free(units);
    EQP_TRY(eqp_agree(b->comm, code, NULL));
    EQP_TRY(eqp__sum_double(b->comm, b->nparts, m->load));
    EQP_TRY(eqp__sum_double(b->comm, b->nparts, m->fixed));
    EQP_TRY(MPI_Allreduce(&heaviest, &m->heaviest, 1, MPI_DOUBLE, MPI_MAX, b->comm) == MPI_SUCCESS ? EQP_OK
                                                                                                   : EQP_ERR_MPI);
    for (int p = 0; p < b->nparts; p++) {
        m->fixed[p] += m->how.base != NULL ? m->how.base[p] : 0.0;
        m->load[p] += m->fixed[p];
    }
    m->imbalance = imbalance_of(m, b->nparts, m->load);
done:
    return code;
}

static int make_room(const eqp_balancer *b, late_repair *m, eqp__address **address, eqp_placement **heard)
{
    double **const of_parts[] = {&m->load, &m->fixed, &m->tried};
    const int64_t n = m->owners.n;

    EQP_CHECK(eqp_array_create(address, n, sizeof **address));
    EQP_CHECK(eqp_array_create(heard, n, sizeof **heard));
    EQP_CHECK(EQP__ARRAYS(EQP__ARRAY(m->seconds, n), EQP__ARRAY(m->shared, n)));
    for (int i = 0; i < 3; i++) {
        EQP_CHECK(eqp_array_create(of_parts[i], b->nparts, sizeof(double)));
    }
    for (int64_t o = 0; o < n; o++) {
        (*address)[o] = (eqp__address){m->owners.owner[o].home, m->owners.owner[o].at_home};
    }
    return EQP_OK;
}

/* m: must be freed in any case. */
static int late_repair_open(eqp_balancer *b, const eqp_names *home, const eqp_map_options *how,
                            const eqp_new_map *found, late_repair *m, int64_t *bytes)
{
    const eqp_work_model model = eqp__work_model_measured(&b->model, &b->costs);
    eqp__address *address = NULL;
    eqp_placement *heard = NULL;
    int code;

    *m = (late_repair){.how = *how};
    EQP_TRY(eqp__owners_line_up(b->comm, &b->survey, &model, &b->costs, home->n, home->key, &m->owners, bytes));
    code = make_room(b, m, &address, &heard);
    EQP_TRY(eqp__placements_fetch(b->comm, code, m->owners.n, address, home->n, found->placement, heard));
    EQP_TRY(weigh(b, found->map, heard, m));
done:
    EQP__FREE(address, heard);
    return code;
}

/* Moves few owners so that the map is even. around: shared owners stay. made: zeros; its imbalance is that of all
 * work. */
static int repair_once(const eqp_balancer *b, late_repair *m, bool around, const eqp_new_map *found, int64_t nhome,
                       eqp_new_map *made, eqp_message *message)
{
    eqp_map_options how = m->how;
    eqp_assignment *assignment = NULL;
    int code;

    how.base = around ? m->fixed : m->how.base;
    for (int64_t o = 0; o < m->owners.n; o++) {
        m->owners.seconds[o] = around && m->shared[o] ? 0.0 : m->seconds[o];
    }
    EQP_TRY(eqp__assignment_open(b->comm, &how, &m->owners, found->map, &assignment, message));
    EQP_TRY(eqp__assignment_find(assignment, how.base, message));
    EQP_TRY(eqp__assignment_given(assignment, m->tried));
    EQP_TRY(eqp__assignment_take(assignment, NULL, nhome, &made->map, &made->placement, &made->made));
    for (int p = 0; p < b->nparts; p++) {
        m->tried[p] += how.base != NULL ? how.base[p] : 0.0;
    }
    made->made.result.imbalance = imbalance_of(m, b->nparts, m->tried);
    made->made.result.imbalance_unrepaired = m->imbalance;
done:
    eqp__assignment_close(assignment);
    return code;
}

/* Replaces *best if the new map is better than both it and the original. */
static void keep_better(bool around, eqp_new_map *made, eqp_new_map *best, outcome *news)
{
    if (made->map != NULL && made->made.result.imbalance < news->reached) {
        const eqp_new_map before = *best;
        *best = *made;
        *made = before;
        news->reached = best->made.result.imbalance;
        news->around = around;
    }
}

static void adopt(const eqp_names *home, bool around, eqp_new_map *found, eqp_new_map *repaired)
{
    repaired->made.sizes = found->made.sizes;
    if (!around) {
        const eqp_new_map before = *found;
        *found = *repaired;
        *repaired = before;
        return;
    }
    for (int64_t i = 0; i < home->n; i++) {
        if (found->placement[i].tag >= 0) {
            found->placement[i] = repaired->placement[i];
        }
    }
    found->made.result = repaired->made.result;
}

/* The repair for several phases: evens out all of them; maps with shared owners stay. */
static int repair_cycle(const eqp_balancer *b, late_repair *m, eqp_new_map *found, const eqp_names *home, outcome *news,
                        eqp_message *message)
{
    eqp_new_map made = {.map = NULL};
    int code = EQP_OK;

    *news = (outcome){.came = found->made.result.imbalance, .reached = found->made.result.imbalance};
    if (eqp_map_shared(found->map) > 0) {
        return EQP_OK;
    }
    EQP_TRY(eqp__assignment_make(b->comm, &m->how, &m->owners, found->map, home->n, &made.map, &made.placement,
                                 &made.made, message));
    made.made.sizes = found->made.sizes;
    news->came = made.made.result.imbalance_unrepaired;
    news->reached = news->came;
    keep_better(false, &made, found, news);
done:
    eqp__new_map_free(&made);
    return code;
}

/* Repairs along the curve; all ranks' shares of an owner are added up. */
static int repair_lined_up(eqp_balancer *b, const eqp_names *home, const eqp_map_options *how, eqp_new_map *found,
                           int64_t *bytes, outcome *news, eqp_message *message)
{
    const int64_t shares = eqp_map_shared(found->map);
    const double enough = shares > 0 ? how->imbalance_tol : how->assign_tol;
    eqp_new_map best = {.map = NULL};
    late_repair m;
    int code;

    EQP_TRY(late_repair_open(b, home, how, found, &m, bytes));
    if (m.owners.phases.n > 0) { /* the same on all ranks */
        code = repair_cycle(b, &m, found, home, news, message);
        goto done;
    }
    const double least = floor_of(&m, b->nparts);
    bool around = shares > 0 && least > enough; /* one owner is too much for any rank */
    *news = (outcome){.came = m.imbalance, .reached = m.imbalance};
    for (int i = 0; i < (shares > 0 ? 2 : 1) && news->reached > enough; i++, around = !around) {
        eqp_new_map made = {.map = NULL};
        if (around || least < news->reached) {
            code = repair_once(b, &m, around, found, home->n, &made, message);
            keep_better(around, &made, &best, news);
            eqp__new_map_free(&made);
            EQP_TRY(code);
        }
    }
    if (best.map != NULL) {
        adopt(home, news->around, found, &best);
    }
done:
    eqp__new_map_free(&best);
    late_repair_free(&m);
    return code;
}

static void describe(eqp_balancer *b, const outcome *news, bool shared)
{
    const char *how = !shared ? "repaired" : news->around ? "repaired around shared owners" : "made whole and repaired";
    char before[sizeof b->now.why], what[64] = "";

    memcpy(before, b->now.why, sizeof before);
    if (news->reached < news->came) {
        snprintf(what, sizeof what, ", %s to %.1f%%", how, 100.0 * news->reached);
    }
    snprintf(b->now.why, sizeof b->now.why, "%.80s; uneven by %.1f%%%s", before, 100.0 * news->came, what);
}

int eqp__late_repair(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, eqp_new_map *found,
                     int64_t *bytes, eqp_message *message)
{
    const bool surveyed = b->surveyed, shared = eqp_map_shared(found->map) > 0;
    eqp_map_options how = eqp__repairing(options);
    const double promised = found->made.result.imbalance;
    outcome news = {.came = promised, .reached = promised};
    double *base = NULL;
    int code;

    EQP_TRY(surveyed && b->problem.base == NULL ? EQP_OK : eqp__ask_problem(b, &how, NULL, &base));
    how.base = base;
    if (eqp_map_phased(found->map, NULL, NULL) > 0) { /* left as it is */
        goto done;
    }
    EQP_TRY(repair_lined_up(b, home, &how, found, bytes, &news, message));
    if (!shared || news.reached < news.came) {
        found->made.result.imbalance = news.reached; /* otherwise the promise was the best possible */
    }
    found->made.result.imbalance_unrepaired = news.came;
    describe(b, &news, shared);
done:
    if (!surveyed) { /* otherwise the next step may want one again */
        eqp__balancer_forget(b, &b->survey);
    }
    b->surveyed = false;
    free(base);
    return code;
}
