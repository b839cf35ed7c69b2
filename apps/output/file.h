/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQP_REPORT_FILE_H
#define EQP_REPORT_FILE_H

/** dir/name; owned by the caller. NULL without memory. */
char *eqp__report_file_join(const char *dir, const char *name);

#endif
