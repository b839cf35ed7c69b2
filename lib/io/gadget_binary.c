/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET formats 1 and 2: Fortran records, each an int32 length, the payload, and the length again. Format 1 has a
 * fixed order of blocks; format 2 names each in a record of 8 bytes before it. (User guide of GADGET-2, section 6.) */
#include "io/internal.h"

#include "base/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Real files have tens of blocks; the limit keeps a file of millions of empty ones from taking hours. */
enum { HEADER_BYTES = 256, LABEL_BYTES = 8, TYPES = 6, MOST_RECORDS = 4096, MOST_HEADER_BYTES = 448 };

/* GADGET-4's own header: counts in this file and in total, masses of the types, then time, redshift, box size and the
 * number of files. Versions differ in the width of the first counts and in what follows; the number of types is a
 * constant of the program that wrote it. */
static const struct {
    int count_bytes, more_bytes;
} own_headers[] = {{8, 0}, {8, 16}, {4, 0}, {4, 16}};
enum { OWN_HEADERS = (int)(sizeof own_headers / sizeof *own_headers) };

enum { BLOCK_POS, BLOCK_VEL, BLOCK_ID, BLOCK_MASS, BLOCKS };

static const char labels[BLOCKS][5] = {"POS ", "VEL ", "ID  ", "MASS"};

typedef struct block {
    int64_t offset; /* of the payload; 0: missing */
    int64_t bytes;
    int item; /* bytes of one number */
} block;

typedef struct detail {
    bool big;        /* big-endian */
    bool all_masses; /* the block MASS repeats the masses of the header */
    block at[BLOCKS];
} detail;

typedef struct record {
    int64_t offset, bytes; /* of the payload */
} record;

static int64_t after(const record *r)
{
    return r->offset + r->bytes + 4;
}

typedef struct reader {
    const char *path;
    eqp__source source;
    bool big, labelled;
} reader;

/* Offset of the totals in a GADGET-4 header. */
static int64_t totals_offset(int form, int ntypes)
{
    return ((int64_t)own_headers[form].count_bytes * ntypes + 7) / 8 * 8;
}

/* Number of types for which a header of this form has `bytes` bytes; 0: none. */
static int own_types(int form, int64_t bytes)
{
    for (int n = 1; n <= EQP_SNAPSHOT_TYPES; n++) {
        if (totals_offset(form, n) + 16 * n + 32 + own_headers[form].more_bytes == bytes) {
            return n;
        }
    }
    return 0;
}

static bool is_own_header(uint32_t bytes)
{
    bool is = false;

    for (int form = 0; form < OWN_HEADERS; form++) {
        is |= own_types(form, bytes) > 0;
    }
    return is && bytes != HEADER_BYTES;
}

static bool probe(const eqp__probe *p)
{
    for (int big = 0; big < 2; big++) {
        uint32_t first = p->length >= 4 ? eqp__get_u32(p->head, big != 0) : 0;

        if (is_own_header(first) && p->length >= first + 8 && eqp__get_u32(p->head + first + 4, big != 0) == first) {
            return true;
        }

        if (first == LABEL_BYTES && p->length >= 8 && memcmp(p->head + 4, "HEAD", 4) == 0) {
            return true;
        }
        /* A file too short for the second length is a truncated header. */
        if (first == HEADER_BYTES &&
            (p->length < HEADER_BYTES + 8 || eqp__get_u32(p->head + HEADER_BYTES + 4, big != 0) == HEADER_BYTES)) {
            return true;
        }
    }
    return false;
}

/* Finds the record at offset `at`. Lengths are stored in 32 bits, so blocks of 4 GiB and more have lost the upper bits:
 * the true length is the first one whose end repeats the word. */
