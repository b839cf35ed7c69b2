/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording a step. */
#include "late/late.h"

#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

enum { TURN_NUMBERS = 2 * EQP_CYCLE_PHASES };

/* Two numbers for each phase of a cycle: seconds measured in forces, and seconds by the cost model. Without a cycle
 * nothing is sent. */
typedef struct turns {
    int n;                     /* phases; at most 1: nothing is sent */
    double sum[TURN_NUMBERS];  /* of this rank; then summed over the ranks */
    double most[TURN_NUMBERS]; /* of this rank, the cost model's at its speed; then the maximum over the ranks */
} turns;

static turns turns_of(const eqp_balancer *b, const eqp_work *work)
{
    turns t = {.n = work->nphases};

    for (int k = 0; k < t.n && t.n > 1; k++) {
        t.sum[2 * k] = t.most[2 * k] = work->phase_load[k];
        t.sum[2 * k + 1] = eqp_cost_fit_predict(&b->costs.fit, work->phase_count + (size_t)k * (size_t)b->model.nkinds);
        t.most[2 * k + 1] = t.sum[2 * k + 1] / work->row->speed;
    }
    return t;
}

/* Gathers the rows on all ranks, so that all ranks draw the same conclusions; whole ones if the caller wants them. */
static int gather_rows(eqp_balancer *b, const eqp_work *work, size_t bytes)
{
    char *const rows = work->rows != NULL ? work->rows : (void *)b->row;
    const size_t size = work->rows != NULL ? bytes : sizeof *b->row;
    const int n = (int)(size / sizeof(double));

    EQP__CHECK(EQP__MPI(EQP__WAITS(MPI_Allgather(work->row, n, MPI_DOUBLE, rows, n, MPI_DOUBLE, b->comm))));
    for (int r = 0; r < b->nranks && work->rows != NULL; r++) {
        memcpy(&b->row[r], rows + (size_t)r * bytes, sizeof *b->row);
    }
    return EQP_OK;
}

static double uneven(double most, double sum, int n)
{
    return sum > 0.0 ? fmax(most * n / sum - 1.0, 0.0) : 0.0;
}

/* Imbalance of the phases, and the time all ranks wait in them beyond the seconds of the rank with the largest
 * total. */
static void take_turns(eqp_balancer *b, const turns *t)
{
    eqp_step *step = &b->now;
    double load = 0.0, predicted = 0.0, most_load = 0.0, most_predicted = 0.0;

    step->nphases = t->n > 1 ? t->n : 1;
    memset(step->phase_measured, 0, sizeof step->phase_measured);
    memset(step->phase_predicted, 0, sizeof step->phase_predicted);
    for (int k = 0; k < t->n && t->n > 1; k++) {
        step->phase_measured[k] = uneven(t->most[2 * k], t->sum[2 * k], b->nranks);
        step->phase_predicted[k] = uneven(t->most[2 * k + 1], t->sum[2 * k + 1], b->nranks);
        load += t->most[2 * k];
        predicted += t->most[2 * k + 1];
    }
    for (int r = 0; r < b->nranks; r++) {
        most_load = fmax(most_load, b->row[r].load);
        most_predicted = fmax(most_predicted, b->row[r].predicted);
    }
    b->lost_load = most_load > 0.0 ? fmax(load - most_load, 0.0) : 0.0;
    b->lost_work = fmax(predicted - most_predicted, 0.0);
}

/* Mean of the loads in two rounds, the second about the mean of the first. */
static double mean_of(int n, const double *load)
{
    double first = 0.0, beyond = 0.0;

    for (int r = 0; r < n; r++) {
        first += load[r];
    }
    first /= n;
    for (int r = 0; r < n; r++) {
        beyond += load[r] - first;
    }
    return (beyond + n * first) / n;
}

