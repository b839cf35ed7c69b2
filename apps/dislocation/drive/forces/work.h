/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of work in a force evaluation, as in the report. */
#ifndef DD_WORK_H
#define DD_WORK_H

#include <stdint.h>

enum {
    DD_KIND_PAIR,     /* general pair of segments */
    DD_KIND_PARALLEL, /* near-parallel pair */
    DD_KIND_RUN,      /* kernel call for a run of segments */
    DD_KIND_SEGMENT,  /* self force, applied and far stress on one segment */
    DD_KIND_CELL,     /* far field of one cell: see stage/far_parts.h */
    DD_KINDS
};
extern const char *const dd_kind_names[DD_KINDS];
extern const double dd_kind_nominal[DD_KINDS]; /* CPU seconds of one; only ratios matter */

typedef struct dd_counts {
    int64_t of[DD_KINDS];
} dd_counts;

#endif
