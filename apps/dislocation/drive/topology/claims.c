/* SPDX-License-Identifier: BSD-3-Clause */
#include "claims.h"

#include "../outbox.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>

static int add_member(dd_transaction *t, int64_t entry, int64_t order, dd_tag tag, int home)
{
    int code;

    EQP_TRY(eqp_array_reserve(&t->member, &t->member_room, t->nmembers + 1, sizeof *t->member));
    t->member[t->nmembers++] = (dd_member){.entry = entry, .order = order, .tag = tag, .home = home};
done:
    return code;
}

typedef struct question {
    int64_t entry;
    dd_tag tag;
    int base;
    int neighbours;
} question;

typedef struct answer {
    int64_t entry;
    int base;
    int narms; /* names that follow; -1: no such node */
} answer;

typedef struct name {
    dd_tag tag;
    int64_t home;
} name;

static void answer_question(const dd_network *network, const question *asked, int rank, dd_outbox *out)
{
    const int64_t place = dd_network_find(network, asked->tag);
    const dd_node *node = place < 0 ? NULL : &network->node[place];
    const answer given = {asked->entry, asked->base, node == NULL ? -1 : asked->neighbours ? node->narms : 0};

    dd_outbox_add(out, rank, &given, sizeof given);
    for (int k = 0; k < given.narms; k++) {
        const name neighbour = {node->arm[k].tag, node->arm[k].home};
        dd_outbox_add(out, rank, &neighbour, sizeof neighbour);
    }
}

static int read_answers(dd_transaction *t, dd_inbox *in)
{
    int code = EQP_OK;

    while (code == EQP_OK && !dd_inbox_empty(in)) {
        answer given;
        code = dd_inbox_read(in, &given, sizeof given);
        if (code == EQP_OK && given.narms < 0) {
            t->entry[given.entry].state = DD_ENTRY_GONE;
        }
        for (int k = 0; code == EQP_OK && k < given.narms; k++) {
            name neighbour;
            code = dd_inbox_read(in, &neighbour, sizeof neighbour);
            if (code == EQP_OK) {
                code = add_member(t, given.entry, ((int64_t)(given.base + 1) << 32) + k, neighbour.tag,
                                  (int)neighbour.home);
            }
        }
    }
    return code;
}

/* Asks which base nodes still exist, and for the names of their neighbours. */
static int ask(dd_transaction *t)
{
    dd_outbox out = {0};
    dd_inbox in = {0}, asked = {0};
    const MPI_Comm comm = t->domain->comm;
    int code = EQP_OK;

    for (int64_t i = 0; i < t->n; i++) {
        const dd_operation *operation = &t->entry[i].operation;
        for (int b = 0; b < operation->nbase && t->entry[i].state == DD_ENTRY_WAITING; b++) {
            const question ask = {i, operation->base[b], b, operation->neighbours};
            dd_outbox_add(&out, operation->home[b], &ask, sizeof ask);
            dd_outbox_fail(&out, add_member(t, i, b, operation->base[b], operation->home[b]));
        }
    }
    code = dd_outbox_deliver(comm, &out, &asked);
    if (code != EQP_OK) {
        return code;
    }
    while (!dd_inbox_empty(&asked)) {
        const int sender = dd_inbox_sender(&asked);
        question one;
        code = dd_inbox_read(&asked, &one, sizeof one);
        dd_outbox_fail(&out, code);
        if (code != EQP_OK) {
            break;
        }
        answer_question(&t->domain->network, &one, sender, &out);
    }
    dd_inbox_free(&asked);
    EQP_TRY(dd_outbox_deliver(comm, &out, &in));
    EQP_TRY(eqp_agree(comm, read_answers(t, &in), NULL));
done:
    dd_inbox_free(&in);
    return code;
}

