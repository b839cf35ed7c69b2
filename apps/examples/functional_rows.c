/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a plate of 20 x 20 whose points take C (x + y) seconds, cut so that four nodes finish together.
 * cc -std=c11 functional_rows.c $(pkg-config --cflags --libs equipoise-models) -lm -o functional_rows */
#include <equipoise/more/models.h>

#include <stdio.h>

static double rows(const void *user, double y) /* C (x + y) over 20 x 20, up to row y */
{
    (void)user;
    return 10 * y * y + 200 * y;
}

static int cut_rows(double bound[5])
{
    const eqp_functional_time time = {.low = 0, .high = 20, .value = rows};

    return eqp_functional_cut(&time, 4, NULL, bound, NULL); /* 0, 7.32, 12.36, 16.46, 20 */
}

int main(void)
{
    double bound[5] = {0};
    const int code = cut_rows(bound);

    printf("%.2f %.2f %.2f %.2f %.2f\n", bound[0], bound[1], bound[2], bound[3], bound[4]);
    return code != EQP_OK;
}
