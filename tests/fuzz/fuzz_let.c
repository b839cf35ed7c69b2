/* SPDX-License-Identifier: BSD-3-Clause */
/* The essential tree that another rank sends: a whole message with a few changes, grafted onto a tree that waits for
 * it. The first bytes choose particles and ranks, the others what is changed. */
#include "fuzz.h"

#include "../unit/bh_sets.h"

#include <equipoise/error.h>

static const bh_mac mac = {.theta = 0.5, .G = 1};

typedef struct letter {
    unsigned char *bytes;
    size_t size, capacity;
} letter;

/* What rank 1 needs of rank 0. */
static letter pack(const bh_part *parts)
{
    letter out = {0};
    int64_t ncells, nparticles;
    bh_let *let;

    fuzz_require(bh_let_create(&parts[0].tree, &let) == EQP_OK);
    for (int64_t g = 0; g < parts[1].ngroups; g++) {
        for (int64_t b = 0; b < parts[0].tree.nbranches; b++) {
            fuzz_require(bh_let_mark(let, b, &parts[1].group[g], &mac, NULL, NULL) == EQP_OK);
        }
    }
    fuzz_require(bh_let_pack(let, &out.bytes, &out.size, &out.capacity, &ncells, &nparticles) == EQP_OK);
    bh_let_free(let);
    return out;
}

/* Copies of other places of the message as well as strange numbers: they look right where they come to stand. */
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
        out->size = 8 * at + (size_t)fuzz_below(in, 8);
        if (out->size >= 16 && fuzz_byte(in) % 2) {
            memcpy(out->bytes + 8, &(uint64_t){out->size}, 8); /* the length that the message says it has */
        }
        return;
    }
    memcpy(out->bytes + 8 * at, &word, 8);
}

static void walk(const bh_part *part)
{
    bh_list list;

    bh_list_init(&list);
    for (int64_t g = 0; g < part->ngroups; g++) {
        fuzz_require(bh_walk(&part->tree, part->tree.root, &part->group[g], &mac, NULL, NULL, NULL, &list) == EQP_OK);
        for (int64_t c = 0; c < list.ncells; c++) {
            fuzz_require(list.cell[c] >= 0 && list.cell[c] < part->tree.ncells);
        }
        for (int64_t r = 0; r < list.nruns; r++) {
            fuzz_require(list.run_first[r] >= 0 && list.run_count[r] > 0 &&
                         list.run_first[r] + list.run_count[r] <= part->tree.sources.n);
        }
    }
    bh_list_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes in = {data, size};
    const int kind = fuzz_below(&in, BH_SET_KINDS), n = 1 + fuzz_byte(&in), leaf_size = 1 + fuzz_below(&in, 8);
    const int pieces = 1 + fuzz_below(&in, 3), home = fuzz_below(&in, 16) == 15 ? fuzz_byte(&in) - 128 : 0;
    bh_set set;
    bh_part *parts;
    letter out;

    bh_set_make((enum bh_set_kind)kind, n, 7, &set);
    bh_parts_make(&set, leaf_size, 8, 2, pieces, &parts);
    out = pack(parts);
    while (in.left > 0) {
        change(&out, &in);
    }
    {
        /* In memory of its own size, so that a sanitizer sees where it ends. */
        unsigned char *bytes = malloc(out.size + 1);
        bh_tree *tree = &parts[1].tree;
        const int64_t ncells = tree->ncells, nsources = tree->sources.n;
        int code;

        fuzz_require(bytes);
        bytes = realloc(bytes, out.size + (out.size == 0));
        if (out.size > 0) {
            memcpy(bytes, out.bytes, out.size);
        }
        code = bh_let_graft(tree, home, bytes, out.size);
        fuzz_require(code == EQP_OK || code == EQP_ERR_FORMAT);
        fuzz_require(code == EQP_OK || (tree->ncells == ncells && tree->sources.n == nsources));
        free(bytes);
    }
    fuzz_require(bh_tree_check(&parts[1].tree) == EQP_OK);
    walk(&parts[1]);
    free(out.bytes);
    bh_parts_free(2, parts);
    bh_set_free(&set);
    return 0;
}
