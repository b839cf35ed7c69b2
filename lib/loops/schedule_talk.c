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
    t->sending[0] = t->sending[1] = MPI_REQUEST_NULL;
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
        return eqp__loop_yield(loop, w);
    case EQP__SPLIT:
        return eqp__loop_give(loop, w->rank);
    case EQP__RESULT:
        return eqp__loop_receive_result(loop, w);
    default:
        loop->talk->answer = *w;
        loop->talk->answered = true;
        return EQP_OK;
    }
}

int eqp__talk_say(eqp_loop *loop, int to, eqp__word w)
{
    /* Results of bundles are received one at a time, so they are announced first. */
    const int tag = w.kind == EQP__RESULT && loop->options.bundles ? EQP__TAG_HEAD : EQP__TAG_WORDS;
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
    int code = loop->options.bundles ? eqp__bundles_see_to(loop) : EQP_OK;

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
