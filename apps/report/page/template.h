/* SPDX-License-Identifier: BSD-3-Clause */
/* The page without its data, generated from page.html by embed.py: pieces, with @TITLE@ and @DATA@ as placeholders. */
#ifndef APP_TEMPLATE_H
#define APP_TEMPLATE_H

extern const char *const app__page_piece[];
extern const int app__page_npieces;

#endif
