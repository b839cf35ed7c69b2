/* SPDX-License-Identifier: BSD-3-Clause */
#include "speeds_settled.h"

#include <string.h>

static bool is_anybody_idle(const speeds_iteration *it)
{
    for (int r = 0; r < it->nranks && it->n >= it->nranks; r++) {
        if (it->share[r] == 0) {
            return true;
        }
    }
    return false;
}

/* Whether there is one time that every rank reaches within one item of its share. */
static bool is_even_but_for_rounding(const speeds_iteration *it)
{
    double latest = 0.0, earliest = 0.0;

    for (int r = 0; r < it->nranks && it->functions; r++) {
        const double share = (double)it->share[r];
        double less = 0.0, more = 0.0;

        if (share > 0.0) {
            (void)eqp_speeds_functions_seconds(it->functions, r, share - 1.0, &less);
        }
        (void)eqp_speeds_functions_seconds(it->functions, r, share + 1.0, &more);
        latest = less > latest ? less : latest;
        earliest = r == 0 || more < earliest ? more : earliest;
    }
    return latest <= earliest;
}

bool speeds_settled(const speeds_iteration *it, double tolerance)
{
    if (it->spread <= tolerance && !is_anybody_idle(it)) {
        return true;
    }
    return it->last_share && memcmp(it->last_share, it->share, (size_t)it->nranks * sizeof *it->share) == 0 &&
           is_even_but_for_rounding(it);
}
