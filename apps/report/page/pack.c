/* SPDX-License-Identifier: BSD-3-Clause */
#include "pack.h"

#include "../loads.h"
#include "../samples.h"

#include "output/report.h"

#include "../../shell/run_files.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 256, MOST_CELLS = 1 << 16, MOST_STEPS = 1024, MOST_SIDE = 256, SECONDS = 4, MOST_RANKS = 1 << 16 };

int app_bytes_add(app_bytes *bytes, int64_t n, unsigned char **at)
{
    EQP_CHECK(eqp_array_reserve(&bytes->data, &bytes->room, bytes->n + n, 1));
    *at = bytes->data != NULL ? bytes->data + bytes->n : NULL;
    bytes->n += n;
    return EQP_OK;
}

int app_bytes_add_planes(app_bytes *bytes, int64_t n, const uint16_t *number)
{
    unsigned char *at;

    EQP_CHECK(app_bytes_add(bytes, 2 * n, &at));
    for (int64_t i = 0; i < n; i++) {
        at[i] = (unsigned char)(number[i] & 0xff);
        at[n + i] = (unsigned char)(number[i] >> 8);
    }
    return EQP_OK;
}

/* ---- loads.csv ---- */

/* Seconds of all ranks in all steps: at most a quarter of a million values. */
typedef struct table {
    app_loads loads;
    int64_t steps, every, seen; /* seen: steps so far */
    int group, rows;
    double *seconds[SECONDS]; /* [steps][rows] */
} table;

static int put_load(void *user, const app_load *load)
{
    table *t = user;
    const double value[SECONDS] = {load->load, load->exchange, load->busy, load->balance};

    t->seen += load->rank == 0;
    const int64_t step = (t->seen - 1) / t->every;
    if ((t->seen - 1) % t->every == 0 && step < t->steps && load->rank < t->loads.ranks) {
        for (int k = 0; k < SECONDS; k++) {
            double *at = &t->seconds[k][step * t->rows + load->rank / t->group];
            *at = fmax(*at, value[k]);
        }
    }
    return EQP_OK;
}

static int count_load(void *user, const app_load *load)
{
    ((table *)user)->seen += load->rank == 0;
    return EQP_OK;
}

/* Reads the file twice, first for its size. An incomplete last step is left out. */
static int read_loads(const char *path, table *t, eqp_message *message)
{
    const app_loads_visitor counter = {.user = t, .row = count_load}, reader = {.user = t, .row = put_load};

    EQP_CHECK(app_loads_read(path, &counter, &t->loads, message));
    APP_REFUSE_IF(t->loads.ranks > MOST_RANKS, message, EQP_ERR_DATA, "%.250s: more than %d ranks", path, MOST_RANKS);
    t->group = (t->loads.ranks + MOST_ROWS - 1) / MOST_ROWS;
    t->rows = (t->loads.ranks + t->group - 1) / t->group;
    const int64_t most = MOST_CELLS / t->rows < MOST_STEPS ? MOST_CELLS / t->rows : MOST_STEPS;
    t->every = (t->seen + most - 1) / most;
    t->steps = (t->seen + t->every - 1) / t->every;
    t->seen = 0;
    for (int k = 0; k < SECONDS; k++) {
        EQP_CHECK(eqp_array_create(&t->seconds[k], t->steps * t->rows, sizeof *t->seconds[k]));
    }
    return app_loads_read(path, &reader, &t->loads, message);
}

static int pack_loads(const table *t, app_bytes *bytes, json_t **json)
{
    const int64_t n = t->steps * t->rows, at = bytes->n;
    APP_FREED uint16_t *number = NULL;
    double scale[SECONDS] = {0};

    EQP_CHECK(eqp_array_create(&number, n, sizeof *number));
    for (int k = 0; k < SECONDS; k++) {
        for (int64_t i = 0; i < n; i++) {
            scale[k] = fmax(scale[k], t->seconds[k][i]);
        }
        for (int64_t i = 0; i < n; i++) {
            number[i] = scale[k] > 0 ? (uint16_t)lrint(65535.0 * (t->seconds[k][i] / scale[k])) : 0;
        }
        EQP_CHECK(app_bytes_add_planes(bytes, n, number));
    }
    *json = json_pack("{s:i, s:I, s:I, s:I, s:i, s:[f,f,f,f], s:I}", "ranks", t->rows, "steps", (json_int_t)t->steps,
                      "first", (json_int_t)t->loads.first, "every", (json_int_t)t->every, "group", t->group, "scale",
                      scale[0], scale[1], scale[2], scale[3], "at", (json_int_t)at);
    return *json != NULL ? EQP_OK : EQP_ERR_MEMORY;
}

/* ---- traffic.csv ---- */

static int read_traffic(FILE *file, const char *path, int nranks, int group, int side, double *sum,
                        eqp_message *message)
{
    char line[128];

    for (int64_t number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        int64_t from, to, bytes;
        int end = 0;
        if (number == 1 && strcmp(line, "from,to,bytes\n") == 0) {
            continue;
        }
        APP_REFUSE_IF(number == 1 ||
                          sscanf(line, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 "%n", &from, &to, &bytes, &end) != 3 ||
                          line[end] != '\n' || from < 0 || to < 0 || from >= nranks || to >= nranks || bytes < 0,
                      message, EQP_ERR_DATA, "%.250s: line %lld: is not 'from,to,bytes' of %d ranks", path,
                      (long long)number, nranks);
        sum[from / group * side + to / group] += (double)bytes;
    }
    return EQP_OK;
}

