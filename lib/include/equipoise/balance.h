/* SPDX-License-Identifier: BSD-3-Clause */
/** \file balance.h
 * \brief The table of balancing methods: distributed items in, a part for each out; and methods as people write them.
 *
 * A word is METHOD[:OPTION,...], an option NAME=VALUE or a name alone: `sfc`, `interaction:pins=2`,
 * `tiles:aspect=1.5,even=step`. A method takes the options that its flags allow and those of its own row. */
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

/** Type of an option's value. Zero, false or NULL is the value of an option that is not given. */
typedef enum eqp_option_type {
    EQP_OPTION_INT,    /**< int64_t from `low` to `high` */
    EQP_OPTION_REAL,   /**< double from `low` to `high` */
    EQP_OPTION_CHOICE, /**< int: a place in `choices` */
    EQP_OPTION_FLAG,   /**< bool: its name alone sets it */
    EQP_OPTION_METHOD  /**< const eqp_method *: a method whose parts are refined */
} eqp_option_type;

/** One option, a row of a table: where its value is among the settings, and what it may be. */
typedef struct eqp_option {
    const char *name;     /**< as people write it */
    eqp_option_type type; /**< of its value */
    size_t offset;        /**< of its value in the settings */
    double low;           /**< of a number: the smallest */
    bool above;           /**< of a real number: `low` itself is none */
    double high;          /**< of a number: the largest; INFINITY: none */
    const char *choices;  /**< of EQP_OPTION_CHOICE: words separated by '|', else NULL */
    const char *help;     /**< one line for people */
} eqp_option;

/** Values of a method's own options, where the rows of its table say; zeros are what the method takes for itself. */
typedef struct eqp_settings {
    int64_t word[8]; /**< room for the values */
} eqp_settings;

/** What is assigned: this rank's items, in curve order over the ranks (rank 0's items come first along the curve, then
 * rank 1's). All arrays are borrowed. With n == 0 every pointer may be NULL; of the ranks with items either all or none
 * give an array, `part_now` apart. */
typedef struct eqp_balance_items {
    int64_t n;                /**< items of this rank */
    const int64_t *id;        /**< [n] global ids, >= 0, no two alike on any rank */
    const double *weight;     /**< [n] cost, finite, >= 0; NULL on all ranks: the particles count */
    const int64_t *particles; /**< [n] particles in the item (what `count` balances), >= 0; NULL on all ranks: 1 */
    const double *point;      /**< [n][3] position, finite; NULL if the method needs none */
    const double *source;     /**< [n][3] centre of what the item's interactions come from, finite; NULL: `point` */
    const int *part_now;      /**< [n] present part (or NULL: none known); other than 0 to nparts - 1: unknown */
    const int64_t *size;      /**< [n] bytes that move with it, >= 0, or NULL */
    const int64_t *pin_first; /**< [n + 1] ascending, pin_first[0] == 0, or NULL */
    const int64_t *pin;       /**< [pin_first[n]] global ids >= 0 of the particles or blocks that it touches */
    const double
        *pin_weight; /**< [pin_first[n]] cost of fetching that id, finite, >= 0, in the unit of `size`; of several
                          for one id the largest counts. NULL on all ranks: 1 each, and moving an item costs 1 */
    const double *phase_load; /**< [n][nphases] cost in each phase of a cycle (survey.h), finite, >= 0; NULL on all
                                   ranks: there is one load, `weight`. With it `weight` may be NULL: the sum of
                                   times x load */
} eqp_balance_items;

/** Which part each place of space belongs to: points.h. */
typedef struct eqp_regions eqp_regions;

