/* SPDX-License-Identifier: BSD-3-Clause */
#include "lists.h"

#include "timing.h"

#include <math.h>
#include <stdlib.h>

void bench_lists_make(bench_lists *l, int64_t nowners, int64_t nitems, int64_t nsources)
{
    *l = (bench_lists){.nowners = nowners, .nitems = nitems, .nsources = nsources};
    l->id = bench_room(nowners, sizeof *l->id);
    l->item_first = bench_room(nowners + 1, sizeof *l->item_first);
    l->owner = bench_room(nowners, sizeof *l->owner);
    l->item = bench_room(nitems, sizeof *l->item);
    l->first = bench_room(nitems + 1, sizeof *l->first);
    l->source = bench_room(nsources, sizeof *l->source);
    l->first[0] = 0;
}

void bench_lists_free(bench_lists *l)
{
    free(l->id);
    free(l->item_first);
    free(l->owner);
    free(l->item);
    free(l->first);
    free(l->meets);
    free(l->source);
}

void bench_meet(bench_lists *l, int64_t source)
{
    if (l->ninteractions == l->room) {
        l->room = 2 * l->room + 4096;
        l->meets = realloc(l->meets, (size_t)l->room * sizeof *l->meets);
        if (l->meets == NULL) {
            bench_die("out of memory");
        }
    }
    l->meets[l->ninteractions++] = (int32_t)source;
}

double bench_nearest(double d, double box)
{
    return box > 0 ? d - box * nearbyint(d / box) : d;
}
