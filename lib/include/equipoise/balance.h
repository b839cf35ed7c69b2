/* SPDX-License-Identifier: BSD-3-Clause */
/** \file balance.h
 * \brief The table of balancing methods, which give every distributed item a part, and a parser for method names.
 *
 * A method is written METHOD[:OPTION,...]; an option is NAME=VALUE or a name alone: `sfc`, `interaction:pins=2`,
 * `tiles:aspect=1.5,even=step`. A method takes the options that its flags allow and the options of its own row. */
#ifndef EQUIPOISE_BALANCE_H
#define EQUIPOISE_BALANCE_H

#include <equipoise/error.h>
#include <equipoise/survey.h>
#include <equipoise/units.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Type of an option's value. An option that is not given is zero, false or NULL. */
typedef enum eqp_option_type {
    EQP_OPTION_INT,    /**< int64_t from `low` to `high` */
    EQP_OPTION_REAL,   /**< double from `low` to `high` */
    EQP_OPTION_CHOICE, /**< int: index into `choices` */
    EQP_OPTION_FLAG,   /**< bool: the name alone sets it */
    EQP_OPTION_METHOD  /**< const eqp_method *: a method whose parts are refined */
} eqp_option_type;

/** One option, a row of a table: the place of its value in the settings and the legal values. */
typedef struct eqp_option {
    const char *name;     /**< as the user writes it */
    eqp_option_type type; /**< type of the value */
    size_t offset;        /**< byte offset of the value in the settings */
    double low;           /**< smallest legal number */
    bool above;           /**< true if a real number must be above `low`, not equal to it */
    double high;          /**< largest legal number; INFINITY: no limit */
    const char *choices;  /**< for EQP_OPTION_CHOICE: words separated by '|', else NULL */
    const char *help;     /**< one line of help text */
} eqp_option;

/** Values of a method's own options, at the offsets that its option table gives; zeros select the method's defaults. */
typedef struct eqp_settings {
    int64_t word[8]; /**< storage for the values */
} eqp_settings;

/** The items of this rank, in curve order over the ranks (rank 0's items come first along the curve, then rank 1's).
 * All arrays are borrowed. With n == 0 every pointer may be NULL. Either all ranks with items give an array or none
 * does, except for `part_now`. */
typedef struct eqp_balance_items {
    size_t struct_size;   /**< of this struct in the caller's version; 0: of version 0.2 */
    int64_t n;            /**< items of this rank */
    const int64_t *id;    /**< [n] global ids, >= 0, unique over all ranks. Their order means nothing: a method breaks
                               ties by place in the array */
    const double *weight; /**< [n] cost, finite, >= 0; NULL on all ranks: `particles` */
    const int64_t *particles; /**< [n] particles in the item (what `count` balances), >= 0; NULL on all ranks: 1 */
    const double *point;      /**< [n][3] position, finite; NULL if the method does not need positions */
    const double *source;     /**< [n][3] centre of the sources of the item's interactions, finite; NULL: `point` */
    const int *part_now;      /**< [n] present part (or NULL: all unknown); a value outside 0 to nparts - 1: unknown */
    const int64_t *size;      /**< [n] bytes that move with the item, >= 0, or NULL */
    const int64_t *pin_first; /**< [n + 1] ascending, pin_first[0] == 0, or NULL */
    const int64_t *pin;       /**< [pin_first[n]] global ids >= 0 of the particles or blocks that the item touches */
    const double *pin_weight; /**< [pin_first[n]] cost of fetching that id, finite, >= 0, in the unit of `size`; of
                                   several costs of one id the largest counts. NULL on all ranks: 1 each, and moving an
                                   item costs 1 */
    const double *phase_load; /**< [n][nphases] cost in each phase of a cycle (survey.h), finite, >= 0; NULL on all
                                   ranks: `weight` is the only load. With it `weight` may be NULL: the sum of
                                   times x load */
} eqp_balance_items;

/** No items: `eqp_balance_items items = eqp_balance_items_defaults();` Local. */
static inline eqp_balance_items eqp_balance_items_defaults(void)
{
    eqp_balance_items items;

    memset(&items, 0, sizeof items);
    items.struct_size = sizeof items;
    return items;
}

/** A map from positions in space to parts: points.h. */
typedef struct eqp_regions eqp_regions;

