/* SPDX-License-Identifier: BSD-3-Clause */
/* A bundle is a head, the groups (a record and positions each) and the blocks, parents before children. */
#include "let.h"

#include "internal.h"
#include "walker.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neighbouring groups whose blocks are found by one walk around all of them; it opens more cells than separate
 * walks. */
#define WALK_TOGETHER 16

typedef struct bundle_head {
    int64_t ngroups, group_bytes;
} bundle_head;

typedef struct group_head {
    int64_t tag, count;
    double accel;
} group_head;

/* Blocks that a rank has: a bit for each, at its cell's number. */
typedef struct receiver {
    int rank;
    int64_t words, capacity;
    uint64_t *has; /* [capacity], the the first `words` are set up */
} receiver;

struct bh_packer {
    const bh_tree *tree; /* borrowed; NULL: none yet */
    int64_t nreceivers, most_receivers;
    receiver *receiver;
    int64_t size, capacity; /* of the present bundle */
    unsigned char *bytes;
    bh_list list; /* scratch */
};

int bh_packer_create(bh_packer **packer)
{
    return eqp_array_create(packer, 1, sizeof(**packer));
}

void bh_packer_free(bh_packer *packer)
{
    if (packer != NULL) {
        for (int64_t r = 0; r < packer->nreceivers; r++) {
            free(packer->receiver[r].has);
        }
        free(packer->receiver);
        free(packer->bytes);
        bh_list_free(&packer->list);
        free(packer);
    }
}

void bh_packer_begin(bh_packer *packer, const bh_tree *tree)
{
    packer->tree = tree;
    for (int64_t r = 0; r < packer->nreceivers; r++) {
        packer->receiver[r].words = 0;
    }
}

/* Extends the bits to the present number of cells; the rank has none of the new blocks. */
static int extend(receiver *r, int64_t ncells)
{
    const int64_t words = (ncells + 63) / 64;
    EQP_CHECK(eqp_array_reserve(&r->has, &r->capacity, words, sizeof(*r->has)));
    if (words > r->words) {
        memset(r->has + r->words, 0, (size_t)(words - r->words) * sizeof(*r->has));
        r->words = words;
    }
    return EQP_OK;
}

static int find_receiver(bh_packer *packer, int rank, receiver **found)
{
    int64_t r = 0;
    while (r < packer->nreceivers && packer->receiver[r].rank != rank) {
        r++;
    }
    EQP_CHECK(eqp_array_reserve(&packer->receiver, &packer->most_receivers, r + 1, sizeof(*packer->receiver)));
    if (r == packer->nreceivers) {
        packer->receiver[packer->nreceivers++] = (receiver){.rank = rank};
    }
    *found = &packer->receiver[r];
    return extend(*found, packer->tree->ncells);
}

static int reserve(bh_packer *packer, int64_t more)
{
    return eqp_array_reserve(&packer->bytes, &packer->capacity, packer->size + more, 1);
}

static int put(bh_packer *packer, const void *bytes, size_t size)
{
    const int code = reserve(packer, (int64_t)size);
    if (code == EQP_OK) {
        memcpy(packer->bytes + packer->size, bytes, size);
        packer->size += (int64_t)size;
    }
    return code;
}

static int put_groups(bh_packer *packer, int64_t n, const bh_bundle_group *group)
{
    bundle_head head = {.ngroups = n};
    EQP_CHECK(put(packer, &head, sizeof(head)));
    for (int64_t g = 0; g < n; g++) {
        const group_head record = {group[g].tag, group[g].group.count, group[g].group.accel};
        const double *const at[3] = {group[g].x, group[g].y, group[g].z};
        EQP_CHECK(put(packer, &record, sizeof(record)));
        for (int k = 0; k < 3; k++) {
            EQP_CHECK(put(packer, at[k], (size_t)record.count * sizeof(double)));
        }
    }
    head.group_bytes = packer->size - (int64_t)sizeof(head);
    memcpy(packer->bytes, &head, sizeof(head));
    return EQP_OK;
}

__attribute__((noinline)) static int put_block(bh_packer *packer, receiver *to, int64_t number)
{
    const bh_cell *cell = &packer->tree->cell[number];
    int code = EQP_OK;
    to->has[number / 64] |= (uint64_t)1 << (number % 64);
    if (cell->home >= 0 && cell->home != to->rank) { /* the top is everybody's */
        const int64_t bytes = bh__block_bytes(packer->tree, cell);
        code = reserve(packer, bytes);
        if (code == EQP_OK) {
            bh__block_pack(packer->bytes + packer->size, packer->tree, cell);
            packer->size += bytes;
        }
    }
    return code;
}

/* Most blocks are packed already, so only that test is inlined. */
static inline int add_block(bh_packer *packer, receiver *to, int64_t number)
{
    return to->has[number / 64] >> (number % 64) & 1 ? EQP_OK : put_block(packer, to, number);
}

/* Adds everything that the walk has opened, and the leaves it has taken. Cells absent here are needed by no group: a
 * walk around several groups meets more cells than they do. */
static int add_opened(bh_packer *packer, receiver *to)
{
    const bh_frontier *frontier = &packer->list.frontier;
    for (int64_t i = 0; i < frontier->n; i++) {
        const int32_t number = frontier->family[i];
        if (number < 0) {
            continue;
        }
        const bh_family *family = &packer->tree->family[number];
        unsigned leaves = frontier->taken[i] >> BH_FAMILY & ~(unsigned)family->absent;
        EQP_CHECK(add_block(packer, to, family->cell));
        for (; leaves != 0; leaves &= leaves - 1) {
            EQP_CHECK(add_block(packer, to, family->child + __builtin_ctz(leaves)));
        }
    }
    return EQP_OK;
}

