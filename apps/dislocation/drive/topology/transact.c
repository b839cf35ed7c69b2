/* SPDX-License-Identifier: BSD-3-Clause */
#include "transact.h"

#include "../outbox.h"
#include "claims.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>

#include <stdlib.h>
#include <string.h>

/* Limit of tag indices: readers of ParaDiS files take them for int. */
#define INDEX_END ((uint64_t)1 << 31)

uint64_t dd_operation_key(uint64_t step, const dd_operation *operation)
{
    uint64_t key = eqp_random_bits(step, (uint64_t)operation->kind, (uint64_t)operation->nbase);

    for (int b = 0; b < operation->nbase; b++) {
        key = eqp_random_bits(key, operation->base[b], (uint64_t)b);
    }
    return key;
}

int dd__operation_order(const dd_operation *a, const dd_operation *b)
{
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    for (int i = 0; i < DD_OPERATION_BASES; i++) {
        if (a->base[i] != b->base[i]) {
            return a->base[i] < b->base[i] ? -1 : 1;
        }
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return (a->nbase > b->nbase) - (a->nbase < b->nbase);
}

static int compare_entries(const void *left, const void *right)
{
    return dd__operation_order(&((const dd_entry *)left)->operation, &((const dd_entry *)right)->operation);
}

static int read_operations(dd_transaction *t, dd_inbox *in)
{
    int64_t kept = 0;

    while (!dd_inbox_empty(in)) {
        int code = eqp_array_reserve(&t->entry, &t->room, t->n + 1, sizeof *t->entry);
        if (code == EQP_OK) {
            t->entry[t->n] = (dd_entry){.state = DD_ENTRY_WAITING};
            code = dd_inbox_read(in, &t->entry[t->n].operation, sizeof(dd_operation));
        }
        if (code != EQP_OK) {
            return code;
        }
        t->n++;
    }
    if (t->n > 1) {
        qsort(t->entry, (size_t)t->n, sizeof *t->entry, compare_entries);
    }
    for (int64_t i = 0; i < t->n; i++) {
        if (kept == 0 || compare_entries(&t->entry[kept - 1], &t->entry[i]) != 0) {
            t->entry[kept++] = t->entry[i];
        }
    }
    t->n = kept;
    return EQP_OK;
}

/* Sends operations to the ranks that run them. */
static int collect(dd_transaction *t, int64_t n, const dd_operation *wanted)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    int code;

    for (int64_t i = 0; i < n; i++) {
        dd_outbox_add(&out, wanted[i].home[0], &wanted[i], sizeof wanted[i]);
    }
    EQP_TRY(dd_outbox_deliver(t->domain->comm, &out, &in));
    EQP_TRY(eqp_agree(t->domain->comm, read_operations(t, &in), NULL));
done:
    dd_inbox_free(&in);
    return code;
}

/* An operation that goes ahead and needs new tags. */
typedef struct ticket {
    dd_operation operation;
    int64_t entry;
    int64_t rank;
} ticket;

static int compare_tickets(const void *left, const void *right)
{
    return dd__operation_order(&((const ticket *)left)->operation, &((const ticket *)right)->operation);
}

/* The tag `number` places after another one. */
static dd_tag tag_behind(dd_tag tag, int64_t number)
{
    const uint64_t index = (uint64_t)DD_TAG_INDEX(tag) + (uint64_t)number;

    return DD_TAG(DD_TAG_DOMAIN(tag) + index / INDEX_END, index % INDEX_END);
}

static int tickets_of(const dd_transaction *t, int64_t *n, ticket **mine)
{
    int code = eqp_array_create(mine, t->n, sizeof **mine);

    *n = 0;
    for (int64_t i = 0; code == EQP_OK && i < t->n; i++) {
        if (t->entry[i].state == DD_ENTRY_WAITING && t->entry[i].operation.nnew > 0) {
            (*mine)[(*n)++] = (ticket){t->entry[i].operation, i, t->domain->rank};
        }
    }
    return code;
}

