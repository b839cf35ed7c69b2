/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors that make the next map even in seconds of a step instead of counted work. Each rank's weights are scaled
 * by its expected seconds, interactions plus overhead (overhead.h), over those of its interactions. If measured
 * seconds differ from these by more than noise, the cost model is wrong, and measured seconds replace the expected
 * ones. */
#ifndef RUN_CALIBRATION_H
#define RUN_CALIBRATION_H

#include <equipoise/balancer.h>

/* The state apart from the numbers per rank; a restart file holds it. */
typedef struct eqp__kept_calibration {
    int64_t steps;   /* since the last map */
    int64_t active;  /* true if the present map was made with factors from measurements */
    int64_t scaled;  /* true if the present map was made with factors */
    int64_t in_vain; /* consecutive maps for an unpredicted imbalance that did not help */
    double uneven;   /* expected imbalance of the previous map, overhead included */
    double noise;    /* standard deviation of a rank's seconds per step, relative */
    double before;   /* unpredicted imbalance when the last map was made because of it; 0: never */
} eqp__kept_calibration;

/* Zero, except for the members set by eqp__calibration_create(). */
typedef struct eqp_calibration {
    int nranks;
    bool measures;
    double tolerance; /* acceptable imbalance */
    double *load;     /* [ranks] measured since the last map; NULL: no calibration. Owned, as are the next three */
    double *model;    /* [ranks] predicted seconds of the work in the weights */
    double *overhead; /* [ranks] expected overhead */
    double *factor;   /* [ranks] for the present map */
    double surely;    /* standard deviations beyond which a load is not noise */
    eqp__kept_calibration now;
} eqp_calibration;

/* measures: factors may come from measurements. false_alarms: probability of mistaking noise for an error of the model.
 * Local. EQP_OK or EQP_ERR_MEMORY. */
int eqp__calibration_create(int nranks, double tolerance, bool measures, double false_alarms, eqp_calibration *made);
void eqp__calibration_free(eqp_calibration *c);

/* Records a step: rows [ranks]; noise: standard deviation of a rank's seconds, relative. Local; the same on all
 * ranks. */
void eqp__calibration_learn(eqp_calibration *c, const eqp_rank_row *rows, double noise);

/* True if a new map is due because ranks exceed their predictions by different amounts: averaged over some steps, by
 * more than a twentieth of the mean and by more than noise explains. The wait doubles each time such a map does not
 * help. */
bool eqp__calibration_wants(const eqp_calibration *c);

/* True if a map of this cost pays because of overhead: the present map was made without it, or with it and still leaves
 * some. The gain counts for half of the remaining steps, since the map may be replaced earlier, or, where their number
 * is unknown (INT64_MAX), for as many steps as the present map has lasted. */
bool eqp__calibration_pays(const eqp_calibration *c, int64_t left, double cost);

/* Factors for the weights of each rank's present items: [ranks], mean about 1, borrowed until the next call; NULL if
 * all would be 1. After a map with measured factors the next map gets them too, since without them it would repeat
 * the first map's error. Call it when a map is made; recording starts again. */
const double *eqp__calibration_take(eqp_calibration *c);

#endif
