/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of whole runs by `auto` and by every single method, each with every policy, in virtual time.
 *
 *     build/bench/study_life PARTS,... METHOD+... gravity GENERATOR
 *     build/bench/study_life PARTS,... METHOD+... network OPTION...
 *
 * A run of STEPS steps is followed once (history.h). Then each method by each policy goes through it with a balancer of
 * its own, as a real run does: maps are kept, repaired and renewed by what the policy was told of the steps before, and
 * owners go on by the item in their middle. A step is evaluated with the cheapest exchange plan on the default network.
 * The balancer's work between steps is measured in CPU seconds of this rank and counts as divided evenly among the
 * parts: for that loads and messages are taken PARTS times as long here, and all seconds are divided by PARTS at the
 * end. Maps are made of the work of the step that they are for.
 *
 * Cells of a tree that several parts are below are its top, which everybody has; branches, the cells right below it, go
 * to all parts.
 *
 * Left out: latency of making maps, migration, the walks of real surveys and traces, noise of measured
 * loads, work other than forces.
 *
 * CSV: parts,method,policy,seconds,made,even,maps,repairs,chosen,trials. seconds: of all steps with what was made
 * between them; made: of the latter; even: of steps that are even and exchange nothing; trials: of `auto`, beyond
 * making what it chose. */
#include "history.h"
#include "timing.h"

#include "run/run.h"

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/whatif.h>

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 50 };

static const char *const policies[] = {"never", "auto", "gain", "16", "4", "1", "repair"};
enum { POLICIES = sizeof policies / sizeof *policies };

static const double nominal[1] = {1e-9};
static const int out[1] = {0}, ghosts[1] = {1};

/* A run by one method and policy, where it stands. */
typedef struct life {
    const bench_frame *frame; /* of now */
    int nparts;
    eqp_placement *item;  /* [items] */
    eqp_placement *owner; /* [owners of the frame] */
    eqp_balancer *balancer;
} life;

static void check(int code, const char *text)
{
    if (code) {
        bench_die("study_life", text != NULL && text[0] != '\0' ? text : eqp_error_text(code));
    }
}

static int64_t work_of(const life *l, int64_t o)
{
    return (int64_t)(l->frame->weight[o] * l->nparts) + 1;
}

/* A tile for each source: what an owner does is done for all of them alike. */
static eqp_tile tile_of(const life *l, int64_t o, int64_t pin)
{
    const bench_frame *f = l->frame;
    const int64_t npins = f->pin_first[o + 1] - f->pin_first[o], source = f->pin[pin];
    eqp_tile tile = {.weight = (double)work_of(l, o) / (double)npins, .pin = {source, -1}};

    for (int d = 0; d < 3; d++) {
        tile.centroid[d] = f->point[3 * f->home[source] + d] - f->point[3 * o + d];
    }
    return tile;
}

static int add_owner(const life *l, int64_t o, eqp_survey *list)
{
    const bench_frame *f = l->frame;
    const eqp_owner owner = {.key = (uint64_t)o << 20,
                             .centre = {f->point[3 * o], f->point[3 * o + 1], f->point[3 * o + 2]},
                             .pin = o,
                             .particles = (int32_t)(f->first[o + 1] - f->first[o]),
                             .at_home = o,
                             .bytes = f->bytes[o],
                             .tag = l->owner[o].tag,
                             .count = {work_of(l, o)},
                             .interactions = f->pin_first[o + 1] - f->pin_first[o]};
    const bool heavy = (double)work_of(l, o) >= eqp_survey_heavy(list);
    int code = EQP_OK;

    for (int64_t i = f->pin_first[o]; i < f->pin_first[o + 1] && code == EQP_OK; i++) {
        const eqp_tile tile = tile_of(l, o, i);
        if (eqp_pin_key(0, (uint64_t)f->pin[i]) < eqp_survey_pin_below(list)) {
            EQP_TRY(eqp_survey_add_pin(list, f->pin[i]));
        }
        EQP_TRY(heavy ? eqp_survey_add_tile(list, &tile) : EQP_OK);
    }
    EQP_TRY(eqp_survey_add_owner(list, &owner));
done:
    return code;
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const life *l = user;
    int code = EQP_OK;

    for (int64_t o = 0; o < l->frame->n && code == EQP_OK; o++) {
        const eqp_owner name = {
            .key = (uint64_t)o << 20, .pin = o, .at_home = o, .tag = l->owner[o].tag, .particles = 1};
        code = kind == EQP_SURVEY_WORK ? add_owner(l, o, list) : eqp_survey_add_owner(list, &name);
    }
    return code;
}

