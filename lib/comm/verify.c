/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that records are unchanged: a sum of hashes, one per record. */
#include "comm/agree.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>

#include <inttypes.h>

enum { DIGITS = 4, DIGIT_BITS = 16 }; /* of a word: doubles add them up exactly on up to 2^37 ranks */

/* One to one, and like a random function. Source: G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom
 * number generators, OOPSLA 2014: the finalizer of SplitMix. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t print_record(int64_t id, size_t element_size, const char *record)
{
    uint64_t print = mix((uint64_t)id + UINT64_C(0x9e3779b97f4a7c15));

    for (size_t at = 0; at < element_size; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, record + at, element_size - at < sizeof word ? element_size - at : sizeof word);
        print = mix(print ^ mix(word + at));
    }
    return print;
}

/* The digits of words as doubles, and the words of sums of digits. */
static void split_words(const uint64_t word[2], double *digit)
{
    for (int k = 0; k < 2 * DIGITS; k++) {
        digit[k] = (double)(word[k / DIGITS] >> (k % DIGITS * DIGIT_BITS) & UINT64_C(0xffff));
    }
}

static void join_words(const double *digit, uint64_t word[2])
{
    word[0] = word[1] = 0;
    for (int k = 0; k < 2 * DIGITS; k++) {
        word[k / DIGITS] += (uint64_t)digit[k] << (k % DIGITS * DIGIT_BITS);
    }
}

static void say_difference(const uint64_t now[2], const uint64_t before[2], eqp_message *message)
{
    if (now[0] != before[0]) {
        const bool fewer = now[0] < before[0];
        eqp_message_set(message, "records: %" PRIu64 " %s than before (%" PRIu64 ", not %" PRIu64 ")",
                        fewer ? before[0] - now[0] : now[0] - before[0], fewer ? "fewer" : "more", now[0], before[0]);
    } else {
        eqp_message_set(message, "records: %" PRIu64 " as before, but not the same ones", now[0]);
    }
}

int eqp_verify_records(MPI_Comm comm, int64_t n, const int64_t *id, size_t element_size, const void *record,
                       uint64_t sum[2], eqp_message *message)
{
    int64_t least[6] = {0};
    uint64_t mine[2] = {n > 0 ? (uint64_t)n : 0, 0}, all[2];
    double digit[2 * DIGITS];
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    if (n < 0 || sum == NULL || (n > 0 && (id == NULL || (element_size > 0 && record == NULL)))) {
        code = EQP_ERR_ARGUMENT;
    } else {
        for (int64_t i = 0; i < n; i++) {
            const char *const at = element_size > 0 ? (const char *)record + (size_t)i * element_size : NULL;
            mine[1] += print_record(id[i], element_size, at);
        }
        eqp__put_value(least, (int64_t)element_size);
        eqp__put_value(least + 2, (int64_t)sum[0]);
        eqp__put_value(least + 4, (int64_t)sum[1]);
    }
    split_words(mine, digit);
    EQP_TRY(eqp__meet(comm, code, 6, least, 2 * DIGITS, digit, NULL));
    EQP_TRY(eqp__pair_differs(least) || eqp__pair_differs(least + 2) || eqp__pair_differs(least + 4) ? EQP_ERR_ARGUMENT
                                                                                                     : EQP_OK);
    join_words(digit, all);
    all[1] += all[0] == 0; /* no records differ from a sum of zeros, which means "not yet summed" */
    if ((sum[0] != 0 || sum[1] != 0) && memcmp(sum, all, sizeof all) != 0) {
        say_difference(all, sum, message);
        EQP_TRY(EQP_ERR_DATA);
    }
    memcpy(sum, all, sizeof all);
done:
    if (code == EQP_ERR_ARGUMENT) {
        eqp_message_set(message, "records: no ids, or ranks that differ in their sum or in the size of an element");
    }
    return code;
}
