/* SPDX-License-Identifier: BSD-3-Clause */
/* Phase 2: light owners are merged along the curve; heavy owners get units of their own or are split. */
#include "units_internal.h"

#include "memory.h"
#include <math.h>
#include <string.h>

struct builder {
    eqp_units *units;
    const eqp_owner_pins *known; /* NULL: enumerate */
    eqp_enumerate_fn enumerate;
    void *user;
    struct eqp__splitter splitter;
    int64_t total;  /* weight of all ranks in quanta */
    int64_t prefix; /* weight before this owner */
    int64_t draws;  /* RANDOM: draws before this owner */
    /* the current unit of light owners */
    int64_t open, open_base;
    struct eqp__sketches open_pins;
    /* a heavy owner that stays whole */
    struct eqp__sketches lone_pins;
    struct eqp_sink pin_sink;
};

/* Place of an owner: `base` is the global number of its unit; wanted == 0 if it shares the unit. */
struct place {
    int64_t base;
    int64_t wanted;
};

/* True for strategies that split units until none exceeds the bound. */
static bool splits_again(const struct builder *b)
{
    return b->splitter.strategy == EQP_SAMPLE_ADAPTIVE || b->splitter.strategy == EQP_SAMPLE_STRIDE;
}

/* Two heavy owners never share an interval [b g, (b + 1) g): with weights >= g + 1 their middles p1 + w1 / 2 and p2
 * + w2 / 2 (rounded down) have p2 >= p1 + w1 and differ by at least ceil(w1 / 2) + floor(w2 / 2) > g. So (base, 1 +
 * sub) names a heavy owner's units, and (base, 0) the unit of light owners whose middle is in the interval. */
static struct place place_on_line(const struct builder *b, int64_t weight)
{
    int64_t target = b->splitter.target;
    int64_t middle = b->prefix + weight / 2;
    struct place place = {0};

    if (middle >= b->total) {
        middle = b->total > 0 ? b->total - 1 : 0; /* owners without weight come last */
    }
    place.base = middle / target;
    if (weight > target && splits_again(b) && weight <= b->splitter.bound && weight / 2 <= target) {
        place.wanted = 1; /* below the limits for units of light owners and for a unit of its own */
    } else if (weight > target) {
        double samples = rint((double)weight / (double)target);
        place.wanted = samples < 1 ? 1 : (int64_t)samples;
    }
    return place;
}

/* Draws are numbered along the curve. A lone draw d has base d + 1. Owners without a draw take the last base; owners
 * after an owner with draws d .. d + m - 1, m > 1, do the same, as that owner's units have the base d + 1 < d + m. */
static struct place place_by_draws(struct builder *b, int64_t id, int64_t count)
{
    int64_t m = eqp__draws(b->splitter.draw_seed, id, count, b->splitter.rate);
    struct place place = {m > 0 ? b->draws + 1 : b->draws, m > 1 ? m : 0};

    b->draws += m;
    return place;
}

/* --- pins of whole owners --- */

static int pins_take(void *context, const struct eqp__chunk *chunk)
{
    eqp__sketches_add_all(context, 0, chunk->n * chunk->npins, chunk->pin);
    return EQP_OK;
}

static int collect_pins(struct builder *b, struct eqp__sketches *pins, int64_t owner, int64_t id)
{
    if (pins->max == 0) {
        return EQP_OK;
    }
    eqp__sketches_add(pins, 0, id);
    if (b->known) {
        const int64_t *first = b->known->first + owner;
        eqp__sketches_add_all(pins, 0, first[1] - first[0], b->known->pin + first[0]);
        return EQP_OK;
    }
    b->pin_sink.context = pins;
    return eqp__enumerate(&b->pin_sink, b->enumerate, b->user, owner);
}

static int store_pins(struct builder *b, struct eqp__sketches *pins, int64_t cell, int64_t unit)
{
    return pins->max == 0 ? EQP_OK : eqp__units_pins_put(b->units, unit, pins, cell);
}

/* --- units --- */

