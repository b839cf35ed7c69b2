/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#define PART_BITS 16

int64_t dd_tally_number(int64_t high, int part)
{
    return high << PART_BITS | part;
}

int64_t dd_tally_high(int64_t number)
{
    return number >> PART_BITS;
}

int dd_tally_part(int64_t number)
{
    return (int)(number & (((int64_t)1 << PART_BITS) - 1));
}

int dd_tally_add(dd_tallies *list, int64_t number, int64_t amount, int64_t ends)
{
    if (list->n > 0 && list->of[list->n - 1].number == number) {
        list->of[list->n - 1].amount += amount;
        list->of[list->n - 1].ends += ends;
        return EQP_OK;
    }
    DD_CHECK(eqp_array_reserve(&list->of, &list->room, list->n + 1, sizeof *list->of));
    list->of[list->n++] = (dd_tally){number, amount, ends};
    return EQP_OK;
}

static int by_number(const void *left, const void *right)
{
    const dd_tally *a = left, *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

static void tally_up(dd_tallies *list)
{
    int64_t n = 0;

    if (list->n > 1) {
        qsort(list->of, (size_t)list->n, sizeof *list->of, by_number);
    }
    for (int64_t i = 0; i < list->n; i++) {
        if (n > 0 && list->of[n - 1].number == list->of[i].number) {
            list->of[n - 1].amount += list->of[i].amount;
            list->of[n - 1].ends += list->of[i].ends;
        } else {
            list->of[n++] = list->of[i];
        }
    }
    list->n = n;
}

int dd_tallies_gather(MPI_Comm comm, dd_tallies *list)
{
    dd_tally *in = NULL;
    int64_t n = 0;
    int *rank = NULL, nranks, code;

    MPI_Comm_size(comm, &nranks);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&rank, list->n, sizeof *rank), NULL));
    tally_up(list);
    for (int64_t i = 0; i < list->n; i++) {
        rank[i] = (int)(dd_tally_high(list->of[i].number) % nranks);
    }
    EQP_TRY(eqp_send_records(comm, sizeof *in, list->n, rank, list->of, &n, &in));
    free(list->of);
    *list = (dd_tallies){n, n, in};
    tally_up(list);
done:
    free(rank);
    return code;
}
