/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/base.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The character at text and its length, or 0. */
static size_t decode(const char *text, uint32_t *character)
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
    *character = code;
    return length;
}

size_t eqp_utf8_length(const char *text)
{
    uint32_t character;

    return text ? decode(text, &character) : 0;
}

/* Control characters (C0, DEL, C1), and characters of Unicode that are invisible, break lines or turn the direction of
 * what follows (Unicode Standard Annex 9). */
static bool is_harmful(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } range[] = {{0x01, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},      {0x61C, 0x61C},
                 {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
                 {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};

    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
        if (c >= range[i].first && c <= range[i].last) {
            return true;
        }
    }
    return false;
}

void eqp_text_clean(char *text)
{
    char *end = text;

    if (!text) {
        return;
    }
    while (*text != '\0') {
        uint32_t character = 0;
        const size_t length = decode(text, &character);

        if (length == 0 || is_harmful(character)) {
            *end++ = '?';
        } else {
            memmove(end, text, length);
            end += length;
        }
        text += length > 0 ? length : 1;
    }
    *end = '\0';
}

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* A truncated text ends in dots, and never within a UTF-8 character. */
static void mark_cut(char *text, size_t size)
{
    size_t end = size - sizeof "...";

    while (end > 0 && continues_character(text[end])) {
        end--;
    }
    memcpy(text + end, "...", sizeof "...");
}

static void write_line(eqp_message *message, const char *format, va_list arguments)
{
    char text[sizeof message->text];
    int length = format ? vsnprintf(text, sizeof text, format, arguments) : -1;

    if (length < 0) {
        (void)snprintf(text, sizeof text, "(a message that cannot be formatted)");
    } else if ((size_t)length >= sizeof text) {
        mark_cut(text, sizeof text);
    }
    eqp_text_clean(text);
    /* Last, because the arguments may point into the message. */
    memcpy(message->text, text, sizeof text);
}

void eqp_message_set(eqp_message *message, const char *format, ...)
{
    va_list arguments;

    if (!message) {
        return;
    }
    va_start(arguments, format);
    write_line(message, format, arguments);
    va_end(arguments);
}
