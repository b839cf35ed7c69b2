/* SPDX-License-Identifier: BSD-3-Clause */
/* Late maps, on the application's side. */
#include "late/late.h"

#include "late/lazy.h"
#include "late/offer.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

/* A label is the owner's index on the rank where it was offered, plus 1, with the rank in the upper bits. */
#define LABEL_BITS 40

static bool lazy(const eqp_balancer *b)
{
    return b->options.lazy != NULL && b->news != EQP_LAZY_LOST;
}

/* True if the method can be found by its word; the makers get nothing else. */
static bool words_name(const eqp_balancer *b)
{
    const eqp_choice *mine = &b->options.method;
    const eqp_choice_options usual = {
        .strategy = mine->options.strategy, .rate = mine->options.rate, .threshold = mine->options.threshold};
    eqp_choice read;

    return eqp_choice_parse(b->problem.own, &usual, mine->word, &read, NULL) == EQP_OK && read.method == mine->method &&
           eqp__print_choice(0, &read) == eqp__print_choice(0, mine);
}

int eqp__late_host(eqp_balancer *b, eqp_message *message)
{
    const eqp_method *method = b->options.method.method;
    const eqp_lazy_mode mode = eqp__lazy_settings(b->options.lazy).mode;
    const char *wrong = NULL;

    if (b->options.lazy == NULL) {
        return EQP_OK;
    }
    if (b->problem.label == NULL) {
        wrong = "owners that carry no labels cannot be found again";
    } else if (method->flags & EQP_KEEPS) {
        wrong = "no map is made";
    } else if (method->flags & EQP_BY_LOADS) {
        wrong = "it learns from each step's loads";
    } else if (!eqp_method_assigns(method) && method != &eqp__method_auto) {
        wrong = "the code itself makes its maps";
    } else if (mode == EQP_LAZY_BY_THREAD &&
               (method->assign_alone == NULL || b->options.method.options.split || b->options.method.options.homes)) {
        wrong = "it cannot be made in a thread without MPI; give it ranks";
    } else if (eqp__memory_is_capped(&b->bounds)) {
        wrong = "what ranks have in memory is known in the run only";
    } else if (!words_name(b)) {
        wrong = "its word does not say what it is";
    }
    if (wrong != NULL) {
        eqp_message_set(message, "no lazy maps by %s: %s", method->name, wrong);
    }
    return wrong != NULL ? EQP_ERR_ARGUMENT
                         : eqp_lazy_host(b->options.lazy, eqp__late_make, (void *)(uintptr_t)b->problem.own);
}

/* After this many repairs a map is so scattered that a new one pays for itself in ghosts. */
#define WORN 3

/* True if the work is uneven and repairs are impossible, or WORN repairs were made. */
static bool has_aged(const eqp_balancer *b)
{
    const double fresh = fmax(b->options.policy.imbalance_tol, b->now.imbalance_promised);
    const bool mends = eqp__can_repair(b) && eqp__lazy_settings(b->options.lazy).repair != 0;

    return b->run.repaired >= WORN || (!mends && b->now.imbalance_work > fresh);
}

/* True if the next map is made in line although balancing ranks are available: by measurement, that costs no more
 * than running with the present map until a late one arrives. Equation 5.5 with the same ranks in both cases. */
static bool in_line(const eqp_balancer *b)
{
    const eqp_lazy_options options = eqp__lazy_settings(b->options.lazy);
    const double lost = fmax(0.0, b->now.imbalance_work - b->now.imbalance_promised) * b->now.load_mean;

    return options.choose && options.delay < 0 && b->news == EQP_LAZY_IDLE && b->run.late > 0 &&
           b->run.inline_seconds <= b->run.take_seconds + (double)b->run.late * lost;
}

static bool wants_offer(const eqp_balancer *b)
{
    if (!lazy(b) || b->news != EQP_LAZY_IDLE || !b->run.has_map || in_line(b)) {
        return false;
    }
    switch (b->options.policy.mode) {
    case EQP_POLICY_AUTO:
        return has_aged(b) && eqp__policy_may_want(&b->policy);
    case EQP_POLICY_EVERY:
        return b->policy.steps >= b->options.policy.every;
    default:
        return false;
    }
}

static bool repairs(const eqp_balancer *b)
{
    return eqp__lazy_settings(b->options.lazy).repair != 0 && eqp__method_weighs(b->options.method.method) &&
           !(b->options.method.method->flags & EQP_SHAPED);
}

/* True if the take may follow this step, which is then surveyed. If that is unknown, the take waits for a surveyed
 * step. */
static bool take_is_near(const eqp_balancer *b)
{
    const int64_t delay = eqp__lazy_settings(b->options.lazy).delay;

    return b->news == EQP_LAZY_READY ||
           (b->news == EQP_LAZY_OFFERED && delay >= 0 && b->run.clock + 1 - b->offered >= delay);
}

