/* SPDX-License-Identifier: BSD-3-Clause */
/* The page without its data, made of page.html by embed.py: pieces, of which @TITLE@ and @DATA@ stand for what a run
 * has. */
#ifndef APP_TEMPLATE_H
#define APP_TEMPLATE_H

extern const char *const app__page_piece[];
extern const int app__page_npieces;

#endif
