/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET format 1 and 2: Fortran records, that is int32 length, payload, the same length again. Format 1 has a fixed
 * order of blocks; format 2 names each in a record of 8 bytes before it. (User guide of GADGET-2, section 6.) */
#include "io/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Real files have some tens of blocks; millions of empty ones would only take time. */
enum { HEADER_BYTES = 256, LABEL_BYTES = 8, TYPES = 6, MOST_RECORDS = 4096 };

enum { BLOCK_POS, BLOCK_VEL, BLOCK_ID, BLOCK_MASS, BLOCKS };

static const char labels[BLOCKS][5] = {"POS ", "VEL ", "ID  ", "MASS"};

typedef struct block {
    int64_t offset; /* of the payload; 0: not there */
    int64_t bytes;
    int item; /* bytes of one number */
} block;

typedef struct detail {
    bool big; /* endian */
    block at[BLOCKS];
} detail;

typedef struct record {
    int64_t offset, bytes; /* of the payload */
} record;

typedef struct reader {
    const char *path;
    int fd;
    int64_t size;
    bool big, labelled;
} reader;

static bool probe(const eqp__probe *p)
{
    for (int big = 0; big < 2; big++) {
        uint32_t first = p->length >= 4 ? eqp__get_u32(p->head, big != 0) : 0;

        if (first == LABEL_BYTES && p->length >= 8 && memcmp(p->head + 4, "HEAD", 4) == 0) {
            return true;
        }
        /* A short file that starts like this is a truncated one. */
        if (first == HEADER_BYTES &&
            (p->length < HEADER_BYTES + 8 || eqp__get_u32(p->head + HEADER_BYTES + 4, big != 0) == HEADER_BYTES)) {
            return true;
        }
    }
    return false;
}

/* The record that starts at `at`. Lengths are stored in 32 bits, so those of large blocks have lost their upper bits:
 * the right length is the one at whose end the same word stands again. */
static int find_record(const reader *r, int64_t at, record *found, eqp_message *message)
{
    unsigned char word[4];
    uint32_t length;
    int rc = eqp__file_read(r->fd, r->path, word, sizeof word, at, message);

    if (rc != EQP_OK) {
        return rc;
    }
    length = eqp__get_u32(word, r->big);
    for (int64_t bytes = length; bytes <= r->size - at - 8; bytes += (int64_t)1 << 32) {
        rc = eqp__file_read(r->fd, r->path, word, sizeof word, at + 4 + bytes, message);
        if (rc != EQP_OK) {
            return rc;
        }
        if (eqp__get_u32(word, r->big) == length) {
            *found = (record){.offset = at + 4, .bytes = bytes};
            return EQP_OK;
        }
    }
    if (at + 8 + (int64_t)length > r->size) {
        eqp_message_set(message, "%s: truncated: the record at byte %lld needs %lld bytes, the file has %lld", r->path,
                        (long long)at, (long long)length + 8, (long long)(r->size - at));
    } else {
        eqp_message_set(message, "%s: damaged: the record at byte %lld ends with another length than it starts with",
                        r->path, (long long)at);
    }
    return EQP_ERR_FORMAT;
}

static int64_t after(const record *r)
{
    return r->offset + r->bytes + 4;
}

static void parse_header(const unsigned char *p, bool big, eqp__header *h)
{
    uint32_t nfiles = eqp__get_u32(p + 124, big);

    h->ntypes = TYPES;
    h->nfiles = nfiles > INT32_MAX ? -1 : (int)nfiles;
    /* The upper words of the totals are junk in files of old codes, and the files themselves tell them anyway. */
    h->total_mask = UINT32_MAX;
    for (int t = 0; t < TYPES; t++) {
        h->n[t] = eqp__get_u32(p + 4 * t, big);
        h->mass[t] = eqp__get_f64(p + 24 + 8 * t, big);
        h->total[t] = eqp__get_u32(p + 96 + 4 * t, big);
    }
    h->time = eqp__get_f64(p + 72, big);
    h->redshift = eqp__get_f64(p + 80, big);
    h->box_size = eqp__get_f64(p + 128, big);
    h->omega0 = eqp__get_f64(p + 136, big);
    h->omega_lambda = eqp__get_f64(p + 144, big);
    h->hubble = eqp__get_f64(p + 152, big);
}