/* The action that replaces `wanted` while maps are made late. */
static eqp_policy_action instead(const eqp_balancer *b, eqp_policy_action wanted)
{
    const eqp_lazy_options options = eqp__lazy_settings(b->options.lazy);

    if (!lazy(b) || !b->run.has_map || in_line(b)) {
        return wanted;
    }
    if (options.repair == 0) {
        return EQP_KEEP;
    }
    if (options.repair > 0) {
        return eqp__can_repair(b) && b->policy.steps > 0 && b->run.clock % options.repair == 0 ? EQP_REPAIR : EQP_KEEP;
    }
    if (wanted == EQP_RENEW) { /* repairs are made meanwhile */
        return b->options.policy.mode == EQP_POLICY_AUTO && eqp__can_repair(b) ? EQP_REPAIR : EQP_KEEP;
    }
    return wanted;
}

eqp__late_due eqp__late_is_due(const eqp_balancer *b, eqp_policy_action *wanted)
{
    const bool known = b->surveyed || !b->surveys;

    *wanted = instead(b, *wanted);
    if (!lazy(b)) {
        return EQP__LATE_NOTHING;
    }
    if (b->news == EQP_LAZY_READY) {
        const bool exact = eqp__lazy_settings(b->options.lazy).delay >= 0;
        return known || exact || !repairs(b) ? EQP__LATE_TAKE : EQP__LATE_NOTHING;
    }
    return wants_offer(b) && known ? EQP__LATE_OFFER : EQP__LATE_NOTHING;
}

/* All pins where maps are tried, work units where owners may be split. */
static eqp_survey_detail detail_of(const eqp_balancer *b, const eqp_map_options *options)
{
    eqp_survey_detail detail = {.heavy = INFINITY};
    eqp_map_options divided = *options;

    if (options->method == &eqp__method_auto) {
        divided.how.split = true;
    }
    if (b->totals.interactions > 0 || !eqp__map_options_wants_units(&divided)) {
        detail = eqp__map_options_detail(&divided, b->nparts, &b->totals);
    }
    if (eqp__map_options_by_trial(options)) {
        detail.pin_below = UINT64_MAX;
    }
    return detail;
}

bool eqp__late_surveys(const eqp_balancer *b, const eqp_map_options *options, eqp_survey_detail *detail)
{
    const bool offers = wants_offer(b);

    if (!lazy(b) || !(offers || (take_is_near(b) && repairs(b)))) {
        return false;
    }
    *detail = offers ? detail_of(b, options) : (eqp_survey_detail){.heavy = INFINITY}; /* a repair needs weights only */
    return true;
}

