/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 decides (sections 3.6 and 3.7 of the thesis, see schedule.h). Its table holds the unassigned iterations of
 * each rank's part. A rank works on its part first; then it helps where most is left. */
#include "loops/schedule_talk.h"

void eqp__serve_begin(eqp_loop *loop)
{
    struct eqp__talk *t = loop->talk;

    t->here = loop->nranks;
    t->stop = false;
    for (int r = 0; r < loop->nranks && loop->rank == 0; r++) {
        const eqp_schedule_chunk part = eqp_loop_part(loop, r);
        t->row[r] = (eqp__row){part.first, part.first + part.count, 0, false};
    }
}

/* The rank's own part, or else the one with most left. */
static int find_source(const eqp_loop *loop, int rank)
{
    const eqp__row *r = loop->talk->row;
    int best = rank;

    for (int k = 0; k < loop->nranks && r[rank].next == r[rank].end; k++) {
        best = r[k].end - r[k].next > r[best].end - r[best].next ? k : best;
    }
    return best;
}

/* The rank with the longest chunk that can be divided; -1: none. */
static int find_longest(const eqp_loop *loop, int rank)
{
    const eqp__row *r = loop->talk->row;
    int best = -1;

    for (int k = 0; k < loop->nranks && loop->options.yield; k++) {
        if (k != rank && r[k].count > 1 && !r[k].empty && (best < 0 || r[k].count > r[best].count)) {
            best = k;
        }
    }
    return best;
}

/* Takes half of a part that its rank has not started, for methods that leave every rank its part. The last iteration
 * stays. */
static int64_t find_unbegun(const eqp_loop *loop, int rank, int *pool)
{
    if (!loop->options.yield || loop->schedule->left == 0) {
        return 0;
    }
    *pool = find_source(loop, rank);
    return (loop->talk->row[*pool].end - loop->talk->row[*pool].next) / 2;
}

int64_t eqp__loop_most_given(const eqp_loop *loop)
{
    const int64_t most = loop->options.bundles ? loop->options.most_given : loop->piece;

    return most > 0 ? most : INT64_MAX;
}

static int hand_chunk(eqp_loop *loop, int rank, int pool, int64_t count)
{
    const eqp_loop_options *o = &loop->options;
    /* With bundles, the pools of owned methods are the parts. */
    const int source = o->bundles && loop->schedule->npools > 1 ? pool : find_source(loop, rank);
    const int64_t most = eqp__loop_most_given(loop);
    eqp__row *part = &loop->talk->row[source];
    eqp__word w = {.kind = EQP__ASSIGN, .rank = source};
    int code;

    w.count = count < part->end - part->next ? count : part->end - part->next;
    w.count = source != rank && w.count > most ? most : w.count;
    eqp__schedule_take(loop->schedule, rank, pool, loop->schedule->next[pool], w.count);
    if (source == rank) {
        w.first = part->next;
        part->next += w.count;
    } else {
        part->end -= w.count;
        w.first = part->end;
    }
    loop->talk->row[rank].count = w.count;
    loop->talk->row[rank].empty = o->bundles && source != rank;
    /* The receiver is told first, so that it is ready for the data. */
    code = eqp__talk_say(loop, rank, w);
    if (!code && source != rank && (o->bundles || o->data_bytes + o->result_bytes > 0)) {
        code = eqp__talk_say(loop, source,
                             (eqp__word){.kind = EQP__YIELD, .rank = rank, .first = w.first, .count = w.count});
    }
    return code;
}

/* Takes half of the longest chunk that rank 0 knows of. */
static int split_chunk(eqp_loop *loop, int rank, int longest)
{
    eqp__row *r = loop->talk->row;
    const int64_t half = r[longest].count / 2, most = eqp__loop_most_given(loop);

    r[rank].count = half < most ? half : most;
    r[rank].empty = loop->options.bundles;
    r[longest].count -= r[rank].count;
    return eqp__talk_say(loop, longest, (eqp__word){.kind = EQP__SPLIT, .rank = rank});
}

int eqp__serve(eqp_loop *loop, const eqp__word *w)
{
    struct eqp__talk *t = loop->talk;
    const eqp_schedule_sample sample = {w->count, w->time[0], w->time[1], w->time[2]};
    int64_t count = 0;
    int pool = 0, longest;

    t->stop = t->stop || w->failed;
    t->row[w->from].count = 0;
    t->row[w->from].empty = false;
    if (w->rank >= 0) {
        t->row[w->rank].empty = true;
    }
    if (w->from != loop->rank && w->count > 0) {
        (void)eqp__schedule_record(loop->schedule, w->from, &sample);
    }
    if (!t->stop) {
        eqp__schedule_propose(loop->schedule, w->from, &pool, &count);
        count = count > 0 ? count : find_unbegun(loop, w->from, &pool);
    }
    if (count > 0) {
        return hand_chunk(loop, w->from, pool, count);
    }
    longest = t->stop ? -1 : find_longest(loop, w->from);
    if (longest >= 0) {
        return split_chunk(loop, w->from, longest);
    }
    t->here--;
    return eqp__talk_say(loop, w->from, (eqp__word){.kind = EQP__LEAVE});
}
