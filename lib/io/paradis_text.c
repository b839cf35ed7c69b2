/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/paradis_text.h"

#include "base/internal.h"
#include "io/internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int eqp__lines_open(const char *path, eqp__lines *lines, eqp_message *message)
{
    eqp__lines l = {.text = {.source = {.fd = -1}}};
    char head[4] = "";
    int code;

    EQP_TRY(eqp__path_join(path, "", &l.path));
    EQP_TRY(eqp__text_open(&l.text, l.path, -1, message));
    if (l.text.source.size >= (int64_t)sizeof head) {
        EQP_TRY(eqp__source_read(&l.text.source, head, sizeof head, 0, message));
    }
    if (memcmp(head, "\x89HDF", sizeof head) == 0) {
        EQP_TRY(EQP__SAY(message, EQP_ERR_FORMAT, "%s: is an HDF5 file, not text as ParaDiS writes it", path));
    }
    *lines = l;
    return EQP_OK;
done:
    eqp__lines_close(&l);
    return eqp__explain(code, path, message);
}

void eqp__lines_close(eqp__lines *lines)
{
    eqp__text_close(&lines->text);
    EQP__FREE(lines->path, lines->kept);
    *lines = (eqp__lines){.text = {.source = {.fd = -1}}};
}

int eqp__lines_refuse(const eqp__lines *lines, int code, eqp_message *message, const char *format, ...)
{
    char what[384];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    eqp_message_set(message, "%s: line %lld: %s", lines->path, (long long)lines->text.line, what);
    return code;
}

/* Cuts off the comment. Strings may contain the comment sign. */
static void cut_comment(char *text)
{
    bool quoted = false;

    for (; *text; text++) {
        if (*text == '"') {
            quoted = !quoted;
        } else if (*text == '#' && !quoted) {
            *text = '\0';
            return;
        }
    }
}

static char *skip_blanks(char *p)
{
    while (isspace((unsigned char)*p)) {
        p++;
    }
    return p;
}

/* Limit of unknown statements; a file with more is not a parameter file. */
#define MOST_KEPT (1 << 20)

static int keep_line(eqp__lines *l, const char *text, eqp_message *message)
{
    const size_t length = strlen(text);
    int rc;

    EQP__FAIL_IF(l->nkept + (int64_t)length > MOST_KEPT,
                 eqp__lines_refuse(l, EQP_ERR_DATA, message, "more than 1 MiB of statements with unknown keys"));
    rc = eqp_array_reserve(&l->kept, &l->kept_room, l->nkept + (int64_t)length + 2, 1);
    EQP__FAIL_IF(rc != EQP_OK, eqp__explain(rc, l->path, message));
    memcpy(l->kept + l->nkept, text, length);
    l->nkept += (int64_t)length;
    memcpy(l->kept + l->nkept++, "\n", 2);
    return EQP_OK;
}

int eqp__lines_next(eqp__lines *lines, char **text, eqp_message *message)
{
    for (;;) {
        eqp__text_line line;

        EQP__CHECK(eqp__text_next(&lines->text, &line, message));
        *text = line.text;
        if (!*text) {
            return EQP_OK;
        }
        EQP__FAIL_IF(!line.ended && lines->need_newline,
                     eqp__lines_refuse(lines, EQP_ERR_FORMAT, message, "ends without a newline: truncated?"));
        if (strncmp(*text, EQP__VELOCITY, sizeof EQP__VELOCITY - 1) == 0) {
            (void)snprintf(lines->velocity, sizeof lines->velocity, "%s", *text + sizeof EQP__VELOCITY - 1);
        }
        cut_comment(*text);
        *text = skip_blanks(*text);
        if (**text) {
            return lines->keeps ? keep_line(lines, *text, message) : EQP_OK;
        }
    }
}

