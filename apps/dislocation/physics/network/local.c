/* SPDX-License-Identifier: BSD-3-Clause */
#include "local.h"

#include "elastic/pairs.h"
#include "elastic/self.h"
#include "vector.h"

void dd__local_forces(const dd_medium *medium, int n, const dd_segment *segment, double (*force)[6])
{
    double column[15][DD_LOCAL_SEGMENTS + DD_LANES] = {{0.0}};
    dd_columns sources;
    dd_pair_counts counts = {0, 0};

    for (int c = 0; c < 9; c++) {
        sources.at[c] = column[c];
    }
    for (int c = 0; c < 6; c++) {
        sources.force[c] = column[9 + c];
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            column[k][i] = segment[i].x1[k];
            column[3 + k][i] = segment[i].x2[k];
            column[6 + k][i] = segment[i].burgers[k];
        }
    }
    for (int i = 0; i < n; i++) {
        dd_self_force(medium, &segment[i], force[i]);
        if (i + 1 < n) {
            const dd_run rest = {i + 1, n - i - 1};
            dd_pairs_plain(medium, &segment[i], &sources, 1, &rest, force[i], &counts);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 6; k++) {
            force[i][k] += column[9 + k][i];
        }
    }
}

dd_segment dd__segment(const double from[3], const double to[3], const double burgers[3])
{
    dd_segment segment;

    dd_v3_copy(segment.x1, from);
    dd_v3_copy(segment.x2, to);
    dd_v3_copy(segment.burgers, burgers);
    return segment;
}
