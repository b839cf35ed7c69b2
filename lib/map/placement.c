/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/placement.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "map/phased.h"

#include <equipoise/more/comm.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* This rank's piece of the table of shared owners. */
typedef struct split_table {
    int64_t nsplit, nunits;
    int64_t *nunits_of; /* [nsplit] */
    double *centroid;   /* [nunits][3] */
    int *rank;          /* [nunits] */
} split_table;

static void split_table_free(split_table *table)
{
    EQP__FREE(table->nunits_of, table->centroid, table->rank);
}

/* Consecutive owners along the curve with the same home. Long runs make few neighbours and few branches, so a run
 * continues while its part has work of the next owner, up to a part's share of the particles. */
typedef struct home_run {
    int part;
    int64_t held, limit; /* particles */
} home_run;

static void run_extend(home_run *run, int part, int64_t particles)
{
    run->held = part == run->part ? run->held + particles : particles;
    run->part = part;
}

/* Parts that compute units first to first + count - 1 of an owner, and their amounts of work. votes [count]:
 * scratch. */
static int64_t count_votes(const eqp_work_units *made, const int *part, int64_t first, int64_t count, eqp__vote *votes)
{
    int64_t nvotes = 0;

    for (int64_t u = first; u < first + count; u++) {
        (void)eqp__votes_add(votes, &nvotes, part[u], made->weight[u]);
    }
    return nvotes;
}

/* Home of an owner computed by several parts: the part of the run, else the part with most of the owner's work. */
static int stay_together(int64_t nvotes, const eqp__vote *votes, int64_t particles, const home_run *run)
{
    const bool is_full = run->held + particles > run->limit;
    int64_t best = -1;

    for (int64_t v = 0; v < nvotes; v++) {
        if (votes[v].part == run->part && !is_full) {
            return run->part;
        }
        if (votes[v].part != run->part && (best < 0 || votes[v].seconds > votes[best].seconds)) {
            best = v;
        }
    }
    return votes[best].part;
}

/* The same, but the part with the least load, which is updated. */
static int live_with_least(int64_t nvotes, const eqp__vote *votes, double more, double *loads)
{
    int best = votes[0].part;

    for (int64_t v = 1; v < nvotes; v++) {
        best = loads[votes[v].part] < loads[best] ? votes[v].part : best;
    }
    loads[best] += more;
    return best;
}

/* A part's share of the particles. */
static int find_share(MPI_Comm comm, const eqp_owners *owners, int nparts, int64_t *share)
{
    int64_t particles = 0;
    int code;

    for (int64_t o = 0; o < owners->n; o++) {
        particles += owners->owner[o].particles;
    }
    code = eqp_scan_int64(comm, particles, NULL, &particles);
    *share = particles / nparts + 1;
    return code;
}

/* Reads units first to first + count - 1 of an owner; true if several ranks share it. */
static bool read_split(const eqp_work_units *made, const int *part, int64_t first, int64_t count, split_table *table)
{
    bool shared = false;

    for (int64_t u = first; u < first + count; u++) {
        eqp_unit unit;
        eqp_units_get(made->units, u, &unit);
        memcpy(table->centroid + 3 * (table->nunits + u - first), unit.centroid, 3 * sizeof(double));
        table->rank[table->nunits + u - first] = part[u];
        shared = shared || part[u] != part[first];
    }
    if (shared) {
        table->nunits_of[table->nsplit++] = count;
        table->nunits += count;
    }
    return shared;
}

/* Search for homes of owners computed by several parts: rank by rank along the curve, with the same result as on one
 * rank. */
typedef struct homing {
    int nparts;
    int64_t share; /* particles per part */
    double *loads; /* [parts] or NULL: see eqp__assigned; updated along the curve */
    double each;   /* load per particle, such that a part's share of particles adds the mean load of the parts */
    home_run run;
} homing;

/* Tag of messages to the next rank. */
#define TAG_HOMING 77

/* Takes over the running sums of the previous rank. */
static int take_over(MPI_Comm comm, homing *h)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    EQP__FAIL_IF(rank > 0 && (MPI_Recv(&h->run, (int)sizeof h->run, MPI_BYTE, rank - 1, TAG_HOMING, comm,
                                       MPI_STATUS_IGNORE) != MPI_SUCCESS ||
                              (h->loads != NULL && MPI_Recv(h->loads, h->nparts, MPI_DOUBLE, rank - 1, TAG_HOMING, comm,
                                                            MPI_STATUS_IGNORE) != MPI_SUCCESS)),
                 EQP_ERR_MPI);
    return EQP_OK;
}

static int hand_over(MPI_Comm comm, const homing *h)
{
    int rank, nranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    EQP__FAIL_IF(rank + 1 < nranks &&
                     (MPI_Send(&h->run, (int)sizeof h->run, MPI_BYTE, rank + 1, TAG_HOMING, comm) != MPI_SUCCESS ||
                      (h->loads != NULL &&
                       MPI_Send(h->loads, h->nparts, MPI_DOUBLE, rank + 1, TAG_HOMING, comm) != MPI_SUCCESS)),
                 EQP_ERR_MPI);
    return EQP_OK;
}

