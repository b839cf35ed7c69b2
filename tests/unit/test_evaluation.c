/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluations equal the sum of simulations of every phase, however they are filled. */

#include "evaluation_world.h"

FREES(eqp_evaluation, eqp_evaluation_free)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void count_ghosts_and_neighbours(const assignment *a, eqp_evaluated *r)
{
    static int meet[WORLD_PARTS][WORLD_PARTS];

    memset(meet, 0, sizeof meet);
    for (int p = 0; p < a->nparts; p++) {
        int64_t ghosts = 0;
        for (int k = 0; k < PHASES; k++) {
            for (int b = 0; b < a->phase[k].nblocks; b++) {
                if (a->phase[k].needs[b][p] && a->phase[k].home[b] != p) {
                    ghosts += is_ghosts[k] && !is_back[k] ? a->elements[k][b] : 0;
                    meet[a->phase[k].home[b]][p] = 1;
                }
            }
        }
        r->ghosts_total += ghosts;
        r->ghosts_max = larger(r->ghosts_max, ghosts);
    }
    for (int p = 0; p < a->nparts; p++) {
        int of = 0, by = 0;
        for (int q = 0; q < a->nparts; q++) {
            of += meet[p][q];
            by += meet[q][p];
        }
        r->neighbours_max = (int)larger(r->neighbours_max, larger(of, by));
    }
}

static eqp_evaluated by_force(const assignment *a, const eqp_network *network, const eqp_exchange_plan *plan,
                              world_traffic *t)
{
    eqp_evaluated r = {.step_seconds = -1};
    double hidden[WORLD_PARTS] = {0};
    int64_t common = 0;

    for (int k = 0; k < PHASES; k++) {
        const world_traffic before = *t;
        world_count(&a->phase[k], is_back[k], plan, network, t);
        for (int p = 0; p < a->nparts; p++) {
            const double seconds = t->seconds[p] - before.seconds[p];
            hidden[p] += seconds < a->meanwhile[k][p] ? seconds : a->meanwhile[k][p];
        }
    }
    for (int p = 0; p < a->nparts; p++) {
        common += a->common[p];
    }
    if (common > 0) {
        world_count_all(a->nparts, 0, 1, a->common, network, t);
    }
    for (int p = 0; p < a->nparts; p++) {
        r.load_max = a->load[p] > r.load_max ? a->load[p] : r.load_max;
        r.load_mean += a->load[p] / a->nparts;
        r.messages_max = larger(r.messages_max, larger(t->messages_sent[p], t->messages_received[p]));
        r.bytes_max = larger(r.bytes_max, larger(t->bytes_sent[p], t->bytes_received[p]));
        r.bytes_total += t->bytes_sent[p];
        t->seconds[p] -= hidden[p];
        if (a->load[p] + t->seconds[p] > r.step_seconds) {
            r.step_seconds = a->load[p] + t->seconds[p];
            r.hidden_seconds = hidden[p];
            r.exchange_seconds = t->seconds[p] + hidden[p];
        }
    }
    count_ghosts_and_neighbours(a, &r);
    return r;
}

static void assert_same(const eqp_evaluated *a, const eqp_evaluated *b)
{
    assert_true(a->load_max == b->load_max && world_is_near(a->load_mean, b->load_mean));
    assert_int_equal(a->ghosts_total, b->ghosts_total);
    assert_int_equal(a->ghosts_max, b->ghosts_max);
    assert_int_equal(a->neighbours_max, b->neighbours_max);
    assert_int_equal(a->messages_max, b->messages_max);
    assert_int_equal(a->bytes_total, b->bytes_total);
    assert_int_equal(a->bytes_max, b->bytes_max);
    assert_true(world_is_near(a->step_seconds, b->step_seconds));
    assert_true(world_is_near(a->hidden_seconds, b->hidden_seconds));
    assert_true(world_is_near(a->exchange_seconds, b->exchange_seconds));
}

