/* SPDX-License-Identifier: BSD-3-Clause */
#include "output/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t eqp__utf8_length(const char *text)
{
    static const uint32_t smallest[] = {0, 0x01, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    size_t length = byte[0] < 0x80   ? 1
                    : byte[0] < 0xC0 ? 0
                    : byte[0] < 0xE0 ? 2
                    : byte[0] < 0xF0 ? 3
                    : byte[0] < 0xF8 ? 4
                                     : 0;
    uint32_t code = length == 1 ? byte[0] : byte[0] & (0x7Fu >> length);

    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (byte[i] & 0x3Fu);
    }
    /* Overlong forms, surrogates and codes beyond Unicode are not UTF-8; nor is the terminating zero a character. */
    if (code < smallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
        return 0;
    }
    return length;
}

size_t eqp__utf8_count(const char *text)
{
    size_t count = 0;

    while (*text) {
        size_t length = eqp__utf8_length(text);

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
        size_t length = eqp__utf8_length(text);

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
