/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"

#include "pairs_near.h"

#include <equipoise/error.h>

#include <math.h>
#include <stddef.h>

static bool runs_here(dd_isa isa)
{
    switch (isa) {
    case DD_ISA_PLAIN:
        return true;
#ifdef DD_PAIRS_AVX2
    case DD_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#ifdef DD_PAIRS_AVX512
    case DD_ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
#endif
    default:
        return false;
    }
}

static dd_pairs_fn kernel_of(dd_isa isa)
{
    switch (isa) {
#ifdef DD_PAIRS_AVX2
    case DD_ISA_AVX2:
        return dd_pairs_avx2;
#endif
#ifdef DD_PAIRS_AVX512
    case DD_ISA_AVX512:
        return dd_pairs_avx512;
#endif
    default:
        return dd_pairs_plain;
    }
}

const char *dd_isa_name(dd_isa isa)
{
    static const char *const name[DD_ISAS] = {"auto", "plain", "avx2", "avx512"};

    return (unsigned)isa < DD_ISAS ? name[isa] : NULL;
}

int dd_pairs_choose(dd_isa isa, dd_pairs_fn *fn, dd_isa *chosen)
{
    if ((unsigned)isa >= DD_ISAS) {
        return EQP_ERR_ARGUMENT;
    }
    if (isa == DD_ISA_AUTO) {
        for (isa = DD_ISA_AVX512; !runs_here(isa); isa = (dd_isa)(isa - 1)) {
        }
    }
    if (!runs_here(isa)) {
        return EQP_ERR_STATE;
    }
    *fn = kernel_of(isa);
    if (chosen != NULL) {
        *chosen = isa;
    }
    return EQP_OK;
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
