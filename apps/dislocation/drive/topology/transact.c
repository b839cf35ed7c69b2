/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology.h"

/* Limit of tag indices, since readers of ParaDiS files store them as int. */
#define INDEX_END ((uint64_t)1 << 31)

enum { ENTRY_WAITING, ENTRY_GONE, ENTRY_LOST, ENTRY_IDLE, ENTRY_DONE };

/* News of a round, as a number of which all ranks get the largest: some entry has lost, else some entry is done,
 * else the next phase, as its distance from PHASES_END; 0: no more entries. */
enum { PHASES_END = 1 << 8, TOLD_DONE = PHASES_END << 1, TOLD_LOST = TOLD_DONE << 1 };

/* An operation that this rank runs if it gets its nodes. */
typedef struct contender {
    dd_operation operation;
    int64_t first, n; /* its members */
    dd_tag new_tag;   /* the first */
    int state;
} contender;

typedef struct member {
    int64_t entry, order; /* order: in the patch */
    dd_tag tag;
    int home;
    dd_node node; /* owned; set once it is granted */
} member;

typedef struct transaction {
    dd_domain *domain;
    int fault; /* code of this rank itself, with its message */
    eqp_message message;
    contender *entry; /* [n] owned, in the order of by_priority() */
    int64_t n;
    int64_t begin, end; /* the present phase's entries */
    int64_t tickets;    /* > 0: some rank asks for new tags */
    int64_t reserved;   /* new tags of all ranks */
    member *member;     /* [nmembers] owned, by entry and place in the patch */
    int64_t nmembers, member_room;
} transaction;

/* Priority of operations, or of structs that begin with one, as of strcmp(). 0: the same operation. */
static int by_priority(const void *left, const void *right)
{
    const dd_operation *a = left, *b = right;

    if (a->phase != b->phase) {
        return a->phase - b->phase;
    }
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    for (int i = 0; i < DD_OPERATION_BASES; i++) {
        if (a->base[i] != b->base[i]) {
            return a->base[i] < b->base[i] ? -1 : 1;
        }
    }
    return a->kind != b->kind ? a->kind - b->kind : a->nbase - b->nbase;
}

static int add_member(transaction *t, int64_t entry, int64_t order, dd_tag tag, int home)
{
    EQP_CHECK(eqp_array_reserve(&t->member, &t->member_room, t->nmembers + 1, sizeof *t->member));
    t->member[t->nmembers++] = (member){.entry = entry, .order = order, .tag = tag, .home = home};
    return EQP_OK;
}

/* Delivers questions, lets their receivers answer, and reads the answers. asked, answered: numbers that travel along,
 * as of dd_outbox_deliver_own(). Collective; returns this rank's code, or one of all ranks. */
static int consult(transaction *t, dd_outbox *out, int (*answer)(transaction *t, dd_inbox *in, dd_outbox *out),
                   int (*read)(transaction *t, dd_inbox *in), int64_t *asked, int64_t *answered)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox questions = {0};
    DD_FREED_BY(dd_inbox_free) dd_inbox answers = {0};
    int code = dd_outbox_deliver_own(t->domain->comm, out, asked, &questions);

    dd_outbox_fail(out, code == EQP_OK ? answer(t, &questions, out) : code);
    code = dd_outbox_deliver_own(t->domain->comm, out, answered, &answers);
    return code == EQP_OK ? read(t, &answers) : code;
}

typedef struct question {
    int64_t entry;
    dd_tag tag;
    int base, rank;
    int64_t neighbours;
} question;

typedef struct answer {
    int64_t entry;
    int base;
    int narms; /* arms that follow; -1: no such node */
} answer;

static int answer_all(transaction *t, dd_inbox *in, dd_outbox *out)
{
    for (const question *asked; (asked = dd_inbox_next(in, sizeof *asked)) != NULL;) {
        const int64_t place = dd_network_find(&t->domain->network, asked->tag);
        const dd_node *node = place < 0 ? NULL : &t->domain->network.node[place];
        const answer given = {asked->entry, asked->base, node == NULL ? -1 : asked->neighbours ? node->narms : 0};
        dd_outbox_add(out, asked->rank, &given, sizeof given);
        if (given.narms > 0) {
            dd_outbox_add(out, asked->rank, node->arm, (size_t)given.narms * sizeof *node->arm);
        }
    }
    return EQP_OK;
}

