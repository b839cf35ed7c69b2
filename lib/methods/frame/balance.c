/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame around every method: checks, agreement of the ranks, and the result. */
#include "methods/frame/frame.h"

#include "base/internal.h"
#include "comm/agree.h"

#include <equipoise/more/comm.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int refuse(eqp_message *message, int code, const char *what)
{
    eqp_message_set(message, "balance: %s", what);
    return code;
}

/* True if an option is zero, i.e. left to the method, or within its row's range. */
static bool is_set_well(const eqp_option *option, const eqp_settings *settings)
{
    const char *at = (const char *)settings + option->offset;
    const size_t bytes = option->type == EQP_OPTION_FLAG     ? sizeof(bool)
                         : option->type == EQP_OPTION_CHOICE ? sizeof(int)
                                                             : sizeof(int64_t);
    double real = 0;
    int64_t number = 0;
    int choice = 0;

    if (option->offset > sizeof *settings - bytes) {
        return false;
    }
    if (option->type == EQP_OPTION_REAL) {
        memcpy(&real, at, sizeof real);
        return real == 0 || (real >= option->low && real <= option->high && isfinite(real));
    }
    if (option->type == EQP_OPTION_INT) {
        memcpy(&number, at, sizeof number);
        return number == 0 || ((double)number >= option->low && (double)number <= option->high);
    }
    if (option->type == EQP_OPTION_CHOICE) {
        memcpy(&choice, at, sizeof choice);
        for (const char *word = option->choices; choice > 0 && word && (word = strchr(word, '|')); word++) {
            choice--;
        }
    }
    return choice == 0;
}

const eqp_balance_options *eqp__balance_options_known(const eqp_balance_options *options, eqp_balance_options *here)
{
    *here = eqp_balance_options_defaults();
    return eqp_struct_take(here, options, 0) == EQP_OK ? here : NULL;
}

/* A caller's items in this version's layout: `here` filled, or NULL for a struct that cannot be read. */
static const eqp_balance_items *items_known(const eqp_balance_items *items, eqp_balance_items *here)
{
    *here = eqp_balance_items_defaults();
    return eqp_struct_take(here, items, EQP_STRUCT_UP_TO(eqp_balance_items, phase_load)) == EQP_OK ? here : NULL;
}

int eqp__balance_options_check(const eqp_method *method, const eqp_balance_options *o, eqp_message *message)
{
    if (!method) {
        eqp_message_set(message, "balance: no method, or one that this build lacks");
        eqp__methods_add_all(message);
        return EQP_ERR_ARGUMENT;
    }
    EQP__FAIL_IF(
        !eqp_method_assigns(method) || !method->name || !o || (method->noptions > 0 && !method->option),
        refuse(message, EQP_ERR_ARGUMENT,
               "a method that no call carries out, or options that eqp_balance_options_defaults() has not made"));
    EQP__FAIL_IF(o->nparts < 1, refuse(message, EQP_ERR_ARGUMENT, "the number of parts must be at least 1"));
    EQP__FAIL_IF(eqp__shares_check(o->nparts, o->share),
                 refuse(message, EQP_ERR_ARGUMENT, "the shares must be positive and sum to 1"));
    EQP__FAIL_IF(!(o->imbalance_tol >= 0) || !isfinite(o->imbalance_tol),
                 refuse(message, EQP_ERR_ARGUMENT, "the imbalance tolerance must not be negative"));
    for (int i = 0; i < method->noptions; i++) {
        EQP__FAIL_IF(!is_set_well(&method->option[i], &o->settings),
                     EQP__SAY(message, EQP_ERR_ARGUMENT, "balance: %s: %s is out of range", method->name,
                              method->option[i].name));
    }
    for (int p = 0; o->part_load && p < o->nparts; p++) {
        EQP__FAIL_IF(!(o->part_load[p] >= 0) || !isfinite(o->part_load[p]),
                     refuse(message, EQP_ERR_ARGUMENT, "a measured load must not be negative"));
    }
    for (int p = 0; o->capacity && p < o->nparts; p++) {
        EQP__FAIL_IF(o->capacity[p] < 0, refuse(message, EQP_ERR_ARGUMENT, "a capacity must not be negative"));
    }
    EQP__FAIL_IF(o->nphases != 0 && eqp__phases_check(o->nphases, o->times),
                 refuse(message, EQP_ERR_ARGUMENT, "a cycle has 1 to 16 phases that come more than 0 times"));
    return EQP_OK;
}

