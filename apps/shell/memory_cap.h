/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that ranks may need: --memory-cap none|BYTES,...|Xmean. */
#ifndef APP_MEMORY_CAP_H
#define APP_MEMORY_CAP_H

#include <equipoise/balancer.h>

/* Reads the word: bytes with K, M, G or T (of 1024), a list of which is repeated over the ranks; or so many times what
 * a rank needs in the mean. EQP_OK; EQP_ERR_ARGUMENT with what is wrong in the message (may be NULL), EQP_ERR_MEMORY;
 * *capacities is unchanged then. Free with app_memory_cap_free(). */
int app_memory_cap_parse(const char *text, eqp_capacities *capacities, eqp_message *message);
void app_memory_cap_free(eqp_capacities *capacities);

/* Whether a list stands for so many ranks: it is repeated, but whole. EQP_OK or EQP_ERR_ARGUMENT with a message. */
int app_memory_cap_check(const eqp_capacities *capacities, int64_t nranks, eqp_message *message);

#endif
