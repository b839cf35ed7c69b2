/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps for a program that calls MPI_Pcontrol (equipoise/pcontrol.h): its ranks send their items to the balancers, which
 * divide them among the ranks. */
#include "world.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/pcontrol.h>
#include <equipoise/points.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct item {
    double point[3], weight;
    int64_t part_now;
} item;

/* Id of an item and its index in the offer. */
typedef struct known {
    int64_t id, place;
} known;

static struct {
    const eqp_method *method;
    known *offered; /* [noffered] sorted by id; unused for items without ids */
    int64_t noffered;
    bool by_id;
    int state; /* last state returned: EQP_PCONTROL_NOBODY, _WAITING or _LOST */
} door;

/* ---- balancers ---- */

/* Items of all offers of this balancer in the layout of eqp_balance_points(). */
static int make_points(int64_t n, const eqp_lazy_parcel *offer, eqp_points *points, double **weight, int **part_now)
{
    const int64_t nitems = points->n;
    double *x = NULL;
    int code = EQP_OK;
    int64_t at = 0;

    if ((code = eqp_array_create(&x, 3 * nitems, sizeof *x)) != EQP_OK ||
        (code = eqp_array_create(weight, nitems, sizeof **weight)) != EQP_OK ||
        (code = eqp_array_create(part_now, nitems, sizeof **part_now)) != EQP_OK) {
        free(x);
        return code;
    }
    for (int64_t i = 0; i < n; i++) {
        const item *items = offer[i].data;

        for (size_t k = 0; k < offer[i].bytes / sizeof(item); k++, at++) {
            memcpy(x + 3 * at, items[k].point, sizeof items[k].point);
            (*weight)[at] = items[k].weight;
            (*part_now)[at] = (int)items[k].part_now;
        }
    }
    points->x = x;
    points->weight = *weight;
    points->part_now = *part_now;
    return EQP_OK;
}

static int make_answers(int64_t n, const eqp_lazy_parcel *offer, const int *part, eqp_lazy_parcel *answer)
{
    for (int64_t i = 0; i < n; i++) {
        const size_t nitems = offer[i].bytes / sizeof(item);

        answer[i].data = malloc(nitems * sizeof *part + 1);
        if (answer[i].data == NULL) {
            return EQP_ERR_MEMORY;
        }
        answer[i].bytes = nitems * sizeof *part;
        memcpy(answer[i].data, part, answer[i].bytes);
        part += nitems;
    }
    return EQP_OK;
}

static int make(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                eqp_lazy_parcel *answer)
{
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_points points = {0};
    double *weight = NULL;
    int *part_now = NULL, *part = NULL, code = EQP_OK;

    for (int64_t i = 0; i < n; i++) {
        points.n += (int64_t)(offer[i].bytes / sizeof(item));
        code = offer[i].data != NULL ? code : EQP_ERR_REMOTE; /* an application rank failed */
    }
    options.nparts = nranks;
    code = code == EQP_OK ? make_points(n, offer, &points, &weight, &part_now) : code;
    if (code == EQP_OK) {
        code = eqp_array_create(&part, points.n, sizeof *part);
    }
    code = eqp_agree(balancers, code, NULL);
    if (code == EQP_OK) {
        code = eqp_balance_points(balancers, user, &points, &options, part, NULL);
    }
    if (code == EQP_OK) {
        code = eqp_agree(balancers, make_answers(n, offer, part, answer), NULL);
    }
    free((void *)points.x);
    free(weight);
    free(part_now);
    free(part);
    return code;
}

void eqp__door_open(const char *method)
{
    const char *name = method != NULL && *method != '\0' ? method : "sfc";

    door.method = eqp_method_find(name);
    if (door.method == NULL || door.method->flags & (EQP_NEEDS_PINS | EQP_BY_LOADS | EQP_KEEPS)) {
        eqp__refuse("--balance: '%s' is no method that makes maps of points and weights", name);
    }
    if (eqp_lazy_serves(eqp__lazy)) {
        bool lost = false;
        const int code = eqp_lazy_serve(eqp__lazy, make, (void *)(uintptr_t)door.method);

        if (code != EQP_OK) {
            eqp__say("a balancer ends: %s", eqp_error_text(code));
        }
        eqp_lazy_leave(&eqp__lazy, &lost);
        PMPI_Finalize();
        _exit(0); /* skips the program's exit handlers, as this rank never entered main() */
    }
    eqp_lazy_host(eqp__lazy, make, (void *)(uintptr_t)door.method);
}

/* ---- the application ---- */