/* Everybody has the top and branches. */
static int need(const life *l, const int64_t *piece, int64_t source, int part, eqp_evaluation *evaluation)
{
    const bool shared = !bench_is_below(l->frame, piece, source) || bench_is_branch(l->frame, piece, source);

    return shared ? EQP_OK : eqp_evaluation_need(evaluation, 0, source, part);
}

/* piece: NULL for loads alone. */
static int trace_owner(const life *l, int64_t o, const eqp_map *map, const eqp_placement *placement,
                       const int64_t *piece, eqp_evaluation *evaluation)
{
    const bench_frame *f = l->frame;
    const int64_t begin = f->pin_first[o], end = f->pin_first[o + 1];
    const double seconds = nominal[0] * (double)work_of(l, o);
    int part = (int)placement[o].tag, code = EQP_OK;

    EQP_TRY(placement[o].tag >= 0 || end == begin
                ? eqp_evaluation_load(evaluation, eqp_map_own_rank(map, placement[o].tag), seconds)
                : EQP_OK);
    for (int64_t i = begin; i < end; i++) {
        if (placement[o].tag < 0) {
            const eqp_tile tile = tile_of(l, o, i);
            part = eqp_map_rank(map, placement[o].tag, tile.centroid);
            EQP_TRY(eqp_evaluation_load(evaluation, part, seconds / (double)(end - begin)));
            EQP_TRY(piece == NULL ? EQP_OK : need(l, piece, o, part, evaluation));
        }
        EQP_TRY(piece == NULL ? EQP_OK : need(l, piece, f->pin[i], part, evaluation));
    }
    EQP_TRY(piece == NULL ? EQP_OK : need(l, piece, o, eqp_map_own_rank(map, placement[o].tag), evaluation));
done:
    return code;
}

/* Blocks of all that lies in one part; branches are common, too. */
static int declare(const bench_frame *f, const int64_t *piece, const eqp_placement *placement,
                   eqp_evaluation *evaluation)
{
    int code = EQP_OK;

    for (int64_t s = 0; s < f->nsources; s++) {
        const int home = placement[f->home[s]].home;
        if (bench_is_below(f, piece, s)) {
            EQP_TRY(eqp_evaluation_block(evaluation, 0, s, f->bytes[s], 1, home));
        }
        if (bench_is_branch(f, piece, s)) {
            EQP_TRY(eqp_evaluation_common(evaluation, home, f->bytes[s]));
        }
    }
done:
    return code;
}

static int trace(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const life *l = user;
    const bench_frame *f = l->frame;
    int64_t *piece = NULL;
    int *home = NULL, code;

    (void)nparts;
    EQP_TRY(eqp_array_create(&home, f->n, sizeof *home));
    for (int64_t o = 0; o < f->n; o++) {
        home[o] = placement[o].home;
    }
    piece = loads_only ? NULL : bench_pieces(f, home);
    EQP_TRY(piece != NULL ? declare(f, piece, placement, evaluation) : EQP_OK);
    for (int64_t o = 0; o < f->n; o++) {
        EQP_TRY(trace_owner(l, o, map, placement, piece, evaluation));
    }
done:
    free(piece);
    free(home);
    return code;
}

/* Owners go on by the item in their middle. */
static void carry(life *l, const bench_frame *f)
{
    l->frame = f;
    free(l->owner);
    check(eqp_array_create(&l->owner, f->n, sizeof *l->owner), NULL);
    for (int64_t o = 0; o < f->n; o++) {
        const int64_t n = f->first[o + 1] - f->first[o];
        const eqp_placement before = o > 0 ? l->owner[o - 1] : (eqp_placement){0, 0};
        const eqp_placement middle = n > 0 ? l->item[f->item[f->first[o] + n / 2]] : before;
        l->owner[o] = middle.home >= 0 ? middle : before; /* an item may be new */
    }
}

