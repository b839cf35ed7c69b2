/* SPDX-License-Identifier: BSD-3-Clause */
/* The linear laws: a line taken for a screw and two edges, each with the drags of its slip plane. */
#include "mobility_drag.h"

#define MOST_PLANES 6 /* slip planes of a Burgers vector */
/* Largest sine between a plane and a Burgers vector in it; other planes of the families have at least 0.2. */
#define IN_PLANE 0.1

/* The slip planes of a Burgers vector. */
typedef struct slip {
    int n, own; /* own: the nearest to the arm's */
    double plane[MOST_PLANES][3], edge_drag[MOST_PLANES];
    dd_hcp_system system[MOST_PLANES]; /* of HCP */
    double screw_drag, climb, line;
} slip;

/* Adds a plane if b lies in it. */
static void slip_add(slip *s, const double plane[3], const double b[3], double edge_drag)
{
    if (fabs(dd_v3_dot(plane, b)) < IN_PLANE && s->n < MOST_PLANES) {
        dd_v3_copy(s->plane[s->n], plane);
        s->edge_drag[s->n++] = edge_drag;
    }
}

/* Returns how near the nearest is: a cosine. */
static double slip_choose(slip *s, const double normal[3])
{
    double most = -1;

    for (int i = 0; i < s->n; i++) {
        if (fabs(dd_v3_dot(s->plane[i], normal)) > most) {
            most = fabs(dd_v3_dot(s->plane[i], normal));
            s->own = i;
        }
    }
    return most;
}

/* The part across b becomes edges of two planes, which need not be at right angles. */
static void split(const slip *s, const dd_half *half, dd_split *parts)
{
    double edge[MOST_PLANES][3], across[3] = {0, 0, 0}, longest = -1;

    parts->plane[0] = parts->plane[1] = s->own;
    dd__add(across, half->length, half->t);
    dd__add(across, -half->length * half->along, half->b);
    for (int i = 0; i < s->n; i++) {
        dd_v3_cross(s->plane[i], half->b, edge[i]);
        dd__unit(edge[i], edge[i]);
        if (i != s->own && fabs(dd_v3_dot(edge[i], across)) > longest) {
            longest = fabs(dd_v3_dot(edge[i], across));
            parts->plane[1] = i;
        }
    }
    for (int k = 0; k < 2; k++) {
        dd_v3_copy(parts->direction[k], edge[parts->plane[k]]);
    }
    const double angle = dd_v3_dot(parts->direction[0], parts->direction[1]), rest = 1 - angle * angle;
    const double p = dd_v3_dot(across, parts->direction[0]), q = dd_v3_dot(across, parts->direction[1]);
    parts->edge[0] = fabs((p - q * angle) / rest);
    parts->edge[1] = fabs((q - p * angle) / rest);
    if (!(hypot(parts->edge[0], parts->edge[1]) > DD_SHORT * half->length)) {
        parts->edge[0] = parts->edge[1] = 0;
    }
    parts->screw = half->length * fabs(half->along);
    if (!(parts->screw > DD_SHORT * half->length)) {
        parts->screw = 0;
    }
}

static void add_screw(dd_drag *drag, const slip *s, const dd_half *half, double length)
{
    double glide[3];

    if (dd__drag_screw(drag, half, length * s->climb, length * s->line, glide)) {
        dd__drag_along(drag, length * s->screw_drag, glide);
    } else {
        dd__drag_line(drag, length * s->screw_drag, 0, half->b);
    }
}

/* slips: else the half is of a junction. */
static void add(dd_drag_sum *sum, const dd_half *half, const slip *s, bool slips)
{
    dd_drag *drag = &sum->drag;
    dd_split parts;

    if (!slips) {
        dd__drag_line(drag, half->length * s->climb, half->length * s->line, half->t);
        return;
    }
    split(s, half, &parts);
    add_screw(drag, s, half, parts.screw);
    for (int k = 0; k < 2; k++) {
        const double length = parts.edge[k];
        dd__drag_edge(drag, half->b, parts.direction[k], length * s->climb, length * s->line);
        dd__drag_along(drag, length * s->edge_drag[parts.plane[k]], half->b);
    }
}

static slip common_drags(const dd_drag_sum *sum)
{
    return (slip){.screw_drag = sum->screw_drag, .climb = sum->climb, .line = sum->line};
}

