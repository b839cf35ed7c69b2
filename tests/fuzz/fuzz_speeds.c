/* SPDX-License-Identifier: BSD-3-Clause */
/* Declared speed functions: for any functions, each model distributes all items. */
#include "fuzz.h"

#include <equipoise/more/models.h>

#include <math.h>

enum { MOST_RANKS = 16, ITERATIONS = 12 };

static void share_items(const eqp_speeds_functions *functions, int nranks, eqp_speeds_kind kind, int64_t n)
{
    eqp_speeds *speeds = NULL;
    int64_t share[MOST_RANKS];
    double seconds[MOST_RANKS], spread;

    fuzz_require(eqp_speeds_create(kind, nranks, (double)n, &speeds) == EQP_OK);
    for (int i = 0; i < ITERATIONS; i++) {
        int64_t sum = 0;

        fuzz_require(eqp_speeds_share(speeds, share) == EQP_OK);
        for (int r = 0; r < nranks; r++) {
            fuzz_require(share[r] >= 0);
            sum += share[r];
            fuzz_require(eqp_speeds_functions_seconds(functions, r, (double)share[r], &seconds[r]) == EQP_OK);
            fuzz_require(isfinite(seconds[r]) && seconds[r] >= 0.0 && (seconds[r] > 0.0) == (share[r] > 0));
        }
        fuzz_require(sum == n);
        fuzz_require(eqp_speeds_spread(nranks, seconds, &spread) == EQP_OK);
        fuzz_require(eqp_speeds_record(speeds, share, seconds) == EQP_OK);
    }
    eqp_speeds_free(speeds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eqp_speeds_functions *functions = NULL;
    eqp_message message = {""};
    const int code = eqp_speeds_functions_parse((const char *)data, (int64_t)size, "input", &functions, &message);

    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_FORMAT || code == EQP_ERR_DATA);
        fuzz_require(!functions);
        fuzz_require_line(&message);
        fuzz_require(strncmp(message.text, "input:", 6) == 0);
        return 0;
    }
    const int nranks = eqp_speeds_functions_ranks(functions);
    fuzz_require(nranks >= 1 && (size_t)nranks <= size);
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; nranks <= MOST_RANKS && kind <= EQP_SPEEDS_AKIMA; kind++) {
        share_items(functions, nranks, kind, 3);
        share_items(functions, nranks, kind, 10000);
        share_items(functions, nranks, kind, (int64_t)EQP_SPEEDS_ITEMS);
    }
    eqp_speeds_functions_free(functions);
    return 0;
}