static int close_open(struct builder *b)
{
    int64_t unit = b->open;

    b->open = -1;
    return unit >= 0 ? store_pins(b, &b->open_pins, 0, unit) : EQP_OK;
}

static int add_light(struct builder *b, int64_t owner, int64_t id, int64_t count, int64_t weight, int64_t base)
{
    int code = EQP_OK;

    if (b->open < 0 || b->open_base != base) {
        code = close_open(b);
        if (code == EQP_OK) {
            code = eqp__units_append(b->units, base << EQP_UNIT_SUB_BITS, owner, &b->open);
        }
        if (code == EQP_OK) {
            code = eqp__sketches_reset(&b->open_pins, 1);
        }
        EQP__CHECK(code);
        b->open_base = base;
    }
    struct eqp__unit *unit = &b->units->unit[b->open];
    unit->weight += weight;
    unit->interactions += count;
    b->units->owner_unit[owner] = b->open;
    return collect_pins(b, &b->open_pins, owner, id);
}

static int add_whole(struct builder *b, int64_t owner, int64_t count, int64_t weight, int64_t base, int64_t *unit)
{
    EQP_CHECK(eqp__units_append(b->units, (base << EQP_UNIT_SUB_BITS) | 1, owner, unit));
    b->units->unit[*unit].weight = weight;
    b->units->unit[*unit].interactions = count;
    b->units->owner_unit[owner] = *unit;
    return EQP_OK;
}

/* Turns the splitter's cells into units. An owner with a single cell stays whole. */
static int add_cells(struct builder *b, int64_t owner, int64_t id, int64_t base)
{
    struct eqp__splitter *s = &b->splitter;
    int64_t first;
    int code = s->n == 1 ? add_whole(b, owner, s->count[0], s->weight[0], base, &first)
                         : eqp__units_append_cells(b->units, owner, s->n, s->centroid, &first);

    for (int64_t c = 0; c < s->n && code == EQP_OK; c++) {
        struct eqp__unit *unit = &b->units->unit[first + c];
        unit->id = (base << EQP_UNIT_SUB_BITS) | (1 + c);
        unit->weight = s->weight[c];
        unit->interactions = s->count[c];
        eqp__sketches_keep(&s->pins, c, id);
        code = store_pins(b, &s->pins, c, first + c);
    }
    return code;
}

static int add_heavy(struct builder *b, int64_t owner, int64_t id, int64_t count, int64_t weight, struct place place)
{
    struct eqp__splitter *s = &b->splitter;
    int64_t unit;
    int code;

    if (place.wanted > 1 || (splits_again(b) && weight > s->bound)) {
        code = eqp__split(s, owner, id, weight, place.wanted, b->enumerate, b->user);
        if (code != EQP_OK || s->n > 0) {
            return code == EQP_OK ? add_cells(b, owner, id, place.base) : code;
        }
        /* no interaction with a weight was enumerated, so the owner stays as the caller described it */
    }
    EQP_TRY(add_whole(b, owner, count, weight, place.base, &unit));
    EQP_TRY(eqp__sketches_reset(&b->lone_pins, 1));
    EQP_TRY(collect_pins(b, &b->lone_pins, owner, id));
    EQP_TRY(store_pins(b, &b->lone_pins, 0, unit));
done:
    return code;
}

/* The place of the next owner, and its weight in quanta. */
static int place_next(struct builder *b, int64_t id, int64_t count, double weight, struct place *place, int64_t *fixed)
{
    int code;

    EQP_TRY(eqp__fix(weight, b->units->scale, fixed));
    *place = b->splitter.strategy == EQP_SAMPLE_RANDOM ? place_by_draws(b, id, count) : place_on_line(b, *fixed);
    b->prefix += *fixed;
    code = place->base >= EQP__BASE_LIMIT ? EQP_ERR_OVERFLOW : EQP_OK;
done:
    return code;
}

static int add_owner(struct builder *b, int64_t owner, int64_t id, int64_t count, double weight)
{
    struct place place;
    int64_t fixed;

    EQP__CHECK(place_next(b, id, count, weight, &place, &fixed));
    return place.wanted == 0 ? add_light(b, owner, id, count, fixed, place.base)
                             : add_heavy(b, owner, id, count, fixed, place);
}