static int check_arrays(const eqp_method *method, const eqp_balance_items *items, const eqp_balance_options *options,
                        const int *part, eqp_message *message)
{
    EQP__FAIL_IF(!items || items->n < 0 || (items->n > 0 && (!items->id || !part)),
                 refuse(message, EQP_ERR_ARGUMENT, "no items, or items without ids"));
    if (items->n == 0) {
        return EQP_OK;
    }
    EQP__FAIL_IF(items->phase_load ? options->nphases == 0 : options->nphases > 1,
                 refuse(message, EQP_ERR_ARGUMENT, "loads of phases and the number of phases need each other"));
    EQP__FAIL_IF(options->capacity && !items->size,
                 refuse(message, EQP_ERR_ARGUMENT, "capacities need the sizes of the items"));
    const char *lacks = (method->flags & EQP_NEEDS_WEIGHTS) && !items->weight && !items->phase_load ? "weights"
                        : (method->flags & EQP_NEEDS_POINTS) && !items->point                       ? "positions"
                        : (method->flags & EQP_NEEDS_PINS) && !items->pin_first                     ? "pins"
                                                                                                    : NULL;
    EQP__FAIL_IF(lacks, EQP__SAY(message, EQP_ERR_ARGUMENT, "balance: %s needs %s", method->name, lacks));
    EQP__FAIL_IF(items->pin_first && (items->pin_first[0] != 0 || (items->pin_first[items->n] > 0 && !items->pin)),
                 refuse(message, EQP_ERR_ARGUMENT, "the pins are incomplete"));
    return EQP_OK;
}

/* The error in item i as text; NULL: none. */
static const char *find_fault(const eqp_balance_items *t, int64_t i)
{
    if (t->id[i] < 0) {
        return "a negative id";
    }
    if (t->weight && (!(t->weight[i] >= 0) || !isfinite(t->weight[i]))) {
        return "a weight that is negative or not finite";
    }
    if (t->particles && t->particles[i] < 0) {
        return "a negative number of particles";
    }
    if (t->size && t->size[i] < 0) {
        return "a negative size";
    }
    for (int k = 0; t->point && k < 3; k++) {
        if (!isfinite(t->point[3 * i + k])) {
            return "a position that is not finite";
        }
    }
    for (int k = 0; t->source && k < 3; k++) {
        if (!isfinite(t->source[3 * i + k])) {
            return "a source that is not finite";
        }
    }
    if (t->pin_first && t->pin_first[i + 1] < t->pin_first[i]) {
        return "a negative number of pins";
    }
    return NULL;
}

static int check_values(const eqp_balance_items *t, int nphases, eqp_message *message)
{
    for (int64_t j = 0; t->phase_load && j < t->n * nphases; j++) {
        EQP__FAIL_IF(!(t->phase_load[j] >= 0) || !isfinite(t->phase_load[j]),
                     EQP__SAY(message, EQP_ERR_DATA,
                              "balance: item %" PRId64 " has a load of a phase that is negative or not finite",
                              t->id[j / nphases]));
    }
    for (int64_t i = 0; i < t->n; i++) {
        const char *fault = find_fault(t, i);
        EQP__FAIL_IF(fault, EQP__SAY(message, EQP_ERR_DATA, "balance: item %" PRId64 " has %s", t->id[i], fault));
    }
    int64_t npins = t->n > 0 && t->pin_first ? t->pin_first[t->n] : 0;
    for (int64_t k = 0; k < npins; k++) {
        EQP__FAIL_IF(
            t->pin[k] < 0 || (t->pin_weight && (!(t->pin_weight[k] >= 0) || !isfinite(t->pin_weight[k]))),
            EQP__SAY(message, EQP_ERR_DATA, "balance: pin %" PRId64 " has a negative id or no valid weight", k));
    }
    return EQP_OK;
}

/* Items as methods see them, with defaults filled in. */
typedef struct complete {
    eqp_balance_items items;
    int64_t *particles;
    double *weight;
    int *part;
    double *sums;             /* [3 nparts + FEW] work */
    int64_t *count;           /* [nparts] work */
    double all;               /* number of items of all ranks */
    double heaviest, quantum; /* largest weight of all ranks; unit that weights are rounded to */
    bool cycles;              /* items have loads per phase */
} complete;

