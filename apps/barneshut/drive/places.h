/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at the places of all output before a run begins, so that hours of work do not end in "no such directory". */
#ifndef BH_PLACES_H
#define BH_PLACES_H

#include "settings.h"

#include <mpi.h>

/* Whether the files that a run is to write can be made, as far as that can be told now, and are no two of them nor the
 * input the same. EQP_ERR_IO or EQP_ERR_ARGUMENT with one line. Collective. */
int bh_places_check(MPI_Comm comm, const bh_settings *settings, eqp_message *message);

#endif
