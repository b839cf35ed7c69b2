/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target without libFuzzer: on every file of the folders that are given, and on some changed versions of
 * each. The changes follow from a counter, so that a failure comes again. A file is run as it is.
 *     fuzz_NAME_replay FOLDER|FILE... */
#include "fuzz.h"

#include <equipoise/more/base.h>

#include <dirent.h>

enum { CHANGES = 6, ROOM = 1 << 16 };

#pragma weak LLVMFuzzerInitialize
#pragma weak LLVMFuzzerCustomMutator

static uint64_t counter = 1;

/* splitmix64 */
static size_t draw(size_t n)
{
    uint64_t z = counter += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((z ^ (z >> 31)) % n);
}

/* Stands in for libFuzzer's mutator: inserts, removes or changes a byte, or cuts the end. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    size_t at = size ? draw(size) : 0;

    switch (draw(5)) {
    case 0:
        if (size < most) {
            memmove(data + at + 1, data + at, size - at);
            data[at] = (uint8_t)draw(256);
            return size + 1;
        }
        break;
    case 1:
        if (size > 1) {
            memmove(data + at, data + at + 1, size - at - 1);
            return size - 1;
        }
        break;
    case 2:
        return size > 1 ? at + 1 : size;
    default:
        break;
    }
    if (size > 0) {
        data[at] = (uint8_t)(draw(2) ? draw(256) : data[at] ^ (1u << draw(8)));
    }
    return size;
}

static void run(const uint8_t *data, size_t size)
{
    /* An allocation of its own size, so that a sanitizer sees reads beyond it. */
    uint8_t *copy = malloc(size + (size == 0));

    fuzz_require(copy);
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_file(const char *path)
{
    static uint8_t whole[ROOM], changed[ROOM];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(whole, 1, sizeof whole, file) : 0;

    fuzz_require(file && feof(file));
    fuzz_require(fclose(file) == 0);
    run(whole, size);
    counter = size;
    memcpy(changed, whole, size);
    for (size_t k = 0, now = size; k < CHANGES; k++) {
        if (k % 4 == 0) {
            memcpy(changed, whole, size);
            now = size;
        }
        now = LLVMFuzzerCustomMutator
                  ? LLVMFuzzerCustomMutator(changed, now, sizeof changed, (unsigned int)draw(1u << 31))
                  : LLVMFuzzerMutate(changed, now, sizeof changed);
        run(changed, now);
    }
}

static void run_as_it_is(FILE *file)
{
    uint8_t *data = NULL;
    int64_t room = 0, n = 0;
    size_t got = 1;

    while (got > 0) {
        fuzz_require(eqp_array_reserve(&data, &room, n + ROOM, 1) == EQP_OK);
        got = fread(data + n, 1, ROOM, file);
        n += (int64_t)got;
    }
    fuzz_require(feof(file));
    run(data, (size_t)n);
    free(data);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Sorted by name, so that all machines do the same. */
static int run_folder(const char *path)
{
    struct dirent **entry;
    const int n = scandir(path, &entry, is_input, alphasort);

    fuzz_require(n >= 0);
    for (int i = 0; i < n; i++) {
        char name[4096];

        fuzz_require(snprintf(name, sizeof name, "%s/%s", path, entry[i]->d_name) < (int)sizeof name);
        run_file(name);
        free(entry[i]);
    }
    free(entry);
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;

    if (LLVMFuzzerInitialize) {
        (void)LLVMFuzzerInitialize(&argc, &argv);
    }
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb+"); /* opening a folder for writing fails */
        if (file != NULL) {
            run_as_it_is(file);
            (void)fclose(file);
        }
        n += file != NULL ? 1 : run_folder(argv[i]);
    }
    (void)printf("%d inputs, %d changed versions of each\n", n, CHANGES);
    return n > 0 ? 0 : 1;
}
