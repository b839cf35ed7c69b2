/* SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot.h"

#include <equipoise/snapshot.h>

#include <math.h>

/* Larger snapshots are opened but not read. */
enum { MOST_READ = 1 << 16, REALS = 7 };

typedef struct columns {
    int64_t n;
    double *real[REALS];
    int64_t *id;
    int8_t *type;
} columns;

static columns columns_new(int64_t n)
{
    columns c = {.n = n};

    for (int k = 0; k < REALS; k++) {
        c.real[k] = malloc((size_t)n * sizeof *c.real[k] + 1);
        fuzz_require(c.real[k]);
    }
    c.id = malloc((size_t)n * sizeof *c.id + 1);
    c.type = malloc((size_t)n + 1);
    fuzz_require(c.id && c.type);
    return c;
}

static void columns_free(columns *c)
{
    for (int k = 0; k < REALS; k++) {
        free(c->real[k]);
    }
    free(c->id);
    free(c->type);
}

static eqp_snapshot_arrays arrays_of(const columns *c)
{
    double *const *r = c->real;

    return (eqp_snapshot_arrays){
        .m = r[0], .x = r[1], .y = r[2], .z = r[3], .vx = r[4], .vy = r[5], .vz = r[6], .id = c->id, .type = c->type};
}

static void check_info(const eqp_snapshot_info *info, int64_t bytes)
{
    const double real[] = {info->time, info->redshift, info->box_size, info->omega0, info->omega_lambda, info->hubble};
    int64_t sum = 0;

    fuzz_require(info->n > 0 && info->nfiles > 0 && info->ntypes > 0 && info->ntypes <= EQP_SNAPSHOT_TYPES);
    fuzz_require(memchr(info->format, '\0', sizeof info->format) && info->format[0]);
    for (int t = 0; t < EQP_SNAPSHOT_TYPES; t++) {
        fuzz_require(info->type_n[t] >= 0 && (t < info->ntypes || info->type_n[t] == 0));
        sum += info->type_n[t];
    }
    fuzz_require(sum == info->n);
    /* Below 2^18 particles any count is allowed; above, the best compression does not reach a factor of 4096. */
    fuzz_require(info->n <= 1 << 18 || info->n / 4096 <= bytes);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        fuzz_require(isfinite(real[i]));
    }
}

static bool is_refusal(int code)
{
    return code == EQP_ERR_IO || code == EQP_ERR_FORMAT || code == EQP_ERR_DATA;
}

static void check_values(const columns *c, const eqp_snapshot_info *info)
{
    int64_t type_n[EQP_SNAPSHOT_TYPES] = {0};

    for (int64_t i = 0; i < c->n; i++) {
        for (int k = 0; k < REALS; k++) {
            fuzz_require(isfinite(c->real[k][i]));
        }
        fuzz_require(c->real[0][i] >= 0 && c->real[0][i] != FUZZ_FORBIDDEN_MASS);
        fuzz_require(c->type[i] >= 0 && c->type[i] < info->ntypes);
        fuzz_require(info->has_ids || c->id[i] == i);
        type_n[c->type[i]]++;
    }
    fuzz_require(c->n != info->n || memcmp(type_n, info->type_n, sizeof type_n) == 0);
}

/* A slice equals that range of the whole. */
static void check_slice(const eqp_snapshot *s, const columns *whole, int64_t first, int64_t n)
{
    columns part = columns_new(n);
    eqp_snapshot_arrays arrays = arrays_of(&part);

    arrays.y = NULL;
    fuzz_require(eqp_snapshot_read(s, first, n, &arrays, NULL) == EQP_OK);
    for (int k = 0; k < REALS; k++) {
        fuzz_require(k == 2 || memcmp(part.real[k], whole->real[k] + first, (size_t)n * sizeof(double)) == 0);
    }
    fuzz_require(memcmp(part.id, whole->id + first, (size_t)n * sizeof *part.id) == 0);
    fuzz_require(memcmp(part.type, whole->type + first, (size_t)n) == 0);
    columns_free(&part);
}

