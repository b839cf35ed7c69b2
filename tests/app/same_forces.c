/* SPDX-License-Identifier: BSD-3-Clause */
/* same_forces A B TOLERANCE: compares two --forces files. They must have the same ids and equal forces, relative to
 * each particle's force. Status 0: equal; 1: different; 2: error. */
#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct forces {
    int64_t n;
    uint64_t *id;
    double *force;
} forces;

static int64_t rows(hid_t set, int rank)
{
    hid_t space = H5Dget_space(set);
    hsize_t size[2] = {0, 3};
    int64_t n = H5Sget_simple_extent_ndims(space) == rank && H5Sget_simple_extent_dims(space, size, NULL) == rank &&
                        size[1] == 3
                    ? (int64_t)size[0]
                    : -1;
    H5Sclose(space);
    return n;
}

static int read_forces(const char *path, forces *f)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        return 0;
    }
    hid_t ids = H5Dopen2(file, "ids", H5P_DEFAULT), values = H5Dopen2(file, "forces", H5P_DEFAULT);
    f->n = rows(ids, 1);
    if (f->n < 0 || rows(values, 2) != f->n) {
        return 0;
    }
    f->id = malloc((size_t)f->n * sizeof *f->id);
    f->force = malloc((size_t)f->n * 3 * sizeof *f->force);
    int good = H5Dread(ids, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, f->id) >= 0 &&
               H5Dread(values, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, f->force) >= 0;
    H5Dclose(ids);
    H5Dclose(values);
    H5Fclose(file);
    return good;
}

int main(int argc, char **argv)
{
    forces a = {0}, b = {0};
    double worst = 0.0;

    if (argc != 4 || !read_forces(argv[1], &a) || !read_forces(argv[2], &b)) {
        fprintf(stderr, "same_forces: two files and a tolerance\n");
        return 2;
    }
    if (a.n != b.n || a.n == 0) {
        printf("%lld and %lld rows\n", (long long)a.n, (long long)b.n);
        return 1;
    }
    for (int64_t i = 0; i < a.n; i++) {
        const double *p = a.force + 3 * i, *q = b.force + 3 * i;
        double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        double off =
            sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]));
        if (a.id[i] != b.id[i] || !isfinite(length) || !isfinite(off)) {
            printf("row %lld: ids %llu and %llu\n", (long long)i, (unsigned long long)a.id[i],
                   (unsigned long long)b.id[i]);
            return 1;
        }
        worst = fmax(worst, length > 0 ? off / length : off);
    }
    printf("%lld forces, worst deviation %g\n", (long long)a.n, worst);
    free(a.id);
    free(a.force);
    free(b.id);
    free(b.force);
    return worst <= atof(argv[3]) ? 0 : 1;
}
