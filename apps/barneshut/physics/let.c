/* SPDX-License-Identifier: BSD-3-Clause */
/* The essential tree as bytes. A message is
 *
 *   header, then per marked branch in key order: its address, then its content.
 *
 * The content of an opened cell is the records of all its children, then the content of each in order; that of a leaf
 * whose particles are wanted is x, y, z, m of each; that of any other cell is empty. Numbers are in the machine's own
 * format: the ranks of one run are alike. */
#include "let.h"

#include "internal.h"

#include <equipoise/error.h>

#include <stdlib.h>
#include <string.h>

#define LET_MAGIC UINT64_C(0x3174656c2d736e62)
#define LET_OPENED 1u    /* the children follow */
#define LET_PARTICLES 2u /* the particles follow */

typedef struct let_header {
    uint64_t magic;
    uint64_t bytes; /* of the whole message */
    int64_t nbranches, ncells, nparticles;
} let_header;

typedef struct let_address {
    uint64_t key;
    int32_t level;
    uint32_t flags;
} let_address;

typedef struct let_record {
    uint64_t key; /* the level is one more than the parent's */
    int32_t nchild;
    uint32_t flags;
    int64_t count;
    bh_moments moments;
} let_record;

typedef struct let_particle {
    double x, y, z, m;
} let_particle;

struct bh_let {
    const bh_tree *tree; /* borrowed */
    int64_t ncells;      /* of the tree at creation: what is grafted later is never sent on */
    uint8_t *mark;       /* [ncells] LET_OPENED, LET_PARTICLES */
    int64_t ntouched, capacity;
    int64_t *touched; /* the marked cells */
    bh_list list;     /* scratch */
};

int bh_let_create(const bh_tree *tree, bh_let **let)
{
    bh_let *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return EQP_ERR_MEMORY;
    }
    made->tree = tree;
    made->ncells = tree->ncells;
    bh_list_init(&made->list);
    made->mark = calloc((size_t)tree->ncells + 1, 1);
    if (made->mark == NULL) {
        bh_let_free(made);
        return EQP_ERR_MEMORY;
    }
    *let = made;
    return EQP_OK;
}

void bh_let_free(bh_let *let)
{
    if (let != NULL) {
        bh_list_free(&let->list);
        free(let->mark);
        free(let->touched);
        free(let);
    }
}

void bh_let_reset(bh_let *let)
{
    for (int64_t t = 0; t < let->ntouched; t++) {
        let->mark[let->touched[t]] = 0;
    }
    let->ntouched = 0;
}

static int touch(bh_let *let, int64_t cell, uint8_t flag)
{
    if (let->mark[cell] != 0) {
        return EQP_OK; /* a cell is either opened or a leaf */
    }
    if (let->ntouched == let->capacity) {
        const int64_t capacity = 2 * let->capacity + 256;
        int64_t *larger = realloc(let->touched, (size_t)capacity * sizeof(*larger));
        if (larger == NULL) {
            return EQP_ERR_MEMORY;
        }
        let->touched = larger;
        let->capacity = capacity;
    }
    let->touched[let->ntouched++] = cell;
    let->mark[cell] = flag;
    return EQP_OK;
}

/* Of one opened cell: itself, and the leaves whose particles are wanted if its tile is kept. */
static int mark_family(bh_let *let, const bh_family *family, unsigned leaves, bh_tile_fn keep, void *user)
{
    const bh_cell *cell = &let->tree->cell[family->cell];
    double centre[3];
    int code = touch(let, family->cell, LET_OPENED);
    if (leaves == 0 || code != EQP_OK) {
        return code;
    }
    if (keep != NULL) {
        bh_cell_centre(let->tree, cell, centre);
        if (!keep(user, centre)) {
            return EQP_OK;
        }
    }
    for (; leaves != 0 && code == EQP_OK; leaves &= leaves - 1) {
        code = touch(let, family->child + __builtin_ctz(leaves), LET_PARTICLES);
    }
    return code;
}

/* A branch that is itself such a leaf belongs to the tile of the cell above it. */
static int mark_leaf(bh_let *let, int64_t branch, bh_tile_fn keep, void *user)
{
    const bh_cell *leaf = &let->tree->cell[branch];
    const int level = leaf->level > 0 ? leaf->level - 1 : 0;
    double centre[3];
    const uint64_t place = bh__place(bh__key_at_level(leaf->key, level), level);
    bh__centre(&let->tree->box, place, level, bh__side(let->tree, level), centre);
    return keep == NULL || keep(user, centre) ? touch(let, branch, LET_PARTICLES) : EQP_OK;
}

