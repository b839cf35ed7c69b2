/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/directory.h
 * \brief Who has an id now: a table of ids that is spread over the ranks.
 *
 * For codes whose particles migrate: a rank that needs an id asks here for the rank that has it. A directory is a
 * picture of one moment; after a migration make a new one. Each id is kept by a rank that a hash of it gives, so that
 * no rank keeps much more than its share of ids, however they are numbered.
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

/** Ids and the ranks that have them. */
typedef struct eqp_directory eqp_directory;

/** Makes a directory of the ids of all ranks. Collective, one exchange; time O(n log n) and memory O(n) for the n ids
 * that a rank has or keeps; 16 bytes for each id that it keeps stay.
 * \param[in]  comm       any intracommunicator; duplicated until the directory is freed
 * \param[in]  n          ids of this rank, >= 0
 * \param[in]  id         [n] ids that this rank has, any numbers in any order (borrowed)
 * \param[out] directory  owned by the caller; eqp_directory_free(); unchanged on error
 * \return EQP_OK, or on all ranks EQP_ERR_DATA if an id is there twice, on one rank or on two, EQP_ERR_ARGUMENT,
 * EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI */
int eqp_directory_create(MPI_Comm comm, int64_t n, const int64_t *id, eqp_directory **directory);

/** Finds out who has ids. Collective, also for ranks that ask for none; one exchange there and one back. A rank answers
 * every question for its ids, repeated ones too: time O(q log k), memory O(q) for q of them and k ids that it keeps.
 * \param[in]  n     questions of this rank, >= 0
 * \param[in]  id    [n] any ids, also repeated (borrowed)
 * \param[out] rank  [n] rank of the directory's communicator that has each id, -1: none; unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks */
int eqp_directory_find(eqp_directory *directory, int64_t n, const int64_t *id, int *rank);

/** Frees a directory and its communicator. Collective: all ranks pass theirs, or none does. NULL is legal. */
void eqp_directory_free(eqp_directory *directory);

#ifdef __cplusplus
}
#endif
#endif
