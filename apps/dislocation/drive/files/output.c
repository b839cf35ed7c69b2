/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include "files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/vtk.h>

#include <stdlib.h>

int dd_output_forces(const dd_domain *domain, const char *path, eqp_message *message)
{
    const int64_t n = domain->network.n;
    app_force *force = NULL;
    int code = eqp_agree(domain->comm, eqp_array_create(&force, n, sizeof *force), NULL);

    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        const dd_node *node = &domain->network.node[i];
        force[i].place = dd_output_place(node);
        force[i].id = node->tag;
        for (int k = 0; k < node->narms; k++) {
            for (int d = 0; d < 3; d++) {
                force[i].force[d] += node->arm[k].force[d];
            }
        }
    }
    if (code == EQP_OK) {
        code = app_forces_write(domain->comm, path, n, force, message);
    } else {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    free(force);
    return code;
}

int dd_output_snapshot(const dd_domain *domain, const dd_input *input, const dd_moment *now, const char *path,
                       eqp_message *message)
{
    return dd_files_for_paraview(path) ? dd_output_lines(domain, now->time, path, message)
                                       : dd_output_restart(domain, input, now, path, message);
}

static int write_series(const char *output, const app_series *series, eqp_message *message)
{
    eqp_vtk_frame *frame = NULL;
    char *pvd = NULL;
    int code = dd_files_series(output, &pvd);

    if (code == EQP_OK) {
        code = eqp_array_create(&frame, series->n, sizeof *frame);
    }
    for (int64_t i = 0; i < series->n && code == EQP_OK; i++) {
        frame[i] = (eqp_vtk_frame){series->path[i], series->time[i]};
    }
    if (code == EQP_OK) {
        code = eqp_vtk_write_series(pvd, series->n, frame, message);
    } else {
        eqp_message_set(message, "%s: %s", output, eqp_error_text(code));
    }
    free(frame);
    free(pvd);
    return code;
}

int dd_output_series(const dd_domain *domain, const char *output, const app_series *series, eqp_message *message)
{
    int code = EQP_OK;

    if (domain->rank == 0 && dd_files_for_paraview(output)) {
        code = write_series(output, series, message);
    }
    return eqp_agree(domain->comm, code, message);
}
