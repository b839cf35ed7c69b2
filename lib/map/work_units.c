/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/work_units.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool eqp__method_weighs(const eqp_method *method)
{
    return (method->flags & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS)) != 0;
}

bool eqp__map_options_wants_units(const eqp_map_options *options)
{
    return options->how.split || (options->method->flags & EQP_NEEDS_UNITS) != 0;
}

bool eqp__map_options_wants_pins(const eqp_map_options *options)
{
    const unsigned start = options->how.start != NULL ? options->how.start->flags : 0;

    return ((options->method->flags | start) & EQP_NEEDS_PINS) != 0;
}

bool eqp__map_options_wants_trial(const eqp_map_options *options)
{
    const bool fits = options->memory.known && eqp__memory_is_capped(&options->memory); /* only a trace shows that */

    return options->how.split || options->how.even || (options->method->flags & EQP_NEEDS_SOURCES) != 0 || fits;
}

eqp_map_options eqp__map_options_with(const eqp_map_options *run, const eqp_choice *choice)
{
    eqp_map_options made = *run;

    made.method = choice->method;
    made.how = choice->options;
    made.settings = choice->settings;
    return made;
}

/* Pins per unit. With 256 the hypergraph knows the unit's neighbours; with 64 it leaves up to 15 % more ghosts, with 16
 * up to 50 %. If there are many units, their pins are limited to ALL_PINS in total, but not below LEAST_PINS each,
 * because the time is proportional to the pins. */
#define MOST_PINS 256
#define LEAST_PINS 64
#define ALL_PINS 524288.0

/* A unit weighs at least this many times the work that each sharer of its owner repeats. */
#define LEAST_GAIN 8.0

/* Default threshold: units above this multiple of the wanted weight are split again. */
#define USUAL_THRESHOLD 2.0

#define WEIGHT_BITS 10 /* of the sampler's weights in nanoseconds: a resolution of 0.001 */

/* With PARTICLE, owners below this multiple of a unit's weight are never cut, and owners below this fraction of the
 * limit not even if units have become that much lighter since they were last cut. */
#define NEVER_CUT 1.25
#define SURELY 0.9

/* Pins are oversampled by this factor, since chance gives more or fewer; up to MOST_SPARE for units of several owners,
 * which share tiles. */
#define LEAST_SPARE 1.1
#define MOST_SPARE 2.0

/* Limit on units of one interaction (tile) each, for the sake of hypergraph partitioners. */
#define MOST_FULL ((int64_t)1 << 22)

/* An owner and the pins of a tile. Tiles at the same place, or of an undivided owner, form one unit with more pins. */
#define FULL_PINS 16

#define TWO_PINS 2 /* the form of the paper */

static int pins_per_unit(const eqp_map_options *options, double units)
{
    if (options->how.pins > 0) {
        return options->how.pins == TWO_PINS ? 0 : (int)options->how.pins; /* two pins are looked up, not sampled */
    }
    return (int)fmin(fmax(ALL_PINS / units, LEAST_PINS), MOST_PINS);
}

static eqp_units_options units_options(const eqp_map_options *options, int nparts)
{
    eqp_units_options wanted = eqp_units_options_defaults();

    wanted.strategy = options->how.strategy;
    wanted.seed = options->seed;
    wanted.rate = options->how.rate;
    wanted.imbalance = options->imbalance_tol > 0 ? options->imbalance_tol : 0.001;
    wanted.nparts = nparts;
    wanted.threshold = options->how.threshold > 0 ? options->how.threshold : USUAL_THRESHOLD;
    wanted.weight_bits = WEIGHT_BITS;
    return wanted;
}

eqp_survey_detail eqp__map_options_detail(const eqp_map_options *options, int nparts, const eqp_units_totals *last)
{
    const eqp_units_options wanted = units_options(options, nparts);
    eqp_survey_detail detail = {.heavy = INFINITY, .pin_below = 0};
    double target, rate;

    if (!eqp__map_options_wants_units(options)) {
        detail.pin_below = eqp__map_options_wants_pins(options) ? UINT64_MAX : 0;
        return detail;
    }
    if (options->how.full && last->interactions > MOST_FULL) {
        return detail; /* eqp__work_units_make() will refuse it */
    }
    if (options->how.full || options->how.strategy == EQP_SAMPLE_RANDOM) {
        return (eqp_survey_detail){.heavy = 0.0, .pin_below = UINT64_MAX}; /* samples may fall on any owner */
    }
    if (eqp_units_target(&wanted, last, &target, &rate) == EQP_OK && target > 0) {
        const double units = ldexp((double)last->weight, -WEIGHT_BITS) / target;
        const double spare = fmin(fmax(sqrt((double)last->owners / units), LEAST_SPARE), MOST_SPARE);
        const double share = spare * pins_per_unit(options, units) * units / (double)last->interactions;
        detail.heavy =
            SURELY * target * (options->how.strategy == EQP_SAMPLE_PARTICLE ? NEVER_CUT : fmin(2.0, wanted.threshold));
        detail.pin_below =
            share < 1.0 && options->how.pins != TWO_PINS ? (uint64_t)(share * ldexp(1.0, 63)) : UINT64_MAX;
    }
    return detail;
}

