/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends arrays along a migration plan, and back. */
#include "comm/agree.h"
#include "comm/exchange.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>

static int check_plan(MPI_Comm comm, const eqp_move_plan *plan)
{
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    return !plan || eqp_move_plan_arrays(plan).nranks != nranks ? EQP_ERR_ARGUMENT : EQP_OK;
}

int eqp_move_counts(MPI_Comm comm, const eqp_move_plan *plan, int64_t *recv_count, int64_t *nrecv)
{
    const int code = check_plan(comm, plan);

    return eqp__exchange_counts(comm, code, 0, code ? NULL : eqp_move_plan_arrays(plan).count, recv_count, nrecv);
}

/* Checks a transfer and makes a buffer for the plan's elements in send order. items: the side of the plan that is in
 * item order. */
static int open_buffer(MPI_Comm comm, const eqp_move_plan *plan, size_t element_size, const void *items, void **buffer,
                       const int64_t **count)
{
    int code = check_plan(comm, plan);

    if (code) {
        return code;
    }
    eqp_move_view view = eqp_move_plan_arrays(plan);
    *count = view.count;
    return view.n > 0 && !items ? EQP_ERR_ARGUMENT : eqp_array_create(buffer, view.n, element_size);
}

int eqp__move_apply(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv)
{
    void *packed = NULL;
    const int64_t *send_count = NULL;

    if (!code && !(code = open_buffer(comm, plan, element_size, send, &packed, &send_count))) {
        eqp_move_pack(plan, element_size, send, packed);
    }
    code = eqp__exchange(comm, code, EQP__MESSAGE_BYTES, element_size, send_count, packed, recv_count, recv);
    free(packed);
    return code;
}

int eqp_move_apply(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                   const void *send, void *recv)
{
    return eqp__move_apply(comm, EQP_OK, plan, recv_count, element_size, send, recv);
}

int eqp__move_return(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                     const void *send, void *recv)
{
    void *packed = NULL;
    const int64_t *back_count = NULL;

    code = code ? code : open_buffer(comm, plan, element_size, recv, &packed, &back_count);
    code = eqp__exchange(comm, code, EQP__MESSAGE_BYTES, element_size, recv_count, send, back_count, packed);
    if (!code) {
        eqp_move_unpack(plan, element_size, packed, recv);
    }
    free(packed);
    return code;
}

int eqp_move_return(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv)
{
    return eqp__move_return(comm, EQP_OK, plan, recv_count, element_size, send, recv);
}
