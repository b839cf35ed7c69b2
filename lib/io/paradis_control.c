/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a run. One table lists their names, places and ranges for the reader, the check and the writer.
 * Defaults are those of ParaDiS. */
#include "base/internal.h"
#include "io/internal.h"
#include "io/paradis_text.h"

#include <equipoise/more/base.h>
#include <equipoise/more/io.h>
#include <equipoise/version.h>

#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum kind {
    HEADING, /* of a group, in written files */
    NAME,    /* char [EQP_PARADIS_NAME] */
    INT,     /* int; from here on numbers */
    LONG,    /* int64_t */
    REAL,    /* double */
    DERIVED  /* double; NaN or, in a file, 0 (not Ecore) and below: follows from other parameters */
} kind;

typedef struct row {
    const char *key;
    kind kind;
    size_t at;        /* in eqp_paradis_control */
    int count;        /* 1: a value, otherwise a list */
    double low, high; /* inclusive bounds */
} row;

#define POSITIVE DBL_MIN, DBL_MAX
#define FROM_0 0, DBL_MAX
#define ANY -DBL_MAX, DBL_MAX
#define COUNT 0, INT_MAX
#define FROM_TO(low, high) low, high

/* R: kind, key, member, number of values, inclusive bounds, default; H: heading of a group in written files. The
 * checksum is repeated at the end, which shows that a file is complete. */
