/* SPDX-License-Identifier: BSD-3-Clause */
/* The application's side: offering, checking, taking. */
#include "late/lazy.h"

#include "base/internal.h"

#include <equipoise/survey.h>

#include <limits.h>

/* Seconds between two checks whether the server is alive. */
#define LOOKS_APART 0.1

static void take_letter(eqp__lazy_client *client)
{
    const eqp__lazy_note note = eqp__lazy_read(&client->in);

    if (note.kind == EQP__LAZY_ANSWER && note.generation == client->generation && !client->here) {
        client->here = true;
        client->code = (int)note.code;
        eqp__lazy_drop(&client->answer);
        client->answer = client->in;
        client->in = (eqp__lazy_letter){NULL, MPI_REQUEST_NULL};
        return;
    }
    client->byes += note.kind == EQP__LAZY_BYE;
    eqp__lazy_drop(&client->in);
}

/* Keeps the memory of an offer written here for the next offer. */
static void end_letter(eqp__lazy_client *client, int64_t i)
{
    if (i == 0 && client->out_bytes > client->room_bytes) {
        free(client->room);
        client->room = client->out[0].bytes;
        client->room_bytes = client->out_bytes;
        client->out[0].bytes = NULL;
    }
    client->out_bytes = i == 0 ? 0 : client->out_bytes;
    eqp__lazy_drop(&client->out[i]);
}

int eqp__lazy_room(eqp_lazy *lazy, int64_t bytes, void **data)
{
    eqp__lazy_client *const client = &lazy->client;
    const int64_t needed = bytes + (int64_t)sizeof(eqp__lazy_note);

    if (needed > client->room_bytes) { /* the old bytes are not needed */
        free(client->room);
        client->room = NULL;
        client->room_bytes = 0;
    }
    const int code = client->room_bytes == 0 /* with room for a few more owners */
                         ? eqp_array_reserve(&client->room, &client->room_bytes, needed + needed / 8, 1)
                         : EQP_OK;
    if (code == EQP_OK) {
        *data = client->room + sizeof(eqp__lazy_note);
    }
    return code;
}

static void hear(eqp_lazy *lazy)
{
    eqp__lazy_client *const client = &lazy->client;
    bool done = false;
    int from, code = EQP_OK;

    if (lazy->server != NULL) {
        EQP_TRY(eqp__lazy_serve_some(lazy));
    }
    do {
        if (client->in.bytes == NULL) {
            EQP_TRY(eqp__lazy_receive(lazy->talk, MPI_ANY_SOURCE, EQP__LAZY_DOWN, &client->in, &from));
        }
        done = false;
        if (client->in.bytes != NULL) {
            EQP_TRY(eqp__lazy_done(&client->in, &done));
        }
        if (done) {
            take_letter(client);
        }
    } while (done);
    for (int64_t i = 0; i < client->n; i++) {
        if (client->out[i].bytes != NULL) {
            EQP_TRY(eqp__lazy_done(&client->out[i], &done));
            if (done) {
                end_letter(client, i);
            }
        }
    }
done:
    if (code != EQP_OK) {
        client->gone = true;
    }
}

/* A map made where it was offered: kept until it is due. */
static void make_here(eqp_lazy *lazy, size_t bytes, const void *data)
{
    eqp__lazy_client *const client = &lazy->client;
    const eqp_lazy_parcel offer = {lazy->rank, bytes, (void *)(uintptr_t)data};

    free(client->mine.data);
    client->mine = (eqp_lazy_parcel){lazy->rank, 0, NULL};
    client->code = lazy->make(lazy->user, lazy->mine, lazy->napp, 1, &offer, &client->mine);
    client->here = true;
}

/* Sends an offer from the memory in which it was written, without a copy. */
static int send_room(eqp_lazy *lazy, const eqp__lazy_note *note)
{
    eqp__lazy_client *const client = &lazy->client;
    eqp__lazy_letter made = {client->room, MPI_REQUEST_NULL};

    memcpy(made.bytes, note, sizeof *note);
    EQP_CHECK(eqp__lazy_begin(lazy->talk, client->to[0], EQP__LAZY_UP, (int64_t)sizeof *note + note->bytes, made.bytes,
                              &made.request));
    client->out[0] = made;
    client->out_bytes = client->room_bytes;
    client->room = NULL;
    client->room_bytes = 0;
    return EQP_OK;
}

