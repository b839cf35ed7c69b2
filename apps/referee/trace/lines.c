/* SPDX-License-Identifier: BSD-3-Clause */
#include "build.h"

#include <equipoise/more/base.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int rf_lines_open(rf_build *build, const char *path, rf_lines *lines)
{
    *lines = (rf_lines){.stream = NULL};
    EQP_CHECK(rf_build_open(build, path, "line"));
    return eqp_input_open(path, &lines->stream, build->message);
}

void rf_lines_close(rf_lines *lines)
{
    if (lines->stream != NULL) {
        (void)fclose(lines->stream);
    }
    free(lines->line);
    *lines = (rf_lines){.stream = NULL};
}

int rf_lines_next(rf_lines *lines, rf_build *build, bool *end)
{
    ssize_t length;

    errno = 0;
    length = getline(&lines->line, &lines->room, lines->stream);
    build->number = ++lines->number;
    *end = length < 0;
    if (*end) {
        return feof(lines->stream)
                   ? EQP_OK
                   : rf_build_refuse(build, errno == ENOMEM ? EQP_ERR_MEMORY : EQP_ERR_IO, "%s", strerror(errno));
    }
    RF_REFUSE_IF(lines->number == 1 && length >= 2 &&
                     (memcmp(lines->line, "\xff\xfe", 2) == 0 || memcmp(lines->line, "\xfe\xff", 2) == 0),
                 build, EQP_ERR_FORMAT, "UTF-16: save it as UTF-8, or iconv -f UTF-16 -t UTF-8");
    RF_REFUSE_IF(memchr(lines->line, '\0', (size_t)length) != NULL, build, EQP_ERR_FORMAT, "a byte that is no text");
    if (lines->number == 1 && length >= 3 && memcmp(lines->line, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        length -= 3;
        memmove(lines->line, lines->line + 3, (size_t)length + 1);
    }
    while (length > 0 && (lines->line[length - 1] == '\n' || lines->line[length - 1] == '\r')) {
        lines->line[--length] = '\0';
    }
    return EQP_OK;
}

int rf_read_bytes(const char *path, char **bytes, int64_t *size, eqp_message *message)
{
    FILE *stream = NULL;
    char *made = NULL;
    int64_t n = 0, room = 0;
    size_t got = 1;
    int code = eqp_input_open(path, &stream, message);

    if (code != EQP_OK) {
        return code;
    }
    while (got > 0) {
        EQP_TRY(eqp_array_reserve(&made, &room, n + 65536, 1));
        got = fread(made + n, 1, (size_t)(room - n), stream);
        n += (int64_t)got;
    }
    if (ferror(stream)) {
        eqp_message_set(message, "%.250s: %s", path, strerror(errno));
        EQP_TRY(EQP_ERR_IO);
    }
    *bytes = made;
    *size = n;
    made = NULL;
done:
    free(made);
    (void)fclose(stream);
    return code;
}

char *rf_field_next(char **rest, char separator)
{
    char *field = *rest, *end;

    if (field == NULL) {
        return NULL;
    }
    field += strspn(field, separator == '\t' ? " " : " \t");
    if (field[0] == '"' && (end = strchr(field + 1, '"')) != NULL && end[1] != '"' &&
        (end[1 + strspn(end + 1, " ")] == separator || end[1 + strspn(end + 1, " ")] == '\0')) {
        *end = '\0'; /* separators within quotes are text */
        end += 1 + strspn(end + 1, " ");
        *rest = *end != '\0' ? end + 1 : NULL;
        return field + 1;
    }
    if (separator == ' ') {
        end = field + strcspn(field, " \t");
        *rest = end + strspn(end, " \t");
        *rest = **rest != '\0' ? *rest : NULL;
    } else {
        end = field + strcspn(field, (char[]){separator, '\0'});
        *rest = *end != '\0' ? end + 1 : NULL;
    }
    *end = '\0';
    while (end > field && (end[-1] == ' ' || end[-1] == '\t')) {
        *--end = '\0';
    }
    if (end - field >= 2 && field[0] == '"' && end[-1] == '"') {
        end[-1] = '\0';
        field++;
    }
    return field;
}

char rf_separator_of(const char *header)
{
    return strchr(header, '\t') != NULL  ? '\t'
           : strchr(header, ';') != NULL ? ';'
           : strchr(header, ',') != NULL ? ','
                                         : ' ';
}

int rf_field_int(const rf_build *build, const char *field, const char *name, int64_t *value)
{
    char *end;
    long long read;

    errno = 0;
    read = strtoll(field, &end, 10);
    RF_REFUSE_IF(end == field || *end != '\0' || isspace((unsigned char)field[0]), build, EQP_ERR_DATA,
                 "%s: '%.40s' is no whole number", name, field);
    RF_REFUSE_IF(errno == ERANGE || read == INT64_MIN, build, EQP_ERR_DATA, "%s: '%.40s' does not fit into 64 bits",
                 name, field);
    *value = read;
    return EQP_OK;
}

int rf_field_real(const rf_build *build, const char *field, const char *name, double *value)
{
    char *end;

    *value = strtod(field, &end);
    RF_REFUSE_IF(end == field || *end != '\0' || isspace((unsigned char)field[0]), build, EQP_ERR_DATA,
                 "%s: '%.40s' is no number%s", name, field, *end == ',' ? ": decimals have a point" : "");
    RF_REFUSE_IF(!isfinite(*value), build, EQP_ERR_DATA, "%s: '%.40s' is not finite", name, field);
    return EQP_OK;
}
