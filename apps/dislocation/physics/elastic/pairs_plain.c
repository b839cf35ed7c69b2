/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"
#include "pairs_near.h"

#include <math.h>

#define REAL double
#define MASK bool
#define LANES 1
#define LESS(a, b) ((a) < (b))
#define SELECT(mask, yes, no) ((mask) ? (yes) : (no))
#define ONLY(bits, x) ((bits) ? (x) : 0)
#define BITS(mask) ((unsigned)(mask))
#define WIDE(x) (x)
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))
#define SUM(x) (x)
#define ROOT(x) sqrt(x)
#define LOG(x) log(x)
#define EXP(x) exp(x)
#define ATAN2(y, x) atan2(y, x)
#define ROUNDED(x) (x)

#include "pairs_formula.h"
#include "pairs_parallel.h"
#include "pairs_simd.h"

const dd_pairs_fn dd_pairs_plain = dd_pairs;

bool dd_pairs_parallel(const dd_medium *medium, const dd_segment *target, const dd_segment *source)
{
    const dd_target t = dd_target_of(target);
    const double span[3] = {source->x2[0] - source->x1[0], source->x2[1] - source->x1[1],
                            source->x2[2] - source->x1[2]};

    (void)medium;
    return dd_parallel(&t, span);
}
