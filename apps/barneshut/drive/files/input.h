/* SPDX-License-Identifier: BSD-3-Clause */
/* The particles' source: every rank takes its slice of a file or of a generator. */
#ifndef BH_INPUT_H
#define BH_INPUT_H

#include "../domain/particles.h"
#include "../settings.h"

#include "../../physics/tree.h"

#include "../../../shell/state.h"

#include <mpi.h>

typedef struct bh_input {
    int64_t total; /* particles of all ranks */
    double time;
    int64_t step; /* 0, or where a restart file goes on */
    double dt;    /* of a restart file; else 0 */
    double kick;  /* s, missing from the velocities of a restart file that was written within a step; else 0 */
    int64_t tick; /* of a restart file that was written within a step of several rungs: where; else 0 */
    bh_box
        cells; /* of such a file, whose tree had drifted: the root cube in which keys were taken; else its side is 0 */
    int64_t group_size; /* of a restart file of a run that chose it: the last one; else 0 */
    app_words words;    /* of a restart file: the state of its run's balance; owned by the simulation */
    eqp_message note;   /* members that the file does not have, or that forces ignore; empty: none */
    char format[64];
} bh_input;

/* Names of bh_input.cells in a restart file: its corner, then its side. */
#define BH_CELLS_ATTRIBUTES 4
extern const char *const bh_cells_attribute[BH_CELLS_ATTRIBUTES];

/* Fills particles (tag stays 0, and so does key unless there are cells). Collective: all ranks fail with the same code
 * and line, or none. */
int bh_input_read(MPI_Comm comm, const bh_settings *settings, bh_particles *particles, bh_input *input,
                  eqp_message *message);

/* The words of a particle that the checksum of a restart file is of: id, kind, m, x, y, z, vx, vy, vz, ax, ay, az, pot,
 * rung, key. The last two count at a moment with a tick and with cells. With words the moment is also that of kick,
 * size of groups and the words. */
enum { BH_CHECKED = 15 };

/* The checksum is the sum of these two. word [BH_CHECKED][n] of the rows of the file from number `first` on. Sums of
 * parts of the rows add up. Local. */
uint64_t bh_input_checksum_rows(const bh_input *moment, int64_t first, int64_t n, const void *const *word);
uint64_t bh_input_checksum_moment(const bh_input *moment);

#endif