/* The absolute components in falling order. */
static void sorted(const double a[3], double size[3])
{
    const double x = fabs(a[0]), y = fabs(a[1]), z = fabs(a[2]);

    size[0] = fmax(x, fmax(y, z));
    size[2] = fmin(x, fmin(y, z));
    size[1] = x + y + z - size[0] - size[2];
}

/* All directions of a family that differ by more than their sign: components of base, permuted, with any signs. */
static void slip_family(slip *s, const double base[3], const double b[3], double edge_drag)
{
    static const int order[3][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
    double unit[3];

    dd__unit(base, unit);
    for (int k = 0; k < (base[0] == base[1] && base[1] == base[2] ? 1 : 3); k++) {
        for (int signs = 0; signs < 4; signs++) {
            const double a[3] = {unit[order[k][0]], unit[order[k][1]], unit[order[k][2]]};
            /* The first component that is not 0 keeps its sign; a component that is 0 has none. */
            const int first = a[0] != 0 ? 0 : 1, p = first == 0 ? 1 : 0, q = 2;
            double plane[3];
            dd_v3_copy(plane, a);
            plane[p] *= (signs & 1) != 0 ? -1 : 1;
            plane[q] *= (signs & 2) != 0 ? -1 : 1;
            if ((a[p] != 0 || (signs & 1) == 0) && (a[q] != 0 || (signs & 2) == 0)) {
                slip_add(s, plane, b, edge_drag);
            }
        }
    }
}

bool dd__is_bcc(const dd_half *half)
{
    double size[3];

    sorted(half->b, size);
    return (size[0] + size[1] + size[2]) / sqrt(3) >= fmax(size[0], (size[0] + size[1]) / sqrt(2));
}

static bool bcc_planes(const dd_half *half, double edge_drag, slip *s)
{
    static const double edges[2][3] = {{0, 1, 1}, {2, 1, 1}};

    if (!dd__is_bcc(half)) {
        return false;
    }
    slip_family(s, edges[0], half->b, edge_drag);
    slip_family(s, edges[1], half->b, edge_drag);
    return slip_choose(s, half->n) >= 0;
}

void dd__add_bcc_linear(dd_drag_sum *sum, const dd_half *half)
{
    slip s = common_drags(sum);
    const bool slips = bcc_planes(half, sum->edge_drag, &s);

    add(sum, half, &s, slips);
}

bool dd__split_bcc(const dd_half *half, dd_split *parts)
{
    slip s = {0};

    if (!bcc_planes(half, 0, &s)) {
        return false;
    }
    split(&s, half, parts);
    return true;
}

void dd__add_fcc_linear(dd_drag_sum *sum, const dd_half *half)
{
    static const double octahedron[3] = {1, 1, 1};
    double size[3];
    slip s = common_drags(sum);

    sorted(half->b, size);
    bool slips = (size[0] + size[1]) / sqrt(2) >= fmax(size[0], (2 * size[0] + size[1] + size[2]) / sqrt(6));
    if (slips) {
        int least = fabs(half->b[0]) < fabs(half->b[1]) ? 0 : 1;
        least = fabs(half->b[least]) < fabs(half->b[2]) ? least : 2;
        slip_family(&s, octahedron, half->b, sum->edge_drag);
        slips = slip_choose(&s, half->n) >= fabs(half->n[least]);
    }
    add(sum, half, &s, slips);
}

#define HCP_VECTORS 10 /* a, c + a, c - a of three directions, and c */
#define SAME_VECTOR 1e-4

/* The Burgers vectors that slip. */
static void hcp_vectors(double c, double b[HCP_VECTORS][3])
{
    const double h = sqrt(0.75), a[3][2] = {{-0.5, h}, {1, 0}, {-0.5, -h}};

    for (int k = 0; k < 9; k++) {
        b[k][0] = a[k % 3][0];
        b[k][1] = a[k % 3][1];
        b[k][2] = k < 3 ? 0 : k < 6 ? c : -c;
    }
    b[9][0] = b[9][1] = 0;
    b[9][2] = c;
}

static void hcp_add(const dd_mobility *mobility, const double plane[3], const double b[3], dd_hcp_system system,
                    slip *s)
{
    double unit[3];

    dd__unit(plane, unit);
    if (s->n < MOST_PLANES) {
        s->system[s->n] = system;
        slip_add(s, unit, b, mobility->hcp_edge[system]);
    }
}

/* The slip planes of vector k of hcp_vectors(). */
static void hcp_planes(const dd_mobility *mobility, int k, const double b[HCP_VECTORS][3], slip *s)
{
    const bool is_a = k < 3, is_c = k == HCP_VECTORS - 1;
    const double c = mobility->c_over_a, basal[3] = {0, 0, 1};
    double along[3];

    dd__unit(b[k], along);
    if (is_a) {
        hcp_add(mobility, basal, along, DD_HCP_A_BASAL, s);
    }
    for (int i = 0; i < 3; i++) {
        const double prismatic[3] = {-b[i][1], b[i][0], 0};
        hcp_add(mobility, prismatic, along,
                is_a   ? DD_HCP_A_PRISMATIC
                : is_c ? DD_HCP_C_PRISMATIC
                       : DD_HCP_CPA_PRISMATIC,
                s);
        for (int sign = -1; sign <= 1 && !is_c; sign += 2) {
            const double first[3] = {-c * b[i][1], c * b[i][0], sign * sqrt(0.75)};
            const double second[3] = {c * b[i][0], c * b[i][1], sign};
            hcp_add(mobility, first, along, is_a ? DD_HCP_A_PYRAMIDAL : DD_HCP_CPA_PYRAMIDAL, s);
            if (!is_a) {
                hcp_add(mobility, second, along, DD_HCP_CPA_PYRAMIDAL_2, s);
            }
        }
    }
}

static bool is_same(const double a[3], const double b[3], double sign, double nearness)
{
    return fabs(a[0] - sign * b[0]) < nearness && fabs(a[1] - sign * b[1]) < nearness &&
           fabs(a[2] - sign * b[2]) < nearness;
}

/* How near a plane is to one that b lies in and that two slip systems meet in whose vectors sum to b: a cosine. */
static double hcp_sessile(const dd_mobility *mobility, int k, const double b[HCP_VECTORS][3], const double normal[3])
{
    double most = -1;

    for (int pair = 0; pair < HCP_VECTORS * HCP_VECTORS; pair++) {
        const int i = pair / HCP_VECTORS, j = pair % HCP_VECTORS;
        for (int sign = -1; i < j && sign <= 1; sign += 2) {
            double sum[3];
            dd_v3_along(b[i], sign, b[j], sum);
            if (is_same(sum, b[k], 1, SAME_VECTOR) || is_same(sum, b[k], -1, SAME_VECTOR)) {
                slip one = {0}, other = {0};
                hcp_planes(mobility, i, b, &one);
                hcp_planes(mobility, j, b, &other);
                for (int planes = 0; planes < one.n * other.n; planes++) {
                    double line[3], plane[3];
                    dd_v3_cross(one.plane[planes / other.n], other.plane[planes % other.n], line);
                    dd_v3_cross(line, sum, plane);
                    if (dd__unit(plane, plane) > 1e-5) {
                        most = fmax(most, fabs(dd_v3_dot(plane, normal)));
                    }
                }
            }
        }
    }
    return most;
}

void dd__add_hcp_linear(dd_drag_sum *sum, const dd_half *half)
{
    const dd_mobility *m = sum->mobility;
    const double *burgers = half->arm->burgers;
    slip s = {.climb = m->hcp_climb, .line = m->hcp_line};
    double b[HCP_VECTORS][3];
    bool slips = false;
    int k = 0;

    hcp_vectors(m->c_over_a, b);
    while (k < HCP_VECTORS && !is_same(burgers, b[k], 1, SAME_VECTOR) && !is_same(burgers, b[k], -1, SAME_VECTOR)) {
        k++;
    }
    if (k < HCP_VECTORS) {
        hcp_planes(m, k, b, &s);
        const double nearness = slip_choose(&s, half->n);
        s.screw_drag = m->hcp_screw[s.system[s.own]];
        /* In the plane: no need to look for another. */
        slips = nearness > 1 - 1e-9 || nearness + 1e-9 >= hcp_sessile(m, k, b, half->n);
    }
    add(sum, half, &s, slips);
}
