/* SPDX-License-Identifier: BSD-3-Clause */
/* The strides of a plan's stages. */
#include "stages.h"
#include "needs.h"

/* Smallest s with s * s >= n: ceil(n / s) - 1 + s - 1 is then as small as it gets. */
static int root_above(int n)
{
    int s = 1;

    while ((int64_t)s * s < n) {
        s++;
    }
    return s;
}

int eqp__stages_make(const eqp_exchange_plan *plan, int nparts, eqp__stages *stages)
{
    eqp__stages s = {0};

    if (!plan || !stages || nparts < 1 || nparts > EQP__PARTS_MAX || plan->node < 1 || plan->broadcast < 0 ||
        nparts % plan->node != 0 || plan->stages < EQP_STAGES_DIRECT || plan->stages > EQP_STAGES_LOG) {
        return EQP_ERR_ARGUMENT;
    }
    s.node = plan->node;
    s.nnodes = nparts / plan->node;
    if (plan->stages == EQP_STAGES_LOG) {
        int stride = 1;
        while (stride < (s.nnodes + 1) / 2) {
            stride *= 2;
        }
        for (; stride > 1; stride /= 2) {
            s.stride[s.n++] = stride;
        }
    } else if (plan->stages == EQP_STAGES_TWO && root_above(s.nnodes) > 1 && root_above(s.nnodes) < s.nnodes) {
        s.stride[s.n++] = root_above(s.nnodes);
    }
    if (s.nnodes > 1) {
        s.stride[s.n++] = 1;
    }
    *stages = s;
    return EQP_OK;
}
