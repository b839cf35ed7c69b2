/* SPDX-License-Identifier: BSD-3-Clause */
/* A balancer's what-ifs. */
#include "run/balancer.h"

#include "move/network.h"
#include "par/comm.h"

#include <limits.h>

static bool can_compare(const eqp_balancer *b, const eqp_comparison *c, eqp_message *message)
{
    bool can_be = c->nchoices >= 1 && c->choice != NULL && c->ncounts >= 1 && c->parts != NULL &&
                  (c->network == NULL || eqp__network_valid(c->network)) && eqp__can_be_speeds(c->nspeeds, c->speed) &&
                  eqp__can_be_capacities(&c->capacities);

    for (int i = 0; i < c->nchoices && can_be; i++) {
        can_be = eqp__can_be_choice(&c->choice[i]) && eqp__can_live(b, &c->choice[i], message);
    }
    for (int i = 0; i < c->ncounts && can_be; i++) {
        can_be = c->parts[i] >= 1 && c->parts[i] <= INT_MAX;
    }
    return can_be;
}

/* Of what must be the same on all ranks. */
static int64_t print_comparison(const eqp_comparison *c)
{
    int64_t print = eqp_fingerprint(c->ncounts, c->ncounts, c->parts);

    for (int i = 0; i < c->nchoices; i++) {
        print = eqp__print_choice(print, &c->choice[i]);
    }
    if (c->network != NULL) {
        print = eqp__print_network(print, c->network);
    }
    if (c->plan != NULL) {
        print = eqp_fingerprint(print, 3, (const int64_t[]){c->plan->stages, c->plan->broadcast, c->plan->node});
    }
    return eqp__print_capacities(eqp_fingerprint(print, c->nspeeds, c->speed), &c->capacities);
}

int eqp_balancer_compare(eqp_balancer *balancer, const eqp_comparison *comparison, eqp_compared **rows,
                         eqp_message *message)
{
    eqp_balancer *const b = balancer;
    eqp_message own = {""};
    eqp_names home = {.n = 0};
    int code;

    if (b == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    message = message != NULL ? message : &own;
    code = comparison != NULL && rows != NULL && can_compare(b, comparison, message) ? EQP_OK : EQP_ERR_ARGUMENT;
    EQP_TRY(eqp__agree_alike(b->comm, code, code == EQP_OK ? print_comparison(comparison) : 0));
    EQP_TRY(eqp__ask_cycle(b));
    eqp_whatif what = {.comm = b->comm,
                       .problem = &b->problem,
                       .model = b->model,
                       .costs = &b->costs,
                       .overhead = eqp__overheads_now(&b->overheads),
                       .plan = comparison->plan,
                       .speeds = {comparison->nspeeds, comparison->speed},
                       .making = eqp__balancer_making(b, &b->options.method),
                       .clock = b->options.clock};
    what.making.memory = eqp__memory_with(b, &comparison->capacities);
    const eqp_network *network = comparison->network != NULL ? comparison->network : &b->options.network;
    const eqp__whatif_told told = {comparison->on_rows, comparison->on_map, comparison->user};
    EQP_TRY(eqp__take_names(b, &home));
    what.nhome = home.n;
    what.key = home.key;
    code = eqp__open_problem(b, true, &what.making);
    if (code == EQP_OK) {
        code = eqp__whatif_compare(&what, comparison->nchoices, comparison->choice, comparison->ncounts,
                                   comparison->parts, network, rows, &told, message);
    }
    eqp__close_problem(b);
done:
    eqp__names_free(&home);
    return code;
}
