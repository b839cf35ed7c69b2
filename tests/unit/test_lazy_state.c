/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/lazy_state.h"

#include "unit.h"

/* Stopping points: asynchronous without limit, in line, after some steps, at a fixed delay. */
static const struct {
    int64_t wait, delay;
} modes[] = {{-1, -1}, {0, -1}, {2, -1}, {-1, 0}, {-1, 1}, {-1, 3}};
enum { MODES = sizeof modes / sizeof modes[0] };

static eqp_lazy_state begun(int64_t wait, int64_t delay)
{
    return (eqp_lazy_state){.wait = wait, .delay = delay};
}

static bool same(const eqp_lazy_state *a, const eqp_lazy_state *b)
{
    return a->phase == b->phase && a->steps == b->steps && a->has == b->has && a->waiting == b->waiting &&
           a->dead == b->dead;
}

/* A state is its phase, its steps up to a bound, and its flags. */
typedef struct visited {
    eqp_lazy_state state[512];
    int n;
} visited;

static void visit(visited *seen, const eqp_lazy_state *s)
{
    for (int i = 0; i < seen->n; i++) {
        if (same(&seen->state[i], s)) {
            return;
        }
    }
    assert_true(seen->n < 512);
    seen->state[seen->n++] = *s;
}

/* All states reachable by any events, up to 5 steps after an offer. */
static void explore(int64_t wait, int64_t delay, visited *seen)
{
    const eqp_lazy_state begin = begun(wait, delay);

    seen->n = 0;
    visit(seen, &begin);
    for (int i = 0; i < seen->n; i++) {
        for (int e = 0; e < EQP_LAZY_EVENTS; e++) {
            eqp_lazy_state s = seen->state[i];
            if (eqp__lazy_next(&s, (eqp_lazy_event)e) == EQP_OK && s.steps <= 5) {
                visit(seen, &s);
            }
        }
    }
}

/* An offer follows a take, all ranks have its map before it is taken, once and at the step of the delay, and waiting
 * ranks compute no step. */
static void check_change(const eqp_lazy_state *before, eqp_lazy_event event, const eqp_lazy_state *after)
{
    assert_true(after->phase != EQP_LAZY_OFFERED || before->phase == EQP_LAZY_OFFERED ||
                (before->phase == EQP_LAZY_IDLE && event == EQP_LAZY_ON_OFFER && after->steps == 0));
    assert_true(after->phase != EQP_LAZY_READY || before->phase == EQP_LAZY_READY ||
                (before->phase == EQP_LAZY_OFFERED && event == EQP_LAZY_ON_ALL_HAVE));
    assert_false((before->waiting || eqp__lazy_due(before)) && event == EQP_LAZY_ON_STEP);
    if (before->phase == EQP_LAZY_OFFERED || before->phase == EQP_LAZY_READY) {
        assert_true(event != EQP_LAZY_ON_STEP || after->steps == before->steps + 1);
    }
    if (event == EQP_LAZY_ON_TAKE) {
        assert_true(before->phase == EQP_LAZY_READY && after->phase == (before->dead ? EQP_LAZY_LOST : EQP_LAZY_IDLE));
        assert_true(before->delay < 0 || before->steps == before->delay);
        assert_true(before->wait < 0 || before->steps <= before->wait);
    }
}

TEST(every_pair_has_a_result_and_leave_always_ends)
{
    visited seen;

    for (int m = 0; m < MODES; m++) {
        bool phase[EQP_LAZY_PHASES] = {false};
        explore(modes[m].wait, modes[m].delay, &seen);
        for (int i = 0; i < seen.n; i++) {
            const eqp_lazy_state *s = &seen.state[i];
            phase[s->phase] = true;
            for (int e = 0; e < EQP_LAZY_EVENTS; e++) {
                eqp_lazy_state after = *s;
                const int code = eqp__lazy_next(&after, (eqp_lazy_event)e);
                assert_true(code == EQP_OK || (code == EQP_ERR_STATE && same(&after, s)));
                if (e == EQP_LAZY_ON_LEAVE || s->phase == EQP_LAZY_LEFT) {
                    assert_int_equal(after.phase, EQP_LAZY_LEFT);
                } else if (s->phase == EQP_LAZY_LOST) {
                    assert_int_equal(after.phase, EQP_LAZY_LOST);
                }
                assert_true(e != EQP_LAZY_ON_LEAVE || code == EQP_OK);
                assert_true(!eqp__lazy_due(&after) || after.has);
                if (code == EQP_OK) {
                    check_change(s, (eqp_lazy_event)e, &after);
                }
            }
        }
        for (int p = 0; p < EQP_LAZY_PHASES; p++) {
            assert_true(phase[p]);
        }
    }
}

/* A script: letters of events, and after them the new state where it changes: o offered, w offered and waiting, r
 * ready, d due, i idle, l lost, e left; "!": an error, which changes nothing. */
TEST(events_have_their_results)
{
    static const char events[] = "OSAHDTL"; /* offer, step, answer, all have it, dead, take, leave */
    static const struct {
        int64_t wait, delay;
        const char *script;
    } cases[] = {
        /* asynchronous: one offer at a time, never waits, taken once */
        {-1, -1, "SOoSSSOT!H!AASHdS!TiT!"},
        /* in line */
        {0, -1, "OwS!AS!HdTi"},
        /* waits after some steps */
        {2, -1, "OoSSwS!DlS"},
        /* taken after three steps, however early or late the answer arrives */
        {-1, 3, "OoAHrT!ST!ST!SdS!Ti"},
        {-1, 3, "OoT!SAHrT!ST!SdS!Ti"},
        {-1, 3, "OoT!ST!SAHrT!SdS!Ti"},
        {-1, 3, "OoT!ST!ST!SwAHdS!Ti"},
        /* lost balancers: a map that has arrived is taken, and nothing is offered afterwards */
        {-1, 4, "OoAHrDSSSSdTlOAT!Le"},
        {-1, -1, "Dl"},
        {-1, -1, "OoDl"},
        /* leaving, from every state */
        {-1, -1, "LeLOSAHDT!"},
        {-1, -1, "OoLeA"},
        {-1, 2, "OoAHrLe"},
    };

    for (int c = 0; c < COUNT_OF(cases); c++) {
        eqp_lazy_state s = begun(cases[c].wait, cases[c].delay);
        char now = 'i';
        for (const char *at = cases[c].script; *at != '\0';) {
            const eqp_lazy_state before = s;
            const int code = eqp__lazy_next(&s, (eqp_lazy_event)(strchr(events, *at++) - events));
            const bool wrong = *at == '!', changes = *at >= 'a';
            now = changes ? *at : now;
            at += wrong || changes;
            assert_int_equal(code, wrong ? EQP_ERR_STATE : EQP_OK);
            assert_true(!wrong || same(&s, &before));
            assert_int_equal(s.waiting ? 'w' : eqp__lazy_due(&s) ? 'd' : "iorle"[s.phase], now);
        }
    }
}