static int pack_traffic(const char *path, int nranks, json_t **json, eqp_message *message)
{
    const int group = (nranks + MOST_SIDE - 1) / MOST_SIDE, side = (nranks + group - 1) / group;
    FILE *file = NULL;
    double *sum = NULL;
    json_t *bytes = NULL;
    int code = eqp_input_open(path, &file, message);

    if (code != EQP_OK) {
        return errno == ENOENT ? EQP_OK : code;
    }
    EQP_TRY(eqp_array_create(&sum, side * side, sizeof *sum));
    EQP_TRY(read_traffic(file, path, nranks, group, side, sum, message));
    bytes = json_array();
    for (int i = 0; i < side * side; i++) {
        EQP_TRY(json_array_append_new(bytes, json_integer((json_int_t)fmin(sum[i], 0x1p62))) == 0 ? EQP_OK
                                                                                                  : EQP_ERR_MEMORY);
    }
    *json = json_pack("{s:i, s:i, s:O}", "ranks", side, "group", group, "bytes", bytes);
    code = *json != NULL ? EQP_OK : EQP_ERR_MEMORY;
done:
    json_decref(bytes);
    free(sum);
    (void)fclose(file);
    return code;
}

/* ---- hindsight.csv ---- */

static int read_schedule(FILE *file, const char *path, json_t *rows, eqp_message *message)
{
    char line[256];

    for (int64_t number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        int64_t step, steps;
        double seconds, best;
        int map, best_map, end = 0;
        if (number == 1 && strcmp(line, "step,steps,seconds,best_seconds,map,best_map\n") == 0) {
            continue;
        }
        APP_REFUSE_IF(number == 1 ||
                          sscanf(line, "%" SCNd64 ",%" SCNd64 ",%lf,%lf,%d,%d%n", &step, &steps, &seconds, &best, &map,
                                 &best_map, &end) != 6 ||
                          line[end] != '\n' || steps < 1 || !isfinite(seconds) || !isfinite(best),
                      message, EQP_ERR_DATA, "%.250s: line %lld: is no stretch of a schedule", path, (long long)number);
        json_t *row = json_pack("[I,I,f,f,b,b]", (json_int_t)step, (json_int_t)steps, seconds, best, map, best_map);
        if (json_array_append_new(rows, row) != 0) {
            return EQP_ERR_MEMORY;
        }
    }
    return EQP_OK;
}

static int pack_schedule(const char *path, json_t **json, eqp_message *message)
{
    FILE *file = NULL;
    json_t *rows = json_array();
    int code = eqp_input_open(path, &file, message);

    code = code != EQP_OK && errno == ENOENT ? EQP_OK : code;
    EQP_TRY(code);
    EQP_TRY(file != NULL ? read_schedule(file, path, rows, message) : EQP_OK);
    *json = json_incref(rows);
done:
    json_decref(rows);
    if (file != NULL) {
        (void)fclose(file);
    }
    return code;
}

/* ---- a run ---- */

/* Sets a key unless the value is NULL. */
static int set_if_any(json_t *run, const char *key, json_t *value)
{
    return value == NULL || json_object_set(run, key, value) == 0 ? EQP_OK : EQP_ERR_MEMORY;
}

enum { FILES = 5 };
static const char *const name[FILES] = {"report.json", "loads.csv", "traffic.csv", APP_SAMPLES_FILE, "hindsight.csv"};

int app_pack_spares(const char *dir, const char *path, eqp_message *message)
{
    for (int k = 0; k < FILES; k++) {
        char *file = eqp__report_file_join(dir, name[k]);
        const bool same = file != NULL && app_same_inode(file, path);
        if (file == NULL) {
            return EQP_ERR_MEMORY;
        }
        free(file);
        APP_REFUSE_IF(same, message, EQP_ERR_ARGUMENT, "%s: the input would be overwritten", path);
    }
    return EQP_OK;
}

int app_pack_run(const char *dir, app_bytes *bytes, json_t **json, eqp_message *message)
{
    char *path[FILES] = {NULL};
    json_t *report = NULL, *loads = NULL, *traffic = NULL, *samples = NULL, *schedule = NULL, *run = NULL;
    table t = {.seen = 0};
    int code = EQP_OK;

    for (int k = 0; k < FILES && code == EQP_OK; k++) {
        path[k] = eqp__report_file_join(dir, name[k]);
        code = path[k] != NULL ? EQP_OK : EQP_ERR_MEMORY;
    }
    EQP_TRY(code);
    EQP_TRY(app_pack_report(path[0], &report, message));
    EQP_TRY(read_loads(path[1], &t, message));
    EQP_TRY(pack_loads(&t, bytes, &loads));
    EQP_TRY(pack_traffic(path[2], t.loads.ranks, &traffic, message));
    EQP_TRY(app_pack_samples(path[3], t.loads.ranks, bytes, &samples, message));
    EQP_TRY(pack_schedule(path[4], &schedule, message));
    run = json_pack("{s:O, s:O}", "report", report, "loads", loads);
    EQP_TRY(run != NULL ? EQP_OK : EQP_ERR_MEMORY);
    EQP_TRY(set_if_any(run, "traffic", traffic));
    EQP_TRY(set_if_any(run, "samples", samples));
    EQP_TRY(set_if_any(run, "schedule", schedule));
    *json = run;
    run = NULL;
done:
    json_decref(run);
    json_decref(report);
    json_decref(loads);
    json_decref(traffic);
    json_decref(samples);
    json_decref(schedule);
    for (int k = 0; k < SECONDS; k++) {
        free(t.seconds[k]);
    }
    for (int k = 0; k < FILES; k++) {
        free(path[k]);
    }
    return code;
}
