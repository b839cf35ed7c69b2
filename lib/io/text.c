/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain text: one particle per line. One pass finds where every 1024th line starts, so that a slice parses itself only.
 */
#include "io/c_locale.h"
#include "io/internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 1 << 16, STRIDE = 1024, NUMBERS = 7, TYPE = 1, NTYPES = 6 };

typedef struct mark {
    int64_t offset, line; /* where a line starts, and the number of the line before it */
} mark;

typedef struct detail {
    bool with_id; /* lines `id m x y z vx vy vz` after three header lines */
    int64_t nmarks, capacity;
    mark *at; /* [nmarks] of particles 0, STRIDE, 2 STRIDE, ... */
} detail;

typedef struct reader {
    const char *path;
    int fd;
    int64_t size, offset; /* of the file; of the next byte to fetch */
    int64_t line;         /* number of the last line given out, from 1 */
    size_t begin, end;    /* what is fetched and not given out: buffer[begin .. end) */
    char *buffer;         /* [LINE_BYTES + 1] */
} reader;

typedef struct line {
    char *text;
    int64_t offset;
    bool ended; /* by a newline; otherwise by the end of the file */
} line;

static bool probe(const eqp__probe *p)
{
    for (size_t i = 0; i < p->length; i++) {
        if (p->head[i] < ' ' && !isspace(p->head[i])) {
            return false;
        }
    }
    return true;
}

static int reader_open(reader *r, const char *path, eqp_message *message)
{
    int rc;

    *r = (reader){.path = path, .fd = -1};
    rc = eqp_array_create(&r->buffer, LINE_BYTES + 1, 1);
    return rc != EQP_OK ? rc : eqp__file_open(path, &r->fd, &r->size, message);
}

static void reader_close(reader *r)
{
    eqp__file_close(r->fd);
    free(r->buffer);
}

static int refuse(const reader *r, const char *what, eqp_message *message)
{
    eqp_message_set(message, "%s: line %lld: %s", r->path, (long long)r->line, what);
    return EQP_ERR_FORMAT;
}

static int fetch(reader *r, eqp_message *message)
{
    size_t room, bytes;
    int rc;

    memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
    r->end -= r->begin;
    r->begin = 0;
    room = LINE_BYTES - r->end;
    bytes = r->size - r->offset < (int64_t)room ? (size_t)(r->size - r->offset) : room;
    rc = eqp__file_read(r->fd, r->path, r->buffer + r->end, bytes, r->offset, message);
    if (rc == EQP_OK) {
        r->offset += (int64_t)bytes;
        r->end += bytes;
    }
    return rc;
}

/* The next line of any kind; text NULL at the end of the file. */
static int next_line(reader *r, line *found, eqp_message *message)
{
    char *stop = memchr(r->buffer + r->begin, '\n', r->end - r->begin);
    size_t length;

    if (!stop && r->offset < r->size) {
        int rc = fetch(r, message);

        if (rc != EQP_OK) {
            return rc;
        }
        stop = memchr(r->buffer, '\n', r->end);
    }
    if (r->begin == r->end) {
        found->text = NULL;
        return EQP_OK;
    }
    r->line++;
    if (!stop && r->offset < r->size) {
        return refuse(r, "is longer than 65535 bytes", message);
    }
    length = stop ? (size_t)(stop - r->buffer) - r->begin : r->end - r->begin;
    *found = (line){.text = r->buffer + r->begin, .offset = r->offset - (int64_t)(r->end - r->begin), .ended = stop};
    found->text[length] = '\0';
    r->begin += length + (stop ? 1 : 0);
    if (memchr(found->text, '\0', length)) {
        return refuse(r, "holds a zero byte: damaged, or no text", message);
    }
    return EQP_OK;
}

/* The next line that is neither blank nor a comment. */
static int next_data(reader *r, line *found, eqp_message *message)
{
    for (;;) {
        int rc = next_line(r, found, message);
        const char *p = found->text;

        if (rc != EQP_OK || !p) {
            return rc;
        }
        while (isspace((unsigned char)*p)) {
            p++;
        }
        if (*p != '\0' && *p != '#') {
            return EQP_OK;
        }
    }
}