static int read_answers(transaction *t, dd_inbox *in)
{
    for (const answer *given; (given = dd_inbox_next(in, sizeof *given)) != NULL;) {
        if (given->narms < 0) {
            t->entry[given->entry].state = ENTRY_GONE;
            continue;
        }
        const dd_arm *arm = dd_inbox_next(in, (size_t)given->narms * sizeof *arm);
        for (int k = 0; k < given->narms; k++) {
            EQP_CHECK(add_member(t, given->entry, ((int64_t)(given->base + 1) << 32) + k, arm[k].tag, arm[k].home));
        }
    }
    return EQP_OK;
}

/* Asks which base nodes still exist, and for the tags of their neighbours. */
static int ask(transaction *t, int code)
{
    dd_outbox out = {.code = code};

    for (int64_t i = t->begin; i < t->end; i++) {
        const dd_operation *operation = &t->entry[i].operation;
        for (int b = 0; b < operation->nbase && t->entry[i].state == ENTRY_WAITING; b++) {
            const question one = {i, operation->base[b], b, t->domain->rank, operation->neighbours};
            dd_outbox_add(&out, operation->home[b], &one, sizeof one);
            dd_outbox_fail(&out, add_member(t, i, b, operation->base[b], operation->home[b]));
        }
    }
    return consult(t, &out, answer_all, read_answers, NULL, NULL);
}

/* Sorts members by patch, each node once in each; drops members of operations that are gone. */
static void order_members(transaction *t)
{
    int64_t kept = 0;

    dd_sort(t->member, t->nmembers, sizeof *t->member, dd_by_2_words);
    for (int64_t i = 0; i < t->nmembers; i++) {
        contender *of = &t->entry[t->member[i].entry];
        bool twice = of->state == ENTRY_GONE;
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

typedef struct claim {
    dd_operation operation;
    dd_tag tag;
    int64_t member, rank;
} claim;

typedef struct verdict {
    int64_t member;
    int64_t granted; /* the node follows */
} verdict;

static int compare_claims(const void *left, const void *right)
{
    const claim *a = left, *b = right;

    return a->tag != b->tag ? (a->tag > b->tag) - (a->tag < b->tag) : by_priority(a, b);
}

static int judge(transaction *t, dd_inbox *in, dd_outbox *out)
{
    const int64_t n = in->n * (int64_t)sizeof *in->word / (int64_t)sizeof(claim);
    claim *claims = dd_inbox_next(in, (size_t)n * sizeof *claims);

    dd_sort(claims, n, sizeof *claims, compare_claims);
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = dd_network_find(&t->domain->network, claims[i].tag);
        const verdict given = {claims[i].member, i == 0 || claims[i].tag != claims[i - 1].tag};
        if (place < 0) {
            eqp_message_set(&t->message, "node %u,%u: an arm leads to it, and it does not exist",
                            DD_TAG_DOMAIN(claims[i].tag), DD_TAG_INDEX(claims[i].tag));
            return t->fault = EQP_ERR_INTERNAL;
        }
        dd_outbox_add(out, (int)claims[i].rank, &given, sizeof given);
        if (given.granted) {
            dd_outbox_add_node(out, (int)claims[i].rank, &t->domain->network.node[place]);
        }
    }
    return EQP_OK;
}

static int read_verdicts(transaction *t, dd_inbox *in)
{
    for (const verdict *given; (given = dd_inbox_next(in, sizeof *given)) != NULL;) {
        member *of = &t->member[given->member];
        if (given->granted) {
            EQP_CHECK(dd_inbox_read_node(in, &of->node));
            of->node.home = of->home;
        } else {
            t->entry[of->entry].state = ENTRY_LOST;
        }
    }
    return EQP_OK;
}

/* Claims all members: an entry either gets all of its nodes or is marked as lost. Collective. */
static int contend(transaction *t, int code)
{
    dd_outbox out = {.code = code};

    t->tickets = 0;
    for (int64_t i = t->begin; i < t->end; i++) {
        t->tickets += t->entry[i].state == ENTRY_WAITING && t->entry[i].operation.nnew > 0;
    }
    for (int64_t i = 0; i < t->nmembers; i++) {
        const member *of = &t->member[i];
        const claim wanted = {t->entry[of->entry].operation, of->tag, i, t->domain->rank};
        dd_outbox_add(&out, of->home, &wanted, sizeof wanted);
    }
    return consult(t, &out, judge, read_verdicts, &t->tickets, NULL);
}

static int read_operations(transaction *t, dd_inbox *in)
{
    const int64_t n = in->n * (int64_t)sizeof *in->word / (int64_t)sizeof(dd_operation);

    EQP_CHECK(eqp_array_create(&t->entry, n, sizeof *t->entry));
    for (int64_t i = 0; i < n; i++) {
        t->entry[i].operation = *(const dd_operation *)dd_inbox_next(in, sizeof(dd_operation));
    }
    dd_sort(t->entry, n, sizeof *t->entry, by_priority);
    for (int64_t i = 0; i < n; i++) {
        if (t->n == 0 || by_priority(&t->entry[t->n - 1], &t->entry[i]) != 0) {
            t->entry[t->n++] = t->entry[i];
        }
    }
    return EQP_OK;
}

/* *told: the first phase, as after a round. */
static int collect(transaction *t, int code, int64_t n, const dd_operation *wanted, int64_t *told)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    dd_outbox out = {.code = code};

    *told = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t left = PHASES_END - wanted[i].phase;
        *told = left > *told ? left : *told;
        dd_outbox_add(&out, wanted[i].home[0], &wanted[i], sizeof wanted[i]);
    }
    EQP_CHECK(dd_outbox_deliver_own(t->domain->comm, &out, told, &in));
    return read_operations(t, &in);
}