/* --- setting up --- */

/* Sums up this rank's owners and checks them against the caller's sums over all ranks. */
static int check_totals(const eqp_units_options *options, int64_t n, const int64_t *id, const int64_t *count,
                        const double *weight, const eqp_units_totals *all, const eqp_units_totals *before,
                        eqp_units_totals *whole)
{
    eqp_units_options plain = *options;
    eqp_units_totals mine = EQP_UNITS_TOTALS_ZERO;

    plain.strategy = EQP_SAMPLE_STRIDE; /* draws are counted on the way */
    EQP__CHECK(eqp_units_totals_add(&plain, n, id, count, weight, &mine));
    if (!all) {
        *whole = mine;
        return EQP_OK;
    }
    bool fits = before->owners >= 0 && before->interactions >= 0 && before->weight >= 0 && before->draws >= 0 &&
                all->owners >= 0 && all->interactions >= 0 && all->weight >= 0 && all->draws >= 0 &&
                all->owners - before->owners >= mine.owners &&
                all->interactions - before->interactions >= mine.interactions &&
                all->weight - before->weight >= mine.weight && all->weight < EQP__WEIGHT_LIMIT;
    EQP__FAIL_IF(!fits, EQP_ERR_ARGUMENT);
    *whole = *all;
    return EQP_OK;
}

static int builder_init(struct builder *b, const eqp_units_options *options, const eqp_units_totals *all,
                        const eqp_units_totals *before, bool serial)
{
    struct eqp__splitter *s = &b->splitter;
    double target, rate;

    EQP__CHECK(eqp_units_target(options, all, &target, &rate));
    s->rate = options->rate > 0 || !serial ? options->rate : rate;
    EQP__FAIL_IF(options->strategy == EQP_SAMPLE_RANDOM && all->interactions > 0 && !(s->rate > 0),
                 EQP_ERR_ARGUMENT); /* draws before this rank are not counted */
    double quanta = fmax(1, rint(ldexp(target, options->weight_bits)));
    b->units->target = target;
    b->total = all->weight;
    b->prefix = before ? before->weight : 0;
    b->draws = before ? before->draws : 0;
    b->open = -1;
    s->dim = options->dim;
    s->strategy = options->strategy;
    s->target = (int64_t)quanta;
    s->bound = (int64_t)fmin(floor(options->threshold * quanta), (double)(EQP__WEIGHT_LIMIT - 1));
    s->seed = eqp__seed(options->seed, EQP__PURPOSE_SAMPLE);
    s->draw_seed = eqp__seed(options->seed, EQP__PURPOSE_DRAW);
    s->sink = (struct eqp_sink){.dim = options->dim, .scale = b->units->scale};
    b->pin_sink = (struct eqp_sink){.take = pins_take, .dim = options->dim, .pins = true, .scale = b->units->scale};
    eqp__sketches_init(&b->open_pins, options->seed, options->max_pins, false);
    eqp__sketches_init(&b->lone_pins, options->seed, options->max_pins, false);
    eqp__sketches_init(&s->pins, options->seed, options->max_pins, true);
    return EQP_OK;
}

static bool pins_ascend(int64_t n, const eqp_owner_pins *pins)
{
    if (n == 0) {
        return true;
    }
    if (!pins->first || pins->first[0] != 0) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        if (pins->first[i + 1] < pins->first[i]) {
            return false;
        }
    }
    return pins->first[n] == 0 || pins->pin;
}

