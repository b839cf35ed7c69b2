/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a network: for ParaDiS and --restart, for ParaView, forces. Nodes stand in the order of the input, those
 * that are not of the input behind them by tag. */
#ifndef DD_OUTPUT_H
#define DD_OUTPUT_H

#include "../domain.h"
#include "input.h"

#include "../../../shell/run_files.h"

/* Where a run stands. */
typedef struct dd_moment {
    int64_t step;
    double time, next_dt;     /* s */
    double stress[6];         /* applied, Pa: xx yy zz yz zx xy */
    double plastic_strain[6]; /* so far */
    double rate;              /* 1/s, of strain: with the sign that cycles have now */
    const char *lines;        /* further comments of the control file (borrowed); NULL: none */
} dd_moment;

/* The pair NAME.data and NAME.ctrl, from which --restart goes on; NAME may end in .data. Files of these names are
 * replaced whole or not at all. Memory in proportion to a rank's nodes. Collective. */
int dd_output_restart(const dd_domain *domain, const dd_input *input, const dd_moment *now, const char *name,
                      eqp_message *message);

/* Segments as lines with Burgers vector, velocity and rank, for ParaView: each in one piece, by the nearest images of
 * its ends. Collective. */
int dd_output_lines(const dd_domain *domain, double time, const char *path, eqp_message *message);

/* A snapshot of --output: lines where the name ends in .vtp, else the pair. Collective. */
int dd_output_snapshot(const dd_domain *domain, const dd_input *input, const dd_moment *now, const char *path,
                       eqp_message *message);

/* NAME.pvd, which shows all files NAME_000012.vtp so far as one; for other names nothing happens. Collective. */
int dd_output_series(const dd_domain *domain, const char *output, const app_series *series, eqp_message *message);

/* Datasets ids [n] and forces [n][3]: of each node the sum over its arms. Collective. */
int dd_output_forces(const dd_domain *domain, const char *path, eqp_message *message);

#endif
