/* SPDX-License-Identifier: BSD-3-Clause */
/* Words (short messages) between the ranks of a loop with a master. */
#include "loops/schedule_talk.h"

#include "base/internal.h"

#include <stdlib.h>

int eqp__loop_talk_create(const eqp_loop *loop, struct eqp__talk **talk)
{
    struct eqp__talk *t = NULL;
    int code = eqp_array_create(&t, 1, sizeof *t);

    EQP__CHECK(code);
    /* Per other rank at most two requests and answers, an awaited bundle and a result. */
    t->nslots = 4 * loop->nranks + 16;
    code = EQP__ARRAYS(EQP__ARRAY(t->slot, t->nslots), EQP__ARRAY(t->row, loop->rank == 0 ? loop->nranks : 0));
    if (code) {
        eqp__loop_talk_free(t);
        return code;
    }
    for (int i = 0; i < t->nslots; i++) {
        t->slot[i].request = MPI_REQUEST_NULL;
    }
    *talk = t;
    return EQP_OK;
}

void eqp__loop_talk_free(struct eqp__talk *talk)
{
    if (talk) {
        EQP__FREE(talk->slot, talk->row, talk->sent, talk);
    }
}

void eqp__talk_fail(struct eqp__talk *talk, int code)
{
    talk->failed = talk->failed ? talk->failed : code;
}

int eqp__talk_slot(struct eqp__talk *t, eqp__slot **found)
{
    for (;;) {
        for (int i = 0; i < t->nslots; i++) {
            int free_again;
            EQP__CHECK(EQP__MPI(MPI_Test(&t->slot[i].request, &free_again, MPI_STATUS_IGNORE)));
            if (free_again) {
                *found = &t->slot[i];
                return EQP_OK;
            }
        }
    }
}

static int handle(eqp_loop *loop, const eqp__word *w)
{
    switch (w->kind) {
    case EQP__REQUEST:
        return eqp__serve(loop, w);
    case EQP__YIELD:
        return eqp__bundle_send(loop, w->rank, w->first, w->count);
    case EQP__SPLIT:
        return eqp__loop_give(loop, w->rank);
    default:
        loop->talk->answer = *w;
        loop->talk->answered = true;
        return EQP_OK;
    }
}

int eqp__talk_say(eqp_loop *loop, int to, eqp__word w)
{
    /* Results are received one at a time, so they are announced first. */
    const int tag = w.kind == EQP__RESULT ? EQP__TAG_HEAD : EQP__TAG_WORDS;
    eqp__slot *s;

    w.from = loop->rank;
    if (to == loop->rank) {
        return handle(loop, &w);
    }
    EQP__CHECK(eqp__talk_slot(loop->talk, &s));
    s->word = w;
    return MPI_Isend(&s->word, (int)sizeof s->word, MPI_BYTE, to, tag, loop->comm, &s->request) ? EQP_ERR_MPI : EQP_OK;
}

int eqp__talk_listen(eqp_loop *loop)
{
    int code = eqp__bundles_see_to(loop);

    /* A probe may report a message that the previous probe brought in. */
    for (int missed = 0; !code && missed < 2;) {
        MPI_Status status;
        eqp__word w;
        int there;
        EQP__CHECK(EQP__MPI(MPI_Iprobe(MPI_ANY_SOURCE, EQP__TAG_WORDS, loop->comm, &there, &status)));
        if (!there) {
            missed++;
            continue;
        }
        EQP__CHECK(EQP__MPI(
            MPI_Recv(&w, (int)sizeof w, MPI_BYTE, status.MPI_SOURCE, EQP__TAG_WORDS, loop->comm, MPI_STATUS_IGNORE)));
        code = handle(loop, &w);
    }
    return code;
}

/* Rank 0 decides (sections 3.6 and 3.7 of the thesis). Its table holds the unassigned iterations of
 * each rank's part. A rank works on its part first; then it helps where most is left. */

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
    return loop->options.most_given > 0 ? loop->options.most_given : INT64_MAX;
}

static int hand_chunk(eqp_loop *loop, int rank, int pool, int64_t count)
{
    /* The pools of owned methods are the parts. */
    const int source = loop->schedule->npools > 1 ? pool : find_source(loop, rank);
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
    loop->talk->row[rank].empty = source != rank;
    /* The receiver is told first, so that it is ready for the data. */
    code = eqp__talk_say(loop, rank, w);
    if (!code && source != rank) {
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
    r[rank].empty = true;
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
