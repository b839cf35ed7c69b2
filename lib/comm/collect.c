/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/collect.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"

#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

int eqp__collect_prepare(MPI_Comm comm, eqp__collect *c)
{
    EQP__CHECK(eqp__comm_shape(comm, &c->rank, &c->nranks));
    c->comm = comm;
    return EQP__ARRAYS(EQP__ARRAY(c->to_root, c->nranks), EQP__ARRAY(c->from_all, c->nranks));
}

int eqp__collect_open(MPI_Comm comm, eqp__collect *c)
{
    return eqp_agree(comm, eqp__collect_prepare(comm, c), NULL);
}

void eqp__collect_close(eqp__collect *c)
{
    EQP__FREE(c->to_root, c->from_all);
}

int eqp__collect_announce(eqp__collect *c, int64_t n, int64_t *total)
{
    c->to_root[0] = n;
    EQP__CHECK(EQP__MPI(EQP__WAITS(MPI_Gather(&n, 1, MPI_INT64_T, c->from_all, 1, MPI_INT64_T, 0, c->comm))));
    *total = 0;
    for (int r = 0; c->rank == 0 && r < c->nranks; r++) {
        *total += c->from_all[r];
    }
    return EQP_OK;
}

int eqp__collect_array(const eqp__collect *c, int code, int64_t total, size_t size, const void *mine, void *array)
{
    void *elements = NULL;

    code = code ? code : eqp_array_create(&elements, total, size);

    code = eqp__exchange(c->comm, code, size, c->to_root, mine, c->from_all, elements);
    memcpy(array, &elements, sizeof elements);
    return code;
}

int eqp__collect_return(const eqp__collect *c, size_t size, const void *all, void *mine)
{
    return eqp__exchange(c->comm, EQP_OK, size, c->from_all, all, c->to_root, mine);
}
