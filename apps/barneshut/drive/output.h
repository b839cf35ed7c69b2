/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of particles: snapshots, restart files, forces. */
#ifndef BH_OUTPUT_H
#define BH_OUTPUT_H

#include "simulation.h"

/* A GADGET HDF5 snapshot with accelerations, potentials, step and dt: also what --restart reads. Collective. */
int bh_output_snapshot(bh_simulation *sim, const char *path, eqp_message *message);

/* Datasets ids [n] and forces [n][3] (accelerations) in the order of the input. Collective. */
int bh_output_forces(bh_simulation *sim, const char *path, eqp_message *message);

/* The snapshots that a run has written so far, and the XDMF file that shows them as a series. */
typedef struct bh_series {
    int64_t n, capacity;
    char **path; /* owned */
    double *time;
} bh_series;

/* The name of the snapshot of a step: stem_000012.hdf5 for out.hdf5. Owned by the caller. */
int bh_series_path(const char *output, int64_t step, char **path);

/* The name of the XDMF file beside a snapshot or a series of them: out.xdmf for out.hdf5. Owned by the caller. */
int bh_series_xdmf(const char *output, char **path);

/* Writes a snapshot and, on rank 0, the XDMF file beside it for all of them. Collective. */
int bh_series_write(bh_series *series, bh_simulation *sim, const char *output, bool numbered, eqp_message *message);
void bh_series_free(bh_series *series);

#endif
