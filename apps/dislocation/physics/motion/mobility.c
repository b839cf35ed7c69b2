/* SPDX-License-Identifier: BSD-3-Clause */
#include "mobility.h"

#include "mobility_drag.h"

#include <equipoise/error.h>

#include <stddef.h>
#include <strings.h>

enum {
    LINEAR = DD_READS_MOBILITIES | DD_READS_CLIMB,
    TA_FIT = DD_READS_TA | DD_READS_TA_FIT | DD_READS_BURGERS,
    TA_DRAGS = DD_READS_TA | DD_READS_TA_DRAGS,
    HOT = DD_READS_TEMPERATURE | DD_READS_BURGERS,
    HOT_PRESSED = HOT | DD_READS_MODULUS
};

typedef struct mobility_row {
    const char *name;
    dd_drag_curves *begin; /* NULL: linear */
    dd_drag_law *add;      /* NULL: Relax */
    double line;           /* drag along a line in units of min(edge, screw); 0: none of these */
    bool junctions;        /* see dd_drag_sum */
    bool in_planes;        /* velocities stay in the glide planes of all arms */
    unsigned reads;
} mobility_row;

static const mobility_row laws[DD_MOBILITY_NLAWS] = {
    {"FCC_0", NULL, dd__add_fcc_0, 0, false, true, DD_READS_MOBILITIES},
    {"FCC_0b", NULL, dd__add_fcc_0b, 1, true, true, LINEAR},
    {"FCC_linear", NULL, dd__add_fcc_linear, 1e-2, false, true, LINEAR},
    {"FCC_climb", NULL, dd__add_fcc_climb, 1, true, true, DD_READS_MOBILITIES},
    {"BCC_0", NULL, dd__add_bcc_0, 1e-2, false, false, LINEAR},
    {"BCC_0b", NULL, dd__add_bcc_0, 1e-2, true, false, LINEAR},
    {"BCC_linear", NULL, dd__add_bcc_linear, 1e-4, false, true, LINEAR},
    {"BCC_glide", NULL, dd__add_bcc_glide, 1e-2, false, true, DD_READS_MOBILITIES},
    {"BCC_Ta", dd__begin_ta, dd__add_ta, 0, false, true, TA_FIT},
    {"BCC_Ta_linear", dd__begin_ta_linear, dd__add_ta, 0, false, true, TA_DRAGS},
    {"BCC_Ta_pencil", dd__begin_pencil, dd__add_pencil, 0, false, false, LINEAR | DD_READS_BURGERS},
    {"BCC_Ta_nl", dd__begin_ta_nl, dd__add_ta_nl, 0, false, false, HOT},
    {"BCC_Ta_nl_b", dd__begin_ta_nl, dd__add_ta_nl_b, 0, false, false, HOT},
    {"BCC_Ta_nl_b_planar", dd__begin_ta_nl, dd__add_ta_nl_b_planar, 0, false, true, HOT},
    {"BCC_Va_nl", dd__begin_va_nl, dd__add_va_nl, 0, false, false, HOT_PRESSED},
    {"BCC_Va_nl_planar", dd__begin_va_nl, dd__add_va_nl_planar, 0, false, true, HOT_PRESSED},
    {"HCP_linear", NULL, dd__add_hcp_linear, 0, false, true, DD_READS_HCP},
    {"Relax", NULL, NULL, 0, false, true, 0},
    {"Relax_Glide", NULL, NULL, 0, false, true, 0},
};

#define AT(field) offsetof(dd_mobility, field)