/** How it is assigned; the same on all ranks, contents of arrays included, but for `message`. */
typedef struct eqp_balance_options {
    size_t size;             /**< of this struct as its caller knows it: set by eqp_balance_options_defaults() */
    int nparts;              /**< number of parts, >= 1; not tied to the number of ranks */
    const double *share;     /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed) */
    double imbalance_tol;    /**< wanted imbalance, >= 0 */
    uint64_t seed;           /**< of the hypergraph partitioner */
    eqp_message *message;    /**< one line about a failure, the same on all ranks; NULL: not wanted */
    const double *part_load; /**< `feedback`: [nparts] measured load of each present part, finite, >= 0; all 0: nothing
                                was measured yet. NULL: the weights are taken for what would be measured (borrowed) */
    eqp_settings settings;   /**< values of the method's own options: zeros, or set by eqp_method_set() */
    int nphases;             /**< phases of a cycle, 0 to EQP_CYCLE_PHASES; 0 and 1 without `phase_load`: one load */
    const double *times;     /**< [nphases] how often each phase comes in a cycle, finite, > 0; NULL: once (borrowed) */
    const int64_t *capacity; /**< [nparts] the most that the `size` of a part's items may sum to, >= 0; NULL: anything.
                                No part is ever above it: where the method leaves one that is, items are moved, with as
                                little loss of balance as is found (borrowed) */
    eqp_regions **regions;   /**< of eqp_balance_points() and eqp_balance_send(): gets the regions of the parts
                                (points.h),   owned by the caller; unchanged on error. EQP_ERR_STATE where the regions of
                                the method   cannot be told. NULL: not wanted. Other calls ignore it */
} eqp_balance_options;

/** Options to begin with; set at least nparts. Local. */
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

/** What came out; the same on all ranks. Imbalance as in more/assign.h, of `weight`. */
typedef struct eqp_balance_result {
    double imbalance;            /**< of the returned parts */
    double imbalance_unrepaired; /**< of what the partitioner gave, before repair */
    double imbalance_curve;      /**< of the weighted curve cut that served as start or rival; NaN: none was made */
    double imbalance_floor;      /**< no assignment of these items can be better (the largest item) */
    double load_max;             /**< largest load / (nparts x share): with equal shares the largest load */
    double load_mean;            /**< total load / nparts */
    int64_t items;               /**< items of all ranks */
    int64_t moved;               /**< items whose present part was known and is another one now */
    int64_t moved_bytes;         /**< sum of their `size` */
    int64_t repaired;            /**< items that the repair moved */
    int empty_parts;             /**< parts without items */
    int within;                  /**< 1 if imbalance <= imbalance_tol */
    int curve_better;            /**< 1 if imbalance > imbalance_tol and the curve's is smaller */
    double cycle_efficiency;     /**< of the phases as in survey.h; with one load 1 / (1 + imbalance) */
    double phase_imbalance[EQP_CYCLE_PHASES]; /**< of each phase, 0 beyond them; with one load `imbalance` first */
} eqp_balance_result;

/** What a method needs of the items, and what can be done with it. */
enum eqp_method_flags {
    EQP_NEEDS_WEIGHTS = 1,  /**< weight */
    EQP_NEEDS_POINTS = 2,   /**< point */
    EQP_NEEDS_PINS = 4,     /**< pin_first, pin */
    EQP_NEEDS_UNITS = 8,    /**< items should be work units, not particles */
    EQP_NEEDS_SOURCES = 16, /**< source, where it is not `point` */
    EQP_KEEPS = 32,         /**< it keeps the parts that there are: no map is made */
    EQP_REFINES = 64,       /**< it starts from the present parts, which may be another method's */
    EQP_CAN_SPLIT = 128,    /**< it takes whole owners of interactions, and their work units as well */
    EQP_CAN_EVEN = 256,     /**< its parts follow the weights: weighed again, they come out as even as is wanted */
    EQP_BY_LOADS = 512,     /**< it learns from measured loads */
    EQP_SHAPED = 1024,      /**< codes rely on the shapes of its parts: a repair would break them, some may be empty */
    EQP_NETS_BRANCHES = 2048, /**< cells of whole owners are pins for it, too: eqp_problem.branch (problem.h) */
    EQP_SCATTERS = 4096,      /**< a part consists of whole items in many pieces of the curve */
    EQP_ANY_ORDER = 8192,     /**< its parts do not depend on the order of the items */
    EQP_GATHERS = 16384       /**< one rank assigns all items, unless they are too many: the order is that rank's
                                   business where nobody else has made one */
};