/* Sends a note to all servers. A server that has answered has received the previous letter. */
static int tell_all(eqp_lazy *lazy, const eqp__lazy_note *note, const void *data)
{
    eqp__lazy_client *const client = &lazy->client;
    const eqp__lazy_note news = {note->kind, note->generation, note->code, 0};
    int code = EQP_OK;

    for (int64_t i = 0; i < client->n; i++) {
        const bool whole = i == 0 || client->whole,
                   here = i == 0 && client->room != NULL && data == client->room + sizeof *note;
        if (client->out[i].bytes != NULL) {
            (void)MPI_Wait(&client->out[i].request, MPI_STATUS_IGNORE);
            end_letter(client, i);
        }
        const int sent =
            here ? send_room(lazy, note)
                 : eqp__lazy_send(lazy->talk, client->to[i], EQP__LAZY_UP, whole ? note : &news, data, &client->out[i]);
        code = code == EQP_OK ? sent : code;
    }
    return code;
}

/* Servers must at least learn that no offer comes. */
static int offer_nothing(eqp_lazy *lazy, int code)
{
    const eqp__lazy_note nothing = {EQP__LAZY_OFFER, lazy->client.generation, code, 0};

    for (int64_t i = 0; i < lazy->client.n; i++) {
        if (lazy->client.out[i].bytes == NULL && eqp__lazy_send(lazy->talk, lazy->client.to[i], EQP__LAZY_UP, &nothing,
                                                                NULL, &lazy->client.out[i]) != EQP_OK) {
            lazy->client.gone = true;
        }
    }
    return code;
}

/* An event that is always valid here. */
static void happen(eqp_lazy *lazy, eqp_lazy_event event)
{
    (void)eqp__lazy_next(&lazy->client.state, event);
}

int eqp_lazy_offer(eqp_lazy *lazy, int64_t step, size_t bytes, const void *data)
{
    int code;

    EQP__FAIL_IF(lazy == NULL || lazy->serves || step < 0 || bytes > INT_MAX - sizeof(eqp__lazy_note) ||
                     (lazy->client.n == 0 && lazy->make == NULL),
                 EQP_ERR_ARGUMENT);
    eqp__lazy_client *const client = &lazy->client;
    EQP__FAIL_IF(client->state.phase != EQP_LAZY_IDLE, EQP_ERR_STATE);
    happen(lazy, EQP_LAZY_ON_OFFER);
    client->generation++;
    client->at = step;
    client->since = client->asked = eqp_wall_seconds();
    client->here = false;
    client->code = EQP_OK;
    eqp__lazy_drop(&client->answer);
    if (lazy->client.n == 0) {
        make_here(lazy, bytes, data);
        return EQP_OK;
    }
    const eqp__lazy_note note = {EQP__LAZY_OFFER, client->generation, data != NULL ? EQP_OK : EQP_ERR_REMOTE,
                                 data != NULL ? (int64_t)bytes : 0};
    code = tell_all(lazy, &note, data);
    return code == EQP_OK ? EQP_OK : offer_nothing(lazy, code);
}

/* Steps since the last check. */
static void advance(eqp_lazy *lazy, int64_t step)
{
    eqp__lazy_client *const client = &lazy->client;

    while (client->at < step && client->state.phase >= EQP_LAZY_OFFERED && client->state.phase <= EQP_LAZY_READY &&
           eqp__lazy_next(&client->state, EQP_LAZY_ON_STEP) == EQP_OK) {
        client->at++;
    }
}

/* State of the offer; one that is ready here counts as pending until all ranks are known to be ready. */
static eqp_lazy_phase standing(const eqp__lazy_client *client)
{
    return client->state.phase == EQP_LAZY_READY && !eqp__lazy_due(&client->state) ? EQP_LAZY_OFFERED
                                                                                   : client->state.phase;
}

/* True if no further answer will come, as far as this rank can tell; not checked in every step. */
static bool is_silent(eqp_lazy *lazy)
{
    eqp__lazy_client *const client = &lazy->client;
    const double now = eqp_wall_seconds();

    if (now - client->asked < LOOKS_APART) {
        return false;
    }
    client->asked = now;
    return now - client->since > lazy->options.patience ||
           (lazy->options.mode == EQP_LAZY_BY_RANKS && eqp__lazy_has_ended(lazy));
}

eqp_lazy_phase eqp__lazy_look(eqp_lazy *lazy, int64_t step)
{
    long pause = 0;

    if (lazy == NULL || lazy->serves) {
        return EQP_LAZY_IDLE;
    }
    eqp__lazy_client *const client = &lazy->client;
    advance(lazy, step);
    while (client->state.phase == EQP_LAZY_OFFERED && !client->state.has && !client->gone) {
        hear(lazy);
        if (client->here) {
            happen(lazy, EQP_LAZY_ON_ANSWER);
        } else if (is_silent(lazy)) {
            client->gone = true;
        } else if (!client->state.waiting) {
            break;
        } else {
            eqp__lazy_rest(&pause);
        }
    }
    if (client->state.phase != EQP_LAZY_OFFERED) {
        return standing(client);
    }
    return client->state.has ? EQP_LAZY_READY : client->gone ? EQP_LAZY_LOST : EQP_LAZY_OFFERED;
}

