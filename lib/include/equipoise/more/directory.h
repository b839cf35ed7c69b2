/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/directory.h
 * \brief A distributed table of ids and the ranks that hold them.
 *
 * For codes whose particles migrate: it finds the rank that holds an id. A directory is a snapshot; create a new one
 * after a migration. A hash of the id selects the rank that keeps its entry, so that entries are spread evenly for any
 * numbering.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_DIRECTORY_H
#define EQUIPOISE_MORE_DIRECTORY_H

#include <equipoise/error.h>

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ids and the ranks that hold them. */
typedef struct eqp_directory eqp_directory;

/** Creates a directory of the ids of all ranks. Collective, one exchange; time O(n log n) and memory O(n) for the n ids
 * that a rank holds or keeps; a kept id takes 16 bytes.
 * \param[in]  comm       any intracommunicator; duplicated until the directory is freed
 * \param[in]  n          ids of this rank, >= 0
 * \param[in]  id         [n] ids that this rank holds, any numbers in any order (borrowed)
 * \param[out] directory  owned by the caller; eqp_directory_free(); unchanged on error
 * \return EQP_OK, or on all ranks EQP_ERR_DATA if an id occurs twice, on one rank or on two, EQP_ERR_ARGUMENT,
 * EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI */
int eqp_directory_create(MPI_Comm comm, int64_t n, const int64_t *id, eqp_directory **directory);

/** Finds the ranks that hold ids. Collective, also for ranks without queries; one exchange there and one back. A rank
 * answers every query for the ids it keeps: time O(q log k), memory O(q) for q queries and k kept ids.
 * \param[in]  n     queries of this rank, >= 0
 * \param[in]  id    [n] any ids, also repeated (borrowed)
 * \param[out] rank  [n] rank of the directory's communicator that holds each id, -1: none; unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks */
int eqp_directory_find(eqp_directory *directory, int64_t n, const int64_t *id, int *rank);

/** Frees a directory and its communicator. Collective: all ranks pass theirs, or none does. NULL is legal. */
void eqp_directory_free(eqp_directory *directory);

#ifdef __cplusplus
}
#endif
#endif