int eqp__survey_totals(MPI_Comm comm, const eqp_survey *survey, const eqp_work_model *model, eqp_units_totals *all)
{
    eqp_units_totals mine = EQP_UNITS_TOTALS_ZERO;

    for (int64_t i = 0; i < survey->n; i++) {
        mine.owners++;
        mine.interactions += survey->owner[i].interactions;
        mine.weight += (int64_t)ldexp(eqp__work_weight(model, survey->owner[i].count), WEIGHT_BITS);
    }
    return EQP__MPI(MPI_Allreduce(&mine, all, EQP_UNITS_TOTALS_WORDS, MPI_INT64_T, MPI_SUM, comm));
}

/* Totals of the weight that the units divide evenly; weight: [owners->n]. */
static int add_totals(MPI_Comm comm, const eqp_units_options *options, const eqp_owners *owners, const int64_t *count,
                      const double *weight, eqp_units_totals *all, eqp_units_totals *before)
{
    eqp_units_totals mine = EQP_UNITS_TOTALS_ZERO;
    int rank, code;

    *before = mine;
    code = eqp_units_totals_add(options, owners->n, owners->own_pin, count, weight, &mine);
    EQP__CHECK(eqp_agree(comm, code, NULL));
    MPI_Comm_rank(comm, &rank);
    EQP__FAIL_IF(MPI_Allreduce(&mine, all, EQP_UNITS_TOTALS_WORDS, MPI_INT64_T, MPI_SUM, comm) != MPI_SUCCESS ||
                     MPI_Exscan(&mine, before, EQP_UNITS_TOTALS_WORDS, MPI_INT64_T, MPI_SUM, comm) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    if (rank == 0) {
        *before = (eqp_units_totals)EQP_UNITS_TOTALS_ZERO;
    }
    return EQP_OK;
}

/* Makes units coarse enough for sharing their owners to pay: otherwise the repeated work exceeds the gain in
 * balance. */
static int coarsen(MPI_Comm comm, const eqp_owners *owners, const eqp_units_totals *all, eqp_units_options *wanted)
{
    int64_t quanta = 0;
    double mean;
    int code;

    for (int64_t o = 0; o < owners->n; o++) {
        quanta += (int64_t)ldexp(owners->again[o], WEIGHT_BITS);
    }
    code = eqp_sum_int64(comm, 1, &quanta);
    const double again = ldexp((double)quanta, -WEIGHT_BITS);
    if (code == EQP_OK && all->owners > 0 && all->weight > 0) {
        mean = ldexp((double)all->weight, -WEIGHT_BITS) / wanted->nparts;
        /* the target is imbalance x mean / max(2, threshold): see eqp_units_target() */
        wanted->imbalance =
            fmax(wanted->imbalance, LEAST_GAIN * again / (double)all->owners * fmax(2.0, wanted->threshold) / mean);
    }
    return code;
}

/* Joins units of light owners across ranks. */
static int join(MPI_Comm comm, const eqp_units_options *wanted, const int64_t *count, const double *weight,
                const eqp_units_totals *all, const eqp_units_totals *before, eqp_owners *owners)
{
    int64_t *interval = NULL;
    int code = eqp_array_create(&interval, owners->n, sizeof *interval);

    code = code == EQP_OK
               ? eqp_units_intervals(owners->n, owners->own_pin, count, weight, wanted, all, before, interval)
               : code;
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__owners_join(comm, interval, owners));
done:
    free(interval);
    return code;
}

