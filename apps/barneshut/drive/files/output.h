/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files of a run: snapshots, restart files, forces, its record. */
#ifndef BH_OUTPUT_H
#define BH_OUTPUT_H

#include "../simulation.h"

#include "../../../report/run_record.h"
#include "../../../shell/run_files.h"

/* out.hdf5; out_000012.hdf5 for the snapshot of a step; out.xdmf, which shows them as a series. */
extern const app_naming bh_naming;

/* Callbacks for app_run; user: a bh_simulation. Writes a GADGET HDF5 snapshot with accelerations, potentials, step and
 * dt, which --restart reads too. Collective. */
int bh_output_snapshot(void *user, const char *path, eqp_message *message);

/* Datasets ids [n] and forces [n][3] (accelerations) in the order of the input. Collective. */
int bh_output_forces(void *user, const char *path, eqp_message *message);

/* Writes, on rank 0, the XDMF file next to --output for the snapshots so far. Collective. */
int bh_output_xdmf(void *user, const app_series *series, eqp_message *message);

/* ---- Entries that gravity adds to a run's record: record.c ---- */

/* Callbacks for app_simulation; user: a bh_simulation. Collective. */
int bh_record_create(void *user, const char *command, app_record **record, eqp_message *message);
int bh_record_step(void *user, app_record *record, eqp_message *message);
int bh_record_finish(void *user, app_record *record, eqp_message *message, eqp_message *note);

/* ---- The balance in a restart file: restart.c ----
 * Root cube, homes, the rank that computes each group, the balancer's state. A run on the same number of ranks by the
 * same method continues from it. */

/* The present balance. words: owned by the caller, app_words_free(). Collective. */
int bh_resume_write(const bh_simulation *sim, app_words *words);

/* Reads the balance from the input before the particles migrate; sets sim->resumes if homes and tags are there.
 * EQP_ERR_FORMAT with a message that names the damage. Local; the same on all ranks. */
int bh_resume_take(bh_simulation *sim, eqp_message *message);

/* Tags of particles that have migrated to their homes. Local. */
void bh_resume_tags(const bh_simulation *sim);

/* Restores the balancer's state a second time, after the first forces were recorded again. Local; the same on all
 * ranks. */
int bh_resume_again(bh_simulation *sim);

#endif