/* Runs a serial method on rank 0 with the items of all ranks. */
static int assign_gathered(MPI_Comm comm, const eqp_method *method, const eqp_balance_items *items,
                           const eqp_balance_options *options, int *part, eqp_balance_result *result)
{
    const unsigned columns = EQP__IDS | EQP__PARTICLES | EQP__SIZES | EQP__PHASES | EQP__PART_NOW |
                             (method->flags & EQP_NEEDS_POINTS ? EQP__POINTS : 0) |
                             (method->flags & EQP_NEEDS_SOURCES ? EQP__SOURCES : 0) |
                             (method->flags & EQP_NEEDS_PINS ? EQP__PINS : 0);

    for (int64_t i = 0; i < items->n; i++) {
        const int now = items->part_now != NULL ? items->part_now[i] : -1;
        part[i] = now < options->nparts ? now : -1;
    }
    EQP__CHECK(eqp__gather_and_assign(comm, items, options, columns, method->assign_alone, part, result));
    if (!(method->flags & (EQP_SHAPED | EQP_REFINES))) {
        EQP__CHECK(eqp__relabel_all(comm, items, items->part_now, options, part, NULL));
    }
    return EQP_OK;
}

/* Scalars that describe() sums in addition to the values per part. */
enum { FEW = 4 };

/* Scalars summed over the ranks: number of items, weight, load of each phase. */
enum { SUMS = 2 + EQP_CYCLE_PHASES };

/* Default weight of item i: its load over a cycle, or its number of particles. */
static double cost_of(const eqp_balance_items *t, const eqp_balance_options *o, int64_t i)
{
    double sum = 0;

    if (!t->phase_load) {
        return (double)t->particles[i];
    }
    for (int k = 0; k < o->nphases; k++) {
        sum += eqp__times(o->times, k) * t->phase_load[i * o->nphases + k];
    }
    return sum;
}

static int complete_open(const eqp_balance_items *items, const eqp_balance_options *options, complete *c)
{
    int code = EQP__ARRAYS(EQP__ARRAY(c->part, items->n), EQP__ARRAY(c->sums, 3 * (int64_t)options->nparts + FEW),
                           EQP__ARRAY(c->count, options->nparts));

    c->items = *items;
    if (!code && !items->particles && !(code = eqp_array_create(&c->particles, items->n, sizeof *c->particles))) {
        for (int64_t i = 0; i < items->n; i++) {
            c->particles[i] = 1;
        }
        c->items.particles = c->particles;
    }
    if (!code && !(code = eqp_array_create(&c->weight, items->n, sizeof *c->weight))) {
        for (int64_t i = 0; i < items->n; i++) {
            c->weight[i] = items->weight ? items->weight[i] : cost_of(&c->items, options, i);
        }
        c->items.weight = c->weight;
    }
    return code;
}

/* Balance of the phases. No communication unless items have loads per phase. */
static int describe_cycle(MPI_Comm comm, const eqp_balance_items *t, const eqp_balance_options *o, bool cycles,
                          const int *part, eqp_balance_result *r)
{
    eqp_cycle cycle = {.efficiency = 1 / (1 + r->imbalance), .imbalance = {r->imbalance}};
    double *load = NULL;
    int code = EQP_OK;

    if (cycles) {
        EQP_TRY(eqp_agree(comm, eqp_array_create(&load, (int64_t)o->nparts * o->nphases, sizeof *load), NULL));
        for (int64_t i = 0; i < t->n; i++) {
            for (int k = 0; k < o->nphases; k++) {
                load[(int64_t)part[i] * o->nphases + k] += t->phase_load[i * o->nphases + k];
            }
        }
        EQP_TRY(eqp__sum_double(comm, (int64_t)o->nparts * o->nphases, load));
        EQP_TRY(eqp__cycle_of_parts(o->nparts, load, o->nphases, o->times, o->share, &cycle) ? EQP_ERR_OVERFLOW
                                                                                             : EQP_OK);
    }
    r->cycle_efficiency = cycle.efficiency;
    memcpy(r->phase_imbalance, cycle.imbalance, sizeof cycle.imbalance);
done:
    free(load);
    return code;
}

/* Fills the result from all ranks. A given weight is the sum of its rounded value and a remainder, which is rounded,
 * too; all sums are then exact and independent of the number of ranks. */
