/* SPDX-License-Identifier: BSD-3-Clause */
#include "cost/timings.h"

#include "base/internal.h"

#include <stdlib.h>
#include <string.h>

int eqp_timings_create(int nkinds, eqp_timings **timings)
{
    eqp_timings *made = NULL;

    EQP__FAIL_IF(nkinds < 1 || nkinds > EQP_COST_KINDS || !timings, EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_array_create(&made, 1, sizeof *made));
    made->nkinds = nkinds;
    *timings = made;
    return EQP_OK;
}

void eqp_timings_free(eqp_timings *timings)
{
    if (timings) {
        EQP__FREE(timings->timing, timings);
    }
}

int eqp_timings_add(eqp_timings *timings, const int64_t *count, double seconds)
{
    EQP__FAIL_IF(!count, EQP_ERR_ARGUMENT);
    if (!timings) {
        return EQP_OK;
    }
    EQP__CHECK(eqp_array_reserve(&timings->timing, &timings->capacity, timings->n + 1, sizeof *timings->timing));
    eqp_timing *timing = &timings->timing[timings->n++];
    *timing = (eqp_timing){.seconds = seconds};
    memcpy(timing->count, count, (size_t)timings->nkinds * sizeof *count);
    return EQP_OK;
}

void eqp_timings_clear(eqp_timings *timings)
{
    if (timings) {
        timings->n = 0;
    }
}
