/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of lazy maps as users write them, and the choice of `auto`. */
#include "late/lazy.h"

#include "base/internal.h"

#include <limits.h>

#define WORD 64

static int read_pair(const char *name, const char *value, eqp_lazy_options *options, eqp_message *message)
{
    const bool delay = strcmp(name, "delay") == 0;
    int word = 0;

    if (delay || strcmp(name, "wait") == 0) {
        return eqp_read_int(value, delay, INT64_MAX, delay ? &options->delay : &options->wait, message);
    }
    if (strcmp(name, "patience") == 0) {
        return eqp_read_real(value, 0.0, true, 1e9, &options->patience, message);
    }
    if (strcmp(name, "spread") == 0) {
        const int code = eqp_read_choice(value, "last|node", &word, message);
        options->spread = word == 1;
        return code;
    }
    if (strcmp(name, "repair") == 0) {
        if (strcmp(value, "auto") == 0 || strcmp(value, "never") == 0) {
            options->repair = value[0] == 'a' ? -1 : 0;
            return EQP_OK;
        }
        if (eqp_read_int(value, 1, INT64_MAX, &options->repair, NULL) == EQP_OK) {
            return EQP_OK;
        }
        eqp_message_set(message, "repair '%s' is none of: auto, never, a number of steps", value);
        return EQP_ERR_ARGUMENT;
    }
    eqp_message_set(message, "'%s' is none of: wait, delay, repair, patience, spread", name);
    return EQP_ERR_ARGUMENT;
}

/* Copies at most WORD - 1 bytes up to a character of `ends`; returns the rest of the text. */
static const char *cut(const char *text, const char *ends, char word[WORD])
{
    const size_t n = strcspn(text, ends);

    snprintf(word, WORD, "%.*s", n < INT_MAX ? (int)n : INT_MAX, text);
    return text + n;
}

static int read_mode(const char *word, eqp_lazy_options *options, eqp_message *message)
{
    static const char *const modes[] = {"none", "auto", "thread"};
    int64_t balancers = 0;

    for (int m = 0; m < 3; m++) {
        if (strcmp(word, modes[m]) == 0) {
            options->mode = (eqp_lazy_mode)m;
            return EQP_OK;
        }
    }
    options->mode = EQP_LAZY_BY_RANKS;
    if (eqp_read_int(word, 0, INT_MAX, &balancers, NULL) != EQP_OK) {
        eqp_message_set(message, "'%s' is none of: none, auto, thread, a number of ranks", word);
        return EQP_ERR_ARGUMENT;
    }
    options->balancers = (int)balancers;
    return EQP_OK;
}

static int check(const eqp_lazy_options *o, eqp_message *message)
{
    const char *wrong = NULL;

    if (o->wait >= 0 && o->delay >= 0) {
        wrong = "wait and delay exclude each other";
    } else if (o->mode == EQP_LAZY_BY_RANKS && o->balancers == 0 && o->delay < 0) {
        wrong = "without balancing ranks maps are held back: it needs delay=K";
    }
    if (wrong != NULL) {
        eqp_message_set(message, "%s", wrong);
    }
    return wrong != NULL ? EQP_ERR_ARGUMENT : EQP_OK;
}

int eqp_lazy_options_parse(const char *text, eqp_lazy_options *options, eqp_message *message)
{
    eqp_lazy_options read = eqp_lazy_options_defaults();
    char name[WORD], value[WORD];

    EQP__FAIL_IF(text == NULL || options == NULL, EQP_ERR_ARGUMENT);
    text = cut(text, ":", name);
    EQP_CHECK(read_mode(name, &read, message));
    if (*text == ':' && read.mode == EQP_LAZY_NONE) {
        eqp_message_set(message, "none takes no options");
        return EQP_ERR_ARGUMENT;
    }
    while (*text != '\0') {
        text = cut(text + 1, "=,", name);
        value[0] = '\0';
        text = *text == '=' ? cut(text + 1, ",", value) : text;
        EQP_CHECK(read_pair(name, value, &read, message));
    }
    EQP_CHECK(check(&read, message));
    *options = read;
    return EQP_OK;
}

static bool is_fit(const eqp_seconds_fit *fit)
{
    return eqp__is_amount(fit->fixed) && eqp__is_amount(fit->divided) && eqp__is_amount(fit->per_rank);
}

static double seconds_at(const eqp_seconds_fit *fit, double n)
{
    return n > 0.0 ? fit->fixed + fit->divided / n + fit->per_rank * n : 0.0;
}

