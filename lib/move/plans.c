/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchange plans: names, strides of their stages, and the list of plans worth trying. */
#include "traffic.h"

#include <limits.h>

static const char *const stages_name[] = {"direct", "two-stage", "log"};

enum { NSTAGES = sizeof stages_name / sizeof *stages_name };

void eqp_exchange_plan_name(const eqp_exchange_plan *plan, char name[EQP_EXCHANGE_NAME_SIZE])
{
    if (!plan || !name) {
        return;
    }
    const int known = (int)plan->stages >= 0 && (int)plan->stages < NSTAGES;
    char broadcast[24] = "", node[20] = "";

    if (plan->broadcast > 0) {
        snprintf(broadcast, sizeof broadcast, "+broadcast/%d", plan->broadcast);
    }
    if (plan->node > 1) {
        snprintf(node, sizeof node, "+node/%d", plan->node);
    }
    snprintf(name, EQP_EXCHANGE_NAME_SIZE, "%.9s%.21s%.16s", known ? stages_name[plan->stages] : "?", broadcast, node);
}

/* Skips `word` if the text starts with it. */
static int skip_word(const char **text, const char *word)
{
    const size_t length = strlen(word);

    if (strncmp(*text, word, length) != 0) {
        return 0;
    }
    *text += length;
    return 1;
}

/* Reads an integer >= 1; 0 on failure. */
static int skip_number(const char **text)
{
    int number = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++) {
        const int digit = **text - '0';
        if (number > (INT_MAX - digit) / 10) {
            return 0;
        }
        number = number * 10 + digit;
    }
    return number;
}

int eqp_exchange_plan_parse(const char *name, eqp_exchange_plan *plan)
{
    eqp_exchange_plan read = EQP_EXCHANGE_PLAN_DEFAULTS;
    int found = 0;

    EQP__FAIL_IF(!name || !plan, EQP_ERR_ARGUMENT);
    for (int s = 0; s < NSTAGES && !found; s++) {
        found = skip_word(&name, stages_name[s]);
        read.stages = (eqp_stages)s;
    }
    if (found && skip_word(&name, "+broadcast/")) {
        found = (read.broadcast = skip_number(&name)) > 0;
    }
    if (found && skip_word(&name, "+node/")) {
        found = (read.node = skip_number(&name)) > 0;
    }
    EQP__FAIL_IF(!found || *name, EQP_ERR_UNKNOWN);
    *plan = read;
    return EQP_OK;
}

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

    EQP__FAIL_IF(!plan || !stages || nparts < 1 || nparts > EQP__PARTS_MAX || plan->node < 1 || plan->broadcast < 0 ||
                     nparts % plan->node != 0 || plan->stages < EQP_STAGES_DIRECT || plan->stages > EQP_STAGES_LOG,
                 EQP_ERR_ARGUMENT);
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

/* True if no earlier kind has the same stages, which happens with few nodes. */
static int stages_are_new(const eqp_exchange_plan *plan, int nparts)
{
    eqp_exchange_plan earlier = *plan;
    eqp__stages mine, other;

    if (eqp__stages_make(plan, nparts, &mine)) {
        return 0;
    }
    for (int s = 0; s < (int)plan->stages; s++) {
        earlier.stages = (eqp_stages)s;
        if (!eqp__stages_make(&earlier, nparts, &other) && mine.n == other.n &&
            memcmp(mine.stride, other.stride, (size_t)mine.n * sizeof *mine.stride) == 0) {
            return 0;
        }
    }
    /* with a single node nothing is left to broadcast */
    return mine.n > 0 || plan->broadcast == 0;
}

int eqp__exchange_plans(int nparts, const eqp_network *network, eqp_exchange_plan *plan)
{
    EQP_REQUIRE(nparts >= 1 && nparts <= EQP__PARTS_MAX && network && plan);
    static const int broadcast[] = {0, 4, 16};
    const int shared = network->node > 1 && nparts % network->node == 0;
    int n = 0;

    for (int node = 0; node <= shared; node++) {
        for (int b = 0; b < 3; b++) {
            for (int s = 0; s < NSTAGES; s++) {
                const eqp_exchange_plan p = {(eqp_stages)s, broadcast[b], node ? network->node : 1};
                if (stages_are_new(&p, nparts)) {
                    plan[n++] = p;
                }
            }
        }
    }
    return n;
}

eqp__plan_family eqp__plan_family_of(int nplans, const eqp_exchange_plan *plan, int first, int *index)
{
    eqp__plan_family family = {plan[first].stages, plan[first].node, 0, {0}};

    for (int i = nplans - 1; i > first; i--) {
        if (plan[i].stages == family.stages && plan[i].node == family.node) {
            index[family.nlevels] = i;
            family.broadcast[family.nlevels++] = plan[i].broadcast;
        }
    }
    index[family.nlevels] = first;
    family.broadcast[family.nlevels++] = plan[first].broadcast;
    return family;
}
