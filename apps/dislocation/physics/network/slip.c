/* SPDX-License-Identifier: BSD-3-Clause */
#include "operations.h"

#include "vector.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

void dd_slip_free(dd_slip *slip)
{
    free(slip->segment);
    free(slip->place);
    free(slip->queue);
    *slip = (dd_slip){0};
}

/* Appends the segments with both ends in the patch: operations change no others. */
static int append(dd_slip *slip, dd_patch *patch)
{
    for (int i = 0; i < patch->n; i++) {
        const dd_node *node = &patch->at[i].node;
        for (int k = 0; k < node->narms && !patch->at[i].deleted; k++) {
            const dd_arm *arm = &node->arm[k];
            const dd_patch_node *other = arm->tag > node->tag ? dd_patch_find(patch, arm->tag) : NULL;
            if (other == NULL) {
                continue;
            }
            if (eqp_array_reserve(&slip->segment, &slip->room, slip->n + 1, sizeof *slip->segment) != EQP_OK) {
                return EQP_ERR_MEMORY;
            }
            dd_slip_segment *segment = &slip->segment[slip->n++];
            segment->tag[0] = node->tag;
            segment->tag[1] = arm->tag;
            dd_v3_copy(segment->burgers, arm->burgers);
            dd_v3_copy(segment->x[0], node->x);
            dd_v3_copy(segment->x[1], other->node.x);
        }
    }
    return EQP_OK;
}

int dd_slip_begin(dd_slip *slip, dd_patch *patch)
{
    slip->n = 0;
    const int code = append(slip, patch);
    slip->nold = slip->n;
    return code;
}

/* Removes unchanged segments, so that nothing is left to cancel and the rest is connected. */
static void drop_common(dd_slip *slip)
{
    int64_t old = 0, n;

    for (int64_t i = 0; i < slip->nold; i++) {
        int64_t j = slip->nold;
        while (j < slip->n && memcmp(&slip->segment[i], &slip->segment[j], sizeof *slip->segment) != 0) {
            j++;
        }
        if (j == slip->n) {
            slip->segment[old++] = slip->segment[i];
        } else {
            slip->segment[j] = slip->segment[--slip->n];
        }
    }
    n = slip->n - slip->nold;
    memmove(slip->segment + old, slip->segment + slip->nold, (size_t)n * sizeof *slip->segment);
    slip->nold = old;
    slip->n = old + n;
}

/* Places a segment by one end, at its nearest-image offset from `from`, which is placed at `at`. */
static void put(dd_slip *slip, const dd_patch *patch, int64_t i, int end, const double from[3], const double at[3])
{
    const dd_slip_segment *segment = &slip->segment[i];
    double step[3];

    dd_patch_offset(patch, from, segment->x[end], step);
    dd_v3_along(at, 1.0, step, slip->place[i][end]);
    dd_patch_offset(patch, segment->x[end], segment->x[1 - end], step);
    dd_v3_along(slip->place[i][end], 1.0, step, slip->place[i][1 - end]);
}

/* Moves from segment to segment along shared nodes; a moved node takes the short way. Each connected set of segments
 * starts its own list and bounds its own surface. queue: placed segments in turn, then the rest. */
static void unfold(dd_slip *slip, const dd_patch *patch)
{
    int64_t placed = 0;

    for (int64_t i = 0; i < slip->n; i++) {
        slip->queue[i] = i;
    }
    for (int64_t q = 0; q < slip->n; q++) {
        const int64_t i = slip->queue[q];
        if (q == placed) {
            put(slip, patch, i, 0, slip->segment[i].x[0], dd_v3_zero);
            placed++;
        }
        for (int64_t p = placed; p < slip->n; p++) {
            const int64_t j = slip->queue[p];
            for (int e = 0; e < 4; e++) {
                const int mine = e / 2, its = e % 2;
                if (slip->segment[i].tag[mine] == slip->segment[j].tag[its]) {
                    put(slip, patch, j, its, slip->segment[i].x[mine], slip->place[i][mine]);
                    slip->queue[p] = slip->queue[placed];
                    slip->queue[placed++] = j;
                    break;
                }
            }
        }
    }
}

int dd_slip_end(dd_slip *slip, dd_patch *patch, double area[9])
{
    EQP_CHECK(append(slip, patch));
    drop_common(slip);
    EQP_CHECK(eqp_array_reserve(&slip->place, &slip->place_room, slip->n, sizeof *slip->place));
    EQP_CHECK(eqp_array_reserve(&slip->queue, &slip->queue_room, slip->n, sizeof *slip->queue));
    unfold(slip, patch);
    for (int64_t s = 0; s < slip->n; s++) {
        const double factor = s < slip->nold ? 0.5 : -0.5;
        double cross[3];
        dd_v3_cross(slip->place[s][0], slip->place[s][1], cross);
        for (int k = 0; k < 9; k++) {
            area[k] += factor * slip->segment[s].burgers[k / 3] * cross[k % 3];
        }
    }
    return EQP_OK;
}
