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

static const char *const events[] = {"offer", "step", "answer", "all", "patience", "dead", "take", "leave"};
static const char *const actions[] = {"nothing", "send", "send+wait", "tell",    "wait",
                                      "take",    "drop", "give-up",   "dismiss", "abandon"};

static int find(int n, const char *const *words, const char *word)
{
    int i = 0;

    while (i < n && strcmp(words[i], word) != 0) {
        i++;
    }
    assert_true(i < n);
    return i;
}

/* Words of a script: an event and its action, or an event alone where nothing is to be done; "EVENT!": an error, which
 * changes nothing. */
TEST(events_have_their_actions)
{
    static const struct {
        int64_t wait, delay;
        const char *script;
    } cases[] = {
        /* asynchronous: one offer at a time, never waits, taken once */
        {-1, -1,
         "step offer:send step step step offer take! all! answer:tell answer:drop step all:take step! take take!"},
        /* in line */
        {0, -1, "offer:send+wait step! answer:tell step! all:take take"},
        /* waits after some steps */
        {2, -1, "offer:send step step:wait step! patience:give-up step"},
        /* taken after three steps, however early or late the answer arrives */
        {-1, 3, "offer:send answer:tell all take! step take! step take! step:take step! take"},
        {-1, 3, "offer:send take! step answer:tell all take! step take! step:take step! take"},
        {-1, 3, "offer:send take! step take! step answer:tell all take! step:take step! take"},
        {-1, 3, "offer:send take! step take! step take! step:wait answer:tell all:take step! take"},
        /* lost balancers: a map that has arrived is taken, and nothing is offered afterwards */
        {-1, 4,
         "patience offer:send answer:tell all dead step step step step:take take:give-up offer answer:drop take!"},
        {-1, 1, "offer:send answer:tell all dead step:take take:give-up leave"},
        {-1, -1, "dead:give-up"},
        {-1, -1, "offer:send dead:give-up"},
        /* leaving tells the balancers */
        {-1, -1, "leave:dismiss leave"},
        {-1, -1, "offer:send leave:abandon answer:drop"},
        {-1, 2, "offer:send answer:tell all leave:dismiss"},
    };

    for (int c = 0; c < COUNT_OF(cases); c++) {
        eqp_lazy_state s = begun(cases[c].wait, cases[c].delay);
        char script[128], *rest = NULL;
        snprintf(script, sizeof script, "%s", cases[c].script);
        for (char *word = strtok_r(script, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            const bool wrong = word[strlen(word) - 1] == '!';
            const eqp_lazy_state before = s;
            eqp_lazy_action action = (eqp_lazy_action)-1;
            char *wanted = strpbrk(word, ":!");
            if (wanted != NULL) {
                *wanted++ = '\0';
            }
            const eqp_lazy_event event = (eqp_lazy_event)find(EQP_LAZY_EVENTS, events, word);
            assert_int_equal(eqp__lazy_next(&s, event, &action), wrong ? EQP_ERR_STATE : EQP_OK);
            assert_int_equal((int)action, wrong ? -1 : wanted == NULL ? 0 : find(COUNT_OF(actions), actions, wanted));
            assert_true(!wrong || same(&s, &before));
        }
    }
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