/* EQP_ERR_DATA for loads that are negative or not finite. */
static int take_imbalances(eqp_balancer *b)
{
    eqp_step *const step = &b->now;
    double work = 0.0, next = 0.0, most_next = 0.0, most = 0.0, predicted = 0.0;

    for (int r = 0; r < b->nranks; r++) {
        const eqp_rank_row *row = &b->row[r];
        EQP__FAIL_IF(!eqp__is_amount(row->load) || !eqp__is_amount(row->predicted), EQP_ERR_DATA);
        b->load[r] = row->load;
        most = fmax(most, row->load);
        predicted = fmax(predicted, row->predicted);
        work += row->work / b->nranks;
        next += row->next;
        most_next = fmax(most_next, row->next / row->speed);
    }
    const double mean = mean_of(b->nranks, b->load);
    EQP__FAIL_IF(!isfinite(mean), EQP_ERR_OVERFLOW);
    step->imbalance_measured = b->lost_load > 0 ? (most + b->lost_load) / mean - 1.0 : uneven(most, mean, 1);
    step->imbalance_predicted = work > 0 ? fmax((predicted + b->lost_work) / work - 1.0, 0.0) : 0.0;
    const double lost_next = work > 0 ? b->lost_work * next / (work * b->nranks) : 0.0; /* costs may have changed */
    step->imbalance_work = next > 0 ? (most_next + lost_next) * b->nranks / next - 1.0 : 0.0;
    step->load_max = most + b->lost_load;
    step->load_mean = mean;
    step->cycle_efficiency = 1.0 / (1.0 + step->imbalance_measured);
    return EQP_OK;
}

/* Seconds of the busiest rank, predicted and measured; fits the overheads in steps that kept their map. evaluations: of
 * forces, in the step. */
static int take_overheads(eqp_balancer *b, int64_t evaluations, bool kept)
{
    double predicted = 0.0, measured = 0.0;
    bool known = true;

    for (int r = 0; r < b->nranks; r++) {
        eqp_rank_row *row = &b->row[r];
        known = known && row->busy_seconds > 0;
        row->overhead = eqp__overheads_predict(&b->overheads, row, evaluations) / row->speed;
        predicted = fmax(predicted, row->predicted + row->overhead);
        measured = fmax(measured, row->busy_seconds);
    }
    measured += b->lost_load;
    predicted += b->lost_work;
    b->now.step_measured = known ? measured : 0.0;
    b->now.step_predicted = known ? predicted * eqp__overheads_factor(&b->overheads) : 0.0;
    if (kept && known) {
        eqp__overheads_scatter(&b->overheads, measured, predicted);
    }
    return kept ? eqp__overheads_learn(&b->overheads, b->nranks, b->row, evaluations) : EQP_OK;
}

/* Converts a caller's number to a count. */
static int64_t count_of(double x)
{
    return x >= 0x1p62 ? INT64_C(1) << 62 : x <= -0x1p62 ? -(INT64_C(1) << 62) : isnan(x) ? 0 : (int64_t)x;
}

static void add_up(eqp_balancer *b)
{
    eqp_step *const step = &b->now;
    double interactions = 0, migrated = 0, ghosts = 0, ghosts_max = 0, bytes = 0, handed = 0;
    double moved = 0, total = 0, bytes_max = 0, messages_max = 0;

    step->balance_seconds = step->exchange_seconds = 0;
    for (int r = 0; r < b->nranks; r++) {
        const eqp_rank_row *row = &b->row[r];
        interactions += row->interactions;
        migrated += row->migrated;
        ghosts += row->ghosts;
        ghosts_max = fmax(ghosts_max, row->ghosts);
        bytes += row->bytes_sent;
        moved += row->bytes_moved;
        total += row->last_bytes_sent;
        bytes_max = fmax(bytes_max, fmax(row->last_bytes_sent, row->last_bytes_received));
        messages_max = fmax(messages_max, fmax(row->last_messages_sent, row->last_messages_received));
        handed += row->helped;
        step->exchange_seconds = fmax(step->exchange_seconds, row->exchange_seconds);
        step->balance_seconds = fmax(step->balance_seconds, row->balance_seconds);
    }
    step->interactions = count_of(interactions);
    step->migrated = count_of(migrated);
    step->ghosts_total = count_of(ghosts);
    step->ghosts_max = count_of(ghosts_max);
    step->bytes_sent = count_of(bytes);
    step->bytes_moved = count_of(moved);
    step->bytes_total = count_of(total);
    step->bytes_max = count_of(bytes_max);
    step->messages_max = count_of(messages_max);
    step->handed = count_of(handed);
}

