/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of the network's topology across ranks. An operation is a pure function of a patch: a few nodes with all of
 * their data. Patches travel to the ranks that run operations, results to the nodes' homes. Among operations that claim
 * the same node the one with the smallest key goes ahead, whoever asked and wherever the node lives, so the resulting
 * network does not depend on the ranks (the local-minimum rule of parallel independent sets: M. Luby, SIAM J. Comput.
 * 15 (1986) 1036). */
#ifndef DD_TRANSACT_H
#define DD_TRANSACT_H

#include "../../physics/network/node.h"
#include "../domain.h"

#define DD_OPERATION_BASES 4

/* Zero it before use: it is sent as bytes. */
typedef struct dd_operation {
    uint64_t key;                    /* the smallest goes ahead: dd_operation_key() */
    dd_tag base[DD_OPERATION_BASES]; /* distinct nodes, in the operation's order; it runs at the home of base[0] */
    int home[DD_OPERATION_BASES];    /* their homes */
    int kind;
    int nbase;       /* 1 to 4 */
    int nnew;        /* new tags that it may use, 0 to DD_PATCH_NEW */
    bool neighbours; /* the base nodes are followed by all of their neighbours, in the order of arms */
} dd_operation;

/* A key from kind and base nodes: random bits that change with the step. Local. */
uint64_t dd_operation_key(uint64_t step, const dd_operation *operation);

/* Runs an operation. *done: false at first; if it stays false the patch is discarded. Arms need no homes. An error ends
 * the transaction on all ranks with this code and message. */
typedef int (*dd_operation_fn)(const dd_operation *operation, dd_patch *patch, void *context, bool *done,
                               eqp_message *message);

/* Over all ranks; an operation that several ranks propose counts once. */
typedef struct dd_transact_counts {
    int64_t done; /* that changed something */
    int64_t lost; /* to other operations, in all rounds */
} dd_transact_counts;

/* In each round every operation that has all of its nodes is carried out; the rest compete again in the next round, on
 * the changed network. New nodes live where their operation ran. New tags go to operations by key, and next_tag moves
 * past all reserved ones, used or not. The order of the network's nodes changes; homes of other nodes do not. wanted:
 * [n] (borrowed), all that this rank knows of, including those that run elsewhere. rounds: at most; >= 1, the same on
 * all ranks. counts: unchanged on error. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW (no tags left, a patch that is too
 * large), EQP_ERR_INTERNAL (an arm to a missing node), or an operation's code; after an error the domain may only be
 * freed. Collective; the same code on all ranks. */
int dd_transact(dd_domain *domain, int64_t n, const dd_operation *wanted, int rounds, dd_operation_fn run,
                void *context, dd_transact_counts *counts, eqp_message *message);

#endif