static int find_record(const reader *r, int64_t at, record *found, eqp_message *message)
{
    unsigned char word[4];
    uint32_t length;

    EQP__CHECK(eqp__source_read(&r->source, word, sizeof word, at, message));
    length = eqp__get_u32(word, r->big);
    for (int64_t bytes = length; bytes <= r->source.size - at - 8; bytes += (int64_t)1 << 32) {
        EQP__CHECK(eqp__source_read(&r->source, word, sizeof word, at + 4 + bytes, message));
        if (eqp__get_u32(word, r->big) == length) {
            *found = (record){.offset = at + 4, .bytes = bytes};
            return EQP_OK;
        }
    }
    if (at + 8 + (int64_t)length > r->source.size) {
        eqp_message_set(message, "%s: truncated: the record at byte %lld needs %lld bytes, the file has %lld", r->path,
                        (long long)at, (long long)length + 8, (long long)(r->source.size - at));
    } else {
        eqp_message_set(message, "%s: damaged: the record at byte %lld ends with another length than it starts with",
                        r->path, (long long)at);
    }
    return EQP_ERR_FORMAT;
}

static void parse_header(const unsigned char *p, bool big, eqp__header *h)
{
    uint32_t nfiles = eqp__get_u32(p + 124, big);

    h->ntypes = TYPES;
    h->nfiles = nfiles > INT32_MAX ? -1 : (int)nfiles;
    /* The upper words of the totals are junk in files of old codes. The sum over the files replaces them. */
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

static void parse_own_header(const unsigned char *p, bool big, int form, int ntypes, eqp__header *h)
{
    const unsigned char *total = p + totals_offset(form, ntypes), *mass = total + 8 * ntypes, *more = mass + 8 * ntypes;
    const int width = own_headers[form].count_bytes;
    const uint32_t nfiles = eqp__get_u32(more + 24, big);

    h->ntypes = ntypes;
    h->nfiles = nfiles > INT32_MAX ? -1 : (int)nfiles;
    h->total_mask = UINT64_MAX;
    for (int t = 0; t < ntypes; t++) {
        h->n[t] = width == 8 ? (int64_t)eqp__get_u64(p + 8 * t, big) : (int64_t)eqp__get_u32(p + 4 * t, big);
        h->mass[t] = eqp__get_f64(mass + 8 * t, big);
        h->total[t] = (int64_t)eqp__get_u64(total + 8 * t, big);
    }
    h->time = eqp__get_f64(more, big);
    h->redshift = eqp__get_f64(more + 8, big);
    h->box_size = eqp__get_f64(more + 16, big);
}

/* True if the counts of the header match the size of the block of positions. */
static bool fits(const reader *r, const eqp__header *h, int64_t places)
{
    int64_t all = 0;
    record found;

    for (int t = 0; t < h->ntypes; t++) {
        if (h->n[t] < 0 || h->n[t] > EQP__MOST_PARTICLES) {
            return false;
        }
        all += h->n[t];
    }
    return all == 0 ||
           (find_record(r, places, &found, NULL) == EQP_OK && (found.bytes == 12 * all || found.bytes == 24 * all));
}

/* Headers of different versions can have the same length. The block of positions tells them apart. */
static int load_own_header(const reader *r, const record *at, eqp__file *file, eqp_message *message)
{
    unsigned char head[MOST_HEADER_BYTES];
    int rc = EQP_ERR_FORMAT;

    if (at->bytes <= UINT32_MAX && is_own_header((uint32_t)at->bytes)) {
        rc = eqp__source_read(&r->source, head, (size_t)at->bytes, at->offset, message);
        for (int form = 0; rc == EQP_OK && form < OWN_HEADERS; form++) {
            const int ntypes = own_types(form, at->bytes);
            eqp__header h = file->header;

            if (ntypes > 0) {
                parse_own_header(head, r->big, form, ntypes, &h);
            }
            if (ntypes > 0 && fits(r, &h, after(at) + (r->labelled ? LABEL_BYTES + 8 : 0))) {
                file->header = h;
                return EQP_OK;
            }
        }
        EQP__CHECK(rc);
        eqp_message_set(message,
                        "%s: damaged or truncated: the block behind the header of %lld bytes has not the places of "
                        "the particles that it counts",
                        r->path, (long long)at->bytes);
        return EQP_ERR_FORMAT;
    }
    eqp_message_set(message, "%s: damaged: the header has %lld bytes, not %d as in GADGET-2, nor those of GADGET-4",
                    r->path, (long long)at->bytes, HEADER_BYTES);
    return rc;
}

static int load_header(reader *r, eqp__file *file, int64_t *next, eqp_message *message)
{
    unsigned char head[HEADER_BYTES];
    record found;
    int rc = eqp__source_read(&r->source, head, 8, 0, message);

    EQP__CHECK(rc);
    r->big = eqp__get_u32(head, true) == HEADER_BYTES || eqp__get_u32(head, true) == LABEL_BYTES ||
             is_own_header(eqp__get_u32(head, true));
    r->labelled = memcmp(head + 4, "HEAD", 4) == 0 && eqp__get_u32(head, r->big) == LABEL_BYTES;
    rc = find_record(r, r->labelled ? LABEL_BYTES + 8 : 0, &found, message);
    EQP__CHECK(rc);
    if (found.bytes != HEADER_BYTES) {
        rc = load_own_header(r, &found, file, message);
    } else {
        rc = eqp__source_read(&r->source, head, sizeof head, found.offset, message);
        if (rc == EQP_OK) {
            parse_header(head, r->big, &file->header);
        }
    }
    EQP__CHECK(rc);
    snprintf(file->header.format, sizeof file->header.format, "GADGET format %d", r->labelled ? 2 : 1);
    *next = after(&found);
    return eqp__header_check(file, message);
}

/* The block MASS holds the masses that are not in the header. Some codes store all masses, as wide as the positions. */
static bool has_all_masses(const detail *d, const record *at, const int64_t number[BLOCKS])
{
    const int64_t massive = number[BLOCK_MASS], all = number[BLOCK_ID];

    return massive < all && (at->bytes > 8 * massive || at->bytes == all * d->at[BLOCK_POS].item);
}

/* Derives the width of the numbers from the length of the block. */
static int place_block(const reader *r, detail *d, int which, const record *at, const int64_t number[BLOCKS],
                       eqp_message *message)
{
    int64_t numbers = number[which];

    if (which == BLOCK_MASS && has_all_masses(d, at, number)) {
        d->all_masses = true;
        if (numbers == 0) {
            return EQP_OK; /* all masses are in the header */
        }
        numbers = number[BLOCK_ID];
    }
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

/* Identifies the next record: by its label in format 2, by its position in format 1, where MASS is left out if all
 * masses are in the header. */
static int next_block(const reader *r, int order, bool has_masses, int64_t *at, int *which, eqp_message *message)
{
    unsigned char label[4];
    record found;
    int rc;

    if (!r->labelled) {
        *which = order < BLOCK_MASS || (order == BLOCK_MASS && has_masses) ? order : BLOCKS;
        return EQP_OK;
    }
    EQP__CHECK(find_record(r, *at, &found, message));
    EQP__FAIL_IF(
        found.bytes != LABEL_BYTES,
        EQP__SAY(message, EQP_ERR_FORMAT, "%s: damaged: no block label at byte %lld", r->path, (long long)*at));
    rc = eqp__source_read(&r->source, label, sizeof label, found.offset, message);
    *at = after(&found);
    *which = BLOCKS;
    for (int b = 0; b < BLOCKS; b++) {
        if (memcmp(label, labels[b], 4) == 0) {
            *which = b;
        }
    }
    return rc;
}

/* Walks all records, used or not, to the end of the file, to detect truncation. */
static int find_blocks(const reader *r, int64_t at, const int64_t numbers[BLOCKS], detail *d, eqp_message *message)
{
    for (int order = 0; at < r->source.size; order++) {
        record found;
        int which, rc = next_block(r, order, numbers[BLOCK_MASS] > 0, &at, &which, message);

        rc = rc != EQP_OK ? rc : find_record(r, at, &found, message);
        EQP__CHECK(rc);
        EQP__FAIL_IF(order >= MOST_RECORDS,
                     EQP__SAY(message, EQP_ERR_FORMAT, "%s: damaged: more than %d blocks before byte %lld", r->path,
                              MOST_RECORDS, (long long)at));
        EQP__FAIL_IF(which < BLOCKS && d->at[which].offset != 0,
                     EQP__SAY(message, EQP_ERR_FORMAT, "%s: damaged: two blocks %.4s", r->path, labels[which]));
        if (which < BLOCKS) {
            EQP__CHECK(place_block(r, d, which, &found, numbers, message));
        }
        at = after(&found);
    }
    return EQP_OK;
}

/* A file without its last blocks cannot be told from one truncated between two blocks, so the note says so. */
static void note_end(eqp__header *h, const detail *d)
{
    int last = BLOCK_POS;

    for (int b = 0; b < BLOCKS; b++) {
        last = d->at[b].offset > d->at[last].offset ? b : last;
    }
    eqp_message_set(&h->note, "the file ends after the block %.*s: if it should hold more, it is truncated",
                    (int)strcspn(labels[last], " "), labels[last]);
}

static int load_blocks(const reader *r, int64_t at, eqp__file *file, detail *d, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t all = 0, massive = 0;

    for (int t = 0; t < h->ntypes; t++) {
        all += h->n[t];
        massive += h->mass[t] == 0 ? h->n[t] : 0;
    }
    if (all == 0) {
        h->has_ids = true;
        return EQP_OK;
    }
    {
        const int64_t numbers[BLOCKS] = {3 * all, 3 * all, all, massive};

        EQP__CHECK(find_blocks(r, at, numbers, d, message));
        EQP__FAIL_IF(d->at[BLOCK_POS].offset == 0,
                     EQP__SAY(message, EQP_ERR_FORMAT, "%s: has no block POS: truncated?", r->path));
        h->has_masses = massive == 0 || d->at[BLOCK_MASS].offset != 0;
    }
    h->has_ids = d->at[BLOCK_ID].offset != 0;
    h->at_rest = d->at[BLOCK_VEL].offset != 0 ? 0 : UINT32_MAX;
    if (d->all_masses) {
        eqp_message_set(&h->note, "masses stand in the header and in the block MASS: those of the header are taken");
    } else if (!h->has_masses || (!h->has_ids && (!r->labelled || h->at_rest != 0))) {
        note_end(h, d);
    }
    return EQP_OK;
}

static int load(eqp__file *file, eqp_message *message)
{
    reader r = {.path = file->path};
    EQP__SOURCE source = {.fd = -1};
    EQP__HEAP detail *d = NULL;
    int64_t next = 0;

    EQP__CHECK(eqp_array_create(&d, 1, sizeof *d));
    EQP__CHECK(eqp__source_open(file->path, -1, &source, message));
    r.source = source;
    EQP__CHECK(load_header(&r, file, &next, message));
    EQP__CHECK(load_blocks(&r, next, file, d, message));
    eqp__header_convert_velocity(&file->header, -1, 0.5);
    d->big = r.big;
    file->size = source.size;
    file->detail = d;
    d = NULL;
    return EQP_OK;
}

static int read_type(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                     eqp_message *message)
{
    double *const real[BLOCKS][3] = {
        [BLOCK_POS] = {to->x, to->y, to->z}, [BLOCK_VEL] = {to->vx, to->vy, to->vz}, [BLOCK_MASS] = {to->m}};
    const detail *d = file->detail;
    const eqp__header *h = &file->header;
    EQP__SOURCE source = {.fd = -1};
    int64_t place = first, massive = first;

    EQP__CHECK(eqp__source_open(file->path, file->size, &source, message));
    for (int t = 0; t < type; t++) {
        place += h->n[t];
        massive += h->mass[t] == 0 || d->all_masses ? h->n[t] : 0;
    }
    for (int b = 0; b < BLOCKS; b++) {
        const int width = b <= BLOCK_VEL ? 3 : 1, item = d->at[b].item, row = width * item;
        eqp__field field[3];

        for (int c = 0; c < width; c++) {
            field[c] = (eqp__field){real[b][c], b == BLOCK_ID ? to->id : NULL, c * item, item};
        }
        EQP__CHECK(eqp__source_fields(&source, d->big, d->at[b].offset + (b == BLOCK_MASS ? massive : place) * row, row,
                                      width, field, n, message));
    }
    return EQP_OK;
}

const eqp__format eqp__format_gadget_binary = {
    .probe = probe,
    .load = load,
    .read = read_type,
    .release = free,
};