/** Options of an assignment. All ranks give the same options and the same array contents, except for `message`. */
typedef struct eqp_balance_options {
    size_t size;             /**< size of this struct in the caller's version: set by eqp_balance_options_defaults() */
    int nparts;              /**< number of parts, >= 1; need not equal the number of ranks */
    const double *share;     /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed) */
    double imbalance_tol;    /**< target imbalance, >= 0 */
    uint64_t seed;           /**< seed of the hypergraph partitioner */
    eqp_message *message;    /**< one line about a failure, the same on all ranks; NULL: no message */
    const double *part_load; /**< `feedback`: [nparts] measured load of each present part, finite, >= 0; all 0: no
                                measurement yet. NULL: the weights replace the measurement (borrowed) */
    eqp_settings settings;   /**< values of the method's own options: zeros, or set by eqp_method_set() */
    int nphases;             /**< phases of a cycle, 0 to EQP_CYCLE_PHASES; 0 and 1 without `phase_load`: one load */
    const double *times;     /**< [nphases] occurrences of each phase in a cycle, finite, > 0; NULL: once (borrowed) */
    const int64_t *capacity; /**< [nparts] largest sum of the `size` of a part's items, >= 0; NULL: no limit. No
                                returned part exceeds it: if the method leaves such a part, items are moved at the
                                smallest loss of balance that the repair finds (borrowed) */
    eqp_regions **regions;   /**< output of eqp_balance_points() and eqp_balance_send(): the regions of the parts
                                (points.h), owned by the caller; unchanged on error. EQP_ERR_STATE if the method's
                                parts have no such regions. NULL: no regions. Other calls ignore it */
} eqp_balance_options;

/** Default options; set at least nparts. Local. */
static inline eqp_balance_options eqp_balance_options_defaults(void)
{
    eqp_balance_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.nparts = 1;
    options.imbalance_tol = 0.02;
    options.seed = 1;
    return options;
}

/** Statistics of an assignment, the same on all ranks. Imbalances are those of `weight`, defined in more/methods.h. */
typedef struct eqp_balance_result {
    double imbalance;            /**< of the returned parts */
    double imbalance_unrepaired; /**< of the partitioner's result, before repair */
    double imbalance_curve;      /**< of the weighted curve cut used as start or for comparison; NaN: no cut was made */
    double imbalance_floor;      /**< lower bound for any assignment of these items (the largest item) */
    double load_max;             /**< largest load / (nparts x share): with equal shares the largest load */
    double load_mean;            /**< total load / nparts */
    int64_t items;               /**< items of all ranks */
    int64_t moved;               /**< items whose present part was known and has changed */
    int64_t moved_bytes;         /**< sum of their `size` */
    int64_t repaired;            /**< items moved by the repair */
    int empty_parts;             /**< parts without items */
    int within;                  /**< 1 if imbalance <= imbalance_tol */
    int curve_better;            /**< 1 if imbalance > imbalance_tol and imbalance_curve is smaller */
    double cycle_efficiency;     /**< efficiency of the cycle's phases (survey.h); with one load 1 / (1 + imbalance) */
    double phase_imbalance[EQP_CYCLE_PHASES]; /**< of each phase, then zeros; with one load the first entry is
                                                 `imbalance` */
} eqp_balance_result;

/** Requirements and capabilities of a method. */
enum eqp_method_flags {
    EQP_NEEDS_WEIGHTS = 1,    /**< weight */
    EQP_NEEDS_POINTS = 2,     /**< point */
    EQP_NEEDS_PINS = 4,       /**< pin_first, pin */
    EQP_NEEDS_UNITS = 8,      /**< items should be work units rather than particles */
    EQP_NEEDS_SOURCES = 16,   /**< source, if it differs from `point` */
    EQP_KEEPS = 32,           /**< keeps the present parts; no new map is made */
    EQP_REFINES = 64,         /**< starts from the present parts, which may come from another method */
    EQP_CAN_SPLIT = 128,      /**< accepts whole owners of interactions as well as their work units */
    EQP_CAN_EVEN = 256,       /**< parts follow the weights: after reweighting they are as even as the tolerance asks */
    EQP_BY_LOADS = 512,       /**< learns from measured loads */
    EQP_SHAPED = 1024,        /**< codes rely on the shapes of the parts: no repair, and parts may be empty */
    EQP_NETS_BRANCHES = 2048, /**< cells of whole owners are pins, too: eqp_problem.branch (problem.h) */
    EQP_SCATTERS = 4096,      /**< the items of a part lie on many pieces of the curve */
    EQP_ANY_ORDER = 8192,     /**< parts do not depend on the order of the items */
    EQP_GATHERS = 16384       /**< one rank assigns all items, up to a limit; it also orders them if they
                                   have no order yet */
};

