/* SPDX-License-Identifier: BSD-3-Clause */
/* When the network's topology changes. Lengths in units of b. */
#ifndef DD_RULES_H
#define DD_RULES_H

#include <stdbool.h>

/* The crystal with its slip systems; its axes are the axes of the box. */
typedef enum dd_crystal { DD_NO_CRYSTAL, DD_FCC, DD_BCC } dd_crystal;

typedef struct dd_rules {
    double max_seg;        /* longer segments are cut; required */
    double min_seg;        /* nodes with shorter arms go; <= max_seg / 2 */
    double area_min;       /* nodes whose triangle with their two neighbours is smaller go */
    double area_max;       /* arms of nodes with a larger triangle are cut */
    double r_tol;          /* error of a position in one step; required unless rann is given */
    double rann;           /* what comes closer touches */
    bool planes;           /* segments keep their glide planes: a node where two meet stays */
    dd_crystal cross_slip; /* screws change planes as in this crystal; DD_NO_CRYSTAL: they do not */
} dd_rules;

/* Fills members that are 0 with ParaDiS' defaults: rann = 2 r_tol, area_min = min(2 r_tol max_seg, sqrt(3)/4
 * min_seg^2), area_max = (4 area_min + sqrt(3)/4 max_seg^2) / 2; without min_seg that of an equilateral triangle of
 * area 2 r_tol max_seg, half of max_seg at most. Returns EQP_OK, or EQP_ERR_ARGUMENT for values that are not
 * finite and positive, min_seg > max_seg / 2 or area_min >= area_max; *rules is unchanged on error. */
int dd_rules_complete(dd_rules *rules);

#endif
