/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that ranks may need: --memory-cap none|BYTES,...|Xmean. */
#ifndef APP_MEMORY_CAP_H
#define APP_MEMORY_CAP_H

#include <equipoise/balancer.h>

/* Parses --memory-cap: bytes with K, M, G or T (powers of 1024), a list of which is repeated over the ranks; or a
 * multiple of the mean need of a rank, `1.5mean`. EQP_OK; EQP_ERR_ARGUMENT with the reason in the message (may be
 * NULL), EQP_ERR_MEMORY; *capacities is unchanged then. Free with app_memory_cap_free(). */
int app_memory_cap_parse(const char *text, eqp_capacities *capacities, eqp_message *message);
void app_memory_cap_free(eqp_capacities *capacities);

/* Checks that the number of ranks is a multiple of the length of the list. EQP_OK or EQP_ERR_ARGUMENT with a
 * message. */
int app_memory_cap_check(const eqp_capacities *capacities, int64_t nranks, eqp_message *message);

#endif