int bh_let_mark(bh_let *let, int64_t branch, const bh_group *group, const bh_mac *mac, bh_tile_fn keep, void *user)
{
    const bh_frontier *frontier = &let->list.frontier;
    bool whole = false;
    if (branch < 0 || branch >= let->tree->nbranches || let->ncells > let->tree->ncells) {
        return EQP_ERR_ARGUMENT;
    }
    int code = bh__walk_open(let->tree, branch, group, mac, &whole, &let->list);
    if (code == EQP_OK && frontier->n == 0 && !whole) {
        code = mark_leaf(let, branch, keep, user);
    }
    for (int64_t i = 0; i < frontier->n && code == EQP_OK; i++) {
        const bh_family *family = &let->tree->family[frontier->family[i]];
        code = mark_family(let, family, frontier->taken[i] >> BH_FAMILY, keep, user);
    }
    return code;
}

/* A growing message. */
typedef struct writer {
    unsigned char *bytes;
    size_t size, capacity;
    let_header header;
} writer;

static int put(writer *out, const void *bytes, size_t size)
{
    if (size > out->capacity - out->size) {
        if (size > SIZE_MAX / 4 || out->capacity > SIZE_MAX / 4) {
            return EQP_ERR_MEMORY;
        }
        const size_t capacity = 2 * out->capacity + size + 4096;
        unsigned char *larger = realloc(out->bytes, capacity);
        if (larger == NULL) {
            return EQP_ERR_MEMORY;
        }
        out->bytes = larger;
        out->capacity = capacity;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
    return EQP_OK;
}

static int put_particles(writer *out, const bh_sources *s, const bh_cell *leaf)
{
    int code = EQP_OK;
    for (int64_t i = leaf->first; i < leaf->first + leaf->count && code == EQP_OK; i++) {
        const let_particle particle = {s->x[i], s->y[i], s->z[i], s->m[i]};
        code = put(out, &particle, sizeof(particle));
    }
    out->header.nparticles += leaf->count;
    return code;
}

static int put_children(writer *out, const bh_let *let, const bh_cell *cell)
{
    int code = EQP_OK;
    for (int64_t c = cell->child; c < cell->child + cell->nchild && code == EQP_OK; c++) {
        const bh_cell *child = &let->tree->cell[c];
        const let_record record = {child->key, child->nchild, let->mark[c], child->count, child->moments};
        code = put(out, &record, sizeof(record));
    }
    out->header.ncells += cell->nchild;
    return code;
}

static int put_branch(writer *out, const bh_let *let, int64_t branch)
{
    const bh_cell *cells = let->tree->cell;
    const let_address address = {cells[branch].key, cells[branch].level, let->mark[branch]};
    int code = put(out, &address, sizeof(address));
    int64_t stack[BH_STACK];
    int depth = 0;
    stack[depth++] = branch;
    while (depth > 0 && code == EQP_OK) {
        const int64_t c = stack[--depth];
        if (let->mark[c] == LET_PARTICLES) {
            code = put_particles(out, &let->tree->sources, &cells[c]);
            continue;
        }
        code = put_children(out, let, &cells[c]);
        for (int64_t k = cells[c].child + cells[c].nchild; k-- > cells[c].child;) {
            if (let->mark[k] != 0) {
                stack[depth++] = k;
            }
        }
    }
    out->header.nbranches++;
    return code;
}

int bh_let_pack(bh_let *let, unsigned char **buffer, size_t *size, size_t *capacity, int64_t *ncells,
                int64_t *nparticles)
{
    writer out = {.bytes = *buffer, .size = *size, .capacity = *capacity, .header = {.magic = LET_MAGIC}};
    int code = EQP_OK;
    if (let->ntouched > 0) {
        code = put(&out, &out.header, sizeof(out.header));
        for (int64_t b = 0; b < let->tree->nbranches && code == EQP_OK; b++) {
            if (let->mark[b] != 0) {
                code = put_branch(&out, let, b);
            }
        }
        if (code == EQP_OK) {
            out.header.bytes = out.size - *size;
            memcpy(out.bytes + *size, &out.header, sizeof(out.header));
        }
    }
    *buffer = out.bytes; /* realloc may have moved it, also when it failed later */
    *capacity = out.capacity;
    if (code == EQP_OK) {
        *size = out.size;
        *ncells = out.header.ncells;
        *nparticles = out.header.nparticles;
    }
    return code;
}

/* A message being read. What it brings waits behind the tree's cells and particles, which the tree does not point to
 * until all of it has turned out to fit. */
typedef struct reader {
    bh_tree *tree;
    int home;
    const unsigned char *at;
    size_t left; /* bytes */
    let_header header;
    int64_t ncells, nparticles; /* cells and particles read so far */
    int code;                   /* of what went wrong here rather than in the message */
} reader;

static bool get(reader *in, void *bytes, size_t size)
{
    if (size > in->left) {
        return false;
    }
    memcpy(bytes, in->at, size);
    in->at += size;
    in->left -= size;
    return true;
}

/* The header, and whether the message can hold what it promises. */
static bool get_header(reader *in, size_t size)
{
    if (!get(in, &in->header, sizeof(in->header)) || in->header.magic != LET_MAGIC || in->header.bytes != size) {
        return false;
    }
    const let_header *h = &in->header;
    return h->nbranches > 0 && (uint64_t)h->nbranches <= in->left / sizeof(let_address) && h->ncells >= 0 &&
           (uint64_t)h->ncells <= in->left / sizeof(let_record) && h->nparticles >= 0 &&
           (uint64_t)h->nparticles <= in->left / sizeof(let_particle) &&
           (uint64_t)h->nbranches * sizeof(let_address) + (uint64_t)h->ncells * sizeof(let_record) +
                   (uint64_t)h->nparticles * sizeof(let_particle) ==
               in->left;
}

static bool flags_fit(uint32_t flags, int32_t nchild)
{
    return flags == 0 || flags == (nchild > 0 ? LET_OPENED : LET_PARTICLES);
}

/* Reads the particles of a leaf to `first`. Room is there. */
static bool get_particles(reader *in, const bh_cell *leaf, int64_t *first)
{
    bh_sources *s = &in->tree->sources;
    if (leaf->count > in->header.nparticles - in->nparticles) {
        return false;
    }
    *first = s->n;
    for (int64_t i = 0; i < leaf->count; i++) {
        let_particle particle;
        if (!get(in, &particle, sizeof(particle))) {
            return false;
        }
        s->x[s->n] = particle.x;
        s->y[s->n] = particle.y;
        s->z[s->n] = particle.z;
        s->m[s->n] = particle.m;
        s->n++;
    }
    in->nparticles += leaf->count;
    bh_moments moments;
    bh__moments_of_particles(in->tree, leaf, *first, &moments);
    return memcmp(&moments, &leaf->moments, sizeof(moments)) == 0;
}

/* Reads the children of a cell to `child`, and which of them have content. Room is there. */
static bool get_children(reader *in, const bh_cell *cell, int64_t *child, uint32_t flags[8])
{
    bh_tree *tree = in->tree;
    if (cell->nchild > in->header.ncells - in->ncells) {
        return false;
    }
    *child = tree->ncells;
    for (int k = 0; k < cell->nchild; k++) {
        let_record record;
        if (!get(in, &record, sizeof(record)) || !flags_fit(record.flags, record.nchild)) {
            return false;
        }
        flags[k] = record.flags;
        tree->cell[tree->ncells++] = (bh_cell){.key = record.key,
                                               .place = bh__place(record.key, cell->level + 1),
                                               .level = cell->level + 1,
                                               .home = in->home,
                                               .nchild = record.nchild,
                                               .family = -1,
                                               .child = BH_ABSENT,
                                               .first = BH_ABSENT,
                                               .count = record.count,
                                               .moments = record.moments};
    }
    in->ncells += cell->nchild;
    return bh__children_fit(tree, cell, tree->cell + *child);
}

/* A cell of the tree that the message hangs something on, its parent (-1 for the root), and what. */
typedef struct attachment {
    int64_t cell, parent, child, first;
    int32_t family;
} attachment;

/* The number of a new family, which is made when its cells are complete. */
static bool add_family(reader *in, int64_t cell, int32_t *family)
{
    bh_tree *tree = in->tree;
    in->code = bh__families_reserve(tree, tree->nfamilies + 1);
    if (in->code != EQP_OK) {
        return false;
    }
    *family = (int32_t)tree->nfamilies;
    tree->family[tree->nfamilies++].cell = (int32_t)cell;
    return true;
}

/* Reads the content of a branch. The cells below it are complete afterwards, the branch itself is still as it was. */
static bool get_branch(reader *in, attachment *branch, uint32_t branch_flags)
{
    bh_cell *cells = in->tree->cell;
    struct {
        int64_t cell;
        uint32_t flags;
    } stack[BH_STACK];
    int depth = 0;
    stack[depth].cell = branch->cell;
    stack[depth++].flags = branch_flags;
    while (depth > 0) {
        depth--;
        const int64_t c = stack[depth].cell;
        int64_t child = BH_ABSENT, first = BH_ABSENT;
        int32_t family = -1;
        if (stack[depth].flags == LET_PARTICLES) {
            if (!get_particles(in, &cells[c], &first)) {
                return false;
            }
        } else {
            uint32_t flags[8];
            if (!get_children(in, &cells[c], &child, flags) || !add_family(in, c, &family)) {
                return false;
            }
            for (int k = cells[c].nchild; k-- > 0;) {
                if (flags[k] != 0) {
                    stack[depth].cell = child + k;
                    stack[depth++].flags = flags[k];
                }
            }
        }
        if (c == branch->cell) {
            branch->child = child;
            branch->first = first;
            branch->family = family;
        } else {
            cells[c].child = child;
            cells[c].first = first;
            cells[c].family = family;
        }
    }
    return true;
}

/* The tree's cell with this address, or -1. */
static int64_t find_cell(const bh_tree *tree, uint64_t key, int level, int64_t *parent)
{
    int64_t c = tree->root;
    *parent = -1;
    while (c >= 0 && tree->cell[c].level < level) {
        const bh_cell *cell = &tree->cell[c];
        int64_t found = -1;
        for (int64_t k = cell->child; cell->child >= 0 && k < cell->child + cell->nchild; k++) {
            if (bh__key_at_level(key, cell->level + 1) == tree->cell[k].key) {
                found = k;
            }
        }
        *parent = c;
        c = found;
    }
    return c >= 0 && tree->cell[c].level == level && tree->cell[c].key == key ? c : -1;
}

static bool get_branches(reader *in, attachment *attached)
{
    for (int64_t b = 0; b < in->header.nbranches; b++) {
        let_address address;
        if (!get(in, &address, sizeof(address))) {
            return false;
        }
        int64_t parent;
        const int64_t c = find_cell(in->tree, address.key, address.level, &parent);
        if (c < 0) {
            return false;
        }
        const bh_cell *cell = &in->tree->cell[c];
        const int64_t have = cell->nchild > 0 ? cell->child : cell->first;
        if (cell->home != in->home || have != BH_ABSENT || address.flags == 0 ||
            !flags_fit(address.flags, cell->nchild) ||
            (b > 0 && cell->key <= in->tree->cell[attached[b - 1].cell].key)) {
            return false;
        }
        attached[b] = (attachment){c, parent, BH_ABSENT, BH_ABSENT, -1};
        if (!get_branch(in, &attached[b], address.flags)) {
            return false;
        }
    }
    return in->left == 0;
}

/* Lets the tree point to what has been read, and makes the families: new ones from `begin` on, and those that have one
 * of the branches among them. */
static void attach(bh_tree *tree, int64_t nbranches, const attachment *attached, int64_t begin)
{
    for (int64_t b = 0; b < nbranches; b++) {
        bh_cell *cell = &tree->cell[attached[b].cell];
        cell->child = attached[b].child;
        cell->first = attached[b].first;
        cell->family = attached[b].family;
    }
    for (int64_t f = begin; f < tree->nfamilies; f++) {
        bh__family_of(tree, tree->family[f].cell, &tree->family[f]);
    }
    for (int64_t b = 0; b < nbranches; b++) {
        if (attached[b].parent >= 0) {
            bh__family_of(tree, attached[b].parent, &tree->family[tree->cell[attached[b].parent].family]);
        }
    }
}

int bh_let_graft(bh_tree *tree, int home, const unsigned char *buffer, size_t size)
{
    if (size == 0) {
        return EQP_OK;
    }
    reader in = {.tree = tree, .home = home, .at = buffer, .left = size};
    if (home < 0 || !get_header(&in, size)) {
        return EQP_ERR_FORMAT;
    }
    const int64_t ncells = tree->ncells, nsources = tree->sources.n, nfamilies = tree->nfamilies;
    attachment *attached = malloc((size_t)in.header.nbranches * sizeof(*attached));
    int code = attached == NULL ? EQP_ERR_MEMORY : bh__cells_reserve(tree, ncells + in.header.ncells);
    if (code == EQP_OK) {
        code = bh__sources_reserve(&tree->sources, nsources + in.header.nparticles);
    }
    if (code == EQP_OK && !get_branches(&in, attached)) {
        tree->ncells = ncells;
        tree->sources.n = nsources;
        tree->nfamilies = nfamilies;
        code = in.code != EQP_OK ? in.code : EQP_ERR_FORMAT;
    }
    if (code == EQP_OK) {
        attach(tree, in.header.nbranches, attached, nfamilies);
    }
    free(attached);
    return code;
}
