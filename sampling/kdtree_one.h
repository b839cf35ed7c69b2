/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number: kdtree.c includes this file once for each, so there is no include guard. */

typedef struct KD_SEARCH KD_SEARCH;

#include "kdtree_build.h"
#include "kdtree_search.h"

#define KD_ISA KD_ISA_PLAIN
#define KD_TARGET
#include "kdtree_plain.h"
#include "kdtree_walk.h"
#undef KD_ISA
#undef KD_TARGET

#if defined(KD_HAVE_AVX2)
#define KD_ISA KD_ISA_AVX2
#define KD_TARGET KD_TARGET_AVX2
#include "kdtree_avx2.h"
#include "kdtree_walk.h"
#undef KD_ISA
#undef KD_TARGET
#endif

static KD_WALKS KD_STATIC(choose_walks)(int vectors)
{
#if defined(KD_HAVE_AVX2)
    if (vectors != EQP__KDTREE_PLAIN && __builtin_cpu_supports("avx2")) {
        return KD_ISA_AVX2(walks);
    }
#endif
    (void)vectors;
    return KD_ISA_PLAIN(walks);
}

#include "kdtree_query.h"
#include "kdtree_verify.h"
