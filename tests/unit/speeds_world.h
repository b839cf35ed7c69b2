/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks with declared speed functions, and models that learn them. */
#ifndef EQP_TEST_SPEEDS_WORLD_H
#define EQP_TEST_SPEEDS_WORLD_H

#include "unit.h"

#include <equipoise/more/models.h>

enum { MOST_RANKS = 16, FOREVER = 1000 };

static inline eqp_speeds_functions *declare(const char *text)
{
    eqp_speeds_functions *functions = NULL;
    eqp_message message = {""};

    if (eqp_speeds_functions_parse(text, (int64_t)strlen(text), "declared", &functions, &message)) {
        fail_msg("%s", message.text);
    }
    return functions;
}

static inline double declared_seconds(const eqp_speeds_functions *functions, int rank, int64_t share)
{
    double seconds = -1.0;

    assert_ok(eqp_speeds_functions_seconds(functions, rank, (double)share, &seconds));
    return seconds;
}

static inline int64_t sum_of(int n, const int64_t *share)
{
    int64_t sum = 0;

    for (int r = 0; r < n; r++) {
        assert_true(share[r] >= 0);
        sum += share[r];
    }
    return sum;
}

/* True if every rank takes the common time up to one item of its share, the best possible with whole items. */
static inline bool is_even_but_for_rounding(const eqp_speeds_functions *functions, const int64_t *share)
{
    double latest = 0.0, earliest = INFINITY;

    for (int r = 0; r < eqp_speeds_functions_ranks(functions); r++) {
        latest = share[r] > 0 ? fmax(latest, declared_seconds(functions, r, share[r] - 1)) : latest;
        earliest = fmin(earliest, declared_seconds(functions, r, share[r] + 1));
    }
    return latest <= earliest;
}

/* Iterations until all |ti - tj| / ti are within the tolerance, or the shares are stationary and as even as whole
 * items allow; 0: not within `limit`. share: [ranks] last shares. */
static inline int iterations_until(const eqp_speeds_functions *functions, eqp_speeds_kind kind, int64_t n,
                                   double tolerance, int limit, int64_t *share)
{
    const int nranks = eqp_speeds_functions_ranks(functions);
    double seconds[MOST_RANKS], spread = INFINITY;
    int64_t last[MOST_RANKS] = {-1};
    eqp_speeds *speeds = NULL;
    bool settled = false;
    int iteration = 0;

    assert_in_range(nranks, 1, MOST_RANKS);
    assert_ok(eqp_speeds_create(kind, nranks, (double)n, &speeds));
    while (!settled && iteration++ < limit) {
        assert_ok(eqp_speeds_share(speeds, share, NULL));
        assert_true(sum_of(nranks, share) == n);
        for (int r = 0; r < nranks; r++) {
            seconds[r] = declared_seconds(functions, r, share[r]);
        }
        assert_ok(eqp_speeds_spread(nranks, seconds, &spread));
        assert_ok(eqp_speeds_record(speeds, share, seconds));
        settled = spread <= tolerance || (memcmp(last, share, (size_t)nranks * sizeof *share) == 0 &&
                                          is_even_but_for_rounding(functions, share));
        memcpy(last, share, (size_t)nranks * sizeof *share);
    }
    eqp_speeds_free(speeds);
    return settled ? iteration : 0;
}

#endif
