/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating a balancer from a problem and options. */
#include "balancer/balancer.h"
#include "late/late.h"

#include "methods/frame/frame.h"
#include "move/network.h"

#include <equipoise/more/comm.h>

int eqp_balancer_options_init(eqp_balancer_options *options, size_t size)
{
    eqp_balancer_options usual = {.size = size,
                                  .imbalance_tol = 0.02,
                                  .seed = 1,
                                  .policy = eqp_policy_options_defaults(),
                                  .plan_auto = true,
                                  .calibrate = true,
                                  .plan = EQP_EXCHANGE_PLAN_DEFAULTS,
                                  .network = EQP_NETWORK_DEFAULTS};

    EQP__FAIL_IF(options == NULL || size < sizeof usual.size || size > sizeof usual, EQP_ERR_ARGUMENT);
    usual.method = (eqp_choice){
        .word = "auto", .method = &eqp__method_auto, .options = {.strategy = EQP_SAMPLE_STRIDE, .threshold = 2.0}};
    memcpy(options, &usual, size);
    return EQP_OK;
}

void eqp_balancer_free(eqp_balancer *balancer)
{
    if (balancer != NULL) {
        eqp__survey_release(&balancer->survey);
        eqp__survey_release(&balancer->names);
        eqp__rank_shares_free(balancer->shares);
        eqp__feedback_steps_free(balancer->feedback);
        eqp__calibration_free(&balancer->calibration);
        eqp__rank_noise_free(&balancer->noise);
        eqp__hindsight_free(balancer->hindsight);
        eqp_map_free(balancer->map);
        EQP__FREE(balancer->placement, balancer->row, balancer->load);
        eqp_timings_free(balancer->own);
        eqp_comm_free(&balancer->comm);
        free(balancer);
    }
}

static bool can_be_methods(const eqp_methods *own)
{
    bool can_be = own == NULL || (own->n >= 0 && (own->n == 0 || own->row != NULL));

    for (int i = 0; own != NULL && i < own->n && can_be; i++) {
        can_be = own->row[i] != NULL && own->row[i]->name != NULL;
    }
    return can_be;
}

static bool can_be_memory(const eqp_memory *memory)
{
    const double number[] = {memory->fixed, memory->held, memory->ghost, memory->byte};
    bool can_be = true;

    for (int k = 0; k < 4; k++) {
        can_be = can_be && isfinite(number[k]) && number[k] >= 0;
    }
    return can_be;
}

static bool holds(bool condition, const char *line, eqp_message *message)
{
    if (!condition && message->text[0] == '\0') {
        eqp_message_set(message, "balancer: %s", line);
    }
    return condition;
}

static int take_problem(eqp_balancer *b, const eqp_problem *given, eqp_message *message)
{
    const eqp_problem *const problem = &b->problem;

    b->problem = eqp_problem_defaults();
    EQP__FAIL_IF(eqp_struct_take(&b->problem, given, EQP_STRUCT_UP_TO(eqp_problem, grain)) != EQP_OK, EQP_ERR_ARGUMENT);
    const int nkinds = problem->nkinds > 0 ? problem->nkinds : 1;
    bool can_be = holds(problem->survey != NULL, "problem: there is no survey", message) &&
                  holds(problem->nkinds >= 0 && nkinds <= EQP_COST_KINDS, "problem: nkinds is out of range", message) &&
                  holds(problem->nphases >= 0 && problem->nphases <= EQP_PHASES_MAX &&
                            (problem->nphases == 0 || (problem->back != NULL && problem->ghosts != NULL)),
                        "problem: nphases is out of range, or back or ghosts is missing", message) &&
                  holds(isfinite(problem->branch) && problem->branch >= 0, "problem: branch is negative or not finite",
                        message) &&
                  holds(problem->ngrains >= 0 && (problem->ngrains <= 1 || problem->grain != NULL),
                        "problem: ngrains is negative, or grain is missing", message) &&
                  holds(can_be_methods(problem->own), "problem: own is no table of methods", message);

    if (problem->memory != NULL) {
        b->bounds.known = true;
        b->bounds.model = *problem->memory;
        can_be = can_be && holds(can_be_memory(problem->memory), "problem: memory is negative or not finite", message);
    }
    for (int k = 0; k < nkinds && can_be; k++) {
        b->nominal[k] = problem->nominal != NULL ? problem->nominal[k] : 1.0;
        can_be = holds(eqp__is_positive(b->nominal[k]), "problem: nominal is not positive and finite", message);
    }
    b->model = (eqp_work_model){.nkinds = nkinds, .nominal = b->nominal, .once = problem->once};
    int code = can_be ? eqp__costs_init(&b->costs, nkinds, b->nominal) : EQP_ERR_ARGUMENT;

    if (code == EQP_OK) {
        code = eqp__overheads_init(&b->overheads, problem->overhead);
        (void)holds(code != EQP_ERR_ARGUMENT, "problem: overhead is negative or not finite", message);
    }
    return code;
}

