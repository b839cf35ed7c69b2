/* SPDX-License-Identifier: BSD-3-Clause */
/* report.json, traffic.csv and hindsight.csv of a run of three ranks, each ended by a zero byte. */
#include "fuzz.h"

#include "page/pack.h"

static const char loads[] = "step,rank,load,predicted\n"
                            "0,0,1,\n0,1,2,\n0,2,3,\n1,0,1,\n1,1,1,\n1,2,1,\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const name[] = {"report.json", "traffic.csv", "hindsight.csv"};
    eqp_message message = {""};
    app_bytes bytes = {0};
    json_t *json = NULL;
    char dir[2048];

    (void)snprintf(dir, sizeof dir, "%s", fuzz_path(""));
    fuzz_save(fuzz_path("loads.csv"), loads, sizeof loads - 1);
    for (int i = 0; i < 3; i++) {
        const uint8_t *const end = size > 0 ? memchr(data, 0, size) : NULL;
        const size_t length = end != NULL ? (size_t)(end - data) : size;

        fuzz_save(fuzz_path(name[i]), data, length);
        data += length + (end != NULL);
        size -= length + (end != NULL);
    }
    const int code = app_pack_run(dir, &bytes, &json, &message);
    if (code != EQP_OK) {
        fuzz_require((code == EQP_ERR_FORMAT || code == EQP_ERR_DATA) && json == NULL);
        fuzz_require_line(&message);
        fuzz_require(strncmp(message.text, dir, strlen(dir)) == 0);
    } else {
        char *const text = json_dumps(json, JSON_COMPACT);
        fuzz_require(text != NULL && json_is_object(json_object_get(json, "report")));
        free(text);
    }
    json_decref(json);
    free(bytes.data);
    return 0;
}
