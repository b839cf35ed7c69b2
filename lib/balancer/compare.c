/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons of maps of the present state. */
#include "balancer/balancer.h"

#include "comm/agree.h"
#include "move/network.h"

#include <equipoise/more/comm.h>

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

/* Fingerprint of the arguments that must be the same on all ranks. */
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

/* Rows for the present granularity. home: its owners. */
static int compare_here(eqp_balancer *b, const eqp_comparison *comparison, const eqp_names *home,
                        const eqp__whatif_told *told, eqp_compared **rows, eqp_message *message)
{
    eqp_whatif what = {.comm = b->comm,
                       .problem = &b->problem,
                       .model = b->model,
                       .costs = &b->costs,
                       .overhead = eqp__overheads_now(&b->overheads),
                       .plan = comparison->plan,
                       .speeds = {comparison->nspeeds, comparison->speed},
                       .options = eqp__balancer_map_options(b, &b->options.method),
                       .clock = b->options.clock,
                       .nhome = home->n,
                       .key = home->key};
    const eqp_network *network = comparison->network != NULL ? comparison->network : &b->options.network;

    what.options.memory = eqp__memory_with(b, &comparison->capacities);
    int code = eqp__open_problem(b, true, &what.options);

    if (code == EQP_OK) {
        code = eqp__whatif_compare(&what, comparison->nchoices, comparison->choice, comparison->ncounts,
                                   comparison->parts, network, rows, told, message);
    }
    eqp__close_problem(b);
    return code;
}

typedef struct grained {
    const eqp_comparison *comparison;
    int ngrains, nrows;
    eqp_compared **of;  /* [ngrains] rows [nrows] of each granularity, owned */
    eqp_compared *kept; /* [nrows] best row of each choice, owned */
    /* while maps are reported: */
    int grain, row;
} grained;

static void grained_free(grained *g)
{
    for (int i = 0; g->of != NULL && i < g->ngrains; i++) {
        free(g->of[i]);
    }
    EQP__FREE((void *)g->of, g->kept);
}

static int grained_create(const eqp_balancer *b, const eqp_comparison *comparison, grained *g)
{
    int code;

    *g = (grained){
        .comparison = comparison, .ngrains = b->problem.ngrains, .nrows = comparison->ncounts * comparison->nchoices};
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(g->of, g->ngrains), EQP__ARRAY(g->kept, g->nrows)));
done:
    return eqp_agree(b->comm, code, NULL);
}

/* The granularity with the shortest next step, or present step if the next is unknown; its cost is that of trying
 * all granularities. */
static eqp_compared best_of(const grained *g, int row)
{
    double seconds = 0.0;
    int best = 0;

    for (int i = 0; i < g->ngrains; i++) {
        const eqp_compared *of = &g->of[i][row], *least = &g->of[best][row];
        const double step[] = {least->evaluated.step_seconds, of->evaluated.step_seconds};
        const double next[] = {least->step_next, of->step_next};
        best = i > 0 && eqp__outlook_pick(2, step, next) == 1 ? i : best;
        seconds += of->balance_seconds;
    }
    eqp_compared kept = g->of[best][row];
    kept.grain = best;
    kept.balance_seconds = seconds;
    return kept;
}

/* An on_map callback: reports the best rows of a granularity, one after another. */
static int show_kept(void *user, const eqp_compared *row, const eqp_map *map, const eqp_placement *placement)
{
    grained *g = user;
    const eqp_compared *kept = &g->kept[g->row++];

    (void)row;
    return kept->grain == g->grain ? g->comparison->on_map(g->comparison->user, kept, map, placement) : EQP_OK;
}

/* Remakes the maps of the best rows, since keeping the maps of all rows would take too much memory. */
static int show_maps(eqp_balancer *b, grained *g, eqp_names *home, eqp_message *message)
{
    const eqp__whatif_told told = {NULL, show_kept, g};
    int code = EQP_OK;

    for (g->grain = 0; g->grain < g->ngrains && code == EQP_OK; g->grain++) {
        eqp_compared *again = NULL;
        g->row = 0;
        code = eqp__take_grain(b, g->grain, home);
        code = code == EQP_OK ? compare_here(b, g->comparison, home, &told, &again, message) : code;
        free(again);
    }
    return code;
}

/* Compares at every granularity, each from the present state, and restores the present one. */
static int compare_grains(eqp_balancer *b, const eqp_comparison *comparison, eqp_names *home, eqp_compared **rows,
                          eqp_message *message)
{
    const int began = (int)b->run.grain;
    grained g;
    int code = grained_create(b, comparison, &g);

    for (int k = 0; k < g.ngrains && code == EQP_OK; k++) {
        const int grain = (began + k) % g.ngrains;
        code = eqp__take_grain(b, grain, home);
        code = code == EQP_OK ? compare_here(b, comparison, home, NULL, &g.of[grain], message) : code;
    }
    for (int i = 0; i < g.nrows && code == EQP_OK; i++) {
        g.kept[i] = best_of(&g, i);
    }
    for (int k = 0; k < comparison->ncounts && comparison->on_rows != NULL && code == EQP_OK; k++) {
        comparison->on_rows(comparison->user, comparison->nchoices, g.kept + k * comparison->nchoices);
    }
    code = code == EQP_OK && comparison->on_map != NULL ? show_maps(b, &g, home, message) : code;
    const int back = eqp__take_grain(b, began, home);
    code = code == EQP_OK ? back : code;
    if (code == EQP_OK) {
        *rows = g.kept;
        g.kept = NULL;
    }
    grained_free(&g);
    return code;
}

int eqp_balancer_compare(eqp_balancer *balancer, const eqp_comparison *given, eqp_compared **rows, eqp_message *message)
{
    eqp_balancer *const b = balancer;
    eqp_comparison wanted = eqp_comparison_defaults();
    const eqp_comparison *const comparison =
        eqp_struct_take(&wanted, given, EQP_STRUCT_UP_TO(eqp_comparison, capacities)) == EQP_OK ? &wanted : NULL;
    eqp_message own = {""};
    eqp_names home = {.n = 0};
    int code;

    EQP__FAIL_IF(b == NULL, EQP_ERR_ARGUMENT);
    message = message != NULL ? message : &own;
    code = comparison != NULL && rows != NULL && can_compare(b, comparison, message) ? EQP_OK : EQP_ERR_ARGUMENT;
    EQP_TRY(eqp__agree_alike(b->comm, code, code == EQP_OK ? print_comparison(comparison) : 0));
    EQP_TRY(eqp__ask_cycle(b));
    if (b->problem.ngrains > 1) {
        code = compare_grains(b, comparison, &home, rows, message);
    } else {
        const eqp__whatif_told told = {comparison->on_rows, comparison->on_map, comparison->user};
        EQP_TRY(eqp__take_names(b, &home));
        code = compare_here(b, comparison, &home, &told, rows, message);
    }
done:
    eqp__names_free(&home);
    return code;
}
