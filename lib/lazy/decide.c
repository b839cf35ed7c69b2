/* SPDX-License-Identifier: BSD-3-Clause */
/* What `auto` comes to. */
#include "lazy/lazy.h"

#include <math.h>

int eqp_lazy_decide(const eqp_lazy_model *model, int nranks, bool thread, eqp_lazy_options *options, eqp_message *why)
{
    eqp_lazy_choice choice;
    eqp_lazy_model asked;
    int code;

    if (model == NULL || options == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    asked = *model;
    asked.spare = thread && model->spare;
    EQP_TRY(eqp_lazy_choose(&asked, nranks, &choice));
    const double inline_seconds = choice.seconds[EQP_LAZY_INLINE], beside = choice.seconds[EQP_LAZY_BESIDE],
                 in_thread = choice.seconds[EQP_LAZY_THREAD];
    options->mode = EQP_LAZY_NONE;
    options->balancers = 0;
    if (in_thread < inline_seconds && in_thread <= beside) {
        options->mode = EQP_LAZY_BY_THREAD;
    } else if (beside < inline_seconds) {
        options->mode = EQP_LAZY_BY_RANKS;
        options->balancers = choice.balancers[EQP_LAZY_BESIDE];
    }
    eqp_message_set(why, "%lld steps and a map: %.3g s in line, %.3g s by %d ranks beside, %.3g s by a thread",
                    (long long)choice.steps, inline_seconds, beside, choice.balancers[EQP_LAZY_BESIDE], in_thread);
done:
    return code;
}
