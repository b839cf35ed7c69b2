/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <stdio.h>

#define BLOCK 4096 /* nodes sent to rank 0 at a time */

/* This rank's range of nodes in the order of the file: copies. */
typedef struct run {
    int64_t n, room;
    dd_node *node; /* [room] owned */
} run;

static void run_free(run *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        dd_node_free(&r->node[i]);
    }
    free(r->node);
}

static int by_place(const void *left, const void *right)
{
    const uint64_t a = dd_output_place(left), b = dd_output_place(right);

    return (a > b) - (a < b);
}

/* A node by its place in the file. */
typedef struct placed {
    uint64_t place;
    const dd_node *node;
} placed;

static int list_places(const dd_domain *domain, placed **list, uint64_t **key, int **dest)
{
    const int64_t n = domain->network.n;

    EQP_CHECK(eqp_array_create(list, n, sizeof **list));
    EQP_CHECK(eqp_array_create(key, n, sizeof **key));
    EQP_CHECK(eqp_array_create(dest, n, sizeof **dest));
    for (int64_t i = 0; i < n; i++) {
        (*list)[i] = (placed){dd_output_place(&domain->network.node[i]), &domain->network.node[i]};
    }
    dd_sort(*list, n, sizeof **list, dd_by_word);
    for (int64_t i = 0; i < n; i++) {
        (*key)[i] = (*list)[i].place;
    }
    return EQP_OK;
}

static int receive_run(void *user, dd_inbox *in)
{
    run *r = user;

    while (!dd_inbox_empty(in)) {
        EQP_CHECK(eqp_array_reserve(&r->node, &r->room, r->n + 1, sizeof *r->node));
        r->node[r->n] = (dd_node){0};
        EQP_CHECK(dd_inbox_read_node(in, &r->node[r->n]));
        r->n++;
    }
    dd_sort(r->node, r->n, sizeof *r->node, by_place);
    return EQP_OK;
}

/* Deals the nodes out in the order of the file, equally many to each rank. */
static int make_run(const dd_domain *domain, run *r)
{
    DD_FREED placed *list = NULL;
    DD_FREED uint64_t *key = NULL;
    DD_FREED int *dest = NULL;
    dd_outbox out = {0};

    EQP_CHECK(eqp_agree(domain->comm, list_places(domain, &list, &key, &dest), NULL));
    EQP_CHECK(eqp_deal_keys(domain->comm, domain->network.n, key, dest));
    for (int64_t i = 0; i < domain->network.n; i++) {
        dd_outbox_add_node(&out, dest[i], list[i].node);
    }
    return dd_outbox_pass(domain->comm, &out, receive_run, r);
}

/* A `.data` file being written; rank 0 has the writer. */
typedef struct data_file {
    run run;
    eqp_paradis_writer *writer;
    eqp_paradis_node *node; /* [node_room] of a block */
    eqp_paradis_arm *arm;   /* [arm_room] their arms */
    int64_t n, narms, node_room, arm_room;
} data_file;

static void pack_nodes(void *user, int64_t block, dd_outbox *out)
{
    const run *r = &((const data_file *)user)->run;

    for (int64_t i = block * BLOCK; i < (block + 1) * BLOCK && i < r->n; i++) {
        dd_outbox_add_node(out, 0, &r->node[i]);
    }
}

static int append(data_file *file, const dd_node *node)
{
    EQP_CHECK(eqp_array_reserve(&file->node, &file->node_room, file->n + 1, sizeof *file->node));
    EQP_CHECK(eqp_array_reserve(&file->arm, &file->arm_room, file->narms + node->narms, sizeof *file->arm));
    eqp_paradis_node *to = &file->node[file->n++];
    *to = (eqp_paradis_node){
        .tag = node->tag, .constraint = node->constraint, .narms = node->narms, .first_arm = file->narms};
    memcpy(to->x, node->x, sizeof to->x);
    memcpy(to->velocity, node->last_v, sizeof to->velocity);
    for (int k = 0; k < node->narms; k++) {
        eqp_paradis_arm *arm = &file->arm[file->narms++];
        arm->tag = node->arm[k].tag;
        memcpy(arm->burgers, node->arm[k].burgers, sizeof arm->burgers);
        memcpy(arm->normal, node->arm[k].normal, sizeof arm->normal);
    }
    return EQP_OK;
}