static int compare_known(const void *a, const void *b)
{
    const known *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* Stores the ids of an offer, to find its items among the present ones when the map arrives. */
static int remember(const eqp_pcontrol *records)
{
    free(door.offered);
    door.offered = NULL;
    door.noffered = records->n;
    door.by_id = records->id != NULL;
    if (!door.by_id) {
        return EQP_OK;
    }
    const int code = eqp_array_create(&door.offered, records->n, sizeof *door.offered);

    for (int64_t i = 0; code == EQP_OK && i < records->n; i++) {
        door.offered[i] = (known){records->id[i], i};
    }
    if (code == EQP_OK) {
        qsort(door.offered, (size_t)records->n, sizeof *door.offered, compare_known);
    }
    return code;
}

/* EQP_ERR_DATA for numbers that are not finite. */
static int fill(const eqp_pcontrol *records, int rank, item *items)
{
    for (int64_t i = 0; i < records->n; i++) {
        const double *point = records->point + 3 * i;

        items[i].weight = records->weight != NULL ? records->weight[i] : 1.0;
        items[i].part_now = records->part_now != NULL ? records->part_now[i] : rank;
        memcpy(items[i].point, point, sizeof items[i].point);
        if (!isfinite(point[0]) || !isfinite(point[1]) || !isfinite(point[2]) || !isfinite(items[i].weight) ||
            items[i].weight < 0.0) {
            return EQP_ERR_DATA;
        }
    }
    return EQP_OK;
}

/* A rank with unreadable records sends an empty offer, so that the offer is complete. */
static void offer(eqp_pcontrol *records)
{
    item *items = NULL;
    int rank = 0, code = EQP_ERR_DATA;

    if (door.state != EQP_PCONTROL_NOBODY) { /* a pending map refers to the items of the last offer */
        records->state = door.state;
        return;
    }
    PMPI_Comm_rank(eqp__app, &rank);
    if (records->n >= 0 && records->n <= INT_MAX / (int64_t)sizeof *items - 1 &&
        (records->n == 0 || records->point != NULL)) {
        code = eqp_array_create(&items, records->n, sizeof *items);
        code = code == EQP_OK ? fill(records, rank, items) : code;
        code = code == EQP_OK ? remember(records) : code;
    }
    const bool ready = code == EQP_OK;
    const int offered =
        eqp_lazy_offer(eqp__lazy, records->step, ready ? (size_t)records->n * sizeof *items : 0, ready ? items : NULL);

    free(items);
    if (offered == EQP_ERR_ARGUMENT) { /* a negative step, on all ranks */
        records->state = EQP_PCONTROL_WRONG;
        return;
    }
    door.state = EQP_PCONTROL_WAITING;
    records->state = code == EQP_ERR_DATA ? EQP_PCONTROL_WRONG : EQP_PCONTROL_WAITING;
}

static int hand_out(const eqp_lazy_parcel *answer, eqp_pcontrol *records)
{
    const int *part = answer->data;

    if (answer->bytes != (size_t)door.noffered * sizeof *part || (records->n > 0 && records->part == NULL) ||
        door.by_id != (records->id != NULL) || (!door.by_id && records->n != door.noffered)) {
        return EQP_PCONTROL_WRONG;
    }
    for (int64_t i = 0; i < records->n; i++) {
        if (!door.by_id) {
            records->part[i] = part[i];
            continue;
        }
        const known wanted = {records->id[i], 0};
        const known *found = bsearch(&wanted, door.offered, (size_t)door.noffered, sizeof wanted, compare_known);

        records->part[i] = found != NULL ? part[found->place] : -1;
    }
    return EQP_PCONTROL_READY;
}

static void take(eqp_pcontrol *records)
{
    eqp_lazy_phase phase = EQP_LAZY_IDLE;
    eqp_lazy_parcel answer = {0};

    if (eqp_lazy_poll(eqp__lazy, records->step, &phase) != EQP_OK) {
        phase = EQP_LAZY_LOST;
    }
    door.state = EQP_PCONTROL_NOBODY;
    switch (phase) {
    case EQP_LAZY_IDLE:
        records->state = EQP_PCONTROL_IDLE;
        break;
    case EQP_LAZY_OFFERED:
        records->state = door.state = EQP_PCONTROL_WAITING;
        break;
    case EQP_LAZY_READY:
        records->state = eqp_lazy_take(eqp__lazy, &answer) == EQP_OK ? hand_out(&answer, records) : EQP_PCONTROL_FAILED;
        break;
    default:
        records->state = door.state = EQP_PCONTROL_LOST;
    }
}

void eqp__door(int level, void *asked)
{
    eqp_pcontrol *records = asked;

    if (eqp__lazy == NULL || records == NULL || records->size != sizeof *records) {
        return; /* another version of <equipoise/more/pcontrol.h>, with an unknown layout */
    }
    if (eqp__measures) {
        eqp__mpi_begins(MPI_COMM_NULL);
    }
    if (level == EQP_PCONTROL_OFFER) {
        offer(records);
    } else {
        take(records);
    }
    if (eqp__measures) {
        eqp__mpi_ends();
    }
}
