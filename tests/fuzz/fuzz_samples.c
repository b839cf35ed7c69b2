/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "page/pack.h"

enum { RANKS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("samples.bin");
    eqp_message message = {""};
    app_bytes bytes = {0};
    json_t *json = NULL;
    int64_t n = 0;
    size_t i;
    json_t *frame;

    fuzz_save(path, data, size);
    const int code = app_pack_samples(path, RANKS, &bytes, &json, &message);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_DATA && json == NULL);
        fuzz_require_line(&message);
        fuzz_require(strncmp(message.text, path, strlen(path)) == 0);
    } else {
        const int64_t numbers = 1 + 3 * json_integer_value(json_object_get(json, "ends"));
        json_array_foreach(json_object_get(json, "frames"), i, frame)
        {
            fuzz_require(json_integer_value(json_object_get(frame, "at")) == 2 * numbers * n);
            n += json_integer_value(json_object_get(frame, "n"));
        }
        fuzz_require(bytes.n == 2 * numbers * n && (size_t)bytes.n <= size);
    }
    json_decref(json);
    free(bytes.data);
    return 0;
}
