/* SPDX-License-Identifier: BSD-3-Clause */
#include "lists.h"

#include "timing.h"

#include <equipoise/error.h>
#include <equipoise/more/curve.h>
#include <equipoise/more/io.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096 /* nodes that are read at once */

/* A network as far as it matters here: segments belong to the node with the lower tag. */
typedef struct node {
    uint64_t tag, key;
    bench_point at;
    int64_t nsegments;
} node;

typedef struct segment {
    uint64_t owner, other;
    int64_t node; /* place of the owner along the curve */
    bench_point middle;
} segment;

typedef struct network {
    double low[3], edge[3];
    int64_t n, nsegments, node_room, segment_room;
    node *node;
    segment *segment;
} network;

static void *grown(void *array, int64_t n, int64_t *has_room, size_t size)
{
    if (n < *has_room) {
        return array;
    }
    *has_room = 2 * n + BLOCK;
    array = realloc(array, (size_t)*has_room * size);
    if (array == NULL) {
        bench_die("out of memory");
    }
    return array;
}

static void add_node(network *w, const eqp_paradis_node *read, const eqp_paradis_arm *arm)
{
    w->node = grown(w->node, w->n, &w->node_room, sizeof *w->node);
    node *made = &w->node[w->n++];
    *made = (node){.tag = read->tag};
    memcpy(made->at.x, read->x, sizeof made->at.x);
    for (int d = 0; d < 3; d++) {
        made->at.x[d] -= w->edge[d] * floor((made->at.x[d] - w->low[d]) / w->edge[d]);
    }
    for (int a = 0; a < read->narms; a++) {
        if (read->tag < arm[a].tag) {
            w->segment = grown(w->segment, w->nsegments, &w->segment_room, sizeof *w->segment);
            w->segment[w->nsegments++] = (segment){.owner = read->tag, .other = arm[a].tag};
        }
    }
}

static int by_tag(const void *a, const void *b)
{
    const node *first = a, *second = b;
    return (first->tag > second->tag) - (first->tag < second->tag);
}

static int by_key(const void *a, const void *b)
{
    const node *first = a, *second = b;
    return first->key != second->key ? (first->key > second->key) - (first->key < second->key) : by_tag(a, b);
}

static const node *find(const network *w, uint64_t tag)
{
    const node wanted = {.tag = tag};
    const node *found = bsearch(&wanted, w->node, (size_t)w->n, sizeof *w->node, by_tag);

    if (found == NULL) {
        bench_die("an arm leads nowhere");
    }
    return found;
}

static int by_node(const void *a, const void *b)
{
    const segment *first = a, *second = b;
    return first->node != second->node ? (first->node > second->node) - (first->node < second->node)
                                       : (first->other > second->other) - (first->other < second->other);
}

static void read_network(const char *path, network *w)
{
    eqp_paradis_reader *reader;
    eqp_paradis_block block;
    eqp_message message = {""};

    bench_check(eqp_paradis_open(path, &reader, &message), message.text);
    const eqp_paradis_header *header = eqp_paradis_get_header(reader);
    *w = (network){.n = 0};
    for (int d = 0; d < 3; d++) {
        w->low[d] = header->min[d];
        w->edge[d] = header->max[d] - header->min[d];
    }
    do {
        bench_check(eqp_paradis_next(reader, BLOCK, &block, &message), message.text);
        for (int64_t i = 0; i < block.n; i++) {
            add_node(w, &block.node[i], block.arm + block.node[i].first_arm);
        }
    } while (block.n > 0);
    eqp_paradis_close(reader);
}

/* Nodes along the curve, segments by their owners. */
static void order_network(network *w)
{
    const double side = fmax(w->edge[0], fmax(w->edge[1], w->edge[2]));
    int64_t *place = bench_room(w->n, sizeof *place);

    qsort(w->node, (size_t)w->n, sizeof *w->node, by_tag);
    for (int64_t i = 0; i < w->n; i++) {
        const double *x = w->node[i].at.x;
        bench_check(eqp_hilbert_keys(1, x, x + 1, x + 2, w->low, side, &w->node[i].key),
                    "a node is outside of the box");
    }
    for (int64_t s = 0; s < w->nsegments; s++) {
        segment *of = &w->segment[s];
        const node *a = find(w, of->owner), *b = find(w, of->other);
        of->node = a - w->node;
        w->node[of->node].nsegments++;
        for (int d = 0; d < 3; d++) {
            of->middle.x[d] = a->at.x[d] + 0.5 * bench_nearest(b->at.x[d] - a->at.x[d], w->edge[d]);
        }
    }
    node *along = bench_room(w->n, sizeof *along);
    memcpy(along, w->node, (size_t)w->n * sizeof *along);
    qsort(along, (size_t)w->n, sizeof *along, by_key);
    for (int64_t i = 0; i < w->n; i++) {
        place[find(w, along[i].tag) - w->node] = i;
    }
    for (int64_t s = 0; s < w->nsegments; s++) {
        w->segment[s].node = place[w->segment[s].node];
    }
    free(w->node);
    w->node = along;
    free(place);
    qsort(w->segment, (size_t)w->nsegments, sizeof *w->segment, by_node);
}