typedef struct ticket {
    dd_operation operation;
    int64_t entry, rank;
} ticket;

static dd_tag tag_behind(dd_tag tag, int64_t number)
{
    const uint64_t index = (uint64_t)DD_TAG_INDEX(tag) + (uint64_t)number;

    return DD_TAG(DD_TAG_DOMAIN(tag) + index / INDEX_END, index % INDEX_END);
}

typedef struct reservation {
    int64_t entry, before; /* tags reserved before it */
} reservation;

/* Reserves new tags by key; all tickets come to one rank. */
static int reserve_tags(transaction *t, dd_inbox *in, dd_outbox *out)
{
    const int64_t n = in->n * (int64_t)sizeof *in->word / (int64_t)sizeof(ticket);
    ticket *tickets = dd_inbox_next(in, (size_t)n * sizeof *tickets);

    dd_sort(tickets, n, sizeof *tickets, by_priority);
    for (int64_t i = 0; i < n; i++) {
        const reservation one = {tickets[i].entry, t->reserved};
        dd_outbox_add(out, (int)tickets[i].rank, &one, sizeof one);
        t->reserved += tickets[i].operation.nnew;
    }
    if (DD_TAG_DOMAIN(tag_behind(t->domain->next_tag, t->reserved)) >= INDEX_END) {
        eqp_message_set(&t->message, "no tags are left for new nodes");
        return t->fault = EQP_ERR_OVERFLOW;
    }
    return EQP_OK;
}

static int read_reservations(transaction *t, dd_inbox *in)
{
    for (const reservation *one; (one = dd_inbox_next(in, sizeof *one)) != NULL;) {
        t->entry[one->entry].new_tag = tag_behind(t->domain->next_tag, one->before);
    }
    return EQP_OK;
}

/* Assigns new tags by key. */
static int number(transaction *t, int code)
{
    dd_outbox out = {.code = code};

    if (t->tickets <= 0) { /* on all ranks */
        return code;
    }
    for (int64_t i = t->begin; i < t->end; i++) {
        const ticket one = {t->entry[i].operation, i, t->domain->rank};
        if (t->entry[i].state == ENTRY_WAITING && one.operation.nnew > 0) {
            dd_outbox_add(&out, 0, &one, sizeof one);
        }
    }
    t->reserved = 0;
    code = consult(t, &out, reserve_tags, read_reservations, NULL, &t->reserved);
    t->domain->next_tag = tag_behind(t->domain->next_tag, t->reserved > 0 ? t->reserved : 0);
    return code;
}

/* Label of new nodes, so that a late map moves them with the nodes they were made of. */
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

static int fill_patch(transaction *t, const contender *of, dd_patch *patch)
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

