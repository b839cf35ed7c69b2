/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses TIPSY headers without their files, so that tests cover files of any size. */
#ifndef EQP_IO_TIPSY_H
#define EQP_IO_TIPSY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct eqp__tipsy {
    bool big; /* endian */
    double time;
    int64_t n[3];  /* gas, dark matter, stars */
    int64_t bytes; /* of the whole file */
    int header_bytes;
    int place_bytes, velocity_bytes; /* of one component: 4, or 8 in double precision */
} eqp__tipsy;

/* head [32]. The file size decides whether positions, or positions and velocities, are doubles, and whether the header
 * has the pad word (32 bytes) or not (28). The pad holds bits 32 to 39 of the four counts if the sum of the counts or
 * the size is wrong without them. Returns false if this is no TIPSY header. */
bool eqp__tipsy_parse(const unsigned char *head, int64_t size, eqp__tipsy *found);

#endif
