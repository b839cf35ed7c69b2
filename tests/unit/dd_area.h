/* SPDX-License-Identifier: BSD-3-Clause */
/* The area of a network, for tests of the plastic strain: area[3 i + j] is the sum over all segments of b_i A_j,
 * A the triangle of a segment and its line's first node. */
#ifndef DD_AREA_H
#define DD_AREA_H

#include "network/vector.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct dd_area_segment {
    uint64_t from, to;
    double burgers[3], way[3]; /* from the first end to the other */
} dd_area_segment;

/* false: lines go around the box, and the area is not defined. Brute force: O(n^2). */
static inline bool dd_area_of(int64_t n, const dd_area_segment *segment, double area[9])
{
    double(*at)[3] = calloc((size_t)n + 1, sizeof *at);
    bool *placed = calloc((size_t)n + 1, sizeof *placed), good = at != NULL && placed != NULL;

    for (int64_t root = 0; good && root < n; root++) {
        bool more = !placed[root]; /* at its origin */
        placed[root] = true;
        while (more) {
            more = false;
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j < n && placed[i]; j++) {
                    const dd_area_segment *a = &segment[i], *b = &segment[j];
                    for (int e = 0; e < 4; e++) {
                        double put[3], gap[3];
                        if ((e & 1 ? a->to : a->from) != (e & 2 ? b->to : b->from)) {
                            continue;
                        }
                        dd_v3_along(at[i], e & 1 ? 1.0 : 0.0, a->way, put);
                        dd_v3_along(put, e & 2 ? -1.0 : 0.0, b->way, put);
                        dd_v3_minus(put, at[j], gap);
                        if (!placed[j]) {
                            dd_v3_copy(at[j], put);
                            placed[j] = more = true;
                        } else {
                            good = good && dd_v3_length(gap) < 1e-6 * (1.0 + dd_v3_length(put));
                        }
                    }
                }
            }
        }
    }
    for (int k = 0; k < 9; k++) {
        area[k] = 0.0;
    }
    for (int64_t i = 0; good && i < n; i++) {
        double end[3], cross[3];
        dd_v3_along(at[i], 1.0, segment[i].way, end);
        dd_v3_cross(at[i], end, cross);
        for (int k = 0; k < 9; k++) {
            area[k] += 0.5 * segment[i].burgers[k / 3] * cross[k % 3];
        }
    }
    free(at);
    free(placed);
    return good;
}

#endif