static eqp_traffic arrays_of(world_traffic *t)
{
    return (eqp_traffic){t->messages_sent, t->messages_received, t->bytes_sent, t->bytes_received, t->seconds, NULL};
}

TEST(every_plan_is_what_simulations_add_up_to)
{
    static assignment a;

    for (int nparts = 1; nparts <= WORLD_PARTS; nparts++) {
        const eqp_network network = {.alpha = 2e-6, .beta = 1e-9, .node = 1 + below(4)};
        eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
        eqp_evaluated best, chosen;
        assignment_make(nparts, &a);
        FREED(eqp_evaluation) *e = evaluation_of(&a, 0, 1);
        const int nplans = eqp__exchange_plans(nparts, &network, plan);
        assert_ok(evaluate_best(e, &network, &chosen));
        for (int i = 0; i < nplans; i++) {
            eqp_evaluated r;
            world_traffic simulated = {.seconds = {0}}, counted = {.seconds = {0}};
            const eqp_traffic traffic = arrays_of(&counted);
            const eqp_evaluated expected = by_force(&a, &network, &plan[i], &simulated);
            assert_ok(eqp__evaluation_by_plan(e, &network, &plan[i], &traffic, &r));
            assert_same(&r, &expected);
            assert_memory_equal(counted.messages_sent, simulated.messages_sent, sizeof counted.messages_sent);
            assert_memory_equal(counted.bytes_received, simulated.bytes_received, sizeof counted.bytes_received);
            assert_memory_equal(&r.plan, &plan[i], sizeof r.plan);
            assert_true(r.step_seconds >= r.load_max && r.exchange_seconds - r.hidden_seconds <= r.step_seconds);
            assert_true(r.hidden_seconds >= 0 && r.hidden_seconds <= r.exchange_seconds * (1 + 1e-12));
            assert_true(r.step_seconds_ideal == r.load_mean);
            assert_true(world_is_near((r.imbalance + 1) * r.load_mean, r.load_max));
            if (i == 0 || r.step_seconds < best.step_seconds) {
                best = r;
            }
        }
        assert_same(&best, &chosen);
        assert_true(best.step_seconds == chosen.step_seconds);
        assert_memory_equal(&best.plan, &chosen.plan, sizeof best.plan);
        assert_true(memcmp(eqp__evaluation_loads(e), a.load, (size_t)nparts * sizeof *a.load) == 0);
    }
}

/* Ghosts of one part. */
static int64_t ghosts_of(const assignment *a, int p)
{
    int64_t ghosts = 0;

    for (int k = 0; k < PHASES; k++) {
        for (int b = 0; b < a->phase[k].nblocks; b++) {
            const int ghost = a->phase[k].needs[b][p] && a->phase[k].home[b] != p && is_ghosts[k] && !is_back[k];
            ghosts += ghost ? a->elements[k][b] : 0;
        }
    }
    return ghosts;
}

