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
    INT,     /* int */
    LONG,    /* int64_t */
    REAL,    /* double */
    DERIVED, /* double; NaN or, in a file, 0 (not Ecore) and below: follows from other parameters */
    NAME     /* char [EQP_PARADIS_NAME] */
} kind;

typedef struct row {
    const char *key;
    kind kind;
    size_t at;        /* in eqp_paradis_control */
    int count;        /* 1: a value, otherwise a list */
    double low, high; /* inclusive bounds */
} row;

#define AT(member) offsetof(eqp_paradis_control, member)
#define POSITIVE DBL_MIN, DBL_MAX
#define ANY -DBL_MAX, DBL_MAX
#define NUMBER 0, INT_MAX

static const row table[] = {
    {"networkChecksum", NAME, AT(checksum), 1, 0, 0},
    {"Layout", HEADING, 0, 0, 0, 0},
    {"numXdoms", INT, AT(domains[0]), 1, 1, INT_MAX},
    {"numYdoms", INT, AT(domains[1]), 1, 1, INT_MAX},
    {"numZdoms", INT, AT(domains[2]), 1, 1, INT_MAX},
    {"numXcells", INT, AT(cells[0]), 1, 3, 1 << 20},
    {"numYcells", INT, AT(cells[1]), 1, 3, 1 << 20},
    {"numZcells", INT, AT(cells[2]), 1, 3, 1 << 20},
    {"xBoundType", INT, AT(boundary[0]), 1, 0, 1},
    {"yBoundType", INT, AT(boundary[1]), 1, 0, 1},
    {"zBoundType", INT, AT(boundary[2]), 1, 0, 1},
    {"decompType", INT, AT(decomposition), 1, 1, 2},
    {"DLBfreq", INT, AT(balance_every), 1, NUMBER},
    {"Time", HEADING, 0, 0, 0, 0},
    {"cycleStart", LONG, AT(first_step), 1, 0, 1e15},
    {"maxstep", LONG, AT(steps), 1, 0, 1e15},
    {"timeNow", REAL, AT(time), 1, 0, DBL_MAX},
    {"timestepIntegrator", NAME, AT(integrator), 1, 0, 0},
    {"nextDT", DERIVED, AT(next_dt), 1, POSITIVE},
    {"maxDT", REAL, AT(max_dt), 1, POSITIVE},
    {"dtIncrementFact", REAL, AT(dt_increment), 1, 1, DBL_MAX},
    {"dtDecrementFact", REAL, AT(dt_decrement), 1, DBL_MIN, 1 - DBL_EPSILON},
    {"rTol", DERIVED, AT(tolerance), 1, POSITIVE},
    {"Discretisation and topology", HEADING, 0, 0, 0, 0},
    {"maxSeg", DERIVED, AT(max_seg), 1, POSITIVE},
    {"minSeg", DERIVED, AT(min_seg), 1, POSITIVE},
    {"remeshRule", INT, AT(remesh_rule), 1, NUMBER},
    {"rann", DERIVED, AT(annihilation), 1, POSITIVE},
    {"splitMultiNodeFreq", INT, AT(split_every), 1, NUMBER},
    {"collisionMethod", INT, AT(collision_method), 1, NUMBER},
    {"enableCrossSlip", INT, AT(cross_slip), 1, -1, INT_MAX},
    {"Material and mobility", HEADING, 0, 0, 0, 0},
    {"shearModulus", REAL, AT(shear_modulus), 1, POSITIVE},
    {"pois", REAL, AT(poisson), 1, -1 + DBL_EPSILON, 0.5 - DBL_EPSILON},
    {"burgMag", REAL, AT(burgers), 1, POSITIVE},
    {"rc", DERIVED, AT(core_radius), 1, POSITIVE},
    {"Ecore", DERIVED, AT(core_energy), 1, ANY},
    {"mobilityLaw", NAME, AT(mobility), 1, 0, 0},
    {"MobScrew", REAL, AT(mobility_screw), 1, 0, DBL_MAX},
    {"MobEdge", REAL, AT(mobility_edge), 1, 0, DBL_MAX},
    {"MobClimb", REAL, AT(mobility_climb), 1, 0, DBL_MAX},
    {"MobClimbJunc", REAL, AT(climb_junction), 1, ANY},
    {"shearVelocity", REAL, AT(shear_velocity), 1, 0, DBL_MAX},
    {"MobRelaxX", REAL, AT(relax[0]), 1, 0, DBL_MAX},
    {"MobRelaxY", REAL, AT(relax[1]), 1, 0, DBL_MAX},
    {"MobRelaxZ", REAL, AT(relax[2]), 1, 0, DBL_MAX},
    {"MobRelaxScaleByLength", INT, AT(relax_by_length), 1, NUMBER},
    {"cOVERa", REAL, AT(c_over_a), 1, POSITIVE},
    {"HCP_A_Basal_EdgeDrag", REAL, AT(hcp_edge[0]), 1, 0, DBL_MAX},
    {"HCP_A_Basal_ScrewDrag", REAL, AT(hcp_screw[0]), 1, 0, DBL_MAX},
    {"HCP_A_Prismatic_EdgeDrag", REAL, AT(hcp_edge[1]), 1, 0, DBL_MAX},
    {"HCP_A_Prismatic_ScrewDrag", REAL, AT(hcp_screw[1]), 1, 0, DBL_MAX},
    {"HCP_A_1stPyramidal_EdgeDrag", REAL, AT(hcp_edge[2]), 1, 0, DBL_MAX},
    {"HCP_A_1stPyramidal_ScrewDrag", REAL, AT(hcp_screw[2]), 1, 0, DBL_MAX},
    {"HCP_C_Prismatic_EdgeDrag", REAL, AT(hcp_edge[3]), 1, 0, DBL_MAX},
    {"HCP_C_Prismatic_ScrewDrag", REAL, AT(hcp_screw[3]), 1, 0, DBL_MAX},
    {"HCP_CpA_Prismatic_EdgeDrag", REAL, AT(hcp_edge[4]), 1, 0, DBL_MAX},
    {"HCP_CpA_Prismatic_ScrewDrag", REAL, AT(hcp_screw[4]), 1, 0, DBL_MAX},
    {"HCP_CpA_1stPyramidal_EdgeDrag", REAL, AT(hcp_edge[5]), 1, 0, DBL_MAX},
    {"HCP_CpA_1stPyramidal_ScrewDrag", REAL, AT(hcp_screw[5]), 1, 0, DBL_MAX},
    {"HCP_CpA_2ndPyramidal_EdgeDrag", REAL, AT(hcp_edge[6]), 1, 0, DBL_MAX},
    {"HCP_CpA_2ndPyramidal_ScrewDrag", REAL, AT(hcp_screw[6]), 1, 0, DBL_MAX},
    {"HCP_Sessile_ScrewDrag", REAL, AT(hcp_climb), 1, 0, DBL_MAX},
    {"HCP_LineDrag", REAL, AT(hcp_line), 1, 0, DBL_MAX},
    {"TempK", REAL, AT(temperature), 1, 0, DBL_MAX},
    {"pressure", REAL, AT(pressure), 1, ANY},
    {"MobG0", REAL, AT(modulus_0), 1, 0, DBL_MAX},
    {"TaDragEdge110", REAL, AT(ta_edge[0]), 1, 0, DBL_MAX},
    {"TaDragEdge112", REAL, AT(ta_edge[1]), 1, 0, DBL_MAX},
    {"TaDragScrew110", REAL, AT(ta_screw[0]), 1, 0, DBL_MAX},
    {"TaDragScrew112T", REAL, AT(ta_screw[1]), 1, 0, DBL_MAX},
    {"TaDragScrew112AT", REAL, AT(ta_screw[2]), 1, 0, DBL_MAX},
    {"TaDragLine", REAL, AT(ta_line), 1, 0, DBL_MAX},
    {"TaDragClimbEdge", REAL, AT(ta_climb_edge), 1, 0, DBL_MAX},
    {"TaDragClimbScrew", REAL, AT(ta_climb_screw), 1, 0, DBL_MAX},
    {"TaDragParam110K", REAL, AT(ta_k[0]), 1, 0, DBL_MAX},
    {"TaDragParam110B", REAL, AT(ta_b[0]), 1, 0, DBL_MAX},
    {"TaDragParam110alpha", REAL, AT(ta_alpha[0]), 1, 0, DBL_MAX},
    {"TaDragParam112TK", REAL, AT(ta_k[1]), 1, 0, DBL_MAX},
    {"TaDragParam112TB", REAL, AT(ta_b[1]), 1, 0, DBL_MAX},
    {"TaDragParam112Talpha", REAL, AT(ta_alpha[1]), 1, 0, DBL_MAX},
    {"TaDragParam112ATK", REAL, AT(ta_k[2]), 1, 0, DBL_MAX},
    {"TaDragParam112ATB", REAL, AT(ta_b[2]), 1, 0, DBL_MAX},
    {"TaDragParam112ATalpha", REAL, AT(ta_alpha[2]), 1, 0, DBL_MAX},
    {"Load", HEADING, 0, 0, 0, 0},
    {"loadType", INT, AT(load_type), 1, NUMBER},
    {"eRate", REAL, AT(strain_rate), 1, ANY},
    {"eAmp", REAL, AT(strain_amplitude), 1, 0, DBL_MAX},
    {"edotdir", REAL, AT(direction), 3, ANY},
    {"appliedStress", REAL, AT(stress), 6, ANY},
    {"totpStn", REAL, AT(plastic_strain), 6, ANY},
    {"End", HEADING, 0, 0, 0, 0},
    {"networkChecksum", NAME, AT(checksum), 1, 0, 0}, /* repeated at the end, which shows that the file is complete */
};

