/* SPDX-License-Identifier: BSD-3-Clause */
/* The statements before the nodes of a `.data` file. */
#include "base/internal.h"
#include "io/internal.h"
#include "io/paradis_text.h"

#include <equipoise/more/io.h>

#include <limits.h>
#include <math.h>
#include <strings.h>

enum { MOST_DOMAINS = 1000000, MOST_FILES = 1000000 };

enum { VERSION = 1, MIN = 2, MAX = 4, COUNT = 8, GEOMETRY = 16 };

/* Takes one statement before the nodes; *seen: flags of those so far. Unknown keys are ignored. */
static int take_statement(const eqp__lines *l, const eqp__statement *s, eqp_paradis_header *h, int *seen,
                          eqp_message *message)
{
    const struct {
        const char *key;
        int flag, count;
        int64_t low, high;
        double *real;     /* else an integer */
        int *integer;     /* [count]; NULL: */
        int64_t *counted; /* [1] */
    } rows[] = {{"dataFileVersion", VERSION, 1, INT_MIN, INT_MAX, NULL, &h->version, NULL},
                {"numFileSegments", 0, 1, 1, MOST_FILES, NULL, &h->nfiles, NULL},
                {"minCoordinates", MIN, 3, 0, 0, h->min, NULL, NULL},
                {"maxCoordinates", MAX, 3, 0, 0, h->max, NULL, NULL},
                {"nodeCount", COUNT, 1, 0, EQP__MOST_PARTICLES, NULL, NULL, &h->nnodes},
                {"dataDecompType", 0, 1, 1, 2, NULL, &h->decomposition, NULL},
                {"dataDecompGeometry", GEOMETRY, 3, 1, MOST_DOMAINS, NULL, h->geometry, NULL}};
    int64_t number[3] = {0};

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (strcasecmp(s->key, rows[k].key) != 0) {
            continue;
        }
        *seen |= rows[k].flag;
        if (rows[k].real) {
            return eqp__statement_reals(l, s, rows[k].count, rows[k].real, message);
        }
        EQP__CHECK(eqp__statement_integers(l, s, rows[k].count, rows[k].low, rows[k].high,
                                           rows[k].counted ? rows[k].counted : number, message));
        for (int d = 0; d < rows[k].count && rows[k].integer; d++) {
            rows[k].integer[d] = (int)number[d];
        }
        EQP__FAIL_IF(
            rows[k].flag == VERSION && h->version != 4 && h->version != 5,
            eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "dataFileVersion: %d is neither 4 nor 5", h->version));
    }
    return EQP_OK;
}

static int check_header(const eqp__lines *l, const eqp_paradis_header *h, int seen, eqp_message *message)
{
    const char *missing = !(seen & VERSION) ? "dataFileVersion"
                          : !(seen & MIN)   ? "minCoordinates"
                          : !(seen & MAX)   ? "maxCoordinates"
                          : !(seen & COUNT) ? "nodeCount"
                                            : NULL;

    EQP__FAIL_IF(missing, eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "the nodes begin, but %s is missing", missing));
    for (int d = 0; d < 3; d++) {
        double edge = h->max[d] - h->min[d];

        EQP__FAIL_IF(!(edge > 0) || !isfinite(edge),
                     eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "the box from %g to %g in %c has no width",
                                       h->min[d], h->max[d], 'x' + d));
    }
    return EQP_OK;
}

/* Number of bounds of all domains. */
static int64_t domain_numbers(const eqp_paradis_header *h)
{
    int64_t nx = h->geometry[0], ny = h->geometry[1], nz = h->geometry[2];

    return h->decomposition == 2 ? nx * ny * nz * 7 : nx * (1 + ny * (1 + nz + 1) + 1) + 1;
}

static int skip_domains(eqp__lines *l, char *text, const eqp_paradis_header *h, int seen, eqp_message *message)
{
    int64_t left;

    EQP__FAIL_IF(h->decomposition == 0 || !(seen & GEOMETRY),
                 eqp__lines_refuse(l, EQP_ERR_FORMAT, message,
                                   "domainDecomposition comes before dataDecompType and dataDecompGeometry"));
    left = domain_numbers(h);
    text = strchr(text, '=') + 1;
    while (left > 0) {
        double bound;
        int rc = EQP_OK;

        if (eqp__at_end(text)) {
            rc = eqp__lines_next(l, &text, message);
            if (rc == EQP_OK && !text) {
                rc = eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "the file ends within domainDecomposition");
            }
            EQP__CHECK(rc);
        }
        rc = eqp__take_real(&text, &bound);
        EQP__FAIL_IF(rc != EQP_OK,
                     eqp__lines_refuse(l, rc, message, "domainDecomposition: not a number, but %lld are still to come",
                                       (long long)left));
        left--;
    }
    EQP__FAIL_IF(!eqp__at_end(text),
                 eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "domainDecomposition: more than its %lld numbers",
                                   (long long)domain_numbers(h)));
    return EQP_OK;
}