static void read_further(const eqp_snapshot *s, int64_t n)
{
    static const eqp_column column[] = {{"Acceleration", EQP_KIND_DOUBLE, 3}, {"ParticleIDs", EQP_KIND_INT64, 1}};
    double *data = malloc((size_t)n * 3 * sizeof *data);

    fuzz_require(data);
    for (int k = 0; k < 2; k++) {
        void *const to[] = {data, data + n, data + 2 * n};
        eqp_message message = {""};
        int code = eqp_snapshot_read_column(s, &column[k], 0, n, to, &message);

        fuzz_require(code == EQP_OK || code == EQP_ERR_UNKNOWN || is_refusal(code));
        if (code != EQP_OK) {
            fuzz_require_line(&message);
        }
        for (int64_t i = 0; code == EQP_OK && k == 0 && i < 3 * n; i++) {
            fuzz_require(isfinite(data[i]));
        }
    }
    free(data);
    for (int kind = EQP_KIND_DOUBLE; kind <= EQP_KIND_INT64; kind++) {
        eqp_attribute attribute = {.name = kind == EQP_KIND_DOUBLE ? "dt" : "step", .kind = (eqp_kind)kind};
        eqp_message message = {""};
        int code = eqp_snapshot_get_attribute(s, &attribute, &message);

        fuzz_require(code == EQP_OK || code == EQP_ERR_UNKNOWN || is_refusal(code));
        fuzz_require(isfinite(attribute.real));
        if (code != EQP_OK) {
            fuzz_require_line(&message);
        }
    }
}

static void read_words(const eqp_snapshot *s)
{
    eqp_message message = {""};
    uint64_t *words = NULL;
    int64_t n = 0;
    const int code = eqp_snapshot_get_words(s, &n, &words, &message);

    fuzz_require(code == EQP_OK ? n > 0 && words : code == EQP_ERR_UNKNOWN || is_refusal(code));
    if (code != EQP_OK) {
        fuzz_require_line(&message);
    }
    free(words);
}

static void read_all(const eqp_snapshot *s)
{
    const eqp_snapshot_info *info = eqp_snapshot_get_info(s);
    columns whole = columns_new(info->n < MOST_READ ? info->n : MOST_READ);
    eqp_snapshot_arrays arrays = arrays_of(&whole);
    eqp_message message = {""};
    int code = eqp_snapshot_read(s, 0, whole.n, &arrays, &message);

    if (code == EQP_OK) {
        check_values(&whole, info);
        check_slice(s, &whole, whole.n / 3, whole.n - whole.n / 3);
        check_slice(s, &whole, whole.n / 2, 1);
    } else {
        fuzz_require(is_refusal(code));
        fuzz_require_line(&message);
        fuzz_require(code != EQP_ERR_DATA || strstr(message.text, ": particle "));
    }
    read_words(s);
    read_further(s, whole.n);
    fuzz_require(eqp_snapshot_read(s, 0, info->n + 1, &arrays, NULL) == EQP_ERR_ARGUMENT);
    fuzz_require(eqp_snapshot_read(s, INT64_MAX, INT64_MAX, &arrays, NULL) == EQP_ERR_ARGUMENT);
    fuzz_require(eqp_snapshot_read(s, -1, 1, &arrays, NULL) == EQP_ERR_ARGUMENT);
    columns_free(&whole);
}

void fuzz_snapshot(const char *path, int64_t bytes)
{
    eqp_snapshot *s = NULL;
    eqp_message message = {""};
    int code = eqp_snapshot_open(path, &s, &message);

    if (code != EQP_OK) {
        fuzz_require(is_refusal(code) && !s);
        fuzz_require_line(&message);
        /* In a set, the faulty file may be another one. */
        fuzz_require(strncmp(message.text, path, (size_t)(strrchr(path, '/') - path)) == 0);
        return;
    }
    fuzz_require(message.text[0] == '\0');
    check_info(eqp_snapshot_get_info(s), bytes);
    read_all(s);
    eqp_snapshot_close(s);
}

bool fuzz_is_hdf5(const uint8_t *data, size_t size)
{
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

    for (size_t at = 0; at + sizeof signature <= size; at = at ? 2 * at : 512) {
        if (memcmp(data + at, signature, sizeof signature) == 0) {
            return true;
        }
    }
    return false;
}

void fuzz_snapshot_of(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("s");

    if (!fuzz_is_hdf5(data, size)) {
        fuzz_save(path, data, size);
        fuzz_snapshot(path, (int64_t)size);
    }
}
