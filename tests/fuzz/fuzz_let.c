/* SPDX-License-Identifier: BSD-3-Clause */
/* Essential trees received from another rank: their blocks are changed and grafted one by one onto a tree that waits
 * for them. The first bytes choose particles and ranks, the rest the changes. */
#include "fuzz.h"

#include "../unit/bh_sets.h"

#include <equipoise/error.h>

/* Trees without moments can only be walked with a cutoff. */
static bh_mac mac_for(const bh_tree *tree)
{
    return (bh_mac){.theta = 0.5, .G = 1, .cutoff = tree->bare ? 0.1 * tree->box.side : 0};
}

typedef struct letter {
    unsigned char *bytes;
    size_t size;
    int64_t n;
    size_t *begin; /* [n + 1] */
} letter;

/* The part of rank 0's tree that rank 1 needs. */
static letter pack(const bh_part *parts)
{
    const bh_mac mac = mac_for(&parts[0].tree);
    letter out = {0};
    bh_let_blocks blocks;
    bh_let *let;

    fuzz_require(bh_let_create(&parts[0].tree, &let) == EQP_OK);
    for (int64_t g = 0; g < parts[1].ngroups; g++) {
        fuzz_require(bh_let_mark(let, 1, &parts[1].group[g], &mac, NULL) == EQP_OK);
    }
    fuzz_require(bh_let_blocks_get(let, &blocks) == EQP_OK);
    out = (letter){.bytes = malloc((size_t)blocks.size + 1),
                   .size = (size_t)blocks.size,
                   .n = blocks.n,
                   .begin = calloc((size_t)blocks.n + 1, sizeof *out.begin)};
    fuzz_require(out.bytes && out.begin);
    for (int64_t b = 0; b < blocks.n; b++) {
        bh_let_pack_block(let, b, out.bytes + out.begin[b]);
        out.begin[b + 1] = out.begin[b] + (size_t)blocks.bytes[b];
    }
    bh_let_free(let);
    return out;
}

/* Ends the block at this byte and begins the next one. */
static void cut(letter *out, size_t at)
{
    for (int64_t b = 0; b < out->n; b++) {
        if (at > out->begin[b] && at < out->begin[b + 1]) {
            out->begin[b + 1] = at;
        }
    }
}

/* Copies bytes from elsewhere in the tree as well as odd numbers, since copies look valid. */
static void change(letter *out, fuzz_bytes *in)
{
    static const uint64_t strange[] = {0,          1,         8,         (uint64_t)-1,       (uint64_t)1 << 31,
                                       UINT32_MAX, INT64_MAX, INT64_MIN, 0x7ff8000000000000, 0x7ff0000000000000};
    size_t words = out->size / 8, at = fuzz_word(in, 2), from = fuzz_word(in, 2);
    uint64_t word;

    if (words == 0) {
        return;
    }
    at %= words;
    from %= words;
    memcpy(&word, out->bytes + 8 * at, 8);
    switch (fuzz_below(in, 6)) {
    case 0:
        word = strange[fuzz_below(in, (int)(sizeof strange / sizeof *strange))];
        break;
    case 1:
        word ^= (uint64_t)1 << fuzz_below(in, 64);
        break;
    case 2:
        word += (uint64_t)(int64_t)(int8_t)fuzz_byte(in);
        break;
    case 3:
        memcpy(&word, out->bytes + 8 * from, 8);
        break;
    case 4: {
        size_t length = 8 * (words - (at > from ? at : from));
        size_t wanted = 8 * fuzz_byte(in);

        memmove(out->bytes + 8 * at, out->bytes + 8 * from, wanted < length ? wanted : length);
        return;
    }
    default:
        cut(out, 8 * at + (size_t)fuzz_below(in, 8));
        return;
    }
    memcpy(out->bytes + 8 * at, &word, 8);
}

static void walk(const bh_part *part)
{
    const bh_mac mac = mac_for(&part->tree);

    BH_LIST(list);
    for (int64_t g = 0; g < part->ngroups; g++) {
        fuzz_require(bh_walk(&part->tree, &part->group[g], &mac, NULL, &list) == EQP_OK);
        for (int64_t c = 0; c < list.ncells; c++) {
            fuzz_require(list.cell[c] >= 0 && list.cell[c] < part->tree.ncells);
        }
        for (int64_t r = 0; r < list.nruns; r++) {
            fuzz_require(list.run_first[r] >= 0 && list.run_count[r] > 0 &&
                         list.run_first[r] + list.run_count[r] <= part->tree.sources.n);
        }
    }
}

/* The block has an allocation of its own size, so that a sanitizer sees reads beyond it. */
static void graft(bh_tree *tree, int home, const unsigned char *block, size_t size)
{
    unsigned char *bytes = malloc(size > 0 ? size : 1);
    const int64_t ncells = tree->ncells, nsources = tree->sources.n, nfamilies = tree->nfamilies;
    int code;

    fuzz_require(bytes);
    memcpy(bytes, block, size);
    code = bh_let_graft(tree, home, bytes, size);
    fuzz_require(code == EQP_OK || code == EQP_ERR_FORMAT);
    fuzz_require(code == EQP_OK ||
                 (tree->ncells == ncells && tree->sources.n == nsources && tree->nfamilies == nfamilies));
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    const int kind = fuzz_below(&in, BH_SET_KINDS), n = 1 + fuzz_byte(&in), leaf_size = 1 + fuzz_below(&in, 8);
    const int pieces = 1 + fuzz_below(&in, 3), way = fuzz_below(&in, 16);
    const int home = way == 15 ? fuzz_byte(&in) - 128 : 0;
    const bool backwards = way == 14;
    letter out;

    BH_SET(set, kind, n, 7);
    set.bare = way % 4 == 1;
    BH_PARTS(parts, &set, leaf_size, 8, 2, pieces);
    out = pack(parts);
    while (in.left > 0) {
        change(&out, &in);
    }
    for (int64_t i = 0; i < out.n; i++) {
        const int64_t b = backwards ? out.n - 1 - i : i;
        graft(&parts[1].tree, home, out.bytes + out.begin[b], out.begin[b + 1] - out.begin[b]);
    }
    fuzz_require(bh_tree_check(&parts[1].tree) == EQP_OK);
    walk(&parts[1]);
    free(out.begin);
    free(out.bytes);
    return 0;
}