/** One method: a row of the table. */
typedef struct eqp_method {
    size_t size;         /**< sizeof(eqp_method); 0: of version 0.2 */
    const char *name;    /**< as in `--balance=NAME` */
    const char *summary; /**< one line of description */
    unsigned flags;      /**< enum eqp_method_flags */
    /** Assigns the items. eqp_balance() calls it on all ranks with checked arguments and a private communicator;
     * returns the same code on all ranks. May set the result's imbalance_unrepaired, imbalance_curve, repaired.
     * NULL: eqp_balance() gathers the items on rank 0, calls assign_alone there, sends the parts back and, unless the
     * flags say EQP_SHAPED or EQP_REFINES, renumbers them towards the present ones. */
    int (*assign)(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result);
    int noptions;             /**< options of its own */
    const eqp_option *option; /**< [noptions] the options, with their offsets into options->settings; NULL: none */
    /** Assigns the items if one rank has all of them. Uses no MPI, so a thread may call it; sets the same `part` as
     * `assign`. Local. May set the result's imbalance_unrepaired and repaired. NULL: not possible. eqp_balance() cannot
     * run a row without both functions; a balancer or an app runs it. */
    int (*assign_alone)(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result);
} eqp_method;

/** True if eqp_balance() can run the method. Local. */
static inline bool eqp_method_assigns(const eqp_method *method)
{
    return method && (method->assign != NULL || method->assign_alone != NULL);
}

/** The row with this name; NULL if there is none. Local. */
const eqp_method *eqp_method_find(const char *name);

/** Row i of the methods missing from this build because their library was not available: a name and a summary. These
 * rows are not in the table. NULL outside. Local. */
const eqp_method *eqp_method_lacking(int i);

/** Sets one of a method's own options. Local.
 * \param[in]     method    a row (borrowed)
 * \param[in]     name      name of the option
 * \param[in]     value     as the user writes it; NULL for an option without a value
 * \param[in,out] settings  start from zeros; unchanged on error
 * \param[out]    message   the error in one line; may be NULL
 * \return EQP_OK, EQP_ERR_UNKNOWN if the method has no such option, EQP_ERR_ARGUMENT for an invalid value */
int eqp_method_set(const eqp_method *method, const char *name, const char *value, eqp_settings *settings,
                   eqp_message *message);

/** Parses a method and its own options, such as `sfc` or `tensor:x=2,y=2,z=2`. Local.
 * \param[in]     word      NULL and "": `sfc`, which every build has (borrowed)
 * \param[out]    method    its row; unchanged on error
 * \param[in,out] settings  start from zeros; options not in the word keep their values; unchanged on error
 * \param[out]    message   the error in one line, with the known names or the library missing from this build; may be
 *                          NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_method_read(const char *word, const eqp_method **method, eqp_settings *settings, eqp_message *message);

/** Gives every item a part. Collective: fails on all ranks or on none, with the same code.
 *
 * docs/methods.md describes each method, what its call gathers, and how far its parts depend on the distribution of the
 * items: up to 2^22 items only those of `interaction` and `hypergraph` do. With equal shares no method leaves a part
 * empty if there are enough items, except with EQP_KEEPS or EQP_SHAPED. `none` assigns as `count` if a present part is
 * unknown. `feedback` takes one step with options->part_load; without it, steps from equal counts as long as they help.
 *
 * Items may have a load in each of several phases of a cycle (survey.h). `levelled` and `metis` balance the
 * phases (as constraints of `metis`); the other methods balance `weight`, by default the sum over a cycle. The parts of
 * `metis` are then not repaired, but empty parts are filled. The result describes the cycle for every method.
 *
 * With capacities, the sizes of a part's items never sum to more than its capacity. If the method exceeds one, one rank
 * repairs the assignment: runs of the curve, then single items, leave the overfull parts, and are exchanged until loads
 * are as even as before or cannot be improved; if that fails, all items are packed anew. If no assignment is found, the
 * code is EQP_ERR_CAPACITY. The message then gives a proof that none exists: a violated lower bound (sum of sizes;
 * items larger than capacities; bin-packing bounds) or an exhaustive search over few items; or it says that there is no
 * proof. Parts of methods with EQP_SHAPED are not repaired; the call fails instead.
 *
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table or your own; the same name and flags on all ranks
 * \param[in]  items    this rank's items
 * \param[in]  options  NULL is an error: nparts has no default that would make sense
 * \param[out] part     [n] 0 to nparts - 1; unchanged on error
 * \param[out] result   may be NULL
 * \return EQP_OK; EQP_ERR_ARGUMENT for a method or options that differ between ranks or are out of range, a missing
 * array that the method needs, or one that only some ranks give; EQP_ERR_DATA for an invalid value in an array (NaN,
 * negative) and, from `rcb`, `rib`, `interaction` and `hypergraph`, for duplicate ids; EQP_ERR_MEMORY;
 * EQP_ERR_OVERFLOW; EQP_ERR_ZOLTAN; EQP_ERR_INTERNAL where METIS fails; EQP_ERR_CAPACITY; EQP_ERR_MPI */
int eqp_balance(MPI_Comm comm, const eqp_method *method, const eqp_balance_items *items,
                const eqp_balance_options *options, int *part, eqp_balance_result *result);

