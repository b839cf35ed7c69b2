/* SPDX-License-Identifier: BSD-3-Clause */
#include "particles.h"

#include "../physics/order.h"

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The address of each field's pointer, so that a loop can treat all fields alike. */
static void list_fields(bh_particles *p, void **field[BH_PARTICLE_FIELDS])
{
    void **list[BH_PARTICLE_FIELDS] = {
        (void **)&p->key, (void **)&p->id, (void **)&p->index, (void **)&p->kind, (void **)&p->tag,   (void **)&p->x,
        (void **)&p->y,   (void **)&p->z,  (void **)&p->vx,    (void **)&p->vy,   (void **)&p->vz,    (void **)&p->m,
        (void **)&p->ax,  (void **)&p->ay, (void **)&p->az,    (void **)&p->pot,  (void **)&p->label,
    };

    memcpy(field, list, sizeof list);
}

void bh_particles_init(bh_particles *p)
{
    memset(p, 0, sizeof *p);
}

void bh_particles_free(bh_particles *p)
{
    void **field[BH_PARTICLE_FIELDS];

    list_fields(p, field);
    for (int f = 0; f < BH_PARTICLE_FIELDS; f++) {
        free(*field[f]);
    }
    bh_particles_init(p);
}

static int reserve(bh_particles *p, int64_t n)
{
    int64_t capacity = n + n / 16 + 16;
    void **field[BH_PARTICLE_FIELDS];

    if (n <= p->capacity) {
        return EQP_OK;
    }
    list_fields(p, field);
    for (int f = 0; f < BH_PARTICLE_FIELDS; f++) {
        void *grown = realloc(*field[f], (size_t)capacity * 8);
        if (grown == NULL) {
            return EQP_ERR_MEMORY;
        }
        *field[f] = grown;
    }
    p->capacity = capacity;
    return EQP_OK;
}

int bh_particles_resize(bh_particles *p, int64_t n)
{
    void **field[BH_PARTICLE_FIELDS];
    int code = reserve(p, n);

    if (code != EQP_OK) {
        return code;
    }
    list_fields(p, field);
    for (int f = 0; f < BH_PARTICLE_FIELDS && n > p->n; f++) {
        memset((char *)*field[f] + 8 * p->n, 0, (size_t)(n - p->n) * 8);
    }
    p->n = n;
    return EQP_OK;
}

int bh_particles_permute(bh_particles *p, const int64_t *order)
{
    /* The spare array takes a field, and the array that the field leaves is the next one's spare. */
    uint64_t *spare = malloc((size_t)(p->capacity > 0 ? p->capacity : 1) * 8);
    void **field[BH_PARTICLE_FIELDS];

    if (spare == NULL) {
        return EQP_ERR_MEMORY;
    }
    list_fields(p, field);
    for (int f = 0; f < BH_PARTICLE_FIELDS && p->n > 0; f++) {
        char *old = *field[f];
        for (int64_t i = 0; i < p->n; i++) {
            memcpy(&spare[i], old + 8 * order[i], 8);
        }
        *field[f] = spare;
        spare = (uint64_t *)(void *)old;
    }
    free(spare);
    return EQP_OK;
}

/* One pass tells that nothing need be moved. */
static bool is_sorted(const bh_particles *p)
{
    for (int64_t i = 1; i < p->n; i++) {
        if (p->key[i] < p->key[i - 1] || (p->key[i] == p->key[i - 1] && p->index[i] < p->index[i - 1])) {
            return false;
        }
    }
    return true;
}

int bh_particles_sort(bh_particles *p)
{
    if (is_sorted(p)) {
        return EQP_OK;
    }
    int64_t *order = malloc((size_t)(p->n > 0 ? p->n : 1) * sizeof *order);
    int code;

    EQP_TRY(order == NULL ? EQP_ERR_MEMORY : bh_order(p->n, p->key, p->index, order));
    EQP_TRY(bh_particles_permute(p, order));
done:
    free(order);
    return code;
}

void bh_particles_pack(const bh_particles *p, int64_t i, uint64_t *record)
{
    bh_particles view = *p;
    void **field[BH_PARTICLE_FIELDS];

    list_fields(&view, field);
    for (int f = 0; f < BH_PARTICLE_FIELDS; f++) {
        memcpy(&record[f], (const char *)*field[f] + 8 * i, 8);
    }
}

void bh_particles_unpack(bh_particles *p, int64_t i, const uint64_t *record)
{
    void **field[BH_PARTICLE_FIELDS];

    list_fields(p, field);
    for (int f = 0; f < BH_PARTICLE_FIELDS; f++) {
        memcpy((char *)*field[f] + 8 * i, &record[f], 8);
    }
}