static int make_sampled(MPI_Comm comm, const eqp_map_options *options, int nparts, eqp_owners *owners,
                        eqp_units_totals *all, eqp_units **units)
{
    eqp_units_options wanted = units_options(options, nparts);
    eqp_units_totals before;
    double target, rate;
    int code = add_totals(comm, &wanted, owners, owners->count, owners->weight, all, &before);

    code = code ? code : coarsen(comm, owners, all, &wanted);
    code = code ? code : eqp_agree(comm, eqp_units_target(&wanted, all, &target, &rate), NULL);
    if (code == EQP_OK) {
        wanted.max_pins = pins_per_unit(options, target > 0 ? ldexp((double)all->weight, -WEIGHT_BITS) / target : 1.0);
    }
    if (code == EQP_OK && wanted.strategy == EQP_SAMPLE_RANDOM && wanted.rate <= 0 && rate > 0) {
        wanted.rate = rate;
        code = add_totals(comm, &wanted, owners, owners->count, owners->weight, all, &before);
    }
    code = code ? code : join(comm, &wanted, owners->count, owners->weight, all, &before, owners);
    code = code ? code : add_totals(comm, &wanted, owners, owners->count, owners->weight, all, &before);
    if (code == EQP_OK) {
        const eqp_owner_pins pins = {owners->pin_first, owners->pin};
        code = eqp_units_create_known(owners->n, owners->own_pin, owners->count, owners->weight, &pins,
                                      eqp__owners_enumerate, owners, &wanted, all, &before, units);
        code = eqp_agree(comm, code, NULL);
    }
    return code;
}

/* Interactions of each owner if every tile counts 1. count, weight: owned by the caller in any case. */
static int count_tiles(const eqp_owners *owners, int64_t **count, double **weight)
{
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(*count, owners->n), EQP__ARRAY(*weight, owners->n)));
    for (int64_t o = 0; o < owners->n; o++) {
        (*count)[o] = owners->tile_first[o + 1] - owners->tile_first[o] + 1;
        (*weight)[o] = (double)(*count)[o];
    }
    return EQP_OK;
}

/* One strided sample per tile gives the tiles themselves. last: owners are at their final ranks. */
static int make_full(MPI_Comm comm, const eqp_map_options *options, int nparts, bool last, eqp_owners *owners,
                     eqp_units **units)
{
    const eqp_owner_pins pins = {owners->pin_first, owners->pin};
    eqp_units_options wanted = units_options(options, nparts);
    eqp_units_totals all, before;
    int64_t *count = NULL;
    double *weight = NULL;
    int code = eqp_agree(comm, count_tiles(owners, &count, &weight), NULL);

    wanted.strategy = EQP_SAMPLE_STRIDE;
    wanted.rate = 1;
    wanted.weight_bits = 0;
    wanted.max_pins = FULL_PINS;
    EQP_TRY(code);
    EQP_TRY(add_totals(comm, &wanted, owners, count, weight, &all, &before));
    if (!last) {
        EQP_TRY(join(comm, &wanted, count, weight, &all, &before, owners));
        EQP_TRY(make_full(comm, options, nparts, true, owners, units));
    } else {
        EQP_TRY(eqp_agree(comm,
                          eqp_units_create_known(owners->n, owners->own_pin, count, weight, &pins,
                                                 eqp__owners_enumerate_alike, owners, &wanted, &all, &before, units),
                          NULL));
    }
done:
    EQP__FREE(weight, count);
    return code;
}

static int refuse_full(MPI_Comm comm, const eqp_map_options *options, int nparts, const eqp_owners *owners,
                       eqp_units_totals *all, eqp_message *message)
{
    const eqp_units_options wanted = units_options(options, nparts);
    eqp_units_totals before;
    int code = add_totals(comm, &wanted, owners, owners->count, owners->weight, all, &before);

    if (code == EQP_OK && all->interactions > MOST_FULL) {
        eqp_message_set(message, "interaction:full: %lld interactions (of a group and a tile) are more than %lld",
                        (long long)all->interactions, (long long)MOST_FULL);
        code = EQP_ERR_ARGUMENT;
    }
    return code;
}

/* Visits the tiles of owner o, which has several units: the unit of each. */
static void weigh_tiles(const eqp_owners *owners, int64_t o, eqp_work_units *made)
{
    static const double own_centre[3] = {0.0, 0.0, 0.0};
    double rest = owners->weight[o];

    for (int64_t t = owners->tile_first[o]; t < owners->tile_first[o + 1]; t++) {
        made->weight[eqp_units_find(made->units, o, owners->tile_centroid + 3 * t)] += owners->tile_weight[t];
        rest -= owners->tile_weight[t];
    }
    made->weight[eqp_units_find(made->units, o, own_centre)] += rest > 0.0 ? rest : 0.0;
}

static int weigh(const eqp_map_options *options, const eqp_owners *owners, eqp_work_units *made)
{
    int code = eqp_array_create(&made->weight, made->n, sizeof *made->weight);

    for (int64_t u = 0; u < made->n && code == EQP_OK && !options->how.full; u++) {
        eqp_unit unit;
        code = eqp_units_get(made->units, u, &unit);
        made->weight[u] = unit.weight;
    }
    for (int64_t o = 0; o < owners->n && code == EQP_OK && options->how.full; o++) {
        int64_t first, count;
        code = eqp_units_of_owner(made->units, o, &first, &count);
        if (code == EQP_OK && count > 1) {
            weigh_tiles(owners, o, made);
        } else if (code == EQP_OK) {
            made->weight[first] += owners->weight[o];
        }
    }
    return code;
}

