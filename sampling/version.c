/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/version.h>

const char *eqp_version(void)
{
    return EQP_VERSION;
}
