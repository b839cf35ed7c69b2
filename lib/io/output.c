/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/output.h"

#include "io/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void release(eqp__output *output)
{
    free(output->path);
    free(output->temporary);
    *output = (eqp__output){0};
}

int eqp__output_begin(const char *path, eqp__output *output, eqp_message *message)
{
    eqp__output o = {0};
    int rc = eqp__path_join(path, "", &o.path);

    rc = rc != EQP_OK ? rc : eqp__temporary_name(path, &o.temporary);
    rc = rc != EQP_OK ? rc : eqp__temporary_create(path, o.temporary, message);
    if (rc == EQP_OK) {
        o.to = fopen(o.temporary, "w");
        if (!o.to) {
            rc = errno == ENOMEM ? EQP_ERR_MEMORY : EQP_ERR_IO;
            eqp_message_set(message, "%s: %s", o.temporary, strerror(errno));
            unlink(o.temporary);
        }
    }
    if (rc == EQP_OK) {
        *output = o;
    } else {
        eqp__explain(rc, path, message);
        release(&o);
    }
    return rc;
}

int eqp__output_check(const eqp__output *output, eqp_message *message)
{
    if (!ferror(output->to)) {
        return EQP_OK;
    }
    eqp_message_set(message, "%s: cannot be written: %s", output->temporary, strerror(errno));
    return EQP_ERR_IO;
}

int eqp__output_finish(eqp__output *output, eqp_message *message)
{
    int rc = EQP_OK;

    if (fflush(output->to) != 0 || ferror(output->to)) {
        eqp_message_set(message, "%s: cannot be written: %s", output->temporary, strerror(errno));
        rc = EQP_ERR_IO;
    }
    if (fclose(output->to) != 0 && rc == EQP_OK) {
        eqp_message_set(message, "%s: cannot be written: %s", output->temporary, strerror(errno));
        rc = EQP_ERR_IO;
    }
    rc = rc != EQP_OK ? rc : eqp__temporary_commit(output->path, output->temporary, message);
    if (rc != EQP_OK) {
        unlink(output->temporary);
    }
    release(output);
    return rc;
}

void eqp__output_discard(eqp__output *output)
{
    if (output->to) {
        (void)fclose(output->to);
        unlink(output->temporary);
    }
    release(output);
}

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
