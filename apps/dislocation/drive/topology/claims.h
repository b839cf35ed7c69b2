/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to transact.c: contention of operations for nodes. */
#ifndef DD_CLAIMS_H
#define DD_CLAIMS_H

#include "transact.h"

enum { DD_ENTRY_WAITING, DD_ENTRY_GONE, DD_ENTRY_LOST, DD_ENTRY_IDLE, DD_ENTRY_DONE };

/* An operation that this rank runs if it gets its nodes. */
typedef struct dd_entry {
    dd_operation operation;
    int64_t first, n; /* its members */
    dd_tag new_tag;   /* the first */
    int state;
} dd_entry;

/* A node of an operation's patch. */
typedef struct dd_member {
    int64_t entry;
    int64_t order; /* in the patch */
    dd_tag tag;
    int home;
    dd_node node; /* owned; set once it is granted */
} dd_member;

typedef struct dd_transaction {
    dd_domain *domain;
    int fault; /* code of this rank itself, with its message */
    eqp_message message;
    dd_entry *entry; /* [n] owned, in the order of dd__operation_order() */
    int64_t n, room;
    dd_member *member; /* [nmembers] owned, by entry and place in the patch */
    int64_t nmembers, member_room;
} dd_transaction;

/* The priority of operations: as of strcmp(). Equal operations are the same one. */
int dd__operation_order(const dd_operation *a, const dd_operation *b);

/* Finds the members of waiting entries: base nodes and, if needed, neighbours; entries whose base nodes are gone are
 * marked. Collective. */
int dd__claims_meet(dd_transaction *t);
/* Claims all members: an entry either gets all of its nodes or is marked as lost. Collective. */
int dd__claims_contend(dd_transaction *t);

#endif
