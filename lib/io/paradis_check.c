/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of one node without the rest of the network. */
#include "base/internal.h"
#include "io/paradis_text.h"
#include <equipoise/more/io.h>

#include <math.h>

/* Files have Burgers vectors with five digits or more; what is smaller than this is what rounding left of zero. */
static const double sum_tolerance = 1e-3, zero_burgers = 1e-6;

static double largest(const double v[3])
{
    return fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2])));
}

static int refuse(const eqp_paradis_node *node, const char *what, const eqp_paradis_arm *arm, eqp_message *message)
{
    if (arm) {
        eqp_message_set(message, "node %u,%u: %s %u,%u", EQP_PARADIS_DOMAIN(node->tag), EQP_PARADIS_INDEX(node->tag),
                        what, EQP_PARADIS_DOMAIN(arm->tag), EQP_PARADIS_INDEX(arm->tag));
    } else {
        eqp_message_set(message, "node %u,%u: %s", EQP_PARADIS_DOMAIN(node->tag), EQP_PARADIS_INDEX(node->tag), what);
    }
    return EQP_ERR_FORMAT;
}

static int check_arms(const eqp_paradis_node *node, const eqp_paradis_arm *arm, eqp_message *message)
{
    for (int i = 0; i < node->narms; i++) {
        EQP__FAIL_IF(arm[i].tag == node->tag, refuse(node, "is its own neighbour", NULL, message));
        EQP__FAIL_IF(!(largest(arm[i].burgers) > zero_burgers),
                     refuse(node, "the Burgers vector is 0 towards", &arm[i], message));
        for (int j = 0; j < i; j++) {
            EQP__FAIL_IF(arm[j].tag == arm[i].tag, refuse(node, "has two arms towards", &arm[i], message));
        }
    }
    return EQP_OK;
}

int eqp__paradis_check_node(const eqp_paradis_node *node, const eqp_paradis_arm *arm, eqp_message *message)
{
    EQP_REQUIRE(node && (arm || node->narms == 0));
    double sum[3] = {0}, scale = 0;

    EQP__CHECK(check_arms(node, arm, message));
    EQP__FAIL_IF(node->narms == 1 && (node->constraint & EQP_PARADIS_PINNED) != EQP_PARADIS_PINNED &&
                     !(node->constraint & EQP_PARADIS_SURFACE),
                 refuse(node, "a line ends here, but it is neither pinned nor on a surface", NULL, message));
    if (node->narms < 2 || node->constraint != EQP_PARADIS_FREE) {
        return EQP_OK;
    }
    for (int i = 0; i < node->narms; i++) {
        for (int d = 0; d < 3; d++) {
            sum[d] += arm[i].burgers[d];
        }
        scale = fmax(scale, largest(arm[i].burgers));
    }
    EQP__FAIL_IF(!(largest(sum) <= sum_tolerance * scale),
                 refuse(node, "its Burgers vectors do not sum to 0", NULL, message));
    return EQP_OK;
}

void eqp__paradis_fold(const double min[3], const double max[3], const bool periodic[3], double x[3])
{
    if (!min || !max || !periodic || !x) {
        return;
    }
    for (int d = 0; d < 3; d++) {
        double edge = max[d] - min[d];

        /* Already inside: not a bit changes. */
        if (!periodic[d] || (x[d] >= min[d] && x[d] < max[d])) {
            continue;
        }
        x[d] -= edge * floor((x[d] - min[d]) / edge);
        /* Rounding may have left it on the upper side, or outside the box. */
        if (!(x[d] >= min[d] && x[d] < max[d])) {
            x[d] = min[d];
        }
    }
}