/* Zero times infinity is zero. */
static double product(double x, double y)
{
    return x == 0.0 || y == 0.0 ? 0.0 : x * y;
}

/* Whole steps until a map that takes these seconds arrives, at most t. */
static int64_t whole(double seconds, double step, int64_t t)
{
    const double u = seconds > 0.0 ? ceil(seconds / step) : 1.0;

    return u < (double)t ? (u > 1.0 ? (int64_t)u : 1) : t;
}

/* Mean step with a map over this many steps, relative to its first step. */
static double growth(double drift, int64_t steps)
{
    const double grown = drift > 0.0 ? expm1((double)steps * log1p(drift)) : 0.0;

    return grown == INFINITY ? INFINITY : drift > 0.0 ? grown / ((double)steps * drift) : 1.0;
}

/* Seconds of t steps, f each if balanced, with a new map every `every` steps. */
static double with_maps(const eqp_lazy_model *model, double f, double price, int64_t every)
{
    const double steps = (double)model->steps;

    return product(product(steps, f), growth(model->drift, every)) + (steps / (double)every - 1.0) * price;
}

/* The same at the best number of steps between maps, from `late` to t - 1; INFINITY without any. The total is convex in
 * it, since longer steps and the price of maps both are. */
static double at_best(const eqp_lazy_model *model, double f, double price, int64_t late)
{
    int64_t low = late > 1 ? late : 1, high = model->steps - 1;

    if (low > high) {
        return INFINITY;
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (with_maps(model, f, price, middle) <= with_maps(model, f, price, middle + 1)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return with_maps(model, f, price, low);
}

/* n ranks compute while m ranks make a map. */
static double on_own_ranks(const eqp_lazy_model *model, int n, int m)
{
    const double f = seconds_at(&model->step, n);
    const double map = seconds_at(&model->map, m) + seconds_at(&model->talk, (double)n / m);
    const int64_t u = whole(map, (1.0 + model->imbalance) * f, model->steps);
    const double age = model->mended ? 1.0 : exp((double)u * log1p(model->drift));

    return at_best(model, product(f, age), model->own, u);
}

int eqp__lazy_choose(const eqp_lazy_model *model, int nranks, eqp__lazy_choice *choice)
{
    const double f = seconds_at(&model->step, nranks);
    eqp__lazy_choice made = {.in_line = INFINITY, .dedicated = INFINITY, .thread = INFINITY};

    EQP_REQUIRE(nranks >= 1 && nranks <= EQP_LAZY_RANKS_MAX && model->steps >= 1);
    EQP__FAIL_IF(!is_fit(&model->step) || !is_fit(&model->map) || !is_fit(&model->talk) ||
                     !eqp__is_amount(model->own) || !eqp__is_amount(model->imbalance) || !eqp__is_amount(model->drift),
                 EQP_ERR_DATA);
    made.in_line = fmin(with_maps(model, f, 0.0, model->steps), at_best(model, f, seconds_at(&model->map, nranks), 0));
    for (int m = 1; m < nranks; m++) {
        const double seconds = on_own_ranks(model, nranks - m, m);
        if (seconds < made.dedicated) {
            made.dedicated = seconds;
            made.balancers = m;
        }
    }
    made.thread = model->spare ? on_own_ranks(model, nranks, 1) : INFINITY;
    *choice = made;
    return EQP_OK;
}

int eqp_lazy_decide(const eqp_lazy_model *model, int nranks, bool thread, eqp_lazy_options *options, eqp_message *why)
{
    eqp__lazy_choice choice;
    eqp_lazy_model asked;

    EQP__FAIL_IF(model == NULL || options == NULL, EQP_ERR_ARGUMENT);
    asked = *model;
    asked.spare = thread && model->spare;
    asked.mended = options->repair != 0;
    EQP_CHECK(eqp__lazy_choose(&asked, nranks, &choice));
    options->mode = EQP_LAZY_NONE;
    options->balancers = 0;
    options->choose = true;
    if (choice.thread < choice.in_line && choice.thread <= choice.dedicated) {
        options->mode = EQP_LAZY_BY_THREAD;
    } else if (choice.dedicated < choice.in_line) {
        options->mode = EQP_LAZY_BY_RANKS;
        options->balancers = choice.balancers;
    }
    eqp_message_set(why, "%lld steps: %.3g s with maps in line, %.3g s by %d ranks of their own, %.3g s by a thread",
                    (long long)model->steps, choice.in_line, choice.dedicated, choice.balancers, choice.thread);
    return EQP_OK;
}
