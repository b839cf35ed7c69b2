/* SPDX-License-Identifier: BSD-3-Clause */
/* What is learnt for the next map while lists are walked for forces: each group's work, a sample of the tiles that it
 * touches and, of groups too heavy for one work unit, all tiles. */
#ifndef BH_SURVEY_H
#define BH_SURVEY_H

#include "works.h"

#include "../physics/walk.h"

/* How much is kept. Whatever is not, costs nothing. */
typedef struct bh_survey_detail {
    double heavy;       /* nominal nanoseconds from which a group keeps its tiles; INFINITY: none does */
    uint64_t pin_below; /* tiles whose pin is smaller are sampled; 0: none */
} bh_survey_detail;

/* A tile of a heavy group. */
typedef struct bh_survey_tile {
    double centroid[3]; /* relative to the group's centre, see bh_tile_centroid() */
    double weight;      /* nominal nanoseconds */
    int64_t pin;        /* of the opened cell; -1 if it is not below detail.pin_below */
} bh_survey_tile;

/* A group, as far as this rank computes it. */
typedef struct bh_surveyed {
    uint64_t key; /* with part: which group it is */
    int32_t part;
    int32_t count; /* targets */
    int32_t home;
    int32_t reserved;
    int64_t at_home; /* the group's number there */
    int64_t tag;     /* who computes it by the present map */
    double centre[3];
    bh_counts counts;
    int64_t interactions; /* tiles, and one for what belongs to none */
    int64_t npins, ntiles;
} bh_surveyed;

typedef struct bh_survey {
    bh_survey_detail detail;
    app_costs nominal; /* what tiles are weighed by */
    int64_t n, capacity;
    bh_surveyed *group; /* [n] */
    int64_t npins, pin_capacity;
    int64_t *pin; /* [npins] of the groups one after another */
    int64_t ntiles, tile_capacity;
    bh_survey_tile *tile; /* [ntiles] of the groups one after another */
    int64_t brief_capacity;
    bh_tile_brief *brief;            /* scratch */
    int64_t group_pins, group_tiles; /* of the group at hand */
} bh_survey;

/* An empty survey that keeps nothing of any group. EQP_OK, or a code of bh_costs_init(). */
int bh_survey_init(bh_survey *survey);

/* Frees the memory; the survey is then empty and still fit for use. */
void bh_survey_free(bh_survey *survey);

/* Forgets the groups, keeps the memory; what is taken in next is kept in that detail. */
void bh_survey_clear(bh_survey *survey, const bh_survey_detail *detail);

/* Takes in a work that has been walked without keep(), from its list. */
int bh_survey_whole(bh_survey *survey, const bh_work *work, const bh_tree *tree, const bh_list *list,
                    const bh_counts *counts);

/* Takes in this rank's share of a work: begin, every tile that is kept, end with the counts. */
typedef struct bh_survey_pass {
    bh_survey *survey;
    const bh_work *work;
    double centre[3];
} bh_survey_pass;

void bh_survey_begin(bh_survey_pass *pass, bh_survey *survey, const bh_work *work);
int bh_survey_tile_add(bh_survey_pass *pass, const bh_tile *tile);
int bh_survey_end(bh_survey_pass *pass, const bh_counts *counts, int64_t ntiles);

/* Nominal nanoseconds of so much work. */
double bh_survey_weight(const bh_survey *survey, const bh_counts *counts);

/* Takes in a group of which nothing is known but that it exists: for methods that need no weights. */
int bh_survey_add_group(bh_survey *survey, const bh_group *group, int64_t tag, int home, int64_t at_home);

#endif
