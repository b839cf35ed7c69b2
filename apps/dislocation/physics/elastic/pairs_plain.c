/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"
#include "pairs_near.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define REAL double
#define MASK bool
#define LANES 1
#define LESS(a, b) ((a) < (b))
#define SELECT(mask, yes, no) ((mask) ? (yes) : (no))
#define ONLY(bits, x) ((bits) ? (x) : 0)
#define BITS(mask) ((unsigned)(mask))
#define WIDE(x) (x)
#define LOAD(p) (*(p))
#define GATHER(p, index) ((p)[(index)[0]])
#define STORE(p, x) (*(p) = (x))
#define FIRST(x) (x)
#define SUM(x) (x)
#define ROOT(x) sqrt(x)
#define INVERSE(x) (1 / (x))
#define INVERSE_ROOT(x) (1 / ROOT(x))
#define LOG(x) log(x)
#define EXP(x) exp(x)
#define ATAN2(y, x) atan2(y, x)
#define ROUNDED(x) (x)

#include "pairs_formula.h"
#include "pairs_line.h"
#include "pairs_parallel.h"
#include "pairs_simd.h"

const dd_pairs_fn dd_pairs_plain = dd_pairs;

bool dd_pairs_parallel(const dd_medium *medium, const dd_segment *target, const dd_segment *source)
{
    double at[9];
    const dd_target t = dd_target_of(target);

    for (int d = 0; d < 3; d++) {
        at[d] = source->x1[d];
        at[3 + d] = source->x2[d];
        at[6 + d] = source->burgers[d];
    }
    const dd_sources one = dd_sources_at(medium, &t, at);
    return dd_parallel(medium, &t, &one);
}
