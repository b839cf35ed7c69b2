/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/base.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
