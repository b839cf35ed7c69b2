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

int bh_particles_permute(bh_particles *p, const int64_t *order)
{
    /* The spare array receives a field, and the field's old array is the next spare. */
    uint64_t *spare = malloc((size_t)(p->capacity > 0 ? p->capacity : 1) * 8);

    EQP_CHECK(spare == NULL ? EQP_ERR_MEMORY : EQP_OK);
    for (int f = 0; f < bh_particles_fields(p->rungs) && p->n > 0; f++) {
        char *old = p->field[f];
        for (int64_t i = 0; i < p->n; i++) {
            memcpy(&spare[i], old + 8 * order[i], 8);
        }
        p->field[f] = spare;
        spare = (uint64_t *)(void *)old;
    }
    free(spare);
    return EQP_OK;
}

int bh_forces_keep(const bh_particles *p, double **kept)
{
    const double *const field[] = {p->ax, p->ay, p->az, p->pot};
    EQP_CHECK(eqp_array_create(kept, 4 * p->n, sizeof **kept));

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

int bh_particles_part(bh_particles *p, int64_t n, const int64_t *place)
{
    uint64_t *kept = NULL;
    int code;

    EQP_TRY(eqp_array_create(&kept, n, sizeof *kept));
    for (int f = 0; f < bh_particles_fields(p->rungs) && n > 0; f++) {
        char *values = p->field[f];
        for (int64_t k = 0; k < n; k++) {
            memcpy(&kept[k], values + 8 * place[k], 8);
        }
        for (int64_t k = 0; k < n; k++) { /* particles behind the k-th move up by k + 1 */
            const int64_t end = k + 1 < n ? place[k + 1] : p->n;
            memmove(values + 8 * (place[k] - k), values + 8 * (place[k] + 1), 8 * (size_t)(end - place[k] - 1));
        }
        memcpy(values + 8 * (p->n - n), kept, 8 * (size_t)n);
    }
done:
    free(kept);
    return code;
}

static bool comes_before(const bh_particles *p, int64_t a, int64_t b)
{
    return p->key[a] < p->key[b] || (p->key[a] == p->key[b] && p->index[a] < p->index[b]);
}

static int64_t count_sorted(const bh_particles *p)
{
    int64_t n = p->n > 0;

    while (n < p->n && !comes_before(p, n, n - 1)) {
        n++;
    }
    return n;
}

static int64_t find_later(const bh_particles *p, int64_t sorted, int64_t i)
{
    int64_t low = 0, high = sorted;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (comes_before(p, i, middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Inserts the few unsorted particles at the end, such as arrivals from other ranks. */
static int insert_last(bh_particles *p, int64_t sorted)
{
    const int64_t n = p->n - sorted;
    int64_t *order = NULL, *place = NULL;
    uint64_t *kept = NULL;
    int code;

    EQP_TRY(eqp_array_create(&order, n, sizeof *order));
    EQP_TRY(eqp_array_create(&place, n, sizeof *place));
    EQP_TRY(eqp_array_create(&kept, n, sizeof *kept));
    EQP_TRY(bh_order(n, p->key + sorted, p->index + sorted, order));
    for (int64_t k = 0; k < n; k++) {
        place[k] = find_later(p, sorted, sorted + order[k]);
    }
    for (int f = 0; f < bh_particles_fields(p->rungs); f++) {
        char *values = p->field[f];
        int64_t end = sorted;
        for (int64_t k = 0; k < n; k++) {
            memcpy(&kept[k], values + 8 * (sorted + order[k]), 8);
        }
        for (int64_t k = n; k-- > 0; end = place[k]) {
            memmove(values + 8 * (place[k] + k + 1), values + 8 * place[k], 8 * (size_t)(end - place[k]));
            memcpy(values + 8 * (place[k] + k), &kept[k], 8);
        }
    }
done:
    free(order);
    free(place);
    free(kept);
    return code;
}

/* Finds *n <= most particles, ascending, without which the rest is in order; false if there are more. Of two particles
 * in wrong order the first one is taken if the second comes after all before it. */
static bool find_strays(const bh_particles *p, int64_t most, int64_t *n, int64_t *place)
{
    int64_t last = -1, before = -1; /* particles in order */

    *n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (last < 0 || !comes_before(p, i, last)) {
            before = last;
            last = i;
            continue;
        }
        const bool first = before < 0 || !comes_before(p, i, before);
        int64_t k = *n;
        if (k == most) {
            return false;
        }
        for (; first && k > 0 && place[k - 1] > last; k--) {
            place[k] = place[k - 1];
        }
        place[k] = first ? last : i;
        last = first ? i : last;
        ++*n;
    }
    return true;
}

int bh_particles_sort(bh_particles *p)
{
    const int64_t sorted = count_sorted(p), few = p->n / 16;
    int64_t *order = NULL, n;
    int code;

    if (p->n - sorted <= few) {
        return sorted < p->n ? insert_last(p, sorted) : EQP_OK;
    }
    EQP_TRY(eqp_array_create(&order, few, sizeof *order));
    if (find_strays(p, few, &n, order)) {
        EQP_TRY(bh_particles_part(p, n, order));
        EQP_TRY(insert_last(p, p->n - n));
        goto done;
    }
    free(order);
    order = NULL;
    EQP_TRY(eqp_array_create(&order, p->n, sizeof *order));
    EQP_TRY(bh_order(p->n, p->key, p->index, order));
    EQP_TRY(bh_particles_permute(p, order));
done:
    free(order);
    return code;
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