/* Seconds used for decisions: measured, or counted if costs are fixed. */
typedef struct deciding {
    double load_max, load_mean;
    double step;     /* of the busiest rank; 0: unknown */
    double exchange; /* of the largest rank */
    double map;      /* for making the map before the step, on the slowest rank */
} deciding;

/* Modelled seconds for making the map before the step, trials included. even_step: seconds of a balanced step. */
static double nominal_map(const eqp_balancer *b, double even_step)
{
    const eqp_method *method = b->options.method.method;
    eqp_choice last;

    if (b->now.action != EQP_RENEW) {
        return b->now.action == EQP_REPAIR ? eqp__nominal_map(&eqp__method_repair, even_step) : 0.0;
    }
    if (method == &eqp__method_auto && !b->run.kept &&
        eqp__auto_last(&b->memory, b->problem.own, &b->options.method.options, &last, NULL) == EQP_OK) {
        method = last.method;
    }
    return eqp__nominal_map(method, even_step) + b->memory.beyond;
}

/* Replaces measured by counted seconds in the rows and loads. evaluations: of forces, in the step. */
static deciding count_seconds(eqp_balancer *b, double evaluations)
{
    const bool whole = b->now.step_measured > 0.0;
    deciding is = {.load_max = 0.0};
    double even = 0.0, busiest = 0.0;

    for (int r = 0; r < b->nranks; r++) {
        eqp_rank_row *row = &b->row[r];
        row->load = b->load[r] = row->predicted;
        row->busy_seconds = whole ? row->predicted + row->overhead : 0.0;
        is.load_max = fmax(is.load_max, row->load);
        is.load_mean += row->load / b->nranks;
        busiest = fmax(busiest, row->busy_seconds);
        even += (row->predicted + row->overhead) / (b->nranks * evaluations);
    }
    b->lost_load = b->lost_work;
    is.load_max += b->lost_work;
    is.step = whole ? busiest + b->lost_work : 0.0;
    is.map = nominal_map(b, even);
    return is;
}

static double sending_seconds(const eqp_balancer *b, const eqp_rank_row *row)
{
    return b->options.network.beta * row->bytes_sent;
}

/* Imbalance of work, overhead and messages, all counted. */
static double unevenness(const eqp_balancer *b)
{
    double most = 0.0, sum = 0.0;

    for (int r = 0; r < b->nranks; r++) {
        const eqp_rank_row *row = &b->row[r];
        const double own = row->predicted + row->overhead;
        most = fmax(most, own + sending_seconds(b, row));
        sum += own;
    }
    return sum > 0.0 ? (most + b->lost_work) * b->nranks / sum - 1.0 : 0.0;
}

/* Passes the step on to the memory of `auto`. */
static void remember_map(eqp_balancer *b, const deciding *is)
{
    const bool fresh = b->now.action == EQP_RENEW && !b->run.kept;
    const double step = is->step > 0.0 ? is->step : is->load_max + is->exchange;

    eqp__auto_record(&b->memory, fresh, unevenness(b), step, b->now.rebalanced ? is->map : 0.0);
}

static double whole_step(const eqp_balancer *b, const deciding *is)
{
    double most = 0.0;

    for (int r = 0; r < b->nranks; r++) {
        const eqp_rank_row *row = &b->row[r];
        const double own = is->step > 0.0 ? row->busy_seconds : row->load;
        most = fmax(most, own + sending_seconds(b, row));
    }
    return most + b->lost_load;
}

