/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of GADGET formats 1 and 2 in every variant, for tests. */
#ifndef EQP_TEST_GADGET_FILES_H
#define EQP_TEST_GADGET_FILES_H

#include "snapshot_files.h"

enum { TYPES = 6 };

typedef struct spec {
    int format;
    bool big;
    int real, id; /* bytes; id 0: no id block (format 2 only) */
    int64_t n[TYPES];
    double mass[TYPES];
    int64_t total[TYPES];
    int nfiles;
    double time, redshift, omega0;
    int64_t first; /* index of its first particle in the global order */
    bool energy;   /* extra block at the end */
    int own_types;
    int own;      /* header of GADGET-4: 1 to 4; otherwise 0 */
    bool at_rest; /* without velocities */
    bool both;    /* the mass block repeats the masses of the header */
} spec;

static const spec mixed = {.format = 1,
                           .real = 4,
                           .id = 4,
                           .n = {3, 4, 0, 2, 1, 0},
                           .mass = {0, 2.5, 0, 0, 8, 0},
                           .total = {3, 4, 0, 2, 1, 0},
                           .nfiles = 1};

/* Offset of the first number of each block of `mixed`, whose 10 particles have 4 bytes per number. */
enum { POS = 268, VEL = POS + 128, ID = VEL + 128, MASS = ID + 48 };

static inline void put_record(bytes *to, const spec *s, const char *label, const bytes *payload)
{
    if (s->format == 2) {
        put_word(to, 8, 4, s->big);
        put_bytes(to, label, 4);
        put_word(to, payload->n + 8, 4, s->big);
        put_word(to, 8, 4, s->big);
    }
    put_word(to, payload->n, 4, s->big);
    put_bytes(to, payload->p, payload->n);
    put_word(to, payload->n, 4, s->big);
    free(payload->p);
}

/* GADGET-4's header with 64- or 32-bit counts, with or without counts of merger trees. */
static inline bytes own_header_of(const spec *s)
{
    bytes b = {0};

    for (int t = 0; t < s->own_types; t++) {
        put_word(&b, (uint64_t)(t < TYPES ? s->n[t] : 0), s->own <= 2 ? 8 : 4, s->big);
    }
    while (b.n % 8 != 0) {
        put_word(&b, 0xabababab, 4, s->big);
    }
    for (int t = 0; t < s->own_types; t++) {
        put_word(&b, (uint64_t)(t < TYPES ? s->total[t] : 0), 8, s->big);
    }
    for (int t = 0; t < s->own_types; t++) {
        put_real(&b, t < TYPES ? s->mass[t] : 0, 8, s->big);
    }
    put_real(&b, s->time, 8, s->big);
    put_real(&b, s->redshift, 8, s->big);
    put_real(&b, 50, 8, s->big);
    put_word(&b, (uint64_t)s->nfiles, 4, s->big);
    put_word(&b, 0xabababab, 4, s->big);
    for (int k = 0; k < (s->own % 2 ? 0 : 2); k++) {
        put_word(&b, 0, 8, s->big);
    }
    return b;
}

static inline bytes header_of(const spec *s)
{
    bytes b = {0};

    if (s->own > 0) {
        return own_header_of(s);
    }
    for (int t = 0; t < TYPES; t++) {
        put_word(&b, (uint64_t)s->n[t], 4, s->big);
    }
    for (int t = 0; t < TYPES; t++) {
        put_real(&b, s->mass[t], 8, s->big);
    }
    put_real(&b, s->time, 8, s->big);
    put_real(&b, s->redshift, 8, s->big);
    put_word(&b, 0, 8, s->big);
    for (int t = 0; t < TYPES; t++) {
        put_word(&b, (uint64_t)s->total[t], 4, s->big);
    }
    put_word(&b, 0, 4, s->big);
    put_word(&b, (uint64_t)s->nfiles, 4, s->big);
    put_real(&b, 50, 8, s->big);
    put_real(&b, s->omega0, 8, s->big);
    put_real(&b, 0.7, 8, s->big);
    put_real(&b, 0.6, 8, s->big);
    while (b.n < 256) {
        put_word(&b, 0xab, 1, s->big); /* old codes leave junk there */
    }
    return b;
}

static inline int64_t count_of(const spec *s)
{
    int64_t n = 0;

    for (int t = 0; t < TYPES; t++) {
        n += s->n[t];
    }
    return n;
}

static inline bytes vectors_of(const spec *s, int column)
{
    bytes b = {0};

    for (int64_t i = 0; i < count_of(s); i++) {
        for (int c = 0; c < 3; c++) {
            put_real(&b, model(column + c, s->first + i), s->real, s->big);
        }
    }
    return b;
}

static inline bytes masses_of(const spec *s)
{
    bytes b = {0};
    int64_t i = s->first;

    for (int t = 0; t < TYPES; t++) {
        for (int64_t j = 0; j < s->n[t]; j++, i++) {
            if (s->mass[t] == 0 || s->both) {
                put_real(&b, model(0, i), s->real, s->big);
            }
        }
    }
    return b;
}

static inline bytes file_of(const spec *s)
{
    bytes file = {0}, block = header_of(s);

    put_record(&file, s, "HEAD", &block);
    block = vectors_of(s, 1);
    put_record(&file, s, "POS ", &block);
    if (!s->at_rest) {
        block = vectors_of(s, 4);
        put_record(&file, s, "VEL ", &block);
    }
    if (s->id) {
        block = (bytes){0};
        for (int64_t i = 0; i < count_of(s); i++) {
            put_word(&block, (uint64_t)model_id(s->first + i, s->id == 8), s->id, s->big);
        }
        put_record(&file, s, "ID  ", &block);
    }
    block = masses_of(s);
    if (block.n > 0) {
        put_record(&file, s, "MASS", &block);
    }
    if (s->energy) {
        block = vectors_of(s, 1);
        put_record(&file, s, "U   ", &block);
    }
    return file;
}

static inline void save_spec(const char *path, const spec *s)
{
    bytes file = file_of(s);

    save(path, &file);
    free(file.p);
}

static inline void save_set(const char *pattern, int nfiles, const int64_t (*n)[TYPES], spec s)
{
    s.nfiles = nfiles;
    memset(s.total, 0, sizeof s.total);
    for (int k = 0; k < nfiles; k++) {
        for (int t = 0; t < TYPES; t++) {
            s.total[t] += n[k][t];
        }
    }
    s.first = 0;
    for (int k = 0; k < nfiles; k++) {
        char name[64];

        memcpy(s.n, n[k], sizeof s.n);
        snprintf(name, sizeof name, pattern, k);
        save_spec(in_folder(name), &s);
        s.first += count_of(&s);
    }
}

static const int64_t three[3][TYPES] = {{2, 3, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 0, 2, 0, 0}};

#endif
