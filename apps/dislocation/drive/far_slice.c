/* SPDX-License-Identifier: BSD-3-Clause */
#include "far_slice.h"

#include "../../common/run_files.h"

dd_far_slice dd_far_slice_of(const dd_far *far, int64_t ncells, int part, int nparts)
{
    const int64_t columns = dd_far_columns(far);
    dd_far_slice slice = {.far = far};
    int64_t n;

    app_slice(ncells * columns, part, nparts, &slice.begin, &n);
    slice.end = slice.begin + n;
    slice.n = n > 0 ? (slice.end - 1) / columns - slice.begin / columns + 1 : 0;
    return slice;
}

dd_far_piece dd_far_slice_piece(const dd_far_slice *slice, int64_t i)
{
    const int64_t columns = dd_far_columns(slice->far), cell = slice->begin / columns + i;
    const int64_t first = i == 0 ? slice->begin % columns : 0;
    const int64_t left = slice->end - cell * columns;

    return (dd_far_piece){cell, first, (left < columns ? left : columns) - first};
}

int64_t dd_far_slice_count(const dd_far_slice *slice)
{
    int64_t count = 0;

    for (int64_t i = 0; i < slice->n; i++) {
        const dd_far_piece p = dd_far_slice_piece(slice, i);
        count += dd_far_count_part(slice->far, p.cell, p.column, p.count);
    }
    return count;
}

void dd_far_slice_stress(const dd_far_slice *slice, double *field)
{
    const int64_t columns = dd_far_columns(slice->far);
    int64_t i = 0;

    while (i < slice->n) {
        const dd_far_piece p = dd_far_slice_piece(slice, i);
        if (p.count < columns) {
            dd_far_stress_part(slice->far, p.cell, p.column, p.count, field + i * DD_FAR_FIELD);
            i++;
        } else { /* whole cells are quicker together */
            const int64_t whole = (slice->end - p.cell * columns) / columns;
            dd_far_stress_run(slice->far, p.cell, whole, field + i * DD_FAR_FIELD);
            i += whole;
        }
    }
}
