/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_serial.h"

#include "network/operations.h"
#include "network/vector.h"

#include <equipoise/more/base.h>

#include <stdlib.h>

void dd_serial_init(dd_serial *serial, dd_network *network, const double low[3], const double box[3],
                    const dd_rules *rules, uint32_t domain)
{
    *serial = (dd_serial){.network = network, .rules = *rules, .domain = domain};
    dd_v3_copy(serial->low, low);
    dd_v3_copy(serial->box, box);
    for (int64_t i = 0; i < network->n; i++) {
        const dd_tag tag = network->node[i].tag;
        if (DD_TAG_DOMAIN(tag) == domain && DD_TAG_INDEX(tag) >= serial->next) {
            serial->next = DD_TAG_INDEX(tag) + 1;
        }
    }
}

static const dd_node *find(const dd_serial *serial, dd_tag tag)
{
    const int64_t place = dd_network_find(serial->network, tag);

    return place >= 0 ? &serial->network->node[place] : NULL;
}

static int gather_one(const dd_serial *serial, dd_tag tag, dd_patch *patch)
{
    const dd_node *node = find(serial, tag);

    return node == NULL || dd_patch_find(patch, tag) != NULL ? EQP_OK : dd_patch_add(patch, node);
}

int dd_serial_gather(const dd_serial *serial, const dd_tag *tag, int n, bool neighbours, dd_patch *patch)
{
    int code = EQP_OK;

    for (int i = 0; code == EQP_OK && i < n; i++) {
        code = gather_one(serial, tag[i], patch);
    }
    const int asked = patch->n;
    for (int i = 0; code == EQP_OK && neighbours && i < asked; i++) {
        for (int a = 0; code == EQP_OK && a < patch->at[i].node.narms; a++) {
            code = gather_one(serial, patch->at[i].node.arm[a].tag, patch);
        }
    }
    for (int i = 0; i < DD_PATCH_NEW; i++) {
        patch->new_tag[i] = DD_TAG(serial->domain, serial->next + (uint32_t)i);
    }
    return code;
}

/* All new nodes or none. */
static int add_created(dd_network *network, dd_patch *patch)
{
    const int64_t before = network->n;

    for (int i = 0; i < patch->n; i++) {
        dd_patch_node *at = &patch->at[i];
        if (at->created && !at->deleted) {
            int code = dd_network_add(network, &at->node);
            if (code != EQP_OK) {
                while (network->n > before) {
                    dd_network_remove(network, network->n - 1);
                }
                return code;
            }
        }
    }
    return EQP_OK;
}

int dd_serial_apply(dd_serial *serial, dd_patch *patch)
{
    dd_network *network = serial->network;
    int code;

    EQP_TRY(add_created(network, patch));
    for (int i = 0; i < patch->n; i++) {
        dd_patch_node *at = &patch->at[i];
        if (!at->created && (at->changed || at->deleted)) {
            const int64_t place = dd_network_find(network, at->node.tag);
            const dd_node old = network->node[place];
            network->node[place] = at->node;
            at->node = old;
            if (at->deleted) {
                dd_network_remove(network, place);
            }
        }
    }
    serial->next += (uint32_t)patch->nnew;
done:
    return code;
}

/* One item of a pass: a node, or the two nodes of a segment. */
typedef struct item {
    dd_tag tag[2];
} item;

static int compare_items(const void *left, const void *right)
{
    const item *a = left, *b = right;

    for (int i = 0; i < 2; i++) {
        if (a->tag[i] != b->tag[i]) {
            return a->tag[i] < b->tag[i] ? -1 : 1;
        }
    }
    return 0;
}

/* In the order of tags: the segments by their ends, owner first, or the nodes. */
static int list_items(const dd_network *network, bool segments, item **list, int64_t *n)
{
    int64_t arms = 0;
    int code;

    for (int64_t i = 0; i < network->n; i++) {
        arms += segments ? network->node[i].narms : 1;
    }
    EQP_TRY(eqp_array_create(list, arms, sizeof **list));
    *n = 0;
    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        for (int a = 0; a < node->narms && segments; a++) {
            if (node->tag < node->arm[a].tag) {
                (*list)[(*n)++] = (item){{node->tag, node->arm[a].tag}};
            }
        }
        if (!segments) {
            (*list)[(*n)++] = (item){{node->tag}};
        }
    }
    qsort(*list, (size_t)*n, sizeof **list, compare_items);
done:
    return code;
}

typedef int (*operation)(dd_serial *serial, const dd_mover *mover, dd_patch *patch, const dd_tag *tag, bool *done);

static int operate(dd_serial *serial, const dd_tag *tag, int n, bool neighbours, operation apply, const dd_mover *mover,
                   int64_t *count)
{
    dd_patch patch;
    dd_slip slip = {0};
    double area[9] = {0.0};
    bool done = false;
    int code;

    dd_patch_init(&patch, serial->low, serial->box);
    EQP_TRY(dd_serial_gather(serial, tag, n, neighbours, &patch));
    EQP_TRY(dd_slip_begin(&slip, &patch));
    EQP_TRY(apply(serial, mover, &patch, tag, &done));
    if (done) {
        EQP_TRY(dd_slip_end(&slip, &patch, area));
        EQP_TRY(dd_serial_apply(serial, &patch));
        ++*count;
    }
    for (int k = 0; k < 9; k++) {
        serial->area[k] += area[k];
    }
done:
    dd_slip_free(&slip);
    dd_patch_free(&patch);
    return code;
}

static void offset(const dd_serial *serial, const double from[3], const double to[3], double result[3])
{
    for (int k = 0; k < 3; k++) {
        result[k] = to[k] - from[k];
        result[k] -= serial->box[k] > 0.0 ? serial->box[k] * rint(result[k] / serial->box[k]) : 0.0;
    }
}