/** One method: a row of the table. */
typedef struct eqp_method {
    const char *name;    /**< as in `--balance=NAME` */
    const char *summary; /**< one line for people */
    unsigned flags;      /**< enum eqp_method_flags */
    /** Assigns. Called by eqp_balance() on all ranks with arguments that are valid and alike, on a communicator of its
     * own; returns the same code on all ranks. May set the result's imbalance_unrepaired, imbalance_curve, repaired.
     * NULL: eqp_balance() gathers the items on rank 0, calls assign_alone there, sends the parts back and, unless the
     * flags say EQP_SHAPED or EQP_REFINES, renumbers them towards the present ones. */
    int (*assign)(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result);
    int noptions;             /**< options of its own */
    const eqp_option *option; /**< [noptions] where their values are in options->settings; NULL: none */
    /** Assigns where one rank has all items, without MPI, so that a thread may: `part` as `assign` would. Local. May
     * set the result's imbalance_unrepaired and repaired. NULL: not possible. A row without either is no method of
     * eqp_balance(): a balancer or an app carries it out. */
    int (*assign_alone)(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result);
} eqp_method;

/** True if eqp_balance() carries a method out. Local. */
static inline bool eqp_method_assigns(const eqp_method *method)
{
    return method->assign != NULL || method->assign_alone != NULL;
}

/** The row of a name; NULL if there is none. Local. */
const eqp_method *eqp_method_find(const char *name);

/** Row i, 0 to eqp_method_count() - 1; NULL outside. Local. */
const eqp_method *eqp_method_at(int i);

/** Number of rows. Local. */
int eqp_method_count(void);

/** Row i of the methods that this build lacks, since it was made without the library that carries them out: a name and
 * a summary, not in the table. NULL outside. Local. */
const eqp_method *eqp_method_lacking(int i);

/** A row beside the table, for eqp_balance(): keeps the present parts of the items, but moves as few items as it takes
 * to reach the tolerance: along the curve, to parts whose pins they share, to the emptiest parts. Items whose part is
 * not known begin with that of the curve. The items may be spread over the ranks in any way; where there is something
 * to do, rank 0 does it for all. Local. */
const eqp_method *eqp_method_repair(void);

/** Sets an option of a method's own. Local.
 * \param[in]     method    a row (borrowed)
 * \param[in]     name      of one of its options
 * \param[in]     value     as people write it; NULL for one that stands alone
 * \param[in,out] settings  to be zeros at first; unchanged on error
 * \param[out]    message   what is wrong, one line; may be NULL
 * \return EQP_OK, EQP_ERR_UNKNOWN for a name that is none of its options, EQP_ERR_ARGUMENT for a value that is none */
int eqp_method_set(const eqp_method *method, const char *name, const char *value, eqp_settings *settings,
                   eqp_message *message);

/** Reads a word such as `sfc`, `tensor:x=2,y=2,z=2`: a method and options of its own. Local.
 * \param[in]     word      NULL and "": `sfc`, which every build has (borrowed)
 * \param[out]    method    its row; unchanged on error
 * \param[in,out] settings  to be zeros at first; what the word does not say stays as it is; unchanged on error
 * \param[out]    message   what is wrong, one line: what there is, and which library this build lacks; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_method_read(const char *word, const eqp_method **method, eqp_settings *settings, eqp_message *message);

/** Sets an option of a method's own that is a real number, unless it is set already: for what a program knows better
 * than the method. Local.
 * \return EQP_OK, EQP_ERR_UNKNOWN for a name that is none of its real options, EQP_ERR_ARGUMENT for a value that is out
 * of range */
int eqp_method_suggest(const eqp_method *method, const char *name, double value, eqp_settings *settings);

