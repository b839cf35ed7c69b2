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
    eqp_lazy_state s;

    assert_ok(eqp__lazy_state_begin(&s, wait, delay));
    return s;
}

static eqp_lazy_action next(eqp_lazy_state *s, eqp_lazy_event event)
{
    eqp_lazy_action action;

    assert_ok(eqp__lazy_next(s, event, &action));
    return action;
}

static bool same(const eqp_lazy_state *a, const eqp_lazy_state *b)
{
    return a->phase == b->phase && a->steps == b->steps && a->has == b->has && a->waiting == b->waiting &&
           a->dead == b->dead;
}

static void refuses(const eqp_lazy_state *s, eqp_lazy_event event)
{
    eqp_lazy_state after = *s;
    eqp_lazy_action action = EQP_LAZY_DO_ABANDON;

    assert_int_equal(eqp__lazy_next(&after, event, &action), EQP_ERR_STATE);
    assert_int_equal(action, EQP_LAZY_DO_ABANDON);
    assert_true(same(&after, s));
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
            eqp_lazy_action action;
            if (eqp__lazy_next(&s, (eqp_lazy_event)e, &action) == EQP_OK && s.steps <= 5) {
                visit(seen, &s);
            }
        }
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
                eqp_lazy_action action = (eqp_lazy_action)-1;
                const int code = eqp__lazy_next(&after, (eqp_lazy_event)e, &action);
                if (code == EQP_OK) {
                    assert_in_range(action, EQP_LAZY_DO_NOTHING, EQP_LAZY_DO_ABANDON);
                } else {
                    assert_int_equal(code, EQP_ERR_STATE);
                    assert_true(same(&after, s) && action == (eqp_lazy_action)-1);
                }
                if (e == EQP_LAZY_ON_LEAVE) {
                    assert_ok(code);
                    assert_int_equal(after.phase, EQP_LAZY_LEFT);
                }
                if (s->phase == EQP_LAZY_LEFT && code == EQP_OK) {
                    assert_int_equal(after.phase, EQP_LAZY_LEFT);
                    assert_int_equal(action, e == EQP_LAZY_ON_ANSWER ? EQP_LAZY_DO_DROP : EQP_LAZY_DO_NOTHING);
                }
                if (s->phase == EQP_LAZY_LOST && code == EQP_OK && e != EQP_LAZY_ON_LEAVE) {
                    assert_int_equal(after.phase, EQP_LAZY_LOST);
                }
            }
        }
        for (int p = 0; p < EQP_LAZY_PHASES; p++) {
            assert_true(phase[p]);
        }
    }
}

/* Long random event sequences: at most one map per offer is taken, none before all ranks have it, none twice, none at
 * another step than the delay's, and waiting ranks compute no step. */
TEST(no_path_takes_a_map_twice)
{
    uint64_t seed = 3;

    for (int m = 0; m < MODES; m++) {
        eqp_lazy_state s = begun(modes[m].wait, modes[m].delay);
        int sent = 0, shared = 0, taken = 0;
        int64_t steps = 0;
        bool waits = false;

        for (int i = 0; i < 20000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const int draw = (int)(seed >> 60);
            /* The three ends come rarely. */
            const eqp_lazy_event event =
                draw < 15 ? (eqp_lazy_event[]){EQP_LAZY_ON_OFFER, EQP_LAZY_ON_STEP, EQP_LAZY_ON_ANSWER,
                                               EQP_LAZY_ON_ALL_HAVE, EQP_LAZY_ON_TAKE}[draw % 5]
                          : (eqp_lazy_event)((seed >> 40) % EQP_LAZY_EVENTS);
            const eqp_lazy_phase before = s.phase;
            eqp_lazy_action action;
            if (eqp__lazy_next(&s, event, &action) != EQP_OK) {
                continue;
            }
            if (action == EQP_LAZY_DO_SEND || action == EQP_LAZY_DO_SEND_AND_WAIT) {
                sent++;
                steps = 0;
            }
            steps += event == EQP_LAZY_ON_STEP && (before == EQP_LAZY_OFFERED || before == EQP_LAZY_READY);
            assert_false(waits && event == EQP_LAZY_ON_STEP);
            waits = action == EQP_LAZY_DO_SEND_AND_WAIT || action == EQP_LAZY_DO_WAIT || action == EQP_LAZY_DO_TAKE ||
                    (waits && s.phase == before);
            shared += before == EQP_LAZY_OFFERED && s.phase == EQP_LAZY_READY;
            if (event == EQP_LAZY_ON_TAKE) {
                taken++;
                assert_int_equal(before, EQP_LAZY_READY);
                assert_true(modes[m].delay < 0 || steps == modes[m].delay);
                assert_true(modes[m].wait < 0 || steps <= modes[m].wait);
                waits = false;
            }
            assert_true(taken <= shared && shared <= sent);
            if (s.phase == EQP_LAZY_LEFT || s.phase == EQP_LAZY_LOST) {
                s = begun(modes[m].wait, modes[m].delay);
                waits = false;
                sent = shared = taken;
            }
        }
        assert_true(taken > 100);
    }
}

