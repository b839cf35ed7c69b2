/* SPDX-License-Identifier: BSD-3-Clause */
#include "models/speeds.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tolerance for a speed at the limit after conversion to a time and back. */
#define SLACK (1.0 + 1e-9)

static bool is_count(double n)
{
    return n == 0.0 || (n >= EQP_SPEEDS_SMALLEST && n <= EQP_SPEEDS_ITEMS);
}

int eqp_speeds_create(eqp_speeds_kind kind, int nranks, double n, eqp_speeds **speeds)
{
    EQP_REQUIRE(speeds);
    eqp_speeds *s = NULL;
    int code;

    EQP__FAIL_IF(!eqp_speeds_kind_name(kind) || nranks < 1 || !is_count(n), EQP_ERR_ARGUMENT);
    if ((code = eqp_array_create(&s, 1, sizeof *s)) || (code = eqp_array_create(&s->ranks, nranks, sizeof *s->ranks))) {
        eqp_speeds_free(s);
        return code;
    }
    s->kind = kind;
    s->nranks = nranks;
    s->n = n;
    *speeds = s;
    return EQP_OK;
}

void eqp_speeds_free(eqp_speeds *speeds)
{
    if (speeds) {
        EQP__FREE(speeds->ranks, speeds);
    }
}

int eqp__speeds_resize(eqp_speeds *speeds, double n)
{
    EQP__FAIL_IF(!is_count(n), EQP_ERR_ARGUMENT);
    speeds->n = n;
    return EQP_OK;
}

static int check_point(double size, double seconds)
{
    EQP__FAIL_IF(!is_count(size), EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!(seconds >= 0.0) || !isfinite(seconds), EQP_ERR_DATA);
    if (size == 0.0) {
        return EQP_OK;
    }
    const double speed = size / seconds;
    return speed * SLACK >= 1.0 / EQP_SPEEDS_FASTEST && speed <= EQP_SPEEDS_FASTEST * SLACK ? EQP_OK : EQP_ERR_DATA;
}

/* Removes the point of the same size, or else the oldest if the list is full. */
static void make_room(eqp__speed_points *points, double size)
{
    int gone = 0;

    while (gone < points->n && points->point[gone].size != size) {
        gone++;
    }
    if (gone == points->n) {
        if (points->n < EQP_SPEEDS_POINTS) {
            return;
        }
        gone = 0;
    }
    points->n--;
    memmove(points->point + gone, points->point + gone + 1, (size_t)(points->n - gone) * sizeof *points->point);
}

static void add_point(eqp__speed_points *points, double size, double seconds)
{
    if (size > 0.0) {
        make_room(points, size);
        points->point[points->n++] = (eqp__speed_point){size, size / seconds};
    }
}

int eqp__speeds_add(eqp_speeds *speeds, int rank, double size, double seconds)
{
    const int code = rank >= 0 && rank < speeds->nranks ? check_point(size, seconds) : EQP_ERR_ARGUMENT;

    if (!code) {
        add_point(&speeds->ranks[rank], size, seconds);
    }
    return code;
}

int eqp_speeds_record(eqp_speeds *speeds, const int64_t *share, const double *seconds)
{
    EQP_REQUIRE(speeds && share && seconds);
    for (int r = 0; r < speeds->nranks; r++) {
        const int code = check_point((double)share[r], seconds[r]);
        EQP__CHECK(code);
    }
    for (int r = 0; r < speeds->nranks; r++) {
        add_point(&speeds->ranks[r], (double)share[r], seconds[r]);
    }
    return EQP_OK;
}

double eqp__speeds_mean(const eqp_speeds *speeds)
{
    double sum = 0.0;
    int known = 0;

    for (int r = 0; r < speeds->nranks; r++) {
        const eqp__speed_points *points = &speeds->ranks[r];
        if (points->n > 0) {
            sum += points->point[points->n - 1].speed;
            known++;
        }
    }
    return known > 0 ? sum / known : 0.0;
}

void eqp__speeds_curve(const eqp_speeds *speeds, int rank, double mean, eqp__curve *curve)
{
    const eqp__speed_points *points = &speeds->ranks[rank];

    if (points->n == 0) {
        eqp__curve_constant(curve, mean);
        return;
    }
    switch (speeds->kind) {
    case EQP_SPEEDS_CONSTANT:
        eqp__curve_constant(curve, points->point[points->n - 1].speed);
        break;
    case EQP_SPEEDS_PIECEWISE:
        eqp__curve_piecewise(curve, points->n, points->point);
        eqp__curve_extend_plateaus(curve);
        break;
    case EQP_SPEEDS_AKIMA:
        eqp__curve_akima(curve, points->n, points->point, speeds->n);
        eqp__curve_extend_plateaus(curve);
        break;
    }
}

int eqp__speeds_curves_create(const eqp_speeds *speeds, double mean, eqp__curve **curve)
{
    eqp__curve *c = NULL;
    const int code = eqp_array_create(&c, speeds->nranks, sizeof *c);

    EQP__CHECK(code);
    for (int r = 0; r < speeds->nranks; r++) {
        eqp__speeds_curve(speeds, r, mean, &c[r]);
    }
    *curve = c;
    return EQP_OK;
}

int eqp__speeds_speed(const eqp_speeds *speeds, int rank, double size, double *speed)
{
    const bool legal = rank >= 0 && rank < speeds->nranks && size >= 0.0 && isfinite(size);
    const double mean = legal ? eqp__speeds_mean(speeds) : 0.0;
    eqp__curve curve;

    EQP__FAIL_IF(!legal, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(mean <= 0.0, EQP_ERR_STATE);
    eqp__speeds_curve(speeds, rank, mean, &curve);
    *speed = eqp__curve_speed(&curve, size);
    return EQP_OK;
}

static const char *const kind_names[] = {"constant", "piecewise", "akima"};
enum { KINDS = sizeof kind_names / sizeof kind_names[0] };

int eqp_speeds_kind_parse(const char *text, eqp_speeds_kind *kind)
{
    EQP_REQUIRE(text && kind);
    for (int k = 0; k < KINDS; k++) {
        if (strcmp(text, kind_names[k]) == 0) {
            *kind = (eqp_speeds_kind)k;
            return EQP_OK;
        }
    }
    return EQP_ERR_UNKNOWN;
}

const char *eqp_speeds_kind_name(eqp_speeds_kind kind)
{
    return (int)kind >= 0 && (int)kind < KINDS ? kind_names[kind] : NULL;
}