/* True for a choice that eqp_choice_parse() could have made. */
bool eqp__can_be_choice(const eqp_choice *choice)
{
    const eqp_choice_options *how = &choice->options;

    return choice->method != NULL && memchr(choice->word, 0, sizeof choice->word) != NULL && how->rate >= 0 &&
           how->rate <= 1 && isfinite(how->threshold) && how->threshold >= 0 && how->pins >= 0 &&
           how->strategy >= EQP_SAMPLE_RANDOM && how->strategy <= EQP_SAMPLE_STRIDE &&
           (how->maps == 0 || (how->homes != 0 && !how->split && (choice->method->flags & EQP_CAN_SPLIT)));
}

bool eqp__can_be_speeds(int n, const double *speed)
{
    bool can_be = n >= 0 && (n == 0 || speed != NULL);

    for (int i = 0; i < n && can_be; i++) {
        can_be = eqp__is_positive(speed[i]);
    }
    return can_be;
}

bool eqp__can_be_capacities(const eqp_capacities *capacities)
{
    return eqp__can_be_speeds(capacities->n, capacities->bytes) && isfinite(capacities->of_mean) &&
           capacities->of_mean >= 0 && (capacities->n == 0 || capacities->of_mean == 0);
}

static bool can_be_model(const eqp_speed_model *model)
{
    return model != NULL && model->name && model->create && model->add && model->divide && model->free;
}

static bool can_be_options(const eqp_balancer_options *o, eqp_message *message)
{
    const double tol[] = {o->imbalance_tol, o->fresh_tol, o->assign_tol};
    bool can_be = holds(eqp__can_be_choice(&o->method), "options: there is no such method", message);

    for (int k = 0; k < 3 && can_be; k++) {
        can_be = holds(isfinite(tol[k]) && tol[k] >= 0,
                       "options: imbalance_tol, fresh_tol or assign_tol is negative or not finite", message);
    }
    return can_be && holds(eqp__network_valid(&o->network), "options: the network is none", message) &&
           holds(o->share.kind >= EQP_SHARE_EQUAL && o->share.kind <= EQP_SHARE_MODEL &&
                     eqp__can_be_speeds(o->share.nspeeds, o->share.speed) &&
                     (o->share.kind != EQP_SHARE_MODEL || can_be_model(o->share.model)),
                 "options: share has speeds that are not positive and finite, or no model", message) &&
           holds(eqp__can_be_capacities(&o->capacities), "options: capacities are not positive and finite", message);
}