static int run_one(transaction *t, contender *of, dd_operation_fn run, void *context, dd_patch *patch, dd_outbox *out)
{
    bool done = false;
    int code = fill_patch(t, of, patch);

    if (code == EQP_OK) {
        code = t->fault = run(&of->operation, patch, context, &done);
    }
    if (code == EQP_OK) {
        of->state = done ? ENTRY_DONE : ENTRY_IDLE;
        if (done) {
            settle(patch, t->domain->rank);
            send_results(patch, out);
        }
    } else if (t->message.text[0] == '\0') {
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

    for (const result *told; (told = dd_inbox_next(in, sizeof *told)) != NULL;) {
        const int64_t place = dd_network_find(network, told->tag);
        DD_FREED_BY(dd_node_free) dd_node node = {0}; /* empty once the network has it */
        if (told->deleted) {
            if (place >= 0) {
                dd_network_remove(network, place);
            }
            continue;
        }
        EQP_CHECK(dd_inbox_read_node(in, &node));
        node.home = domain->rank;
        if (place >= 0) {
            dd_node_free(&network->node[place]);
            network->node[place] = node;
            node = (dd_node){0};
        } else {
            EQP_CHECK(dd_network_add(network, &node));
        }
    }
    return EQP_OK;
}

/* This rank's news of the round. */
static int64_t news_of(const transaction *t)
{
    const int64_t left = t->end < t->n ? PHASES_END - t->entry[t->end].operation.phase : 0;
    bool done = false, lost = false;

    for (int64_t i = t->begin; i < t->end; i++) {
        done = done || t->entry[i].state == ENTRY_DONE;
        lost = lost || t->entry[i].state == ENTRY_LOST;
    }
    return left + (done ? TOLD_DONE : 0) + (lost ? TOLD_LOST : 0);
}

/* Runs the operations that go ahead and sends the results home. */
static int carry_out(transaction *t, int code, dd_operation_fn run, void *context, int64_t *told)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    DD_FREED dd_patch *patch = NULL;
    dd_outbox out = {0};

    code = code == EQP_OK ? eqp_array_create(&patch, 1, sizeof *patch) : code;
    for (int64_t i = t->begin; code == EQP_OK && i < t->end; i++) {
        if (t->entry[i].state == ENTRY_WAITING) {
            code = run_one(t, &t->entry[i], run, context, patch, &out);
        }
    }
    *told = news_of(t);
    dd_outbox_fail(&out, code);
    EQP_CHECK(dd_outbox_deliver_own(t->domain->comm, &out, told, &in));
    return apply_results(t->domain, &in);
}

static int contend_once(transaction *t, int code, dd_operation_fn run, void *context, int64_t *told)
{
    for (int64_t i = t->begin; i < t->end; i++) {
        t->entry[i].first = t->entry[i].n = 0;
        if (t->entry[i].state == ENTRY_LOST) {
            t->entry[i].state = ENTRY_WAITING;
        }
    }
    code = ask(t, code);
    order_members(t);
    code = contend(t, code);
    code = number(t, code);
    code = carry_out(t, code, run, context, told);
    for (int64_t i = 0; i < t->nmembers; i++) {
        dd_node_free(&t->member[i].node);
    }
    t->nmembers = 0;
    return code;
}

static void take_phase(transaction *t, int phase)
{
    for (t->begin = t->end; t->begin < t->n && t->entry[t->begin].operation.phase < phase; t->begin++) {
    }
    for (t->end = t->begin; t->end < t->n && t->entry[t->end].operation.phase == phase; t->end++) {
    }
}

int dd_transact(dd_domain *domain, int code, int64_t n, const dd_operation *wanted, int rounds, dd_operation_fn run,
                void *context, dd_transact_counts *counts, eqp_message *message)
{
    transaction t = {.domain = domain, .message = {""}};
    dd_transact_counts made = {.phase = -1};
    int64_t told = 0;

    code = collect(&t, code, n, wanted, &told);
    while (told > 0 && told < TOLD_DONE) {
        int r = 0;
        made.phase = PHASES_END - (int)told;
        take_phase(&t, made.phase);
        do {
            code = contend_once(&t, code, run, context, &told);
        } while (told >= TOLD_LOST && ++r < rounds);
    }
    made.changed = told >= TOLD_DONE;
    made.failed = told == INT64_MIN;
    for (int64_t i = 0; i < t.n; i++) {
        made.lost += t.entry[i].state == ENTRY_LOST;
    }
    if (t.fault != EQP_OK) {
        *message = t.message;
    }
    free(t.member);
    free(t.entry);
    *counts = made;
    return code;
}
