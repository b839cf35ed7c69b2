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

static int compare_keys(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* The first place of each rank's range: equal numbers of nodes. */
static int cut_runs(const dd_domain *domain, uint64_t *cut)
{
    const dd_network *network = &domain->network;
    DD_FREED uint64_t *key = NULL;

    DD_CHECK(eqp_agree(domain->comm, eqp_array_create(&key, network->n, sizeof *key), NULL));
    for (int64_t i = 0; i < network->n; i++) {
        key[i] = dd_output_place(&network->node[i]);
    }
    if (network->n > 1) {
        qsort(key, (size_t)network->n, sizeof *key, compare_keys);
    }
    return eqp_key_cuts(domain->comm, network->n, key, NULL, domain->nranks, NULL, cut);
}

static int find_run(const uint64_t *cut, int nranks, uint64_t key)
{
    int low = 0, high = nranks; /* cut[low] <= key < cut[high] */

    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (cut[middle] <= key) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static int receive_run(dd_inbox *in, run *r)
{
    int code = EQP_OK;

    while (code == EQP_OK && !dd_inbox_empty(in)) {
        code = eqp_array_reserve(&r->node, &r->room, r->n + 1, sizeof *r->node);
        code = code == EQP_OK ? dd_inbox_read_node(in, &r->node[r->n]) : code;
        r->n += code == EQP_OK;
    }
    if (code == EQP_OK && r->n > 1) {
        qsort(r->node, (size_t)r->n, sizeof *r->node, by_place);
    }
    return code;
}

static int make_run(const dd_domain *domain, run *r)
{
    dd_outbox out = {0};
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    DD_FREED uint64_t *cut = NULL;

    DD_CHECK(eqp_agree(domain->comm, eqp_array_create(&cut, domain->nranks + 1, sizeof *cut), NULL));
    DD_CHECK(cut_runs(domain, cut));
    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        dd_outbox_add_node(&out, find_run(cut, domain->nranks, dd_output_place(node)), node);
    }
    DD_CHECK(dd_outbox_deliver(domain->comm, &out, &in));
    return eqp_agree(domain->comm, receive_run(&in, r), NULL);
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
    DD_CHECK(eqp_array_reserve(&file->node, &file->node_room, file->n + 1, sizeof *file->node));
    DD_CHECK(eqp_array_reserve(&file->arm, &file->arm_room, file->narms + node->narms, sizeof *file->arm));
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
    int code = EQP_OK;

    file->n = 0;
    file->narms = 0;
    while (code == EQP_OK && !dd_inbox_empty(in)) {
        dd_node node = {0};
        code = dd_inbox_read_node(in, &node);
        code = code == EQP_OK ? append(file, &node) : code;
        dd_node_free(&node);
    }
    return code == EQP_OK ? eqp_paradis_write_nodes(file->writer, file->n, file->node, file->arm, message) : code;
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

static eqp_paradis_control control_of(const dd_input *input, const dd_moment *now)
{
    eqp_paradis_control control = input->control;

    control.first_step = now->step;
    control.steps = input->last_step > now->step ? input->last_step - now->step : 0;
    control.time = now->time;
    control.strain_rate = now->rate;
    if (now->next_dt > 0) {
        control.next_dt = now->next_dt;
    }
    memcpy(control.stress, now->stress, sizeof control.stress);
    memcpy(control.plastic_strain, now->plastic_strain, sizeof control.plastic_strain);
    return control;
}

/* Checksum of the nodes as they will be read. */
static int checksum_of(const dd_domain *domain, const run *r, char text[EQP_PARADIS_NAME])
{
    uint64_t sum = 0;
    int64_t first = 0;

    DD_CHECK(eqp_scan_int64(domain->comm, r->n, &first, NULL));
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

int dd_output_restart(const dd_domain *domain, const dd_input *input, const dd_moment *now, const char *name,
                      eqp_message *message)
{
    eqp_paradis_control control = control_of(input, now);
    char *data = NULL, *ctrl = NULL, *others = NULL;
    eqp_message what = {""};
    int code = dd_files_pair(name, &data, &ctrl);

    code = code == EQP_OK ? dd_foreign_complete(&control, now->lines, &others) : code;
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    control.others = others; /* a copy; the input keeps its own */
    EQP_TRY(write_pair(domain, &control, data, ctrl, &what));
done:
    dd_output_explain(name, code, &what, message);
    free(others);
    free(data);
    free(ctrl);
    return code;
}