/* Also of evaluations that were packed and joined. */
TEST(a_step_includes_overhead)
{
    static const eqp_overhead o = {.held = 1e-6,
                                   .ghost = 2e-6,
                                   .byte = 3e-9,
                                   .part = 4e-4,
                                   .calls = 5,
                                   .gathers = 2,
                                   .gathered = 100,
                                   .handshakes = 2};
    static const eqp_overhead wrong[] = {{.held = -1},  {.ghost = NAN},  {.byte = INFINITY}, {.part = -1},
                                         {.calls = -1}, {.gathers = -1}, {.gathered = -1},   {.handshakes = -1}};
    static assignment a;

    for (int nparts = 1; nparts <= WORLD_PARTS; nparts++) {
        const eqp_network network = {.alpha = 2e-6, .beta = 1e-9, .node = 1, .reduce = 3e-6};
        const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
        world_traffic simulated = {.seconds = {0}}, counted = {.seconds = {0}};
        const eqp_traffic traffic = arrays_of(&counted);
        eqp_evaluated r;
        double longest = 0, held = 0;
        int levels = 0;
        size_t size = 0;
        HEAP void *bytes = NULL;
        assignment_make(nparts, &a);
        eqp_evaluation *e = evaluation_of(&a, 0, 2), *other = evaluation_of(&a, 1, 2);
        assert_ok(eqp__evaluation_pack(other, &size, &bytes));
        assert_ok(eqp__evaluation_merge(e, size, bytes));
        assert_ok(eqp__evaluation_overhead(e, &o));
        for (int i = 0; i < COUNT_OF(wrong); i++) {
            assert_int_equal(eqp__evaluation_overhead(e, &wrong[i]), EQP_ERR_DATA);
        }
        const eqp_evaluated without = by_force(&a, &network, &plan, &simulated);
        assert_ok(eqp__evaluation_by_plan(e, &network, &plan, &traffic, &r));
        while (1 << levels < nparts) {
            levels++;
        }
        for (int p = 0; p < nparts; p++) {
            const double cpu = o.held * (double)a.held[p] + o.ghost * (double)ghosts_of(&a, p) +
                               o.byte * (double)simulated.bytes_sent[p] + o.part;
            const double messages = (double)larger(simulated.messages_sent[p], simulated.messages_received[p]);
            const double met = network.reduce * 5.0 * levels + network.alpha * (2.0 * messages + 2.0 * levels) +
                               network.beta * 100.0 * (nparts - 1);
            assert_true(world_is_near(counted.seconds[p], simulated.seconds[p] + cpu + met));
            const double step = a.load[p] + counted.seconds[p];
            longest = step > longest ? step : longest;
            held += o.held * (double)a.held[p] / nparts;
        }
        assert_true(world_is_near(r.step_seconds, longest) && r.load_max == without.load_max);
        assert_true(world_is_near(r.step_seconds_ideal, r.load_mean + held) && r.overhead_seconds >= o.part);
        assert_ok(eqp__evaluation_overhead(e, NULL));
        assert_ok(eqp__evaluation_by_plan(e, &network, &plan, NULL, &r));
        assert_same(&r, &without);
        eqp_evaluation_free(other);
        eqp_evaluation_free(e);
    }
}

/* A part's need is what it holds, receives and sends, or what making a map takes if that exceeds the messages; a map
 * fits if no part needs more than it has. */
TEST(parts_need_memory)
{
    static const eqp_memory m = {.fixed = 1e6, .held = 200, .ghost = 50, .byte = 1.5};
    static const eqp_memory wrong[] = {{.fixed = -1}, {.held = NAN}, {.ghost = INFINITY}, {.byte = -1}};
    static assignment a;

    for (int nparts = 1; nparts <= WORLD_PARTS; nparts++) {
        const eqp_network network = {.alpha = 2e-6, .beta = 1e-9, .node = 1};
        const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
        world_traffic sent = {.seconds = {0}};
        double need[WORLD_PARTS] = {0}, capacity[WORLD_PARTS], own[WORLD_PARTS] = {0}, most = 0, mean = 0, use = 0;
        eqp_traffic traffic = arrays_of(&sent);
        eqp_evaluated r;
        assignment_make(nparts, &a);
        FREED(eqp_evaluation) *e = evaluation_of(&a, 0, 1);
        traffic.memory = need;
        for (int p = 0; p < nparts; p++) {
            capacity[p] = 1e6 * (1 + p % 3);
            own[p] = nparts % 2 * 1e3 * p;
        }
        assert_ok(eqp_evaluation_memory(e, &m, capacity, 0));
        for (int i = 0; i < COUNT_OF(wrong); i++) {
            assert_int_equal(eqp_evaluation_memory(e, &wrong[i], NULL, 0), EQP_ERR_DATA);
        }
        assert_refused(eqp_evaluation_memory(e, &m, capacity, 1));
        assert_ok(nparts % 2 != 0 ? eqp__evaluation_own(e, own) : EQP_OK);
        assert_ok(eqp__evaluation_by_plan(e, &network, &plan, &traffic, &r));
        for (int p = 0; p < nparts; p++) {
            const double messages = m.byte * (double)(sent.bytes_sent[p] + sent.bytes_received[p]),
                         is = m.fixed + m.held * (double)a.held[p] + m.ghost * (double)ghosts_of(&a, p) +
                              fmax(messages, own[p]);
            assert_true(world_is_near(need[p], is));
            most = is > most ? is : most;
            use = is / capacity[p] > use ? is / capacity[p] : use;
            mean += is / nparts;
        }
        assert_true(world_is_near(r.memory_max, most) && world_is_near(r.memory_mean, mean));
        assert_true(world_is_near(r.memory_use, use));
        assert_ok(eqp_evaluation_memory(e, &m, NULL, 1.25));
        assert_ok(evaluate_best(e, &network, &r));
        assert_true(world_is_near(r.memory_use, r.memory_max / (1.25 * r.memory_mean)));
        assert_ok(eqp_evaluation_memory(e, NULL, NULL, 0));
        assert_ok(evaluate_best(e, &network, &r));
        assert_true(r.memory_max == own[nparts - 1] && r.memory_use == 0);
    }
}

