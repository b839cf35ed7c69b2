/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/lazy_state.h"
#include "base/internal.h"

bool eqp__lazy_due(const eqp_lazy_state *state)
{
    return state->phase == EQP_LAZY_READY && state->steps >= state->delay;
}

static bool must_wait(const eqp_lazy_state *s)
{
    return (s->delay >= 0 && s->steps >= s->delay) || (s->wait >= 0 && s->steps >= s->wait);
}

static void enter(eqp_lazy_state *s, eqp_lazy_phase phase)
{
    s->phase = phase;
    s->steps = 0;
    s->has = s->waiting = s->dead = false;
}

int eqp__lazy_next(eqp_lazy_state *state, eqp_lazy_event event)
{
    eqp_lazy_state *const s = state;
    const bool pending = s->phase == EQP_LAZY_OFFERED, ready = s->phase == EQP_LAZY_READY,
               idle = s->phase == EQP_LAZY_IDLE;

    switch (event) {
    case EQP_LAZY_ON_OFFER:
        if (idle) {
            enter(s, EQP_LAZY_OFFERED);
            s->waiting = must_wait(s);
        }
        break;
    case EQP_LAZY_ON_STEP:
        EQP__FAIL_IF(s->waiting || eqp__lazy_due(s), EQP_ERR_STATE);
        s->steps += (pending || ready) && s->steps < INT64_MAX;
        s->waiting = pending && must_wait(s);
        break;
    case EQP_LAZY_ON_ANSWER:
        s->has = s->has || pending;
        break;
    case EQP_LAZY_ON_ALL_HAVE:
        EQP__FAIL_IF(pending && !s->has, EQP_ERR_STATE);
        if (pending) {
            s->phase = EQP_LAZY_READY;
            s->waiting = false;
        }
        break;
    case EQP_LAZY_ON_DEAD:
        s->dead = ready;
        if (pending || idle) {
            enter(s, EQP_LAZY_LOST);
        }
        break;
    case EQP_LAZY_ON_TAKE:
        EQP__FAIL_IF(!eqp__lazy_due(s), EQP_ERR_STATE);
        enter(s, s->dead ? EQP_LAZY_LOST : EQP_LAZY_IDLE);
        break;
    case EQP_LAZY_ON_LEAVE:
        enter(s, EQP_LAZY_LEFT);
        break;
    }
    return EQP_OK;
}
