/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"

#include <equipoise/more/base.h>
#include <equipoise/more/models.h>

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eqp_speeds_functions {
    int nranks;
    int64_t *first;       /* [nranks + 1] first point of each rank; owned */
    double *size, *speed; /* [first[nranks]] owned */
};

enum { WORDS = 3, LONGEST_WORD = 63 };

typedef struct reading {
    const char *name;
    int64_t line; /* from 1 */
    eqp_message *message;
    eqp_speeds_functions *functions;
    int64_t npoints, size_room, speed_room, first_room;
} reading;

static int refuse(const reading *r, int code, const char *what, const char *word)
{
    eqp_message_set(r->message, "%.300s:%lld: %.60s%s%s", r->name, (long long)r->line, word, *word ? ": " : "", what);
    return code;
}

static int read_number(const reading *r, const char *word, double low, double high, const char *what, double *value)
{
    char *end;
    double number;

    /* strtod would also take blanks, hexadecimal numbers, infinities and NaN. */
    EQP__FAIL_IF(word[strspn(word, "0123456789+-.eE")], refuse(r, EQP_ERR_FORMAT, "not a number", word));
    errno = 0;
    number = strtod(word, &end);
    EQP__FAIL_IF(end == word || *end, refuse(r, EQP_ERR_FORMAT, "not a number", word));
    EQP__FAIL_IF(!(number >= low && number <= high), refuse(r, EQP_ERR_DATA, what, word));
    *value = number;
    return EQP_OK;
}

/* A point of the last rank, or the first one of the next rank. */
static int add_point(reading *r, double rank, double size, double speed)
{
    eqp_speeds_functions *f = r->functions;
    const bool is_next = rank == f->nranks;
    int code;

    EQP__FAIL_IF(!is_next && rank != f->nranks - 1,
                 refuse(r, EQP_ERR_DATA, "ranks count from 0 without a gap, the points of each stand together", ""));
    EQP__FAIL_IF(!is_next && !(size > f->size[r->npoints - 1]),
                 refuse(r, EQP_ERR_DATA, "the sizes of a rank have to increase", ""));
    EQP__FAIL_IF((code = eqp_array_reserve(&f->size, &r->size_room, r->npoints + 1, sizeof *f->size)) ||
                     (code = eqp_array_reserve(&f->speed, &r->speed_room, r->npoints + 1, sizeof *f->speed)) ||
                     (code = eqp_array_reserve(&f->first, &r->first_room, f->nranks + 2, sizeof *f->first)),
                 refuse(r, code, eqp_error_text(code), ""));
    f->size[r->npoints] = size;
    f->speed[r->npoints] = speed;
    if (is_next) {
        f->first[f->nranks++] = r->npoints;
    }
    f->first[f->nranks] = ++r->npoints;
    return EQP_OK;
}