/* Assigns new tags by key: all ranks count alike. */
static int number(dd_transaction *t)
{
    ticket *mine = NULL, *all = NULL;
    int64_t n = 0, total = 0, reserved = 0;
    int code;

    EQP_TRY(eqp_agree(t->domain->comm, tickets_of(t, &n, &mine), NULL));
    EQP_TRY(eqp_gather_records(t->domain->comm, sizeof *mine, n, mine, &total, &all));
    if (total > 1) {
        qsort(all, (size_t)total, sizeof *all, compare_tickets);
    }
    for (int64_t i = 0; i < total; i++) {
        if (all[i].rank == t->domain->rank) {
            t->entry[all[i].entry].new_tag = tag_behind(t->domain->next_tag, reserved);
        }
        reserved += all[i].operation.nnew;
    }
    if (DD_TAG_DOMAIN(tag_behind(t->domain->next_tag, reserved)) >= INDEX_END) {
        eqp_message_set(&t->message, "no tags are left for new nodes");
        EQP_TRY(t->fault = EQP_ERR_OVERFLOW);
    }
    t->domain->next_tag = tag_behind(t->domain->next_tag, reserved);
done:
    free(mine);
    free(all);
    return code;
}

/* The label of new nodes, so that a late map moves them with the nodes they were made of. */
static int64_t label_of(const dd_patch *patch)
{
    for (int i = 0; i < patch->n; i++) {
        if (!patch->at[i].created) {
            return patch->at[i].node.label;
        }
    }
    return 0;
}

/* Sets the homes of new nodes, and of neighbours in changed arms. */
static void settle(dd_patch *patch, int rank)
{
    for (int i = 0; i < patch->n; i++) {
        if (patch->at[i].created) {
            patch->at[i].changed = true;
            patch->at[i].node.home = rank;
            patch->at[i].node.order = patch->at[i].node.split = -1;
            patch->at[i].node.label = label_of(patch);
        }
    }
    for (int i = 0; i < patch->n; i++) {
        dd_node *node = &patch->at[i].node;
        for (int k = 0; k < node->narms && patch->at[i].changed; k++) {
            const dd_patch_node *neighbour = dd_patch_find(patch, node->arm[k].tag);
            if (neighbour != NULL) {
                node->arm[k].home = neighbour->node.home;
            }
        }
    }
}

/* The result of an operation for a node. */
typedef struct result {
    dd_tag tag;
    int64_t deleted; /* 0: the node follows */
} result;

static void send_results(dd_patch *patch, dd_outbox *out)
{
    for (int i = 0; i < patch->n; i++) {
        const dd_patch_node *at = &patch->at[i];
        const result told = {at->node.tag, at->deleted};
        if (at->deleted && !at->created) {
            dd_outbox_add(out, at->node.home, &told, sizeof told);
        } else if (at->changed && !at->deleted) {
            dd_outbox_add(out, at->node.home, &told, sizeof told);
            dd_outbox_add_node(out, at->node.home, &at->node);
        }
    }
}

static int fill_patch(dd_transaction *t, const dd_entry *of, dd_patch *patch)
{
    dd_patch_init(patch, t->domain->low, t->domain->box);
    if (of->n > DD_PATCH_NODES - DD_PATCH_NEW) {
        eqp_message_set(&t->message, "node %u,%u: too many neighbours", DD_TAG_DOMAIN(of->operation.base[0]),
                        DD_TAG_INDEX(of->operation.base[0]));
        return t->fault = EQP_ERR_OVERFLOW;
    }
    for (int64_t i = of->first; i < of->first + of->n; i++) {
        patch->at[patch->n++] = (dd_patch_node){.node = t->member[i].node};
        t->member[i].node = (dd_node){0};
    }
    for (int k = 0; k < of->operation.nnew; k++) {
        patch->new_tag[k] = tag_behind(of->new_tag, k);
    }
    return EQP_OK;
}

static int run_one(dd_transaction *t, dd_entry *of, dd_operation_fn run, void *context, dd_patch *patch, dd_outbox *out)
{
    bool done = false;
    int code = fill_patch(t, of, patch);

    if (code == EQP_OK) {
        code = run(&of->operation, patch, context, &done, &t->message);
        t->fault = code;
    }
    EQP_TRY(code);
    of->state = done ? DD_ENTRY_DONE : DD_ENTRY_IDLE;
    if (done) {
        settle(patch, t->domain->rank);
        send_results(patch, out);
    }
done:
    if (code != EQP_OK && t->message.text[0] == '\0') {
        eqp_message_set(&t->message, "operation of kind %d at node %u,%u: %s", of->operation.kind,
                        DD_TAG_DOMAIN(of->operation.base[0]), DD_TAG_INDEX(of->operation.base[0]),
                        eqp_error_text(code));
    }
    dd_patch_free(patch);
    return code;
}

