/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/move.h
 * \brief Which data must follow, and from where to where: plans as plain arrays, no MPI.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_MOVE_H
#define EQUIPOISE_MORE_MOVE_H

#include <equipoise/error.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where each of n local items goes. */
typedef struct eqp_move_plan eqp_move_plan;

/** The arrays of a plan (borrowed from it, valid until it is freed). */
typedef struct eqp_move_view {
    int64_t n;             /**< items */
    int nranks;            /**< destinations */
    const int64_t *order;  /**< [n] item at each place of the send buffer: by destination, else in the old order */
    const int64_t *count;  /**< [nranks] items for each destination */
    const int64_t *offset; /**< [nranks + 1] place of the first item for each destination */
} eqp_move_view;

/** Sorts items by destination, stably. Local, O(n + nranks), deterministic.
 * \param[in]  dest    [n] 0 to nranks - 1 (borrowed for the call)
 * \param[out] plan    owned by the caller; eqp_move_plan_free()
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp_move_plan_create(int64_t n, const int *dest, int nranks, eqp_move_plan **plan);

/** The arrays. Local, O(1). */
eqp_move_view eqp_move_plan_arrays(const eqp_move_plan *plan);

/** Frees; NULL is legal. */
void eqp_move_plan_free(eqp_move_plan *plan);

/** Copies elements into send order: out[i] = in[order[i]]. Local, O(n).
 * \param[in]  element_size  bytes per element
 * \param[in]  in            [n] elements (borrowed)
 * \param[out] out           [n] elements; must not overlap `in` */
void eqp_move_pack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out);

/** The inverse of eqp_move_pack(): out[order[i]] = in[i]. */
void eqp_move_unpack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out);

/** Periodic images of a particle have numbers: (sx + 1) + 3 (sy + 1) + 9 (sz + 1), where each s is -1, 0 or 1, the
 * lengths of the box by which the image is shifted. This many numbers, from 0. */
#define EQP_IMAGES 27

/** Number of the particle itself. */
#define EQP_IMAGE_SELF 13

/** Displacement of an image from its particle, to be added to the particle's place. Local, O(1).
 * \param[in]  image  0 to EQP_IMAGES - 1
 * \param[in]  box    [3] lengths of the box (borrowed); those along which the image is not shifted are not looked at
 * \param[out] shift  [3] unchanged on error
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_image_shift(int image, const double box[3], double shift[3]);

/** Which part sends which particles to which part. */
typedef struct eqp_ghost_plan eqp_ghost_plan;

/** The arrays of a ghost plan (borrowed from it). A *pair* is two parts of which one sends to the other. The receiver's
 * side lists pairs by (to, from), the sender's side the same pairs by (from, to). */
typedef struct eqp_ghost_view {
    int nparts;               /**< parts that the plan was made for */
    int64_t npairs;           /**< pairs of parts that exchange anything */
    int64_t nghosts;          /**< ids over all pairs: each (part, remote id) once */
    const int *to;            /**< [npairs] receiving part, ascending */
    const int *from;          /**< [npairs] sending part, ascending within `to` */
    const int64_t *first;     /**< [npairs + 1] into id */
    const int64_t *id;        /**< [nghosts] ids of each pair, ascending */
    const uint32_t *images;   /**< [nghosts] bit k: image k is wanted; without images 1 << EQP_IMAGE_SELF */
    const int64_t *recv_pair; /**< [nparts + 1] first pair of each receiving part */
    const int64_t *send_pair; /**< [nparts + 1] into by_sender */
    const int64_t *by_sender; /**< [npairs] pairs in the order (from, to) */
    const int64_t *ghosts;    /**< [nparts] ids that each part receives */
    const int64_t *sent;      /**< [nparts] ids that each part sends, counted once per receiver */
    int64_t ghosts_max;       /**< largest of `ghosts` */
    int64_t sent_max;         /**< largest of `sent` */
    int neighbours_max;       /**< largest number of parts that one part receives from */
} eqp_ghost_view;

/** Makes the ghost plan of requests "this part needs this id". Needs met at home make no ghost; repeated requests count
 * once. Local, O(n log n + nids), deterministic: it does not depend on the order of requests.
 * \param[in]  n       requests
 * \param[in]  part    [n] part that needs, 0 to nparts - 1 (borrowed)
 * \param[in]  id      [n] id that it needs (borrowed)
 * \param[in]  nids    length of the table of homes
 * \param[in]  known   [nids] ids, strictly ascending (borrowed)
 * \param[in]  home    [nids] part where each lives (borrowed)
 * \param[in]  nparts  >= 1
 * \param[out] plan    owned by the caller; eqp_ghost_plan_free()
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT, or EQP_ERR_UNKNOWN for a request of an id without home */
int eqp_ghost_plan_create(int64_t n, const int *part, const int64_t *id, int64_t nids, const int64_t *known,
                          const int *home, int nparts, eqp_ghost_plan **plan);

/** The same in a periodic box: requests "this part needs this image of this id". An id travels once to each part,
 * however many of its images the part needs: the part makes them by eqp_image_shift(), and so it makes images of what
 * it has at home, which are no ghosts. Cost, arguments and codes as eqp_ghost_plan_create().
 * \param[in]  image  [n] 0 to EQP_IMAGES - 1 (borrowed); NULL: EQP_IMAGE_SELF in all requests */
int eqp_ghost_plan_create_periodic(int64_t n, const int *part, const int64_t *id, const int *image, int64_t nids,
                                   const int64_t *known, const int *home, int nparts, eqp_ghost_plan **plan);

/** The arrays. Local, O(nparts). */
eqp_ghost_view eqp_ghost_plan_arrays(const eqp_ghost_plan *plan);

/** Frees; NULL is legal. */
void eqp_ghost_plan_free(eqp_ghost_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
