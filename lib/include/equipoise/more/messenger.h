/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/messenger.h
 * \brief Repeated exchange of messages of any length while the ranks compute.
 *
 * Put, send, compute, finish: eqp_messenger_put() appends to the message for a rank, eqp_messenger_send() sends all
 * messages, eqp_messenger_finish() waits for the incoming ones, eqp_messenger_came() lists them. A rank need not know
 * which ranks send to it. Partners are remembered: while every rank keeps sending to the same ranks, an exchange costs
 * one message to each partner and one nonblocking allreduce, which carries the ranks' codes. A message to a new partner
 * is acknowledged before the allreduce. A partner without data in several exchanges is dropped. Ranks that know the
 * senders, such as ranks that wait for answers, need no allreduce: eqp_messenger_answer().
 *
 * A messenger keeps its memory between exchanges. After EQP_ERR_MPI it can only be freed. Codes travel with the data,
 * as in <equipoise/more/route.h>; apart from that the rules of <equipoise/more/comm.h> hold.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_MESSENGER_H
#define EQUIPOISE_MORE_MESSENGER_H

#include <equipoise/more/route.h>
#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Repeated exchanges between the ranks of a communicator. */
typedef struct eqp_messenger eqp_messenger;

/** Received messages (borrowed from the messenger until its next send). */
typedef struct eqp_messages_view {
    int n;                   /**< messages with at least one byte */
    const int *rank;         /**< [n] sender of each, ascending; NULL before a finish and after one that failed */
    const int64_t *bytes;    /**< [n] >= 1 */
    const void *const *data; /**< [n] aligned for any type of up to 16 bytes; NULL if this rank had no memory for it */
} eqp_messages_view;

/** \param[in]  comm       duplicated. Collective.
 * \param[out] messenger  owned by the caller; eqp_messenger_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_messenger_create(MPI_Comm comm, eqp_messenger **messenger);

/** Frees a messenger, after finishing an exchange that was sent. NULL is legal. Collective. */
void eqp_messenger_free(eqp_messenger *messenger);

/** Appends to the next message to a rank. Local, O(bytes) on average.
 * \param[in]  to     another rank
 * \param[in]  bytes  >= 0; multiples of 8 keep everything aligned for doubles
 * \param[out] room   address of a pointer, which receives the place for the bytes; the caller writes them before the next
 *                    put for that rank; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, or EQP_ERR_STATE between send and finish */
int eqp_messenger_put(eqp_messenger *messenger, int to, int64_t bytes, void *room);

/** Sends the messages and returns at once. Collective.
 * \param[in] code  EQP_OK, or this rank's failure: it sends no data, and the finish returns the code on all ranks
 * \return EQP_OK; on this rank alone, which then sends nothing: EQP_ERR_ARGUMENT for NULL, EQP_ERR_STATE before the
 *         finish of the last send; EQP_ERR_MPI */
int eqp_messenger_send(eqp_messenger *messenger, int code);

/** eqp_messenger_send() for ranks that know who sends to them: a rank waits for its senders only. Empty messages are
 * sent too. Collective.
 * \param[in] code       EQP_OK, or this rank's failure: it sends no data, and the receivers get the code
 * \param[in] nto, to    [nto] receivers, ascending, without this rank; data for any other rank are EQP_ERR_ARGUMENT in
 *                       the finish
 * \param[in] nfrom, from [nfrom] senders, ascending, without this rank
 * \return as eqp_messenger_send(), and EQP_ERR_ARGUMENT for invalid lists */
int eqp_messenger_answer(eqp_messenger *messenger, int code, int nto, const int *to, int nfrom, const int *from);

/** Makes progress on sends and receives: call it now and then between send and finish. Local. Returns at once, except
 * when it has to drop a message because memory is short: then it waits for the rest of that message.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_messenger_progress(eqp_messenger *messenger);

/** Waits for all incoming messages. Collective.
 * \return after a send EQP_OK, or on all ranks the code of a rank, and then no messages are listed; after an answer this
 *         rank's code or that of one of its senders. EQP_ERR_MEMORY may be returned on this rank alone, if it cannot
 * hold its messages. EQP_ERR_STATE without a send; EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_messenger_finish(eqp_messenger *messenger);

/** Lists the received messages. Local; an empty list for NULL and before the first finish. */
eqp_messages_view eqp_messenger_came(const eqp_messenger *messenger);

/** Messages with data that this rank sent and received in the last exchange, and their bytes. Local. */
eqp_route_counts eqp_messenger_last_counts(const eqp_messenger *messenger);

#ifdef __cplusplus
}
#endif

#endif
