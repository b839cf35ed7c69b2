/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/output.h"

#include <stdio.h>
#include <string.h>

const char *eqp__base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool eqp__same_folder(const char *a, const char *b)
{
    size_t length = (size_t)(eqp__base_name(a) - a);

    return length == (size_t)(eqp__base_name(b) - b) && strncmp(a, b, length) == 0;
}

void eqp__put_escaped(FILE *to, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", to);
            break;
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '"':
            fputs("&quot;", to);
            break;
        default:
            fputc(*text, to);
        }
    }
}
