/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshot files: a temporary folder, bytes of either order, and model particles whose values depend on their global
 * index, so any slice can be checked alone. */
#ifndef EQP_TEST_SNAPSHOT_FILES_H
#define EQP_TEST_SNAPSHOT_FILES_H

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "contents.h"
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

FREES(eqp_snapshot, eqp_snapshot_close)

static char files_folder[1024];

static inline int files_setup(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    signal(SIGXFSZ, SIG_IGN); /* makes a write beyond the limit fail */
    snprintf(files_folder, sizeof files_folder, "%s/equipoise-snapshot-XXXXXX", base && base[0] ? base : ".");
    return mkdtemp(files_folder) ? 0 : -1;
}

static inline int files_in_folder(bool remove_them)
{
    DIR *folder = opendir(files_folder);
    struct dirent *entry;
    int n = 0;

    while (folder && (entry = readdir(folder))) {
        char path[2048];

        if (entry->d_name[0] != '.') {
            n++;
            snprintf(path, sizeof path, "%s/%s", files_folder, entry->d_name);
            if (remove_them && unlink(path) != 0) {
                rmdir(path);
            }
        }
    }
    if (folder) {
        closedir(folder);
    }
    return n;
}

static inline int files_teardown(void **state)
{
    (void)state;
    files_in_folder(true);
    return rmdir(files_folder);
}

static inline int files_clear(void **state)
{
    (void)state;
    files_in_folder(true);
    return 0;
}

static CMFixtureFunction unit_setup = files_setup, unit_teardown = files_teardown, unit_before_each = files_clear;

/* A path in the folder; valid until the fourth next call. */
static inline const char *in_folder(const char *name)
{
    static char path[4][2048];
    static int next;

    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", files_folder, name);
    return path[next];
}

typedef struct bytes {
    unsigned char *p;
    size_t n, room;
} bytes;

static inline void put_bytes(bytes *b, const void *p, size_t n)
{
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n);
        b->p = realloc(b->p, b->room);
        assert_non_null(b->p);
    }
    if (n > 0) {
        memcpy(b->p + b->n, p, n);
    }
    b->n += n;
}

static inline void put_word(bytes *b, uint64_t value, int width, bool big)
{
    unsigned char word[8];

    for (int i = 0; i < width; i++) {
        word[big ? width - 1 - i : i] = (unsigned char)(value >> (8 * i));
    }
    put_bytes(b, word, (size_t)width);
}

static inline void put_real(bytes *b, double value, int width, bool big)
{
    float narrow = (float)value;
    uint64_t bits = 0;
    uint32_t bits32;

    if (width == 4) {
        memcpy(&bits32, &narrow, 4);
        bits = bits32;
    } else {
        memcpy(&bits, &value, 8);
    }
    put_word(b, bits, width, big);
}

