/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that need each other's particles and give forces back, with libequipoise's exchange plans. Every rank has a
 * block of N particles on a line, joined by springs to those of its own block and of the blocks of some ranks before
 * it. Whoever holds the later block computes; so places go out to those who compute, and forces come back.
 *
 * mpicc -std=c11 exchange_plans.c $(pkg-config --cflags --libs equipoise) -o exchange_plans
 * mpiexec -n 4 ./exchange_plans */
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/route.h>
#include <equipoise/more/whatif.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 50, REACH = 2 };

/* Springs between all particles of two blocks: forces on both. */
static void attract(const double *a, double *on_a, const double *b, double *on_b)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            on_a[i] += b[j] - a[i];
            on_b[j] += a[i] - b[j];
        }
    }
}

/* One evaluation of forces; local work is done while remote places travel. */
static int compute_forces(eqp_route *route, const double *place, double *force)
{
    const eqp_route_view view = eqp_route_arrivals(route); /* blocks of places that I shall get: N doubles each */
    const void *received = NULL;
    double *on_others = NULL, from_others[N];
    int code = eqp_array_create(&on_others, view.n * N, sizeof *on_others);

    if (code || (code = eqp_route_start(route, place))) {
        goto done;
    }
    memset(force, 0, N * sizeof *force);
    for (int i = 0; i < N; i++) { /* within my block */
        for (int j = 0; j < N; j++) {
            force[i] += place[j] - place[i];
        }
    }
    if ((code = eqp_route_finish(route, &received))) {
        goto done;
    }
    for (int64_t k = 0; k < view.n; k++) {
        const int64_t at = view.offset[k] / (int64_t)sizeof(double);
        attract(place, force, (const double *)received + at, on_others + at);
    }
    if ((code = eqp_route_back_start(route, on_others)) || (code = eqp_route_back_finish(route, from_others))) {
        goto done;
    }
    for (int i = 0; i < N; i++) {
        force[i] += from_others[i];
    }
done:
    free(on_others);
    return code;
}

/* Forces with one plan, or with the part of it that this machine supports. All later ranks need rank 0's block. */
static int run(MPI_Comm comm, const char *name, double *force)
{
    int rank, nranks, *user = NULL;
    eqp_exchange_plan plan;
    eqp_route *route = NULL;
    double place[N];
    int code = eqp_exchange_plan_parse(name, &plan);

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    code = code ? code : eqp_array_create(&user, nranks, sizeof *user);
    if ((code = eqp_agree(comm, code, NULL)) || (code = eqp_route_fit(comm, &plan))) {
        goto done;
    }
    const int64_t id = rank, bytes = sizeof place;
    int64_t first[2] = {0, 0};
    for (int r = rank + 1; r < nranks && (rank == 0 || r <= rank + REACH); r++) {
        user[first[1]++] = r;
    }
    const eqp_route_blocks blocks = {.n = 1, .id = &id, .bytes = &bytes, .first = first, .rank = user};
    for (int i = 0; i < N; i++) {
        place[i] = N * rank + i;
    }
    if ((code = eqp_route_create(comm, &plan, &blocks, &route)) || (code = compute_forces(route, place, force))) {
        goto done;
    }
    const eqp_route_counts counts = eqp_route_last_counts(route); /* of the trip back */
    if (rank == 0) {
        printf("%-20s %" PRId64 " messages, %" PRId64 " bytes of forces for rank 0\n", name, counts.messages_received,
               counts.bytes_received);
    }
done:
    eqp_route_free(route);
    free(user);
    return code;
}

int main(int argc, char **argv)
{
    static const char *const name[] = {"direct", "two-stage", "log", "direct+broadcast/4", "two-stage+node/2"};
    double expected[N], force[N];
    MPI_Comm comm = MPI_COMM_NULL;
    int code, differ = 0;

    MPI_Init(&argc, &argv);
    code = eqp_comm_create(MPI_COMM_WORLD, &comm);
    for (size_t i = 0; i < sizeof name / sizeof name[0] && !code; i++) {
        code = run(comm, name[i], i == 0 ? expected : force);
        differ = differ || (!code && i > 0 && memcmp(force, expected, sizeof force) != 0);
    }
    if (code || differ) {
        fprintf(stderr, "exchange_plans: %s\n", code ? eqp_error_text(code) : "forces differ");
    }
    eqp_comm_free(&comm);
    MPI_Finalize();
    return code || differ;
}