static void tell_items(const life *l)
{
    const bench_frame *f = l->frame;

    for (int64_t o = 0; o < f->n; o++) {
        for (int64_t i = f->first[o]; i < f->first[o + 1]; i++) {
            l->item[f->item[i]] = l->owner[o];
        }
    }
}

static eqp_network network_of(int nparts)
{
    eqp_network network = EQP_NETWORK_DEFAULTS;

    network.alpha *= nparts;
    network.beta *= nparts;
    return network;
}

/* uneven: the imbalance of loads beyond what a map leaves, `promised`, as far as one could take it off the step. */
static eqp_evaluated step_of(life *l, double promised, double *uneven)
{
    const eqp_network network = network_of(l->nparts);
    double most = 0.0;
    eqp_evaluation *evaluation = NULL;
    eqp_evaluated result;
    eqp_traffic traffic = {.seconds = NULL};

    check(eqp_evaluation_create(l->nparts, 1, out, ghosts, &evaluation), NULL);
    check(trace(l, l->nparts, l->balancer->map, l->owner, false, evaluation), NULL);
    check(eqp_evaluation_best(evaluation, &network, &result), NULL);
    check(eqp_array_create(&traffic.seconds, l->nparts, sizeof *traffic.seconds), NULL);
    check(eqp_evaluation_by_plan(evaluation, &network, &result.plan, &traffic, &result), NULL);
    for (int p = 0; p < l->nparts; p++) {
        most = fmax(most, result.load_mean * (1.0 + promised) + traffic.seconds[p]);
    }
    *uneven = promised + fmax(result.step_seconds - most, 0.0) / result.load_mean;
    free(traffic.seconds);
    eqp_evaluation_free(evaluation);
    return result;
}

/* eqp_balancer_record() for all parts. */
static void record(life *l, const eqp_evaluated *step, double uneven, const eqp_advice *advice, double made,
                   int64_t left)
{
    eqp_balancer *b = l->balancer;
    const bool fresh = advice->action == EQP_RENEW && advice->changed;
    const double beyond = advice->action == EQP_RENEW ? b->memory.beyond : 0.0;
    const eqp_policy_sample sample = {.seconds_max = step->step_seconds,
                                      .seconds_mean = step->load_mean,
                                      .rebalanced = advice->action != EQP_KEEP,
                                      .balance_seconds = fmax(made - beyond, 0.0),
                                      .work_imbalance =
                                          fresh || advice->action == EQP_REPAIR ? step->imbalance : uneven,
                                      .promised = b->kept ? -1.0 : b->now.imbalance_promised,
                                      .repaired = advice->action == EQP_REPAIR,
                                      .repairable = eqp__can_repair(b)};

    eqp__auto_record(&b->memory, fresh, step->step_seconds / step->load_mean - 1.0, step->step_seconds,
                     advice->action != EQP_KEEP ? made : 0.0);
    check(eqp_policy_expect(&b->policy, left), NULL);
    check(eqp_policy_record(&b->policy, &sample), NULL);
    b->left = b->policy.left;
    b->has_map = true;
    b->action = EQP_KEEP;
    b->clock++;
}

static void create(life *l, const char *method, const char *policy)
{
    const eqp_problem problem = {
        .user = l, .nominal = nominal, .nphases = 1, .back = out, .ghosts = ghosts, .survey = survey, .trace = trace};
    const eqp_choice_options usual = {.strategy = EQP_SAMPLE_STRIDE, .threshold = 2.0};
    eqp_balancer_options options;
    eqp_message message = {""};

    check(eqp_balancer_options_init(&options, sizeof options), NULL);
    check(eqp_choice_parse(NULL, &usual, method, &options.method, &message), message.text);
    check(eqp_policy_options_parse(policy, &options.policy), "no such policy");
    options.network = network_of(l->nparts);
    options.plan_auto = true;
    options.calibrate = false;
    options.handed_out = true; /* the load of the one rank does not describe the parts */
    check(eqp_balancer_create(MPI_COMM_SELF, &problem, &options, &l->balancer, &message), message.text);
    l->balancer->nparts = l->nparts;
    l->balancer->costs.known = true;
    l->balancer->left = INT64_MAX;
}

