/* SPDX-License-Identifier: BSD-3-Clause */
/* TIPSY: a header of 32 bytes, then records of gas, dark matter and stars in one byte order. All numbers are float32,
 * except that positions, or positions and velocities, may be float64. */
#include "io/internal.h"

#include "base/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEADER_BYTES = 32, KINDS = 3 };

/* Bytes of positions and velocities, the usual variant first. */
static const struct {
    int header_bytes, place_bytes, velocity_bytes;
} variants[] = {{32, 4, 4}, {32, 8, 4}, {32, 8, 8}, {28, 4, 4}, {28, 8, 4}, {28, 8, 8}};
enum { VARIANTS = (int)(sizeof variants / sizeof *variants) };

/* Bytes of a record in single precision. Each starts with m, x3, v3. */
static const int record_bytes[KINDS] = {48, 36, 44};

/* GADGET's types of gas, halo and stars. */
static const int type_of_kind[KINDS] = {0, 1, 4};

static int bytes_of(int kind, int place_bytes, int velocity_bytes)
{
    return record_bytes[kind] + 3 * (place_bytes - 4) + 3 * (velocity_bytes - 4);
}

static int64_t bytes_needed(const int64_t n[KINDS], int variant)
{
    int64_t bytes = variants[variant].header_bytes;

    for (int k = 0; k < KINDS; k++) {
        bytes += n[k] * bytes_of(k, variants[variant].place_bytes, variants[variant].velocity_bytes);
    }
    return bytes;
}

/* The variant that matches the file size; -1: none. */
static int find_variant(const int64_t n[KINDS], int64_t size)
{
    int v = 0;

    while (v < VARIANTS && bytes_needed(n, v) != size) {
        v++;
    }
    return v < VARIANTS ? v : -1;
}

bool eqp__tipsy_parse(const unsigned char *head, int64_t size, eqp__tipsy *found)
{
    for (int order = 0; order < 2; order++) {
        bool big = order == 0;
        uint32_t ndim = eqp__get_u32(head + 12, big), pad = eqp__get_u32(head + 28, big);
        int64_t n = eqp__get_u32(head + 8, big), kind[KINDS], all, more[KINDS];
        bool plain, extended;
        int variant;

        for (int k = 0; k < KINDS; k++) {
            kind[k] = eqp__get_u32(head + 16 + 4 * k, big);
            more[k] = kind[k] + (int64_t)((uint64_t)(pad >> (8 + 8 * k) & 0xff) << 32);
        }
        all = n + (int64_t)((uint64_t)(pad & 0xff) << 32);
        plain = n == kind[0] + kind[1] + kind[2];
        extended = all == more[0] + more[1] + more[2];
        if (ndim < 1 || ndim > 3 || (!plain && !extended)) {
            continue;
        }
        /* The pad is junk in many files, so it is used only if the size does not match without it. */
        if (plain && (!extended || find_variant(more, size) < 0)) {
            memcpy(more, kind, sizeof more);
        }
        variant = find_variant(more, size);
        variant = variant < 0 ? 0 : variant;
        *found = (eqp__tipsy){.big = big,
                              .time = eqp__get_f64(head, big),
                              .bytes = bytes_needed(more, variant),
                              .header_bytes = variants[variant].header_bytes,
                              .place_bytes = variants[variant].place_bytes,
                              .velocity_bytes = variants[variant].velocity_bytes};
        memcpy(found->n, more, sizeof more);
        return true;
    }
    return false;
}

static bool probe(const eqp__probe *p)
{
    eqp__tipsy found;

    return p->length >= HEADER_BYTES && eqp__tipsy_parse(p->head, p->size, &found);
}

static int load(eqp__file *file, eqp_message *message)
{
    unsigned char head[HEADER_BYTES];
    eqp__header *h = &file->header;
    eqp__tipsy *t = NULL;
    EQP__SOURCE source = {.fd = -1};
    int code;

    EQP_TRY(eqp_array_create(&t, 1, sizeof *t));
    EQP_TRY(eqp__source_open(file->path, -1, &source, message));
    EQP_TRY(eqp__source_read(&source, head, sizeof head, 0, message));
    file->size = source.size;
    if (!eqp__tipsy_parse(head, source.size, t) || t->bytes != source.size) {
        EQP_TRY(EQP__SAY(message, EQP_ERR_FORMAT, "%s: TIPSY: %s: its header needs %lld bytes, the file has %lld",
                         file->path, source.size < t->bytes ? "truncated" : "damaged", (long long)t->bytes,
                         (long long)source.size));
    }
    snprintf(h->format, sizeof h->format, "TIPSY %s-endian%s", t->big ? "big" : "little",
             t->place_bytes == 8 ? ", doubles" : "");
    h->ntypes = 6;
    h->nfiles = 1;
    h->time = t->time;
    for (int k = 0; k < KINDS; k++) {
        h->n[type_of_kind[k]] = t->n[k];
    }
    eqp__header_convert_velocity(h, 0, 0);
    EQP_TRY(eqp__header_check(file, message));
    file->detail = t;
    return EQP_OK;
done:
    free(t);
    return code;
}

static int read_type(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                     eqp_message *message)
{
    double *const column[7] = {to->m, to->x, to->y, to->z, to->vx, to->vy, to->vz};
    const eqp__tipsy *t = file->detail;
    eqp__field field[7];
    EQP__SOURCE source = {.fd = -1};
    int64_t start = t->header_bytes;
    int bytes, kind, at = 0;

    EQP__CHECK(eqp__source_open(file->path, file->size, &source, message));
    for (kind = 0; type_of_kind[kind] != type; kind++) {
        start += t->n[kind] * bytes_of(kind, t->place_bytes, t->velocity_bytes);
    }
    bytes = bytes_of(kind, t->place_bytes, t->velocity_bytes);
    for (int c = 0; c < 7; at += field[c++].width) {
        field[c] = (eqp__field){column[c], NULL, at, c == 0 ? 4 : c < 4 ? t->place_bytes : t->velocity_bytes};
    }
    return eqp__source_fields(&source, t->big, start + first * bytes, bytes, 7, field, n, message);
}

const eqp__format eqp__format_tipsy = {
    .probe = probe,
    .load = load,
    .read = read_type,
    .release = free,
};
