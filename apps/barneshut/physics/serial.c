/* SPDX-License-Identifier: BSD-3-Clause */
#include "serial.h"
#include "force.h"
#include "tree.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>
#include <equipoise/more/curve.h>

#include <math.h>
#include <stdlib.h>

/* The order of the particles by key, and their keys in that order. */
static int sort_particles(bh_serial *serial, const bh_box *box, const double *x, const double *y, const double *z)
{
    const int64_t n = serial->n;
    uint64_t *key = NULL;
    int code;

    EQP_TRY(eqp_array_create(&key, n, sizeof *key));
    EQP_TRY(eqp_array_create(&serial->order, n, sizeof *serial->order));
    EQP_TRY(eqp_array_create(&serial->key, n, sizeof *serial->key));
    EQP_TRY(eqp_hilbert_keys(n, x, y, z, box->corner, box->side, key));
    EQP_TRY(bh_order(n, key, NULL, serial->order));
    for (int64_t i = 0; i < n; i++) {
        serial->key[i] = key[serial->order[i]];
    }
done:
    free(key);
    return code;
}

int bh_serial_build(bh_serial *serial, int64_t n, const double *x, const double *y, const double *z, const double *m,
                    const double *accel, int leaf_size, int group_size)
{
    const double *from[5] = {x, y, z, m, accel};
    const bh_interval everything = {0, EQP_CURVE_END};
    double *sorted[5] = {NULL}, lo[3] = {0}, hi[3] = {0};
    bh_box box;
    int code;

    *serial = (bh_serial){.n = n};
    bh_tree_init(&serial->tree, leaf_size);
    if (n > 0) {
        bh_group_bounds(n, x, y, z, lo, hi);
    }
    EQP_TRY(bh_box_enclosing(lo, hi, &box));
    EQP_TRY(sort_particles(serial, &box, x, y, z));
    for (int k = 0; k < 5 && from[k] != NULL; k++) {
        EQP_TRY(eqp_array_create(&sorted[k], n, sizeof **sorted));
        for (int64_t i = 0; i < n; i++) {
            sorted[k][i] = from[k][serial->order[i]];
        }
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

int bh_serial_force(const bh_serial *serial, bh_kernel *kernel, const bh_mac *mac, double G, double eps, double *ax,
                    double *ay, double *az, double *pot, bh_serial_work *work)
{
    const bh_sources *at = &serial->tree.sources;
    double *const to[4] = {ax, ay, az, pot}, *field = NULL;
    const int64_t n = serial->n;
    bh_serial_work unseen, *to_work = work != NULL ? work : &unseen;
    bh_kernel *own = NULL;
    bh_list list;
    int code;

    *to_work = (bh_serial_work){0};
    bh_list_init(&list);
    EQP_TRY(kernel != NULL ? EQP_OK : bh_kernel_create(NULL, BH_DOUBLE, &own));
    EQP_TRY(eqp_array_create(&field, 4 * n, sizeof *field));
    for (int64_t g = 0; g < serial->ngroups; g++) {
        const bh_group *group = &serial->group[g];
        double *here = field + group->first;
        EQP_TRY(bh_walk(&serial->tree, group, mac, NULL, &list));
        EQP_TRY(bh_force(kernel != NULL ? kernel : own, &serial->tree, &list, G, eps, group->count,
                         at->x + group->first, at->y + group->first, at->z + group->first, here, here + n, here + 2 * n,
                         here + 3 * n));
        to_work->pairs += group->count * list.nsources;
        to_work->cells += group->count * list.ncells;
        to_work->visits += list.nvisits;
    }
    for (int64_t i = 0; i < n; i++) {
        field[3 * n + i] -= bh_potential_self(G, at->m[i], eps);
        for (int k = 0; k < 4; k++) {
            to[k][serial->order[i]] = field[k * n + i];
        }
    }
done:
    bh_list_free(&list);
    bh_kernel_free(own);
    free(field);
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
