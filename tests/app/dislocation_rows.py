#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reference forces for the test of `dislocation --check-forces`: "dislocation_rows.py pairs" and "... selves" print what
is in dislocation_pairs.tsv and dislocation_selves.tsv.

The force on a segment is the integral of (stress . b) x t, weighted linearly towards each end; the stress of a line with
non-singular core is its integral in Cai et al., JMPS 54 (2006) 561. Both integrals are sums of Gauss points, in panels
that grow with the distance from the steep part of the integrand. No closed form is used, so the code shares nothing
with the kernels. Every row is computed twice, the second time with panels of half the size; they must agree to
TOLERANCE."""
import math
import sys

TOLERANCE = 1e-11
POINTS = 20


def gauss(n):
    """Points and weights on [-1, 1]."""
    rule = []
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(50):
            p0, p1 = 1.0, x
            for k in range(2, n + 1):
                p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
            slope = n * (x * p1 - p0) / (x * x - 1)
            x -= p1 / slope
        rule.append((x, 2 / ((1 - x * x) * slope * slope)))
    return rule


RULE = gauss(POINTS)


def dot(u, v):
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def cross(u, v):
    return (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])


def minus(u, v):
    return (u[0] - v[0], u[1] - v[1], u[2] - v[2])


def along(p, s, t):
    return (p[0] + s * t[0], p[1] + s * t[1], p[2] + s * t[2])


def line(p, q):
    d = minus(q, p)
    length = math.sqrt(dot(d, d))
    return length, (d[0] / length, d[1] / length, d[2] / length)


def panels(length, centres, a, refine):
    """Ends of panels of [0, length]: near a centre (place, distance) a panel is as small as the distance including the
    core, and each panel farther away is twice as large. Several centres give the union of their ends."""
    ends = {0.0, length}
    for place, distance in centres:
        reach = math.sqrt(distance * distance + a * a) / refine
        grown = 0.0
        while grown <= 2 * length + abs(place):
            for s in (place - grown, place + grown):
                if 0 < s < length:
                    ends.add(s)
            for part in range(1, refine):
                for s in (place - grown - part * reach, place + grown + part * reach):
                    if 0 < s < length:
                        ends.add(s)
            grown += refine * reach
            reach *= 2
    return sorted(ends)


def points(length, centres, a, refine):
    ends = panels(length, centres, a, refine)
    for low, high in zip(ends, ends[1:]):
        half = (high - low) / 2
        for x, w in RULE:
            yield low + half * (1 + x), half * w


def stress(x, p, q, b, a, mu, nu, refine):
    """Stress at x of the line p -> q: xx yy zz yz zx xy."""
    length, t = line(p, q)
    from_p = minus(x, p)
    foot = dot(from_p, t)
    off = minus(from_p, (foot * t[0], foot * t[1], foot * t[2]))
    distance = math.sqrt(dot(off, off))
    c = cross(b, t)
    sums = [[] for _ in range(6)]
    for s, w in points(length, [(foot, distance)], a, refine):
        r = minus(from_p, (s * t[0], s * t[1], s * t[2]))
        ra2 = dot(r, r) + a * a
        i3 = 1 / (ra2 * math.sqrt(ra2))
        i5 = i3 / ra2
        lap = 2 * i3 + 3 * a * a * i5  # the gradient of the Laplacian of Ra is -lap r
        g = cross((-lap * r[0], -lap * r[1], -lap * r[2]), b)
        cr = dot(c, r)
        trace = lap * cr
        first, second = w * mu / (8 * math.pi), w * mu / (4 * math.pi * (1 - nu))
        for k, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))):
            third = -(c[i] * r[j] + c[j] * r[i]) * i3 + 3 * cr * r[i] * r[j] * i5
            if i == j:
                third += -cr * i3 + trace
            sums[k].append(first * (g[i] * t[j] + g[j] * t[i]) + second * third)
    return [math.fsum(part) for part in sums]


def closest(p, t, q, u):
    """Position along p + s t and distance of the nearest point of the other line; None if the lines are parallel."""
    w = minus(q, p)
    c = dot(t, u)
    det = 1 - c * c
    if det < 1e-14:
        return None
    s = (dot(w, t) - c * dot(w, u)) / det
    far = cross(t, u)
    return s, abs(dot(w, far)) / math.sqrt(dot(far, far))


def force_on(p, q, bp, r, s, br, a, mu, nu, refine):
    """Forces on p and q due to the line r -> s."""
    length, t = line(p, q)
    _, u = line(r, s)
    centres = []
    for end in (r, s):
        d = minus(end, p)
        foot = dot(d, t)
        off = along(d, -foot, t)
        centres.append((foot, math.sqrt(dot(off, off))))
    near = closest(p, t, r, u)
    if near is not None:
        centres.append(near)
    sums = [[] for _ in range(6)]
    for l, w in points(length, centres, a, refine):
        xx, yy, zz, yz, zx, xy = stress(along(p, l, t), r, s, br, a, mu, nu, refine)
        pull = cross((xx * bp[0] + xy * bp[1] + zx * bp[2], xy * bp[0] + yy * bp[1] + yz * bp[2],
                      zx * bp[0] + yz * bp[1] + zz * bp[2]), t)
        for k in range(3):
            sums[k].append(w * (1 - l / length) * pull[k])
            sums[k + 3].append(w * l / length * pull[k])
    return [math.fsum(part) for part in sums]


def both(make):
    rough, fine = make(1), make(2)
    off = max(abs(x - y) for x, y in zip(rough, fine)) / max(abs(y) for y in fine)
    if off > TOLERANCE:
        sys.exit(f"two resolutions differ by {off}")
    return fine


def write(fields):
    print("\t".join(f if isinstance(f, str) else repr(float(f)) for f in fields))


def xyz(*names):
    return [name + axis for name in names for axis in "xyz"]


B1, B2, B3 = (0.8, -0.36, 0.48), (0.36, 0.48, -0.8), (0.6, 0.64, -0.48)
PAIRS = [
    # category, p1, p2, p3, p4, b12, b34, a, mu, nu
    ("generic", (0, 0, 0), (31, 17, -8), (12, 40, 22), (-9, 51, 60), B1, B2, 1, 1, 0.31),
    ("generic", (-3, 5, 70), (44, -11, 62), (10, 25, 81), (57, 49, 40), B2, B3, 5, 1, 0.324),
    ("generic", (1, 2, 3), (2, -1, 4), (3, 3, 1), (5, 4, 3), B3, B1, 0.5, 54.6e9, 0.25),
    ("shared_node", (0, 0, 0), (40, 9, 3), (40, 9, 3), (51, 33, -20), B1, B2, 2, 1, 0.3),
    ("shared_node", (7, -8, 9), (-13, 2, 5), (20, 14, -30), (-13, 2, 5), B2, B2, 1, 1, 0.2),
    ("hinge", (0, 0, 0), (40, 0, 0), (0, 0, 0), (39, 4, 1), B3, B1, 3, 1, 0.324),
    ("crossing", (-20, 0, 0), (25, 0, 0), (3, -18, 0), (4, 30, 0), B1, B3, 2, 1, 0.31),
    ("crossing", (-20, 1, 2), (25, 3, -4), (0, -18, 1), (6, 30, -0.5), B2, B1, 1, 3, 0.36),
    ("parallel", (0, 0, 0), (30, 20, 10), (5, -9, 3), (47, 19, 17), B1, B2, 1, 1, 0.31),
    ("antiparallel", (0, 0, 0), (30, 20, 10), (47, 19, 17), (5, -9, 3), B3, B2, 4, 1, 0.28),
    ("collinear", (0, 0, 0), (30, 20, 10), (36, 24, 12), (54, 36, 18), B1, B2, 1, 1, 0.324),
    ("near_parallel", (0, 0, 0), (50, 0, 0), (4, 10, 0), (54, 10.2, 0.1), B1, B2, 1, 1, 0.31),
    ("near_parallel", (0, 0, 0), (50, 0, 0), (54, 7, 3.0001), (4, 7.0005, 3), B3, B1, 5, 1, 0.3),
    ("far", (0, 0, 0), (12, 5, -3), (4000, 2500, -900), (4007, 2509, -893), B1, B3, 1, 1, 0.31),
    ("far", (0, 0, 0), (9, 9, 2), (-300, 7000, 5000), (-311, 7004, 5007), B2, B3, 5, 54.6e9, 0.324),
    ("infinite_line", (-2e5, 0, 0), (2e5, 0, 0), (3, 5, 1), (10, 8, 6), B1, B2, 1, 1, 0.31),
]
SELVES = [
    # p1, p2, b, a, mu, nu
    ((0, 0, 0), (31, 17, -8), B1, 1, 1, 0.31),
    ((5, -4, 3), (5.5, -4.25, 3.125), B2, 2, 1, 0.324),
    ((0, 0, 0), (700, 100, -50), B3, 5, 54.6e9, 0.25),
    ((0, 0, 0), (64, -28.8, 38.4), B2, 1, 2, 0.4),
]

if sys.argv[1] == "pairs":
    print("# Forces of pairs of segments, by dislocation_rows.py: lengths in b, forces in mu b^2 with mu as given.")
    print("\t".join(["category"] + xyz("p1", "p2", "p3", "p4", "b12", "b34") + ["a", "mu", "nu"] +
                    xyz("fq1", "fq2", "fq3", "fq4")))
    for name, p1, p2, p3, p4, b12, b34, a, mu, nu in PAIRS:
        forces = both(lambda fine: force_on(p1, p2, b12, p3, p4, b34, a, mu, nu, fine) +
                      force_on(p3, p4, b34, p1, p2, b12, a, mu, nu, fine))
        write([name, *p1, *p2, *p3, *p4, *b12, *b34, a, mu, nu, *forces])
else:
    print("# Elastic forces of single segments on themselves, by dislocation_rows.py: as there.")
    print("\t".join(xyz("p1", "p2", "b") + ["a", "mu", "nu"] + xyz("fq1", "fq2")))
    for p1, p2, b, a, mu, nu in SELVES:
        forces = both(lambda fine: force_on(p1, p2, b, p1, p2, b, a, mu, nu, fine))
        write([*p1, *p2, *b, a, mu, nu, *forces])
