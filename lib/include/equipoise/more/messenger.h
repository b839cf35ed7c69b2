/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/messenger.h
 * \brief Messages of any length between ranks, exchange after exchange, while the ranks compute.
 *
 * Put, send, compute, finish: eqp_messenger_put() appends to the message for a rank, eqp_messenger_send() lets all of
 * them go, eqp_messenger_finish() waits for what comes, which eqp_messenger_came() shows. A rank does not have to know
 * who sends to it. Partners are remembered: as long as every rank sends to those to whom it has sent lately, an
 * exchange costs a message for each of them and an allreduce that blocks nobody, which carries the ranks' codes. A
 * message for somebody else is acknowledged before that. A partner that gets nothing for some exchanges is forgotten.
 * Ranks that know from whom something comes, as those do who have asked, need no allreduce at all:
 * eqp_messenger_answer().
 *
 * Memory for messages is kept. After EQP_ERR_MPI a messenger can only be freed. Codes travel with the data, as in
 * <equipoise/more/route.h>; the rules of <equipoise/more/comm.h> hold else.
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

/** What the ranks of a communicator send each other again and again. */
typedef struct eqp_messenger eqp_messenger;

/** What has come (borrowed from the messenger until its next send). */
typedef struct eqp_messages_view {
    int n;                /**< messages that have bytes */
    const int *rank;      /**< [n] who has sent each, ascending; NULL before a finish and after one that failed */
    const int64_t *bytes; /**< [n] >= 1 */
    const void *const
        *data; /**< [n] aligned for any type of up to 16 bytes; NULL where this rank had no memory for it */
} eqp_messages_view;

/** \param[in]  comm       duplicated. Collective.
 * \param[out] messenger  owned by the caller; eqp_messenger_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_messenger_create(MPI_Comm comm, eqp_messenger **messenger);

/** Frees one; NULL is legal. An exchange on its way is finished first. Collective. */
void eqp_messenger_free(eqp_messenger *messenger);

/** Appends to the message that the next send takes to a rank. Local, O(bytes) in the mean.
 * \param[in]  to     another rank
 * \param[in]  bytes  >= 0; multiples of 8 keep everything aligned for doubles
 * \param[out] room   address of a pointer that gets the place where the bytes are to be written, before the next put for that rank;
 *                    unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, or EQP_ERR_STATE between send and finish */
int eqp_messenger_put(eqp_messenger *messenger, int to, int64_t bytes, void *room);

/** Sends what was put; returns while it travels. Collective.
 * \param[in] code  EQP_OK, or why this rank has nothing to send: the finish returns it on all ranks
 * \return EQP_OK, EQP_ERR_ARGUMENT for NULL or EQP_ERR_STATE for an exchange on its way, of this rank alone, which sends
 *         nothing then; EQP_ERR_MPI */
int eqp_messenger_send(eqp_messenger *messenger, int code);

/** The same where each rank knows who sends to it: no rank waits for others than those. Messages that have no bytes
 * travel too. Collective.
 * \param[in] code       EQP_OK, or why this rank has nothing to send: its partners hear of it
 * \param[in] nto, to    [nto] other ranks, ascending, that wait for a message, among them all for which something was put
 * \param[in] nfrom, from [nfrom] other ranks, ascending, from which a message comes
 * \return as eqp_messenger_send(), EQP_ERR_ARGUMENT for other lists, too; something put for a rank that is not in `to` is a code EQP_ERR_ARGUMENT */
int eqp_messenger_answer(eqp_messenger *messenger, int code, int nto, const int *to, int nfrom, const int *from);

/** Takes in what is there, and moves on what this rank sends: call it now and then between send and finish. Local,
 * returns at once, but for a message that there is no memory for: then when all of that has come.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_messenger_progress(eqp_messenger *messenger);

/** Waits for all that comes. Collective.
 * \return after a send EQP_OK or the code of a rank, on all ranks, and where that is no EQP_OK nothing has come; after
 *         an answer this rank's code, or else that of a rank that sends to it. EQP_ERR_MEMORY may be this rank's alone,
 *         where it cannot hold what came. EQP_ERR_STATE without a send; EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_messenger_finish(eqp_messenger *messenger);

/** What has come. Local; nothing for NULL or before the first finish. */
eqp_messages_view eqp_messenger_came(const eqp_messenger *messenger);

/** What this rank has sent and received in the last exchange: messages that have bytes, and those bytes. Local. */
eqp_route_counts eqp_messenger_last_counts(const eqp_messenger *messenger);

#ifdef __cplusplus
}
#endif
#endif
