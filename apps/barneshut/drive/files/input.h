/* SPDX-License-Identifier: BSD-3-Clause */
/* Source of the particles: every rank takes its slice of a file or of a generator. */
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
    int64_t step;       /* 0, or the step of a restart file */
    double dt;          /* of a restart file; else 0 */
    double kick;        /* s, missing from the velocities if a restart file was written within a step; else 0 */
    int64_t tick;       /* at which a restart file was written within a step of several rungs; else 0 */
    bh_box cells;       /* root cube of the keys if the tree of such a file had drifted; else its side is 0 */
    int64_t group_size; /* last size in a restart file of a run that chose it; else 0 */
    app_words words;    /* balance state of a restart file; owned by the simulation */
    eqp_message note;   /* members that the file does not have, or that forces ignore; empty: none */
    char format[64];
} bh_input;

/* Names of bh_input.cells in a restart file: its corner, then its side. */
#define BH_CELLS_ATTRIBUTES 4
extern const char *const bh_cells_attribute[BH_CELLS_ATTRIBUTES];

/* Fills particles (tag stays 0, and so does key without cells). Collective: all ranks fail with the same code and
 * message, or none. */
int bh_input_read(MPI_Comm comm, const bh_settings *settings, bh_particles *particles, bh_input *input,
                  eqp_message *message);

/* Words of a particle in the checksum of a restart file: id, kind, m, x, y, z, vx, vy, vz, ax, ay, az, pot, rung, key.
 * The last two count only at a moment with a tick and with cells. With words the moment also includes kick, size of
 * groups and the words. */
enum { BH_CHECKED = 15 };

/* The checksum is the sum of these two. word [BH_CHECKED][n]: of the rows of the file from number `first` on. Sums over
 * parts of the rows add up. Local. */
uint64_t bh_input_checksum_rows(const bh_input *moment, int64_t first, int64_t n, const void *const *word);
uint64_t bh_input_checksum_moment(const bh_input *moment);

#endif
