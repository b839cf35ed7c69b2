/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of GADGET formats 1 and 2 in every variant, for tests. */
#ifndef EQP_TEST_GADGET_FILES_H
#define EQP_TEST_GADGET_FILES_H

#include "snapshot_files.h"

enum { TYPES = 6, MOST_TYPES = 8 };

typedef struct spec {
    int format;
    bool big;
    int real, id; /* bytes; id 0: no id block (format 2 only) */
    int64_t n[MOST_TYPES];
    double mass[MOST_TYPES];
    int64_t total[MOST_TYPES];
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

static inline void put_counts(bytes *b, const spec *s, int count, const int64_t *n, int width)
{
    for (int i = 0; i < count; i++) {
        put_word(b, (uint64_t)n[i], width, s->big);
    }
}

static inline void put_doubles(bytes *b, const spec *s, int count, const double *value)
{
    for (int i = 0; i < count; i++) {
        put_real(b, value[i], 8, s->big);
    }
}

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

    put_counts(&b, s, s->own_types, s->n, s->own <= 2 ? 8 : 4);
    while (b.n % 8 != 0) {
        put_word(&b, 0xabababab, 4, s->big);
    }
    put_counts(&b, s, s->own_types, s->total, 8);
    put_doubles(&b, s, s->own_types, s->mass);
    put_doubles(&b, s, 3, (double[]){s->time, s->redshift, 50});
    put_counts(&b, s, 2, (int64_t[]){s->nfiles, 0xabababab}, 4);
    put_counts(&b, s, s->own % 2 ? 0 : 2, (int64_t[]){0, 0}, 8);
    return b;
}

static inline bytes header_of(const spec *s)
{
    bytes b = {0};

    if (s->own > 0) {
        return own_header_of(s);
    }
    put_counts(&b, s, TYPES, s->n, 4);
    put_doubles(&b, s, TYPES, s->mass);
    put_doubles(&b, s, 3, (double[]){s->time, s->redshift, 0});
    put_counts(&b, s, TYPES, s->total, 4);
    put_counts(&b, s, 2, (int64_t[]){0, s->nfiles}, 4);
    put_doubles(&b, s, 4, (double[]){50, s->omega0, 0.7, 0.6});
    while (b.n < 256) {
        put_word(&b, 0xab, 1, s->big); /* old codes leave junk there */
    }
    return b;
}

/* Columns of the model from `column` on; 0: masses, which may stand in the header. */
static inline void put_block(bytes *file, const spec *s, const char *label, int column, int width)
{
    bytes b = {0};
    int64_t i = s->first;

    for (int t = 0; t < TYPES; t++) {
        for (int64_t j = 0; j < s->n[t]; j++, i++) {
            for (int c = 0; c < width && (column > 0 || s->mass[t] == 0 || s->both); c++) {
                put_real(&b, model(column + c, i), s->real, s->big);
            }
        }
    }
    if (b.n > 0 || column > 0) {
        put_record(file, s, label, &b);
    }
}

static inline int64_t count_of(const spec *s)
{
    int64_t n = 0;

    for (int t = 0; t < TYPES; t++) {
        n += s->n[t];
    }
    return n;
}

static inline bytes file_of(const spec *s)
{
    bytes file = {0}, block = header_of(s), id = {0};

    put_record(&file, s, "HEAD", &block);
    put_block(&file, s, "POS ", 1, 3);
    if (!s->at_rest) {
        put_block(&file, s, "VEL ", 4, 3);
    }
    for (int64_t i = 0; i < count_of(s) && s->id; i++) {
        put_word(&id, (uint64_t)model_id(s->first + i, s->id == 8), s->id, s->big);
    }
    if (s->id) {
        put_record(&file, s, "ID  ", &id);
    }
    put_block(&file, s, "MASS", 0, 1);
    if (s->energy) {
        put_block(&file, s, "U   ", 1, 3);
    }
    return file;
}

static inline void save_spec(const char *path, const spec *s)
{
    bytes file = file_of(s);

    save(path, &file);
    free(file.p);
}

static const int64_t three[3][TYPES] = {{2, 3, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 0, 2, 0, 0}};

/* A set of three files of these counts. */
static inline void save_set(const char *pattern)
{
    spec s = mixed;

    s.nfiles = 3;
    for (int t = 0; t < TYPES; t++) {
        s.total[t] = three[0][t] + three[1][t] + three[2][t];
    }
    for (int k = 0; k < 3; k++) {
        char name[64];

        memcpy(s.n, three[k], sizeof three[k]);
        snprintf(name, sizeof name, pattern, k);
        save_spec(in_folder(name), &s);
        s.first += count_of(&s);
    }
}

#endif