static double bend_at(const dd_serial *serial, const dd_node *node)
{
    const dd_node *first = node->narms == 2 ? find(serial, node->arm[0].tag) : NULL;
    const dd_node *second = node->narms == 2 ? find(serial, node->arm[1].tag) : NULL;
    double to1[3], to2[3];

    if (first == NULL || second == NULL) {
        return 0.0;
    }
    offset(serial, node->x, first->x, to1);
    offset(serial, node->x, second->x, to2);
    return dd_bend_area(node, to1, to2, first->v, second->v);
}

static int refine_segment(dd_serial *serial, const dd_mover *mover, dd_patch *patch, const dd_tag *tag, bool *done)
{
    (void)serial;
    (void)mover;
    return dd_refine(patch, tag[0], tag[1], done);
}

int dd_serial_refine(dd_serial *serial, int64_t *done)
{
    item *list = NULL;
    bool *wish = NULL;
    int64_t n = 0;
    int code;

    EQP_TRY(list_items(serial->network, true, &list, &n));
    EQP_TRY(eqp_array_create(&wish, n, sizeof *wish));
    /* All wishes first: cutting one arm makes its neighbour's triangle smaller. */
    for (int64_t i = 0; i < n; i++) {
        const dd_node *a = find(serial, list[i].tag[0]), *b = find(serial, list[i].tag[1]);
        double line[3];
        if (a != NULL && b != NULL) {
            offset(serial, a->x, b->x, line);
            wish[i] = dd_wants_refine(&serial->rules, dd_v3_length(line), fmax(bend_at(serial, a), bend_at(serial, b)));
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (wish[i]) {
            EQP_TRY(operate(serial, list[i].tag, 2, false, refine_segment, NULL, done));
        }
    }
done:
    free(wish);
    free(list);
    return code;
}

static int coarsen_node(dd_serial *serial, const dd_mover *mover, dd_patch *patch, const dd_tag *tag, bool *done)
{
    (void)mover;
    return dd_coarsen(patch, &serial->rules, tag[0], done);
}

static int split_node(dd_serial *serial, const dd_mover *mover, dd_patch *patch, const dd_tag *tag, bool *done)
{
    return dd_split(patch, &serial->rules, mover, tag[0], done);
}

static int cross_slip_node(dd_serial *serial, const dd_mover *mover, dd_patch *patch, const dd_tag *tag, bool *done)
{
    return dd_cross_slip(patch, &serial->rules, mover, tag[0], done);
}

static bool has_two_arms(const dd_node *node)
{
    return node->narms == 2 && node->constraint == DD_FREE;
}

/* One node after the other, where `wanted`, with its neighbours, and with theirs if the patch is `wide`. */
static int operate_on_nodes(dd_serial *serial, bool (*wanted)(const dd_node *node), bool wide, operation apply,
                            const dd_mover *mover, int64_t *done)
{
    item *list = NULL;
    int64_t n = 0;
    int code;

    EQP_TRY(list_items(serial->network, false, &list, &n));
    for (int64_t i = 0; i < n; i++) {
        const dd_node *node = find(serial, list[i].tag[0]);
        if (node != NULL && wanted(node)) {
            const dd_tag tag[3] = {node->tag, wide ? node->arm[0].tag : 0, wide ? node->arm[1].tag : 0};
            EQP_TRY(operate(serial, tag, wide ? 3 : 1, true, apply, mover, done));
        }
    }
done:
    free(list);
    return code;
}

int dd_serial_coarsen(dd_serial *serial, int64_t *done)
{
    return operate_on_nodes(serial, has_two_arms, false, coarsen_node, NULL, done);
}

int dd_serial_split(dd_serial *serial, const dd_mover *mover, int64_t *done)
{
    return operate_on_nodes(serial, dd_wants_split, false, split_node, mover, done);
}

int dd_serial_cross_slip(dd_serial *serial, const dd_mover *mover, int64_t *done)
{
    return operate_on_nodes(serial, has_two_arms, true, cross_slip_node, mover, done);
}

static int collide_pair(dd_serial *serial, const dd_mover *mover, dd_patch *patch, const dd_tag *tag, bool *done)
{
    (void)mover;
    return dd_collide(patch, &serial->rules, tag, tag + 2, done);
}

/* Only to save patches: dd_collide() looks again. */
static bool are_near(const dd_serial *serial, const dd_tag tag[4])
{
    double line[2][3], middle[2][3], between[3];

    for (int s = 0; s < 2; s++) {
        const dd_node *a = find(serial, tag[2 * s]), *b = find(serial, tag[2 * s + 1]);
        if (a == NULL || b == NULL) {
            return false;
        }
        offset(serial, a->x, b->x, line[s]);
        dd_v3_along(a->x, 0.5, line[s], middle[s]);
    }
    offset(serial, middle[0], middle[1], between);
    return !dd_segments_are_far(between, 0.5 * dd_v3_length(line[0]), 0.5 * dd_v3_length(line[1]), serial->rules.rann);
}

int dd_serial_collide(dd_serial *serial, int64_t *done)
{
    item *list = NULL;
    int64_t n = 0;
    int code;

    EQP_TRY(list_items(serial->network, true, &list, &n));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++) {
            const dd_tag tag[4] = {list[i].tag[0], list[i].tag[1], list[j].tag[0], list[j].tag[1]};
            if (are_near(serial, tag)) {
                EQP_TRY(operate(serial, tag, 4, true, collide_pair, NULL, done));
            }
        }
    }
done:
    free(list);
    return code;
}