enum { ROWS = sizeof table / sizeof table[0] };

const eqp_paradis_control eqp_paradis_control_defaults = {
    .domains = {1, 1, 1},
    .cells = {3, 3, 3},
    .decomposition = 2,
    .balance_every = 3,
    .steps = 100,
    .integrator = "trapezoid",
    .next_dt = NAN,
    .max_dt = 1e-7,
    .dt_increment = 1.2,
    .dt_decrement = 0.5,
    .tolerance = NAN,
    .max_seg = NAN,
    .min_seg = NAN,
    .remesh_rule = 2,
    .area_min = NAN,
    .area_max = NAN,
    .annihilation = NAN,
    .split_every = 1,
    .collision_method = 2,
    .cross_slip = -1,
    .shear_modulus = 6.488424e10,
    .poisson = 0.3327533,
    .burgers = 2.875401e-10,
    .core_radius = NAN,
    .core_energy = NAN,
    .mobility = "BCC_0",
    .mobility_screw = 10,
    .mobility_edge = 10,
    .mobility_climb = 0.01,
    .climb_junction = 1,
    .shear_velocity = 3400,
    .relax = {1, 1, 1},
    .relax_by_length = 1,
    .c_over_a = 1.568,
    .hcp_edge = {1.18434387898773e-4, 5.69513923115224e-5, 7.28268834977848e-5, 2.36868775797546e-3,
                 2.36868775797546e-3, 2.36868775797546e-3, 2.36868775797546e-3},
    .hcp_screw = {1.65421659553579e-4, 7.15096201802962e-5, 1.05154866364405e-4, 2.36868775797546e-3,
                  2.36868775797546e-3, 2.36868775797546e-3, 2.36868775797546e-3},
    .hcp_climb = 23.6868,
    .hcp_line = 5e-6,
    .ta_edge = {2.8532e-4, 2.8532e-4},
    .ta_screw = {0.034239, 0.017119, 0.11641},
    .ta_line = 2.8532e-6,
    .temperature = 600,
    .modulus_0 = 49e9,
    .ta_climb_edge = 342.39,
    .ta_climb_screw = 34.239,
    .ta_k = {9000, 2200, 10600},
    .ta_b = {0.15, 0.2, 0.5},
    .ta_alpha = {1, 1.5, 3},
    .strain_rate = 1,
    .direction = {1, 0, 0},
};

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
    int rc;

    if (r->kind == NAME) {
        return take_name(l, s, to, message);
    }
    if (r->kind == REAL || r->kind == DERIVED) {
        return take_reals(l, s, r, to, message);
    }
    rc = eqp__statement_integers(l, s, 1, (int64_t)r->low, (int64_t)r->high, &number, message);
    if (rc == EQP_OK && r->kind == INT) {
        *(int *)to = (int)number;
    } else if (rc == EQP_OK) {
        *(int64_t *)to = number;
    }
    return rc;
}