int64_t eqp__lazy_word(eqp_lazy_phase seen)
{
    return seen == EQP_LAZY_LOST ? 0 : seen == EQP_LAZY_READY ? 2 : 1;
}

eqp_lazy_phase eqp__lazy_agreed(eqp_lazy *lazy, int64_t least)
{
    if (lazy == NULL || lazy->serves) {
        return EQP_LAZY_IDLE;
    }
    eqp__lazy_client *const client = &lazy->client;
    if (client->state.phase == EQP_LAZY_OFFERED && least == 0) {
        happen(lazy, EQP_LAZY_ON_DEAD);
    }
    if (client->state.phase == EQP_LAZY_OFFERED && least == 2) {
        happen(lazy, EQP_LAZY_ON_ALL_HAVE);
    }
    return standing(client);
}

/* Completes the reduction under way. A host keeps serving meanwhile, since other ranks may wait for their maps. */
static int take_news(eqp_lazy *lazy)
{
    long pause = 0;
    int done = 0;

    while (MPI_Test(&lazy->polling, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        if (lazy->server != NULL) {
            hear(lazy);
        }
        eqp__lazy_rest(&pause);
    }
    EQP__FAIL_IF(!done, EQP_ERR_MPI);
    (void)eqp__lazy_agreed(lazy, lazy->least);
    return EQP_OK;
}

int eqp_lazy_poll(eqp_lazy *lazy, int64_t step, eqp_lazy_phase *news)
{
    EQP__FAIL_IF(lazy == NULL || lazy->serves, EQP_ERR_ARGUMENT);
    if (lazy->polling != MPI_REQUEST_NULL) { /* all ranks started it one step ago */
        EQP_CHECK(take_news(lazy));
    }
    const eqp_lazy_phase seen = eqp__lazy_look(lazy, step);
    if (lazy->client.state.phase == EQP_LAZY_OFFERED) {
        /* known at once if all ranks wait for it, else in the next step */
        lazy->seen = eqp__lazy_word(seen);
        EQP_CHECK(MPI_Iallreduce(&lazy->seen, &lazy->least, 1, MPI_INT64_T, MPI_MIN, lazy->mine, &lazy->polling) ==
                          MPI_SUCCESS
                      ? EQP_OK
                      : EQP_ERR_MPI);
        EQP_CHECK(lazy->client.state.waiting ? take_news(lazy) : EQP_OK);
    }
    if (news != NULL) {
        *news = standing(&lazy->client);
    }
    return EQP_OK;
}

int eqp_lazy_take(eqp_lazy *lazy, eqp_lazy_parcel *answer)
{
    EQP__FAIL_IF(lazy == NULL || answer == NULL || lazy->serves, EQP_ERR_ARGUMENT);
    eqp__lazy_client *const client = &lazy->client;
    EQP__CHECK(eqp__lazy_next(&client->state, EQP_LAZY_ON_TAKE));
    if (client->code != EQP_OK) {
        return client->code;
    }
    if (lazy->client.n == 0) {
        *answer = client->mine;
    } else {
        *answer = (eqp_lazy_parcel){lazy->rank, (size_t)eqp__lazy_read(&client->answer).bytes,
                                    eqp__lazy_data(&client->answer)};
    }
    return EQP_OK;
}

bool eqp__lazy_says_bye(eqp_lazy *lazy)
{
    const eqp__lazy_note leave = {EQP__LAZY_LEAVE, 0, EQP_OK, 0};
    eqp__lazy_client *const client = &lazy->client;

    happen(lazy, EQP_LAZY_ON_LEAVE);
    hear(lazy);
    for (int64_t i = 0; i < client->n && !client->gone; i++) {
        if (!client->leaving[i] && client->out[i].bytes == NULL) {
            const int code = eqp__lazy_send(lazy->talk, client->to[i], EQP__LAZY_UP, &leave, NULL, &client->out[i]);
            client->leaving[i] = code == EQP_OK;
            if (code != EQP_OK && code != EQP_ERR_MEMORY) { /* otherwise try again later */
                client->gone = true;
            }
        }
    }
    return client->byes == client->n;
}
