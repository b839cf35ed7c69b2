/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the far field. Lengths are in units of dd_far.unit.
 *
 * Derivatives are numbered by how often they are taken along x, y, z. A full list has all up to an order; a slim one
 * those that are independent where a function is harmonic: at most once along z. */
#ifndef DD_FAR_INNER_H
#define DD_FAR_INNER_H

#include "far.h"

enum {
    POTENTIALS = 10, /* phi_mk at 3 m + k, then J */
    J = 9,
    KERNELS = 4,  /* of 1/R, and of 1/R times x, y, z, through which G acts on J */
    PACK = 8,     /* numbers processed at a time */
    STRESSES = 8, /* 6 components, filled up to a pack */
    MOST_POINTS = (DD_FAR_MOST_ORDER + 3) / 2,
    MOST_FULL = (DD_FAR_MOST_ORDER + 2) * (DD_FAR_MOST_ORDER + 3) * (DD_FAR_MOST_ORDER + 4) / 6
};

typedef double pack __attribute__((__vector_size__(PACK * sizeof(double)), __aligned__(8)));

#define INLINE __attribute__((__always_inline__)) static inline

/* BEST(HEAD, NAME, PARAMETERS, ARGUMENTS) defines the function HEAD PARAMETERS as NAME ARGUMENTS, compiled once for
 * each instruction set. Operations are not fused, so that all sets give the same bits. */
#ifdef __x86_64__
#define FOR_ISA(ISA, NAME, PARAMETERS, ARGUMENTS)                                                                      \
    __attribute__((__target__(#ISA))) static void NAME##_##ISA PARAMETERS                                              \
    {                                                                                                                  \
        NAME ARGUMENTS;                                                                                                \
    }
#define BEST(HEAD, NAME, PARAMETERS, ARGUMENTS)                                                                        \
    FOR_ISA(avx512f, NAME, PARAMETERS, ARGUMENTS)                                                                      \
    FOR_ISA(avx2, NAME, PARAMETERS, ARGUMENTS)                                                                         \
    HEAD PARAMETERS                                                                                                    \
    {                                                                                                                  \
        if (__builtin_cpu_supports("avx512f")) {                                                                       \
            NAME##_avx512f ARGUMENTS;                                                                                  \
        } else if (__builtin_cpu_supports("avx2")) {                                                                   \
            NAME##_avx2 ARGUMENTS;                                                                                     \
        } else {                                                                                                       \
            NAME ARGUMENTS;                                                                                            \
        }                                                                                                              \
    }
#else
#define BEST(HEAD, NAME, PARAMETERS, ARGUMENTS)                                                                        \
    HEAD PARAMETERS                                                                                                    \
    {                                                                                                                  \
        NAME ARGUMENTS;                                                                                                \
    }
#endif

/* A Fourier transform along one direction. */
typedef struct dd_dft {
    int64_t n;
    int nfactors, factor[64];
    double (*root)[2]; /* [n] cos and -sin of 2 pi i / n; owned */
} dd_dft;

struct dd_far {
    dd_medium medium;
    double low[3], width[3], unit, core; /* width and core in units of it, low not */
    int64_t n[3];
    bool periodic[3], whole; /* whole: all directions are periodic */
    int order;
    int nslim, kernel_order, kernel_slim, kernel_all; /* kernel_all: slim ones, then twice along z */
    dd_far_sizes sizes;
    int64_t m[3], half; /* lengths of the transforms; independent wave numbers along z */
    int64_t packs;      /* of PACK wave numbers along x */
    dd_dft dft[3];
    double trace;    /* neutral background's part of second derivatives: 4 pi over the volume, or 0 */
    short *pair;     /* [(order + 2)^2][nslim] place in kernel_all of the sum of two slim derivatives; owned */
    int (*power)[3]; /* [full list of order + 1]; owned */
    int (*up)[2];    /* [full list of order + 1] one derivative less, and along what; owned */
    double *inverse; /* [full list of order + 1] of the product of their factorials; owned */
    int npoints;
    double point[MOST_POINTS], weight[MOST_POINTS]; /* Gauss-Legendre on (-1/2, 1/2) */
    /* for kernels */
    double beta;      /* Ewald's; 0: none */
    int64_t reach[3]; /* offsets in the table: 0 to reach */
    double *table;    /* [offsets][KERNELS][kernel_slim]; owned */
};

static inline int full_size(int order)
{
    return (order + 1) * (order + 2) * (order + 3) / 6;
}

static inline int full_at(int x, int y, int z)
{
    return full_size(x + y + z - 1) + (y + z) * (y + z + 1) / 2 + z;
}

static inline int slim_at(int x, int y, int z)
{
    const int order = x + y + z;

    return order * order + (z == 0 ? y : order + 1 + y);
}

/* Index among the derivatives twice along z. */
static inline int third_at(int x, int y)
{
    return (x + y) * (x + y + 1) / 2 + y;
}

/* Fills the table of a far field. EQP_OK or EQP_ERR_MEMORY. */
int dd_far_fill(dd_far *far);

#endif