static bool is_zero(const double v[3])
{
    return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

/* A file in which the checksum occurs only once is truncated. */
static int check_end(const eqp__lines *l, int nchecksums, const char *first, const eqp_paradis_control *control,
                     eqp_message *message)
{
    EQP__FAIL_IF(
        nchecksums == 1 || (nchecksums > 1 && strcmp(first, control->checksum) != 0),
        EQP__SAY(message, EQP_ERR_FORMAT, "%s: is torn: its networkChecksum does not stand at both ends", l->path));
    return EQP_OK;
}

static int read_statements(eqp__lines *l, eqp_paradis_control *control, int64_t *nignored, eqp_message *ignored,
                           eqp_message *message)
{
    char first[EQP_PARADIS_NAME] = "";
    int nchecksums = 0;

    for (;;) {
        const int64_t nkept = l->nkept;
        eqp__statement s;
        const row *r;
        char *text;
        int rc = eqp__lines_next(l, &text, message);

        if (rc != EQP_OK || !text) {
            return rc != EQP_OK ? rc : check_end(l, nchecksums, first, control, message);
        }
        rc = eqp__statement_read(l, text, &s, message);
        EQP__CHECK(rc);
        r = find_row(s.key);
        if (r) {
            l->nkept = nkept; /* keep only what is not understood */
            rc = take_value(l, &s, r, control, message);
            if (r->at == AT(checksum) && nchecksums++ == 0) {
                memcpy(first, control->checksum, sizeof first);
            }
            if (rc == EQP_OK && r->at == AT(direction) && is_zero(control->direction)) {
                rc = eqp__lines_refuse(l, EQP_ERR_DATA, message, "%s: must not be zero", s.key);
            }
        } else {
            eqp_message_set(ignored, "%s%s%s", ignored->text, *nignored > 0 ? ", " : "", s.key);
            ++*nignored;
        }
        EQP__CHECK(rc);
    }
}

int eqp_paradis_control_read(const char *path, eqp_paradis_control *control, int64_t *nignored, eqp_message *ignored,
                             eqp_message *message)
{
    eqp_paradis_control found;
    eqp_message others = {""};
    int64_t nothers = 0;
    eqp__c_locale c;
    eqp__lines l;
    int rc;

    EQP__FAIL_IF(!path || !control, EQP__SAY(message, EQP_ERR_ARGUMENT, "parameters need the name of a file"));
    EQP__CHECK(eqp__lines_open(path, &l, message));
    found = *control;
    l.keeps = true;
    eqp__c_locale_enter(&c);
    rc = read_statements(&l, &found, &nothers, &others, message);
    eqp__c_locale_leave(&c);
    if (rc == EQP_OK && l.line == 0) {
        eqp_message_set(message, "%s: is empty", path);
        rc = EQP_ERR_FORMAT;
    }
    if (rc == EQP_OK) {
        free(control->others);
        found.others = l.nkept > 0 ? l.kept : NULL;
        if (l.nkept > 0) {
            l.kept[l.nkept] = '\0';
            l.kept = NULL;
        }
    }
    eqp__lines_close(&l);
    if (rc == EQP_OK) {
        *control = found;
        if (nignored) {
            *nignored = nothers;
        }
        if (ignored) {
            *ignored = others;
        }
    }
    return rc;
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

/* Checks values that do not come from a file, or follow from other parameters. */
static int check_row(const eqp_paradis_control *c, const row *r, eqp_message *message)
{
    const void *at = (const char *)c + r->at;
    bool good = true;

    switch (r->kind) {
    case HEADING:
        break;
    case INT:
        good = *(const int *)at >= r->low && *(const int *)at <= r->high;
        break;
    case LONG:
        good = *(const int64_t *)at >= (int64_t)r->low && *(const int64_t *)at <= (int64_t)r->high;
        break;
    case NAME:
        good = is_name(at);
        break;
    case REAL:
    case DERIVED:
        for (int i = 0; i < r->count; i++) {
            double value = ((const double *)at)[i];

            good = good && value >= r->low && value <= r->high;
        }
        break;
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

static void put_reals(FILE *to, const char *prefix, const char *key, int count, const double *value)
{
    if (count == 1) {
        (void)fprintf(to, "%s%s = %.17g\n", prefix, key, value[0]);
        return;
    }
    (void)fprintf(to, "%s%s = [\n", prefix, key);
    for (int i = 0; i < count; i++) {
        (void)fprintf(to, "%s  %.17g\n", prefix, value[i]);
    }
    (void)fprintf(to, "%s  ]\n", prefix);
}

static void put_row(FILE *to, const char *prefix, const eqp_paradis_control *control, const row *r)
{
    const void *at = (const char *)control + r->at;

    switch (r->kind) {
    case HEADING:
        (void)fprintf(to, "%s\n%s#  %s\n%s\n", prefix, prefix, r->key, prefix);
        break;
    case INT:
        (void)fprintf(to, "%s%s = %d\n", prefix, r->key, *(const int *)at);
        break;
    case LONG:
        (void)fprintf(to, "%s%s = %lld\n", prefix, r->key, (long long)*(const int64_t *)at);
        break;
    case NAME:
        if (*(const char *)at || r->at != AT(checksum)) {
            (void)fprintf(to, "%s%s = \"%s\"\n", prefix, r->key, (const char *)at);
        }
        break;
    case REAL:
    case DERIVED:
        if (!isnan(*(const double *)at)) {
            put_reals(to, prefix, r->key, r->count, at);
        }
        break;
    }
}

/* values that the reader would refuse must not be written */
int eqp__control_check(const char *path, const eqp_paradis_control *c, eqp_message *message)
{
    for (int i = 0; i < ROWS; i++) {
        bool left_out = table[i].kind == DERIVED && isnan(*(const double *)((const char *)c + table[i].at));
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
    eqp__c_locale c;

    eqp__c_locale_enter(&c);
    (void)fprintf(to, "%s#  ParaDiS control parameters, written by Equipoise %s\n", prefix, eqp_version());
    for (int i = 0; i < ROWS; i++) {
        if (i == ROWS - 2 && control->others) { /* the last two rows end the file */
            put_others(to, prefix, control->others);
        }
        put_row(to, prefix, control, &table[i]);
    }
    eqp__c_locale_leave(&c);
}

int eqp__paradis_control_write(const char *path, const eqp_paradis_control *control, eqp_message *message)
{
    eqp_output *out;
    int rc;

    EQP__FAIL_IF(!path || !control, EQP__SAY(message, EQP_ERR_ARGUMENT, "parameters need the name of a file"));
    rc = eqp__control_check(path, control, message);
    rc = rc != EQP_OK ? rc : eqp_output_create(path, &out, message);
    EQP__CHECK(rc);
    eqp__control_put(eqp_output_stream(out), "", control);
    return eqp_output_commit(out, message);
}
