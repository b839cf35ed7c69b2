/* SPDX-License-Identifier: BSD-3-Clause */
#include "particles.h"

#include "../../physics/tree.h"

#include <equipoise/more/base.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void bh_particles_free(bh_particles *p)
{
    for (int f = 0; f < BH_PARTICLE_FIELDS; f++) {
        free(p->field[f]);
    }
    *p = (bh_particles){0};
}

static int reserve(bh_particles *p, int64_t n)
{
    int64_t capacity = n + n / 16 + 16;

    if (n <= p->capacity) {
        return EQP_OK;
    }
    for (int f = 0; f < bh_particles_fields(p->rungs); f++) {
        void *grown = realloc(p->field[f], (size_t)capacity * 8);
        EQP_CHECK(grown == NULL ? EQP_ERR_MEMORY : EQP_OK);
        p->field[f] = grown;
    }
    p->capacity = capacity;
    return EQP_OK;
}

int bh_particles_resize(bh_particles *p, int64_t n)
{
    EQP_CHECK(reserve(p, n));
    for (int f = 0; f < bh_particles_fields(p->rungs) && n > p->n; f++) {
        memset((char *)p->field[f] + 8 * p->n, 0, (size_t)(n - p->n) * 8);
    }
    p->n = n;
    return EQP_OK;
}

int bh_particles_copy(const bh_particles *p, bh_particles *copy)
{
    int code;

    *copy = (bh_particles){.rungs = p->rungs};
    EQP_TRY(bh_particles_resize(copy, p->n));
    for (int f = 0; f < bh_particles_fields(p->rungs) && p->n > 0; f++) {
        memcpy(copy->field[f], p->field[f], (size_t)p->n * 8);
    }
done:
    if (code != EQP_OK) {
        bh_particles_free(copy);
    }
    return code;
}

int bh_forces_keep(const bh_particles *p, double **kept)
{
    const double *const field[] = {p->ax, p->ay, p->az, p->pot};
    int64_t capacity = 0;
    EQP_CHECK(eqp_array_reserve(kept, &capacity, 4 * p->n + 1, sizeof **kept)); /* not NULL without particles */

    for (int f = 0; f < 4 && p->n > 0; f++) {
        memcpy(*kept + f * p->n, field[f], (size_t)p->n * sizeof **kept);
    }
    return EQP_OK;
}

void bh_forces_swap(bh_particles *p, double *kept)
{
    double *const field[] = {p->ax, p->ay, p->az, p->pot};

    for (int f = 0; f < 4; f++) {
        for (int64_t i = 0; i < p->n; i++) {
            const double taken = kept[f * p->n + i];
            kept[f * p->n + i] = field[f][i];
            field[f][i] = taken;
        }
    }
}

void bh_sorted_free(bh_sorted *sorted)
{
    free(sorted->place);
    free(sorted->key);
}

static int reserve_sorted(bh_sorted *sorted, int64_t n)
{
    int64_t capacity = sorted->capacity;

    EQP_CHECK(eqp_array_reserve(&sorted->place, &capacity, n, sizeof *sorted->place));
    return eqp_array_reserve(&sorted->key, &sorted->capacity, n, sizeof *sorted->key);
}

int bh_sorted_make(const bh_particles *p, bh_sorted *sorted)
{
    EQP_CHECK(reserve_sorted(sorted, p->n));
    EQP_CHECK(bh_order(p->n, p->key, p->index, sorted->place));
    for (int64_t i = 0; i < p->n; i++) {
        sorted->key[i] = p->key[sorted->place[i]];
    }
    sorted->n = p->n;
    return EQP_OK;
}

int bh_sorted_add(bh_sorted *sorted, const bh_particles *p, int64_t n, const int32_t *place)
{
    uint64_t *key = NULL;
    int64_t *index = NULL;
    int32_t *order = NULL;
    int code;

    EQP_TRY(reserve_sorted(sorted, sorted->n + n));
    EQP_TRY(eqp_array_create(&key, n, sizeof *key));
    EQP_TRY(eqp_array_create(&index, n, sizeof *index));
    EQP_TRY(eqp_array_create(&order, n, sizeof *order));
    for (int64_t k = 0; k < n; k++) {
        key[k] = p->key[place[k]];
        index[k] = p->index[place[k]];
    }
    EQP_TRY(bh_order(n, key, index, order));
    for (int64_t k = n, i = sorted->n; k > 0;) { /* from the end, where there is room */
        const int32_t last = order[k - 1];
        const bool old = i > 0 && (sorted->key[i - 1] > key[last] ||
                                   (sorted->key[i - 1] == key[last] && p->index[sorted->place[i - 1]] > index[last]));
        sorted->key[i + k - 1] = old ? sorted->key[i - 1] : key[last];
        sorted->place[i + k - 1] = old ? sorted->place[i - 1] : place[last];
        i -= old;
        k -= !old;
    }
    sorted->n += n;
done:
    free(key);
    free(index);
    free(order);
    return code;
}

static bool in_place(const bh_particles *p, const bh_sorted *sorted)
{
    bool same = sorted->n == p->n;

    for (int64_t i = 0; i < sorted->n && same; i++) {
        same = sorted->place[i] == i;
    }
    return same;
}

/* Particles whose values of a field stay in the L2 cache while they are gathered. */
#define PIECE 16384

/* Most particles come from nearby. That part of the field is fetched first, since places in no order are fetched one by
 * one. */
static void gather(const bh_sorted *sorted, const uint64_t *from, uint64_t *to)
{
    const int32_t *place = sorted->place;
    const int64_t n = sorted->n;

    for (int64_t first = 0; first < n; first += PIECE) {
        const int64_t end = n - first < PIECE ? n : first + PIECE;
        for (int64_t i = first; i < end; i += 8) {
            __builtin_prefetch(from + i);
        }
        for (int64_t i = first; i < end; i++) {
            memcpy(&to[i], &from[place[i]], 8);
        }
    }
}

int bh_particles_gather(bh_particles *p, const bh_sorted *sorted)
{
    uint64_t *spare;

    if (in_place(p, sorted)) {
        return EQP_OK;
    }
    spare = malloc((size_t)p->capacity * 8);
    EQP_CHECK(spare == NULL ? EQP_ERR_MEMORY : EQP_OK);
    for (int f = 0; f < bh_particles_fields(p->rungs); f++) {
        uint64_t *field = p->field[f];
        gather(sorted, field, spare);
        p->field[f] = spare; /* the old array is the next field's spare one */
        spare = field;
    }
    free(spare);
    p->n = sorted->n;
    return EQP_OK;
}

void bh_particles_pack(const bh_particles *p, int64_t i, uint64_t *record)
{
    for (int f = 0; f < bh_particles_fields(p->rungs); f++) {
        memcpy(&record[f], (const char *)p->field[f] + 8 * i, 8);
    }
}

void bh_particles_unpack(bh_particles *p, int64_t i, const uint64_t *record)
{
    for (int f = 0; f < bh_particles_fields(p->rungs); f++) {
        memcpy((char *)p->field[f] + 8 * i, &record[f], 8);
    }
}
