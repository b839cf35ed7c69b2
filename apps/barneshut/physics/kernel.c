/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

const bh_kernel_row *const bh_kernel_table[] = {
    &bh_kernel_plain[BH_DOUBLE],  &bh_kernel_plain[BH_MIXED],
#ifdef BH_KERNEL_AVX2
    &bh_kernel_avx2[BH_DOUBLE],   &bh_kernel_avx2[BH_MIXED],
#endif
#ifdef BH_KERNEL_AVX512
    &bh_kernel_avx512[BH_DOUBLE], &bh_kernel_avx512[BH_MIXED],
#endif
};

const int bh_kernel_table_size = (int)(sizeof bh_kernel_table / sizeof bh_kernel_table[0]);
