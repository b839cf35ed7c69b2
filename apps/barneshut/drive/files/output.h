/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of particles: snapshots, restart files, forces. */
#ifndef BH_OUTPUT_H
#define BH_OUTPUT_H

#include "../simulation.h"

#include "../../../shell/run_files.h"

/* out.hdf5; out_000012.hdf5 for the snapshot of a step; out.xdmf, which shows them as a series. */
extern const app_naming bh_naming;

/* A GADGET HDF5 snapshot with accelerations, potentials, step and dt: also what --restart reads. Collective. */
int bh_output_snapshot(bh_simulation *sim, const char *path, eqp_message *message);

/* Datasets ids [n] and forces [n][3] (accelerations) in the order of the input. Collective. */
int bh_output_forces(bh_simulation *sim, const char *path, eqp_message *message);

/* Writes, on rank 0, the XDMF file next to --output for the snapshots so far. Collective. */
int bh_output_xdmf(bh_simulation *sim, const app_series *series, const char *output, eqp_message *message);

#endif
