/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a plate of 20 x 20 whose points take C (x + y) seconds, cut so that four nodes finish together. The result is
 * compared with the cuts that follow by hand: t(y) is a parabola.
 *
 * cc -std=c11 functional_rows.c $(pkg-config --cflags --libs equipoise-models) -lm -o functional_rows */
#include <equipoise/more/models.h>

#include <math.h>
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
    double bound[5];
    int code = cut_rows(bound);

    if (code) {
        fprintf(stderr, "functional_rows: %s\n", eqp_error_text(code));
        return 1;
    }
    for (int i = 0; i <= 4; i++) {
        const double expected = sqrt(100 + 200.0 * i) - 10; /* 10 y^2 + 200 y = 8000 i / 4 */
        printf("%.2f\n", bound[i]);
        if (!(fabs(bound[i] - expected) < 1e-12)) {
            fprintf(stderr, "functional_rows: %.15g instead of %.15g\n", bound[i], expected);
            return 1;
        }
    }
    return 0;
}