/** Gives every item a part. Collective: fails on all ranks or on none, with the same code.
 *
 * Methods: `none` keeps the present parts (if one is unknown: `count`); `count` equal particles along the curve; `sfc`
 * equal weights along the curve, optimal cut; `rcb` recursive coordinate bisection of the weights (Zoltan), renumbered
 * towards the present parts; `rib` likewise, each cut across the axis of least inertia; `interaction` hypergraph of
 * units and pins (Pearce 2014, Algorithms 7 and 8; Zoltan PHG from the present parts), then checked and repaired to the
 * tolerance; `hypergraph` the same hypergraph from scratch, renumbered towards the present parts and repaired; `metis`
 * likewise by the graph of items that share pins (METIS 5; an id that k items touch gives edges of 1 / (k - 1) of its
 * weight, all of them or for k > 128 eight of each item), on rank 0 and up to 2^26 pins; `tiles`
 * and `jagged` cut the items by `point` and `source` as eqp_tiles_create() does (more/tiles.h), repair to the tolerance
 * and renumber towards the present parts; `feedback` moves the cuts of the curve by the loads of the present parts
 * alone, as if a part's load were spread evenly over its particles (more/feedback.h): one step with options->part_load,
 * and without it as many as help, from equal counts; `tensor` cuts by planes across the whole domain (more/tensor.h)
 * and keeps shapes and numbers of the parts: no repair, no renumbering; `voronoi` gives each part a convex cell
 * (more/voronoi.h), renumbered towards the present parts and not repaired; `diffusion` moves items at the borders of
 * the present parts (those of `sfc` where one is unknown) to lighter neighbours by eqp_diffusion_move()
 * (more/diffusion.h), neighbours being items that share pins, or without pins the nearest ones, and fills empty parts
 * first; `levelled` cuts a curve for each bin of a cycle, so that all phases are even, and with one load is `sfc`.
 * With equal shares
 * all but `none`, `tensor` and `voronoi` leave no part empty if there are enough items.
 *
 * Up to 2^22 items, `none`, `count`, `sfc`, `feedback`, `diffusion`, `rcb` and `rib` do not depend on how the items are
 * spread over the ranks. `count`, `feedback` and `sfc` gather one double per item on every rank; beyond that they
 * gather sums over equal runs of consecutive items, and cut between runs. `rcb` and `rib` bisect on rank 0; beyond that
 * all ranks bisect together, with the weights of very heavy items cut down. `tiles`, `jagged`, `tensor` and `voronoi`
 * never depend on the spread. For `tensor` the ranks add sums of bins, at most 8 MiB at a time up to 2^19 parts. For
 * `voronoi` rank 0 gathers 32 bytes of each item, of more than 2^18 items of every k-th. The other two: up to 2^18
 * items every rank gathers 32 bytes of each and bisects alike, beyond that all ranks cut a level of the tree together.
 * The repair and `diffusion` gather weights, parts and pins on rank 0, `diffusion` positions where there are no pins.
 * `levelled` gathers all loads on rank 0 and never depends on the spread.
 * `interaction` and `hypergraph` are deterministic for the same ranks, items and seed; `metis` up to 2^22 items for the
 * same items and seed.
 *
 * Items may have a load in each of several phases of a cycle (survey.h). `levelled` and `metis` balance the
 * phases, which are constraints for `metis`, the other methods `weight`: the sum over a cycle unless it is given. The
 * parts of `metis` are then not repaired, but those without items filled. The result describes the cycle of any.
 *
 * With capacities no part is returned whose items' sizes sum to more than its own. Where the method leaves one, one
 * rank repairs for all: runs of the curve, then items, leave parts that have too much, and are exchanged until loads
 * are as even as before, or as even as they get; if that does not do, all items are packed anew. Where nothing fits the
 * code is EQP_ERR_CAPACITY, and the message has the proof: a lower bound that is broken (all sizes; items larger than
 * capacities; bounds of bin packing), or that all assignments of few items were tried; or it says that there is none.
 * Parts of methods with EQP_SHAPED are not repaired, but refused.
 *
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table or one of your own; the same on all ranks, by name and flags
 * \param[in]  items    this rank's items
 * \param[in]  options  NULL is an error: nparts has no default that would make sense
 * \param[out] part     [n] 0 to nparts - 1; unchanged on error
 * \param[out] result   may be NULL
 * \return EQP_OK; EQP_ERR_ARGUMENT for a method or options that differ between ranks or are out of range, a missing array
 * that the method needs, or one that only some ranks give; EQP_ERR_DATA for a value in an array that is none (NaN,
 * negative) and, from `rcb`, `rib`, `interaction` and `hypergraph`, for two items of one id; EQP_ERR_MEMORY;
 * EQP_ERR_OVERFLOW; EQP_ERR_ZOLTAN; EQP_ERR_INTERNAL where METIS fails; EQP_ERR_CAPACITY; EQP_ERR_MPI */
int eqp_balance(MPI_Comm comm, const eqp_method *method, const eqp_balance_items *items,
                const eqp_balance_options *options, int *part, eqp_balance_result *result);