int eqp_units_create_known(int64_t n, const int64_t *id, const int64_t *count, const double *weight,
                           const eqp_owner_pins *pins, eqp_enumerate_fn enumerate, void *user,
                           const eqp_units_options *options, const eqp_units_totals *all,
                           const eqp_units_totals *before, eqp_units **units)
{
    eqp_units_options known;
    struct builder b = {.enumerate = enumerate, .user = user};
    eqp_units_totals whole;

    EQP__FAIL_IF(!(options = eqp__units_options_known(options, &known)) || n < 0 ||
                     (n > 0 && (!id || !count || !weight)) || !enumerate || !units || (all == NULL) != (before == NULL),
                 EQP_ERR_ARGUMENT);
    if (pins && options->max_pins > 0) {
        EQP__FAIL_IF(!pins_ascend(n, pins), EQP_ERR_ARGUMENT);
        b.known = pins;
    }
    int code = check_totals(options, n, id, count, weight, all, before, &whole);
    if (code == EQP_OK) {
        code = eqp__units_new(options->dim, n, ldexp(1, options->weight_bits), &b.units);
    }
    EQP__CHECK(code);
    EQP_TRY(builder_init(&b, options, &whole, before, all == NULL));
    for (int64_t i = 0; i < n; i++) {
        EQP_TRY(add_owner(&b, i, id[i], count[i], weight[i]));
    }
    EQP_TRY(close_open(&b));
    EQP_TRY(eqp__units_finish(b.units));
done:
    eqp__splitter_free(&b.splitter);
    eqp__sketches_free(&b.open_pins);
    eqp__sketches_free(&b.lone_pins);
    if (code != EQP_OK) {
        eqp_units_free(b.units);
        return code;
    }
    *units = b.units;
    return EQP_OK;
}

int eqp_units_intervals(int64_t n, const int64_t *id, const int64_t *count, const double *weight,
                        const eqp_units_options *options, const eqp_units_totals *all, const eqp_units_totals *before,
                        int64_t *interval)
{
    eqp_units_options known;
    struct builder b = {.units = NULL};
    eqp_units_totals whole;
    int64_t *made = NULL;
    int code;

    EQP__FAIL_IF(!(options = eqp__units_options_known(options, &known)) || n < 0 ||
                     (n > 0 && (!id || !count || !weight || !interval)) || (all == NULL) != (before == NULL),
                 EQP_ERR_ARGUMENT);
    EQP_TRY(check_totals(options, n, id, count, weight, all, before, &whole));
    EQP_TRY(eqp__units_new(options->dim, 0, ldexp(1, options->weight_bits), &b.units));
    EQP_TRY(builder_init(&b, options, &whole, before, all == NULL));
    made = eqp__malloc((size_t)n, sizeof *made);
    EQP_TRY(made ? EQP_OK : EQP_ERR_MEMORY);
    for (int64_t i = 0; i < n; i++) {
        struct place place;
        int64_t fixed;
        EQP_TRY(place_next(&b, id[i], count[i], weight[i], &place, &fixed));
        made[i] = place.base;
    }
    if (n > 0) {
        memcpy(interval, made, (size_t)n * sizeof *interval);
    }
done:
    free(made);
    eqp__splitter_free(&b.splitter);
    eqp_units_free(b.units);
    return code;
}

int eqp_units_create(int64_t n, const int64_t *id, const int64_t *count, const double *weight,
                     eqp_enumerate_fn enumerate, void *user, const eqp_units_options *options,
                     const eqp_units_totals *all, const eqp_units_totals *before, eqp_units **units)
{
    return eqp_units_create_known(n, id, count, weight, NULL, enumerate, user, options, all, before, units);
}

int eqp_units_create_serial(int64_t n, const int64_t *id, eqp_enumerate_fn enumerate, void *user,
                            const eqp_units_options *options, eqp_units **units)
{
    int code = EQP_ERR_MEMORY;

    EQP__FAIL_IF(n < 0, EQP_ERR_ARGUMENT);
    int64_t *count = eqp__malloc((size_t)n, sizeof *count);
    double *weight = eqp__malloc((size_t)n, sizeof *weight);
    if (count && weight) {
        code = eqp_owners_weigh(n, id, NULL, enumerate, user, options, count, weight);
    }
    if (code == EQP_OK) {
        code = eqp_units_create(n, id, count, weight, enumerate, user, options, NULL, NULL, units);
    }
    EQP__FREE(count, weight);
    return code;
}
