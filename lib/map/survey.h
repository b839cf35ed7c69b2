/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of a survey, for the code that opens and reads it. */
#ifndef MAP_SURVEY_H
#define MAP_SURVEY_H

#include "cost/costs.h"

#include <equipoise/survey.h>

#include <stdbool.h>

/* Adds up the work of ranks that share an owner, kind by kind. */
typedef struct eqp_work_model {
    int nkinds;
    const double *nominal;  /* [nkinds] seconds */
    unsigned once;          /* bit k: every sharer does work of kind k, which a single rank would do once */
    eqp_cycle_turns phases; /* of the cycle; n 0: one phase */
} eqp_work_model;

/* The model with the measured costs, once known (borrowed from costs): weights of parts of an owner must be
 * proportional to their costs. */
eqp_work_model eqp__work_model_measured(const eqp_work_model *model, const eqp_costs *costs);

/* Nanoseconds of work [nkinds]. */
double eqp__work_weight(const eqp_work_model *model, const int64_t *count);

/* Detail to keep of each owner; other data is dropped at no cost. */
typedef struct eqp_survey_detail {
    double heavy;       /* owners of at least this many nominal nanoseconds keep their tiles; INFINITY: none */
    uint64_t pin_below; /* ids with smaller eqp_pin_key() are sampled as pins; 0: none */
    bool count_pins;    /* pins are counted (npins of owners) but not kept */
    const double *cost; /* seconds of each kind of work, to weigh tiles; NULL: the nominal ones */
} eqp_survey_detail;

struct eqp_survey {
    eqp_work_model model;
    eqp_survey_detail detail;
    int64_t n, capacity;
    eqp_owner *owner; /* [n] */
    int64_t npins, pin_capacity;
    int64_t *pin; /* [npins] */
    int64_t ntiles, tile_capacity;
    eqp_tile *tile;                  /* [ntiles] */
    int64_t pins_taken, tiles_taken; /* assigned to owners; later entries wait for the next owner */
    int64_t phase_capacity;
    double *phase;     /* [n][model.phases.n] if there are several */
    bool phases_taken; /* set for the next owner */
};

/* True if loads of several phases are kept. */
static inline bool eqp__survey_cycles(const eqp_survey *survey)
{
    return survey->model.phases.n > 1;
}

void eqp__survey_release(eqp_survey *survey);

/* Removes the owners but keeps the memory; sets the model and the detail for the next ones. */
void eqp__survey_clear(eqp_survey *survey, const eqp_work_model *model, const eqp_survey_detail *detail);

#endif