static int compare_members(const void *left, const void *right)
{
    const dd_member *a = left, *b = right;

    if (a->entry != b->entry) {
        return a->entry < b->entry ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* Sorts members by their patches and keeps each node once in each; drops those of operations that are gone. */
static void order_members(dd_transaction *t)
{
    int64_t kept = 0;

    if (t->nmembers > 1) {
        qsort(t->member, (size_t)t->nmembers, sizeof *t->member, compare_members);
    }
    for (int64_t i = 0; i < t->nmembers; i++) {
        dd_entry *of = &t->entry[t->member[i].entry];
        bool twice = of->state == DD_ENTRY_GONE;
        for (int64_t k = kept - of->n; k < kept && !twice; k++) {
            twice = t->member[k].tag == t->member[i].tag;
        }
        if (!twice) {
            of->first = kept - of->n;
            of->n++;
            t->member[kept++] = t->member[i];
        }
    }
    t->nmembers = kept;
}

int dd__claims_meet(dd_transaction *t)
{
    const int code = ask(t);

    if (code == EQP_OK) {
        order_members(t);
    }
    return code;
}

/* An operation's claim to a node. */
typedef struct claim {
    dd_operation operation;
    dd_tag tag;
    int64_t member;
    int64_t rank;
} claim;

typedef struct verdict {
    int64_t member;
    int64_t granted; /* the node follows */
} verdict;

static int compare_claims(const void *left, const void *right)
{
    const claim *a = left, *b = right;

    if (a->tag != b->tag) {
        return a->tag < b->tag ? -1 : 1;
    }
    return dd__operation_order(&a->operation, &b->operation);
}

static int read_claims(dd_inbox *in, int64_t *n, claim **claims)
{
    int code;

    *n = in->n / (int64_t)sizeof **claims;
    code = eqp_array_create(claims, *n, sizeof **claims);
    for (int64_t i = 0; code == EQP_OK && i < *n; i++) {
        const int sender = dd_inbox_sender(in);
        code = dd_inbox_read(in, &(*claims)[i], sizeof **claims);
        (*claims)[i].rank = sender;
    }
    if (code == EQP_OK && *n > 1) {
        qsort(*claims, (size_t)*n, sizeof **claims, compare_claims);
    }
    return code;
}

/* Grants each node to the first operation that claims it. */
static int judge(dd_transaction *t, dd_inbox *in, dd_outbox *out)
{
    const dd_network *network = &t->domain->network;
    claim *claims = NULL;
    int64_t n;
    int code = read_claims(in, &n, &claims);

    for (int64_t i = 0; code == EQP_OK && i < n; i++) {
        const int64_t place = dd_network_find(network, claims[i].tag);
        const verdict given = {claims[i].member, i == 0 || claims[i].tag != claims[i - 1].tag};
        if (place < 0) {
            eqp_message_set(&t->message, "node %u,%u: an arm leads to it, and it does not exist",
                            DD_TAG_DOMAIN(claims[i].tag), DD_TAG_INDEX(claims[i].tag));
            code = t->fault = EQP_ERR_INTERNAL;
        } else {
            dd_outbox_add(out, (int)claims[i].rank, &given, sizeof given);
        }
        if (code == EQP_OK && given.granted) {
            dd_outbox_add_node(out, (int)claims[i].rank, &network->node[place]);
        }
    }
    free(claims);
    return code;
}

static int read_verdicts(dd_transaction *t, dd_inbox *in)
{
    int code = EQP_OK;

    while (code == EQP_OK && !dd_inbox_empty(in)) {
        verdict given;
        code = dd_inbox_read(in, &given, sizeof given);
        if (code == EQP_OK && given.granted) {
            dd_member *of = &t->member[given.member];
            code = dd_inbox_read_node(in, &of->node);
            of->node.home = of->home;
        } else if (code == EQP_OK) {
            t->entry[t->member[given.member].entry].state = DD_ENTRY_LOST;
        }
    }
    return code;
}

int dd__claims_contend(dd_transaction *t)
{
    const MPI_Comm comm = t->domain->comm;
    dd_outbox out = {0};
    dd_inbox claims = {0}, verdicts = {0};
    int code;

    for (int64_t i = 0; i < t->nmembers; i++) {
        const dd_member *of = &t->member[i];
        const claim wanted = {t->entry[of->entry].operation, of->tag, i, 0};
        dd_outbox_add(&out, of->home, &wanted, sizeof wanted);
    }
    code = dd_outbox_deliver(comm, &out, &claims);
    if (code == EQP_OK) {
        dd_outbox_fail(&out, judge(t, &claims, &out));
        code = dd_outbox_deliver(comm, &out, &verdicts);
    }
    dd_inbox_free(&claims);
    if (code == EQP_OK) {
        code = eqp_agree(comm, read_verdicts(t, &verdicts), NULL);
    }
    dd_inbox_free(&verdicts);
    return code;
}