static int add_walk(bh_packer *packer, receiver *to, const bh_group *group, const bh_mac *mac, const bh_choice *choice)
{
    const bh_tree *tree = packer->tree;
    const bh_cell *root = tree->root >= 0 ? &tree->cell[tree->root] : NULL;
    bh__walker w;
    bh__walker_init(&w, tree, group, mac);
    if (choice != NULL && choice->sharing != NULL) {
        EQP_CHECK(bh__walker_share(&w, choice->sharing, &packer->list.region));
    }
    if (root == NULL || bh__acts_whole(&w, root)) {
        return EQP_OK;
    }
    if (root->nchild == 0) {
        return root->first != BH_ABSENT ? add_block(packer, to, tree->root) : EQP_OK;
    }
    if (root->child == BH_ABSENT) {
        return EQP_OK;
    }
    EQP_CHECK(bh__walk_open(&w, 1, &root->family, &packer->list));
    if (choice != NULL && choice->keep != NULL) {
        bh__walk_best()->drop(&w, choice, &packer->list);
    }
    return add_opened(packer, to);
}

/* Extends a region by a group. A walk for the region opens every cell that a walk for one of its groups opens. */
static void widen(bh_group *around, const bh_group *group)
{
    for (int k = 0; k < 3; k++) {
        around->lo[k] = fmin(around->lo[k], group->lo[k]);
        around->hi[k] = fmax(around->hi[k], group->hi[k]);
    }
    around->accel = fmin(around->accel, group->accel);
}

/* Number of leading groups that one walk can serve: all of their tiles are needed, and all or none have a known
 * acceleration, since the criterion depends on it. */
static int64_t count_together(int64_t n, const bh_bundle_group *group)
{
    int64_t count = 1;
    while (count < n && count < WALK_TOGETHER && group[0].tag >= 0 && group[count].tag >= 0 &&
           (group[count].group.accel > 0) == (group[0].group.accel > 0)) {
        count++;
    }
    return count;
}

static int add_all(bh_packer *packer, receiver *to, int64_t n, const bh_bundle_group *group, const bh_mac *mac,
                   bh_bundle_choose_fn choose, void *user)
{
    for (int64_t g = 0; g < n;) {
        const int64_t together = count_together(n - g, group + g);
        bh_group around = group[g].group;
        for (int64_t i = 1; i < together; i++) {
            widen(&around, &group[g + i].group);
        }
        EQP_CHECK(add_walk(packer, to, &around, mac, group[g].tag < 0 ? choose(user, &group[g]) : NULL));
        g += together;
    }
    return EQP_OK;
}

int bh_packer_pack(bh_packer *packer, int to, int64_t n, const bh_bundle_group *group, const bh_mac *mac,
                   bh_bundle_choose_fn choose, void *user, void **data, size_t *bytes)
{
    receiver *at = NULL;
    unsigned char *made = NULL;
    int code;
    EQP_TRY(find_receiver(packer, to, &at));
    packer->size = 0;
    EQP_TRY(put_groups(packer, n, group));
    EQP_TRY(add_all(packer, at, n, group, mac, choose, user));
    EQP_TRY(eqp_array_create(&made, packer->size, 1));
    memcpy(made, packer->bytes, (size_t)packer->size);
    *data = made;
    *bytes = (size_t)packer->size;
done:
    if (code != EQP_OK && at != NULL) {
        at->words = 0; /* nothing was sent */
    }
    return code;
}

static bool all_finite(int64_t n, const double *value)
{
    bool finite = true;
    for (int64_t i = 0; i < n; i++) {
        finite = finite && isfinite(value[i]);
    }
    return finite;
}

/* Reads the groups, which must fill `bytes` exactly. */
static bool read_groups(const unsigned char *from, size_t bytes, int64_t n, bh_bundle_group *group)
{
    for (int64_t g = 0; g < n; g++) {
        group_head record;
        if (bytes < sizeof(record)) {
            return false;
        }
        memcpy(&record, from, sizeof(record));
        from += sizeof(record);
        bytes -= sizeof(record);
        if (record.count < 1 || record.count > INT32_MAX || !(record.accel >= 0) ||
            bytes / (3 * sizeof(double)) < (size_t)record.count) {
            return false;
        }
        const double *x = (const double *)(const void *)from;
        bh_bundle_group *read = &group[g];
        *read = (bh_bundle_group){.tag = record.tag, .x = x, .y = x + record.count, .z = x + 2 * record.count};
        read->group.count = (int32_t)record.count;
        read->group.accel = record.accel;
        if (!all_finite(3 * record.count, x)) {
            return false;
        }
        bh_group_bounds(record.count, read->x, read->y, read->z, read->group.lo, read->group.hi);
        from += 3 * (size_t)record.count * sizeof(double);
        bytes -= 3 * (size_t)record.count * sizeof(double);
    }
    return bytes == 0;
}

int bh_bundle_open(bh_tree *tree, const void *data, size_t bytes, int64_t n, bh_bundle_group *group)
{
    const unsigned char *from = data;
    bundle_head head;
    EQP_CHECK((uintptr_t)data % sizeof(double) != 0 ? EQP_ERR_ARGUMENT : EQP_OK);
    if (bytes < sizeof(head)) {
        return EQP_ERR_FORMAT;
    }
    memcpy(&head, from, sizeof(head));
    from += sizeof(head);
    bytes -= sizeof(head);
    if (n < 1 || head.ngroups != n || head.group_bytes < 0 || (uint64_t)head.group_bytes > bytes ||
        !read_groups(from, (size_t)head.group_bytes, n, group)) {
        return EQP_ERR_FORMAT;
    }
    return bh_let_graft_all(tree, -1, from + head.group_bytes, bytes - (size_t)head.group_bytes);
}
