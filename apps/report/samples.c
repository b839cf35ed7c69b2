/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"

#include "output/report.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 20, MOST = 100000, STREAM = 0x5a }; /* MOST: samples of all frames, 0.8 MB of particles */

struct app_samples {
    eqp_output *file;
    int ends;
};

bool app_samples_due(int64_t last, int64_t step)
{
    const int64_t every = last > FRAMES ? (last + FRAMES - 1) / FRAMES : 1;

    return step % every == 0 || step == last;
}

bool app_samples_want(int64_t last, int64_t total, uint64_t id)
{
    const int64_t most = MOST / (1 + (last < FRAMES ? last : FRAMES));

    return total <= most || eqp_random_uniform(0, STREAM, id) < (double)most / (double)total;
}

int app_samples_create(const char *dir, int ends, int nranks, app_samples **samples, eqp_message *message)
{
    const int32_t head[2] = {ends, nranks};
    app_samples *made = NULL;
    char *path = eqp__report_file_join(dir, APP_SAMPLES_FILE);
    int code = path != NULL ? EQP_OK : EQP_ERR_MEMORY;

    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    made->ends = ends;
    EQP_TRY(eqp_output_create(path, &made->file, message));
    (void)fwrite(APP_SAMPLES_MAGIC, 1, sizeof APP_SAMPLES_MAGIC - 1, eqp_output_stream(made->file));
    (void)fwrite(head, sizeof head, 1, eqp_output_stream(made->file));
    *samples = made;
    made = NULL;
done:
    free(path);
    app_samples_discard(made);
    return code;
}

static int find_box(int ends, int64_t n, const app_sample *sample, app_frame *frame)
{
    for (int d = 0; d < 3; d++) {
        frame->low[d] = INFINITY;
        frame->high[d] = -INFINITY;
        for (int64_t i = 0; i < n * ends; i++) {
            const double x = sample[i / ends].x[i % ends][d];
            if (!isfinite(x)) {
                return EQP_ERR_DATA;
            }
            frame->low[d] = fmin(frame->low[d], x);
            frame->high[d] = fmax(frame->high[d], x);
        }
        if (n == 0) {
            frame->low[d] = frame->high[d] = 0.0;
        }
    }
    return EQP_OK;
}

static uint16_t place_in(const app_frame *frame, int d, double x)
{
    const double edge = frame->high[d] - frame->low[d], at = edge > 0 ? (x - frame->low[d]) / edge : 0.0;

    return (uint16_t)lrint(65535.0 * at);
}

int app_samples_add(app_samples *samples, int64_t step, int64_t n, const app_sample *sample)
{
    FILE *stream = eqp_output_stream(samples->file);
    app_frame frame = {.step = step, .n = n};

    EQP_CHECK(find_box(samples->ends, n, sample, &frame));
    (void)fwrite(&frame, sizeof frame, 1, stream);
    for (int64_t i = 0; i < n; i++) {
        uint16_t row[7] = {(uint16_t)sample[i].rank};
        for (int k = 0; k < 3 * samples->ends; k++) {
            row[1 + k] = place_in(&frame, k % 3, sample[i].x[k / 3][k % 3]);
        }
        (void)fwrite(row, sizeof *row, (size_t)(1 + 3 * samples->ends), stream);
    }
    return EQP_OK;
}

int app_samples_finish(app_samples *samples, eqp_message *message)
{
    int code = EQP_OK;

    if (samples != NULL) {
        code = eqp_output_commit(samples->file, message);
        free(samples);
    }
    return code;
}

void app_samples_discard(app_samples *samples)
{
    if (samples != NULL) {
        eqp_output_discard(samples->file);
        free(samples);
    }
}
