/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers data of iterations to the ranks that compute them, and results back to the owners. */
#include "loops/schedule_loop.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Large enough to hide the latency of a message, small enough to allocate. */
enum { BUFFER_BYTES = 1 << 20, ALIGNMENT = 64 };

eqp_schedule_chunk eqp_loop_part(const eqp_loop *loop, int rank)
{
    if (!loop || rank < 0 || rank >= loop->nranks) {
        return (eqp_schedule_chunk){0, 0};
    }
    return loop->part ? (eqp_schedule_chunk){loop->part[rank], loop->part[rank + 1] - loop->part[rank]}
                      : eqp__schedule_part(loop->schedule->n, loop->nranks, rank);
}

/* Windows of the ranks of a node may be contiguous. */
static int64_t align(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Results follow the data. */
static int64_t results_at(const eqp_loop *loop, eqp_schedule_chunk part)
{
    return align(part.count * (int64_t)loop->options.data_bytes);
}

static int owner_of(const eqp_loop *loop, int64_t iteration)
{
    const int64_t each = loop->schedule->n / loop->nranks, longer = loop->schedule->n % loop->nranks;
    const int64_t in_longer = longer * (each + 1);

    return (int)(iteration < in_longer ? iteration / (each + 1) : longer + (iteration - in_longer) / each);
}

/* Computes the bytes of the window and allocates the buffers. Local; may fail on one rank. */
static int prepare(eqp_loop *loop, MPI_Aint *bytes)
{
    const eqp_loop_options *o = &loop->options;
    const size_t most = o->data_bytes > o->result_bytes ? o->data_bytes : o->result_bytes;
    const eqp_schedule_chunk part = eqp_loop_part(loop, loop->rank);
    size_t all;

    EQP__FAIL_IF(most > INT_MAX || o->data_bytes + o->result_bytes > INT_MAX, EQP_ERR_OVERFLOW);
    EQP__CHECK(eqp_array_bytes(part.count + ALIGNMENT, o->data_bytes + o->result_bytes + ALIGNMENT, &all));
    loop->piece = most < BUFFER_BYTES ? BUFFER_BYTES / (int64_t)most : 1;
    EQP__CHECK(EQP__ARRAYS({&loop->data, loop->piece * (int64_t)o->data_bytes, 1},
                           {&loop->back, loop->piece * (int64_t)o->result_bytes, 1}));
    *bytes = (MPI_Aint)(results_at(loop, part) + align(part.count * (int64_t)o->result_bytes));
    return EQP_OK;
}

int eqp__loop_data_create(eqp_loop *loop)
{
    const bool travels = loop->options.data_bytes > 0 || loop->options.result_bytes > 0;
    MPI_Aint bytes = 0;
    int code = eqp_agree(loop->comm, travels ? prepare(loop, &bytes) : EQP_OK, NULL);

    if (code || !travels || loop->options.engine == EQP_LOOP_MASTER) {
        return code;
    }
    EQP__FAIL_IF(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, loop->comm, &loop->byte, &loop->bytes) != MPI_SUCCESS ||
                     MPI_Win_set_errhandler(loop->bytes, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
                     MPI_Win_lock_all(MPI_MODE_NOCHECK, loop->bytes) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

void eqp__loop_data_free(eqp_loop *loop)
{
    if (loop->bytes != MPI_WIN_NULL) {
        (void)MPI_Win_unlock_all(loop->bytes);
        (void)MPI_Win_free(&loop->bytes);
    }
    EQP__FREE(loop->data, loop->back);
}

void eqp__loop_data_put(eqp_loop *loop)
{
    const eqp_schedule_chunk part = eqp_loop_part(loop, loop->rank);

    if (loop->options.data_bytes > 0 && part.count > 0) {
        memcpy(loop->byte, loop->work.data, (size_t)part.count * loop->options.data_bytes);
        (void)MPI_Win_sync(loop->bytes);
    }
}

void eqp__loop_data_get(eqp_loop *loop)
{
    const eqp_schedule_chunk part = eqp_loop_part(loop, loop->rank);

    if (loop->options.result_bytes > 0 && part.count > 0) {
        (void)MPI_Win_sync(loop->bytes);
        memcpy(loop->work.result, loop->byte + results_at(loop, part), (size_t)part.count * loop->options.result_bytes);
    }
}

static int compute_here(eqp_loop *loop, eqp_schedule_chunk part, int64_t first, int64_t count)
{
    const eqp_loop_options *o = &loop->options;
    char *data = loop->byte + (first - part.first) * (int64_t)o->data_bytes;
    char *result = loop->byte + results_at(loop, part) + (first - part.first) * (int64_t)o->result_bytes;

    return loop->work.compute(loop->work.user, first, count, o->data_bytes > 0 ? data : NULL,
                              o->result_bytes > 0 ? result : NULL);
}

static int compute_for(eqp_loop *loop, int owner, eqp_schedule_chunk part, int64_t first, int64_t count)
{
    const int64_t data_bytes = (int64_t)loop->options.data_bytes, result_bytes = (int64_t)loop->options.result_bytes;
    const int in = (int)(count * data_bytes), out = (int)(count * result_bytes);
    const MPI_Aint from = (MPI_Aint)((first - part.first) * data_bytes);
    const MPI_Aint to = (MPI_Aint)(results_at(loop, part) + (first - part.first) * result_bytes);
    int code;

    EQP__FAIL_IF(in > 0 && (MPI_Get(loop->data, in, MPI_BYTE, owner, from, in, MPI_BYTE, loop->bytes) != MPI_SUCCESS ||
                            MPI_Win_flush(owner, loop->bytes) != MPI_SUCCESS),
                 EQP_ERR_MPI);
    code = loop->work.compute(loop->work.user, first, count, in > 0 ? loop->data : NULL, out > 0 ? loop->back : NULL);
    EQP__FAIL_IF(!code && out > 0 &&
                     (MPI_Put(loop->back, out, MPI_BYTE, owner, to, out, MPI_BYTE, loop->bytes) != MPI_SUCCESS ||
                      MPI_Win_flush(owner, loop->bytes) != MPI_SUCCESS),
                 EQP_ERR_MPI);
    return code;
}

int eqp__loop_compute(eqp_loop *loop, int64_t first, int64_t count)
{
    int code = EQP_OK;

    if (loop->bytes == MPI_WIN_NULL) {
        return loop->work.compute(loop->work.user, first, count, NULL, NULL);
    }
    while (count > 0 && !code) {
        const int owner = owner_of(loop, first);
        const eqp_schedule_chunk part = eqp_loop_part(loop, owner);
        const int64_t until = part.first + part.count;
        int64_t now = count < until - first ? count : until - first;
        now = owner == loop->rank || now < loop->piece ? now : loop->piece;
        code = owner == loop->rank ? compute_here(loop, part, first, now) : compute_for(loop, owner, part, first, now);
        first += now;
        count -= now;
    }
    return code;
}