TEST(asynchronous_never_waits)
{
    eqp_lazy_state s = begun(-1, -1);

    assert_int_equal(next(&s, EQP_LAZY_ON_STEP), EQP_LAZY_DO_NOTHING);
    assert_int_equal(next(&s, EQP_LAZY_ON_OFFER), EQP_LAZY_DO_SEND);
    for (int i = 1; i <= 1000; i++) {
        assert_int_equal(next(&s, EQP_LAZY_ON_STEP), EQP_LAZY_DO_NOTHING);
        assert_true(s.steps == i);
    }
    assert_int_equal(next(&s, EQP_LAZY_ON_OFFER), EQP_LAZY_DO_NOTHING); /* one at a time */
    refuses(&s, EQP_LAZY_ON_TAKE);
    refuses(&s, EQP_LAZY_ON_ALL_HAVE); /* not without this one */
    assert_int_equal(next(&s, EQP_LAZY_ON_ANSWER), EQP_LAZY_DO_TELL);
    assert_int_equal(next(&s, EQP_LAZY_ON_ANSWER), EQP_LAZY_DO_DROP);
    assert_int_equal(next(&s, EQP_LAZY_ON_STEP), EQP_LAZY_DO_NOTHING);
    assert_int_equal(next(&s, EQP_LAZY_ON_ALL_HAVE), EQP_LAZY_DO_TAKE);
    refuses(&s, EQP_LAZY_ON_STEP);
    assert_int_equal(next(&s, EQP_LAZY_ON_TAKE), EQP_LAZY_DO_NOTHING);
    refuses(&s, EQP_LAZY_ON_TAKE);
    assert_int_equal(s.phase, EQP_LAZY_IDLE);
}

TEST(inline_waits_at_once)
{
    eqp_lazy_state s = begun(0, -1);

    assert_int_equal(next(&s, EQP_LAZY_ON_OFFER), EQP_LAZY_DO_SEND_AND_WAIT);
    refuses(&s, EQP_LAZY_ON_STEP);
    assert_int_equal(next(&s, EQP_LAZY_ON_ANSWER), EQP_LAZY_DO_TELL);
    refuses(&s, EQP_LAZY_ON_STEP);
    assert_int_equal(next(&s, EQP_LAZY_ON_ALL_HAVE), EQP_LAZY_DO_TAKE);
    assert_int_equal(next(&s, EQP_LAZY_ON_TAKE), EQP_LAZY_DO_NOTHING);
}

TEST(some_steps_pass_before_it_waits)
{
    eqp_lazy_state s = begun(2, -1);

    next(&s, EQP_LAZY_ON_OFFER);
    assert_int_equal(next(&s, EQP_LAZY_ON_STEP), EQP_LAZY_DO_NOTHING);
    assert_int_equal(next(&s, EQP_LAZY_ON_STEP), EQP_LAZY_DO_WAIT);
    refuses(&s, EQP_LAZY_ON_STEP);
    assert_int_equal(next(&s, EQP_LAZY_ON_PATIENCE), EQP_LAZY_DO_GIVE_UP);
    assert_int_equal(next(&s, EQP_LAZY_ON_STEP), EQP_LAZY_DO_NOTHING);
}