/* Imbalance of the counted work, including its exchange; of the last evaluation, if the step has several and counts
 * it separately. promised: the imbalance that the map promised. Any excess counts only as far as a new map could
 * shorten the step, since ranks with less work may not send less. The first step of a map is judged without its
 * messages, most of which belong to the move. */
static double work_imbalance(const eqp_balancer *b, const eqp_work *work, double promised)
{
    const double evaluations = fmax((double)work->evaluations, 1.0);
    const double times = work->last != NULL ? 1.0 : evaluations, held = times * eqp__overheads_now(&b->overheads).held;
    double mean = 0.0, now = 0.0, then = 0.0;

    for (int r = 0; r < b->nranks; r++) {
        const eqp_rank_row *row = &b->row[r];
        mean += ((work->last != NULL ? row->next : row->work) + held * row->particles) / b->nranks;
    }
    for (int r = 0; r < b->nranks; r++) {
        const eqp_rank_row *row = &b->row[r];
        const double own = ((work->last != NULL ? row->next : row->work) + held * row->particles) / row->speed;
        const double all = (row->overhead + sending_seconds(b, row)) * times / evaluations;
        const double overhead = b->now.rebalanced ? 0.0 : fmax(all - held * row->particles / row->speed, 0.0);
        now = fmax(now, own + overhead);
        then = fmax(then, mean * (1.0 + promised) + overhead);
    }
    if (mean <= 0.0) {
        return 0.0;
    }
    now += b->lost_work;
    return b->now.rebalanced ? fmax(now / mean - 1.0, 0.0) : promised + fmax(now - then, 0.0) / mean; /* rounding */
}

/* Cost of another map by the present method, without trials. */
static double map_seconds(const eqp_balancer *b, const deciding *is)
{
    const double beyond = b->now.action == EQP_RENEW ? b->memory.beyond : 0.0;

    return fmax(is->map - beyond, 0.0);
}

/* The step as input for the policy. Maps of methods that do not weigh, or with work handed out, promise nothing;
 * `feedback` uses loads only. */
static eqp_policy_sample sample_of(eqp_balancer *b, const eqp_work *work, const deciding *is)
{
    const eqp_step *now = &b->now;
    const bool feedback = b->feedback != NULL, promises = eqp__method_weighs(b->options.method.method) &&
                                                          !b->options.handed_out && !b->run.kept &&
                                                          !b->calibration.now.scaled; /* of other weights */

    return (eqp_policy_sample){
        .seconds_max = feedback || is->load_mean <= 0.0 ? is->load_max : whole_step(b, is),
        .seconds_mean = is->load_mean,
        .rebalanced = now->rebalanced,
        .balance_seconds = map_seconds(b, is),
        .work_imbalance = feedback ? 0.0 : work_imbalance(b, work, promises ? now->imbalance_promised : 0.0),
        .promised = promises ? now->imbalance_promised : -1.0,
        .repaired = now->action == EQP_REPAIR,
        .repairable = eqp__can_repair(b),
        .hidden = eqp__rank_noise_record(&b->noise, b->load, now->rebalanced, b->policy.options.false_alarms)};
}

/* The first force evaluation, of which only the load is known, counts as long as the first whole step, which has the
 * same map. */
static int complete_first(eqp_balancer *b, const eqp_hindsight_step *whole)
{
    if (b->now.step_measured > 0.0) {
        b->first.seconds_max = whole->seconds_max;
        b->first.seconds_mean = whole->seconds_mean;
        b->policy.reached = b->feedback == NULL ? b->policy.imbalance : b->policy.reached; /* of loads */
    }
    eqp__noise_renew(&b->policy.noise, 0.0, 0); /* the first step is not typical of its map */
    b->in_part = false;
    return eqp__hindsight_add(b->hindsight, &b->first);
}

