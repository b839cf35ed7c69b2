/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/base.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_int(const char *text, int64_t *value)
{
    size_t sign = text[0] == '-';
    char *end;

    /* strtoll would also take blanks and a plus sign. */
    if (text[sign] < '0' || text[sign] > '9') {
        return false;
    }
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !*end && !errno;
}

static bool parse_real(const char *text, double *value)
{
    char *end;

    /* strtod would also take blanks, hexadecimal numbers, infinities and NaN. */
    if (!*text || text[strspn(text, "0123456789+-.eE")]) {
        return false;
    }
    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value) && !(errno && *value == 0.0);
}

int eqp_read_int(const char *text, int64_t low, int64_t high, int64_t *value, eqp_message *message)
{
    EQP_REQUIRE(text && value);
    int64_t number;

    if (parse_int(text, &number) && number >= low && number <= high) {
        *value = number;
        return EQP_OK;
    }
    if (low > INT64_MIN && high < INT64_MAX) {
        eqp_message_set(message, "'%.100s' is not an integer from %lld to %lld", text, (long long)low, (long long)high);
    } else if (low > INT64_MIN) {
        eqp_message_set(message, "'%.100s' is not an integer >= %lld", text, (long long)low);
    } else if (high < INT64_MAX) {
        eqp_message_set(message, "'%.100s' is not an integer <= %lld", text, (long long)high);
    } else {
        eqp_message_set(message, "'%.100s' is not an integer", text);
    }
    return EQP_ERR_ARGUMENT;
}

int eqp_read_real(const char *text, double low, bool above, double high, double *value, eqp_message *message)
{
    EQP_REQUIRE(text && value);
    const char *relation = above ? ">" : ">=";
    double number;

    if (parse_real(text, &number) && (above ? number > low : number >= low) && number <= high) {
        *value = number;
        return EQP_OK;
    }
    if (isfinite(low) && isfinite(high)) {
        eqp_message_set(message, "'%.100s' is not a number %s %g and <= %g", text, relation, low, high);
    } else if (isfinite(low)) {
        eqp_message_set(message, "'%.100s' is not a number %s %g", text, relation, low);
    } else if (isfinite(high)) {
        eqp_message_set(message, "'%.100s' is not a number <= %g", text, high);
    } else {
        eqp_message_set(message, "'%.100s' is not a number", text);
    }
    return EQP_ERR_ARGUMENT;
}

int eqp_read_choice(const char *text, const char *choices, int *value, eqp_message *message)
{
    EQP_REQUIRE(text && choices && value);
    const size_t length = strlen(text);
    char words[300];
    int place = 0;

    for (const char *at = choices;; place++) {
        const size_t word = strcspn(at, "|");
        if (word == length && strncmp(text, at, word) == 0) {
            *value = place;
            return EQP_OK;
        }
        if (!at[word]) {
            break;
        }
        at += word + 1;
    }
    (void)snprintf(words, sizeof words, "%s", choices);
    for (char *bar = words; (bar = strchr(bar, '|'));) {
        *bar = ' ';
    }
    eqp_message_set(message, "'%.100s' is none of: %s", text, words);
    return EQP_ERR_ARGUMENT;
}

enum { LONGEST = 32 };

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: the edit distance of Levenshtein with swaps of neighbours. */
static int distance_of(const char *a, int na, const char *b, int nb)
{
    int row[3][LONGEST + 1];

    for (int j = 0; j <= nb; j++) {
        row[0][j] = j;
    }
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3];
        const int *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + !same);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
                now[j] = least(now[j], earlier[j - 2] + 1);
            }
        }
    }
    return row[na % 3][nb];
}

void eqp_nearest_look(eqp_nearest *nearest, const char *word)
{
    if (!nearest || !nearest->text || !word) {
        return;
    }
    const size_t length = strlen(word);
    const int most = nearest->length / 3 > 1 ? (int)(nearest->length / 3) : 1;

    if (length >= LONGEST || nearest->length >= LONGEST || length == 0 || nearest->length == 0) {
        return;
    }
    const int distance = distance_of(nearest->text, (int)nearest->length, word, (int)length);
    if (distance <= most && distance < (int)length && (!nearest->word || distance < nearest->distance)) {
        nearest->word = word;
        nearest->distance = distance;
    }
}
