/* SPDX-License-Identifier: BSD-3-Clause */
/** \file utf8.h
 * \brief As much of UTF-8 as reports need. */
#ifndef EQP_REPORT_UTF8_H
#define EQP_REPORT_UTF8_H

#include <stddef.h>

/** Bytes of the character at `text`, 1 to 4; 0 where it is not valid UTF-8 (RFC 3629) or the text ends. */
size_t eqp__utf8_length(const char *text);

/** Characters in `text`; a byte that is not UTF-8 counts as one. */
size_t eqp__utf8_count(const char *text);

/** A copy in which U+FFFD stands for each byte that is not UTF-8; owned by the caller. NULL without memory. */
char *eqp__utf8_repair(const char *text);

#endif