/* Records the step for eqp_balancer_regret(), by measured seconds only. */
static int remember(eqp_balancer *b, const eqp_policy_sample *sample)
{
    const bool counted = sample->promised >= 0.0 && b->feedback == NULL;
    const double most = b->now.step_measured > 0.0 ? b->now.step_measured : b->now.load_max;
    const eqp_hindsight_step step = {.seconds_max = most,
                                     .seconds_mean = fmin(b->now.load_mean, most), /* rounding */
                                     .rebalanced = sample->rebalanced,
                                     .balance_seconds = b->now.balance_seconds,
                                     .aged = counted ? fmax(sample->work_imbalance - sample->promised, 0.0) : -1.0};

    if (b->now.step_measured <= 0.0 && !b->run.has_map) {
        b->first = step;
        b->in_part = true;
        return EQP_OK;
    }
    EQP_CHECK(b->in_part ? complete_first(b, &step) : EQP_OK);
    return eqp__hindsight_add(b->hindsight, &step);
}

int eqp_balancer_regret(const eqp_balancer *balancer, eqp_regret *regret, int64_t *n, eqp_hindsight_stretch **schedule)
{
    EQP_REQUIRE(balancer && (regret || schedule) && (schedule == NULL) == (n == NULL));
    return eqp__hindsight_regret(balancer->hindsight, regret, n, schedule);
}

/* Numbers summed over the ranks in a step: reports of batches, then the caller's numbers. */
enum { TOLD = EQP__COSTS_TOLD + EQP_MEET_SUMS, SHARED = 3, LEAST = SHARED + EQP_MEET_LOWS };
_Static_assert(LEAST + TURN_NUMBERS <= EQP__AGREE_MOST && TOLD + TURN_NUMBERS <= EQP__MEET_MOST, "room in a meeting");

/* The allreduce of the step. Predictions use the costs known before the step. code: of this rank so far. */
static int meet(eqp_balancer *b, const eqp_work *work, size_t bytes, turns *t, int code)
{
    const int more = b->problem.cycle != NULL ? TURN_NUMBERS : 0; /* the same on all ranks */
    const int nsums = code == EQP_OK ? work->nsums : 0, nlows = code == EQP_OK ? work->nlows : 0;
    const int64_t alike[] = {(int64_t)bytes,
                             code == EQP_OK ? work->evaluations : 0,
                             code == EQP_OK && work->last,
                             code == EQP_OK && work->rows,
                             code == EQP_OK && work->moved,
                             t->n,
                             b->surveying,
                             b->left,
                             nsums,
                             nlows};
    int64_t least[LEAST + TURN_NUMBERS] = {0, 0, eqp__late_look(b)};
    double told[TOLD + TURN_NUMBERS] = {0};

    eqp__put_value(least, eqp_fingerprint(0, (int64_t)(sizeof alike / sizeof alike[0]), alike));
    for (int k = 0; k < nlows; k++) {
        least[SHARED + k] = eqp__rank_of_double(work->low[k]);
    }
    for (int k = 0; k < nsums; k++) {
        told[EQP__COSTS_TOLD + k] = work->sum[k];
    }
    memcpy(told + TOLD, t->sum, sizeof t->sum);
    for (int i = 0; i < TURN_NUMBERS; i++) {
        least[LEAST + i] = eqp__rank_of_double(-t->most[i]);
    }
    code = code == EQP_OK ? eqp__costs_tell(&b->costs, work->timings != NULL ? work->timings : b->own, told) : code;
    EQP_TRY(eqp__meet(b->comm, code, LEAST + more, least, TOLD + more, told, NULL));
    memcpy(t->sum, told + TOLD, sizeof t->sum);
    for (int i = 0; i < TURN_NUMBERS; i++) {
        t->most[i] = -eqp__double_of_rank(least[LEAST + i]);
    }
    EQP_TRY(eqp__pair_differs(least) ? EQP_ERR_ARGUMENT : EQP_OK);
    for (int k = 0; k < nlows; k++) {
        work->low[k] = eqp__double_of_rank(least[SHARED + k]);
    }
    if (nsums > 0) {
        memcpy(work->sum, told + EQP__COSTS_TOLD, (size_t)nsums * sizeof *work->sum);
    }
    eqp__late_hear(b, least[2]); /* the same reduction tells which offers have arrived */
    EQP_TRY(eqp__costs_hear(&b->costs, told, &b->now.correlation));
done:
    return code;
}

