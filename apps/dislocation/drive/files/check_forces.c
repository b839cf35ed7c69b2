/* SPDX-License-Identifier: BSD-3-Clause */
#include "check_forces.h"

#include "../../physics/elastic/check_table.h"

#include <equipoise/more/base.h>
#include <equipoise/more/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any output line. */
#define LINE_ROOM 128

static int write_text(const dd_check *check, char **text)
{
    const size_t room = ((size_t)check->ncategories + 2) * LINE_ROOM;
    size_t at = 0;
    int code;

    EQP_TRY(eqp_array_create(text, (int64_t)room, 1));
    at += (size_t)snprintf(*text, room, "category\trows\tworst\n");
    for (int64_t c = 0; c < check->ncategories; c++) {
        const dd_check_row *row = &check->category[c];
        at += (size_t)snprintf(*text + at, room - at, "%s\t%lld\t%.3e\n", row->category, (long long)row->rows,
                               row->worst);
    }
done:
    return code;
}

int dd_check_forces(const dd_settings *settings, char **text, eqp_message *message)
{
    const char *path = settings->check_forces;
    dd_check check = {0};
    eqp_message inner = {""};
    FILE *from = NULL;
    int code = eqp_input_open(path, &from, &inner);

    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --check-forces: %s", inner.text);
        return code;
    }
    code = dd_check_table(from, (dd_isa)settings->isa, &check, &inner);
    (void)fclose(from);
    if (code == EQP_ERR_STATE) {
        eqp_message_set(message, "dislocation: --isa: %s does not run on this processor", dd_settings_isa(settings));
        return EQP_ERR_ARGUMENT;
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --check-forces: %s: %s", path,
                        inner.text[0] != '\0' ? inner.text : eqp_error_text(code));
        return code;
    }
    code = write_text(&check, text);
    dd_check_free(&check);
    return code;
}
