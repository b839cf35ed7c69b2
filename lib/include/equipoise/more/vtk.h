/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/vtk.h
 * \brief Lines for ParaView: VTK PolyData files (`.vtp`) and collections of them in time (`.pvd`).
 *
 * One rank writes; it gets the ranks' data as pieces, one after the other, so that no rank holds all data. Numbers are
 * binary (base64), host byte order. All functions are local.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_VTK_H
#define EQUIPOISE_MORE_VTK_H

#include <equipoise/error.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Lines of two points each, with their attributes. All arrays are borrowed; start with {0}. Every piece of a file must
 * have the same optional arrays as the first, with any numbers of points and lines. */
typedef struct eqp_vtk_piece {
    int64_t npoints;            /**< >= 0 */
    const double (*x)[3];       /**< [npoints] */
    const double (*v)[3];       /**< [npoints] velocity; NULL: none */
    int64_t nlines;             /**< >= 0 */
    const int64_t (*end)[2];    /**< [nlines] points that a line joins, 0 .. npoints - 1 of this piece */
    const double (*burgers)[3]; /**< [nlines] Burgers vector; its magnitude is written too; NULL: none */
    const int *type;            /**< [nlines] type of the line, in the caller's numbering; NULL: none */
    const int *rank;            /**< [nlines] rank that computes the line; NULL: none */
} eqp_vtk_piece;

/** A `.vtp` file that is being written. */
typedef struct eqp_vtk_writer eqp_vtk_writer;

/** Begins a `.vtp` file under a temporary name (see more/file.h). Local, one rank.
 * \param[in]  path     target (copied)
 * \param[in]  time     time of the data, stored as TimeValue
 * \param[out] writer   free with eqp_vtk_finish() or eqp_vtk_discard(); unchanged on error
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO (then no temporary file is left), EQP_ERR_MEMORY */
int eqp_vtk_begin(const char *path, double time, eqp_vtk_writer **writer, eqp_message *message);

/** Writes a piece. O(its size) time, O(1) memory.
 * \param[in,out] writer   after an error it can only be discarded
 * \param[in]     piece    (borrowed)
 * \param[out]    message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for ends out of range or other arrays than before, EQP_ERR_IO */
int eqp_vtk_add(eqp_vtk_writer *writer, const eqp_vtk_piece *piece, eqp_message *message);

/** Gives the file the target's name. Frees the writer in any case; on error no temporary file is left. A file
 * without pieces is written as an empty one.
 * \return EQP_OK, EQP_ERR_IO */
int eqp_vtk_finish(eqp_vtk_writer *writer, eqp_message *message);

/** Removes the temporary file and frees the writer; NULL is legal. */
void eqp_vtk_discard(eqp_vtk_writer *writer);

/** One time of a series. */
typedef struct eqp_vtk_frame {
    const char *path; /**< a `.vtp` file in the folder of the series (borrowed) */
    double time;      /**< time of the frame */
} eqp_vtk_frame;

/** Writes a `.pvd` collection, which ParaView opens as a series in time. It names the files without their folder. An
 * older file is replaced completely or not at all.
 * \param[in]  path     the `.pvd` file
 * \param[in]  nframes  >= 0
 * \param[in]  frame    [nframes] in order of time (borrowed)
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for a file in another folder, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_vtk_write_series(const char *path, int64_t nframes, const eqp_vtk_frame *frame, eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
