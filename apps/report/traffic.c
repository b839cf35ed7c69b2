/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"

#include "../shell/options.h"
#include "output/report.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>

int app_bring_together(MPI_Comm comm, int code, size_t size, int64_t n, const void *mine, int64_t *nall, void *all,
                       eqp_message *message)
{
    APP_FREED int *dest = NULL;

    code = code == EQP_OK ? eqp_array_create(&dest, n, sizeof *dest) : code;
    EQP_CHECK(eqp_agree(comm, code, message));
    return eqp_send_records(comm, size, n, dest, mine, nall, all);
}

/* Bytes from one rank to another, > 0. */
typedef struct flow {
    int64_t from, to, bytes;
} flow;

static int list_flows(MPI_Comm comm, int64_t *n, flow **list)
{
    const int64_t *bytes = eqp_traffic_watched(comm);
    int rank, nranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    EQP_CHECK(eqp_array_create(list, bytes != NULL ? nranks : 0, sizeof **list));
    for (int r = 0; r < nranks && bytes != NULL; r++) {
        if (bytes[r] > 0) {
            (*list)[(*n)++] = (flow){rank, r, bytes[r]};
        }
    }
    return EQP_OK;
}

static int write_flows(const char *dir, int64_t n, const flow *list, eqp_message *message)
{
    EQP_CSV_FREED eqp_csv *csv = NULL;

    EQP_CHECK(eqp_csv_create(dir, "traffic.csv", "from,to,bytes", &csv, message));
    for (int64_t i = 0; i < n; i++) {
        const eqp_field field[] = {eqp_field_count("from", list[i].from), eqp_field_count("to", list[i].to),
                                   eqp_field_count("bytes", list[i].bytes)};
        EQP_CHECK(eqp_csv_add(csv, 3, field));
    }
    return eqp_csv_finish(csv, message);
}

int app_traffic_write(MPI_Comm comm, int code, const char *dir, eqp_message *message)
{
    APP_FREED flow *mine = NULL, *all = NULL;
    int64_t n = 0, nall = 0;

    code = code == EQP_OK ? list_flows(comm, &n, &mine) : code;
    EQP_CHECK(app_bring_together(comm, code, sizeof *mine, n, mine, &nall, &all, message));
    return dir != NULL ? write_flows(dir, nall, all, message) : EQP_OK;
}