static const struct {
    const char *key;
    size_t at;
    unsigned reader;
} parameters[] = {
    {"MobEdge", AT(edge), DD_READS_MOBILITIES},
    {"MobScrew", AT(screw), DD_READS_MOBILITIES},
    {"MobClimb", AT(climb), DD_READS_CLIMB},
    {"burgMag", AT(burgers), DD_READS_BURGERS},
    {"TempK", AT(temperature), DD_READS_TEMPERATURE},
    {"MobG0", AT(modulus_0), DD_READS_MODULUS},
    {"TaDragEdge110", AT(ta_edge[0]), DD_READS_TA_DRAGS},
    {"TaDragEdge112", AT(ta_edge[1]), DD_READS_TA_DRAGS},
    {"TaDragScrew110", AT(ta_screw[DD_TA_110]), DD_READS_TA_DRAGS},
    {"TaDragScrew112T", AT(ta_screw[DD_TA_112T]), DD_READS_TA_DRAGS},
    {"TaDragScrew112AT", AT(ta_screw[DD_TA_112AT]), DD_READS_TA_DRAGS},
    {"TaDragLine", AT(ta_line), DD_READS_TA},
    {"TaDragClimbEdge", AT(ta_climb_edge), DD_READS_TA},
    {"TaDragClimbScrew", AT(ta_climb_screw), DD_READS_TA},
    {"TaDragParam110K", AT(ta_fit[DD_TA_110].k), DD_READS_TA_FIT},
    {"TaDragParam110B", AT(ta_fit[DD_TA_110].b), DD_READS_TA_FIT},
    {"TaDragParam110alpha", AT(ta_fit[DD_TA_110].alpha), DD_READS_TA_FIT},
    {"TaDragParam112TK", AT(ta_fit[DD_TA_112T].k), DD_READS_TA_FIT},
    {"TaDragParam112TB", AT(ta_fit[DD_TA_112T].b), DD_READS_TA_FIT},
    {"TaDragParam112Talpha", AT(ta_fit[DD_TA_112T].alpha), DD_READS_TA_FIT},
    {"TaDragParam112ATK", AT(ta_fit[DD_TA_112AT].k), DD_READS_TA_FIT},
    {"TaDragParam112ATB", AT(ta_fit[DD_TA_112AT].b), DD_READS_TA_FIT},
    {"TaDragParam112ATalpha", AT(ta_fit[DD_TA_112AT].alpha), DD_READS_TA_FIT},
    {"HCP_A_Basal_EdgeDrag", AT(hcp_edge[DD_HCP_A_BASAL]), DD_READS_HCP},
    {"HCP_A_Basal_ScrewDrag", AT(hcp_screw[DD_HCP_A_BASAL]), DD_READS_HCP},
    {"HCP_A_Prismatic_EdgeDrag", AT(hcp_edge[DD_HCP_A_PRISMATIC]), DD_READS_HCP},
    {"HCP_A_Prismatic_ScrewDrag", AT(hcp_screw[DD_HCP_A_PRISMATIC]), DD_READS_HCP},
    {"HCP_A_1stPyramidal_EdgeDrag", AT(hcp_edge[DD_HCP_A_PYRAMIDAL]), DD_READS_HCP},
    {"HCP_A_1stPyramidal_ScrewDrag", AT(hcp_screw[DD_HCP_A_PYRAMIDAL]), DD_READS_HCP},
    {"HCP_C_Prismatic_EdgeDrag", AT(hcp_edge[DD_HCP_C_PRISMATIC]), DD_READS_HCP},
    {"HCP_C_Prismatic_ScrewDrag", AT(hcp_screw[DD_HCP_C_PRISMATIC]), DD_READS_HCP},
    {"HCP_CpA_Prismatic_EdgeDrag", AT(hcp_edge[DD_HCP_CPA_PRISMATIC]), DD_READS_HCP},
    {"HCP_CpA_Prismatic_ScrewDrag", AT(hcp_screw[DD_HCP_CPA_PRISMATIC]), DD_READS_HCP},
    {"HCP_CpA_1stPyramidal_EdgeDrag", AT(hcp_edge[DD_HCP_CPA_PYRAMIDAL]), DD_READS_HCP},
    {"HCP_CpA_1stPyramidal_ScrewDrag", AT(hcp_screw[DD_HCP_CPA_PYRAMIDAL]), DD_READS_HCP},
    {"HCP_CpA_2ndPyramidal_EdgeDrag", AT(hcp_edge[DD_HCP_CPA_PYRAMIDAL_2]), DD_READS_HCP},
    {"HCP_CpA_2ndPyramidal_ScrewDrag", AT(hcp_screw[DD_HCP_CPA_PYRAMIDAL_2]), DD_READS_HCP},
    {"HCP_Sessile_ScrewDrag", AT(hcp_climb), DD_READS_HCP},
    {"HCP_LineDrag", AT(hcp_line), DD_READS_HCP},
};

bool dd_mobility_glides(dd_mobility_law law)
{
    return laws[law].in_planes;
}

int dd_mobility_find(const char *name, dd_mobility_law *law)
{
    for (int i = 0; i < DD_MOBILITY_NLAWS; i++) {
        if (strcasecmp(laws[i].name, name) == 0) {
            *law = (dd_mobility_law)i;
            return EQP_OK;
        }
    }
    return EQP_ERR_UNKNOWN;
}

unsigned dd_mobility_reads(dd_mobility_law law)
{
    return laws[law].reads;
}

