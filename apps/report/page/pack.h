/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of a run on a page: a JSON object, and bytes to which it refers by offset.
 *
 *     {"label", "report": {...}, "loads": {...}, "traffic": {...}, "samples": {...}}
 *
 * report   report.json. Its "steps" have some of the keys; a long run has one step of each "totals": {"every"}, if
 *          possible one with a new map, and the last step. "totals" also has the number of "steps" and of "maps", and
 *          for some keys the "sum" over all steps and the number of steps in which it is "known"
 * loads    "ranks", "steps", "first", "every", "group", "scale": [4], "at": 16-bit numbers, all low bytes, then
 *          all high bytes: force, exchange, busy, balance seconds, each [steps][ranks], 65535 being the scale. A large
 *          run has every `every`-th step, and of each `group` ranks the largest value.
 * traffic  "ranks", "group", "bytes": [ranks][ranks] sums over groups of ranks; absent without the file
 * schedule [[first step, steps, seconds, seconds by the best schedule, map, map of the best]] of hindsight.csv
 * samples  "ends", "frames": [{"step", "n", "low", "high", "at"}]; absent without the file. Along a curve, so that
 *          neighbours differ little: planes of low and of high bytes of what a number differs from the one before it,
 *          for rank, x, y, z, and where there are two ends the second less the first */
#ifndef APP_PACK_H
#define APP_PACK_H

#include <equipoise/error.h>

#include <jansson.h>
#include <stdint.h>

/* A growing array of bytes. Start from zeros. */
typedef struct app_bytes {
    int64_t n, room;
    unsigned char *data; /* owned */
} app_bytes;

/* Makes room for n more at the end. EQP_OK or EQP_ERR_MEMORY. */
int app_bytes_add(app_bytes *bytes, int64_t n, unsigned char **at);

/* Adds [n] 16-bit numbers: all low bytes, then all high bytes. */
int app_bytes_add_planes(app_bytes *bytes, int64_t n, const uint16_t *number);

/* Refuses a page's path that leads to a file of the run. EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT with one line. */
int app_pack_spares(const char *dir, const char *path, eqp_message *message);

/* A run without its label; *json: owned by the caller. Codes as app_page_write(). */
int app_pack_run(const char *dir, app_bytes *bytes, json_t **json, eqp_message *message);

/* report.json at path, with memory independent of its number of steps. */
int app_pack_report(const char *path, json_t **json, eqp_message *message);

/* samples.bin at path, with ranks below nranks; *json stays NULL without such a file. */
int app_pack_samples(const char *path, int nranks, app_bytes *bytes, json_t **json, eqp_message *message);

extern const char *const app__page_piece[];
extern const int app__page_npieces;

#endif
