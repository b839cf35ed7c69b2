/* SPDX-License-Identifier: BSD-3-Clause */
/* Migration plans: items in the order of their destinations. */
#include "comm/plan.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

struct eqp_move_plan {
    int64_t n;
    int nranks;
    int64_t *order, *count, *offset;
};

int eqp_move_plan_create(int64_t n, const int *dest, int nranks, eqp_move_plan **plan)
{
    eqp_move_plan *p = NULL;
    int code;

    if (n < 0 || nranks < 1 || (n > 0 && !dest) || !plan) {
        return EQP_ERR_ARGUMENT;
    }
    if ((code = eqp_array_create(&p, 1, sizeof *p)) || (code = eqp_array_create(&p->order, n, sizeof *p->order)) ||
        (code = eqp_array_create(&p->count, nranks, sizeof *p->count)) ||
        (code = eqp_array_create(&p->offset, (int64_t)nranks + 1, sizeof *p->offset))) {
        goto done;
    }
    p->n = n;
    p->nranks = nranks;
    for (int64_t i = 0; i < n; i++) {
        if (dest[i] < 0 || dest[i] >= nranks) {
            code = EQP_ERR_ARGUMENT;
            goto done;
        }
        p->count[dest[i]]++;
    }
    for (int r = 0; r < nranks; r++) {
        p->offset[r + 1] = p->offset[r] + p->count[r];
    }
    /* The offsets serve as fill marks and are then moved back by one. */
    for (int64_t i = 0; i < n; i++) {
        p->order[p->offset[dest[i]]++] = i;
    }
    memmove(p->offset + 1, p->offset, (size_t)nranks * sizeof *p->offset);
    p->offset[0] = 0;
    *plan = p;
    p = NULL;
done:
    eqp_move_plan_free(p);
    return code;
}

eqp_move_view eqp__move_plan_arrays(const eqp_move_plan *plan)
{
    if (!plan) {
        return (eqp_move_view){0};
    }
    return (eqp_move_view){plan->n, plan->nranks, plan->order, plan->count, plan->offset};
}

void eqp_move_plan_free(eqp_move_plan *plan)
{
    if (!plan) {
        return;
    }
    free(plan->order);
    free(plan->count);
    free(plan->offset);
    free(plan);
}

void eqp__move_pack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out)
{
    if (!plan || !in || !out) {
        return;
    }
    const char *from = in;
    char *to = out;

    for (int64_t i = 0; i < plan->n; i++) {
        memcpy(to + (size_t)i * element_size, from + (size_t)plan->order[i] * element_size, element_size);
    }
}

void eqp__move_unpack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out)
{
    if (!plan || !in || !out) {
        return;
    }
    const char *from = in;
    char *to = out;

    for (int64_t i = 0; i < plan->n; i++) {
        memcpy(to + (size_t)plan->order[i] * element_size, from + (size_t)i * element_size, element_size);
    }
}
