/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that requests maps without linking the library: items on a line, a few of them heavy. It counts the maps
 * and checks the header's promises. usage: door STEPS [wrong | begun] */
#include <equipoise/more/pcontrol.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ITEMS 300

static int rank, ranks;

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            printf("rank %d: line %d: not so: %s\n", rank, __LINE__, #holds);                                          \
        }                                                                                                              \
    } while (0)

typedef struct items {
    int64_t n, id[2 * ITEMS];
    double weight[2 * ITEMS], point[2 * ITEMS][3];
    int part[2 * ITEMS];
} items;

static void make(items *own)
{
    own->n = rank == 1 ? 0 : ITEMS; /* one rank has no items */
    for (int64_t i = 0; i < own->n; i++) {
        const double x = (double)(rank * ITEMS + i);

        own->id[i] = 7 * (rank * ITEMS + i);
        own->weight[i] = rank == 0 ? 9.0 : 1.0;
        own->point[i][0] = x;
        own->point[i][1] = own->point[i][2] = 0.0;
    }
}

/* Changes the items while the map is made: drops the last, reverses the order, inserts a new one in front. */
static void change(items *own)
{
    items old = *own;

    own->id[0] = 1;
    own->n = old.n > 0 ? old.n : 1;
    for (int64_t i = 1; i < own->n; i++) {
        own->id[i] = old.id[old.n - 1 - i];
    }
}

/* Every remaining item of rank r's line has a part, and parts are even up to the removed items. */
static void judge(const items *own, const items *offered)
{
    double load[64] = {0}, all[64] = {0}, sum = 0.0, most = 0.0;

    CHECK(own->part[0] == -1);
    for (int64_t i = 1; i < own->n; i++) {
        CHECK(own->part[i] >= 0 && own->part[i] < ranks);
        load[own->part[i] % 64] += offered->weight[offered->n - 1 - i];
    }
    MPI_Allreduce(load, all, ranks, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        sum += all[r];
        most = all[r] > most ? all[r] : most;
    }
    CHECK(most < 1.1 * sum / ranks);
}

static void ask(int level, int64_t step, items *own, eqp_pcontrol *asked)
{
    *asked = (eqp_pcontrol){.size = sizeof *asked, .step = step, .n = own->n, .id = own->id, .weight = own->weight};
    asked->point = own->point[0];
    asked->part = own->part;
    MPI_Pcontrol(level, asked);
}

/* Steps until enough maps have arrived. */
static int run(int64_t steps)
{
    static items own, offered;
    int maps = 0;

    for (int64_t step = 0; step < steps; step++) {
        eqp_pcontrol asked;

        ask(EQP_PCONTROL_TAKE, step, &own, &asked);
        int state = asked.state, lowest = 0;

        MPI_Allreduce(&state, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        CHECK(lowest == state);
        if (state == EQP_PCONTROL_READY) {
            judge(&own, &offered);
            maps++;
        } else if (state == EQP_PCONTROL_IDLE) {
            make(&own);
            offered = own;
            ask(EQP_PCONTROL_OFFER, step, &own, &asked);
            CHECK(asked.state == EQP_PCONTROL_WAITING);
            change(&own);
            ask(EQP_PCONTROL_OFFER, step, &own, &asked); /* a second offer is ignored */
            CHECK(asked.state == EQP_PCONTROL_WAITING);
        } else if (state == EQP_PCONTROL_NOBODY) {
            return -1;
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return maps;
}

/* Unreadable offers are reported, and the run continues. */
static void offer_what_is_wrong(void)
{
    static items own;
    eqp_pcontrol asked;

    make(&own);
    own.weight[0] = -1.0;
    ask(EQP_PCONTROL_OFFER, 0, &own, &asked);
    CHECK(asked.state == (own.n > 0 ? EQP_PCONTROL_WRONG : EQP_PCONTROL_WAITING));
    for (int64_t step = 1; step < 2000 && asked.state != EQP_PCONTROL_FAILED; step++) {
        ask(EQP_PCONTROL_TAKE, step, &own, &asked);
        CHECK(asked.state == EQP_PCONTROL_WAITING || asked.state == EQP_PCONTROL_FAILED);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    CHECK(asked.state == EQP_PCONTROL_FAILED);
    ask(EQP_PCONTROL_OFFER, -1, &own, &asked);
    CHECK(asked.state == EQP_PCONTROL_WRONG);
    asked.size = 8;
    asked.state = EQP_PCONTROL_NOBODY;
    MPI_Pcontrol(EQP_PCONTROL_OFFER, &asked);
    CHECK(asked.state == EQP_PCONTROL_NOBODY);
    MPI_Pcontrol(EQP_PCONTROL_TAKE, NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && strcmp(argv[2], "wrong") == 0) {
        offer_what_is_wrong();
    } else if (argc > 2 && rank == 0) {
        puts("begun");
        fflush(stdout);
    }
    const int maps = run(argc > 1 ? atol(argv[1]) : 1);

    if (rank == 0) {
        printf("%s\n", maps < 0 ? "nobody" : maps > 0 ? "maps" : "no maps");
    }
    MPI_Finalize();
    return 0;
}