static int apply_results(dd_domain *domain, dd_inbox *in)
{
    dd_network *network = &domain->network;
    int code = EQP_OK;

    while (code == EQP_OK && !dd_inbox_empty(in)) {
        dd_node node = {0};
        int64_t place;
        result told;
        code = dd_inbox_read(in, &told, sizeof told);
        if (code != EQP_OK) {
            break;
        }
        place = dd_network_find(network, told.tag);
        if (told.deleted && place >= 0) {
            dd_network_remove(network, place);
        } else if (!told.deleted) {
            code = dd_inbox_read_node(in, &node);
            node.home = domain->rank;
        }
        if (code == EQP_OK && !told.deleted && place >= 0) {
            dd_node_free(&network->node[place]);
            network->node[place] = node;
        } else if (code == EQP_OK && !told.deleted) {
            code = dd_network_add(network, &node);
            if (code != EQP_OK) {
                dd_node_free(&node);
            }
        }
    }
    return code;
}

/* Runs the operations that go ahead and sends the results home. */
static int carry_out(dd_transaction *t, dd_operation_fn run, void *context)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    dd_patch *patch = NULL;
    int code = eqp_array_create(&patch, 1, sizeof *patch);

    for (int64_t i = 0; code == EQP_OK && i < t->n; i++) {
        if (t->entry[i].state == DD_ENTRY_WAITING) {
            code = run_one(t, &t->entry[i], run, context, patch, &out);
        }
    }
    free(patch);
    dd_outbox_fail(&out, code);
    EQP_TRY(dd_outbox_deliver(t->domain->comm, &out, &in));
    EQP_TRY(eqp_agree(t->domain->comm, apply_results(t->domain, &in), NULL));
done:
    dd_inbox_free(&in);
    return code;
}

static int count(const dd_transaction *t, dd_transact_counts *counts)
{
    int64_t number[2] = {0, 0};
    int code;

    for (int64_t i = 0; i < t->n; i++) {
        number[0] += t->entry[i].state == DD_ENTRY_DONE;
        number[1] += t->entry[i].state == DD_ENTRY_LOST;
    }
    EQP_TRY(eqp_sum_int64(t->domain->comm, 2, number));
    *counts = (dd_transact_counts){.done = number[0], .lost = number[1]};
done:
    return code;
}

/* Passes the message of the failing rank to all ranks. */
static int explain(dd_transaction *t, int code, eqp_message *message)
{
    const int mine = t->fault == EQP_OK ? EQP_ERR_REMOTE : t->fault;

    if (code == EQP_OK || code == EQP_ERR_MPI || eqp_agree(t->domain->comm, mine, &t->message) == EQP_ERR_REMOTE) {
        return code;
    }
    eqp_message_set(message, "%s", t->message.text);
    return code;
}

static void drop_members(dd_transaction *t)
{
    for (int64_t i = 0; i < t->nmembers; i++) {
        dd_node_free(&t->member[i].node);
    }
    t->nmembers = 0;
}

/* One round: operations that lost before try again. */
static int contend_once(dd_transaction *t, dd_operation_fn run, void *context)
{
    int code;

    for (int64_t i = 0; i < t->n; i++) {
        t->entry[i].first = t->entry[i].n = 0;
        if (t->entry[i].state == DD_ENTRY_LOST) {
            t->entry[i].state = DD_ENTRY_WAITING;
        }
    }
    EQP_TRY(dd__claims_meet(t));
    EQP_TRY(dd__claims_contend(t));
    EQP_TRY(number(t));
    EQP_TRY(carry_out(t, run, context));
done:
    drop_members(t);
    return code;
}

int dd_transact(dd_domain *domain, int64_t n, const dd_operation *wanted, int rounds, dd_operation_fn run,
                void *context, dd_transact_counts *counts, eqp_message *message)
{
    dd_transaction t = {.domain = domain, .message = {""}};
    dd_transact_counts made = {.lost = 1};
    int code = collect(&t, n, wanted);

    for (int r = 0; r < rounds && made.lost > 0 && code == EQP_OK; r++) {
        code = contend_once(&t, run, context);
        if (code == EQP_OK) {
            code = count(&t, &made);
        }
    }
    code = explain(&t, code, message);
    free(t.member);
    free(t.entry);
    if (code == EQP_OK) {
        *counts = made;
    }
    return code;
}
