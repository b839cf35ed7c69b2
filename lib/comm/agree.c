/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement and small sums: what a collective call needs to fail on all ranks or on none. */
#include "comm/agree.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>
#include <equipoise/problem.h>

int eqp__comm_dup(MPI_Comm comm, MPI_Comm *own)
{
    MPI_Comm copy = MPI_COMM_NULL;

    EQP__FAIL_IF(comm == MPI_COMM_NULL, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(MPI_Comm_dup(comm, &copy) != MPI_SUCCESS ||
                     MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    *own = copy;
    return EQP_OK;
}

int eqp_comm_create(MPI_Comm comm, MPI_Comm *own)
{
    MPI_Comm copy = MPI_COMM_NULL;
    int code = eqp__comm_dup(comm, &copy);

    EQP__CHECK(code);
    if ((code = eqp_agree(copy, own ? EQP_OK : EQP_ERR_ARGUMENT, NULL))) {
        (void)MPI_Comm_free(&copy);
        return code;
    }
    *own = copy;
    return EQP_OK;
}

void eqp_comm_free(MPI_Comm *own)
{
    if (own && *own != MPI_COMM_NULL) {
        (void)MPI_Comm_free(own);
    }
}

int eqp__comm_shape(MPI_Comm comm, int *rank, int *nranks)
{
    EQP__FAIL_IF(comm == MPI_COMM_NULL, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(MPI_Comm_rank(comm, rank) != MPI_SUCCESS || MPI_Comm_size(comm, nranks) != MPI_SUCCESS, EQP_ERR_MPI);
    return EQP_OK;
}

static int open_agreement(MPI_Comm comm, int code, int n, const int64_t *least, eqp__agreement *a)
{
    int rank, failed = eqp__comm_shape(comm, &rank, &a->nranks);

    if (failed) {
        return failed;
    }
    a->comm = comm;
    a->code = code;
    a->n = n;
    a->request = MPI_REQUEST_NULL;
    /* Ranks that failed themselves come first; EQP_ERR_REMOTE is a failure that this rank only heard of. */
    a->mine[0] = !code ? INT64_MAX : code == EQP_ERR_REMOTE ? a->nranks + rank : rank;
    for (int k = 0; k < n; k++) {
        a->mine[1 + k] = least[k];
    }
    return EQP_OK;
}

/* Evaluates a completed reduction. If a rank failed, it broadcasts its code and message. */
static int close_agreement(const eqp__agreement *a, int64_t *least, eqp_message *message)
{
    struct {
        int code;
        eqp_message message;
    } told = {.code = a->code};

    if (a->all[0] == INT64_MAX) {
        for (int k = 0; k < a->n; k++) {
            least[k] = a->all[1 + k];
        }
        return EQP_OK;
    }
    if (message) {
        told.message = *message;
    }
    EQP__CHECK(
        EQP__MPI(EQP__WAITS(MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, (int)(a->all[0] % a->nranks), a->comm))));
    if (message) {
        *message = told.message;
    }
    return told.code;
}

int eqp__agree_begin(MPI_Comm comm, int code, int n, const int64_t *least, eqp__agreement *a)
{
    EQP__CHECK(open_agreement(comm, code, n, least, a));
    return EQP__MPI(MPI_Iallreduce(a->mine, a->all, 1 + n, MPI_INT64_T, MPI_MIN, comm, &a->request));
}

int eqp__agree_end(eqp__agreement *a, int64_t *least)
{
    EQP__CHECK(EQP__MPI(EQP__WAITS(MPI_Wait(&a->request, MPI_STATUS_IGNORE))));
    return close_agreement(a, least, NULL);
}

int eqp__agree_least(MPI_Comm comm, int code, int n, int64_t *least, eqp_message *message)
{
    eqp__agreement a;

    EQP__CHECK(open_agreement(comm, code, n, least, &a));
    EQP__CHECK(EQP__MPI(EQP__WAITS(MPI_Allreduce(a.mine, a.all, 1 + n, MPI_INT64_T, MPI_MIN, comm))));
    return close_agreement(&a, least, message);
}

/* The message of a meeting: the numbers of minima and sums, then the minima and the sums. */
typedef struct meeting {
    int32_t nleast, nsum;
    union {
        int64_t least;
        double sum;
    } word[1 + EQP__AGREE_MOST + EQP__MEET_MOST]; /* minima, then sums */
} meeting;

/* The reduction of two meetings; lower ranks are on the left. */
static void join_meetings(void *left, void *right, int *n, MPI_Datatype *type)
{
    const meeting *from = left;
    meeting *to = right;

    (void)n; /* always 1 */
    (void)type;
    for (int k = 0; k < to->nleast; k++) {
        const int64_t other = from->word[k].least;
        to->word[k].least = other < to->word[k].least ? other : to->word[k].least;
    }
    for (int k = to->nleast; k < to->nleast + to->nsum; k++) {
        to->word[k].sum = from->word[k].sum + to->word[k].sum;
    }
}

/* Collective. The operation does not commute, so MPI keeps the order of the ranks. */
static int hold_meeting(MPI_Comm comm, meeting *m)
{
    const size_t bytes = offsetof(meeting, word) + (size_t)(m->nleast + m->nsum) * sizeof m->word[0];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int code = EQP_OK;

    if (MPI_Op_create(join_meetings, 0, &op) != MPI_SUCCESS ||
        MPI_Type_contiguous((int)bytes, MPI_BYTE, &type) != MPI_SUCCESS || MPI_Type_commit(&type) != MPI_SUCCESS ||
        EQP__WAITS(MPI_Allreduce(MPI_IN_PLACE, m, 1, type, op, comm)) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    if (type != MPI_DATATYPE_NULL) {
        (void)MPI_Type_free(&type);
    }
    if (op != MPI_OP_NULL) {
        (void)MPI_Op_free(&op);
    }
    return code;
}

int eqp__meet(MPI_Comm comm, int code, int nleast, int64_t *least, int nsum, double *sum, eqp_message *message)
{
    meeting m = {.nleast = 1 + nleast, .nsum = nsum};
    eqp__agreement a;

    EQP_TRY(open_agreement(comm, code, nleast, least, &a));
    for (int k = 0; k < m.nleast; k++) {
        m.word[k].least = a.mine[k];
    }
    for (int k = 0; k < nsum; k++) {
        m.word[m.nleast + k].sum = sum[k];
    }
    EQP_TRY(hold_meeting(comm, &m));
    for (int k = 0; k < m.nleast; k++) {
        a.all[k] = m.word[k].least;
    }
    EQP_TRY(close_agreement(&a, least, message));
    for (int k = 0; k < nsum; k++) {
        sum[k] = m.word[m.nleast + k].sum;
    }
done:
    return code;
}

int64_t eqp__rank_of_double(double x)
{
    const int64_t bits = eqp__bits_of(x);

    return bits < 0 ? INT64_MIN - bits - 1 : bits;
}

double eqp__double_of_rank(int64_t rank)
{
    const int64_t bits = rank < 0 ? INT64_MIN - rank - 1 : rank;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

int eqp_agree(MPI_Comm comm, int code, eqp_message *message)
{
    return eqp__agree_least(comm, code, 0, NULL, message);
}

int eqp__agree_alike(MPI_Comm comm, int code, int64_t value)
{
    int64_t pair[2];

    eqp__put_value(pair, value);
    code = eqp__agree_least(comm, code, 2, pair, NULL);
    return !code && eqp__pair_differs(pair) ? EQP_ERR_ARGUMENT : code;
}

int eqp_agree_same(MPI_Comm comm, int64_t value)
{
    return eqp__agree_alike(comm, EQP_OK, value);
}

int64_t eqp_fingerprint(int64_t print, int64_t n, const void *words)
{
    uint64_t hash = eqp_random_bits((uint64_t)print, (uint64_t)n, words != NULL), word;

    for (int64_t i = 0; words && i < n; i++) {
        memcpy(&word, (const char *)words + (size_t)i * sizeof word, sizeof word);
        hash = eqp_random_bits(hash, word, 0);
    }
    return (int64_t)(hash >> 1);
}

int64_t eqp__print_text(int64_t print, const char *text)
{
    for (; text && *text; text++) {
        print = eqp_fingerprint(print, 1, &(int64_t){*text});
    }
    return print;
}

int64_t eqp__bits_of(double x)
{
    int64_t bits;

    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

int eqp_scan_int64(MPI_Comm comm, int64_t value, int64_t *before, int64_t *total)
{
    int64_t sum = 0, all = 0, *values = NULL;
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&values, nranks, sizeof *values), NULL));
    EQP_TRY(EQP__MPI(EQP__WAITS(MPI_Allgather(&value, 1, MPI_INT64_T, values, 1, MPI_INT64_T, comm))));
    /* Every rank adds all values, so that an overflow anywhere is seen everywhere. */
    for (int r = 0; r < nranks; r++) {
        EQP_TRY((values[r] > 0 ? all > INT64_MAX - values[r] : all < INT64_MIN - values[r]) ? EQP_ERR_OVERFLOW
                                                                                            : EQP_OK);
        sum = r == rank ? all : sum;
        all += values[r];
    }
    if (before) {
        *before = sum;
    }
    if (total) {
        *total = all;
    }
done:
    free(values);
    return code;
}

#define PIECE ((int64_t)1 << 24)

/* Adds in place, in pieces that MPI can count. MPI_Allreduce may round differently on each rank, so sums that are not
 * exact are reduced to one rank and broadcast. */
static int sum_values(MPI_Comm comm, int64_t n, void *value, size_t size, MPI_Datatype type, bool exact)
{
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    for (int64_t at = 0; at < n && !code; at += PIECE) {
        const int count = (int)(n - at < PIECE ? n - at : PIECE);
        char *part = (char *)value + (size_t)at * size;
        code = EQP__MPI(
            exact ? EQP__WAITS(MPI_Allreduce(MPI_IN_PLACE, part, count, type, MPI_SUM, comm))
                  : EQP__WAITS(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : part, part, count, type, MPI_SUM, 0, comm)));
        code = code || exact ? code : EQP__MPI(EQP__WAITS(MPI_Bcast(part, count, type, 0, comm)));
    }
    return code;
}

int eqp__sum_double(MPI_Comm comm, int64_t n, double *value)
{
    return sum_values(comm, n, value, sizeof *value, MPI_DOUBLE, false);
}

int eqp__sum_int64(MPI_Comm comm, int64_t n, int64_t *value)
{
    return sum_values(comm, n, value, sizeof *value, MPI_INT64_T, false);
}

int eqp__sum_exact(MPI_Comm comm, int64_t n, double *value)
{
    return sum_values(comm, n, value, sizeof *value, MPI_DOUBLE, true);
}

int eqp_meet(MPI_Comm comm, int code, int nlows, double *low, int nsums, double *sum)
{
    int64_t least[2 + EQP_MEET_LOWS];
    double sums[EQP_MEET_SUMS] = {0};
    const bool wrong = nlows < 0 || nlows > EQP_MEET_LOWS || (nlows > 0 && !low) || nsums < 0 ||
                       nsums > EQP_MEET_SUMS || (nsums > 0 && !sum);

    code = code > 0 || (!code && wrong) ? EQP_ERR_ARGUMENT : code;
    eqp__put_value(least, code ? 0 : nlows + 1000 * nsums);
    for (int k = 0; k < EQP_MEET_LOWS; k++) {
        least[2 + k] = !code && k < nlows ? eqp__rank_of_double(low[k]) : INT64_MAX;
    }
    for (int k = 0; k < nsums && !code; k++) {
        sums[k] = sum[k];
    }
    code = eqp__meet(comm, code, 2 + EQP_MEET_LOWS, least, EQP_MEET_SUMS, sums, NULL);
    code = !code && eqp__pair_differs(least) ? EQP_ERR_ARGUMENT : code;
    for (int k = 0; k < nlows && !code; k++) {
        low[k] = eqp__double_of_rank(least[2 + k]);
    }
    for (int k = 0; k < nsums && !code; k++) {
        sum[k] = sums[k];
    }
    return code;
}

/* Up to this many numbers are summed in the reduction that agrees on their count. Integers travel as two halves, whose
 * sums are exact in doubles. */
enum { FEW = 16 };

/* few: [FEW] of this rank; then the sums over all ranks */
static int agree_on_array(MPI_Comm comm, int64_t n, const void *value, double few[FEW])
{
    const int code = n < 0 || (n > 0 && !value) ? EQP_ERR_ARGUMENT : EQP_OK;
    int64_t pair[2];

    eqp__put_value(pair, n);
    const int met = eqp__meet(comm, code, 2, pair, FEW, few, NULL);
    return met ? met : eqp__pair_differs(pair) ? EQP_ERR_ARGUMENT : EQP_OK;
}

int eqp_sum_double(MPI_Comm comm, int64_t n, double *value)
{
    double few[FEW] = {0};
    const bool is_few = n >= 0 && n <= FEW && value;

    if (is_few) {
        memcpy(few, value, (size_t)n * sizeof *value);
    }
    const int code = agree_on_array(comm, n, value, few);
    if (code || !is_few) {
        return code ? code : eqp__sum_double(comm, n, value);
    }
    memcpy(value, few, (size_t)n * sizeof *value);
    return EQP_OK;
}

int eqp_sum_int64(MPI_Comm comm, int64_t n, int64_t *value)
{
    double few[FEW] = {0};
    const bool is_few = n >= 0 && 2 * n <= FEW && value;

    for (int64_t k = 0; k < n && is_few; k++) {
        few[2 * k] = (double)(value[k] >> 32);
        few[2 * k + 1] = (double)(value[k] & UINT32_MAX);
    }
    const int code = agree_on_array(comm, n, value, few);
    if (code || !is_few) {
        return code ? code : eqp__sum_int64(comm, n, value);
    }
    for (int64_t k = 0; k < n; k++) {
        value[k] = (int64_t)(((uint64_t)(int64_t)few[2 * k] << 32) + (uint64_t)few[2 * k + 1]);
    }
    return EQP_OK;
}