/* Writes this rank's offer, and assigns the labels. */
static int write_offer(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, double life,
                       size_t *size, void **bytes)
{
    EQP_CHECK(home->n < (int64_t)1 << LABEL_BITS ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_CHECK(eqp__late_offer_write(b, home, options, life, size, bytes));
    return b->problem.label(b->problem.user, ((int64_t)b->rank << LABEL_BITS) + 1);
}

static int offer_now(eqp_balancer *b, eqp_map_options *options, double life, int64_t *bytes)
{
    const eqp_survey_detail detail = detail_of(b, options);
    eqp_names home = {.n = 0};
    double *base = NULL;
    void *offer = NULL;
    size_t size = 0;
    int code;

    EQP_TRY(eqp__take_names(b, &home));
    EQP_TRY(b->surveyed && b->problem.base == NULL ? EQP_OK : eqp__ask_problem(b, options, &detail, &base));
    options->base = base;
    EQP_TRY(eqp_agree(b->comm, write_offer(b, &home, options, life, &size, &offer), NULL));
    /* a rank that cannot send its offer reports that to the makers, who tell all */
    (void)eqp_lazy_offer(b->options.lazy, b->run.clock, size, offer);
    b->offered = b->run.clock;
    b->noffered = home.n;
    b->run.repaired = 0;
    b->news = EQP_LAZY_OFFERED;
    *bytes += (int64_t)size;
done:
    if (!b->surveyed) {
        eqp__balancer_forget(b, &b->survey);
    }
    b->surveyed = false;
    free(base);
    eqp__names_free(&home);
    return code;
}

static int read_answer(eqp_balancer *b, eqp__late_answer *answer, eqp_new_map *found)
{
    eqp_lazy_parcel parcel = {0, 0, NULL};

    EQP_CHECK(eqp_lazy_take(b->options.lazy, &parcel));
    EQP_CHECK(parcel.data != NULL ? EQP_OK : EQP_ERR_REMOTE);
    return eqp__late_answer_read(&parcel, b->nranks, b->noffered, answer, found);
}

/* Owners with labels of other ranks, and their placements. */
typedef struct foreign {
    int64_t n, capacity, of_capacity;
    eqp__address *address; /* [n] */
    int64_t *of;           /* [n] owner */
    eqp_placement *heard;  /* [n] */
} foreign;

static int add_foreign(foreign *f, int64_t owner, eqp__address address)
{
    EQP_CHECK(eqp_array_reserve(&f->address, &f->capacity, f->n + 1, sizeof *f->address));
    EQP_CHECK(eqp_array_reserve(&f->of, &f->of_capacity, f->n + 1, sizeof *f->of));
    f->address[f->n] = address;
    f->of[f->n++] = owner;
    return EQP_OK;
}

/* Placement of owner i by its label; an owner without a label stays. told: [noffered] by this rank's labels. */
static int follow_label(const eqp_balancer *b, const eqp_names *home, int64_t i, const eqp_placement *told, foreign *f,
                        eqp_placement *placement)
{
    const int64_t label = home->label[i] - 1, rank = label >> LABEL_BITS, at = label & (((int64_t)1 << LABEL_BITS) - 1);

    if (label >= 0 && rank == b->rank && at < b->noffered) {
        *placement = told[at];
        return EQP_OK;
    }
    *placement = (eqp_placement){eqp_map_own_rank(b->map, home->present[i].tag), b->rank};
    placement->tag = placement->tag >= 0 ? placement->tag : b->rank;
    if (label < 0) {
        return EQP_OK;
    }
    return rank < b->nranks && rank != b->rank ? add_foreign(f, i, (eqp__address){(int)rank, at}) : EQP_ERR_DATA;
}

static int follow_labels(eqp_balancer *b, const eqp_names *home, const eqp_placement *told, eqp_placement **placement)
{
    foreign f = {.n = 0};
    eqp_placement *made = NULL;
    int code = eqp_array_create(&made, home->n, sizeof *made);

    for (int64_t i = 0; i < home->n && code == EQP_OK; i++) {
        code = follow_label(b, home, i, told, &f, &made[i]);
    }
    code = code == EQP_OK ? eqp_array_create(&f.heard, f.n, sizeof *f.heard) : code;
    EQP_TRY(eqp__placements_fetch(b->comm, code, f.n, f.address, b->noffered, told, f.heard));
    for (int64_t i = 0; i < f.n; i++) {
        made[f.of[i]] = f.heard[i];
    }
    *placement = made;
    made = NULL;
done:
    EQP__FREE(made, f.address, f.of, f.heard);
    return code;
}

static int take(eqp_balancer *b, eqp_map_options *options, const eqp_names *home, eqp_new_map *found, int64_t *bytes,
                eqp_message *message)
{
    const int64_t late = b->run.clock - b->offered;
    eqp__late_answer answer;
    eqp_new_map told = {.map = NULL};
    int code = eqp_agree(b->comm, read_answer(b, &answer, &told), NULL);

    b->news = EQP_LAZY_IDLE;
    if (code != EQP_OK) { /* without a map the present one stays */
        snprintf(b->now.why, sizeof b->now.why, "the map of %lld steps ago was not made: %s", (long long)late,
                 eqp_error_text(code));
        eqp__new_map_free(&told);
        return code == EQP_ERR_MPI ? code : EQP_OK;
    }
    if (answer.kept) {
        snprintf(b->now.why, sizeof b->now.why, "%.100s; asked %lld steps ago", answer.why, (long long)late);
        return EQP_OK;
    }
    EQP_TRY(follow_labels(b, home, told.placement, &found->placement));
    found->map = told.map;
    found->made = told.made;
    told.map = NULL;
    b->totals = found->made.totals.interactions > 0 ? found->made.totals : b->totals;
    if (b->options.method.method == &eqp__method_auto) {
        memcpy(b->now.chosen, answer.chosen, sizeof b->now.chosen);
        eqp__auto_take(&b->memory, answer.chosen);
    }
    if (b->options.plan_auto) {
        eqp_exchange_plan plan = answer.plan;
        EQP_TRY(eqp_route_fit(b->comm, &plan));
        b->plan = plan;
    }
    b->run.repaired = 0;
    snprintf(b->now.why, sizeof b->now.why, "the map of %lld steps ago", (long long)late);
    if (repairs(b)) {
        EQP_TRY(eqp__late_repair(b, home, options, found, bytes, message));
    }
done:
    eqp__new_map_free(&told);
    return code;
}

int eqp__late_act(eqp_balancer *b, eqp__late_due due, eqp_map_options *options, double life, const eqp_names *home,
                  eqp_new_map *found, int64_t *bytes, eqp_message *message)
{
    return due == EQP__LATE_OFFER  ? offer_now(b, options, life, bytes)
           : due == EQP__LATE_TAKE ? take(b, options, home, found, bytes, message)
                                   : EQP_OK;
}

int64_t eqp__late_look(eqp_balancer *b)
{
    return eqp__lazy_word(eqp__lazy_look(b->options.lazy, b->run.clock + 1));
}

void eqp__late_hear(eqp_balancer *b, int64_t least)
{
    b->run.clock++;
    b->news = eqp__lazy_agreed(b->options.lazy, least);
}