static int take_nodes(void *user, dd_inbox *in, eqp_message *message)
{
    data_file *file = user;

    file->n = file->narms = 0;
    for (const dd_node *node; (node = dd_inbox_node(in)) != NULL;) {
        EQP_CHECK(append(file, node));
    }
    return eqp_paradis_write_nodes(file->writer, file->n, file->node, file->arm, message);
}

static int begin(const dd_domain *domain, const char *path, const eqp_paradis_control *control, const char *ctrl,
                 eqp_paradis_writer **writer, eqp_message *message)
{
    eqp_paradis_header header = {.nnodes = domain->network.n};
    int code = eqp_sum_int64(domain->comm, 1, &header.nnodes);

    for (int d = 0; d < 3; d++) {
        header.min[d] = domain->low[d];
        header.max[d] = domain->low[d] + domain->edge[d];
    }
    if (code == EQP_OK && domain->rank == 0) {
        code = eqp_paradis_write_begin(path, &header, 0, NULL, writer, message);
        code = code == EQP_OK ? eqp_paradis_write_control(*writer, ctrl, control, message) : code;
    }
    return eqp_agree(domain->comm, code, message);
}

/* Checksum of the nodes as they will be read. */
static int checksum_of(const dd_domain *domain, const run *r, char text[EQP_PARADIS_NAME])
{
    uint64_t sum = 0;
    int64_t first = 0;

    EQP_CHECK(eqp_scan_int64(domain->comm, r->n, &first, NULL));
    for (int64_t i = 0; i < r->n; i++) {
        sum += dd_input_checksum(first + i, &r->node[i]);
    }
    dd_input_checksum_text(app_checksum_sum(domain->comm, sum), text);
    return EQP_OK;
}

static int write_pair(const dd_domain *domain, eqp_paradis_control *control, const char *data, const char *ctrl,
                      eqp_message *message)
{
    data_file file = {.writer = NULL};
    dd_relay relay = {&file, 0, pack_nodes, take_nodes};
    int code;

    EQP_TRY(make_run(domain, &file.run));
    EQP_TRY(checksum_of(domain, &file.run, control->checksum));
    EQP_TRY(begin(domain, data, control, ctrl, &file.writer, message));
    relay.nblocks = (file.run.n + BLOCK - 1) / BLOCK;
    EQP_TRY(dd_relay_run(domain->comm, &relay, message));
    if (domain->rank == 0) {
        code = eqp_paradis_write_finish(file.writer, message);
        file.writer = NULL;
    }
done:
    eqp_paradis_write_discard(file.writer);
    free(file.node);
    free(file.arm);
    run_free(&file.run);
    return eqp_agree(domain->comm, code, message);
}

int dd_output_restart(const dd_domain *domain, const eqp_paradis_control *now, const char *lines, const char *name,
                      eqp_message *message)
{
    eqp_paradis_control control = *now;
    DD_FREED char *data = NULL;
    DD_FREED char *ctrl = NULL;
    DD_FREED char *others = NULL;
    eqp_message what = {""};
    int code = dd_files_pair(name, &data, &ctrl);

    code = code == EQP_OK ? dd_foreign_complete(&control, lines, &others) : code;
    code = eqp_agree(domain->comm, code, NULL);
    control.others = others; /* a copy; the input keeps its own */
    code = code == EQP_OK ? write_pair(domain, &control, data, ctrl, &what) : code;
    dd_output_explain(name, code, &what, message);
    return code;
}