static bool in_key(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t key_length(const char *p)
{
    size_t n = 0;

    while (in_key(p[n])) {
        n++;
    }
    return n;
}

bool eqp__line_has_key(const char *text, const char *key)
{
    size_t n = key_length(text);
    const char *p = text + n;

    while (isspace((unsigned char)*p)) {
        p++;
    }
    return n == strlen(key) && strncasecmp(text, key, n) == 0 && *p == '=';
}

static bool ends_value(char c)
{
    return c == '\0' || c == ',' || c == ';' || c == '[' || c == ']' || isspace((unsigned char)c);
}

static void keep_value(eqp__statement *s, const char *from, size_t length)
{
    if (s->nvalues < EQP__VALUES) {
        size_t most = sizeof s->value[0] - 1;

        s->too_long[s->nvalues] = length > most;
        length = length > most ? most : length;
        memcpy(s->value[s->nvalues], from, length);
        s->value[s->nvalues][length] = '\0';
    }
    s->nvalues++;
}

/* Values up to the end of the line, or to the bracket that ends the list (sets *closed). */
static int take_values(const eqp__lines *l, char *p, eqp__statement *s, bool *closed, eqp_message *message)
{
    for (;;) {
        size_t length = 0;

        while (isspace((unsigned char)*p) || *p == ',' || *p == ';') {
            p++;
        }
        if (*p == '\0') {
            return EQP_OK;
        }
        if (*p == ']' && s->is_list) {
            *closed = true;
            if (eqp__at_end(p + 1)) {
                return EQP_OK;
            }
            return eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "%s: something follows the list", s->key);
        }
        if (*p == '"') {
            char *stop = strchr(p + 1, '"');

            EQP__FAIL_IF(!stop, eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "%s: a string without its end", s->key));
            keep_value(s, p + 1, (size_t)(stop - p - 1));
            p = stop + 1;
            continue;
        }
        while (!ends_value(p[length]) && p[length] != '"') {
            length++;
        }
        EQP__FAIL_IF(length == 0,
                     eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "%s: a bracket in the wrong place", s->key));
        keep_value(s, p, length);
        p += length;
    }
}

/* True if the next line that is neither blank nor a comment begins a list. The line is not consumed. */
static int list_follows(eqp__text *t, bool *follows, eqp_message *message)
{
    for (;;) {
        size_t at = t->begin;

        while (at < t->end && (isspace((unsigned char)t->buffer[at]) || t->buffer[at] == '#')) {
            const char *stop = t->buffer[at] == '#' ? memchr(t->buffer + at, '\n', t->end - at) : t->buffer + at + 1;
            at = stop ? (size_t)(stop - t->buffer) : t->end;
        }
        if (at < t->end || eqp__text_is_fetched(t)) {
            *follows = at < t->end && t->buffer[at] == '[';
            return EQP_OK;
        }
        EQP__CHECK(eqp__text_fetch(t, message));
    }
}

int eqp__statement_read(eqp__lines *lines, char *text, eqp__statement *statement, eqp_message *message)
{
    size_t length = key_length(text);
    char *p = skip_blanks(text + length);
    bool closed = false, follows = false;

    EQP__FAIL_IF(length > 0 && length < sizeof statement->key && *p != '=',
                 eqp__lines_refuse(lines, EQP_ERR_FORMAT, message, "%.*s: no '=' follows", (int)length, text));
    EQP__FAIL_IF(length == 0 || length >= sizeof statement->key,
                 eqp__lines_refuse(lines, EQP_ERR_FORMAT, message, "is not 'key = value'"));
    *statement = (eqp__statement){0};
    memcpy(statement->key, text, length);
    p = skip_blanks(p + 1);
    if (*p == '\0') {
        EQP__CHECK(list_follows(&lines->text, &follows, message));
        EQP__CHECK(follows ? eqp__lines_next(lines, &p, message) : EQP_OK);
        p = follows ? p : statement->value[0]; /* empty; the text may have moved */
    }
    statement->is_list = *p == '[';
    p += statement->is_list ? 1 : 0;
    EQP__CHECK(take_values(lines, p, statement, &closed, message));
    while (statement->is_list && !closed) {
        EQP__CHECK(eqp__lines_next(lines, &p, message));
        EQP__FAIL_IF(!p, eqp__lines_refuse(lines, EQP_ERR_FORMAT, message,
                                           "%s: the file ends within the list: truncated?", statement->key));
        EQP__CHECK(take_values(lines, p, statement, &closed, message));
    }
    EQP__FAIL_IF(
        !statement->is_list && statement->nvalues > 1,
        eqp__lines_refuse(lines, EQP_ERR_FORMAT, message, "%s: several values without brackets", statement->key));
    return EQP_OK;
}

