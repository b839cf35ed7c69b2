/* SPDX-License-Identifier: BSD-3-Clause */
#include "tile.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>

int64_t dd_tiling_count(const dd_tiling *tiling)
{
    return (int64_t)tiling->count[0] * tiling->count[1] * tiling->count[2];
}

int dd_tiling_init(dd_tiling *tiling, const dd_network *base, const int count[3], const double low[3],
                   const double box[3])
{
    dd_tiling made = {.span = 1};
    uint64_t indices = 1, domains = 1;

    for (int i = 0; i < 3; i++) {
        if (box[i] == 0.0 && count[i] > 1) {
            return EQP_ERR_ARGUMENT;
        }
        made.count[i] = count[i];
        made.low[i] = low[i];
        made.box[i] = box[i];
    }
    for (int64_t j = 0; j < base->n; j++) {
        uint64_t index = DD_TAG_INDEX(base->node[j].tag) + UINT64_C(1);
        uint64_t domain = DD_TAG_DOMAIN(base->node[j].tag) + UINT64_C(1);
        indices = index > indices ? index : indices;
        domains = domain > domains ? domain : domains;
    }
    /* Files have room for 31 bits of each. */
    const uint64_t tiles = (uint64_t)dd_tiling_count(&made), fit = INT32_MAX;
    made.by_domain = indices > fit / tiles;
    made.span = made.by_domain ? domains : indices;
    if (made.by_domain && domains > fit / tiles) {
        return EQP_ERR_OVERFLOW;
    }
    *tiling = made;
    return EQP_OK;
}

void dd_tiling_box(const dd_tiling *tiling, double low[3], double box[3])
{
    for (int i = 0; i < 3; i++) {
        box[i] = tiling->count[i] * tiling->box[i];
        low[i] = tiling->low[i] - 0.5 * (tiling->count[i] - 1) * tiling->box[i];
    }
}

dd_tag dd_tiling_tag(const dd_tiling *tiling, int64_t tile, dd_tag tag)
{
    const uint64_t shift = (uint64_t)tile * tiling->span;

    return tiling->by_domain ? DD_TAG(DD_TAG_DOMAIN(tag) + shift, DD_TAG_INDEX(tag))
                             : DD_TAG(DD_TAG_DOMAIN(tag), DD_TAG_INDEX(tag) + shift);
}

static void find_place(const dd_tiling *tiling, int64_t tile, int place[3])
{
    place[0] = (int)(tile % tiling->count[0]);
    place[1] = (int)(tile / tiling->count[0] % tiling->count[1]);
    place[2] = (int)(tile / tiling->count[0] / tiling->count[1]);
}

/* Tile of the image of `to` nearest to `from`, which is in this tile. */
static int64_t find_neighbour(const dd_tiling *tiling, const int place[3], const double from[3], const double to[3])
{
    int64_t tile = 0;

    for (int i = 2; i >= 0; i--) {
        int64_t count = tiling->count[i];
        /* Halves are rounded away from 0, so that both ends agree. */
        int64_t boxes = tiling->box[i] > 0.0 ? (int64_t)round((from[i] - to[i]) / tiling->box[i]) : 0;
        tile = tile * count + (((place[i] + boxes) % count) + count) % count;
    }
    return tile;
}

/* Position of a copy; rounding must not push it out of the large box. */
static double shift_into(double x, double low, double box, double by)
{
    x += by;
    return box > 0.0 && (x < low || x >= low + box) ? low : x;
}

static int add_copy(const dd_tiling *tiling, const dd_network *base, const dd_node *node, int64_t tile,
                    dd_network *network)
{
    dd_node copy = {0};
    int place[3], code;
    double low[3], box[3];

    EQP_TRY(dd_node_copy(&copy, node));
    find_place(tiling, tile, place);
    dd_tiling_box(tiling, low, box);
    copy.tag = dd_tiling_tag(tiling, tile, node->tag);
    copy.home = 0;
    for (int i = 0; i < 3; i++) {
        copy.x[i] = shift_into(node->x[i], low[i], box[i], (place[i] - 0.5 * (tiling->count[i] - 1)) * tiling->box[i]);
    }
    for (int j = 0; j < copy.narms; j++) {
        const dd_node *to = &base->node[dd_network_find(base, node->arm[j].tag)];
        copy.arm[j].tag = dd_tiling_tag(tiling, find_neighbour(tiling, place, node->x, to->x), to->tag);
        copy.arm[j].home = 0;
    }
    EQP_TRY(dd_network_add(network, &copy));
done:
    dd_node_free(&copy);
    return code;
}

int dd_tiling_make(const dd_tiling *tiling, const dd_network *base, int64_t first, int64_t n, dd_network *network)
{
    for (int64_t i = first * base->n; i < (first + n) * base->n; i++) {
        EQP_CHECK(add_copy(tiling, base, &base->node[i % base->n], i / base->n, network));
    }
    return EQP_OK;
}