#define PARAMETERS(R, H)                                                                                               \
    R(NAME, networkChecksum, checksum, 1, ANY, "")                                                                     \
    H(Layout)                                                                                                          \
    R(INT, numXdoms, domains[0], 1, FROM_TO(1, INT_MAX), 1)                                                            \
    R(INT, numYdoms, domains[1], 1, FROM_TO(1, INT_MAX), 1)                                                            \
    R(INT, numZdoms, domains[2], 1, FROM_TO(1, INT_MAX), 1)                                                            \
    R(INT, numXcells, cells[0], 1, FROM_TO(3, 1 << 20), 3)                                                             \
    R(INT, numYcells, cells[1], 1, FROM_TO(3, 1 << 20), 3)                                                             \
    R(INT, numZcells, cells[2], 1, FROM_TO(3, 1 << 20), 3)                                                             \
    R(INT, xBoundType, boundary[0], 1, FROM_TO(0, 1), 0)                                                               \
    R(INT, yBoundType, boundary[1], 1, FROM_TO(0, 1), 0)                                                               \
    R(INT, zBoundType, boundary[2], 1, FROM_TO(0, 1), 0)                                                               \
    R(INT, decompType, decomposition, 1, FROM_TO(1, 2), 2)                                                             \
    R(INT, DLBfreq, balance_every, 1, COUNT, 3)                                                                        \
    H(Time)                                                                                                            \
    R(LONG, cycleStart, first_step, 1, FROM_TO(0, 1e15), 0)                                                            \
    R(LONG, maxstep, steps, 1, FROM_TO(0, 1e15), 100)                                                                  \
    R(REAL, timeNow, time, 1, FROM_0, 0)                                                                               \
    R(NAME, timestepIntegrator, integrator, 1, ANY, "trapezoid")                                                       \
    R(DERIVED, nextDT, next_dt, 1, POSITIVE, NAN)                                                                      \
    R(REAL, maxDT, max_dt, 1, POSITIVE, 1e-7)                                                                          \
    R(REAL, dtIncrementFact, dt_increment, 1, FROM_TO(1, DBL_MAX), 1.2)                                                \
    R(REAL, dtDecrementFact, dt_decrement, 1, FROM_TO(DBL_MIN, 1 - DBL_EPSILON), 0.5)                                  \
    R(DERIVED, rTol, tolerance, 1, POSITIVE, NAN)                                                                      \
    H(Discretisation and topology)                                                                                     \
    R(DERIVED, maxSeg, max_seg, 1, POSITIVE, NAN)                                                                      \
    R(DERIVED, minSeg, min_seg, 1, POSITIVE, NAN)                                                                      \
    R(INT, remeshRule, remesh_rule, 1, COUNT, 2)                                                                       \
    R(DERIVED, rann, annihilation, 1, POSITIVE, NAN)                                                                   \
    R(INT, splitMultiNodeFreq, split_every, 1, COUNT, 1)                                                               \
    R(INT, collisionMethod, collision_method, 1, COUNT, 2)                                                             \
    R(INT, enableCrossSlip, cross_slip, 1, FROM_TO(-1, INT_MAX), -1)                                                   \
    H(Material and mobility)                                                                                           \
    R(REAL, shearModulus, shear_modulus, 1, POSITIVE, 6.488424e10)                                                     \
    R(REAL, pois, poisson, 1, FROM_TO(-1 + DBL_EPSILON, 0.5 - DBL_EPSILON), 0.3327533)                                 \
    R(REAL, burgMag, burgers, 1, POSITIVE, 2.875401e-10)                                                               \
    R(DERIVED, rc, core_radius, 1, POSITIVE, NAN)                                                                      \
    R(DERIVED, Ecore, core_energy, 1, ANY, NAN)                                                                        \
    R(NAME, mobilityLaw, mobility, 1, ANY, "BCC_0")                                                                    \
    R(REAL, MobScrew, mobility_screw, 1, FROM_0, 10)                                                                   \
    R(REAL, MobEdge, mobility_edge, 1, FROM_0, 10)                                                                     \
    R(REAL, MobClimb, mobility_climb, 1, FROM_0, 0.01)                                                                 \
    R(REAL, MobClimbJunc, climb_junction, 1, ANY, 1)                                                                   \
    R(REAL, shearVelocity, shear_velocity, 1, FROM_0, 3400)                                                            \
    R(REAL, MobRelaxX, relax[0], 1, FROM_0, 1)                                                                         \
    R(REAL, MobRelaxY, relax[1], 1, FROM_0, 1)                                                                         \
    R(REAL, MobRelaxZ, relax[2], 1, FROM_0, 1)                                                                         \
    R(INT, MobRelaxScaleByLength, relax_by_length, 1, COUNT, 1)                                                        \
    R(REAL, cOVERa, c_over_a, 1, POSITIVE, 1.568)                                                                      \
    R(REAL, HCP_A_Basal_EdgeDrag, hcp_edge[0], 1, FROM_0, 1.18434387898773e-4)                                         \
    R(REAL, HCP_A_Basal_ScrewDrag, hcp_screw[0], 1, FROM_0, 1.65421659553579e-4)                                       \
    R(REAL, HCP_A_Prismatic_EdgeDrag, hcp_edge[1], 1, FROM_0, 5.69513923115224e-5)                                     \
    R(REAL, HCP_A_Prismatic_ScrewDrag, hcp_screw[1], 1, FROM_0, 7.15096201802962e-5)                                   \
    R(REAL, HCP_A_1stPyramidal_EdgeDrag, hcp_edge[2], 1, FROM_0, 7.28268834977848e-5)                                  \
    R(REAL, HCP_A_1stPyramidal_ScrewDrag, hcp_screw[2], 1, FROM_0, 1.05154866364405e-4)                                \
    R(REAL, HCP_C_Prismatic_EdgeDrag, hcp_edge[3], 1, FROM_0, 2.36868775797546e-3)                                     \
    R(REAL, HCP_C_Prismatic_ScrewDrag, hcp_screw[3], 1, FROM_0, 2.36868775797546e-3)                                   \
    R(REAL, HCP_CpA_Prismatic_EdgeDrag, hcp_edge[4], 1, FROM_0, 2.36868775797546e-3)                                   \
    R(REAL, HCP_CpA_Prismatic_ScrewDrag, hcp_screw[4], 1, FROM_0, 2.36868775797546e-3)                                 \
    R(REAL, HCP_CpA_1stPyramidal_EdgeDrag, hcp_edge[5], 1, FROM_0, 2.36868775797546e-3)                                \
    R(REAL, HCP_CpA_1stPyramidal_ScrewDrag, hcp_screw[5], 1, FROM_0, 2.36868775797546e-3)                              \
    R(REAL, HCP_CpA_2ndPyramidal_EdgeDrag, hcp_edge[6], 1, FROM_0, 2.36868775797546e-3)                                \
    R(REAL, HCP_CpA_2ndPyramidal_ScrewDrag, hcp_screw[6], 1, FROM_0, 2.36868775797546e-3)                              \
    R(REAL, HCP_Sessile_ScrewDrag, hcp_climb, 1, FROM_0, 23.6868)                                                      \
    R(REAL, HCP_LineDrag, hcp_line, 1, FROM_0, 5e-6)                                                                   \
    R(REAL, TempK, temperature, 1, FROM_0, 600)                                                                        \
    R(REAL, pressure, pressure, 1, ANY, 0)                                                                             \
    R(REAL, MobG0, modulus_0, 1, FROM_0, 49e9)                                                                         \
    R(REAL, TaDragEdge110, ta_edge[0], 1, FROM_0, 2.8532e-4)                                                           \
    R(REAL, TaDragEdge112, ta_edge[1], 1, FROM_0, 2.8532e-4)                                                           \
    R(REAL, TaDragScrew110, ta_screw[0], 1, FROM_0, 0.034239)                                                          \
    R(REAL, TaDragScrew112T, ta_screw[1], 1, FROM_0, 0.017119)                                                         \
    R(REAL, TaDragScrew112AT, ta_screw[2], 1, FROM_0, 0.11641)                                                         \
    R(REAL, TaDragLine, ta_line, 1, FROM_0, 2.8532e-6)                                                                 \
    R(REAL, TaDragClimbEdge, ta_climb_edge, 1, FROM_0, 342.39)                                                         \
    R(REAL, TaDragClimbScrew, ta_climb_screw, 1, FROM_0, 34.239)                                                       \
    R(REAL, TaDragParam110K, ta_k[0], 1, FROM_0, 9000)                                                                 \
    R(REAL, TaDragParam110B, ta_b[0], 1, FROM_0, 0.15)                                                                 \
    R(REAL, TaDragParam110alpha, ta_alpha[0], 1, FROM_0, 1)                                                            \
    R(REAL, TaDragParam112TK, ta_k[1], 1, FROM_0, 2200)                                                                \
    R(REAL, TaDragParam112TB, ta_b[1], 1, FROM_0, 0.2)                                                                 \
    R(REAL, TaDragParam112Talpha, ta_alpha[1], 1, FROM_0, 1.5)                                                         \
    R(REAL, TaDragParam112ATK, ta_k[2], 1, FROM_0, 10600)                                                              \
    R(REAL, TaDragParam112ATB, ta_b[2], 1, FROM_0, 0.5)                                                                \
    R(REAL, TaDragParam112ATalpha, ta_alpha[2], 1, FROM_0, 3)                                                          \
    H(Load)                                                                                                            \
    R(INT, loadType, load_type, 1, COUNT, 0)                                                                           \
    R(REAL, eRate, strain_rate, 1, ANY, 1)                                                                             \
    R(REAL, eAmp, strain_amplitude, 1, FROM_0, 0)                                                                      \
    R(REAL, edotdir, direction, 3, ANY, {1, 0, 0})                                                                     \
    R(REAL, appliedStress, stress, 6, ANY, {0})                                                                        \
    R(REAL, totpStn, plastic_strain, 6, ANY, {0})