/* Checks the phases; several require a problem with a cycle. */
static bool can_be_phases(const eqp_balancer *b, const eqp_work *work)
{
    bool can_be = work->nphases >= 0 && work->nphases <= EQP_CYCLE_PHASES;

    if (work->nphases > 1) {
        can_be = can_be && b->problem.cycle != NULL && work->phase_load != NULL && work->phase_count != NULL;
    }
    for (int k = 0; can_be && k < work->nphases && work->nphases > 1; k++) {
        can_be = work->phase_load[k] >= 0 && isfinite(work->phase_load[k]);
    }
    return can_be;
}

static bool can_be(const eqp_work *work)
{
    return work != NULL && work->row != NULL && work->count != NULL && work->evaluations >= 0 &&
           work->row_bytes % sizeof(double) == 0 && (work->row_bytes == 0 || work->row_bytes >= sizeof *work->row) &&
           work->nsums >= 0 && work->nsums <= EQP_MEET_SUMS && (work->nsums == 0 || work->sum != NULL) &&
           work->nlows >= 0 && work->nlows <= EQP_MEET_LOWS && (work->nlows == 0 || work->low != NULL);
}

/* Bytes of memory that this rank needs, with the exchange of its last evaluation. */
static double memory_of(const eqp_balancer *b, const eqp_work *work)
{
    const eqp_memory *m = &b->bounds.model;
    const eqp_rank_row *row = work->row;
    const double evaluations = fmax((double)work->evaluations, 1.0);

    return m->fixed + m->held * row->particles + m->ghost * row->ghosts / evaluations +
           fmax(m->byte * (row->last_bytes_sent + row->last_bytes_received), b->own_bytes);
}

/* Fills the balancer's part of this rank's row. The cost of a map is the CPU time spent on making it, unless the
 * caller measured more. */
static void predict(const eqp_balancer *b, const eqp_work *work)
{
    if (work->row->balance_seconds == 0.0) {
        work->row->balance_seconds = b->map_seconds;
    }
    work->row->work = eqp_cost_fit_predict(&b->costs.fit, work->count);
    work->row->speed = eqp_part_speed(eqp__rank_shares_speeds(b->shares), b->rank);
    work->row->predicted = work->row->work / work->row->speed;
    work->row->memory = memory_of(b, work);
}

/* Largest use of the ranks' capacities. */
static void take_memory(eqp_balancer *b)
{
    const eqp_part_memory *memory = &b->bounds;
    double mean = 0.0, use = 0.0, most = 0.0;

    for (int r = 0; r < b->nranks; r++) {
        mean += b->row[r].memory / b->nranks;
        most = fmax(most, b->row[r].memory);
        use = memory->n > 0 ? fmax(use, b->row[r].memory / memory->bytes[r % memory->n]) : 0.0;
    }
    b->now.memory_max = most;
    b->now.memory_use = memory->of_mean > 0 && mean > 0 ? most / (memory->of_mean * mean) : use;
}

static void tell(const eqp_balancer *b, eqp_step *step)
{
    const size_t size = step->size != 0 ? step->size : EQP_STRUCT_UP_TO(eqp_step, why);
    eqp_step now = b->now;

    now.size = step->size;
    now.step = step->step;
    now.time = step->time;
    memcpy(step, &now, size < sizeof now ? size : sizeof now);
}

/* Learns the cost of the new map that the last step began with, made in line or late. */
static void learn_map_cost(eqp_balancer *b)
{
    if (b->now.action == EQP_RENEW && b->now.map_age > 0) {
        b->run.take_seconds = b->now.balance_seconds;
        b->run.late = b->now.map_age;
    } else if (b->now.action == EQP_RENEW) {
        b->run.inline_seconds = b->now.balance_seconds;
    }
}

