/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/pins.h"

#include <stdlib.h>

static int by_id_then_weight(const void *a, const void *b)
{
    const eqp__pin *x = a, *y = b;

    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return (x->weight < y->weight) - (x->weight > y->weight);
}

int64_t eqp__pins_unique(int64_t n, eqp__pin *pin)
{
    int64_t kept = 0;

    qsort(pin, (size_t)n, sizeof *pin, by_id_then_weight);
    for (int64_t k = 0; k < n; k++) {
        if (kept == 0 || pin[kept - 1].id != pin[k].id) {
            pin[kept++] = pin[k];
        }
    }
    return kept;
}
