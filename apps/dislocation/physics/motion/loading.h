/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads on a crystal and its plastic strain. Lengths in b, stresses in the unit of mu (Pa), strains and densities
 * per volume in b: a density in 1/b^2. Symmetric tensors: xx yy zz yz zx xy, the components (not twice of them).
 *
 * Sense: a segment from x1 to x2 with Burgers vector b that moves by d sweeps the area A = (x2 - x1) x d and strains
 * the volume V by sym(b A) / V. The force per length on it is (s b) x t, so that s : strain V is the work of the
 * Peach-Koehler forces: what a stress drives gives positive work. */
#ifndef DD_LOADING_H
#define DD_LOADING_H

#include "elastic/pairs.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds the strain of a segment that moves: strain += (b A + A b) / (2 V). A is the area vector of the triangles x1 x2
 * y2 and x1 y2 y1 and of any other surface with the same edge; the ends are images next to each other, and b is that of
 * `before`. */
void dd_strain_sweep(const dd_segment *before, const dd_segment *after, double volume, double strain[6]);

/* The same for area[3 i + j], sums of b_i A_j, such as those of dd_slip_end(). */
void dd_strain_slip(const double area[9], double volume, double strain[6]);

double dd_segment_length(const dd_segment *segment);

typedef enum dd_loading_kind { DD_CREEP, DD_STRAIN_RATE } dd_loading_kind;

/* Loading history and applied stress. Plain data, the same on all ranks. */
typedef struct dd_loading {
    dd_loading_kind kind; /* constant stress, or total strain that grows at a constant rate along `direction` */
    double rate;          /* 1/s; may be negative (compression) */
    double amplitude;     /* of cycles of the total strain, at whose ends the rate changes its sign; 0: no cycles */
    double time;          /* s since the cycles began */
    double direction[3];  /* unit */
    double young;         /* 2 mu (1 + nu) */
    double stress[6];     /* applied, now */
    double strain[6];     /* plastic, so far */
} dd_loading;

/* direction: of any length but 0. stress: at the start. */
void dd_loading_init(dd_loading *loading, dd_loading_kind kind, const dd_medium *medium, double rate,
                     const double direction[3], const double stress[6]);

/* Cycles at the constant rate |rate| from a strain of 0 to amplitude, to -amplitude and back, which began `time` ago:
 * the sign of the rate is that of (-1)^k, k = |rate| time / (2 amplitude) rounded (strain control of ParaDiS, loadType
 * 4). amplitude > 0. */
void dd_loading_cycle(dd_loading *loading, double amplitude, double time);

/* Call after a step of dt with this plastic strain of all segments. At a constant rate the stress grows by
 * E (rate dt - e . strain e) along e e. */
void dd_loading_advance(dd_loading *loading, double dt, const double strain[6]);

/* e . tensor e: stress or strain along the loading direction. */
double dd_loading_along(const dd_loading *loading, const double tensor[6]);

#endif