static int homing_open(MPI_Comm comm, const eqp_owners *owners, const eqp__assigned *assigned, homing *h)
{
    const int nparts = assigned->nparts;
    const double *loads = assigned->loads;
    int code = find_share(comm, owners, nparts, &h->share);

    h->nparts = nparts;
    h->run = (home_run){-1, 0, h->share};
    if (code != EQP_OK || loads == NULL) {
        return code;
    }
    code = eqp_agree(comm, eqp_array_create(&h->loads, nparts, sizeof *h->loads), NULL);
    for (int p = 0; p < nparts && code == EQP_OK; p++) {
        h->loads[p] = loads[p];
        h->each += loads[p] / nparts / (double)h->share;
    }
    return code;
}

/* Tag and home rank of every owner (tags of split owners count from this rank's first). votes: [units] scratch. */
static int find_homes(const eqp_owners *owners, const eqp_work_units *made, const eqp__assigned *assigned, homing *h,
                      eqp__vote *votes, split_table *table, eqp_placement *placement)
{
    const int *part = assigned->part, *apart = assigned->home;
    int code = EQP_OK;

    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        int64_t first = o, count = 1;
        if (made->units != NULL) {
            code = eqp_units_of_owner(made->units, o, &first, &count);
        }
        if (code != EQP_OK) {
            break;
        }
        placement[o] = (eqp_placement){part[first], apart != NULL ? apart[o] : part[first]};
        if (count > 1 && read_split(made, part, first, count, table)) {
            const int64_t particles = owners->owner[o].particles, nvotes = count_votes(made, part, first, count, votes);
            const int home = h->loads == NULL ? stay_together(nvotes, votes, particles, &h->run)
                                              : live_with_least(nvotes, votes, h->each * (double)particles, h->loads);
            placement[o] = (eqp_placement){-table->nsplit, home};
        }
        run_extend(&h->run, placement[o].home, owners->owner[o].particles);
    }
    return code;
}

static int read_parts(MPI_Comm comm, const eqp_owners *owners, const eqp_work_units *made,
                      const eqp__assigned *assigned, homing *h, split_table *table, eqp_placement *placement)
{
    const bool shares = made->units != NULL; /* the same on all ranks */
    eqp__vote *votes = NULL;
    int handed = EQP_OK,
        code = EQP__ARRAYS(EQP__ARRAY(table->nunits_of, owners->n), EQP__ARRAY(table->centroid, 3 * made->n),
                           EQP__ARRAY(table->rank, made->n), EQP__ARRAY(votes, made->n));

    EQP_TRY(eqp_agree(comm, code, NULL));
    code = shares ? take_over(comm, h) : EQP_OK;
    code = code == EQP_OK ? find_homes(owners, made, assigned, h, votes, table, placement) : code;
    handed = shares ? hand_over(comm, h) : EQP_OK; /* also after an error, as the next rank waits */
    code = code == EQP_OK ? handed : code;
done:
    free(votes);
    return code;
}

/* Gathers the table on all ranks; numbers the tags of split owners over all ranks. */
static int share_table(MPI_Comm comm, const split_table *mine, int64_t nowners, eqp_placement *placement,
                       eqp_map **made)
{
    split_table all = {0};
    int64_t before = 0;
    int code;

    EQP_TRY(eqp_scan_int64(comm, mine->nsplit, &before, NULL));
    EQP_TRY(eqp_gather_records(comm, sizeof(int64_t), mine->nsplit, mine->nunits_of, &all.nsplit, &all.nunits_of));
    EQP_TRY(eqp_gather_records(comm, 3 * sizeof(double), mine->nunits, mine->centroid, &all.nunits, &all.centroid));
    EQP_TRY(eqp_gather_records(comm, sizeof(int), mine->nunits, mine->rank, &all.nunits, &all.rank));
    EQP_TRY(eqp_agree(comm, eqp_map_create(all.nsplit, all.nunits_of, all.centroid, all.rank, made), NULL));
    for (int64_t o = 0; o < nowners; o++) {
        placement[o].tag -= placement[o].tag < 0 ? before : 0;
    }
done:
    split_table_free(&all);
    return code;
}

typedef struct notice {
    int64_t at_home;
    eqp_placement placement;
} notice;

static int send_notices(MPI_Comm comm, const eqp_owners *owners, const eqp_placement *placement, int64_t *n,
                        notice **in)
{
    notice *out = NULL;
    int *rank = NULL;
    int code = eqp_array_create(&out, owners->n, sizeof *out);

    code = code ? code : eqp_array_create(&rank, owners->n, sizeof *rank);
    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        out[o] = (notice){owners->owner[o].at_home, placement[o]};
        rank[o] = owners->owner[o].home;
    }
    code = eqp_agree(comm, code, NULL);
    code = code ? code : eqp_send_records(comm, sizeof *out, owners->n, rank, out, n, in);
    EQP__FREE(rank, out);
    return code;
}

