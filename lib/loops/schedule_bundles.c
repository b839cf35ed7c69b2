/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterations that travel in bundles: the owner packs data, a helper computes a result from them, the owner unpacks it.
 * The size of a bundle is known from the message only. A failed rank sends empty data, and a word in place of a result,
 * since both are awaited. */
#include "loops/schedule_talk.h"

#include "base/internal.h"

#include <limits.h>
#include <stdlib.h>

/* Reserves room for one more message before it is announced. */
static int make_room(struct eqp__talk *t)
{
    return eqp_array_reserve(&t->sent, &t->room, t->nsent + 1, sizeof *t->sent);
}

/* Sends bytes that a caller's function returned; frees them if they cannot be sent. */
static int check_bytes(void *bytes, size_t size)
{
    const int code = !bytes || size == 0 ? EQP_ERR_ARGUMENT : size > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK;

    if (code) {
        free(bytes);
    }
    return code;
}

/* Room has been reserved. */
static int send_bytes(eqp_loop *loop, int to, int tag, void *bytes, size_t size)
{
    struct eqp__talk *t = loop->talk;
    eqp__bundle *p = &t->sent[t->nsent];

    *p = (eqp__bundle){MPI_REQUEST_NULL, bytes, (int)size};
    if (MPI_Isend(bytes, p->size, MPI_BYTE, to, tag, loop->comm, &p->request) != MPI_SUCCESS) {
        free(bytes);
        return EQP_ERR_MPI;
    }
    t->nsent++;
    return EQP_OK;
}

static int send_nothing(eqp_loop *loop, int to)
{
    eqp__slot *s;
    int code = eqp__talk_slot(loop->talk, &s);

    return code                                                                       ? code
           : MPI_Isend(NULL, 0, MPI_BYTE, to, EQP__TAG_DATA, loop->comm, &s->request) ? EQP_ERR_MPI
                                                                                      : EQP_OK;
}

/* Many MPIs transfer a large message only while the sender is inside MPI, and the receiver waits idle. So the sender
 * stays for about the time of a copy, and no longer, as the receiver may not be running. */
static int push(struct eqp__talk *t)
{
    const double seconds_a_byte = 1e-9;
    eqp__bundle *p = &t->sent[t->nsent - 1];
    const double begin = eqp_wall_seconds();
    int gone = 0;

    do {
        EQP__CHECK(EQP__MPI(MPI_Test(&p->request, &gone, MPI_STATUS_IGNORE)));
    } while (!gone && eqp_wall_seconds() - begin < seconds_a_byte * p->size);
    return EQP_OK;
}

int eqp__bundle_send(eqp_loop *loop, int to, int64_t first, int64_t count)
{
    struct eqp__talk *t = loop->talk;
    void *data = NULL;
    size_t bytes = 0;
    int failed = t->failed ? t->failed : make_room(t), code;

    failed = failed ? failed : loop->work.bundles->pack(loop->work.user, to, first, count, &data, &bytes);
    failed = failed ? failed : check_bytes(data, bytes);
    if (failed) {
        eqp__talk_fail(t, failed);
        return send_nothing(loop, to);
    }
    t->expected += count;
    code = send_bytes(loop, to, EQP__TAG_DATA, data, bytes);
    return code ? code : push(t);
}

/* Starts to receive a message that has arrived. Without memory it is received and dropped, since the sender waits for
 * completion. */
static int receive_bytes(eqp_loop *loop, int from, int tag, eqp__bundle *p, bool *begun)
{
    MPI_Message message;
    MPI_Status status;
    int there;

    *begun = false;
    EQP__CHECK(EQP__MPI(MPI_Improbe(from, tag, loop->comm, &there, &message, &status)));
    if (!there) {
        return EQP_OK;
    }
    *begun = true;
    *p = (eqp__bundle){MPI_REQUEST_NULL, NULL, 0};
    EQP__CHECK(EQP__MPI(MPI_Get_count(&status, MPI_BYTE, &p->size)));
    p->bytes = malloc(p->size > 0 ? (size_t)p->size : 1);
    if (!p->bytes) {
        eqp__talk_fail(loop->talk, EQP_ERR_MEMORY);
        (void)MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        return EQP_OK;
    }
    return MPI_Imrecv(p->bytes, p->size, MPI_BYTE, &message, &p->request) ? EQP_ERR_MPI : EQP_OK;
}

static int wait_for_data(eqp_loop *loop, int from, eqp__bundle *p)
{
    bool begun = false;
    int there = 0, code = EQP_OK;

    while (!code && !begun) {
        code = receive_bytes(loop, from, EQP__TAG_DATA, p, &begun);
        code = code || begun ? code : eqp__talk_listen(loop);
    }
    while (!code && !there) {
        code = MPI_Test(&p->request, &there, MPI_STATUS_IGNORE) ? EQP_ERR_MPI : EQP_OK;
        code = code || there ? code : eqp__talk_listen(loop);
    }
    return code;
}

