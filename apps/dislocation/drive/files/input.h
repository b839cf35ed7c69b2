/* SPDX-License-Identifier: BSD-3-Clause */
/* Input of a network: every rank takes its slice of a file or of a generator. */
#ifndef DD_INPUT_H
#define DD_INPUT_H

#include "../../../shell/run_files.h"
#include "../domain.h"
#include "../settings.h"

#include <equipoise/more/io.h>

/* Notes for the user on changed and ignored parameters. */
#define DD_NOTES 16
typedef struct dd_notes {
    int n;
    eqp_message line[DD_NOTES];
} dd_notes;

/* Longest segment as a share of a cell: a little less than 0.9, so that rounding cannot exceed it. */
#define DD_CELL_FITS 0.8999

typedef struct dd_input {
    int64_t nodes, segments; /* over all ranks */
    double longest;          /* segment, b */
    bool dt_given;           /* the first time step comes from the user or a restart */
    char format[64];         /* shown to the user */
    /* Complete parameters. first_step, time, plastic_strain and next_dt describe the start of the run: zeros and the
     * first step, or the values of a restart. With --ctrl alone a run begins at 0 whatever the file says. */
    eqp_paradis_control control;
    dd_notes notes;    /* on changed and ignored parameters */
    int64_t last_step; /* last step of the run: --steps, else first_step plus maxstep */
} dd_input;

/* Fills an empty domain: box, nodes with homes and their order in the input, next_tag; positions are folded into the
 * box and the network is verified. Nodes lie in slices of the input's order; a rank's memory is proportional to its
 * slice. Collective: all ranks fail with the same code and message, or none; the domain can be freed in any case. */
int dd_input_read(const dd_settings *settings, dd_domain *domain, dd_input *input, eqp_message *message);

/* A node's part of the checksum with which parameters identify their network, and the text of the sum over all nodes.
 * place: of the node in the file. */
uint64_t dd_input_checksum(int64_t place, const dd_node *node);
void dd_input_checksum_text(uint64_t sum, char text[EQP_PARADIS_NAME]);

/* Replaces network and box by a x b x c copies (count). Orders continue from tile to tile; call dd_domain_connect() for
 * new homes. The domain must be connected and verified. EQP_ERR_ARGUMENT for tiles along a free direction,
 * EQP_ERR_OVERFLOW if tags run out, EQP_ERR_MEMORY, with a message. Collective. */
int dd_tile_domain(dd_domain *domain, const int count[3], eqp_message *message);

/* Checks that every arm has a reverse arm with the opposite Burgers vector, and a positive length below half the box
 * (else its nearest image would be ambiguous). EQP_ERR_DATA with a message that begins with the node's tag. Call after
 * dd_domain_connect(). longest, nsegments: of all ranks, unchanged on error. Collective. */
int dd_verify_arms(const dd_domain *domain, double *longest, int64_t *nsegments, eqp_message *message);

/* ---- ParaDiS parameters that this program does not use: refused if they change everything, noted if they change
 * something, written back for ParaDiS. Local. */

/* The next free line; the last one is overwritten if none is free. */
eqp_message *dd_notes_next(dd_notes *notes);

/* Checks the unused keys, and replaces mobilities of 0, which ParaDiS accepts, by small ones. EQP_OK, or
 * EQP_ERR_ARGUMENT with a message for anisotropy and inclusions. from: the file's name. */
int dd_foreign_check(const char *from, eqp_paradis_control *control, dd_notes *notes, eqp_message *message);

/* The unused statements, the lines (NULL: none), and the statements that ParaDiS needs for its far field if the file
 * has none: fast multipoles, which need the same power of two of cells in all directions, else its tables of stress.
 * *others: owned by the caller, unchanged on error. EQP_OK or EQP_ERR_MEMORY. */
int dd_foreign_complete(const eqp_paradis_control *control, const char *lines, char **others);

/* ---- Names of a network's files: NAME.data and NAME.ctrl, a pair for ParaDiS and --restart; or NAME.vtp for ParaView,
 * with NAME.pvd for a series. */

/* True if the name ends in .vtp: --output writes ParaView's files. */
bool dd_files_for_paraview(const char *path);

/* Naming of the files of --output; static storage. path: NULL allowed. */
const app_naming *dd_files_naming(const char *path);

/* Names of the pair for a name with or without .data. Owned by the caller; unchanged on error. EQP_OK or
 * EQP_ERR_MEMORY. */
int dd_files_pair(const char *name, char **data, char **ctrl);

/* ---- Output of a network: for ParaDiS and --restart, for ParaView, forces. Nodes are in the order of the input; later
 * nodes follow by tag. */

/* Writes the pair NAME.data and NAME.ctrl for --restart; NAME may end in .data. now: the present parameters; lines:
 * comments for the control file (both borrowed). Files are replaced atomically. A rank's
 * memory is proportional to its nodes. Collective. */
int dd_output_restart(const dd_domain *domain, const eqp_paradis_control *now, const char *lines, const char *name,
                      eqp_message *message);

/* Writes segments as lines with Burgers vector, velocity and rank for ParaView, unbroken by nearest images.
 * Collective. */
int dd_output_lines(const dd_domain *domain, double time, const char *path, eqp_message *message);

/* Writes NAME.pvd, which joins all files NAME_000012.vtp so far; no-op for other names. Collective. */
int dd_output_series(const dd_domain *domain, const char *output, const app_series *series, eqp_message *message);

/* Writes datasets ids [n] and forces [n][3]: the sum over each node's arms. Collective. */
int dd_output_forces(const dd_domain *domain, const char *path, eqp_message *message);

/* On error, names the file and the code unless a message says more. */
void dd_output_explain(const char *name, int code, const eqp_message *what, eqp_message *message);

/* Nodes of the input in its order, then later nodes by tag. Unique; with gaps. */
static inline uint64_t dd_output_place(const dd_node *node)
{
    return node->order >= 0 ? (uint64_t)node->order : (uint64_t)1 << 63 | node->tag;
}

#endif