/* At least the size of its tables and a few times that at most, since hash tables and buffers have spare room. */
TEST(an_evaluation_reports_its_size)
{
    enum { BLOCKS = 100000, PARTS = 4 };
    static const int back[1] = {0}, ghosts[1] = {1};
    const double block = sizeof(eqp__block) + sizeof(eqp__slot), need = sizeof(uint64_t);
    FREED(eqp_evaluation) *e = NULL;

    assert_ok(eqp_evaluation_create(PARTS, 1, back, ghosts, &e));
    const double empty = eqp__evaluation_bytes(e);
    for (int64_t i = 0; i < BLOCKS; i++) {
        assert_ok(eqp_evaluation_block(e, 0, i, 8, 1, (int)(i % PARTS)));
        assert_ok(eqp_evaluation_need(e, 0, i, (int)((i + 1) % PARTS)));
    }
    const double grown = eqp__evaluation_bytes(e) - empty;
    assert_true(grown > BLOCKS * (block + need) && grown < 5 * BLOCKS * (block + need));
}

/* In a cycle every turn ends together, and all turns use the plan that is best overall. */
TEST(a_cycle_is_the_sum_of_its_turns)
{
    static const double times[2] = {1.0, 3.0}, wrong[2][2] = {{1, 0}, {1, INFINITY}};
    const eqp_network network = {.alpha = 2e-6, .beta = 1e-9, .node = 1};
    static assignment a, b;
    eqp_evaluated turn[2], cycle, one, least = {.step_seconds = INFINITY};
    eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];

    assignment_make(24, &a);
    assignment_make(24, &b);
    eqp_evaluation *e[2] = {evaluation_of(&a, 0, 1), evaluation_of(&b, 0, 1)}, *few = NULL;
    const int nplans = eqp__exchange_plans(24, &network, plan);
    for (int i = 0; i < nplans; i++) {
        assert_ok(eqp_evaluation_cycle(2, times, e, &network, &plan[i], turn, &cycle));
        for (int k = 0; k < 2; k++) {
            assert_ok(eqp__evaluation_by_plan(e[k], &network, &plan[i], NULL, &one));
            assert_same(&turn[k], &one);
        }
        assert_true(world_is_near(cycle.step_seconds, turn[0].step_seconds + 3 * turn[1].step_seconds));
        assert_true(world_is_near(cycle.load_max, turn[0].load_max + 3 * turn[1].load_max));
        assert_true(world_is_near((cycle.imbalance + 1) * cycle.load_mean, cycle.load_max));
        assert_true(cycle.ghosts_total == turn[0].ghosts_total + 3 * turn[1].ghosts_total);
        assert_true(cycle.bytes_total == turn[0].bytes_total + 3 * turn[1].bytes_total);
        assert_true(cycle.messages_max == larger(turn[0].messages_max, turn[1].messages_max));
        least = cycle.step_seconds < least.step_seconds ? cycle : least;
    }
    assert_ok(eqp_evaluation_cycle(2, times, e, &network, NULL, NULL, &cycle));
    assert_same(&cycle, &least);
    assert_memory_equal(&cycle.plan, &least.plan, sizeof cycle.plan);
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        assert_refused(eqp_evaluation_cycle(2, wrong[i], e, &network, NULL, NULL, &cycle));
    }
    assert_refused(eqp_evaluation_cycle(0, times, e, &network, NULL, NULL, &cycle));
    assert_ok(eqp_evaluation_create(23, PHASES, is_back, is_ghosts, &few));
    eqp_evaluation *const unlike[2] = {e[0], few};
    assert_refused(eqp_evaluation_cycle(2, times, unlike, &network, NULL, NULL, &cycle));
    eqp_evaluation_free(few);
    eqp_evaluation_free(e[0]);
    eqp_evaluation_free(e[1]);
}

