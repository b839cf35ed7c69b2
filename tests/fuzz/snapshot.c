/* SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot.h"

#include "../unit/contents.h"

#include <math.h>

/* Larger snapshots are opened but not read. */
enum { MOST_READ = 1 << 16 };

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

/* Only some files have columns, attributes and words: the code says read, missing or refused. */
static void require_answer(int code, const eqp_message *message)
{
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_UNKNOWN || is_refusal(code));
        fuzz_require_line(message);
    }
}

static void check_values(const particles *c, const eqp_snapshot_info *info)
{
    int64_t type_n[EQP_SNAPSHOT_TYPES] = {0};

    for (int64_t i = 0; i < c->n; i++) {
        for (int k = 0; k < 7; k++) {
            fuzz_require(isfinite(c->column[k][i]));
        }
        fuzz_require(c->column[0][i] >= 0 && c->column[0][i] != FUZZ_FORBIDDEN_MASS);
        fuzz_require(c->type[i] >= 0 && c->type[i] < info->ntypes);
        fuzz_require(info->has_ids || c->id[i] == i);
        type_n[c->type[i]]++;
    }
    fuzz_require(c->n != info->n || memcmp(type_n, info->type_n, sizeof type_n) == 0);
}

/* A slice equals that range of the whole. */
static void check_slice(const eqp_snapshot *s, const particles *whole, int64_t first, int64_t n)
{
    particles part = particles_new(n);
    eqp_snapshot_arrays arrays = particles_arrays(&part);

    arrays.y = NULL;
    fuzz_require(eqp_snapshot_read(s, first, n, &arrays, NULL) == EQP_OK);
    memcpy(part.column[2], whole->column[2] + first, (size_t)n * sizeof(double));
    fuzz_require(particles_same(&part, whole, first));
    particles_free(&part);
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

        require_answer(code, &message);
        for (int64_t i = 0; code == EQP_OK && k == 0 && i < 3 * n; i++) {
            fuzz_require(isfinite(data[i]));
        }
    }
    free(data);
    for (int kind = EQP_KIND_DOUBLE; kind <= EQP_KIND_INT64; kind++) {
        eqp_attribute attribute = {.name = kind == EQP_KIND_DOUBLE ? "dt" : "step", .kind = (eqp_kind)kind};
        eqp_message message = {""};
        int code = eqp_snapshot_get_attribute(s, &attribute, &message);

        require_answer(code, &message);
        fuzz_require(isfinite(attribute.real));
    }
}

static void read_words(const eqp_snapshot *s)
{
    eqp_message message = {""};
    uint64_t *words = NULL;
    int64_t n = 0;
    const int code = eqp_snapshot_get_words(s, &n, &words, &message);

    fuzz_require(code != EQP_OK || (n > 0 && words));
    require_answer(code, &message);
    free(words);
}

static void read_all(const eqp_snapshot *s)
{
    const eqp_snapshot_info *info = eqp_snapshot_get_info(s);
    particles whole = particles_new(info->n < MOST_READ ? info->n : MOST_READ);
    eqp_snapshot_arrays arrays = particles_arrays(&whole);
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
    particles_free(&whole);
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
