/* SPDX-License-Identifier: BSD-3-Clause */
#include "mobility.h"

#include "mobility_drag.h"

#include <equipoise/error.h>

#include <stddef.h>
#include <strings.h>

#define DD_MOBILITY_ROW(id, name, drag, in_planes, reads) {name, drag, in_planes, reads},

static const struct {
    const char *name;
    dd_drag_law *drag;
    bool in_planes;
    unsigned reads;
} laws[] = {DD_MOBILITY_LAWS(DD_MOBILITY_ROW)};

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

void dd__drag_relax(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3], dd_drag *drag)
{
    double length = 0;

    for (int j = 0; j < node->narms; j++) {
        length += 0.5 * dd_v3_length(to_neighbour[j]);
    }
    for (int i = 0; i < 3; i++) {
        const double axis[3] = {i == 0, i == 1, i == 2};
        if (mobility->relax[i] > 0) {
            drag->tensor[i][i] = (length > 0 && mobility->relax_total ? 1 : length) / mobility->relax[i];
        } else {
            dd__forbid(&drag->never, axis);
        }
    }
}

static bool is_pinned(const dd_node *node, int axis)
{
    return (node->constraint & (DD_PINNED_X << axis)) != 0;
}

void dd_mobility_velocity(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                          const double force[3], double velocity[3])
{
    dd_drag drag = {.force = {force[0], force[1], force[2]}, .never.n = 0};

    velocity[0] = velocity[1] = velocity[2] = 0.0;
    if ((node->constraint & DD_SURFACE) != 0 || (node->constraint & DD_PINNED) == DD_PINNED) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        const double axis[3] = {i == 0, i == 1, i == 2};
        if (is_pinned(node, i)) {
            dd__forbid(&drag.never, axis);
        }
    }
    laws[mobility->law].drag(mobility, node, to_neighbour, &drag);
    dd__drag_solve(&drag, velocity);
    if (dd_mobility_glides(mobility->law)) {
        for (int j = 0; j < node->narms; j++) {
            if (dd_v3_length(to_neighbour[j]) > 0) {
                dd__forbid(&drag.never, node->arm[j].normal);
            }
        }
        dd__forbidden_take(&drag.never, velocity);
    }
    const double speed = dd_v3_length(velocity);
    if (mobility->top_speed > 0 && speed > 0) {
        dd_v3_scale(1 / pow(1 + pow(speed / mobility->top_speed, 10), 0.1), velocity);
    }
    for (int i = 0; i < 3; i++) {
        if (is_pinned(node, i) || drag.never.n == 3) {
            velocity[i] = 0.0; /* to the last bit */
        }
    }
}
