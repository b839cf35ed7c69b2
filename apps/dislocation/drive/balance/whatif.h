/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as --compare and `auto` see it (run_whatif.h): owners are nodes with the segments that they own. */
#ifndef DD_WHATIF_H
#define DD_WHATIF_H

#include "../../../common/run_whatif.h"
#include "../simulation.h"

typedef struct dd_whatif dd_whatif;

/* For the state of a simulation after its creation, a step or a drift; it must not change while this is used, but by
 * app_whatif.advance. sim: borrowed. Collective; owned by the caller: dd_whatif_free(). */
int dd_whatif_create(dd_simulation *sim, dd_whatif **whatif);
void dd_whatif_free(dd_whatif *whatif);

/* The functions, valid as long as the object. advance: motion alone, as nodes that come and go with the topology would
 * leave verdicts without owners and owners without verdicts. assign: sectioning and bisection, after as many moves of
 * their walls as a run would have made. */
const app_whatif *dd_whatif_functions(const dd_whatif *whatif);

/* Gives methods that are to be compared the aspect that is usual here, where the user has named none. choice: [n].
 * Collective. */
int dd_whatif_settle(const dd_whatif *whatif, int n, app_method_choice *choice);

#endif