int eqp__paradis_nodes_begin(const eqp__lines *l, const char *text, eqp_message *message)
{
    return eqp__at_end(strchr(text, '=') + 1)
               ? EQP_OK
               : eqp__lines_refuse(l, EQP_ERR_FORMAT, message, "something follows 'nodalData =' in its line");
}

int eqp__paradis_header_read(eqp__lines *l, eqp_paradis_header *h, eqp_message *message)
{
    int seen = 0;
    bool first = true;

    *h = (eqp_paradis_header){.nfiles = 1};
    for (;; first = false) {
        eqp__statement s;
        char *text;
        int rc = eqp__lines_next(l, &text, message);

        EQP__CHECK(rc);
        EQP__FAIL_IF(!text, EQP__SAY(message, EQP_ERR_FORMAT, "%s: ends before nodalData: %s", l->path,
                                     first ? "empty" : "truncated, or no ParaDiS data file"));
        if (eqp__line_has_key(text, "nodalData")) {
            rc = eqp__paradis_nodes_begin(l, text, message);
            return rc != EQP_OK ? rc : check_header(l, h, seen, message);
        }
        if (eqp__line_has_key(text, "domainDecomposition")) {
            rc = skip_domains(l, text, h, seen, message);
        } else {
            rc = eqp__statement_read(l, text, &s, message);
            rc = rc != EQP_OK ? rc : take_statement(l, &s, h, &seen, message);
        }
        EQP__CHECK(rc);
    }
}

/* Checks of one node without the rest of the network. */

/* Burgers vectors in files have five digits or more; smaller components are rounding errors of zero. */
static const double sum_tolerance = 1e-3, zero_burgers = 1e-6;

static double largest(const double v[3])
{
    return fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2])));
}

static int refuse(const eqp_paradis_node *node, const char *what, const eqp_paradis_arm *arm, eqp_message *message)
{
    if (arm) {
        eqp_message_set(message, "node %u,%u: %s %u,%u", EQP_PARADIS_DOMAIN(node->tag), EQP_PARADIS_INDEX(node->tag),
                        what, EQP_PARADIS_DOMAIN(arm->tag), EQP_PARADIS_INDEX(arm->tag));
    } else {
        eqp_message_set(message, "node %u,%u: %s", EQP_PARADIS_DOMAIN(node->tag), EQP_PARADIS_INDEX(node->tag), what);
    }
    return EQP_ERR_FORMAT;
}

static int check_arms(const eqp_paradis_node *node, const eqp_paradis_arm *arm, eqp_message *message)
{
    for (int i = 0; i < node->narms; i++) {
        EQP__FAIL_IF(arm[i].tag == node->tag, refuse(node, "is its own neighbour", NULL, message));
        EQP__FAIL_IF(!(largest(arm[i].burgers) > zero_burgers),
                     refuse(node, "the Burgers vector is 0 towards", &arm[i], message));
        for (int j = 0; j < i; j++) {
            EQP__FAIL_IF(arm[j].tag == arm[i].tag, refuse(node, "has two arms towards", &arm[i], message));
        }
    }
    return EQP_OK;
}

int eqp__paradis_check_node(const eqp_paradis_node *node, const eqp_paradis_arm *arm, eqp_message *message)
{
    EQP_REQUIRE(node && (arm || node->narms == 0));
    double sum[3] = {0}, scale = 0;

    EQP__CHECK(check_arms(node, arm, message));
    EQP__FAIL_IF(node->narms == 1 && (node->constraint & EQP_PARADIS_PINNED) != EQP_PARADIS_PINNED &&
                     !(node->constraint & EQP_PARADIS_SURFACE),
                 refuse(node, "a line ends here, but it is neither pinned nor on a surface", NULL, message));
    if (node->narms < 2 || node->constraint != EQP_PARADIS_FREE) {
        return EQP_OK;
    }
    for (int i = 0; i < node->narms; i++) {
        for (int d = 0; d < 3; d++) {
            sum[d] += arm[i].burgers[d];
        }
        scale = fmax(scale, largest(arm[i].burgers));
    }
    EQP__FAIL_IF(!(largest(sum) <= sum_tolerance * scale),
                 refuse(node, "its Burgers vectors do not sum to 0", NULL, message));
    return EQP_OK;
}