static int describe(MPI_Comm comm, const complete *c, const double *given, const eqp_balance_options *o,
                    const int *part, eqp_balance_result *r)
{
    const eqp_balance_items *t = &c->items;
    const double fine = c->quantum > 0 ? eqp__quantum(c->quantum, c->all) : 0;
    double *const load = c->sums, *const rest = load + o->nparts, *const count = rest + o->nparts;
    double *const few = count + o->nparts;
    eqp_part_loads loads;

    memset(c->sums, 0, (3 * (size_t)o->nparts + FEW) * sizeof *c->sums);
    for (int64_t i = 0; i < t->n; i++) {
        const int now = t->part_now ? t->part_now[i] : -1;
        load[part[i]] += t->weight[i];
        rest[part[i]] += given ? eqp__round_to(fine, given[i] - t->weight[i]) : 0;
        count[part[i]]++;
        if (now >= 0 && now < o->nparts && now != part[i]) {
            few[1]++;
            few[2] += t->size ? (double)(t->size[i] >> 32) : 0;
            few[3] += t->size ? (double)(t->size[i] & UINT32_MAX) : 0;
        }
    }
    few[0] = (double)t->n;
    EQP__CHECK(eqp__sum_exact(comm, 3 * (int64_t)o->nparts + FEW, c->sums));
    for (int p = 0; p < o->nparts; p++) {
        load[p] += rest[p];
        c->count[p] = (int64_t)count[p];
    }
    eqp__part_loads_finish(o->nparts, o->share, load, c->count, &loads);
    EQP__CHECK(isfinite(loads.total) ? EQP_OK : EQP_ERR_OVERFLOW);
    r->imbalance = loads.imbalance;
    r->load_max = loads.max;
    r->load_mean = loads.mean;
    r->empty_parts = loads.empty;
    r->items = (int64_t)few[0];
    r->moved = (int64_t)few[1];
    r->moved_bytes = (int64_t)(((uint64_t)(int64_t)few[2] << 32) + (uint64_t)few[3]);
    r->imbalance_floor = eqp__imbalance_floor(c->heaviest, loads.mean, o->nparts, o->share);
    r->within = r->imbalance <= o->imbalance_tol + EQP__IMBALANCE_SLACK;
    r->curve_better = !r->within && r->imbalance_curve < r->imbalance;
    r->imbalance_unrepaired = isnan(r->imbalance_unrepaired) ? r->imbalance : r->imbalance_unrepaired;
    return EQP_OK;
}

void eqp__balance_same(const eqp_method *method, const eqp_balance_options *o, eqp__same same[EQP__BALANCE_SAME])
{
    enum { SETTINGS = sizeof o->settings / sizeof(int64_t) };
    const eqp__same these[EQP__BALANCE_SAME] = {
        {eqp__print_text(2 * (int64_t)method->flags + (method->assign != NULL), method->name), "the method"},
        {o->nparts, "the number of parts"},
        {eqp_fingerprint(0, o->nparts, o->share), "the shares"},
        {eqp__bits_of(o->imbalance_tol), "the imbalance tolerance"},
        {(int64_t)o->seed, "the seed"},
        {eqp_fingerprint(0, o->nparts, o->part_load), "the measured loads"},
        {eqp_fingerprint(0, SETTINGS, &o->settings), "the options of the method"},
        {o->nphases, "the number of phases"},
        {eqp_fingerprint(0, o->nphases, o->times), "the times of phases"},
        {eqp_fingerprint(0, o->nparts, o->capacity), "the capacities"},
        {o->regions != NULL, "whether regions are wanted"}};

    memcpy(same, these, sizeof these);
}

/* Local sums. A total that overflows is infinite, which the caller turns into EQP_ERR_OVERFLOW. */
static void sum_loads(const complete *c, const eqp_balance_options *o, double sum[SUMS])
{
    const eqp_balance_items *t = &c->items;

    sum[0] = (double)t->n;
    for (int64_t i = 0; i < t->n; i++) {
        sum[1] += t->weight[i];
        for (int k = 0; t->phase_load && k < o->nphases; k++) {
            sum[2 + k] += t->phase_load[i * o->nphases + k];
        }
    }
}

/* Agrees on a code, on the options and on the set of arrays, so that all ranks make the same collective calls.
 * Computes the global number of items, largest weight and rounding unit. Collective. */
