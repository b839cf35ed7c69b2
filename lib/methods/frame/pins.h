/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_PINS_H
#define EQUIPOISE_METHODS_FRAME_PINS_H

#include <stdint.h>

typedef struct eqp__pin {
    int64_t id;
    double weight;
} eqp__pin;

/* Sorts pins by id and keeps the heaviest of each id; returns the number kept. Local. */
int64_t eqp__pins_unique(int64_t n, eqp__pin *pin);

#endif
