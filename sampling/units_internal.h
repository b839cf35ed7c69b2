/* SPDX-License-Identifier: BSD-3-Clause */
/** \file units_internal.h
 * \brief Internal: shared by the files of the work-unit sampler. */
#ifndef EQP_UNITS_INTERNAL_H
#define EQP_UNITS_INTERNAL_H

#include <equipoise/more/kdtree.h>
#include <equipoise/units.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Hilbert key of a cell of the 2^21 x 2^21 x 2^21 grid. The first 3 l bits name the octree cell of level l that holds
 * it, so a sorted run of keys is a depth-first walk of the octree, and cells that follow each other share a face.
 * Local, O(EQP_CURVE_BITS).
 * \param[in] x,y,z  grid coordinates, 0 to 2^21 - 1 (higher bits are ignored) */
uint64_t eqp__hilbert_key(uint32_t x, uint32_t y, uint32_t z);

/* Upper bound of sums of weights, so that adding one more weight cannot overflow. */
#define EQP__WEIGHT_LIMIT ((int64_t)1 << 62)

/* Limits of an id: intervals along the curve, and units of one owner. */
#define EQP__BASE_LIMIT ((int64_t)1 << (63 - EQP_UNIT_SUB_BITS))
#define EQP__SUB_LIMIT (((int64_t)1 << EQP_UNIT_SUB_BITS) - 2)

/* Up to this number a linear search is as fast as the tree (measured in three dimensions). */
#define EQP__LINEAR_CELLS 64

/* Keys of independent random streams. */
enum eqp__purpose { EQP__PURPOSE_WEIGH, EQP__PURPOSE_DRAW, EQP__PURPOSE_SAMPLE, EQP__PURPOSE_SPLIT_AGAIN };

uint64_t eqp__seed(uint64_t seed, enum eqp__purpose purpose);

/* --- options and fixed-point weights (units_weigh.c) --- */

/* A caller's options in this version's layout: `here` filled, or NULL for options that cannot be read or are out of
 * range. */
const eqp_units_options *eqp__units_options_known(const eqp_units_options *options, eqp_units_options *here);

/* The weight in quanta of 1/scale, rounded to nearest. */
int eqp__fix(double weight, double scale, int64_t *fixed);

/* Random draws of an owner's interactions, all with the same probability. Gaps follow a geometric distribution, so
 * interactions that are not drawn cost no time. */
struct eqp__draw {
    uint64_t seed;
    int64_t id;
    double log_missed; /* logarithm of the probability of not being drawn */
    uint64_t drawn;
    int64_t next; /* INT64_MAX: none */
};

void eqp__draw_start(struct eqp__draw *draw, uint64_t seed, int64_t id, double rate);
void eqp__draw_next(struct eqp__draw *draw);
/* Number of draws among the first `count` interactions. */
int64_t eqp__draws(uint64_t seed, int64_t id, int64_t count, double rate);

/* --- enumeration (units_sink.c) --- */

/* Most interactions in a chunk. */
#define EQP__CHUNK 256

/* A validated piece of a batch with its weights in quanta. */
struct eqp__chunk {
    int64_t first; /* number of its first interaction in the owner's enumeration */
    int64_t n;
    const double *centroid; /* [n][dim]; NULL if the sink does not need them */
    const int64_t *weight;  /* [n] */
    int64_t sum;            /* of the weights, at most EQP__WEIGHT_LIMIT */
    int npins;              /* 0 if the sink does not need them */
    const int64_t *pin;     /* [n][npins] */
};

typedef int (*eqp__take_fn)(void *context, const struct eqp__chunk *chunk);

struct eqp_sink {
    eqp__take_fn take;
    void *context;
    int dim;
    bool centroids, pins;
    double scale;
    int64_t seen;
    int code;
};

/* Runs the application's callback for one owner; sink->seen is the number of interactions afterwards. */
int eqp__enumerate(struct eqp_sink *sink, eqp_enumerate_fn enumerate, void *user, int64_t owner);

/* --- bottom-k samples of ids (units_pins.c) --- */

/* One sketch per cell, in arrays that are reused from owner to owner. */
struct eqp__sketches {
    uint64_t offset; /* of the seed */
    int max;
    int64_t room;     /* keys that a cell may hold before it is sorted */
    int64_t capacity; /* cells */
    int64_t *count;   /* [capacity] keys in any order, some of them repeated */
    uint64_t *limit;  /* [capacity] keys above it are not among the smallest */
    uint64_t *key;    /* [capacity][room] */
    uint64_t *sorted; /* [room] work space */
    int32_t *place;   /* of the sort's buckets */
};

/* Allocates no memory. With many cells each has less room, and eqp__sketches_add_all() must not be called. */
void eqp__sketches_init(struct eqp__sketches *sketches, uint64_t seed, int max, bool many_cells);
/* Empties the sketches of cells 0 .. ncells - 1. */
int eqp__sketches_reset(struct eqp__sketches *sketches, int64_t ncells);
void eqp__sketches_add(struct eqp__sketches *sketches, int64_t cell, int64_t id);
/* Adds the ids that are not negative. */
void eqp__sketches_add_all(struct eqp__sketches *sketches, int64_t cell, int64_t n, const int64_t *id);
/* Adds an id that stays even if its key is too large. No id may be added after it. */
void eqp__sketches_keep(struct eqp__sketches *sketches, int64_t cell, int64_t id);
/* The ids with the smallest keys, ascending by key; returns their number, at most `max`. */
int64_t eqp__sketches_read(struct eqp__sketches *sketches, int64_t cell, int64_t *id);
void eqp__sketches_free(struct eqp__sketches *sketches);

