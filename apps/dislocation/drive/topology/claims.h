/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to transact.c: operations that contend for nodes. */
#ifndef DD_CLAIMS_H
#define DD_CLAIMS_H

#include "transact.h"

enum { DD_ENTRY_WAITING, DD_ENTRY_GONE, DD_ENTRY_LOST, DD_ENTRY_IDLE, DD_ENTRY_DONE };

/* An operation that this rank runs if it may. */
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
    dd_node node; /* owned; there once it is granted */
} dd_member;

typedef struct dd_transaction {
    dd_domain *domain;
    int fault; /* of this rank itself, with its message */
    eqp_message message;
    dd_entry *entry; /* [n] owned, in the order of dd__operation_order() */
    int64_t n, room;
    dd_member *member; /* [nmembers] owned, by entry and place in the patch */
    int64_t nmembers, member_room;
} dd_transaction;

/* The order in which operations go ahead: as of strcmp(). Operations that are equal are the same one. */
int dd__operation_order(const dd_operation *a, const dd_operation *b);

/* Makes the members of entries that wait, and still can: base nodes, neighbours where wanted. Collective. */
int dd__claims_meet(dd_transaction *t);
/* Asks for all members; entries that do not get all of theirs have lost, the others have them. Collective. */
int dd__claims_contend(dd_transaction *t);

#endif