/** Methods in addition to the library's table. */
typedef struct eqp_methods {
    const eqp_method *const *row; /**< [n] (borrowed); the code itself runs a row whose `assign` is NULL */
    int n;                        /**< rows, >= 0 */
} eqp_methods;

/** Row i of the library's table, followed by the rows of `own` and by `auto`, which a balancer (balancer.h) runs by
 * trying other methods; NULL outside.
 * \param[in] own  may be NULL (borrowed) */
const eqp_method *eqp_methods_at(const eqp_methods *own, int i);

/** Number of rows of the library's table. Local. */
static inline int eqp_method_count(void)
{
    int n = 0;

    while (eqp_methods_at(NULL, n + 1)) { /* the last one is `auto` */
        n++;
    }
    return n;
}

/** Row i of the library's table, 0 to eqp_method_count() - 1; NULL outside. Local. */
static inline const eqp_method *eqp_method_at(int i)
{
    return i < eqp_method_count() ? eqp_methods_at(NULL, i) : NULL;
}

/** How a method makes maps, in addition to its own settings. */
typedef struct eqp_choice_options {
    eqp_sample_strategy strategy; /**< `strategy`, with EQP_NEEDS_UNITS: how centroids are drawn */
    double rate;      /**< `rate`, with EQP_NEEDS_UNITS: units per interaction, at most 1; 0: from the tolerance */
    double threshold; /**< `threshold`, with EQP_NEEDS_UNITS: multiple of the target weight above which a unit is
                         split again */
    int64_t pins;     /**< `pins`, with EQP_NEEDS_PINS: largest number per unit; 0: chosen automatically; 2: its
                          owner and the other end of the interaction next to its centroid (Pearce 2014) */
    bool full;        /**< `full`, with EQP_NEEDS_PINS: every interaction is a unit with all its pins */
    const eqp_method *start; /**< `start`, with EQP_REFINES: method whose parts are refined; NULL: the present parts,
                                 or the curve's */
    bool split;              /**< `split`, with EQP_CAN_SPLIT: assign work units instead of whole owners */
    int even;                /**< `even`, with EQP_CAN_EVEN: 0 `load`; 1 `step`: load plus exchange; with `maps` 1
                                a rank computes its own owners in phases that become shorter by it */
    int homes;               /**< `homes`, with EQP_SCATTERS: 0 `parts`: owners live on the part that computes them;
                                1 `curve`: each part is home to a run of the curve with equally many particles, whatever
                                part computes them, if the code supports that (eqp_problem.apart) */
    int maps;                /**< `maps`, with EQP_CAN_SPLIT: 0 `cycle`: one map for all phases of a cycle (survey.h);
                                1 `phase`: each phase has its own map (eqp_map_tag_in()), and data stay in runs of the
                                curve, as with `homes` 1, but runs of equal work. With one phase the same as `homes`
                                alone */
} eqp_choice_options;

/** Buffer size for a word, including the terminating zero. */
#define EQP_WORD_SIZE 80

/** Longest word that the parser accepts. */
#define EQP_WORD_LETTERS 63

/** A method with options. */
typedef struct eqp_choice {
    char word[EQP_WORD_SIZE];   /**< as written */
    const eqp_method *method;   /**< row of the method (borrowed) */
    eqp_choice_options options; /**< options, as changed by the word */
    eqp_settings settings;      /**< of the method's own options */
} eqp_choice;

/** Parses one word.
 * \param[in]  own      may be NULL (borrowed)
 * \param[in]  usual    options that the word changes; NULL: zeros, with EQP_SAMPLE_STRIDE and threshold 2 (borrowed)
 * \param[in]  word     the text
 * \param[out] choice   unchanged on error
 * \param[out] message  the error in one line; may be NULL
 * \return EQP_OK, EQP_ERR_UNKNOWN for a method or option that does not exist, EQP_ERR_ARGUMENT for an invalid value,
 * for options that contradict each other and for a word that is too long */
int eqp_choice_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *word, eqp_choice *choice,
                     eqp_message *message);

/** Parses words separated by commas. A piece with an equals sign and no colon is an option of the previous word:
 * `interaction:pins=2,start=rcb,sfc` is two words. `all`: every row without EQP_KEEPS.
 * \param[out] n        words
 * \param[out] choices  [*n] owned by the caller, free()
 * \return as eqp_choice_parse(); EQP_ERR_ARGUMENT also for a repeated word; EQP_ERR_MEMORY */
int eqp_choices_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *words, int *n,
                      eqp_choice **choices, eqp_message *message);

/** The i-th option that a method accepts; NULL outside. */
const eqp_option *eqp_choice_option(const eqp_method *method, int i);

#ifdef __cplusplus
}
#endif
#endif