/* Checks that every owner got exactly one placement. */
static int read_notices(int64_t nhome, int64_t n, const notice *in, eqp_placement *placement)
{
    EQP__FAIL_IF(n != nhome, EQP_ERR_INTERNAL);
    for (int64_t i = 0; i < n; i++) {
        placement[i].home = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(in[i].at_home < 0 || in[i].at_home >= n || placement[in[i].at_home].home >= 0, EQP_ERR_INTERNAL);
        placement[in[i].at_home] = in[i].placement;
    }
    return EQP_OK;
}

static int send_verdicts(MPI_Comm comm, const eqp_owners *owners, const eqp_placement *placement, int64_t nhome,
                         eqp_placement **placements)
{
    eqp_placement *heard = NULL;
    notice *in = NULL;
    int64_t n = 0;
    int code = send_notices(comm, owners, placement, &n, &in);

    if (code == EQP_OK) {
        code = eqp_array_create(&heard, nhome, sizeof *heard);
        code = eqp_agree(comm, code == EQP_OK ? read_notices(nhome, n, in, heard) : code, NULL);
    }
    free(in);
    if (code != EQP_OK) {
        free(heard);
        return code;
    }
    *placements = heard;
    return EQP_OK;
}

int eqp__placements_make(MPI_Comm comm, const eqp_owners *owners, const eqp_work_units *units,
                         const eqp__assigned *assigned, int64_t nhome, eqp_map **made, eqp_placement **placements)
{
    split_table table = {0};
    eqp_placement *placement = NULL;
    homing h = {.loads = NULL};
    eqp_map *map = NULL;
    int code = homing_open(comm, owners, assigned, &h);

    if (code == EQP_OK) {
        code = eqp_array_create(&placement, owners->n, sizeof *placement);
        EQP_TRY(eqp_agree(comm, code, NULL));
        code = eqp_agree(comm, read_parts(comm, owners, units, assigned, &h, &table, placement), NULL);
    }
    EQP_TRY(code);
    EQP_TRY(share_table(comm, &table, owners->n, placement, &map));
    EQP_TRY(assigned->nphases > 0
                ? eqp__phased_place(comm, owners->n, assigned->nphases, assigned->phased, placement, map)
                : EQP_OK);
    EQP_TRY(send_verdicts(comm, owners, placement, nhome, placements));
    *made = map;
    map = NULL;
done:
    eqp_map_free(map);
    split_table_free(&table);
    EQP__FREE(h.loads, placement);
    return code;
}

/* Answer for an index that a rank does not have. */
static eqp_placement find_known(int64_t at, int64_t nknown, const eqp_placement *known)
{
    return at >= 0 && at < nknown ? known[at] : (eqp_placement){0, -1};
}

int eqp__placements_fetch(MPI_Comm comm, int code, int64_t n, const eqp__address *address, int64_t nknown,
                          const eqp_placement *known, eqp_placement *placement)
{
    eqp_move_plan *plan = NULL;
    int64_t *wanted = NULL, *given = NULL, *from = NULL, ngiven = 0, none = 1;
    eqp_placement *reply = NULL;
    int *rank = NULL, me, nranks;

    EQP__CHECK(eqp__comm_shape(comm, &me, &nranks));
    code = code ? code : EQP__ARRAYS(EQP__ARRAY(rank, n), EQP__ARRAY(wanted, n), EQP__ARRAY(from, nranks));
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        const int64_t at = address[i].at_home;
        rank[i] = address[i].rank;
        wanted[i] = at;
        none = none && rank[i] == me;
        code = rank[i] < 0 || rank[i] >= nranks || (rank[i] == me && (at < 0 || at >= nknown)) ? EQP_ERR_DATA : EQP_OK;
    }
    code = code ? code : eqp_move_plan_create(n, rank, nranks, &plan);
    EQP_TRY(eqp__agree_least(comm, code, 1, &none, NULL));
    if (none == 0) { /* on any rank */
        EQP_TRY(eqp__move_new(comm, code, plan, sizeof *wanted, wanted, from, &ngiven, &given));
        code = eqp_array_create(&reply, ngiven, sizeof *reply);
        for (int64_t i = 0; i < ngiven && code == EQP_OK; i++) {
            reply[i] = find_known(given[i], nknown, known);
        }
        EQP_TRY(eqp__move_return(comm, code, plan, from, sizeof *reply, reply, placement));
        for (int64_t i = 0; i < n; i++) {
            code = placement[i].home >= 0 ? code : EQP_ERR_DATA;
        }
        EQP_TRY(eqp_agree(comm, code, NULL));
    } else {
        for (int64_t i = 0; i < n; i++) {
            placement[i] = known[wanted[i]];
        }
    }
done:
    eqp_move_plan_free(plan);
    EQP__FREE(reply, given, from, wanted, rank);
    return code;
}
