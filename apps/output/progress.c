/* SPDX-License-Identifier: BSD-3-Clause */
#include "output/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDEST_BAR 100

static void format_time(double seconds, size_t size, char *text)
{
    /* More than a few thousand years are not worth an overflow. */
    long long s = (long long)fmin(seconds + 0.5, 1e11);

    if (s >= 3600) {
        (void)snprintf(text, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    } else {
        (void)snprintf(text, size, "%lld:%02lld", s / 60, s % 60);
    }
}

int eqp_progress_format(const eqp_progress *progress, size_t size, char *text)
{
    EQP_REQUIRE(progress && text);
    char bar[WIDEST_BAR + 1], elapsed[40], left[48] = "", ahead[40];
    double fraction;
    int full;

    if (size < 1 || progress->width < 1 || progress->width > WIDEST_BAR || progress->done < 0 ||
        progress->done > progress->total || !isfinite(progress->elapsed_seconds) || progress->elapsed_seconds < 0.0) {
        return EQP_ERR_ARGUMENT;
    }
    fraction = progress->total > 0 ? (double)progress->done / (double)progress->total : 1.0;
    full = progress->done == progress->total ? progress->width : (int)(fraction * progress->width);
    memset(bar, '.', (size_t)progress->width);
    memset(bar, '#', (size_t)full);
    bar[progress->width] = '\0';
    format_time(progress->elapsed_seconds, sizeof elapsed, elapsed);
    if (progress->done > 0 && progress->done < progress->total) {
        format_time(progress->elapsed_seconds * (1.0 / fraction - 1.0), sizeof ahead, ahead);
        (void)snprintf(left, sizeof left, ", %s left", ahead);
    }
    (void)snprintf(text, size, "[%s] %lld/%lld %s, %s elapsed%s%s%s", bar, (long long)progress->done,
                   (long long)progress->total, progress->unit, elapsed, left, progress->note ? ", " : "",
                   progress->note ? progress->note : "");
    return EQP_OK;
}
