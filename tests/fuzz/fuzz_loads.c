/* SPDX-License-Identifier: BSD-3-Clause */
/* loads.csv as pages and loadbench read it. */
#include "fuzz.h"

#include "loads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("loads.csv");
    app_loads loads = {.ranks = -7};
    eqp_message message = {""};
    int code;

    fuzz_save(path, data, size);
    code = app_loads_read(path, NULL, &loads, &message);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_FORMAT || code == EQP_ERR_DATA);
        fuzz_require(loads.ranks == -7);
        fuzz_require_line(&message);
        fuzz_require(strncmp(message.text, path, strlen(path)) == 0);
        return 0;
    }
    fuzz_require(loads.ranks >= 1 && (size_t)loads.ranks <= size);
    return 0;
}
