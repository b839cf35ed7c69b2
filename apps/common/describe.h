/* SPDX-License-Identifier: BSD-3-Clause */
/* What a value has to be, in words for a message: shared by the parser of options and that of keyed values. */
#ifndef APP_DESCRIBE_H
#define APP_DESCRIBE_H

#include <equipoise/base.h>

#include <stdbool.h>

/* EQP_OK and the value; or EQP_ERR_ARGUMENT, the value is unchanged and `message` reads "'text' is not ...". Limits
 * are inclusive, but for an open lower one; INT64_MIN, INT64_MAX and infinities are none. */
int app__read_int(const char *text, int64_t low, int64_t high, int64_t *value, eqp_message *message);
int app__read_real(const char *text, double low, bool open_low, double high, double *value, eqp_message *message);
int app__read_choice(const char *text, const char *choices, int *value, eqp_message *message);

#endif