/* Segments by cells of a grid of n x n x n. */
typedef struct grid {
    int64_t n, *cell, *first, *member; /* [segments], [cells + 1], [segments] */
} grid;

static void grid_make(const network *w, int64_t n, grid *g)
{
    const int64_t ncells = n * n * n;

    *g = (grid){n, bench_room(w->nsegments, sizeof(int64_t)), bench_room(ncells + 2, sizeof(int64_t)),
                bench_room(w->nsegments, sizeof(int64_t))};
    memset(g->first, 0, (size_t)(ncells + 2) * sizeof *g->first);
    for (int64_t s = 0; s < w->nsegments; s++) {
        int64_t cell = 0;
        for (int d = 0; d < 3; d++) {
            const int64_t at = (int64_t)floor((w->segment[s].middle.x[d] - w->low[d]) / w->edge[d] * (double)n);
            cell = cell * n + (at % n + n) % n;
        }
        g->cell[s] = cell;
        g->first[cell + 2]++;
    }
    for (int64_t c = 1; c <= ncells; c++) {
        g->first[c + 1] += g->first[c];
    }
    for (int64_t s = 0; s < w->nsegments; s++) {
        g->member[g->first[g->cell[s] + 1]++] = s;
    }
}

static void grid_free(grid *g)
{
    free(g->cell);
    free(g->first);
    free(g->member);
}

/* The cell behind an offset; 13 of the 26 neighbours come "after" a cell, so that every pair is met once. */
static int64_t neighbour(const grid *g, int64_t cell, const int offset[3])
{
    const int64_t n = g->n, at[3] = {cell / (n * n), cell / n % n, cell % n};
    int64_t to = 0;

    for (int d = 0; d < 3; d++) {
        to = to * n + (at[d] + offset[d] + n) % n;
    }
    return to;
}

/* Adds the segments that a segment interacts with to the lists; NULL: only counts them. */
static int64_t meet_segments(const grid *g, int64_t s, bench_lists *l)
{
    int64_t n = 0;

    for (int k = 13; k < 27; k++) { /* 13 is the cell itself */
        const int offset[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
        const int64_t cell = neighbour(g, g->cell[s], offset);
        for (int64_t m = g->first[cell]; m < g->first[cell + 1]; m++) {
            if (k > 13 || g->member[m] > s) {
                n++;
                if (l != NULL) {
                    bench_meet(l, g->member[m]);
                }
            }
        }
    }
    return n;
}

/* The grid whose pairs per node come next to the wanted number; at least 3 cells along each axis. */
static void grid_for(const network *w, double wanted, grid *g)
{
    double best = INFINITY;
    int64_t chosen = 3;

    for (int64_t n = 3;; n++) {
        int64_t sum = 0;
        grid_make(w, n, g);
        for (int64_t s = 0; s < w->nsegments; s++) {
            sum += meet_segments(g, s, NULL);
        }
        grid_free(g);
        const double off = fabs(log((double)sum / ((double)w->n * wanted)));
        if (!(off < best)) {
            break;
        }
        best = off;
        chosen = n;
    }
    grid_make(w, chosen, g);
}

void bench_list_segments(const char *path, double wanted, bench_lists *l)
{
    network w;
    grid g;
    int64_t s = 0;

    read_network(path, &w);
    order_network(&w);
    if (w.nsegments == 0) {
        bench_die("a network without segments");
    }
    grid_for(&w, wanted, &g);
    bench_lists_make(l, w.n, w.nsegments, w.nsegments);
    memcpy(l->box, w.edge, sizeof l->box);
    for (int64_t i = 0; i < w.n; i++) {
        l->id[i] = (int64_t)w.node[i].tag;
        l->owner[i] = w.node[i].at;
        l->item_first[i] = s;
        for (int64_t k = 0; k < w.node[i].nsegments; k++, s++) {
            l->item[s] = l->source[s] = w.segment[s].middle;
            meet_segments(&g, s, l);
            l->first[s + 1] = l->ninteractions;
        }
    }
    l->item_first[w.n] = s;
    grid_free(&g);
    free(w.node);
    free(w.segment);
}