/** Methods beside those of the library's table. */
typedef struct eqp_methods {
    const eqp_method *const *row; /**< [n] (borrowed); one whose `assign` is NULL is carried out by its owner */
    int n;                        /**< rows, >= 0 */
} eqp_methods;

/** Row i of the library's table, the others behind it, then `auto`, which a balancer (balancer.h) carries out by trying
 * the others; NULL outside.
 * \param[in] own  may be NULL (borrowed) */
const eqp_method *eqp_methods_at(const eqp_methods *own, int i);

/** The first row of a name; NULL if there is none.
 * \param[in] own  may be NULL (borrowed) */
const eqp_method *eqp_methods_find(const eqp_methods *own, const char *name);

/** How maps are made with a method, beside its own settings. */
typedef struct eqp_choice_options {
    eqp_sample_strategy strategy; /**< `strategy`, of EQP_NEEDS_UNITS: how centroids are drawn */
    double rate;             /**< `rate`, likewise: units per interaction, at most 1; 0: follows from the tolerance */
    double threshold;        /**< `threshold`, likewise: times the target weight over which a unit is split again */
    int64_t pins;            /**< `pins`, with EQP_NEEDS_PINS: most of a unit; 0: as many as are needed; 2: its owner
                                 and the other end of the interaction next to its centroid (Pearce 2014) */
    bool full;               /**< `full`, likewise: every interaction is a unit with all its pins */
    const eqp_method *start; /**< `start`, of EQP_REFINES: whose parts are refined; NULL: the present ones, or the
                                 curve's */
    bool split;              /**< `split`, of EQP_CAN_SPLIT: work units are assigned, not whole owners */
    int even;                /**< `even`, of EQP_CAN_EVEN: 0 `load`; 1 `step`: load and exchange together; with `maps` 1
                                what lives on a rank is computed there in phases that are shorter so */
    int homes;               /**< `homes`, of EQP_SCATTERS: 0 `parts`: owners live with the part that computes them;
                                1 `curve`: each part has a run of the curve with equally many particles at home, whoever
                                computes them, where the code can do so (eqp_problem.apart) */
    int maps;                /**< `maps`, of EQP_CAN_SPLIT: 0 `cycle`: who computes an owner does so in all phases of a
                                cycle (survey.h); 1 `phase`: each phase has a map of its own (eqp_map_tag_in()), and data
                                stay in runs of the curve, as with `homes` 1, but with equal work each. With one phase
                                as with `homes` alone */
} eqp_choice_options;

/** Room for a word, its end included. */
#define EQP_WORD_SIZE 80

/** Longest word that is read. */
#define EQP_WORD_LETTERS 63

/** A method with options. */
typedef struct eqp_choice {
    char word[EQP_WORD_SIZE];   /**< as written */
    const eqp_method *method;   /**< its row (borrowed) */
    eqp_choice_options options; /**< as changed by the word */
    eqp_settings settings;      /**< of the method's own options */
} eqp_choice;

/** Reads one word.
 * \param[in]  own      may be NULL (borrowed)
 * \param[in]  usual    options that the word changes; NULL: zeros, but for EQP_SAMPLE_STRIDE and threshold 2 (borrowed)
 * \param[in]  word     the text
 * \param[out] choice   unchanged on error
 * \param[out] message  what is wrong, one line; may be NULL
 * \return EQP_OK, EQP_ERR_UNKNOWN for a method or option that does not exist, EQP_ERR_ARGUMENT for a value that is none,
 * for options that contradict each other and for a word that is too long */
int eqp_choice_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *word, eqp_choice *choice,
                     eqp_message *message);

/** Reads words separated by commas. A piece with an equals sign and without a colon is an option of the word before:
 * `interaction:pins=2,start=rcb,sfc` is two words. `all`: every row but those that keep what there is (EQP_KEEPS).
 * \param[out] n        words
 * \param[out] choices  [*n] owned by the caller, free()
 * \return as eqp_choice_parse(); EQP_ERR_ARGUMENT also for a word that stands twice; EQP_ERR_MEMORY */
int eqp_choices_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *words, int *n,
                      eqp_choice **choices, eqp_message *message);

/** The i-th option that a method takes, as words name it; NULL outside. */
const eqp_option *eqp_choice_option(const eqp_method *method, int i);

#ifdef __cplusplus
}
#endif
#endif
