/* SPDX-License-Identifier: BSD-3-Clause */
/** \file utf8.h
 * \brief As much of UTF-8 as reports need. */
#ifndef EQP_REPORT_UTF8_H
#define EQP_REPORT_UTF8_H

#include <stddef.h>

/** Characters in `text`; a byte that is not UTF-8 counts as one. */
size_t eqp__utf8_count(const char *text);

/** A copy with U+FFFD in place of each byte that is not UTF-8; owned by the caller. NULL without memory. */
char *eqp__utf8_repair(const char *text);

#endif
