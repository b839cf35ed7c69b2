/* SPDX-License-Identifier: BSD-3-Clause */
#include "page.h"

#include "pack.h"

#include <equipoise/more/base.h>
#include <equipoise/version.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Last component of a path. */
static const char *name_of(const char *dir)
{
    const char *slash = strrchr(dir, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : dir;
}

/* Sets labels; runs without one get their method, if that distinguishes them. */
static int set_labels(json_t *runs, const app_page_run *run)
{
    const int n = (int)json_array_size(runs);
    int code = EQP_OK;

    for (int i = 0; i < n; i++) {
        const json_t *report = json_object_get(json_array_get(runs, (size_t)i), "report");
        const char *method = json_string_value(json_object_get(report, "balance"));
        bool apart = method != NULL;
        for (int k = 0; k < n && apart; k++) {
            const json_t *other = json_object_get(json_array_get(runs, (size_t)k), "report");
            const char *same = json_string_value(json_object_get(other, "balance"));
            apart = k == i || same == NULL || strcmp(same, method) != 0;
        }
        eqp_message label;
        eqp_message_set(&label, "%s", run[i].label != NULL ? run[i].label : apart ? method : name_of(run[i].dir));
        json_t *text = json_string(label.text);
        code = json_object_set_new(json_array_get(runs, (size_t)i), "label", text) == 0 ? code : EQP_ERR_MEMORY;
    }
    return code;
}

/* Deflates the length of the text, the text and the bytes. */
static int deflate_all(json_t *page, const app_bytes *bytes, app_bytes *packed)
{
    char *text = json_dumps(page, JSON_COMPACT | JSON_REAL_PRECISION(17));
    const size_t length = text != NULL ? strlen(text) : 0;
    app_bytes all = {0};
    unsigned char *at;
    int code = text != NULL ? EQP_OK : EQP_ERR_MEMORY;

    EQP_TRY(code);
    EQP_TRY(length <= UINT32_MAX ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(app_bytes_add(&all, 4 + (int64_t)length + bytes->n, &at));
    for (int k = 0; k < 4; k++) {
        at[k] = (unsigned char)(length >> 8 * k & 0xff);
    }
    memcpy(at + 4, text, length);
    if (bytes->n > 0) {
        memcpy(at + 4 + length, bytes->data, (size_t)bytes->n);
    }
    uLongf size = compressBound((uLong)all.n);
    EQP_TRY(app_bytes_add(packed, (int64_t)size, &at));
    EQP_TRY(compress2(at, &size, all.data, (uLong)all.n, 9) == Z_OK ? EQP_OK : EQP_ERR_MEMORY);
    packed->n = (int64_t)size;
done:
    free(all.data);
    free(text);
    return code;
}

static void put_base64(FILE *stream, const app_bytes *bytes)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (int64_t i = 0; i < bytes->n; i += 3) {
        const int64_t n = bytes->n - i < 3 ? bytes->n - i : 3;
        unsigned word = 0;
        for (int k = 0; k < 3; k++) {
            word = word << 8 | (k < n ? bytes->data[i + k] : 0);
        }
        for (int k = 0; k < 4; k++) {
            (void)fputc(k <= n ? digit[word >> 6 * (3 - k) & 63] : '=', stream);
        }
    }
}

static void put_escaped(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            (void)fputs("&amp;", stream);
            break;
        case '<':
            (void)fputs("&lt;", stream);
            break;
        case '>':
            (void)fputs("&gt;", stream);
            break;
        default:
            (void)fputc(*text, stream);
        }
    }
}

static void put_title(FILE *stream, json_t *runs)
{
    const json_t *report = json_object_get(json_array_get(runs, 0), "report");
    const char *app = json_string_value(json_object_get(report, "app"));
    const long long ranks = json_integer_value(json_object_get(report, "ranks"));

    put_escaped(stream, app != NULL ? app : "a run");
    (void)fprintf(stream, " on %lld rank%s", ranks, ranks == 1 ? "" : "s");
    if (json_array_size(runs) > 1) {
        (void)fprintf(stream, ", %d runs", (int)json_array_size(runs));
    }
}

/* The template with @TITLE@ and @DATA@ replaced. */
static void put_page(FILE *stream, json_t *runs, const app_bytes *packed)
{
    static const char title[] = "@TITLE@", data[] = "@DATA@";

    for (int i = 0; i < app__page_npieces; i++) {
        const char *piece = app__page_piece[i];
        if (strcmp(piece, title) == 0) {
            put_title(stream, runs);
        } else if (strcmp(piece, data) == 0) {
            put_base64(stream, packed);
        } else {
            (void)fputs(piece, stream);
        }
    }
}

static int pack_all(int n, const app_page_run *run, json_t *runs, app_bytes *bytes, eqp_message *message)
{
    for (int i = 0; i < n; i++) {
        json_t *json = NULL;
        EQP_CHECK(app_pack_run(run[i].dir, bytes, &json, message));
        EQP_CHECK(json_array_append_new(runs, json) == 0 ? EQP_OK : EQP_ERR_MEMORY);
    }
    return set_labels(runs, run);
}

int app_page_write(const char *path, int n, const app_page_run *run, eqp_message *message)
{
    json_t *runs = json_array(), *page = json_pack("{s:s, s:O}", "version", eqp_version(), "runs", runs);
    app_bytes bytes = {0}, packed = {0};
    eqp_output *output = NULL;
    int code = page != NULL ? EQP_OK : EQP_ERR_MEMORY;

    EQP_TRY(n >= 1 ? code : EQP_ERR_ARGUMENT);
    for (int i = 0; i < n; i++) {
        EQP_TRY(app_pack_spares(run[i].dir, path, message));
    }
    EQP_TRY(pack_all(n, run, runs, &bytes, message));
    EQP_TRY(deflate_all(page, &bytes, &packed));
    EQP_TRY(eqp_output_create(path, &output, message));
    put_page(eqp_output_stream(output), runs, &packed);
    code = eqp_output_commit(output, message);
done:
    json_decref(page);
    json_decref(runs);
    free(bytes.data);
    free(packed.data);
    return code;
}