static int take_options(eqp_balancer *b, const eqp_balancer_options *options, eqp_message *message)
{
    int code;

    EQP_TRY(eqp_balancer_options_init(&b->options, sizeof b->options));
    EQP_TRY(eqp_struct_take(&b->options, options, 0));
    if (b->options.fixed_costs) {
        eqp__costs_fix(&b->costs);
        b->overheads.costs.fixed = true;
    }
    b->plan = b->options.plan;
    b->left = INT64_MAX;
    EQP_TRY(can_be_options(&b->options, message) ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP_TRY(holds(b->options.capacities.n == 0 || b->nranks % b->options.capacities.n == 0,
                  "options: the number of capacities does not divide the number of ranks", message)
                ? EQP_OK
                : EQP_ERR_ARGUMENT);
    b->bounds = eqp__memory_with(b, &b->options.capacities);
    code = eqp__policy_init(&b->policy, &b->options.policy);
    (void)holds(code != EQP_ERR_ARGUMENT, "options: the policy is out of range", message);
    EQP_TRY(code);
    code = eqp__rank_shares_create(&b->options.share, b->options.policy.mode == EQP_POLICY_AUTO, b->nranks, &b->shares);
    (void)holds(code != EQP_ERR_ARGUMENT, "options: share does not fit the number of ranks", message);
    EQP_TRY(code);
    EQP_TRY(eqp__feedback_steps_create(&b->options, b->nranks, &b->feedback));
    if (!b->options.handed_out && b->feedback == NULL && b->options.share.kind <= EQP_SHARE_SPEEDS) {
        const bool measures = b->options.calibrate && b->options.policy.mode == EQP_POLICY_AUTO;
        EQP_TRY(eqp__calibration_create(b->nranks, b->options.imbalance_tol, measures, b->options.policy.false_alarms,
                                        &b->calibration));
    }
done:
    return code;
}

/* Fingerprint of an array of words of 8 bytes. */
#define PRINT(print, words) eqp_fingerprint((print), (int64_t)(sizeof(words) / sizeof(int64_t)), (words))

static int64_t print_problem(const eqp_balancer *b)
{
    const eqp_problem *p = &b->problem;
    const eqp_overhead *o = &b->overheads.nominal;
    const int nown = p->own != NULL ? p->own->n : 0;
    const int64_t has[] = {p->open != NULL,  p->close != NULL,  p->aspect != NULL,  p->base != NULL,
                           p->trace != NULL, p->assign != NULL, p->advance != NULL, p->label != NULL,
                           p->cycle != NULL, p->turn != NULL,   p->grain != NULL,   b->bounds.known};
    const int64_t count[] = {b->model.nkinds, p->once,    p->nphases,  p->estimates, p->apart, p->ngrains, nown,
                             o->calls,        o->gathers, o->gathered, o->handshakes};
    const double real[] = {p->branch, o->held, o->ghost, o->byte, o->part};
    int64_t print = PRINT(PRINT(PRINT(eqp_fingerprint(0, b->model.nkinds, b->nominal), has), count), real);

    print = eqp_fingerprint(print, sizeof b->bounds.model / sizeof(double), &b->bounds.model);
    for (int i = 0; i < p->nphases; i++) {
        print = eqp_fingerprint(print, 2, (const int64_t[]){p->back[i] != 0, p->ghosts[i] != 0});
    }
    for (int i = 0; i < nown; i++) {
        print = eqp__print_method(print, p->own->row[i]);
    }
    return print;
}

int64_t eqp__print_network(int64_t print, const eqp_network *n)
{
    const double real[] = {n->alpha, n->beta, n->node, n->reduce, n->gather, n->gather_byte};

    return PRINT(print, real);
}

int64_t eqp__print_capacities(int64_t print, const eqp_capacities *capacities)
{
    return eqp_fingerprint(eqp_fingerprint(print, 1, &capacities->of_mean), capacities->n, capacities->bytes);
}

static int64_t print_options(const eqp_balancer_options *o)
{
    const eqp_policy_options *p = &o->policy;
    const double real[] = {o->imbalance_tol, o->fresh_tol, o->assign_tol, p->imbalance_tol, p->jump, p->false_alarms};
    const int64_t word[] = {(int64_t)o->size,   (int64_t)o->seed, p->mode,        p->every,          p->settle,
                            o->share.kind,      o->plan_auto,     o->plan.stages, o->plan.broadcast, o->plan.node,
                            o->network_measure, o->calibrate,     o->handed_out,  o->lazy != NULL,   o->fixed_costs};
    int64_t print = PRINT(PRINT(0, real), word);

    print = eqp__print_text(print, o->share.model != NULL ? o->share.model->name : "");
    print = eqp_fingerprint(print, o->share.nspeeds, o->share.speed);
    print = eqp__print_network(eqp__print_capacities(print, &o->capacities), &o->network);
    return eqp__print_choice(print, &o->method);
}

bool eqp__can_live(const eqp_balancer *b, const eqp_choice *choice, eqp_message *message)
{
    const bool can = b->problem.apart || !choice->options.homes;

    if (!can && message != NULL) {
        eqp_message_set(message, "%.40s: owners live where they are computed here", choice->word);
    }
    return can;
}

/* Local setup: everything that can fail on a single rank. print: fingerprint of problem and options, which must
 * agree. */
static int fill(eqp_balancer *b, const eqp_problem *problem, const eqp_balancer_options *options, int64_t print[2],
                eqp_message *message)
{
    MPI_Comm_rank(b->comm, &b->rank);
    MPI_Comm_size(b->comm, &b->nranks);
    b->nparts = b->nranks;
    EQP_CHECK(take_problem(b, problem, message));
    EQP_CHECK(take_options(b, options, message));
    EQP_CHECK(eqp__can_live(b, &b->options.method, message) ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP_CHECK(eqp__late_host(b, message));
    EQP_CHECK(EQP__ARRAYS(EQP__ARRAY(b->row, b->nranks), EQP__ARRAY(b->load, b->nranks)));
    EQP_CHECK(eqp_timings_create(b->model.nkinds, &b->own));
    EQP_CHECK(eqp_map_create(0, NULL, NULL, NULL, &b->map));
    EQP_CHECK(eqp__hindsight_create(&b->hindsight));
    EQP_CHECK(eqp__rank_noise_create(b->nranks, &b->noise));
    const int64_t prints[] = {print_options(&b->options), (int64_t)options->size};
    print[0] = print_problem(b);
    print[1] = eqp_fingerprint(0, 2, prints);
    return EQP_OK;
}

int eqp_balancer_create(MPI_Comm comm, const eqp_problem *problem, const eqp_balancer_options *options,
                        eqp_balancer **balancer, eqp_message *message)
{
    eqp_balancer *made = NULL;
    eqp_message said = {""};
    MPI_Comm own = MPI_COMM_NULL;
    int64_t print[2] = {0}, pair[4];
    int code = eqp_comm_create(comm, &own);

    if (code != EQP_OK) {
        return code;
    }
    code = problem == NULL || options == NULL || balancer == NULL ? EQP_ERR_ARGUMENT : EQP_OK;
    code = code == EQP_OK ? eqp_array_create(&made, 1, sizeof *made) : code;
    if (made != NULL) {
        made->comm = own;
        code = fill(made, problem, options, print, &said);
    }
    eqp__put_value(pair, print[0]);
    eqp__put_value(pair + 2, print[1]);
    code = eqp__agree_least(own, code, 4, pair, &said);
    if (code == EQP_OK && (eqp__pair_differs(pair) || eqp__pair_differs(pair + 2))) {
        code = EQP_ERR_ARGUMENT;
        eqp_message_set(&said, "balancer: the ranks differ in the %s", eqp__pair_differs(pair) ? "problem" : "options");
    }
    if (code == EQP_OK) {
        code = eqp_route_fit(own, &made->plan);
    }
    if (code != EQP_OK) {
        (void)holds(false, eqp_error_text(code), &said);
        if (message != NULL) {
            *message = said;
        }
        if (made == NULL) {
            eqp_comm_free(&own);
        }
        eqp_balancer_free(made);
        return code;
    }
    *balancer = made;
    return EQP_OK;
}