static int count_columns(const char *p)
{
    for (int n = 0;; n++) {
        while (isspace((unsigned char)*p)) {
            p++;
        }
        if (*p == '\0' || *p == '#') {
            return n;
        }
        while (*p != '\0' && !isspace((unsigned char)*p)) {
            p++;
        }
    }
}

static bool ends_token(char c)
{
    return c == '\0' || c == '#' || isspace((unsigned char)c);
}

static bool parse_real(char **at, double *value)
{
    char *p = *at, *stop;

    while (isspace((unsigned char)*p)) {
        p++;
    }
    *value = strtod(p, &stop);
    /* Fortran writes 1.0D+00. */
    if (stop != p && (*stop == 'D' || *stop == 'd') && (isdigit((unsigned char)stop[-1]) || stop[-1] == '.')) {
        *stop = 'e';
        *value = strtod(p, &stop);
    }
    *at = stop;
    return stop != p && ends_token(*stop);
}

static bool parse_integer(char **at, int64_t *value)
{
    char *p = *at, *stop;

    errno = 0;
    *value = strtoll(p, &stop, 10);
    *at = stop;
    return stop != p && ends_token(*stop) && errno == 0;
}

static int parse_particle(const reader *r, char *p, bool with_id, int64_t *id, double number[NUMBERS],
                          eqp_message *message)
{
    char what[64];

    if (with_id && !parse_integer(&p, id)) {
        return refuse(r, "column 1 is not an integer", message);
    }
    for (int c = 0; c < NUMBERS; c++) {
        if (!parse_real(&p, &number[c])) {
            snprintf(what, sizeof what, "column %d is not a number", c + 1 + with_id);
            return refuse(r, what, message);
        }
    }
    return EQP_OK;
}

/* Three lines: any integer, the number of particles, the time. `at` holds the first. */
static int parse_headers(reader *r, line *at, eqp__header *h, eqp_message *message)
{
    int64_t number[2];
    int rc;

    for (int i = 0; i < 2; i++) {
        char *p = at->text;

        if (!parse_integer(&p, &number[i]) || count_columns(p) != 0) {
            return refuse(r, "neither 'm x y z vx vy vz' nor a header of integer, number of particles, time", message);
        }
        rc = next_data(r, at, message);
        if (rc != EQP_OK) {
            return rc;
        }
        if (!at->text) {
            return refuse(r, "the header of three lines ends here: truncated?", message);
        }
    }
    {
        char *p = at->text;

        if (!parse_real(&p, &h->time) || count_columns(p) != 0) {
            return refuse(r, "the third header line is not the time", message);
        }
    }
    if (number[1] < 1) {
        return refuse(r, "the header above says that there are no particles", message);
    }
    h->total[TYPE] = number[1];
    h->total_mask = UINT64_MAX;
    return next_data(r, at, message);
}

/* Counts the particles from the first on, which `at` holds, and marks every STRIDE-th. */
static int index_lines(reader *r, line *at, detail *d, int64_t *n, eqp_message *message)
{
    int columns = count_columns(at->text);
    int64_t count = 0;

    while (at->text) {
        int rc = EQP_OK;

        if (count % STRIDE == 0) {
            rc = eqp_array_reserve(&d->at, &d->capacity, d->nmarks + 1, sizeof *d->at);
            if (rc == EQP_OK) {
                d->at[d->nmarks++] = (mark){.offset = at->offset, .line = r->line - 1};
            }
        }
        count++;
        /* The signs of truncation that text can give. Lines typed by hand may end without a newline; codes that write
         * headers also write newlines. */
        if (rc == EQP_OK && !at->ended && (d->with_id || count_columns(at->text) < columns)) {
            rc = refuse(
                r, d->with_id ? "ends without a newline: truncated?" : "has fewer columns than the first: truncated?",
                message);
        }
        rc = rc != EQP_OK ? rc : next_data(r, at, message);
        if (rc != EQP_OK) {
            return rc;
        }
    }
    *n = count;
    return EQP_OK;
}

