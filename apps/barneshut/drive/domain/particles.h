/* SPDX-License-Identifier: BSD-3-Clause */
/* The particles of one rank, structure of arrays. */
#ifndef BH_PARTICLES_H
#define BH_PARTICLES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every field is eight bytes wide, so that a particle is sent as one record of bh_particles_fields() <=
 * BH_PARTICLE_FIELDS words. */
#define BH_PARTICLE_FIELDS 18

typedef struct bh_particles {
    int64_t n, capacity;
    bool rungs; /* particles have steps of several sizes; set before there are any */
    union {
        void *field[BH_PARTICLE_FIELDS]; /* the arrays below, for loops over all of them */
        struct {
            uint64_t *key;  /* Hilbert key in the present root cube */
            int64_t *id;    /* as in the snapshot */
            int64_t *index; /* place in the snapshot's order: unique, 0 .. N - 1 */
            int64_t *kind;  /* particle type of the snapshot */
            int64_t *tag;   /* entry of the interaction-to-rank map that its group follows; see map.h */
            double *x, *y, *z;
            double *vx, *vy, *vz;
            double *m;
            double *ax, *ay, *az, *pot;
            int64_t *label; /* of its group at the last offer of a map; 0: no offer yet */
            int64_t *rung;  /* see <physics/motion.h>; NULL without */
        };
    };
} bh_particles;

static inline double bh_acceleration(const bh_particles *p, int64_t i)
{
    return sqrt(p->ax[i] * p->ax[i] + p->ay[i] * p->ay[i] + p->az[i] * p->az[i]);
}

/* Number of words in a particle's record. */
static inline int bh_particles_fields(bool rungs)
{
    return rungs ? BH_PARTICLE_FIELDS : BH_PARTICLE_FIELDS - 1;
}

static inline int bh_particles_bytes(bool rungs)
{
    return 8 * bh_particles_fields(rungs);
}

void bh_particles_free(bh_particles *p);

/* Room for n particles; the first min(n, old n) keep their values, new ones are zero. Sets p->n = n. */
int bh_particles_resize(bh_particles *p, int64_t n);

/* copy: not initialised; freed on error. EQP_OK or EQP_ERR_MEMORY. */
int bh_particles_copy(const bh_particles *p, bh_particles *copy);

/* Copies accelerations and potentials: kept [4][n], owned by the caller, free(). EQP_OK or EQP_ERR_MEMORY. */
int bh_forces_keep(const bh_particles *p, double **kept);

/* Exchanges the particles' accelerations and potentials with kept ones. */
void bh_forces_swap(bh_particles *p, double *kept);

/* Particles by (key, index), before their fields are: particle i is at place[i] of the fields and has key[i]. Begins
 * with zeros. */
typedef struct bh_sorted {
    int64_t n, capacity;
    int32_t *place;
    uint64_t *key;
} bh_sorted;

void bh_sorted_free(bh_sorted *sorted);

/* All particles, whose fields may be in any order. */
int bh_sorted_make(const bh_particles *p, bh_sorted *sorted);

/* Adds the particles at n more places, in any order. */
int bh_sorted_add(bh_sorted *sorted, const bh_particles *p, int64_t n, const int32_t *place);

/* Brings all fields into this order; particles that are not in it are removed. */
int bh_particles_gather(bh_particles *p, const bh_sorted *sorted);

/* Particle i as a record, and back. record [bh_particles_fields()] words. */
void bh_particles_pack(const bh_particles *p, int64_t i, uint64_t *record);
void bh_particles_unpack(bh_particles *p, int64_t i, const uint64_t *record);

#endif
