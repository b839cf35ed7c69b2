/* SPDX-License-Identifier: BSD-3-Clause */
#include "pack.h"

#include "../samples.h"

#include "../../shell/options.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NUMBERS = 7, MOST = 1 << 24 }; /* of a segment; samples of a frame */

typedef struct reading {
    const char *path;
    FILE *file;
    int64_t left; /* bytes */
    int nranks, numbers;
    app_bytes *bytes;
    eqp_message *message;
} reading;

/* A sample with its curve key. */
typedef struct placed {
    uint64_t key;
    uint16_t number[NUMBERS];
} placed;

static int refuse(const reading *r, const char *what)
{
    eqp_message_set(r->message, "%.250s: %s", r->path, what);
    return EQP_ERR_DATA;
}

static int take(reading *r, void *to, int64_t n)
{
    if (n > r->left || fread(to, 1, (size_t)n, r->file) != (size_t)n) {
        return refuse(r, "the file ends too early");
    }
    r->left -= n;
    return EQP_OK;
}

static int read_head(reading *r, int *ends)
{
    char magic[sizeof APP_SAMPLES_MAGIC] = "";
    int32_t head[2];

    EQP_CHECK(take(r, magic, sizeof magic - 1));
    EQP_CHECK(take(r, head, sizeof head));
    if (strcmp(magic, APP_SAMPLES_MAGIC) != 0 || head[0] < 1 || head[0] > 2) {
        return refuse(r, "is no samples.bin of this kind of machine");
    }
    if (head[1] != r->nranks) {
        return refuse(r, "is of another number of ranks than loads.csv");
    }
    *ends = head[0];
    r->numbers = 1 + 3 * head[0];
    return EQP_OK;
}

/* Moves bit i of 16 to bit 3 i. */
static uint64_t spread(uint64_t x)
{
    x = (x | x << 16) & UINT64_C(0x0000ff0000ff);
    x = (x | x << 8) & UINT64_C(0x00f00f00f00f);
    x = (x | x << 4) & UINT64_C(0x0c30c30c30c3);
    return (x | x << 2) & UINT64_C(0x249249249249);
}

static int by_key(const void *left, const void *right)
{
    const placed *a = left, *b = right;

    return (a->key > b->key) - (a->key < b->key);
}

static int read_samples(reading *r, int64_t n, placed *sample)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t *number = sample[i].number;
        EQP_CHECK(take(r, number, r->numbers * (int64_t)sizeof *number));
        if (number[0] >= r->nranks) {
            return refuse(r, "a sample is of a rank that there is not");
        }
        sample[i].key = spread(number[1]) | spread(number[2]) << 1 | spread(number[3]) << 2;
        for (int k = 4; k < r->numbers; k++) {
            number[k] = (uint16_t)(number[k] - number[k - 3]);
        }
    }
    return EQP_OK;
}

/* Maps small differences of either sign to small numbers. */
static uint16_t zigzag(uint16_t difference)
{
    return (uint16_t)(difference & 0x8000 ? 2 * (0xffff - difference) + 1 : 2 * difference);
}

static int add_planes(reading *r, int64_t n, const placed *sample)
{
    APP_FREED uint16_t *number = NULL;

    EQP_CHECK(eqp_array_create(&number, n, sizeof *number));
    for (int k = 0; k < r->numbers; k++) {
        uint16_t before = 0;
        for (int64_t i = 0; i < n; i++) {
            number[i] = zigzag((uint16_t)(sample[i].number[k] - before));
            before = k < 4 ? sample[i].number[k] : 0; /* the second end is close to the first */
        }
        EQP_CHECK(app_bytes_add_planes(r->bytes, n, number));
    }
    return EQP_OK;
}

static bool is_box(const app_frame *frame)
{
    for (int d = 0; d < 3; d++) {
        if (!isfinite(frame->low[d]) || !isfinite(frame->high[d]) || !(frame->low[d] <= frame->high[d])) {
            return false;
        }
    }
    return true;
}

static int read_frame(reading *r, json_t *frames)
{
    const int64_t at = r->bytes->n;
    APP_FREED placed *sample = NULL;
    app_frame frame;

    EQP_CHECK(take(r, &frame, sizeof frame));
    if (frame.n < 0 || frame.n > MOST || !is_box(&frame) ||
        frame.n * r->numbers * (int64_t)sizeof(uint16_t) > r->left) {
        return refuse(r, "a frame is damaged, or the file ends too early");
    }
    EQP_CHECK(eqp_array_create(&sample, frame.n, sizeof *sample));
    EQP_CHECK(read_samples(r, frame.n, sample));
    if (frame.n > 1) {
        qsort(sample, (size_t)frame.n, sizeof *sample, by_key);
    }
    EQP_CHECK(add_planes(r, frame.n, sample));
    json_t *json = json_pack("{s:I, s:I, s:[f,f,f], s:[f,f,f], s:I}", "step", (json_int_t)frame.step, "n",
                             (json_int_t)frame.n, "low", frame.low[0], frame.low[1], frame.low[2], "high",
                             frame.high[0], frame.high[1], frame.high[2], "at", (json_int_t)at);
    return json_array_append_new(frames, json) == 0 ? EQP_OK : EQP_ERR_MEMORY;
}

static int read_all(reading *r, json_t **json)
{
    json_t *frames = json_array();
    int ends = 0, code = frames != NULL ? EQP_OK : EQP_ERR_MEMORY;

    EQP_TRY(code);
    EQP_TRY(read_head(r, &ends));
    while (r->left > 0) {
        EQP_TRY(read_frame(r, frames));
    }
    *json = json_pack("{s:i, s:O}", "ends", ends, "frames", frames);
    code = *json != NULL ? EQP_OK : EQP_ERR_MEMORY;
done:
    json_decref(frames);
    return code;
}

int app_pack_samples(const char *path, int nranks, app_bytes *bytes, json_t **json, eqp_message *message)
{
    reading r = {.path = path, .nranks = nranks, .bytes = bytes, .message = message};
    struct stat status;
    int code = eqp_input_open(path, &r.file, message);

    if (code != EQP_OK) {
        return errno == ENOENT ? EQP_OK : code; /* written by an older version or another program */
    }
    r.left = fstat(fileno(r.file), &status) == 0 ? status.st_size : 0;
    code = read_all(&r, json);
    (void)fclose(r.file);
    return code;
}
