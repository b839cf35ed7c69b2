/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"

#include <equipoise/error.h>

#include <stddef.h>
#include <string.h>

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

int dd_isa_named(const char *name, dd_isa *isa)
{
    for (int i = 0; i < DD_ISAS; i++) {
        if (strcmp(name == NULL ? "auto" : name, dd_isa_name((dd_isa)i)) == 0) {
            *isa = (dd_isa)i;
            return EQP_OK;
        }
    }
    return EQP_ERR_UNKNOWN;
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
