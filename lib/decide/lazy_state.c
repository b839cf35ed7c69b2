/* SPDX-License-Identifier: BSD-3-Clause */
/* State machines of the two sides of lazy balancing: Pearce 2014, figures 5.7 to 5.9. */
#include "decide/lazy_state.h"
#include "base/internal.h"

static bool must_wait(const eqp_lazy_state *s)
{
    return (s->delay >= 0 && s->steps >= s->delay) || (s->wait >= 0 && s->steps >= s->wait);
}

static bool is_due(const eqp_lazy_state *s)
{
    return s->phase == EQP_LAZY_READY && s->steps >= s->delay;
}

static void enter(eqp_lazy_state *s, eqp_lazy_phase phase)
{
    s->phase = phase;
    s->steps = 0;
    s->has = s->waiting = s->dead = false;
}

static int on_offer(eqp_lazy_state *s, eqp_lazy_action *action)
{
    if (s->phase != EQP_LAZY_IDLE) {
        return EQP_OK;
    }
    enter(s, EQP_LAZY_OFFERED);
    s->waiting = must_wait(s);
    *action = s->waiting ? EQP_LAZY_DO_SEND_AND_WAIT : EQP_LAZY_DO_SEND;
    return EQP_OK;
}

static int on_step(eqp_lazy_state *s, eqp_lazy_action *action)
{
    if (s->phase != EQP_LAZY_OFFERED && s->phase != EQP_LAZY_READY) {
        return EQP_OK;
    }
    EQP__FAIL_IF(s->waiting || is_due(s), EQP_ERR_STATE);
    s->steps += s->steps < INT64_MAX;
    if (s->phase == EQP_LAZY_READY) {
        *action = is_due(s) ? EQP_LAZY_DO_TAKE : EQP_LAZY_DO_NOTHING;
    } else if (must_wait(s)) {
        s->waiting = true;
        *action = EQP_LAZY_DO_WAIT;
    }
    return EQP_OK;
}

static int on_answer(eqp_lazy_state *s, eqp_lazy_action *action)
{
    const bool wanted = s->phase == EQP_LAZY_OFFERED && !s->has;

    s->has = s->has || wanted;
    *action = wanted ? EQP_LAZY_DO_TELL : EQP_LAZY_DO_DROP;
    return EQP_OK;
}

static int on_all_have(eqp_lazy_state *s, eqp_lazy_action *action)
{
    if (s->phase != EQP_LAZY_OFFERED) {
        return EQP_OK;
    }
    EQP__FAIL_IF(!s->has, EQP_ERR_STATE);
    s->phase = EQP_LAZY_READY;
    s->waiting = false;
    *action = is_due(s) ? EQP_LAZY_DO_TAKE : EQP_LAZY_DO_NOTHING;
    return EQP_OK;
}

/* The makers no longer answer the pending offer. A map that has arrived can still be taken. */
static int on_silence(eqp_lazy_state *s, bool dead, eqp_lazy_action *action)
{
    if (s->phase == EQP_LAZY_READY) {
        s->dead = s->dead || dead;
    } else if (s->phase == EQP_LAZY_OFFERED || (s->phase == EQP_LAZY_IDLE && dead)) {
        enter(s, EQP_LAZY_LOST);
        *action = EQP_LAZY_DO_GIVE_UP;
    }
    return EQP_OK;
}

static int on_take(eqp_lazy_state *s, eqp_lazy_action *action)
{
    const bool dead = s->dead;

    EQP__FAIL_IF(!is_due(s), EQP_ERR_STATE);
    enter(s, dead ? EQP_LAZY_LOST : EQP_LAZY_IDLE);
    *action = dead ? EQP_LAZY_DO_GIVE_UP : EQP_LAZY_DO_NOTHING;
    return EQP_OK;
}

static int on_leave(eqp_lazy_state *s, eqp_lazy_action *action)
{
    if (s->phase == EQP_LAZY_OFFERED) {
        *action = EQP_LAZY_DO_ABANDON;
    } else if (s->phase == EQP_LAZY_IDLE || (s->phase == EQP_LAZY_READY && !s->dead)) {
        *action = EQP_LAZY_DO_DISMISS;
    }
    enter(s, EQP_LAZY_LEFT);
    return EQP_OK;
}

static int apply(eqp_lazy_state *s, eqp_lazy_event event, eqp_lazy_action *action)
{
    switch (event) {
    case EQP_LAZY_ON_OFFER:
        return on_offer(s, action);
    case EQP_LAZY_ON_STEP:
        return on_step(s, action);
    case EQP_LAZY_ON_ANSWER:
        return on_answer(s, action);
    case EQP_LAZY_ON_ALL_HAVE:
        return on_all_have(s, action);
    case EQP_LAZY_ON_PATIENCE:
        return on_silence(s, false, action);
    case EQP_LAZY_ON_DEAD:
        return on_silence(s, true, action);
    case EQP_LAZY_ON_TAKE:
        return on_take(s, action);
    case EQP_LAZY_ON_LEAVE:
        return on_leave(s, action);
    }
    return EQP_ERR_ARGUMENT;
}

int eqp__lazy_next(eqp_lazy_state *state, eqp_lazy_event event, eqp_lazy_action *action)
{
    eqp_lazy_action wanted = EQP_LAZY_DO_NOTHING;
    eqp_lazy_state next = *state;
    const int code = apply(&next, event, &wanted);

    if (code == EQP_OK) {
        *state = next;
        *action = wanted;
    }
    return code;
}

int eqp__lazy_serve_next(eqp_lazy_server *server, eqp_lazy_server_event event, eqp_lazy_server_action *action)
{
    /* Required state, next state and action of each event. */
    static const struct {
        eqp_lazy_server from, to;
        eqp_lazy_server_action action;
    } turn[] = {[EQP_LAZY_ON_WORK] = {EQP_LAZY_FREE, EQP_LAZY_MAKING, EQP_LAZY_SERVE_MAKE},
                [EQP_LAZY_ON_MAP] = {EQP_LAZY_MAKING, EQP_LAZY_MADE, EQP_LAZY_SERVE_SEND},
                [EQP_LAZY_ON_SENT] = {EQP_LAZY_MADE, EQP_LAZY_FREE, EQP_LAZY_SERVE_NOTHING}};

    if (*server == EQP_LAZY_ENDED) {
        *action = EQP_LAZY_SERVE_NOTHING;
    } else if (event == EQP_LAZY_ON_DISMISSED || event == EQP_LAZY_ON_SILENCE) {
        *server = EQP_LAZY_ENDED;
        *action = EQP_LAZY_SERVE_END;
    } else if (*server != turn[event].from) {
        return EQP_ERR_STATE;
    } else {
        *server = turn[event].to;
        *action = turn[event].action;
    }
    return EQP_OK;
}