#define AT(member) offsetof(eqp_paradis_control, member)
#define ROW(kind, key, member, count, range, ...) {#key, kind, AT(member), count, range},
#define HEADING_ROW(text) {#text, HEADING, 0, 0, 0, 0},
static const row table[] = {PARAMETERS(ROW, HEADING_ROW) HEADING_ROW(End)
                                ROW(NAME, networkChecksum, checksum, 1, ANY, "")};

enum { ROWS = sizeof table / sizeof table[0] };

#define DEFAULT(kind, key, member, count, range, ...) .member = __VA_ARGS__,
#define NOTHING(text)
const eqp_paradis_control eqp_paradis_control_defaults = {PARAMETERS(DEFAULT, NOTHING).area_min = NAN, .area_max = NAN};

static const row *find_row(const char *key)
{
    for (int i = 0; i < ROWS; i++) {
        if (table[i].kind != HEADING && strcasecmp(table[i].key, key) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* Spaces, commas and the like are allowed; characters that end the string or the line are not. */
static bool is_name(const char *name)
{
    for (size_t i = 0; i < EQP_PARADIS_NAME; i++) {
        if (name[i] == '\0') {
            return true;
        }
        if (name[i] == '"' || (unsigned char)name[i] < ' ' || name[i] == 0x7f) {
            return false;
        }
    }
    return false;
}

static int take_name(const eqp__lines *l, const eqp__statement *s, char *to, eqp_message *message)
{
    EQP__FAIL_IF(s->nvalues != 1, eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "%s: %lld values instead of 1", s->key,
                                                    (long long)s->nvalues));
    EQP__FAIL_IF(s->too_long[0] || !is_name(s->value[0]),
                 eqp__lines_refuse(l, EQP_ERR_DATA, message, "%s: is no name of at most %d letters", s->key,
                                   EQP_PARADIS_NAME - 1));
    memcpy(to, s->value[0], EQP_PARADIS_NAME);
    return EQP_OK;
}

static int take_reals(const eqp__lines *l, const eqp__statement *s, const row *r, double *to, eqp_message *message)
{
    double value[EQP__VALUES];

    EQP__CHECK(eqp__statement_reals(l, s, r->count, value, message));
    if (r->kind == DERIVED && (r->low > 0 ? value[0] <= 0 : value[0] < 0)) {
        value[0] = NAN;
    }
    for (int i = 0; i < r->count; i++) {
        EQP__FAIL_IF(value[i] < r->low || value[i] > r->high,
                     eqp__lines_refuse(l, EQP_ERR_DATA, message, "%s: %s is out of range", s->key, s->value[i]));
    }
    memcpy(to, value, sizeof *to * (size_t)r->count);
    return EQP_OK;
}

static int take_value(const eqp__lines *l, const eqp__statement *s, const row *r, eqp_paradis_control *control,
                      eqp_message *message)
{
    void *to = (char *)control + r->at;
    int64_t number = 0;

    if (r->kind == NAME) {
        return take_name(l, s, to, message);
    }
    if (r->kind == REAL || r->kind == DERIVED) {
        return take_reals(l, s, r, to, message);
    }
    EQP__CHECK(eqp__statement_integers(l, s, 1, (int64_t)r->low, (int64_t)r->high, &number, message));
    if (r->kind == INT) {
        *(int *)to = (int)number;
    } else {
        *(int64_t *)to = number;
    }
    return EQP_OK;
}

static bool is_zero(const double v[3])
{
    return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

/* A file in which the checksum occurs only once is truncated. */
static int read_statements(eqp__lines *l, eqp_paradis_control *control, int64_t *nignored, eqp_message *ignored,
                           eqp_message *message)
{
    EQP__IN_C_LOCALE;
    char first[EQP_PARADIS_NAME] = "";
    int nchecksums = 0;

    for (;;) {
        const int64_t nkept = l->nkept;
        eqp__statement s;
        char *text;

        EQP__CHECK(eqp__lines_next(l, &text, message));
        if (!text) {
            break;
        }
        EQP__CHECK(eqp__statement_read(l, text, &s, message));
        const row *r = find_row(s.key);
        if (!r) {
            eqp_message_set(ignored, "%s%s%s", ignored->text, *nignored > 0 ? ", " : "", s.key);
            ++*nignored;
            continue;
        }
        l->nkept = nkept; /* keep only what is not understood */
        EQP__CHECK(take_value(l, &s, r, control, message));
        if (r->at == AT(checksum) && nchecksums++ == 0) {
            memcpy(first, control->checksum, sizeof first);
        }
        EQP__FAIL_IF(r->at == AT(direction) && is_zero(control->direction),
                     eqp__lines_refuse(l, EQP_ERR_DATA, message, "%s: must not be zero", s.key));
    }
    EQP__FAIL_IF(
        nchecksums == 1 || (nchecksums > 1 && strcmp(first, control->checksum) != 0),
        EQP__SAY(message, EQP_ERR_FORMAT, "%s: is torn: its networkChecksum does not stand at both ends", l->path));
    return EQP_OK;
}

int eqp_paradis_control_read(const char *path, eqp_paradis_control *control, int64_t *nignored, eqp_message *ignored,
                             eqp_message *message)
{
    EQP__LINES l = {.text = {.source = {.fd = -1}}};
    eqp_message others = {""};
    int64_t nothers = 0;

    EQP__FAIL_IF(!path || !control, EQP__SAY(message, EQP_ERR_ARGUMENT, "parameters need the name of a file"));
    EQP__CHECK(eqp__lines_open(path, &l, message));
    eqp_paradis_control found = *control;
    l.keeps = true;
    EQP__CHECK(read_statements(&l, &found, &nothers, &others, message));
    EQP__FAIL_IF(l.text.line == 0, EQP__SAY(message, EQP_ERR_FORMAT, "%s: is empty", path));
    free(control->others);
    found.others = NULL;
    if (l.nkept > 0) {
        found.others = l.kept;
        l.kept[l.nkept] = '\0';
        l.kept = NULL;
    }
    *control = found;
    if (nignored) {
        *nignored = nothers;
    }
    if (ignored) {
        *ignored = others;
    }
    return EQP_OK;
}

/* Takes the first value after the '='. */
static void take_text(const char *text, char value[EQP_PARADIS_NAME])
{
    const char *at = text + strcspn(text, "=\n");
    char stop[] = " \t\r\n;,]";

    at += *at == '=' ? 1 : 0;
    at += strspn(at, " \t[");
    if (*at == '"' || *at == '\'') {
        stop[0] = *at++;
        stop[1] = '\n';
        stop[2] = '\0';
    }
    size_t length = strcspn(at, stop);
    length = length < EQP_PARADIS_NAME ? length : EQP_PARADIS_NAME - 1;
    memcpy(value, at, length);
    value[length] = '\0';
}

bool eqp_paradis_control_find(const eqp_paradis_control *control, const char *key, char value[EQP_PARADIS_NAME])
{
    const char *const others = control && key && value ? control->others : NULL;
    bool found = false;

    for (const char *line = others; line && *line;) {
        if (eqp__line_has_key(line, key)) {
            take_text(line, value);
            found = true;
        }
        line += strcspn(line, "\n");
        line += *line == '\n' ? 1 : 0; /* the caller's text may end without one */
    }
    return found;
}

void eqp_paradis_control_free(eqp_paradis_control *control)
{
    if (control) {
        free(control->others);
        control->others = NULL;
    }
}

/* Number i of a row. */
static double number_of(const eqp_paradis_control *c, const row *r, int i)
{
    const void *at = (const char *)c + r->at;

    return r->kind == INT ? *(const int *)at : r->kind == LONG ? (double)*(const int64_t *)at : ((const double *)at)[i];
}

/* Checks values that do not come from a file, or follow from other parameters. */
static int check_row(const eqp_paradis_control *c, const row *r, eqp_message *message)
{
    bool good = r->kind != NAME || is_name((const char *)c + r->at);

    for (int i = 0; r->kind >= INT && i < r->count; i++) {
        const double value = number_of(c, r, i);

        good = good && value >= r->low && value <= r->high;
    }
    EQP__FAIL_IF(!good, EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: is out of range", r->key));
    return EQP_OK;
}

static int check_lengths(const eqp_paradis_control *c, const double *box, eqp_message *message)
{
    EQP__FAIL_IF(
        !(c->min_seg <= 0.5 * c->max_seg),
        EQP__SAY(message, EQP_ERR_ARGUMENT, "minSeg: %g is more than half of maxSeg, %g", c->min_seg, c->max_seg));
    for (int d = 0; box && d < 3; d++) {
        EQP__FAIL_IF(!(c->max_seg <= 0.9 * box[d] / c->cells[d]),
                     EQP__SAY(message, EQP_ERR_ARGUMENT, "maxSeg: %g is more than 0.9 of the width %g of a cell in %c",
                              c->max_seg, box[d] / c->cells[d], 'x' + d));
    }
    EQP__FAIL_IF(is_zero(c->direction), EQP__SAY(message, EQP_ERR_ARGUMENT, "edotdir: must not be zero"));
    return EQP_OK;
}

static void fill(double *value, double derived)
{
    *value = isnan(*value) ? derived : *value;
}

int eqp_paradis_control_complete(eqp_paradis_control *control, const double *box, eqp_message *message)
{
    EQP_REQUIRE(control);
    const double triangle = sqrt(3) / 4, pi = 3.14159265358979323846;
    eqp_paradis_control c = *control;
    int rc = EQP_OK;

    EQP__FAIL_IF(
        isnan(c.max_seg) || isnan(c.core_radius),
        EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: is required, and was not given", isnan(c.max_seg) ? "maxSeg" : "rc"));
    fill(&c.next_dt, c.max_dt);
    c.next_dt = fmin(c.next_dt, c.max_dt);
    fill(&c.tolerance, 0.25 * c.core_radius);
    fill(&c.annihilation, 2 * c.tolerance);
    fill(&c.min_seg, fmin(sqrt(2 * c.tolerance * c.max_seg / triangle), 0.5 * c.max_seg));
    c.split_every = c.split_every > 0 ? c.split_every : 1;
    fill(&c.core_energy, c.shear_modulus / (4 * pi) * log(c.core_radius / 0.1));
    for (int i = 0; rc == EQP_OK && i < ROWS; i++) {
        rc = check_row(&c, &table[i], message);
    }
    rc = rc != EQP_OK ? rc : check_lengths(&c, box, message);
    if (rc == EQP_OK) {
        c.area_min = fmin(2 * c.tolerance * c.max_seg, triangle * c.min_seg * c.min_seg);
        c.area_max = (4 * c.area_min + triangle * c.max_seg * c.max_seg) / 2;
        *control = c;
    }
    return rc;
}

static void put_row(FILE *to, const char *prefix, const eqp_paradis_control *control, const row *r)
{
    const char *name = (const char *)control + r->at;

    if (r->kind == HEADING) {
        (void)fprintf(to, "%s\n%s#  %s\n%s\n", prefix, prefix, r->key, prefix);
    } else if (r->kind == NAME && (*name || r->at != AT(checksum))) {
        (void)fprintf(to, "%s%s = \"%s\"\n", prefix, r->key, name);
    } else if (r->kind >= INT && r->count == 1 && !isnan(number_of(control, r, 0))) {
        (void)fprintf(to, "%s%s = %.17g\n", prefix, r->key, number_of(control, r, 0));
    } else if (r->kind >= INT && r->count > 1) {
        (void)fprintf(to, "%s%s = [\n", prefix, r->key);
        for (int i = 0; i < r->count; i++) {
            (void)fprintf(to, "%s  %.17g\n", prefix, number_of(control, r, i));
        }
        (void)fprintf(to, "%s  ]\n", prefix);
    }
}

/* values that the reader would refuse must not be written */
int eqp__control_check(const char *path, const eqp_paradis_control *c, eqp_message *message)
{
    for (int i = 0; i < ROWS; i++) {
        bool left_out = table[i].kind == DERIVED && isnan(number_of(c, &table[i], 0));
        eqp_message why;

        EQP__FAIL_IF(!left_out && check_row(c, &table[i], &why) != EQP_OK,
                     EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: %s", path, why.text));
    }
    return EQP_OK;
}

static void put_others(FILE *to, const char *prefix, const char *line)
{
    (void)fprintf(to, "%s\n%s#  Kept for other programs\n%s\n", prefix, prefix, prefix);
    while (*line) {
        const int length = (int)strcspn(line, "\n");
        (void)fprintf(to, "%s%.*s\n", prefix, length, line);
        line += length + 1;
    }
}

void eqp__control_put(FILE *to, const char *prefix, const eqp_paradis_control *control)
{
    EQP__IN_C_LOCALE;

    (void)fprintf(to, "%s#  ParaDiS control parameters, written by Equipoise %s\n", prefix, eqp_version());
    for (int i = 0; i < ROWS; i++) {
        if (i == ROWS - 2 && control->others) { /* the last two rows end the file */
            put_others(to, prefix, control->others);
        }
        put_row(to, prefix, control, &table[i]);
    }
}
