/* SPDX-License-Identifier: BSD-3-Clause */
/* loads.csv as equipoise-plot reads it. */
#include "fuzz.h"

#include "loads.h"

#include <math.h>

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
    /* The numbers that axes are made of. */
    fuzz_require(loads.ranks >= 1 && (size_t)loads.ranks <= size && loads.first <= loads.last);
    fuzz_require(loads.particles >= -1);
    fuzz_require(isfinite(loads.mean) && isfinite(loads.largest) && loads.mean >= 0 && loads.largest >= 0);
    fuzz_require(isfinite(loads.imbalance_low) && isfinite(loads.imbalance_high));
    fuzz_require(loads.imbalance_low <= loads.imbalance_high);
    return 0;
}
