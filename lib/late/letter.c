/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking messages. */
#include "late/lazy.h"

#include "base/internal.h"

#include <limits.h>
#include <time.h>

#define SHORTEST_REST 20000L
#define LONGEST_REST 1000000L

/* Allocates a letter; the caller fills all but its note. */
static int make_room(int64_t bytes, eqp__lazy_letter *letter)
{
    const int64_t least = (int64_t)sizeof(eqp__lazy_note);
    int64_t capacity = 0;
    const int code = eqp_array_reserve(&letter->bytes, &capacity, bytes > least ? bytes : least, 1);

    if (code == EQP_OK) {
        memset(letter->bytes, 0, sizeof(eqp__lazy_note));
    }
    return code;
}

int eqp__lazy_begin(MPI_Comm comm, int to, int tag, int64_t bytes, char *data, MPI_Request *request)
{
    return bytes > INT_MAX                                                                ? EQP_ERR_OVERFLOW
           : MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, comm, request) == MPI_SUCCESS ? EQP_OK
                                                                                          : EQP_ERR_MPI;
}

int eqp__lazy_send(MPI_Comm comm, int to, int tag, const eqp__lazy_note *note, const void *data,
                   eqp__lazy_letter *letter)
{
    const int64_t bytes = (int64_t)sizeof *note + note->bytes;
    eqp__lazy_letter made = {NULL, MPI_REQUEST_NULL};
    int code;

    EQP_TRY(bytes <= INT_MAX ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(make_room(bytes, &made));
    memcpy(made.bytes, note, sizeof *note);
    if (note->bytes > 0) {
        memcpy(made.bytes + sizeof *note, data, (size_t)note->bytes);
    }
    code = eqp__lazy_begin(comm, to, tag, bytes, made.bytes, &made.request);
    if (code != EQP_OK) {
        free(made.bytes);
    } else {
        *letter = made;
    }
done:
    return code;
}

int eqp__lazy_receive(MPI_Comm comm, int from, int tag, eqp__lazy_letter *letter, int *sender)
{
    eqp__lazy_letter made = {NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    int come = 0, bytes = 0;

    EQP__FAIL_IF(MPI_Iprobe(from, tag, comm, &come, &status) != MPI_SUCCESS, EQP_ERR_MPI);
    if (!come) {
        return EQP_OK;
    }
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (make_room(bytes, &made) != EQP_OK) { /* it stays pending until there is room */
        return EQP_OK;
    }
    if (MPI_Irecv(made.bytes, bytes, MPI_BYTE, status.MPI_SOURCE, tag, comm, &made.request) != MPI_SUCCESS) {
        free(made.bytes);
        return EQP_ERR_MPI;
    }
    *letter = made;
    *sender = status.MPI_SOURCE;
    return EQP_OK;
}

int eqp__lazy_done(eqp__lazy_letter *letter, bool *done)
{
    int flag = 0;

    *done = false;
    EQP__FAIL_IF(MPI_Test(&letter->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS, EQP_ERR_MPI);
    *done = flag != 0;
    return EQP_OK;
}

eqp__lazy_note eqp__lazy_read(const eqp__lazy_letter *letter)
{
    eqp__lazy_note note;

    memcpy(&note, letter->bytes, sizeof note);
    return note;
}

void eqp__lazy_drop(eqp__lazy_letter *letter)
{
    free(letter->bytes);
    *letter = (eqp__lazy_letter){NULL, MPI_REQUEST_NULL};
}

void eqp__lazy_rest(long *pause)
{
    *pause = *pause < SHORTEST_REST ? SHORTEST_REST : *pause < LONGEST_REST / 2 ? *pause * 2 : LONGEST_REST;
    const struct timespec time = {0, *pause};

    (void)nanosleep(&time, NULL);
}
