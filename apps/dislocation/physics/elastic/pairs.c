/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"

#include "pairs_near.h"

#include <equipoise/error.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *dd_isa_name(dd_isa isa)
{
    static const char *const name[DD_ISAS] = {"auto", "plain", "avx2", "avx512"};

    return (unsigned)isa < DD_ISAS ? name[isa] : NULL;
}

int dd_pairs_choose(dd_isa isa, dd_pairs_fn *fn, dd_isa *chosen)
{
    dd_pairs_fn kernel[DD_ISAS] = {[DD_ISA_PLAIN] = dd_pairs_plain};

#ifdef DD_PAIRS_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernel[DD_ISA_AVX2] = dd_pairs_avx2;
    }
#endif
#ifdef DD_PAIRS_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("fma")) {
        kernel[DD_ISA_AVX512] = dd_pairs_avx512;
    }
#endif
    if ((unsigned)isa >= DD_ISAS) {
        return EQP_ERR_ARGUMENT;
    }
    if (isa == DD_ISA_AUTO) {
        for (isa = DD_ISA_AVX512; kernel[isa] == NULL; isa = (dd_isa)(isa - 1)) {
        }
    }
    if (kernel[isa] == NULL) {
        return EQP_ERR_STATE;
    }
    *fn = kernel[isa];
    if (chosen != NULL) {
        *chosen = isa;
    }
    return EQP_OK;
}

bool dd_pair_force(dd_pairs_fn fn, const dd_medium *medium, const dd_segment *a, const dd_segment *b, double force[12])
{
    double column[15][1 + DD_LANES] = {{0}};
    dd_pair_counts counts = {0, 0};
    dd_columns source;

    for (int k = 0; k < 15; k++) {
        *(k < 9 ? &source.at[k] : &source.force[k - 9]) = column[k];
    }
    for (int d = 0; d < 3; d++) {
        column[d][0] = b->x1[d];
        column[3 + d][0] = b->x2[d];
        column[6 + d][0] = b->burgers[d];
    }
    memset(force, 0, 6 * sizeof *force);
    fn(medium, a, &source, 1, &(dd_run){0, 1}, force, &counts);
    for (int k = 0; k < 6; k++) {
        force[6 + k] = column[9 + k][0];
    }
    return counts.parallel > 0;
}

/* A segment's tangent and the parts of its Burgers vector. \return its length */
static double parts_of(const dd_segment *segment, double tangent[3], double *screw, double edge[3])
{
    double length;

    for (int d = 0; d < 3; d++) {
        tangent[d] = segment->x2[d] - segment->x1[d];
    }
    length = sqrt(dd_dot(tangent, tangent));
    for (int d = 0; d < 3; d++) {
        tangent[d] /= length;
    }
    *screw = dd_dot(segment->burgers, tangent);
    for (int d = 0; d < 3; d++) {
        edge[d] = segment->burgers[d] - *screw * tangent[d];
    }
    return length;
}

/* With L the length and Ra = sqrt(L^2 + a^2): factor of the edge part in the force on the second end. */
static double self_factor(const dd_medium *medium, double length, double screw)
{
    const double nu = medium->nu, a = medium->a, ra = hypot(length, a);
    const double line = nu * asinh(length / a) - (1 - nu) * length / (2 * ra);
    const double ends = (2 * nu * ra + (1 - nu) * a * a / ra - (1 + nu) * a) / length;

    return medium->mu * screw / (4 * DD_PI * (1 - nu)) * (line - ends);
}

void dd_self_elastic(const dd_medium *medium, const dd_segment *segment, double force[6])
{
    double tangent[3], edge[3], screw;
    const double length = parts_of(segment, tangent, &screw, edge), factor = self_factor(medium, length, screw);

    for (int d = 0; d < 3; d++) {
        force[3 + d] = factor * edge[d];
        force[d] = -force[3 + d];
    }
}

void dd_self_force(const dd_medium *medium, const dd_segment *segment, double force[6])
{
    double tangent[3], edge[3], screw;
    const double length = parts_of(segment, tangent, &screw, edge), nu = medium->nu;
    const double turn = self_factor(medium, length, screw) + 2 * medium->core * screw * nu / (1 - nu);
    const double pull = medium->core * (screw * screw + dd_dot(edge, edge) / (1 - nu));

    for (int d = 0; d < 3; d++) {
        force[3 + d] = turn * edge[d] - pull * tangent[d];
        force[d] = -force[3 + d];
    }
}

void dd_peach_koehler(const double stress[6], const dd_segment *segment, double force[6])
{
    const double *b = segment->burgers;
    const double half[3] = {(stress[0] * b[0] + stress[5] * b[1] + stress[4] * b[2]) / 2,
                            (stress[5] * b[0] + stress[1] * b[1] + stress[3] * b[2]) / 2,
                            (stress[4] * b[0] + stress[3] * b[1] + stress[2] * b[2]) / 2};
    const double span[3] = {segment->x2[0] - segment->x1[0], segment->x2[1] - segment->x1[1],
                            segment->x2[2] - segment->x1[2]};

    dd_cross(half, span, force);
    for (int d = 0; d < 3; d++) {
        force[3 + d] = force[d];
    }
}
