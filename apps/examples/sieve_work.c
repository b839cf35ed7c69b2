/* SPDX-License-Identifier: BSD-3-Clause */
#include "sieve_work.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENT = 1 << 16 }; /* numbers crossed out at a time: they stay in the cache */

static int64_t root_of(int64_t x)
{
    int64_t root = (int64_t)sqrt((double)x);

    while (root * root > x) {
        root--;
    }
    while ((root + 1) * (root + 1) <= x) {
        root++;
    }
    return root;
}

int sieve_table_create(int64_t largest, sieve_table *table)
{
    const int64_t root = root_of(largest);
    sieve_table t = {0};
    char *composite = NULL;
    int code = eqp_array_create(&composite, root + 1, 1);

    code = code ? code : eqp_array_create(&t.prime, root / 2 + 1, sizeof *t.prime);
    for (int64_t p = 3; p <= root && !code; p += 2) {
        if (!composite[p]) {
            t.prime[t.n++] = p;
            for (int64_t m = p * p; m <= root; m += 2 * p) {
                composite[m] = 1;
            }
        }
    }
    free(composite);
    if (code) {
        free(t.prime);
        return code;
    }
    *table = t;
    return EQP_OK;
}

void sieve_table_free(sieve_table *table)
{
    free(table->prime);
    *table = (sieve_table){0};
}

/* Divisions until n, odd and at least 3, is found to be prime or not. */
static int64_t divide_by_primes(const sieve_table *table, int64_t n, int *prime)
{
    int64_t i = 0;

    for (; i < table->n && table->prime[i] * table->prime[i] <= n; i++) {
        if (n % table->prime[i] == 0) {
            *prime = 0;
            return i + 1;
        }
    }
    *prime = 1;
    return i;
}

static int64_t divide_by_odd(int64_t n, int *prime)
{
    int64_t d = 3;

    for (; d * d <= n; d += 2) {
        if (n % d == 0) {
            *prime = 0;
            return (d - 1) / 2;
        }
    }
    *prime = 1;
    return (d - 3) / 2;
}

void sieve_try(const sieve_table *table, sieve_divisors divisors, int64_t low, int64_t high, sieve_count *count)
{
    int64_t n = low > 3 ? low | 1 : 3;

    count->primes += low <= 2 && high > 2;
    for (; n < high; n += 2) {
        int prime = 0;
        count->operations += divisors == SIEVE_PRIMES ? divide_by_primes(table, n, &prime) : divide_by_odd(n, &prime);
        count->primes += prime;
    }
}

/* Odd numbers of [low, high): composite[i] stands for (low | 1) + 2 i. */
static int64_t cross_segment(const sieve_table *table, int64_t low, int64_t high, char *composite)
{
    const int64_t first = low | 1, n = high > first ? (high - first + 1) / 2 : 0;
    int64_t primes = 0;

    memset(composite, 0, (size_t)n);
    for (int64_t i = 0; i < table->n && table->prime[i] * table->prime[i] < high; i++) {
        const int64_t p = table->prime[i];
        int64_t m = (first + p - 1) / p * p;
        m += m % 2 == 0 ? p : 0;
        for (m = m < p * p ? p * p : m; m < high; m += 2 * p) {
            composite[(m - first) / 2] = 1;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        primes += !composite[i] && first + 2 * i > 1;
    }
    return primes;
}

int sieve_cross_out(const sieve_table *table, int64_t low, int64_t high, int64_t *primes)
{
    char *composite = NULL;
    int64_t found = low <= 2 && high > 2;
    int code = eqp_array_create(&composite, SEGMENT, 1);

    for (int64_t at = low; at < high && !code; at += SEGMENT) {
        found += cross_segment(table, at, high - at < SEGMENT ? high : at + SEGMENT, composite);
    }
    free(composite);
    if (!code) {
        *primes = found;
    }
    return code;
}
