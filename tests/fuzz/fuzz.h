/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the fuzz targets. A target is one file fuzz_NAME.c with LLVMFuzzerTestOneInput, linked with libFuzzer
 * (run.sh) or with replay.c as an ordinary test. */
#ifndef EQP_FUZZ_H
#define EQP_FUZZ_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#define FUZZ_TEXT(text) #text
#define FUZZ_LINE(line) FUZZ_TEXT(line)

#define fuzz_require(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s\n", __FILE__ ":" FUZZ_LINE(__LINE__) ": broken promise: " #condition);           \
            __builtin_trap(); /* MPI has a handler for abort() */                                                      \
        }                                                                                                              \
    } while (0)

static inline void fuzz_require_line(const eqp_message *message)
{
    fuzz_require(message->text[0] != '\0' && memchr(message->text, '\0', sizeof message->text));
    for (const char *c = message->text; *c; c++) {
        fuzz_require((unsigned char)*c >= ' ' && *c != 0x7f);
    }
}

/* Input as a sequence of decisions; at its end all of them are 0. */
typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
} fuzz_bytes;

static inline uint8_t fuzz_byte(fuzz_bytes *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

static inline uint64_t fuzz_word(fuzz_bytes *in, int bytes)
{
    uint64_t word = 0;

    for (int i = 0; i < bytes; i++) {
        word |= (uint64_t)fuzz_byte(in) << (8 * i);
    }
    return word;
}

/* n <= 256 */
static inline int fuzz_below(fuzz_bytes *in, int n)
{
    return fuzz_byte(in) % n;
}

/* A name in a folder of this process, which is removed if the process ends well. Valid until the fourth next call. */
const char *fuzz_path(const char *name);
void fuzz_save(const char *path, const void *data, size_t size);

#endif
