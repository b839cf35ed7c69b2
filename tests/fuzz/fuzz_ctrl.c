/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "../unit/contents.h"

#include <math.h>

static void require_complete(eqp_paradis_control control)
{
    eqp_message message = {""};
    eqp_paradis_control again;
    int rc = eqp_paradis_control_complete(&control, NULL, &message);

    if (rc != EQP_OK) {
        fuzz_require(rc == EQP_ERR_ARGUMENT);
        fuzz_require_line(&message);
        return;
    }
    fuzz_require(control.tolerance > 0 && control.annihilation > 0 && control.next_dt > 0);
    fuzz_require(control.min_seg > 0 && control.min_seg <= control.max_seg / 2 && isfinite(control.core_energy));
    again = control;
    fuzz_require(eqp_paradis_control_complete(&again, NULL, NULL) == EQP_OK);
    fuzz_require(memcmp(&again, &control, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    eqp_paradis_control control = eqp_paradis_control_defaults, again = eqp_paradis_control_defaults;
    eqp_message message = {""}, ignored = {""};
    int64_t nignored = -1;
    const char *path = fuzz_path("run.ctrl");
    int rc;

    fuzz_save(path, data, size);
    rc = eqp_paradis_control_read(path, &control, &nignored, &ignored, &message);
    if (rc != EQP_OK) {
        fuzz_require(rc == EQP_ERR_FORMAT || rc == EQP_ERR_DATA);
        fuzz_require_line(&message);
        fuzz_require(nignored == -1 && ignored.text[0] == '\0');
        fuzz_require(memcmp(&control, &again, sizeof control) == 0);
        return 0;
    }
    fuzz_require(nignored >= 0 && (nignored == 0) == (ignored.text[0] == '\0'));
    require_complete(control);
    fuzz_require((nignored == 0) == (control.others == NULL));
    /* Writing waits for the disk, so only some inputs are written. */
    if (size % 4 == 0) {
        fuzz_require(control_write(path, &control, NULL) == EQP_OK);
        fuzz_require(eqp_paradis_control_read(path, &again, &nignored, NULL, NULL) == EQP_OK);
        fuzz_require((control.others == NULL) == (again.others == NULL));
        fuzz_require(control.others == NULL || strcmp(control.others, again.others) == 0);
        eqp_paradis_control_free(&again);
        again.others = control.others;
        fuzz_require(memcmp(&control, &again, sizeof control) == 0);
    }
    eqp_paradis_control_free(&control);
    return 0;
}