TEST(evaluations_can_be_extended_after_a_result)
{
    static assignment a;
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    const eqp_exchange_plan plan = {EQP_STAGES_TWO, 4, 1};
    world_traffic simulated = {.seconds = {0}};
    FREED(eqp_evaluation) *e = NULL;
    eqp_evaluated r;

    assignment_make(24, &a);
    assert_ok(eqp_evaluation_create(24, PHASES, is_back, is_ghosts, &e));
    assert_ok(eqp__evaluation_by_plan(e, &network, &plan, NULL, &r));
    assert_true(r.step_seconds == 0 && r.imbalance == 0 && r.messages_max == 0);
    for (int who = 0; who < 3; who++) {
        /* Some needs may precede the declaration of the block. */
        tell(&a, who, 3, e);
        const int code = evaluate_best(e, &network, &r);
        assert_true(code == EQP_OK || (who < 2 && code == EQP_ERR_UNKNOWN));
    }
    const eqp_evaluated expected = by_force(&a, &network, &plan, &simulated);
    assert_ok(eqp__evaluation_by_plan(e, &network, &plan, NULL, &r));
    assert_same(&r, &expected);
}

/* Unequal speeds equal loads divided by them, except that the mean is that of the work. */
TEST(speeds_stretch_loads)
{
    static const double speed[] = {2, 6, 4}, relative[] = {0.5, 1.5, 1.0}, load[] = {3, 3, 5};
    static const double wrong[][3] = {
        {1, 0, 1}, {1, -1, 1}, {NAN, 1, 1}, {1, INFINITY, 1}, {DBL_MAX, DBL_MAX, DBL_MAX}};
    const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    FREED(eqp_evaluation) *e = NULL;
    eqp_evaluated r;

    assert_ok(eqp_evaluation_create(3, 0, NULL, NULL, &e));
    for (int p = 0; p < 3; p++) {
        assert_ok(eqp_evaluation_load(e, p, load[p]));
    }
    assert_ok(eqp__evaluation_speeds(e, speed));
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(eqp__evaluation_speeds(e, wrong[i]), EQP_ERR_DATA);
    }
    assert_ok(eqp__evaluation_by_plan(e, &network, &plan, NULL, &r));
    assert_true(fabs(r.load_max - load[0] / relative[0]) < 1e-14 && fabs(r.load_mean - 11.0 / 3.0) < 1e-14);
    assert_true(fabs(r.imbalance - (6.0 / (11.0 / 3.0) - 1.0)) < 1e-14 && r.step_seconds == r.load_max);
    assert_true(eqp__evaluation_loads(e)[0] == load[0]);
    assert_ok(eqp__evaluation_speeds(e, NULL));
    assert_ok(eqp__evaluation_by_plan(e, &network, &plan, NULL, &r));
    assert_true(r.load_max == 5.0 && fabs(r.imbalance - (5.0 / (11.0 / 3.0) - 1.0)) < 1e-14);
}
