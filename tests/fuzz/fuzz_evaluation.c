/* SPDX-License-Identifier: BSD-3-Clause */
/* Received evaluations. The first byte chooses the parts and phases of the reader; the rest is merged with a valid
 * checksum. An evaluation that is accepted can be counted by every plan and packed again. */
#include "fuzz.h"

#include "base/internal.h"
#include "move/evaluation.h"

#include <equipoise/more/whatif.h>

#include <math.h>

enum { MOST_PARTS = 16 };

static eqp_evaluation *create(uint8_t how)
{
    static const int back[EQP_PHASES_MAX] = {0, 1, 0}, ghosts[EQP_PHASES_MAX] = {1, 0, 0};
    eqp_evaluation *made = NULL;

    fuzz_require(eqp_evaluation_create(1 + how % MOST_PARTS, how / MOST_PARTS % 4, back, ghosts, &made) == EQP_OK);
    return made;
}

static void require_counted(const eqp_evaluated *r)
{
    fuzz_require(isfinite(r->load_max) && isfinite(r->load_mean) && r->load_mean >= 0 && r->load_max >= 0);
    fuzz_require(isfinite(r->imbalance) && r->imbalance >= -1e-9);
    fuzz_require(r->ghosts_max >= 0 && r->ghosts_total >= r->ghosts_max);
    fuzz_require(r->messages_max >= 0 && r->neighbours_max >= 0 && r->neighbours_max < MOST_PARTS);
    fuzz_require(r->bytes_total >= 0 && r->bytes_max >= 0);
    fuzz_require(isfinite(r->step_seconds) && isfinite(r->exchange_seconds) && r->exchange_seconds >= 0);
    fuzz_require(r->step_seconds >= r->load_max && r->step_seconds_ideal == r->load_mean);
}

static void count(eqp_evaluation *evaluation)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
    const int nplans = eqp__exchange_plans(MOST_PARTS, &network, plan);
    eqp_evaluated result;
    int code = eqp_evaluation_cycle(1, (const double[]){1}, &evaluation, &network, NULL, NULL, &result);

    fuzz_require(code == EQP_OK || code == EQP_ERR_UNKNOWN || code == EQP_ERR_OVERFLOW);
    if (code == EQP_OK) {
        require_counted(&result);
    }
    for (int i = 0; i < nplans; i++) {
        code = eqp__evaluation_by_plan(evaluation, &network, &plan[i], NULL, &result);
        fuzz_require(code == EQP_OK || code == EQP_ERR_UNKNOWN || code == EQP_ERR_OVERFLOW);
        if (code == EQP_OK) {
            require_counted(&result);
        }
    }
}

static void pack_again(eqp_evaluation *evaluation, uint8_t how)
{
    eqp_evaluation *other = create(how);
    void *bytes = NULL, *again = NULL;
    size_t size = 0, size_again = 0;

    fuzz_require(eqp__evaluation_pack(evaluation, &size, &bytes) == EQP_OK);
    fuzz_require(eqp__evaluation_merge(other, size, bytes) == EQP_OK);
    fuzz_require(eqp__evaluation_pack(other, &size_again, &again) == EQP_OK);
    fuzz_require(size_again == size && memcmp(again, bytes, size) == 0);
    free(bytes);
    free(again);
    eqp_evaluation_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t how = size > 0 ? data[0] : 0;
    const size_t head = size > 0;
    const size_t sealed = size - head + EQP__SEAL;
    eqp_evaluation *evaluation = create(how);
    uint8_t *bytes = malloc(sealed);

    fuzz_require(bytes && eqp__evaluation_merge(evaluation, size - head, data + head) == EQP_ERR_FORMAT);
    memcpy(bytes, data + head, size - head);
    eqp__seal(bytes, sealed);
    /* The second merge meets the contents of the first. */
    for (int i = 0; i < 2; i++) {
        const int code = eqp__evaluation_merge(evaluation, sealed, bytes);

        fuzz_require(code == EQP_OK || code == EQP_ERR_FORMAT || code == EQP_ERR_ARGUMENT || code == EQP_ERR_DATA ||
                     code == EQP_ERR_OVERFLOW);
        fuzz_require(i == 1 || code != EQP_ERR_DATA);
        if (code == EQP_OK) {
            count(evaluation);
        }
        pack_again(evaluation, how);
    }
    free(bytes);
    eqp_evaluation_free(evaluation);
    return 0;
}
