/* SPDX-License-Identifier: BSD-3-Clause */
#include "loop_costs.h"

#include "options.h"

#include <equipoise/file.h>
#include <equipoise/random.h>
#include <math.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNIFORM, FRONT, BACK, CENTRE, SCATTER };

bool loop_costs_is_heavy(int kind, double place)
{
    switch (kind) {
    case UNIFORM:
        return false;
    case FRONT:
        return place < 0.2;
    case BACK:
        return place >= 0.8;
    case CENTRE:
        return place >= 0.4 && place < 0.6;
    default:
        return 4.0 * place - (int)(4.0 * place) >= 0.8;
    }
}

int loop_costs_make(const char *kind, int64_t n, double mean, uint64_t seed, double **cost)
{
    double *made = NULL, sum = 0.0;
    int number, code;

    if (eqp_read_choice(kind, LOOP_COSTS_KINDS, &number, NULL) != EQP_OK) {
        return EQP_ERR_UNKNOWN;
    }
    if ((code = eqp_array_create(&made, n, sizeof *made))) {
        return code;
    }
    for (int64_t i = 0; i < n; i++) {
        const bool heavy = loop_costs_is_heavy(number, ((double)i + 0.5) / (double)n);
        made[i] = number == UNIFORM ? 1.0 : (heavy ? 24.0 : 1.0) * (0.5 + eqp_random_uniform(seed, (uint64_t)i, 0));
        sum += made[i];
    }
    for (int64_t i = 0; i < n; i++) {
        made[i] *= mean * ((double)n / sum);
    }
    *cost = made;
    return EQP_OK;
}

/* The next word of a file, cut where it is too long to be a number. Returns its length; 0 at the end. */
static size_t read_word(FILE *file, int64_t *line, char *word, size_t size)
{
    size_t length = 0;
    int c = getc(file);

    while (c != EOF && isspace(c)) {
        *line += c == '\n';
        c = getc(file);
    }
    while (c != EOF && !isspace(c)) {
        if (length + 1 < size) {
            word[length++] = (char)c;
        }
        c = getc(file);
    }
    if (c != EOF) {
        (void)ungetc(c, file);
    }
    word[length] = '\0';
    return length;
}

static int read_numbers(FILE *file, const char *path, int64_t *n, double **cost, eqp_message *message)
{
    char word[128];
    int64_t capacity = 0, line = 1;
    int code = EQP_OK;

    while (!code && read_word(file, &line, word, sizeof word) > 0) {
        double value;
        if (eqp_read_real(word, 0.0, false, INFINITY, &value, NULL)) {
            eqp_message_set(message, "%s:%lld: '%.40s' is not a number >= 0", path, (long long)line, word);
            return EQP_ERR_FORMAT;
        }
        code = eqp_array_reserve(cost, &capacity, *n + 1, sizeof **cost);
        if (!code) {
            (*cost)[(*n)++] = value;
        }
    }
    if (ferror(file)) {
        eqp_message_set(message, "%s: %s", path, strerror(errno));
        return EQP_ERR_IO;
    }
    return code;
}

int loop_costs_read(const char *path, int64_t *n, double **cost, eqp_message *message)
{
    FILE *file = NULL;
    double *read = NULL;
    int64_t count = 0;
    int code = eqp_input_open(path, &file, message);

    if (code) {
        return code;
    }
    code = read_numbers(file, path, &count, &read, message);
    (void)fclose(file);
    if (code) {
        free(read);
        return code;
    }
    *n = count;
    *cost = read;
    return EQP_OK;
}