/* The map is taken after three steps, however early or late the answer arrives. */
TEST(a_delay_is_kept)
{
    for (int late = 0; late <= 3; late++) {
        eqp_lazy_state s = begun(-1, 3);
        eqp_lazy_action action = next(&s, EQP_LAZY_ON_OFFER);

        assert_int_equal(action, EQP_LAZY_DO_SEND);
        for (int i = 0; i <= 3; i++) {
            if (i == late) {
                assert_int_equal(next(&s, EQP_LAZY_ON_ANSWER), EQP_LAZY_DO_TELL);
                assert_int_equal(next(&s, EQP_LAZY_ON_ALL_HAVE), i < 3 ? EQP_LAZY_DO_NOTHING : EQP_LAZY_DO_TAKE);
            }
            if (i < 3) {
                refuses(&s, EQP_LAZY_ON_TAKE);
                action = next(&s, EQP_LAZY_ON_STEP);
                assert_int_equal(action, i < 2 ? EQP_LAZY_DO_NOTHING : late < 3 ? EQP_LAZY_DO_TAKE : EQP_LAZY_DO_WAIT);
            }
        }
        refuses(&s, EQP_LAZY_ON_STEP);
        assert_int_equal(next(&s, EQP_LAZY_ON_TAKE), EQP_LAZY_DO_NOTHING);
    }
}

TEST(lost_balancers_cost_only_maps)
{
    eqp_lazy_state s = begun(-1, 5);

    assert_int_equal(next(&s, EQP_LAZY_ON_PATIENCE), EQP_LAZY_DO_NOTHING); /* nothing was awaited */
    next(&s, EQP_LAZY_ON_OFFER);
    next(&s, EQP_LAZY_ON_ANSWER);
    next(&s, EQP_LAZY_ON_ALL_HAVE);
    assert_int_equal(next(&s, EQP_LAZY_ON_DEAD), EQP_LAZY_DO_NOTHING); /* the map is there already */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(next(&s, EQP_LAZY_ON_STEP), i < 4 ? EQP_LAZY_DO_NOTHING : EQP_LAZY_DO_TAKE);
    }
    assert_int_equal(next(&s, EQP_LAZY_ON_TAKE), EQP_LAZY_DO_GIVE_UP);
    assert_int_equal(s.phase, EQP_LAZY_LOST);
    assert_int_equal(next(&s, EQP_LAZY_ON_OFFER), EQP_LAZY_DO_NOTHING);
    assert_int_equal(next(&s, EQP_LAZY_ON_ANSWER), EQP_LAZY_DO_DROP);
    refuses(&s, EQP_LAZY_ON_TAKE);
    assert_int_equal(next(&s, EQP_LAZY_ON_LEAVE), EQP_LAZY_DO_NOTHING); /* no client is left */
    s = begun(-1, -1);
    assert_int_equal(next(&s, EQP_LAZY_ON_DEAD), EQP_LAZY_DO_GIVE_UP);
    s = begun(-1, -1);
    next(&s, EQP_LAZY_ON_OFFER);
    assert_int_equal(next(&s, EQP_LAZY_ON_DEAD), EQP_LAZY_DO_GIVE_UP);
}