/* A pin of any tile of any owner of a unit; -1: none. */
static int64_t draw_pin(const eqp_owners *owners, uint64_t seed, int64_t id, int64_t owner)
{
    const int64_t first = owners->pin_first[owner], n = owners->pin_first[owner + 1] - first;

    return n > 0 ? owners->pin[first + (int64_t)eqp_random_below(seed, (uint64_t)id, 1, (uint64_t)n)] : -1;
}

/* Other partner of the interaction that is a unit's centroid, into other [n]; unknown ones stay -1. */
static void find_other_ends(const eqp_owners *owners, int64_t o, const eqp_work_units *made, int64_t *other)
{
    for (int64_t t = owners->tile_first[o]; t < owners->tile_first[o + 1]; t++) {
        const double *centroid = owners->tile_centroid + 3 * t;
        const int64_t *pin = owners->tile_pin + EQP_TILE_PINS * t;
        const int64_t u = eqp_units_find(made->units, o, centroid);
        eqp_unit unit;
        if (other[u] < 0 && eqp_units_get(made->units, u, &unit) == EQP_OK &&
            memcmp(unit.centroid, centroid, 3 * sizeof(double)) == 0) {
            other[u] = pin[0] >= 0 ? pin[0] : pin[1];
        }
    }
}

/* The form of the paper: an owner of the unit, and the other partner of its middle interaction. Units of whole
 * owners have no middle interaction, so both are drawn. */
static int take_two_pins(const eqp_map_options *options, const eqp_owners *owners, eqp_work_units *made)
{
    const int64_t *first, *owner;
    int64_t *other = NULL, npins = 0;
    int code = eqp_array_create(&made->own_first, made->n + 1, sizeof *made->own_first);

    code = code ? code : eqp_array_create(&made->own_pin, TWO_PINS * made->n, sizeof *made->own_pin);
    code = code ? code : eqp_array_create(&other, made->n, sizeof *other);
    for (int64_t u = 0; u < made->n && code == EQP_OK; u++) {
        other[u] = -1;
    }
    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        int64_t at, count;
        code = eqp_units_of_owner(made->units, o, &at, &count);
        if (code == EQP_OK && count > 1) {
            find_other_ends(owners, o, made, other);
        }
    }
    eqp_units_owners(made->units, &first, &owner);
    for (int64_t u = 0; u < made->n && code == EQP_OK; u++) {
        eqp_unit unit;
        int64_t one;
        code = eqp_units_get(made->units, u, &unit);
        one = owner[first[u] + (int64_t)eqp_random_below(options->seed, (uint64_t)unit.id, 0,
                                                         (uint64_t)(first[u + 1] - first[u]))];
        other[u] = unit.sub < 0 ? draw_pin(owners, options->seed, unit.id, one) : other[u];
        made->own_first[u] = npins;
        made->own_pin[npins++] = owners->own_pin[one];
        if (other[u] >= 0) {
            made->own_pin[npins++] = other[u];
        }
    }
    free(other);
    if (code == EQP_OK) {
        made->own_first[made->n] = npins;
        made->pin_first = made->own_first;
        made->pin = made->own_pin;
    }
    return code;
}

static int complete(const eqp_map_options *options, const eqp_owners *owners, eqp_work_units *made)
{
    int code;

    made->n = eqp_units_count(made->units);
    eqp_units_pins(made->units, &made->pin_first, &made->pin);
    code = weigh(options, owners, made);
    return code == EQP_OK && options->how.pins == TWO_PINS ? take_two_pins(options, owners, made) : code;
}

int eqp__work_units_make(MPI_Comm comm, const eqp_map_options *options, int nparts, eqp_owners *owners,
                         eqp_units_totals *all, eqp_work_units *units, eqp_message *message)
{
    eqp_work_units made = {.units = NULL};
    int code;

    *units = made;
    if (options->how.full) {
        code = refuse_full(comm, options, nparts, owners, all, message);
        code = code == EQP_OK ? make_full(comm, options, nparts, false, owners, &made.units) : code;
    } else {
        code = make_sampled(comm, options, nparts, owners, all, &made.units);
    }
    code = code ? code : eqp_agree(comm, complete(options, owners, &made), NULL);
    if (code != EQP_OK) {
        eqp__work_units_free(&made);
        return code;
    }
    *units = made;
    return EQP_OK;
}

void eqp__work_units_free(eqp_work_units *units)
{
    eqp_units_free(units->units);
    EQP__FREE(units->weight, units->own_first, units->own_pin);
    *units = (eqp_work_units){.units = NULL};
}
