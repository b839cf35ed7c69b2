/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/placement.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdbool.h>
#include <stdlib.h>

/* What a rank asks for, and what it gets. */
typedef struct inquiry {
    int64_t at_home, index;
    int asker;
} inquiry;

typedef struct reply {
    int64_t index;
    eqp_placement placement;
} reply;

static int ask(MPI_Comm comm, int64_t n, const eqp__address *address, int64_t *nasked, inquiry **asked)
{
    inquiry *out = NULL;
    int *to = NULL, rank;
    int code = eqp_array_create(&out, n, sizeof *out);

    MPI_Comm_rank(comm, &rank);
    code = code == EQP_OK ? eqp_array_create(&to, n, sizeof *to) : code;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        out[i] = (inquiry){address[i].at_home, i, rank};
        to[i] = address[i].rank;
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp_send_records(comm, sizeof *out, n, to, out, nasked, asked));
done:
    free(to);
    free(out);
    return code;
}

int eqp__placements_fetch(MPI_Comm comm, int64_t n, const eqp__address *address, int64_t nknown,
                          const eqp_placement *known, eqp_placement *placement)
{
    inquiry *asked = NULL;
    reply *out = NULL, *in = NULL;
    int *to = NULL;
    int64_t nasked = 0, nin = 0;
    int code = ask(comm, n, address, &nasked, &asked);

    if (code != EQP_OK) {
        return code;
    }
    code = eqp_array_create(&out, nasked, sizeof *out);
    code = code == EQP_OK ? eqp_array_create(&to, nasked, sizeof *to) : code;
    for (int64_t i = 0; i < nasked && code == EQP_OK; i++) {
        const bool has = asked[i].at_home >= 0 && asked[i].at_home < nknown;
        to[i] = asked[i].asker;
        out[i].index = asked[i].index;
        code = has ? EQP_OK : EQP_ERR_DATA;
        out[i].placement = has ? known[asked[i].at_home] : (eqp_placement){0, 0};
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp_send_records(comm, sizeof *out, nasked, to, out, &nin, &in));
    for (int64_t i = 0; i < nin; i++) {
        placement[in[i].index] = in[i].placement;
    }
done:
    free(in);
    free(to);
    free(out);
    free(asked);
    return code;
}
