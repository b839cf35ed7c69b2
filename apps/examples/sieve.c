/* SPDX-License-Identifier: BSD-3-Clause */
/* Primes by trial division on all ranks, the numbers cut into 32 ranges of equal lengths and then into ranges of equal
 * times. Divisions are counted, so the result is the same everywhere. */
#include <equipoise/more/comm.h>
#include <equipoise/more/models.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { MAX = 2000000, NODES = 32, FORM_LOW = 9 }; /* FORM_LOW: where the form of t(x) begins to rise */

/* Divisions by odd numbers until n, odd and at least 3, is known to be prime or not. */
static int64_t divide(int64_t n, int64_t *primes)
{
    int64_t d = 3;

    for (; d * d <= n; d += 2) {
        if (n % d == 0) {
            return (d - 1) / 2;
        }
    }
    *primes += 1;
    return (d - 3) / 2;
}

/* Collective: the ranks take turns with the ranges; the divisions of each range on all ranks. */
static int sieve(const char *split, const double *bound, double time[NODES])
{
    int64_t first[NODES + 1], operations[NODES] = {0}, primes, all = 0;
    double inefficiency, efficiency;
    int rank, size, code;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EQP_TRY(eqp_functional_items(NODES, bound, first));
    primes = rank == 0; /* 2 */
    for (int node = rank; node < NODES; node += size) {
        for (int64_t n = first[node] > 3 ? first[node] | 1 : 3; n < first[node + 1]; n += 2) {
            operations[node] += divide(n, &primes);
        }
    }
    EQP_TRY(eqp_sum_int64(MPI_COMM_WORLD, 1, &primes));
    EQP_TRY(eqp_sum_int64(MPI_COMM_WORLD, NODES, operations));
    for (int node = 0; node < NODES; node++) {
        time[node] = (double)operations[node];
        all += operations[node];
    }
    EQP_TRY(eqp_functional_efficiency(NODES, time, &inefficiency, &efficiency));
    if (rank == 0) {
        printf("%s\t%" PRId64 "\t%" PRId64 "\t%.2f\n", split, primes, all, efficiency);
    }
done:
    return code;
}

/* Bounds of equal times: t(x) runs through the counts of the ranges, with the slope of A x^P / (ln x - 1.08366) there,
 * which is fitted to them. */
static int cut(const double time[NODES], double bound[NODES + 1])
{
    eqp_functional_samples *samples = NULL;
    eqp_functional_family family;
    eqp_functional_time form;
    double t[NODES + 1] = {0}, slope[NODES + 1];
    int code;

    for (int i = 0; i < NODES; i++) {
        t[i + 1] = t[i] + time[i];
    }
    EQP_TRY(eqp_functional_fit(EQP_FUNCTIONAL_PRIMES, NODES, bound + 1, t + 1, &family, NULL));
    EQP_TRY(eqp_functional_family_time(&family, FORM_LOW, bound[NODES], &form));
    for (int i = 0; i <= NODES; i++) {
        slope[i] = form.slope(form.user, fmax(bound[i], FORM_LOW));
    }
    EQP_TRY(eqp_functional_samples_create(NODES + 1, bound, t, slope, &samples));
    form = eqp_functional_samples_time(samples);
    EQP_TRY(eqp_functional_cut(&form, NODES, NULL, bound, NULL));
done:
    eqp_functional_samples_free(samples);
    return code;
}

int main(int argc, char **argv)
{
    double bound[NODES + 1], time[NODES];
    int rank, code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("split\tprimes\toperations\tefficiency\n");
    }
    for (int i = 0; i <= NODES; i++) {
        bound[i] = floor(2 + ((double)MAX - 1) * i / NODES);
    }
    EQP_TRY(sieve("linear", bound, time));
    EQP_TRY(cut(time, bound));
    EQP_TRY(sieve("functional", bound, time));
done:
    MPI_Finalize();
    return code != EQP_OK;
}
