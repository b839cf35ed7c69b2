/* SPDX-License-Identifier: BSD-3-Clause */
/* Prime numbers of a range of integers, by trial division as the modified sieve does it, with its work counted; and
 * by a plain sieve, which knows nothing of the first. No MPI. */
#ifndef SIEVE_WORK_H
#define SIEVE_WORK_H

#include <stdint.h>

/* What each odd number is divided by, up to its square root or its first divisor. */
typedef enum sieve_divisors {
    SIEVE_PRIMES, /* the primes from 3 */
    SIEVE_ODD     /* the odd numbers from 3 */
} sieve_divisors;

/* The odd primes up to the square root of a largest number. */
typedef struct sieve_table {
    int64_t n;
    int64_t *prime; /* [n] owned */
} sieve_table;

typedef struct sieve_count {
    int64_t primes;
    int64_t operations; /* of the inner loop: divisions */
} sieve_count;

/* EQP_OK, EQP_ERR_MEMORY; free with sieve_table_free. largest >= 0 */
int sieve_table_create(int64_t largest, sieve_table *table);
void sieve_table_free(sieve_table *table);

/* Tries every number from low to high - 1, low >= 0; the table reaches the root of high - 1. Adds to *count. */
void sieve_try(const sieve_table *table, sieve_divisors divisors, int64_t low, int64_t high, sieve_count *count);

/* The number of primes from low to high - 1 by crossing out multiples. EQP_OK, EQP_ERR_MEMORY. */
int sieve_cross_out(const sieve_table *table, int64_t low, int64_t high, int64_t *primes);

#endif
