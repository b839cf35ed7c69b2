/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes bytes look like GADGET format 1 or 2 again, so that changes of what is inside get past the lengths. */
#ifndef EQP_FUZZ_GADGET_MEND_H
#define EQP_FUZZ_GADGET_MEND_H

#include "fuzz.h"

/* The bits of seed choose the changes: only the second length of each record; or also the counts, which are
 * made small, and the lengths and labels of all blocks. Does nothing where there is too little. */
void fuzz_mend_gadget(uint8_t *data, size_t size, unsigned int seed);

#endif
