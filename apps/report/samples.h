/* SPDX-License-Identifier: BSD-3-Clause */
/* Where some particles or segments are in some steps, and which rank computes them: samples.bin of a report, which the
 * page of a run draws. Ids alone decide who is shown, so that it is the same in every step and for any ranks.
 *
 * The file has the 8 bytes "EQPSAMP1", int32 ends (1: particles, 2: segments), int32 ranks, and then frames: int64
 * step, int64 n, double low[3], high[3], and n samples of uint16: rank, and for each end x, y, z, from low (0) to high
 * (65535). Numbers are in the byte order of the machine. */
#ifndef APP_SAMPLES_H
#define APP_SAMPLES_H

#include <equipoise/error.h>
#include <mpi.h>
#include <stddef.h>

#include <stdbool.h>
#include <stdint.h>

#define APP_SAMPLES_FILE "samples.bin"
#define APP_SAMPLES_MAGIC "EQPSAMP1"

typedef struct app_sample {
    int64_t rank; /* computes it */
    double x[2][3];
} app_sample;

/* A frame's head, as in the file. */
typedef struct app_frame {
    int64_t step, n;
    double low[3], high[3];
} app_frame;

/* True if a step of a run that ends with step `last` is shown; about twenty steps are. */
bool app_samples_due(int64_t last, int64_t step);

/* True if this one of `total` particles or segments is shown. */
bool app_samples_want(int64_t last, int64_t total, uint64_t id);

typedef struct app_samples app_samples;

/* Begins dir/samples.bin. EQP_OK, EQP_ERR_IO, EQP_ERR_MEMORY. */
int app_samples_create(const char *dir, int ends, int nranks, app_samples **samples, eqp_message *message);

/* Appends a frame. Disk errors appear in app_samples_finish(). EQP_OK, EQP_ERR_MEMORY; EQP_ERR_DATA for a position that
 * is not finite. */
int app_samples_add(app_samples *samples, int64_t step, int64_t n, const app_sample *sample);

/* Completes the file and frees it in any case. NULL allowed. */
int app_samples_finish(app_samples *samples, eqp_message *message);
void app_samples_discard(app_samples *samples);

/* Gathers records of all ranks on rank 0, in rank order, if code is EQP_OK on all ranks. all: address of a pointer,
 * owned by the caller. Collective, fails on all ranks or on none. */
int app_bring_together(MPI_Comm comm, int code, size_t size, int64_t n, const void *mine, int64_t *nall, void *all,
                       eqp_message *message);

/* dir/traffic.csv: the sums of eqp_traffic_watch(). dir: NULL if there is no report, and on all ranks but 0. code: of
 * this rank so far. Collective; rank 0 writes the file, and its errors are its alone. */
int app_traffic_write(MPI_Comm comm, int code, const char *dir, eqp_message *message);

#endif
