/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of each part: --share equal|speeds:S,...|measured|model[:KIND]. */
#ifndef APP_SHARE_H
#define APP_SHARE_H

#include <equipoise/balancer.h>

/* Reads the word of --share. EQP_OK; EQP_ERR_ARGUMENT with what is wrong in the message (may be NULL), EQP_ERR_MEMORY;
 * *choice is unchanged then. Free with app_share_free(). */
int app_share_parse(const char *text, eqp_share_options *choice, eqp_message *message);
void app_share_free(eqp_share_options *choice);

/* Checks that nparts is a multiple of the number of declared speeds. EQP_OK or EQP_ERR_ARGUMENT with a message. */
int app_share_check(const eqp_share_options *choice, int64_t nparts, eqp_message *message);

#endif
