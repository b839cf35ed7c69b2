/* SPDX-License-Identifier: BSD-3-Clause */
#include "output/report.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

size_t eqp__utf8_count(const char *text)
{
    size_t count = 0;

    while (*text) {
        size_t length = eqp_utf8_length(text);

        text += length ? length : 1;
        count++;
    }
    return count;
}

char *eqp__utf8_repair(const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    char *copy = malloc(3 * strlen(text) + 1);
    char *end = copy;

    while (copy && *text) {
        size_t length = eqp_utf8_length(text);

        if (length) {
            memcpy(end, text, length);
            end += length;
            text += length;
        } else {
            memcpy(end, replacement, sizeof replacement - 1);
            end += sizeof replacement - 1;
            text++;
        }
    }
    if (copy) {
        *end = '\0';
    }
    return copy;
}
