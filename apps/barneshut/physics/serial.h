/* SPDX-License-Identifier: BSD-3-Clause */
/* All forces on one rank with all particles: for tests, benches and programs without MPI. */
#ifndef BH_SERIAL_H
#define BH_SERIAL_H

#include "force.h"

/* Particles in key order, their tree and target groups. */
typedef struct bh_serial {
    int64_t n;
    int32_t *order; /* [n] the i-th particle's place among the caller's */
    uint64_t *key;  /* [n] */
    bh_tree tree;   /* its sources are the particles in key order */
    int64_t ngroups;
    bh_group *group;
} bh_serial;

/* Work of one force evaluation. */
typedef struct bh_serial_work {
    int64_t pairs;  /* target particle x source particle, itself included */
    int64_t cells;  /* target particle x cell */
    int64_t visits; /* cells looked at, once per group */
} bh_serial_work;

/* Sorts, builds the tree, makes the groups. x, y, z, m [n] and accel [n] (|a| of the previous step, or NULL) are
 * borrowed for the call; coordinates are finite. O(n). Free with bh_serial_free() whether it succeeded or not. */
int bh_serial_build(bh_serial *serial, int64_t n, const double *x, const double *y, const double *z, const double *m,
                    const double *accel, int leaf_size, int group_size);
void bh_serial_free(bh_serial *serial);

/* Sets ax, ay, az and the potential of all other particles, all [n] and in the caller's order; unchanged on error.
 * kernel: borrowed; NULL: the fastest in double precision. work: NULL allowed. */
int bh_serial_force(const bh_serial *serial, bh_kernel *kernel, const bh_mac *mac, double G, double eps, double *ax,
                    double *ay, double *az, double *pot, bh_serial_work *work);

#endif