int eqp_balancer_record(eqp_balancer *balancer, const eqp_work *given, eqp_step *step)
{
    eqp_balancer *const b = balancer;
    eqp_work mine = eqp_work_defaults();
    const eqp_work *const work =
        eqp_struct_take(&mine, given, EQP_STRUCT_UP_TO(eqp_work, low)) == EQP_OK ? &mine : NULL;
    size_t bytes = sizeof(eqp_rank_row);
    turns t = {.n = 0};
    bool foretold = false; /* costs were known, so predictions are in seconds */
    /* a longer step of a later version: known members are set, the rest stay */
    const bool can_tell = step == NULL || step->size == 0 || step->size >= offsetof(eqp_step, rebalanced);
    int code = can_be(work) && can_tell && work->code <= 0 ? work->code : EQP_ERR_ARGUMENT;

    EQP__FAIL_IF(b == NULL, EQP_ERR_ARGUMENT);
    code = code == EQP_OK && !can_be_phases(b, work) ? EQP_ERR_ARGUMENT : code;
    if (code == EQP_OK) {
        bytes = work->row_bytes > 0 ? work->row_bytes : bytes;
        predict(b, work);
        t = turns_of(b, work);
        foretold = b->costs.known;
        eqp_timings_clear(b->own);
        code = work->timings == NULL ? eqp_timings_add(b->own, work->count, work->row->load) : EQP_OK;
    }
    EQP_TRY(meet(b, work, bytes, &t, code));
    eqp_timings_clear(work->timings);
    work->row->next = eqp_cost_fit_predict(&b->costs.fit, work->last != NULL ? work->last : work->count);
    EQP_TRY(gather_rows(b, work, bytes));
    take_turns(b, &t);
    take_memory(b);
    EQP_TRY(take_imbalances(b));
    add_up(b);
    if (b->unpaid) { /* assume the cost of the last map of the same kind */
        b->now.balance_seconds = b->run.action == EQP_REPAIR ? b->policy.repair_seconds : b->policy.balance_seconds;
    }
    EQP_TRY(
        take_overheads(b, work->evaluations > 0 ? work->evaluations : 1, !work->moved && b->run.action == EQP_KEEP));
    eqp__rank_shares_learn(b->shares, work->evaluations > 0 ? work->evaluations : 1, b->row);
    b->now.action = work->moved ? EQP_RENEW : (eqp_policy_action)b->run.action;
    b->now.rebalanced = b->now.action != EQP_KEEP;
    const deciding is = b->costs.fixed ? count_seconds(b, fmax((double)work->evaluations, 1.0))
                                       : (deciding){b->now.load_max, b->now.load_mean, b->now.step_measured,
                                                    b->now.exchange_seconds, b->now.balance_seconds};
    if (foretold) {
        eqp__calibration_learn(&b->calibration, b->row, b->noise.now.spread);
    }
    if (work->moved && b->now.why[0] == '\0') {
        snprintf(b->now.why, sizeof b->now.why, "the caller has renewed the division");
    }
    b->now.lazy = b->news;
    b->now.map_age = b->run.clock - 1 - b->born;
    learn_map_cost(b);
    remember_map(b, &is);
    const eqp_policy_sample sample = sample_of(b, work, &is);
    (void)eqp__policy_expect(&b->policy, b->left); /* the same on all ranks, as are its consequences */
    EQP_TRY(eqp__policy_record(&b->policy, &sample));
    b->left = b->policy.left;
    EQP_TRY(remember(b, &sample));
    EQP_TRY(eqp__feedback_steps_record(b->feedback, b->row, b->now.rebalanced));
    b->run.has_map = true;
    b->surveyed = b->surveying;
    b->surveying = false;
    b->run.action = EQP_KEEP;
    b->map_seconds = 0.0;
    b->unpaid = false;
    if (step != NULL) {
        tell(b, step);
    }
    b->now.why[0] = '\0';
done:
    if (code != EQP_OK) { /* drop a survey that only some ranks asked for */
        b->surveyed = b->surveying = false;
    }
    return code;
}
