/* SPDX-License-Identifier: BSD-3-Clause */
/** \file map.h
 * \brief The interaction-to-rank map: which rank, or part, computes an interaction.
 *
 * Whoever owns interactions carries a tag. A tag >= 0 is the rank that computes all of them. A tag < 0 names an entry
 * of the table of shared owners: their interactions go each to the rank of the nearest centroid, measured from the
 * owner so that the map moves with it; or another rank computes all of them in each phase of a cycle (cycle.h): who
 * reads tags of one phase with eqp_map_tag_in() computes such owners where they are wanted then, who does not computes
 * them by phase 0. Every rank holds the table: some tens of bytes per work unit of a shared owner, four per phase of a
 * way that owners take through the phases, nothing for the others. A map that is NULL shares no owner. Nothing here
 * communicates.
 *
 * Source: O. Pearce, Load Balancing Scientific Applications, 2014, section 4.1 (Algorithm 8). */
#ifndef EQUIPOISE_MAP_H
#define EQUIPOISE_MAP_H

#include <equipoise/cycle.h>
#include <equipoise/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The table of shared owners. */
typedef struct eqp_map eqp_map;

/** What the home of an owner is told: who computes it, and where it should live. */
typedef struct eqp_placement {
    int64_t tag; /**< see above */
    int home;    /**< rank, or part: the one that computes it, or one of those that share it */
} eqp_placement;

/** Makes a map.
 * \param[in]  nshared   shared owners, >= 0; the tag of the i-th is -1 - i
 * \param[in]  nunits    [nshared] work units of each, >= 1
 * \param[in]  centroid  [sum of nunits][3] of each unit, measured from the owner, finite
 * \param[in]  rank      [sum of nunits] that computes it, >= 0
 * \param[out] map       owned by the caller: eqp_map_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for a number that is none, EQP_ERR_MEMORY */
int eqp_map_create(int64_t nshared, const int64_t *nunits, const double *centroid, const int *rank, eqp_map **map);

/** Adds entries whose rank depends on the phase to a map that has none of them: ways that any number of owners may
 * take. The tag of the i-th is -1 - i - eqp_map_shared() of before.
 * \param[in] map      the map
 * \param[in] n        ways, >= 0
 * \param[in] nphases  1 to EQP_CYCLE_PHASES
 * \param[in] rank     [n][nphases] who computes in each phase, >= 0; in later phases as in the last one
 * \return EQP_OK, EQP_ERR_ARGUMENT for a number that is none and a map that has such entries, EQP_ERR_MEMORY */
int eqp_map_add_phased(eqp_map *map, int64_t n, int nphases, const int *rank);

/** Frees a map; NULL is legal. */
void eqp_map_free(eqp_map *map);

/** Entries of the table: owners that several ranks share by where interactions are, then ways through phases. map may
 * be NULL: 0. */
int64_t eqp_map_shared(const eqp_map *map);

/** Of these, ways through phases.
 * \param[in]  map      may be NULL
 * \param[out] nphases  0 where there are none; may be NULL
 * \param[out] rank     [*nphases] for each: borrowed from the map; may be NULL */
int64_t eqp_map_phased(const eqp_map *map, int *nphases, const int **rank);

/** The tag by which an owner is computed in one phase: its rank there, where that depends on the phase, else its tag.
 * O(1).
 * \param[in] map    may be NULL
 * \param[in] phase  >= 0 */
int64_t eqp_map_tag_in(const eqp_map *map, int64_t tag, int phase);

/** The rank of an interaction. O(1) for whole owners, one search for shared ones.
 * \param[in] map       may be NULL
 * \param[in] tag       of the owner
 * \param[in] centroid  [3] of the interaction, measured from the owner; may be NULL for whole owners
 * \return the rank; -1 for a tag that the map has not got */
int eqp_map_rank(const eqp_map *map, int64_t tag, const double *centroid);

/** The rank of what an owner does at its own place: its only rank, where it is whole. As eqp_map_rank(). */
int eqp_map_own_rank(const eqp_map *map, int64_t tag);

/** The ranks that compute interactions of an owner, ascending and distinct.
 * \param[in]  map     may be NULL
 * \param[in]  tag     of the owner
 * \param[in]  nranks  room in `ranks`: one more than units of the owner, or the number of ranks, whichever is less
 * \param[out] ranks   [nranks]
 * \return how many; -1 for a tag that the map has not got, or no room */
int eqp_map_ranks(const eqp_map *map, int64_t tag, int nranks, int *ranks);

/** The work units of a shared owner (tag < 0, the same in all phases), in the order in which eqp_map_rank() takes the
 * first of equally near ones. O(1).
 * \param[in]  map       the map
 * \param[in]  tag       of the owner
 * \param[out] centroid  [n][3] measured from the owner; borrowed from the map
 * \param[out] rank      [n] likewise
 * \return n; 0 for a tag that names no shared owner */
int64_t eqp_map_units(const eqp_map *map, int64_t tag, const double **centroid, const int **rank);

#ifdef __cplusplus
}
#endif
#endif