const char *dd_mobility_lacks(const dd_mobility *mobility)
{
    const unsigned reads = laws[mobility->law].reads;

    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        const double value = *(const double *)((const char *)mobility + parameters[i].at);
        if ((reads & parameters[i].reader) != 0 && !(value > 0 && isfinite(value))) {
            return parameters[i].key;
        }
    }
    /* Beyond, other planes slip. */
    return reads == DD_READS_HCP && !(mobility->c_over_a > 1.05 && mobility->c_over_a < 1.95) ? "cOVERa" : NULL;
}

static bool is_pinned(const dd_node *node, int axis)
{
    return (node->constraint & (DD_PINNED_X << axis)) != 0;
}

static void forbid_axis(dd_forbidden *never, int i)
{
    const double axis[3] = {i == 0, i == 1, i == 2};

    dd__forbid(never, axis);
}

static void relax(dd_drag_sum *sum, double length)
{
    const dd_mobility *m = sum->mobility;

    for (int i = 0; i < 3; i++) {
        if (m->relax[i] > 0) {
            sum->drag.tensor[i][i] = (length > 0 && m->relax_total ? 1 : length) / m->relax[i];
        } else {
            forbid_axis(&sum->drag.never, i);
        }
    }
}

static dd_half half_of(const dd_arm *arm, const double to_neighbour[3])
{
    dd_half half = {.arm = arm};
    double across[3];

    half.length = 0.5 * dd__unit(to_neighbour, half.t);
    dd__unit(arm->burgers, half.b);
    half.along = dd_v3_dot(half.b, half.t);
    dd_v3_cross(half.b, half.t, across);
    half.across = dd_v3_length(across);
    if (!(dd__unit(arm->normal, half.n) > 0) && half.across >= DD_IS_SCREW) {
        dd__unit(across, half.n);
    }
    return half;
}

static void add_halves(dd_drag_sum *sum, const mobility_row *law, const double (*to_neighbour)[3])
{
    const dd_mobility *m = sum->mobility;
    double length = 0;

    if (law->line > 0) {
        const bool own = law->junctions && sum->node->narms > 2 && m->climb_junction > 0;
        sum->edge_drag = 1 / m->edge;
        sum->screw_drag = 1 / m->screw;
        sum->climb = 1 / (own ? m->climb_junction : m->climb);
        sum->line = law->line * fmin(sum->edge_drag, sum->screw_drag);
    }
    for (int j = 0; j < sum->node->narms && j < DD_MOST_ARMS; j++) {
        const dd_half half = half_of(&sum->node->arm[j], to_neighbour[j]);
        length += half.length;
        if (half.length > 0 && law->add != NULL) {
            law->add(sum, &half);
        }
    }
    if (law->add == NULL) {
        relax(sum, length);
    }
}

static void add_curves(dd_drag_sum *sum, const mobility_row *law, const double (*to_neighbour)[3])
{
    dd_glides glides = {.n = 0};

    sum->glides = &glides;
    law->begin(sum);
    add_halves(sum, law, to_neighbour);
    dd__glides_balance(&glides, &sum->drag);
}

void dd_mobility_velocity(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                          const double force[3], double velocity[3])
{
    const bool pencil_node = mobility->law == DD_BCC_TA_PENCIL && node->narms > 2 && mobility->climb_junction > 0;
    const mobility_row *law = &laws[pencil_node ? DD_BCC_0B : mobility->law];
    dd_drag_sum sum = {.mobility = mobility, .node = node, .junctions = law->junctions};
    dd_forbidden *never = &sum.drag.never;

    velocity[0] = velocity[1] = velocity[2] = 0.0;
    if ((node->constraint & DD_SURFACE) != 0 || (node->constraint & DD_PINNED) == DD_PINNED) {
        return;
    }
    dd_v3_copy(sum.drag.force, force);
    for (int i = 0; i < 3; i++) {
        if (is_pinned(node, i)) {
            forbid_axis(never, i);
        }
    }
    (law->begin != NULL ? add_curves : add_halves)(&sum, law, to_neighbour);
    dd__drag_solve(&sum.drag, velocity);
    if (law->in_planes) {
        for (int j = 0; j < node->narms; j++) {
            if (dd_v3_length(to_neighbour[j]) > 0) {
                dd__forbid(never, node->arm[j].normal);
            }
        }
        dd__forbidden_take(never, velocity);
    }
    const double speed = dd_v3_length(velocity);
    if (mobility->top_speed > 0 && speed > 0) {
        dd_v3_scale(1 / pow(1 + pow(speed / mobility->top_speed, 10), 0.1), velocity);
    }
    for (int i = 0; i < 3; i++) {
        if (is_pinned(node, i) || never->n == 3) {
            velocity[i] = 0.0; /* to the last bit */
        }
    }
}