/* --- one owner's Voronoi cells (units_split.c) --- */

struct eqp__splitter {
    /* constant for all owners */
    int dim;
    eqp_sample_strategy strategy;
    double rate;              /* RANDOM: probability of a draw */
    int64_t target, bound;    /* in quanta */
    uint64_t seed, draw_seed; /* of samples, of draws */
    struct eqp_sink sink;
    struct eqp__sketches pins;
    /* this owner */
    int64_t id;
    int64_t wanted; /* samples */
    double next;    /* summed weight of the next sample */
    double step;    /* STRIDE: distance of samples */
    int64_t passed; /* weight passed so far */
    struct eqp__draw draw;
    uint64_t random; /* seed of this round */
    eqp_kdtree *tree;
    /* its cells */
    int64_t n, capacity;
    double *centroid; /* [n][dim] */
    int64_t *count;   /* [n] interactions */
    int64_t *weight;  /* [n] in quanta */
    int64_t *same;    /* [n] weight of interactions exactly at the centroid, which no further sample can split off */
    int64_t *stratum; /* [n] weight since the last candidate */
    double *pick;     /* [n][dim] candidate of the present stratum */
    int64_t *due;     /* [n] ADAPTIVE: the candidate is taken at this weight of the stratum */
    char *picked;     /* [n] number of the candidate's interaction, or none */
    double *key;      /* [n] of the random sample */
    int64_t *index;   /* [n] interaction's number */
    int64_t *have, *done; /* [n] candidates found; candidates processed */
    /* candidates for further samples */
    int64_t ncandidates, candidate_capacity;
    int64_t *candidate_cell;
    double *candidate; /* [ncandidates][dim] */
};

void eqp__splitter_free(struct eqp__splitter *splitter);

/* Splits owner number `owner` with this id and fixed-point weight into the splitter's cells; n == 0 if there was
 * nothing to sample. wanted: number of samples. */
int eqp__split(struct eqp__splitter *splitter, int64_t owner, int64_t id, int64_t weight, int64_t wanted,
               eqp_enumerate_fn enumerate, void *user);

/* --- the search (units_search.c) --- */

/* Nearest of n >= 1 centroids, the first among equals; 0 for a point that is not finite. tree: NULL for a linear
 * search */
int64_t eqp__cells_nearest(int dim, int64_t n, const double *centroid, const eqp_kdtree *tree, const double *point);

/* The same for many points: cell [npoints]. */
void eqp__cells_nearest_all(int dim, int64_t n, const double *centroid, const eqp_kdtree *tree, int64_t npoints,
                            const double *point, int64_t *cell);

/* The tree over n centroids, or NULL where linear search is faster. */
int eqp__cells_tree(int dim, int64_t n, const double *centroid, eqp_kdtree **tree);

/* --- the object (units.c) --- */

struct eqp__unit {
    int64_t id;
    int64_t weight; /* in quanta */
    int64_t interactions;
    int64_t owner;  /* first */
    int64_t owners; /* number */
    int64_t sub;    /* -1: whole owners */
    int64_t split;  /* number of the split owner; -1: none */
    int64_t pin_at; /* during creation: its pins in the pool */
    int64_t npins;
};

struct eqp__split_owner {
    int64_t first, count; /* units */
    double *centroid;     /* [count][dim] owned */
    eqp_kdtree *tree;     /* over centroid, or NULL */
};

struct eqp_units {
    int dim;
    double scale;  /* quanta per weight */
    double target; /* weight */
    int64_t n;
    int64_t *owner_unit; /* [n] unit of a whole owner; -1 - number of a split owner */
    int64_t count, capacity;
    struct eqp__unit *unit;
    int64_t nsplit, split_capacity;
    struct eqp__split_owner *split;
    int64_t npool, pool_capacity;
    int64_t *pool;        /* pins in the order in which units were closed; freed at the end */
    int64_t *owner_first; /* [count + 1] */
    int64_t *owner_list;
    int64_t *pin_first; /* [count + 1] */
    int64_t *pin_list;
};

int eqp__units_new(int dim, int64_t n, double scale, eqp_units **units);
/* Appends one unit of whole owners that begins at `owner`. */
int eqp__units_append(eqp_units *units, int64_t id, int64_t owner, int64_t *unit);
/* Appends the cells of a split owner; their ids are id + sub. */
int eqp__units_append_cells(eqp_units *units, int64_t owner, int64_t n, const double *centroid, int64_t *first);
/* Stores a cell's sketch as a unit's pins. */
int eqp__units_pins_put(eqp_units *units, int64_t unit, struct eqp__sketches *sketches, int64_t cell);
/* Creates the lists that the accessors return. */
int eqp__units_finish(eqp_units *units);

/* Grows an array to at least `need` elements; the caller keeps the capacity. */
int eqp__grow(void **array, int64_t *capacity, int64_t need, size_t size);

double eqp__units_target_weight(const eqp_units *units);

/* Target weight that the units were cut for; 0 after eqp_units_rebuild(). Local, O(1). */
double eqp__units_target_weight(const eqp_units *units);

#endif