static inline void save_part(const char *path, const unsigned char *p, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(p, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static inline void save(const char *path, const bytes *b)
{
    save_part(path, b->p, b->n);
}

static inline void save_packed(const char *path, const void *p, size_t n)
{
    gzFile file = gzopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(gzwrite(file, p, (unsigned)n), (int)n);
    assert_int_equal(gzclose(file), Z_OK);
}

static inline void save_packed_text(const char *path, const char *text)
{
    save_packed(path, text, strlen(text));
}

static inline void save_text(const char *path, const char *text)
{
    save_part(path, (const unsigned char *)text, strlen(text));
}

/* The contents of a file, followed by a zero; owned by the caller. size: NULL allowed. */
static inline char *contents_of(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat status;

    assert_true(file && fstat(fileno(file), &status) == 0);
    char *contents = calloc((size_t)status.st_size + 1, 1);
    assert_true(contents && fread(contents, 1, (size_t)status.st_size, file) == (size_t)status.st_size);
    fclose(file);
    if (size) {
        *size = (size_t)status.st_size;
    }
    return contents;
}

static inline void check_text(const char *path, const char *expected)
{
    HEAP char *text = contents_of(path, NULL);

    assert_string_equal(text, expected);
}

/* Columns 0 to 6 (m x y z vx vy vz) of model particle i: exact in a float, distinct for every particle and column. */
static inline double model(int column, int64_t i)
{
    static const double step[7] = {0.5, 0.25, -0.5, 1, -0.125, 2, 0.0625};

    return column == 0 ? 1 + 0.5 * (double)(i % 1000) : step[column] * (double)i + column;
}

static inline int64_t model_id(int64_t i, bool wide)
{
    return 3 * i + 7 + (wide ? (int64_t)1 << 40 : 0);
}

static inline eqp_snapshot *open_good(const char *path)
{
    eqp_snapshot *s = NULL;
    eqp_message message = {"unchanged"};
    int rc = eqp_snapshot_open(path, &s, &message);

    if (rc != EQP_OK) {
        fail_msg("%s: %d %s", path, rc, message.text);
    }
    assert_string_equal(message.text, "unchanged");
    assert_non_null(s);
    return s;
}

static inline void read_good(const eqp_snapshot *s, int64_t first, particles *p)
{
    eqp_message message = {"unchanged"};
    eqp_snapshot_arrays arrays = particles_arrays(p);
    int rc = eqp_snapshot_read(s, first, p->n, &arrays, &message);

    if (rc != EQP_OK) {
        fail_msg("%lld + %lld: %d %s", (long long)first, (long long)p->n, rc, message.text);
    }
    assert_string_equal(message.text, "unchanged");
}

/* Opening fails with the code and a message that names the file and contains `what`; the result is unchanged. */
static inline void refuse_open(const char *path, int code, const char *what)
{
    eqp_snapshot *s = NULL;
    eqp_message message = {""};
    int rc = eqp_snapshot_open(path, &s, &message);

    if (rc != code || !strstr(message.text, what)) {
        fail_msg("%s: %d '%s' instead of %d '%s'", path, rc, message.text, code, what);
    }
    assert_null(s);
    assert_true(strncmp(message.text, files_folder, strlen(files_folder)) == 0);
    assert_null(strchr(message.text, '\n'));
    assert_int_equal(eqp_snapshot_open(path, &s, NULL), code);
}

/* Opens and reads all. message: the error, or the note. */
static inline int open_and_read(const char *path, eqp_message *message)
{
    eqp_snapshot *s = NULL;
    int rc = eqp_snapshot_open(path, &s, message);

    if (rc == EQP_OK) {
        FREED_BY(particles_free) particles p = particles_new(eqp_snapshot_get_info(s)->n);
        eqp_snapshot_arrays arrays = particles_arrays(&p);

        *message = eqp_snapshot_get_info(s)->note;
        rc = eqp_snapshot_read(s, 0, p.n, &arrays, message);
    }
    eqp_snapshot_close(s);
    return rc;
}

static inline void refuse_read(const char *path, int code, const char *what)
{
    eqp_message message = {""};
    int rc = open_and_read(path, &message);

    if (rc != code || !strstr(message.text, what)) {
        fail_msg("%s: %d '%s' instead of %d '%s'", path, rc, message.text, code, what);
    }
}

/* Repeats a call with 0, 1, 2, ... allocations until none fails; each that fails is told in one line. */
static inline void check_memory(int kind, const char *path,
                                int (*do_some)(int kind, const char *path, eqp_message *message),
                                void (*after)(const char *path))
{
    eqp_message message = {""};
    int64_t k = 0;
    int code = EQP_OK;

    for (; failing_malloc_works && FAILING_MALLOC(k, code = do_some(kind, path, &message)) && code != EQP_OK; k++) {
        if (code != EQP_ERR_MEMORY || !strstr(message.text, "out of memory")) {
            fail_msg("kind %d, allocation %lld: %d '%s'", kind, (long long)k, code, message.text);
        }
        if (after) {
            after(path);
        }
        message.text[0] = '\0';
    }
    if (code != EQP_OK) {
        fail_msg("kind %d: %d '%s'", kind, code, message.text);
    }
    assert_true(k > 1 || !failing_malloc_works);
}

static const char old_text[] = "what was there before\n";

static inline void check_old(const char *path)
{
    check_text(path, old_text);
    assert_int_equal(files_in_folder(false), 1);
}

/* Simulates a full disk: writes beyond `most` bytes fail. */
static inline void limit_files(rlim_t most)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* For files of every kind and a disk full at any byte: the old file survives, no other file is left, the message has
 * one line, and the next attempt succeeds. */
static inline void check_full_disk(int kinds, int (*write_some)(int kind, const char *path, eqp_message *message))
{
    for (int kind = 0; kind < kinds; kind++) {
        const char *path = in_folder("a");
        eqp_message message = {"unchanged"};
        struct stat status;

        assert_ok(write_some(kind, path, &message));
        assert_string_equal(message.text, "unchanged");
        assert_int_equal(stat(path, &status), 0);
        off_t size = status.st_size;
        save_text(path, old_text);
        for (off_t room = 0; room < size; room += size / 19) {
            message.text[0] = '\0';
            limit_files((rlim_t)room);
            int rc = write_some(kind, path, &message);
            limit_files(RLIM_INFINITY);
            if (rc != EQP_ERR_IO || strncmp(message.text, path, strlen(path)) != 0 ||
                !strstr(message.text, ": cannot be written: File too large")) {
                fail_msg("kind %d, room for %lld of %lld: %d '%s'", kind, (long long)room, (long long)size, rc,
                         message.text);
            }
            check_old(path);
        }
        assert_ok(write_some(kind, path, &message));
        assert_int_equal(files_in_folder(false), 1);
        unlink(path);
    }
}

/* Compares n particles from `first` on with the expected ones. */
static inline void check_slice(const eqp_snapshot *s, int64_t first, int64_t n, const particles *whole)
{
    FREED_BY(particles_free) particles p = particles_new(n);

    read_good(s, first, &p);
    assert_true(particles_same(&p, whole, first));
}

/* All slices of a file; under sanitizers only every fifth start. */
static inline void check_slices(const char *path, const particles *whole)
{
    FREED(eqp_snapshot) *s = open_good(path);

    assert_int_equal(eqp_snapshot_get_info(s)->n, whole->n);
    for (int64_t first = 0; first <= whole->n; first += slow_here() ? 5 : 1) {
        for (int64_t n = 0; n <= whole->n - first; n++) {
            check_slice(s, first, n, whole);
        }
    }
}

/* Model particles in global order: counts[nfiles][types], masses of types that have one, optional ids. */
static inline particles model_particles(int nfiles, int ntypes, const int64_t *counts, const double *mass, int ids,
                                        bool wide)
{
    int64_t n = 0, i = 0;

    for (int k = 0; k < nfiles * ntypes; k++) {
        n += counts[k];
    }
    particles p = particles_new(n);
    for (int k = 0; k < nfiles * ntypes; k++) {
        for (int64_t j = 0; j < counts[k]; j++, i++) {
            for (int c = 0; c < 7; c++) {
                p.column[c][i] = c == 0 && mass[k % ntypes] != 0 ? mass[k % ntypes] : model(c, i);
            }
            p.id[i] = ids ? model_id(i, wide) : i;
            p.type[i] = (int8_t)(k % ntypes);
        }
    }
    return p;
}

/* Every truncation to a length visited by `step` is refused with a message. One between two blocks may be read with a
 * note "truncated". */
static inline void refuse_truncations(const char *path, size_t step)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    for (off_t length = status.st_size - 1; length >= 0; length -= length > 64 ? (off_t)step : 1) {
        eqp_message message = {""};

        assert_int_equal(truncate(path, length), 0);
        int rc = open_and_read(path, &message);
        if (!message.text[0] || (rc >= 0 && !strstr(message.text, "truncated"))) {
            fail_msg("%s: %lld of %lld bytes: %d '%s'", path, (long long)length, (long long)status.st_size, rc,
                     message.text);
        }
    }
}

static inline int open_and_read_some(int kind, const char *path, eqp_message *message)
{
    double x[1], vx[1], m[1];
    int64_t id[1];
    const eqp_snapshot_arrays arrays = {.x = x, .vx = vx, .m = m, .id = id};
    eqp_snapshot *s = NULL;
    int code = eqp_snapshot_open(path, &s, message);

    (void)kind;
    assert_true((s != NULL) == (code == EQP_OK));
    code = code ? code : eqp_snapshot_read(s, 0, 1, &arrays, message);
    eqp_snapshot_close(s);
    return code;
}

/* The file "a" of a format keeps the promises of every format: all slices, compressed or not, are those of the whole;
 * truncations to lengths visited by `step`, before and after opening, are errors, as are failing allocations. HDF5
 * allocates, too, and does not pass on that it ran out of memory. */
static inline void check_format(const particles *whole, size_t step, bool hdf5)
{
    const char *path = in_folder("a");
    size_t size;
    HEAP char *image = contents_of(path, &size);

    check_slices(path, whole);
    if (!hdf5) {
        check_memory(0, path, open_and_read_some, NULL);
    }
    refuse_truncations(path, step);
    save_packed(path, image, size);
    check_slices(path, whole);
    refuse_truncations(path, step);
    save_part(path, (const unsigned char *)image, size);
    FREED(eqp_snapshot) *s = open_good(path);
    FREED_BY(particles_free) particles p = particles_new(whole->n);
    const eqp_snapshot_arrays all = particles_arrays(&p);
    for (size_t length = size / 2; length > 0; length /= 2) {
        eqp_message message = {""};

        assert_int_equal(truncate(path, (off_t)length), 0);
        assert_int_equal(eqp_snapshot_read(s, 0, whole->n, &all, &message), EQP_ERR_FORMAT);
        assert_non_null(strstr(message.text, "a: "));
    }
    unlink(path);
    assert_int_equal(eqp_snapshot_read(s, 0, whole->n, &all, NULL), EQP_ERR_IO);
}

#endif