/* Calls and times the caller's function. */
static int call_compute(eqp_loop *loop, const eqp__word *a, const eqp__bundle *data, eqp_schedule_sample *sample,
                        void **result, size_t *bytes)
{
    const double begin = eqp__loop_now(loop);

    EQP__CHECK(loop->work.bundles->compute(loop->work.user, a->rank, a->first, a->count, data->bytes,
                                           (size_t)data->size, result, bytes));
    sample->count = a->count;
    sample->seconds = eqp__loop_now(loop) - begin;
    sample->squares = eqp__loop_squares(sample->seconds, 0.0, a->count, 1);
    return check_bytes(*result, *bytes);
}

/* The owner waits for a result or for the word that there is none. */
static int compute_and_return(eqp_loop *loop, const eqp__word *a, const eqp__bundle *data, eqp_schedule_sample *sample)
{
    struct eqp__talk *t = loop->talk;
    eqp__word w = {.kind = EQP__RESULT, .first = a->first, .count = a->count};
    void *result = NULL;
    size_t bytes = 0;
    int failed = t->failed ? t->failed : make_room(t), code;

    failed = failed ? failed : call_compute(loop, a, data, sample, &result, &bytes);
    eqp__talk_fail(t, failed);
    w.failed = failed != EQP_OK;
    code = eqp__talk_say(loop, a->rank, w);
    return code || failed ? code : send_bytes(loop, a->rank, EQP__TAG_RESULT, result, bytes);
}

int eqp__bundle_compute(eqp_loop *loop, eqp_schedule_sample *sample, bool *empty)
{
    const eqp__word a = loop->talk->answer;
    const double asked = eqp__loop_now(loop);
    eqp__bundle data = {MPI_REQUEST_NULL, NULL, 0};
    int code = wait_for_data(loop, a.rank, &data);

    EQP__CHECK(code);
    sample->overhead += eqp__loop_now(loop) - asked;
    *empty = data.size == 0;
    code = *empty ? EQP_OK : compute_and_return(loop, &a, &data, sample);
    free(data.bytes);
    return code;
}

static int free_sent(struct eqp__talk *t)
{
    for (int64_t i = t->nsent - 1; i >= 0; i--) {
        int gone;
        EQP__CHECK(EQP__MPI(MPI_Test(&t->sent[i].request, &gone, MPI_STATUS_IGNORE)));
        if (gone) {
            free(t->sent[i].bytes);
            t->sent[i] = t->sent[--t->nsent];
        }
    }
    return EQP_OK;
}

/* True if a result has arrived; its iterations. */
static int hear_of_result(eqp_loop *loop, bool *moved)
{
    struct eqp__talk *t = loop->talk;
    MPI_Status status;
    int there;

    EQP__FAIL_IF(MPI_Iprobe(MPI_ANY_SOURCE, EQP__TAG_HEAD, loop->comm, &there, &status) != MPI_SUCCESS ||
                     (there && MPI_Recv(&t->head, (int)sizeof t->head, MPI_BYTE, status.MPI_SOURCE, EQP__TAG_HEAD,
                                        loop->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS),
                 EQP_ERR_MPI);
    *moved = there;
    if (there && t->head.failed) {
        t->expected -= t->head.count;
    } else if (there) {
        t->stage = EQP__ANNOUNCED;
    }
    return EQP_OK;
}

static int take_result(eqp_loop *loop, bool *moved)
{
    struct eqp__talk *t = loop->talk;
    const eqp__word *w = &t->head;
    int there;

    EQP__CHECK(EQP__MPI(MPI_Test(&t->coming.request, &there, MPI_STATUS_IGNORE)));
    *moved = there;
    if (there) {
        if (!t->failed) {
            eqp__talk_fail(t, loop->work.bundles->take(loop->work.user, w->first, w->count, t->coming.bytes,
                                                       (size_t)t->coming.size));
        }
        free(t->coming.bytes);
        t->expected -= w->count;
        t->stage = EQP__QUIET;
    }
    return EQP_OK;
}

int eqp__bundles_see_to(eqp_loop *loop)
{
    struct eqp__talk *t = loop->talk;
    bool moved = true;
    int code = free_sent(t);

    while (!code && moved && t->expected > 0) {
        switch (t->stage) {
        case EQP__QUIET:
            code = hear_of_result(loop, &moved);
            break;
        case EQP__ANNOUNCED:
            code = receive_bytes(loop, t->head.from, EQP__TAG_RESULT, &t->coming, &moved);
            t->stage = !code && moved ? EQP__COMING : t->stage;
            break;
        default:
            code = take_result(loop, &moved);
        }
    }
    return code;
}