/* word [n][LONGEST_WORD + 1] of one line. */
static int read_words(reading *r, int n, char (*word)[LONGEST_WORD + 1])
{
    double rank = 0, size = 0, speed = 0;

    EQP__FAIL_IF(n != WORDS, refuse(r, EQP_ERR_FORMAT, "not a line of RANK SIZE SPEED", ""));
    EQP__CHECK(read_number(r, word[0], 0, EQP_SPEEDS_FILE_RANKS - 1, "a rank has to be from 0 to 65535", &rank));
    EQP__CHECK(read_number(r, word[1], 0, EQP_SPEEDS_ITEMS, "a size has to be from 0 to 2^53", &size));
    EQP__CHECK(read_number(r, word[2], 1 / EQP_SPEEDS_FASTEST, EQP_SPEEDS_FASTEST,
                           "a speed has to be > 0, from 1e-30 to 1e30", &speed));
    return add_point(r, rank, size, speed);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* One line, without its end and its comment. */
static int read_line(reading *r, const char *text, int64_t length)
{
    char word[WORDS][LONGEST_WORD + 1];
    int n = 0;

    for (int64_t i = 0; i < length;) {
        int64_t begin = i;

        if (is_blank(text[i])) {
            i++;
            continue;
        }
        while (i < length && !is_blank(text[i])) {
            i++;
        }
        EQP__FAIL_IF(n == WORDS || i - begin > LONGEST_WORD || memchr(text + begin, 0, (size_t)(i - begin)),
                     refuse(r, EQP_ERR_FORMAT, "not a line of RANK SIZE SPEED", ""));
        memcpy(word[n], text + begin, (size_t)(i - begin));
        word[n++][i - begin] = '\0';
    }
    return n > 0 ? read_words(r, n, word) : EQP_OK;
}

static int read_lines(reading *r, const char *text, int64_t length)
{
    int code = EQP_OK;

    for (int64_t i = 0; i < length && !code;) {
        const char *end = memchr(text + i, '\n', (size_t)(length - i));
        const int64_t next = end ? end - text : length;
        const char *comment = memchr(text + i, '#', (size_t)(next - i));

        r->line++;
        code = read_line(r, text + i, (comment ? comment - text : next) - i);
        i = next + 1;
    }
    if (!code && r->functions->nranks == 0) {
        eqp_message_set(r->message, "%.300s: holds no speed function", r->name);
        code = EQP_ERR_FORMAT;
    }
    return code;
}

int eqp_speeds_functions_parse(const char *text, int64_t length, const char *name, eqp_speeds_functions **functions,
                               eqp_message *message)
{
    EQP_REQUIRE(text && name && functions);
    reading r = {.name = name, .message = message};
    locale_t own, before;
    int code;

    EQP__FAIL_IF(length < 0, EQP__SAY(message, EQP_ERR_ARGUMENT, "%.300s: a negative length", name));
    own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    code = own ? eqp_array_create(&r.functions, 1, sizeof *r.functions) : EQP_ERR_MEMORY;
    if (code) {
        eqp_message_set(message, "%.300s: %s", name, eqp_error_text(code));
        goto done;
    }
    before = uselocale(own);
    code = read_lines(&r, text, length);
    uselocale(before);
    if (!code) {
        *functions = r.functions;
        r.functions = NULL;
    }
done:
    eqp_speeds_functions_free(r.functions);
    if (own) {
        freelocale(own);
    }
    return code;
}

/* text: owned by the caller. */
static int read_file(const char *path, char **text, int64_t *length, eqp_message *message)
{
    FILE *file = NULL;
    int64_t room = 0, n = 0;
    size_t got = 1;
    int code = eqp_input_open(path, &file, message);

    EQP__CHECK(code);
    while (got > 0 && !code) {
        if (n > EQP_SPEEDS_FILE_BYTES) {
            code = EQP_ERR_FORMAT;
            eqp_message_set(message, "%.300s: too large for speed functions", path);
        } else if ((code = eqp_array_reserve(text, &room, n + 65536, 1))) {
            eqp_message_set(message, "%.300s: %s", path, eqp_error_text(code));
        } else {
            got = fread(*text + n, 1, (size_t)(room - n), file);
            n += (int64_t)got;
        }
    }
    if (!code && ferror(file)) {
        eqp_message_set(message, "%.300s: %s", path, strerror(errno));
        code = EQP_ERR_IO;
    }
    (void)fclose(file);
    *length = n;
    return code;
}

int eqp_speeds_functions_read(const char *path, eqp_speeds_functions **functions, eqp_message *message)
{
    EQP_REQUIRE(path && functions);
    char *text = NULL;
    int64_t length = 0;
    int code = read_file(path, &text, &length, message);

    code = code ? code : eqp_speeds_functions_parse(text, length, path, functions, message);
    free(text);
    return code;
}

void eqp_speeds_functions_free(eqp_speeds_functions *functions)
{
    if (functions) {
        EQP__FREE(functions->first, functions->size, functions->speed, functions);
    }
}

int eqp_speeds_functions_ranks(const eqp_speeds_functions *functions)
{
    EQP_REQUIRE(functions);
    return functions->nranks;
}

int eqp_speeds_functions_seconds(const eqp_speeds_functions *functions, int rank, double size, double *seconds)
{
    EQP_REQUIRE(functions && seconds);
    EQP__FAIL_IF(rank < 0 || rank >= functions->nranks || !(size >= 0.0) || !isfinite(size), EQP_ERR_ARGUMENT);
    int64_t low = functions->first[rank], high = functions->first[rank + 1] - 1;
    const double *x = functions->size, *s = functions->speed;
    double speed;

    if (size <= x[low]) {
        speed = s[low];
    } else if (size >= x[high]) {
        speed = s[high];
    } else {
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            if (x[middle] <= size) {
                low = middle;
            } else {
                high = middle;
            }
        }
        speed = s[low] + (s[high] - s[low]) / (x[high] - x[low]) * (size - x[low]);
    }
    *seconds = size / speed;
    return EQP_OK;
}