static int agree_on_call(MPI_Comm comm, int code, const eqp_method *method, const eqp_balance_items *t,
                         const eqp_balance_options *o, complete *c, eqp_message *message)
{
    double sum[SUMS] = {0};
    enum { OPTIONS = EQP__BALANCE_SAME, ARRAYS = 8 };
    eqp__same same[OPTIONS];
    int64_t pair[OPTIONS + ARRAYS + 1][2];

    for (int k = 0; k <= OPTIONS + ARRAYS; k++) {
        pair[k][0] = pair[k][1] = INT64_MAX;
    }
    if (!code) {
        const void *array[ARRAYS] = {t->weight, t->particles, t->size,       t->point,
                                     t->source, t->pin_first, t->pin_weight, t->phase_load};

        eqp__balance_same(method, o, same);
        for (int k = 0; k < OPTIONS; k++) {
            eqp__put_value(pair[k], same[k].value);
        }
        for (int k = 0; k < ARRAYS && t->n > 0; k++) {
            eqp__put_value(pair[OPTIONS + k], array[k] != NULL);
        }
        for (int64_t i = 0; i < t->n; i++) {
            c->heaviest = fmax(c->heaviest, c->weight[i]);
        }
        pair[OPTIONS + ARRAYS][0] = ~eqp__rank_of_double(c->heaviest);
        sum_loads(c, o, sum);
    }
    code = eqp__meet(comm, code, 2 * (OPTIONS + ARRAYS) + 1, pair[0], SUMS, sum, message);
    for (int k = 0; k < OPTIONS + ARRAYS && !code; k++) {
        if (eqp__pair_differs(pair[k])) {
            eqp_message_set(message, "balance: %s%s", k < OPTIONS ? "the ranks differ in " : "",
                            k < OPTIONS ? same[k].what : "an array is given on some ranks only");
            code = EQP_ERR_ARGUMENT;
        }
    }
    for (int k = 1; k < SUMS && !code; k++) {
        code = isfinite(sum[k]) ? EQP_OK : refuse(message, EQP_ERR_OVERFLOW, "the weights have no finite sum");
    }
    c->cycles = pair[OPTIONS + ARRAYS - 1][0] == 1;
    c->heaviest = eqp__double_of_rank(~pair[OPTIONS + ARRAYS][0]);
    c->all = sum[0];
    c->quantum = eqp__quantum(c->heaviest, c->all);
    return code;
}

int eqp__balance_checked(MPI_Comm comm, int code, const eqp_method *method, const eqp_balance_items *items,
                         const eqp_balance_options *options, int *part, eqp_balance_result *result,
                         eqp_message *message)
{
    complete c = {0};
    eqp_balance_result r = {.imbalance_unrepaired = NAN, .imbalance_curve = NAN};
    eqp_balance_options here = eqp_balance_options_defaults();

    code = code ? code : eqp__balance_options_check(method, options, message);
    code = code ? code : check_arrays(method, items, options, part, message);
    code = code ? code : check_values(items, options->nphases, message);
    code = code ? code : complete_open(items, options, &c);
    EQP_TRY(agree_on_call(comm, code, method, items, options, &c, message));
    here = *options;
    here.message = message;
    for (int64_t i = 0; i < items->n; i++) {
        c.weight[i] = eqp__round_to(c.quantum, c.weight[i]);
    }
    EQP_TRY(method->assign != NULL ? method->assign(comm, &c.items, &here, c.part, &r)
                                   : assign_gathered(comm, method, &c.items, &here, c.part, &r));
    if (options->capacity) { /* set on all ranks or on none: see agree_on_call() */
        EQP_TRY(eqp__capacity_all(comm, &c.items, &here, !(method->flags & EQP_SHAPED), c.part, &r));
    }
    EQP_TRY(describe(comm, &c, items->weight, options, c.part, &r));
    EQP_TRY(describe_cycle(comm, &c.items, options, c.cycles, c.part, &r));
    if (items->n > 0) {
        memcpy(part, c.part, (size_t)items->n * sizeof *part);
    }
    if (result) {
        *result = r;
    }
done:
    if (code && message->text[0] == '\0') {
        eqp_message_set(message, "balance: method %s: %s", method ? method->name : "", eqp_error_text(code));
    }
    EQP__FREE(c.particles, c.weight, c.part, c.sums, c.count);
    return code;
}

int eqp_balance(MPI_Comm comm, const eqp_method *method, const eqp_balance_items *items,
                const eqp_balance_options *options, int *part, eqp_balance_result *result)
{
    MPI_Comm own = MPI_COMM_NULL;
    eqp_message message = {""};
    eqp_balance_options here;
    eqp_balance_items mine;
    int code = eqp__comm_dup(comm, &own);

    EQP__CHECK(code);
    options = eqp__balance_options_known(options, &here);
    here.regions = NULL;
    code = eqp__balance_checked(own, EQP_OK, method, items_known(items, &mine), options, part, result, &message);
    if (code && options && options->message) {
        *options->message = message;
    }
    eqp_comm_free(&own);
    return code;
}
