/* SPDX-License-Identifier: BSD-3-Clause */
/* A restart file as one rank reads it. The first byte is the number of steps requested. */
#include "hdf5_make.h"

#include "drive/files/input.h"

#include <equipoise/error.h>

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bh_settings settings = {.run.restart = "", .run.steps = size > 0 ? data[0] : 0};
    bh_particles particles = {0};
    bh_input input;
    eqp_message message = {""};
    int code;

    (void)fuzz_make_hdf5("restart", data + (size > 0), size - (size > 0));
    settings.run.restart = fuzz_path("restart");
    code = bh_input_read(MPI_COMM_SELF, &settings, &particles, &input, &message);
    if (code == EQP_OK) {
        const bh_particles *p = &particles;

        fuzz_require(input.total == p->n && p->n > 0 && input.step >= 0 && input.step <= settings.run.steps);
        fuzz_require(isfinite(input.dt) && input.dt > 0 && isfinite(input.time));
        for (int64_t i = 0; i < p->n; i++) {
            const double value[] = {p->x[i],  p->y[i],  p->z[i],  p->vx[i], p->vy[i],
                                    p->vz[i], p->ax[i], p->ay[i], p->az[i], p->pot[i]};

            for (int k = 0; k < (int)(sizeof value / sizeof *value); k++) {
                fuzz_require(isfinite(value[k]));
            }
            fuzz_require(isfinite(p->m[i]) && p->m[i] >= 0 && p->index[i] == i);
        }
    } else {
        fuzz_require(code == EQP_ERR_IO || code == EQP_ERR_FORMAT || code == EQP_ERR_DATA || code == EQP_ERR_ARGUMENT);
        fuzz_require_line(&message);
    }
    bh_particles_free(&particles);
    return 0;
}