static int load_header(reader *r, eqp__file *file, int64_t *next, eqp_message *message)
{
    unsigned char head[HEADER_BYTES];
    record found;
    int rc = eqp__file_read(r->fd, r->path, head, 8, 0, message);

    if (rc != EQP_OK) {
        return rc;
    }
    r->big = eqp__get_u32(head, true) == HEADER_BYTES || eqp__get_u32(head, true) == LABEL_BYTES;
    r->labelled = memcmp(head + 4, "HEAD", 4) == 0 && eqp__get_u32(head, r->big) == LABEL_BYTES;
    rc = find_record(r, r->labelled ? LABEL_BYTES + 8 : 0, &found, message);
    if (rc != EQP_OK) {
        return rc;
    }
    if (found.bytes != HEADER_BYTES) {
        eqp_message_set(message, "%s: damaged: the header has %lld bytes, not %d", r->path, (long long)found.bytes,
                        HEADER_BYTES);
        return EQP_ERR_FORMAT;
    }
    rc = eqp__file_read(r->fd, r->path, head, sizeof head, found.offset, message);
    if (rc != EQP_OK) {
        return rc;
    }
    parse_header(head, r->big, &file->header);
    snprintf(file->header.format, sizeof file->header.format, "GADGET format %d", r->labelled ? 2 : 1);
    *next = after(&found);
    return eqp__header_check(file, message);
}

/* The width of a block's numbers follows from its length. */
static int place_block(const reader *r, detail *d, int which, const record *at, int64_t numbers, eqp_message *message)
{
    for (int item = 4; item <= 8; item += 4) {
        if (at->bytes == numbers * item) {
            d->at[which] = (block){.offset = at->offset, .bytes = at->bytes, .item = item};
            return EQP_OK;
        }
    }
    eqp_message_set(message, "%s: block %.4s has %lld bytes, but %lld numbers of 4 or 8 bytes are expected", r->path,
                    labels[which], (long long)at->bytes, (long long)numbers);
    return EQP_ERR_FORMAT;
}

/* Which block the next record is. Format 1: by its place; the masses are left out if no particle has its own. */
static int next_block(const reader *r, int order, bool has_masses, int64_t *at, int *which, eqp_message *message)
{
    unsigned char label[4];
    record found;
    int rc;

    if (!r->labelled) {
        *which = order < BLOCK_MASS || (order == BLOCK_MASS && has_masses) ? order : BLOCKS;
        return EQP_OK;
    }
    rc = find_record(r, *at, &found, message);
    if (rc != EQP_OK) {
        return rc;
    }
    if (found.bytes != LABEL_BYTES) {
        eqp_message_set(message, "%s: damaged: no block label at byte %lld", r->path, (long long)*at);
        return EQP_ERR_FORMAT;
    }
    rc = eqp__file_read(r->fd, r->path, label, sizeof label, found.offset, message);
    *at = after(&found);
    *which = BLOCKS;
    for (int b = 0; b < BLOCKS; b++) {
        if (memcmp(label, labels[b], 4) == 0) {
            *which = b;
        }
    }
    return rc;
}

/* Walks all records to the end of the file, also those that nobody needs: that is how truncation shows. */
static int find_blocks(const reader *r, int64_t at, const int64_t numbers[BLOCKS], detail *d, eqp_message *message)
{
    for (int order = 0; at < r->size; order++) {
        record found;
        int which, rc = next_block(r, order, numbers[BLOCK_MASS] > 0, &at, &which, message);

        rc = rc != EQP_OK ? rc : find_record(r, at, &found, message);
        if (rc != EQP_OK) {
            return rc;
        }
        if (order >= MOST_RECORDS) {
            eqp_message_set(message, "%s: damaged: more than %d blocks before byte %lld", r->path, MOST_RECORDS,
                            (long long)at);
            return EQP_ERR_FORMAT;
        }
        if (which < BLOCKS && d->at[which].offset != 0) {
            eqp_message_set(message, "%s: damaged: two blocks %.4s", r->path, labels[which]);
            return EQP_ERR_FORMAT;
        }
        if (which < BLOCKS) {
            rc = place_block(r, d, which, &found, numbers[which], message);
            if (rc != EQP_OK) {
                return rc;
            }
        }
        at = after(&found);
    }
    return EQP_OK;
}

static int load_blocks(const reader *r, int64_t at, eqp__file *file, detail *d, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t all = 0, massive = 0;

    for (int t = 0; t < TYPES; t++) {
        all += h->n[t];
        massive += h->mass[t] == 0 ? h->n[t] : 0;
    }
    if (all == 0) {
        h->has_ids = true;
        return EQP_OK;
    }
    {
        const int64_t numbers[BLOCKS] = {3 * all, 3 * all, all, massive};
        int rc = find_blocks(r, at, numbers, d, message);

        if (rc != EQP_OK) {
            return rc;
        }
        for (int b = 0; b < BLOCKS; b++) {
            bool optional = b == BLOCK_ID && r->labelled;

            if (d->at[b].offset == 0 && numbers[b] > 0 && !optional) {
                eqp_message_set(message, "%s: ends before the block %.4s: truncated?", r->path, labels[b]);
                return EQP_ERR_FORMAT;
            }
        }
    }
    h->has_ids = d->at[BLOCK_ID].offset != 0;
    return EQP_OK;
}

