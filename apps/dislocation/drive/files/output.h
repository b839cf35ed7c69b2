/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of a network: for ParaDiS and --restart, for ParaView, forces. Nodes are in the order of the input; later
 * nodes follow by tag. */
#ifndef DD_OUTPUT_H
#define DD_OUTPUT_H

#include "../domain.h"
#include "input.h"

#include "../../../shell/run_files.h"

/* State of a run besides its network. */
typedef struct dd_moment {
    int64_t step;
    double time, next_dt;     /* s */
    double stress[6];         /* applied, Pa: xx yy zz yz zx xy */
    double plastic_strain[6]; /* accumulated */
    double rate;              /* strain rate, 1/s: with its present sign in cycles */
    const char *lines;        /* more comment lines for the control file (borrowed); NULL: none */
} dd_moment;

/* The pair NAME.data and NAME.ctrl for --restart; NAME may end in .data. Existing files are replaced completely or not
 * at all. A rank's memory is proportional to its nodes. Collective. */
int dd_output_restart(const dd_domain *domain, const dd_input *input, const dd_moment *now, const char *name,
                      eqp_message *message);

/* Segments as lines with Burgers vector, velocity and rank, for ParaView: unbroken, by the nearest images of their
 * ends. Collective. */
int dd_output_lines(const dd_domain *domain, double time, const char *path, eqp_message *message);

/* A snapshot of --output: lines if the name ends in .vtp, else the pair. Collective. */
int dd_output_snapshot(const dd_domain *domain, const dd_input *input, const dd_moment *now, const char *path,
                       eqp_message *message);

/* NAME.pvd, which joins all files NAME_000012.vtp so far; for other names a no-op. Collective. */
int dd_output_series(const dd_domain *domain, const char *output, const app_series *series, eqp_message *message);

/* Datasets ids [n] and forces [n][3]: the sum over each node's arms. Collective. */
int dd_output_forces(const dd_domain *domain, const char *path, eqp_message *message);

/* Nodes of the input in its order, then later nodes by tag. Unique; with gaps. */
static inline uint64_t dd_output_place(const dd_node *node)
{
    return node->order >= 0 ? (uint64_t)node->order : (uint64_t)1 << 63 | node->tag;
}

#endif
