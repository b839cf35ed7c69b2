/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of work in a force evaluation, as in the report. */
#ifndef DD_WORK_H
#define DD_WORK_H

#include <stdint.h>

enum {
    DD_KIND_PAIR,     /* two segments */
    DD_KIND_PARALLEL, /* two near-parallel ones */
    DD_KIND_RUN,      /* a run of segments that a kernel is called for */
    DD_KIND_SEGMENT,  /* self force, applied and far stress on one segment */
    DD_KIND_CELL,     /* all that the far field has to do for a cell: see stage/far_parts.h */
    DD_KINDS
};
extern const char *const dd_kind_names[DD_KINDS];
extern const double dd_kind_nominal[DD_KINDS]; /* CPU seconds of one, of which only the ratios matter */

typedef struct dd_counts {
    int64_t of[DD_KINDS];
} dd_counts;

#endif