static int load(eqp__file *file, eqp_message *message)
{
    reader r = {.path = file->path, .fd = -1};
    detail *d = NULL;
    int64_t next = 0;
    int rc = eqp_array_create(&d, 1, sizeof *d);

    rc = rc != EQP_OK ? rc : eqp__file_open(file->path, &r.fd, &r.size, message);
    rc = rc != EQP_OK ? rc : load_header(&r, file, &next, message);
    rc = rc != EQP_OK ? rc : load_blocks(&r, next, file, d, message);
    if (rc == EQP_OK) {
        eqp__header_convert_velocity(&file->header, -1, 0.5);
        d->big = r.big;
        file->detail = d;
        d = NULL;
    }
    eqp__file_close(r.fd);
    free(d);
    return rc;
}

static double get_real(const unsigned char *p, int item, bool big)
{
    return item == 4 ? eqp__get_f32(p, big) : eqp__get_f64(p, big);
}

typedef struct source {
    const char *path;
    int fd;
    bool big;
    unsigned char *buffer; /* for up to EQP__BLOCK_ROWS rows of 3 numbers of 8 bytes */
} source;

/* Rows [first, first + n) of a block whose rows are `width` numbers, each component into its own array. */
static int read_reals(const source *s, const block *b, int width, int64_t first, int64_t n, double *const *to,
                      eqp_message *message)
{
    int row = width * b->item;

    for (int64_t done = 0; done < n;) {
        int64_t now = n - done < EQP__BLOCK_ROWS ? n - done : EQP__BLOCK_ROWS;
        int rc =
            eqp__file_read(s->fd, s->path, s->buffer, (size_t)(now * row), b->offset + (first + done) * row, message);

        if (rc != EQP_OK) {
            return rc;
        }
        for (int c = 0; c < width; c++) {
            for (int64_t i = 0; to[c] && i < now; i++) {
                to[c][done + i] = get_real(s->buffer + i * row + c * b->item, b->item, s->big);
            }
        }
        done += now;
    }
    return EQP_OK;
}

static int read_ids(const source *s, const block *b, int64_t first, int64_t n, int64_t *to, eqp_message *message)
{
    for (int64_t done = 0; done < n;) {
        int64_t now = n - done < EQP__BLOCK_ROWS ? n - done : EQP__BLOCK_ROWS;
        int rc = eqp__file_read(s->fd, s->path, s->buffer, (size_t)(now * b->item),
                                b->offset + (first + done) * b->item, message);

        if (rc != EQP_OK) {
            return rc;
        }
        for (int64_t i = 0; i < now; i++) {
            const unsigned char *p = s->buffer + i * b->item;

            to[done + i] = b->item == 4 ? (int64_t)eqp__get_u32(p, s->big) : (int64_t)eqp__get_u64(p, s->big);
        }
        done += now;
    }
    return EQP_OK;
}

static int read_type(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                     eqp_message *message)
{
    const detail *d = file->detail;
    const eqp__header *h = &file->header;
    source s = {.path = file->path, .fd = -1, .big = d->big};
    int64_t size, place = first, massive = first;
    int rc = eqp__file_open(file->path, &s.fd, &size, message);

    rc = rc != EQP_OK ? rc : eqp_array_create(&s.buffer, n < EQP__BLOCK_ROWS ? n : EQP__BLOCK_ROWS, 3 * sizeof(double));
    for (int t = 0; t < type; t++) {
        place += h->n[t];
        massive += h->mass[t] == 0 ? h->n[t] : 0;
    }
    if (rc == EQP_OK && (to->x || to->y || to->z)) {
        rc = read_reals(&s, &d->at[BLOCK_POS], 3, place, n, (double *const[]){to->x, to->y, to->z}, message);
    }
    if (rc == EQP_OK && (to->vx || to->vy || to->vz)) {
        rc = read_reals(&s, &d->at[BLOCK_VEL], 3, place, n, (double *const[]){to->vx, to->vy, to->vz}, message);
    }
    if (rc == EQP_OK && to->id) {
        rc = read_ids(&s, &d->at[BLOCK_ID], place, n, to->id, message);
    }
    if (rc == EQP_OK && to->m) {
        rc = read_reals(&s, &d->at[BLOCK_MASS], 1, massive, n, (double *const[]){to->m}, message);
    }
    free(s.buffer);
    eqp__file_close(s.fd);
    return rc;
}

const eqp__format eqp__format_gadget_binary = {
    .name = "GADGET",
    .probe = probe,
    .load = load,
    .read = read_type,
    .release = free,
};