/* Seconds of all, and of making maps: *made. */
static double go_through(const bench_history *h, int nparts, const char *method, const char *policy, double *all_made)
{
    life l = {.nparts = nparts};
    double sum = 0.0, made = 0.0, even = 0.0;
    int maps = 0, repairs = 0;

    check(eqp_array_create(&l.item, h->nitems, sizeof *l.item), NULL);
    for (int64_t i = 0; i < h->nitems; i++) {
        l.item[i].home = -1;
    }
    create(&l, method, policy);
    for (int t = 0; t < h->nframes; t++) {
        eqp_advice advice = {.action = EQP_KEEP};
        eqp_message message = {""};
        carry(&l, &h->frame[t]);
        const double begin = eqp_cpu_seconds();
        check(eqp_balancer_advise(l.balancer, h->nframes - t, &advice, &message), message.text);
        const double seconds = eqp_cpu_seconds_since(begin);
        if (advice.changed) {
            memcpy(l.owner, advice.placement, (size_t)l.frame->n * sizeof *l.owner);
        }
        tell_items(&l);
        double uneven;
        const eqp_evaluated step = step_of(&l, l.balancer->kept ? 0.0 : l.balancer->now.imbalance_promised, &uneven);
        record(&l, &step, uneven, &advice, seconds, h->nframes - t);
        sum += step.step_seconds + (advice.action != EQP_KEEP ? seconds : 0.0);
        made += advice.action != EQP_KEEP ? seconds : 0.0;
        even += step.load_mean;
        maps += advice.action == EQP_RENEW && advice.changed;
        repairs += advice.action == EQP_REPAIR;
    }
    printf("%d,%s,%s,%.6g,%.6g,%.6g,%d,%d,\"%s\",%.6g\n", nparts, method, policy, sum / nparts, made / nparts,
           even / nparts, maps, repairs, l.balancer->now.chosen, l.balancer->memory.spent / nparts);
    fflush(stdout);
    eqp_balancer_free(l.balancer);
    free(l.owner);
    free(l.item);
    *all_made = made;
    return sum;
}

/* All policies, but for intervals at which maps alone take longer than the best run. */
static void go_through_all(const bench_history *h, int nparts, const char *method)
{
    double made, price, best = go_through(h, nparts, method, policies[0], &price);

    for (int k = 1; k < POLICIES; k++) {
        const int every = atoi(policies[k]) + STEPS * (strcmp(policies[k], "auto") == 0 || policies[k][0] == 'g');
        if (price * h->nframes / (every > 0 ? every : 2) < best) {
            best = fmin(best, go_through(h, nparts, method, policies[k], &made));
        }
    }
}

int main(int argc, char **argv)
{
    bench_history h;

    MPI_Init(&argc, &argv);
    if (argc < 5 || atoi(argv[1]) < 1) {
        bench_die("study_life", "give PARTS,... METHOD+... gravity GENERATOR, or ... network OPTION...");
    }
    if (strcmp(argv[3], "gravity") == 0) {
        bench_follow_particles(argv[4], STEPS, &h);
    } else {
        bench_follow_network(argc - 4, argv + 4, STEPS, &h);
    }
    printf("parts,method,policy,seconds,made,even,maps,repairs,chosen,trials\n");
    for (char *at = argv[1]; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        char words[256], *rest = NULL;
        snprintf(words, sizeof words, "%s", argv[2]);
        for (char *word = strtok_r(words, "+", &rest); word != NULL; word = strtok_r(NULL, "+", &rest)) {
            go_through_all(&h, atoi(at), word);
        }
    }
    bench_history_free(&h);
    MPI_Finalize();
    return 0;
}
