/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "physics/elastic/check_table.h"

#include <equipoise/more/base.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dd_check check = {.ncategories = -7};
    eqp_message message = {""};
    char *copy = malloc(size + 1);
    FILE *from;
    int code;

    fuzz_require(copy);
    memcpy(copy, data, size);
    from = fmemopen(copy, size, "r");
    fuzz_require(from);
    code = dd_check_table(from, DD_ISA_AUTO, &check, &message);
    (void)fclose(from);
    free(copy);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_FORMAT || code == EQP_ERR_DATA);
        fuzz_require(check.ncategories == -7 && strncmp(message.text, "line ", 5) == 0);
        fuzz_require_line(&message);
        return 0;
    }
    fuzz_require(check.ncategories >= 1 && (size_t)check.ncategories <= size);
    for (int64_t c = 0; c < check.ncategories; c++) {
        eqp_message category = {""};

        eqp_message_set(&category, "category %s", check.category[c].category);
        fuzz_require_line(&category);
        fuzz_require(check.category[c].rows >= 1 && !(check.category[c].worst < 0));
    }
    dd_check_free(&check);
    return 0;
}
