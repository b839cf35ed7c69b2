/* SPDX-License-Identifier: BSD-3-Clause */
/* What a TIPSY header says: apart from its file, so that headers of files too large for a test can be tested. */
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

/* head [32]. The size tells whether places, or places and velocities, are doubles, and whether the header ends before
 * the pad word (28 bytes). The pad word holds bits 32 to 39 of the four counts where the counts do not add up, or the
 * file does not have the right size, without them. Returns false if this is no TIPSY header. */
bool eqp__tipsy_parse(const unsigned char *head, int64_t size, eqp__tipsy *found);

#endif