TEST(leaving_tells_the_balancers)
{
    eqp_lazy_state s = begun(-1, -1);

    assert_int_equal(next(&s, EQP_LAZY_ON_LEAVE), EQP_LAZY_DO_DISMISS);
    assert_int_equal(next(&s, EQP_LAZY_ON_LEAVE), EQP_LAZY_DO_NOTHING);
    s = begun(-1, -1);
    next(&s, EQP_LAZY_ON_OFFER);
    assert_int_equal(next(&s, EQP_LAZY_ON_LEAVE), EQP_LAZY_DO_ABANDON);
    assert_int_equal(next(&s, EQP_LAZY_ON_ANSWER), EQP_LAZY_DO_DROP);
    s = begun(-1, 2);
    next(&s, EQP_LAZY_ON_OFFER);
    next(&s, EQP_LAZY_ON_ANSWER);
    next(&s, EQP_LAZY_ON_ALL_HAVE);
    assert_int_equal(next(&s, EQP_LAZY_ON_LEAVE), EQP_LAZY_DO_DISMISS);
}

/* Rows: FREE, MAKING, MADE, ENDED; columns: the events. -1: a mistake. */
TEST(the_balancing_side_takes_turns)
{
    static const int to[EQP_LAZY_SERVERS][EQP_LAZY_SERVER_EVENTS] = {
        {EQP_LAZY_MAKING, -1, -1, EQP_LAZY_ENDED, EQP_LAZY_ENDED},
        {-1, EQP_LAZY_MADE, -1, EQP_LAZY_ENDED, EQP_LAZY_ENDED},
        {-1, -1, EQP_LAZY_FREE, EQP_LAZY_ENDED, EQP_LAZY_ENDED},
        {EQP_LAZY_ENDED, EQP_LAZY_ENDED, EQP_LAZY_ENDED, EQP_LAZY_ENDED, EQP_LAZY_ENDED}};
    static const int action[EQP_LAZY_SERVER_EVENTS] = {EQP_LAZY_SERVE_MAKE, EQP_LAZY_SERVE_SEND, EQP_LAZY_SERVE_NOTHING,
                                                       EQP_LAZY_SERVE_END, EQP_LAZY_SERVE_END};

    for (int s = 0; s < EQP_LAZY_SERVERS; s++) {
        for (int e = 0; e < EQP_LAZY_SERVER_EVENTS; e++) {
            eqp_lazy_server server = (eqp_lazy_server)s;
            eqp_lazy_server_action wanted = EQP_LAZY_SERVE_END;
            const int code = eqp__lazy_serve_next(&server, (eqp_lazy_server_event)e, &wanted);
            assert_int_equal(code, to[s][e] < 0 ? EQP_ERR_STATE : EQP_OK);
            assert_int_equal(server, to[s][e] < 0 ? s : to[s][e]);
            if (code == EQP_OK) {
                assert_int_equal(wanted, s == EQP_LAZY_ENDED ? EQP_LAZY_SERVE_NOTHING : action[e]);
            }
        }
    }
}

TEST(what_cannot_be_is_refused)
{
    eqp_lazy_state s, good = begun(-1, -1);
    eqp_lazy_server server = (eqp_lazy_server)9;
    eqp_lazy_server_action serve;
    eqp_lazy_action action;

    assert_refused(eqp__lazy_state_begin(&s, -2, -1));
    assert_refused(eqp__lazy_state_begin(&s, -1, -2));
    assert_refused(eqp__lazy_state_begin(&s, 1, 1));
    assert_refused(eqp__lazy_next(&good, (eqp_lazy_event)EQP_LAZY_EVENTS, &action));
    s = good;
    s.phase = (eqp_lazy_phase)EQP_LAZY_PHASES;
    assert_refused(eqp__lazy_next(&s, EQP_LAZY_ON_STEP, &action));
    s = good;
    s.phase = EQP_LAZY_READY; /* without having it */
    assert_refused(eqp__lazy_next(&s, EQP_LAZY_ON_TAKE, &action));
    s = good;
    s.has = true; /* without an offer */
    assert_refused(eqp__lazy_next(&s, EQP_LAZY_ON_OFFER, &action));
    assert_refused(eqp__lazy_serve_next(&server, EQP_LAZY_ON_WORK, &serve));
    server = EQP_LAZY_FREE;
    assert_refused(eqp__lazy_serve_next(&server, (eqp_lazy_server_event)EQP_LAZY_SERVER_EVENTS, &serve));
}