static int check_count(const eqp__lines *l, const eqp__statement *s, int n, eqp_message *message)
{
    EQP__FAIL_IF(s->nvalues != n, eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "%s: %lld values instead of %d", s->key,
                                                    (long long)s->nvalues, n));
    return EQP_OK;
}

int eqp__statement_reals(const eqp__lines *lines, const eqp__statement *s, int n, double *value, eqp_message *message)
{
    double found[EQP__VALUES];

    EQP__CHECK(check_count(lines, s, n, message));
    for (int i = 0; i < n; i++) {
        char copy[EQP__VALUE_BYTES], *p = copy;

        memcpy(copy, s->value[i], sizeof copy);
        const int code = s->too_long[i] ? EQP_ERR_FORMAT : eqp__take_real(&p, &found[i]);
        EQP__FAIL_IF(code == EQP_ERR_DATA,
                     eqp__lines_refuse(lines, code, message, "%s: '%s' is not a finite number", s->key, s->value[i]));
        EQP__FAIL_IF(code != EQP_OK || *p, eqp__lines_refuse(lines, EQP_ERR_FORMAT, message, "%s: '%s' is not a number",
                                                             s->key, s->value[i]));
    }
    memcpy(value, found, sizeof *value * (size_t)n);
    return EQP_OK;
}

int eqp__statement_integers(const eqp__lines *lines, const eqp__statement *s, int n, int64_t low, int64_t high,
                            int64_t *value, eqp_message *message)
{
    int64_t found[EQP__VALUES];

    EQP__CHECK(check_count(lines, s, n, message));
    for (int i = 0; i < n; i++) {
        char copy[EQP__VALUE_BYTES], *p = copy;

        memcpy(copy, s->value[i], sizeof copy);
        const int code = s->too_long[i] ? EQP_ERR_FORMAT : eqp__take_integer(&p, &found[i]);
        EQP__FAIL_IF(
            code == EQP_ERR_FORMAT || (code == EQP_OK && *p),
            eqp__lines_refuse(lines, EQP_ERR_FORMAT, message, "%s: '%s' is not an integer", s->key, s->value[i]));
        EQP__FAIL_IF(code != EQP_OK || found[i] < low || found[i] > high,
                     eqp__lines_refuse(lines, EQP_ERR_DATA, message, "%s: %s is not from %lld to %lld", s->key,
                                       s->value[i], (long long)low, (long long)high));
    }
    memcpy(value, found, sizeof *value * (size_t)n);
    return EQP_OK;
}

int eqp__take_real(char **at, double *value)
{
    char *p = skip_blanks(*at), *stop;
    double found = strtod(p, &stop);

    EQP__FAIL_IF(stop == p || !ends_value(*stop), EQP_ERR_FORMAT);
    EQP__FAIL_IF(!isfinite(found), EQP_ERR_DATA);
    *at = stop;
    *value = found;
    return EQP_OK;
}

int eqp__take_integer(char **at, int64_t *value)
{
    char *p = skip_blanks(*at), *stop;
    long long found;

    errno = 0;
    found = strtoll(p, &stop, 10);
    EQP__FAIL_IF(stop == p || !ends_value(*stop), EQP_ERR_FORMAT);
    EQP__FAIL_IF(errno != 0, EQP_ERR_DATA);
    *at = stop;
    *value = found;
    return EQP_OK;
}

int eqp__take_tag(char **at, uint64_t *tag)
{
    int64_t domain, index;
    char *p = *at;

    EQP__CHECK(eqp__take_integer(&p, &domain));
    EQP__FAIL_IF(*p++ != ',', EQP_ERR_FORMAT);
    EQP__CHECK(eqp__take_integer(&p, &index));
    EQP__FAIL_IF(domain < 0 || domain > INT32_MAX || index < 0 || index > INT32_MAX, EQP_ERR_DATA);
    *at = p;
    *tag = (uint64_t)domain << 32 | (uint64_t)index;
    return EQP_OK;
}

bool eqp__at_end(const char *at)
{
    while (isspace((unsigned char)*at) || *at == ';') {
        at++;
    }
    return *at == '\0';
}
