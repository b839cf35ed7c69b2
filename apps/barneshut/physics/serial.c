/* SPDX-License-Identifier: BSD-3-Clause */
#include "serial.h"
#include "force.h"
#include "order.h"

#include <equipoise/error.h>
#include <equipoise/more/curve.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of an array, 0 for none; false if they or anything between them is not finite. */
static bool bounds(int64_t n, const double *x, double *lo, double *hi)
{
    bool finite = true;

    *lo = *hi = n > 0 ? x[0] : 0.0;
    for (int64_t i = 0; i < n; i++) {
        finite = finite && isfinite(x[i]);
        *lo = x[i] < *lo ? x[i] : *lo;
        *hi = x[i] > *hi ? x[i] : *hi;
    }
    return finite;
}

static double *gather(int64_t n, const int64_t *order, const double *from)
{
    double *to = malloc((size_t)(n > 0 ? n : 1) * sizeof *to);

    for (int64_t i = 0; to != NULL && i < n; i++) {
        to[i] = from[order[i]];
    }
    return to;
}

static int sort_particles(bh_serial *serial, const bh_box *box, const double *x, const double *y, const double *z)
{
    const int64_t n = serial->n;
    const size_t items = (size_t)(n > 0 ? n : 1);
    uint64_t *key = malloc(items * sizeof *key);
    int64_t *id = malloc(items * sizeof *id);
    int code = EQP_ERR_MEMORY;

    serial->order = malloc(items * sizeof *serial->order);
    serial->key = malloc(items * sizeof *serial->key);
    if (key == NULL || id == NULL || serial->order == NULL || serial->key == NULL) {
        goto done;
    }
    for (int64_t i = 0; i < n; i++) {
        id[i] = i;
    }
    code = eqp_hilbert_keys(n, x, y, z, box->corner, box->side, key);
    if (code != EQP_OK) {
        goto done;
    }
    code = bh_order(n, key, id, serial->order);
    for (int64_t i = 0; code == EQP_OK && i < n; i++) {
        serial->key[i] = key[serial->order[i]];
    }
done:
    free(id);
    free(key);
    return code;
}

int bh_serial_build(bh_serial *serial, int64_t n, const double *x, const double *y, const double *z, const double *m,
                    const double *accel, int leaf_size, int group_size)
{
    const double *from[5] = {x, y, z, m, accel};
    const bh_interval everything = {0, EQP_CURVE_END};
    double *sorted[5] = {NULL};
    double lo[3], hi[3];
    bh_box box;
    int code;

    *serial = (bh_serial){.n = n};
    bh_tree_init(&serial->tree, leaf_size);
    if (n < 0) {
        return EQP_ERR_ARGUMENT;
    }
    for (int k = 0; k < 3; k++) {
        if (!bounds(n, from[k], &lo[k], &hi[k])) {
            return EQP_ERR_DATA;
        }
    }
    EQP_TRY(bh_box_enclosing(lo, hi, &box));
    EQP_TRY(sort_particles(serial, &box, x, y, z));
    for (int k = 0; k < 5 && from[k] != NULL; k++) {
        sorted[k] = gather(n, serial->order, from[k]);
        EQP_TRY(sorted[k] != NULL ? EQP_OK : EQP_ERR_MEMORY);
    }
    EQP_TRY(bh_tree_build(&serial->tree, &box, n, serial->key, sorted[0], sorted[1], sorted[2], sorted[3], 1,
                          &everything, 0));
    EQP_TRY(bh_tree_top(&serial->tree, serial->tree.nbranches, serial->tree.cell, 0));
    EQP_TRY(bh_groups_make(&serial->tree, serial->key, group_size, sorted[4], &serial->ngroups, &serial->group));
done:
    for (int k = 0; k < 5; k++) {
        free(sorted[k]);
    }
    return code;
}

void bh_serial_free(bh_serial *serial)
{
    free(serial->order);
    free(serial->key);
    free(serial->group);
    bh_tree_free(&serial->tree);
    *serial = (bh_serial){0};
}

static int sweep(const bh_serial *serial, bh_kernel *kernel, const bh_mac *mac, double G, double eps, double *field[4],
                 bh_serial_work *work)
{
    const bh_sources *at = &serial->tree.sources;
    bh_list list;
    int code = EQP_OK;

    bh_list_init(&list);
    for (int64_t g = 0; code == EQP_OK && g < serial->ngroups; g++) {
        const bh_group *group = &serial->group[g];
        const int64_t first = group->first;
        code = bh_walk(&serial->tree, serial->tree.root, group, mac, NULL, &list);
        if (code == EQP_OK) {
            code = bh_force(kernel, &serial->tree, &list, G, eps, group->count, at->x + first, at->y + first,
                            at->z + first, field[0] + first, field[1] + first, field[2] + first, field[3] + first);
            work->pairs += group->count * list.nsources;
            work->cells += group->count * list.ncells;
            work->visits += list.nvisits;
        }
    }
    bh_list_free(&list);
    return code;
}

int bh_serial_force(const bh_serial *serial, bh_kernel *kernel, const bh_mac *mac, double G, double eps, double *ax,
                    double *ay, double *az, double *pot, bh_serial_work *work)
{
    double *to[4] = {ax, ay, az, pot}, *field[4] = {NULL};
    bh_serial_work done = {0};
    bh_kernel *own = NULL;
    int code;

    EQP_TRY(kernel != NULL ? EQP_OK : bh_kernel_create(NULL, BH_DOUBLE, &own));
    for (int k = 0; k < 4; k++) {
        field[k] = calloc((size_t)(serial->n > 0 ? serial->n : 1), sizeof(double));
        EQP_TRY(field[k] != NULL ? EQP_OK : EQP_ERR_MEMORY);
    }
    EQP_TRY(sweep(serial, kernel != NULL ? kernel : own, mac, G, eps, field, &done));
    for (int64_t i = 0; i < serial->n; i++) {
        field[3][i] -= bh_potential_self(G, serial->tree.sources.m[i], eps);
        for (int k = 0; k < 4; k++) {
            to[k][serial->order[i]] = field[k][i];
        }
    }
    if (work != NULL) {
        *work = done;
    }
done:
    for (int k = 0; k < 4; k++) {
        free(field[k]);
    }
    bh_kernel_free(own);
    return code;
}

/* The reference for the kernels, which shares no code with them. */
void bh_direct(int64_t n, const double *x, const double *y, const double *z, const double *m, double G, double eps,
               int64_t nt, const double *tx, const double *ty, const double *tz, double *ax, double *ay, double *az,
               double *pot)
{
    for (int64_t t = 0; t < nt; t++) {
        double sum[4] = {0};

        for (int64_t i = 0; i < n; i++) {
            double d[3] = {x[i] - tx[t], y[i] - ty[t], z[i] - tz[t]};
            double s = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps * eps);
            if (s > 1e-90) {
                double weight = m[i] / (s * s * s);
                sum[0] += weight * d[0];
                sum[1] += weight * d[1];
                sum[2] += weight * d[2];
                sum[3] += m[i] / s;
            }
        }
        ax[t] += G * sum[0];
        ay[t] += G * sum[1];
        az[t] += G * sum[2];
        pot[t] -= G * sum[3];
    }
}
