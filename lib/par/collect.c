/* SPDX-License-Identifier: BSD-3-Clause */
#include "par/collect.h"

#include "par/comm.h"

#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

int eqp__collect_open(MPI_Comm comm, eqp__collect *c)
{
    int code = eqp__comm_shape(comm, &c->rank, &c->nranks);

    if (code) {
        return code;
    }
    c->comm = comm;
    code = eqp_array_create(&c->to_root, c->nranks, sizeof *c->to_root);
    code = code ? code : eqp_array_create(&c->from_all, c->nranks, sizeof *c->from_all);
    return eqp_agree(comm, code, NULL);
}

void eqp__collect_close(eqp__collect *c)
{
    free(c->to_root);
    free(c->from_all);
}

int eqp__collect_announce(eqp__collect *c, int64_t n, int64_t *total)
{
    c->to_root[0] = n;
    return eqp_exchange_counts(c->comm, c->to_root, c->from_all, total);
}

int eqp__collect_array(const eqp__collect *c, int64_t total, size_t size, const void *mine, void *array)
{
    void *elements = NULL;
    int code = eqp_agree(c->comm, eqp_array_create(&elements, total, size), NULL);

    code = code ? code : eqp_exchange(c->comm, size, c->to_root, mine, c->from_all, elements);
    memcpy(array, &elements, sizeof elements);
    return code;
}

int eqp__collect_return(const eqp__collect *c, size_t size, const void *all, void *mine)
{
    return eqp_exchange(c->comm, size, c->from_all, all, c->to_root, mine);
}