static int load_text(reader *r, eqp__file *file, detail *d, eqp_message *message)
{
    eqp__header *h = &file->header;
    double number[NUMBERS];
    int64_t id;
    line at;
    int rc = next_data(r, &at, message);

    if (rc == EQP_OK && at.text && count_columns(at.text) == 1) {
        d->with_id = true;
        rc = parse_headers(r, &at, h, message);
    }
    if (rc != EQP_OK) {
        return rc;
    }
    if (!at.text) {
        eqp_message_set(message, "%s: holds no particles", r->path);
        return EQP_ERR_FORMAT;
    }
    rc = index_lines(r, &at, d, &h->n[TYPE], message);
    if (rc != EQP_OK) {
        return rc;
    }
    /* The first line tells now, not at the first slice, that this is some other text. */
    r->line = d->at[0].line;
    r->offset = d->at[0].offset;
    r->begin = r->end = 0;
    rc = next_data(r, &at, message);
    if (rc == EQP_OK && parse_particle(r, at.text, d->with_id, &id, number, NULL) != EQP_OK) {
        rc = refuse(r, d->with_id ? "is not 'id m x y z vx vy vz'" : "is not 'm x y z vx vy vz': in no known format",
                    message);
    }
    h->has_ids = d->with_id;
    h->ntypes = NTYPES;
    h->nfiles = 1;
    snprintf(h->format, sizeof h->format, "text%s", d->with_id ? " with ids" : "");
    return rc;
}

static void release(void *detail_)
{
    detail *d = detail_;

    if (d) {
        free(d->at);
        free(d);
    }
}

static int load(eqp__file *file, eqp_message *message)
{
    detail *d = NULL;
    eqp__c_locale c;
    reader r;
    int rc = reader_open(&r, file->path, message);

    eqp__c_locale_enter(&c);
    rc = rc != EQP_OK ? rc : eqp_array_create(&d, 1, sizeof *d);
    rc = rc != EQP_OK ? rc : load_text(&r, file, d, message);
    rc = rc != EQP_OK ? rc : eqp__header_check(file, message);
    if (rc == EQP_OK) {
        eqp__header_convert_velocity(&file->header, 0, 0);
        file->detail = d;
        d = NULL;
    }
    eqp__c_locale_leave(&c);
    reader_close(&r);
    release(d);
    return rc;
}

static int read_lines(reader *r, const detail *d, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                      eqp_message *message)
{
    double *const column[NUMBERS] = {to->m, to->x, to->y, to->z, to->vx, to->vy, to->vz};

    r->offset = d->at[first / STRIDE].offset;
    r->line = d->at[first / STRIDE].line;
    for (int64_t i = -(first % STRIDE); i < n; i++) {
        double number[NUMBERS];
        int64_t id = 0;
        line at;
        int rc = next_data(r, &at, message);

        if (rc == EQP_OK && !at.text) {
            rc = refuse(r, "the file ends early: it has changed since it was opened", message);
        }
        if (rc == EQP_OK && i >= 0) {
            rc = parse_particle(r, at.text, d->with_id, &id, number, message);
        }
        if (rc != EQP_OK) {
            return rc;
        }
        for (int c = 0; i >= 0 && c < NUMBERS; c++) {
            if (column[c]) {
                column[c][i] = number[c];
            }
        }
        if (i >= 0 && to->id) {
            to->id[i] = id;
        }
    }
    return EQP_OK;
}

static int read_type(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                     eqp_message *message)
{
    eqp__c_locale c;
    reader r;
    int rc = reader_open(&r, file->path, message);

    (void)type;
    eqp__c_locale_enter(&c);
    rc = rc != EQP_OK ? rc : read_lines(&r, file->detail, first, n, to, message);
    eqp__c_locale_leave(&c);
    reader_close(&r);
    return rc;
}

const eqp__format eqp__format_text = {
    .name = "text",
    .probe = probe,
    .load = load,
    .read = read_type,
    .release = release,
};
