/* SPDX-License-Identifier: BSD-3-Clause */
/* `.data` files of version 5, node by node. */
#include "base/internal.h"
#include "io/internal.h"
#include "io/paradis_text.h"

#include <equipoise/more/base.h>
#include <equipoise/more/io.h>

#include <math.h>
#include <stdlib.h>

struct eqp_paradis_writer {
    eqp_output *out, *control; /* the parameters, or NULL */
    int64_t nnodes, nwritten;
};

static bool is_box(const double min[3], const double max[3])
{
    for (int d = 0; d < 3; d++) {
        if (!(max[d] - min[d] > 0) || !isfinite(max[d] - min[d])) {
            return false;
        }
    }
    return true;
}

static void put_corner(FILE *to, const char *key, const double x[3])
{
    (void)fprintf(to, "%s = [\n  %.17g\n  %.17g\n  %.17g\n  ]\n", key, x[0], x[1], x[2]);
}

static void put_header(FILE *to, const eqp_paradis_header *h, int64_t ndomains, const double (*domain)[6])
{
    EQP__IN_C_LOCALE;
    int64_t geometry[3] = {ndomains, 1, 1};

    if (h->geometry[0] >= 1 && h->geometry[1] >= 1 && h->geometry[2] >= 1 &&
        (double)h->geometry[0] * h->geometry[1] * h->geometry[2] == (double)ndomains) {
        for (int d = 0; d < 3; d++) {
            geometry[d] = h->geometry[d];
        }
    }
    (void)fprintf(to, "dataFileVersion = 5\nnumFileSegments = 1\n");
    put_corner(to, "minCoordinates", h->min);
    put_corner(to, "maxCoordinates", h->max);
    (void)fprintf(to, "nodeCount = %lld\ndataDecompType = 2\ndataDecompGeometry = [\n  %lld\n  %lld\n  %lld\n  ]\n\n",
                  (long long)h->nnodes, (long long)geometry[0], (long long)geometry[1], (long long)geometry[2]);
    (void)fprintf(to, "domainDecomposition =\n#  domain, lower corner, upper corner\n");
    for (int64_t i = 0; i < ndomains; i++) {
        (void)fprintf(to, "  %lld  %.17g %.17g %.17g  %.17g %.17g %.17g\n", (long long)i, domain[i][0], domain[i][1],
                      domain[i][2], domain[i][3], domain[i][4], domain[i][5]);
    }
    (void)fprintf(to, "nodalData =\n#  node: tag, x, y, z, arms, constraint\n"
                      "#  arm: tag, Burgers vector; normal of the glide plane\n");
}

static int check_begin(const char *path, const eqp_paradis_header *header, int64_t ndomains, const double (*domain)[6],
                       eqp_message *message)
{
    EQP__FAIL_IF(!path || !header || header->nnodes < 0 || !is_box(header->min, header->max),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "a network needs the name of a file, nodes and a box"));
    EQP__FAIL_IF(ndomains < 0 || ndomains > 1000000 || (ndomains > 0 && !domain),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: %lld domains", path, (long long)ndomains));
    for (int64_t i = 0; i < ndomains; i++) {
        for (int d = 0; d < 6; d++) {
            EQP__FAIL_IF(!isfinite(domain[i][d]),
                         EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: domain %lld has a bound that is not finite", path,
                                  (long long)i));
        }
    }
    return EQP_OK;
}

int eqp_paradis_write_begin(const char *path, const eqp_paradis_header *header, int64_t ndomains,
                            const double (*domain)[6], eqp_paradis_writer **writer, eqp_message *message)
{
    eqp_paradis_writer *w = NULL;
    double whole[1][6];
    int code;

    EQP__CHECK(check_begin(path, header, ndomains, domain, message));
    if (ndomains == 0) {
        memcpy(whole[0], header->min, sizeof header->min);
        memcpy(whole[0] + 3, header->max, sizeof header->max);
        domain = (const double(*)[6])whole;
        ndomains = 1;
    }
    EQP_TRY(eqp_array_create(&w, 1, sizeof *w));
    EQP_TRY(eqp_output_create(path, &w->out, message));
    w->nnodes = header->nnodes;
    put_header(eqp_output_stream(w->out), header, ndomains, domain);
    EQP_TRY(eqp_output_check(w->out, message));
    *writer = w;
    return EQP_OK;
done:
    eqp_paradis_write_discard(w);
    return eqp__explain(code, path, message);
}

int eqp_paradis_write_control(eqp_paradis_writer *writer, const char *path, const eqp_paradis_control *control,
                              eqp_message *message)
{
    int code;

    EQP__FAIL_IF(!writer || !path || !control || writer->nwritten > 0 || writer->control,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "parameters need a name, and come before nodes"));
    EQP_TRY(eqp__control_check(path, control, message));
    EQP_TRY(eqp_output_create(path, &writer->control, message));
    eqp__control_put(eqp_output_stream(writer->control), "", control);
    (void)fflush(
        eqp_output_stream(writer->control)); /* reports an unwritable parameter file before any file is replaced */
    EQP_TRY(eqp_output_check(writer->control, message));
    eqp__control_put(eqp_output_stream(writer->out), "#= ", control);
    code = eqp_output_check(writer->out, message);
done:
    return eqp__explain(code, path, message);
}

static bool is_tag(uint64_t tag)
{
    return EQP_PARADIS_DOMAIN(tag) <= INT32_MAX && EQP_PARADIS_INDEX(tag) <= INT32_MAX;
}

static bool is_vector(const double v[3])
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

static int check_node(const eqp_paradis_writer *w, const eqp_paradis_node *n, const eqp_paradis_arm *arm,
                      eqp_message *message)
{
    bool good = is_tag(n->tag) && is_vector(n->x) && is_vector(n->velocity) && n->constraint >= 0 &&
                n->constraint <= (EQP_PARADIS_PINNED | EQP_PARADIS_SURFACE) && n->narms >= 0 &&
                n->narms <= EQP_PARADIS_MOST_ARMS;

    for (int i = 0; good && i < n->narms; i++) {
        good = is_tag(arm[i].tag) && is_vector(arm[i].burgers) && is_vector(arm[i].normal);
    }
    EQP__FAIL_IF(!good, EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: node %u,%u: a number or a tag that no file can hold",
                                 eqp_output_path(w->out), EQP_PARADIS_DOMAIN(n->tag), EQP_PARADIS_INDEX(n->tag)));
    return EQP_OK;
}

static void put_node(FILE *to, const eqp_paradis_node *n, const eqp_paradis_arm *arm)
{
    const double *v = n->velocity;

    if (v[0] != 0 || v[1] != 0 || v[2] != 0) {
        (void)fprintf(to, EQP__VELOCITY "%.17g %.17g %.17g\n", v[0], v[1], v[2]);
    }
    (void)fprintf(to, " %u,%u %.17g %.17g %.17g %d %d\n", EQP_PARADIS_DOMAIN(n->tag), EQP_PARADIS_INDEX(n->tag),
                  n->x[0], n->x[1], n->x[2], n->narms, n->constraint);
    for (int i = 0; i < n->narms; i++) {
        (void)fprintf(to, "   %u,%u %.17g %.17g %.17g\n       %.17g %.17g %.17g\n", EQP_PARADIS_DOMAIN(arm[i].tag),
                      EQP_PARADIS_INDEX(arm[i].tag), arm[i].burgers[0], arm[i].burgers[1], arm[i].burgers[2],
                      arm[i].normal[0], arm[i].normal[1], arm[i].normal[2]);
    }
}

int eqp_paradis_write_nodes(eqp_paradis_writer *writer, int64_t n, const eqp_paradis_node *node,
                            const eqp_paradis_arm *arm, eqp_message *message)
{
    EQP_REQUIRE(writer && (node || n == 0));
    EQP__IN_C_LOCALE;
    int rc = EQP_OK;

    EQP__FAIL_IF(n < 0 || n > writer->nnodes - writer->nwritten,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: more than the %lld nodes that were announced",
                          eqp_output_path(writer->out), (long long)writer->nnodes));
    for (int64_t i = 0; rc == EQP_OK && i < n; i++) {
        const bool has_arms = node[i].narms > 0, good = !has_arms || (arm && node[i].first_arm >= 0);
        const eqp_paradis_arm *its = has_arms && good ? arm + node[i].first_arm : NULL;

        rc = good ? check_node(writer, &node[i], its, message) : EQP_ERR_ARGUMENT;
        if (rc == EQP_OK) {
            put_node(eqp_output_stream(writer->out), &node[i], its);
            rc = eqp_output_check(writer->out, message);
        }
    }
    writer->nwritten += rc == EQP_OK ? n : 0;
    return rc;
}

int eqp_paradis_write_finish(eqp_paradis_writer *writer, eqp_message *message)
{
    EQP_REQUIRE(writer);
    int rc;

    if (writer->nwritten < writer->nnodes) {
        eqp_message_set(message, "%s: %lld nodes of %lld that were announced", eqp_output_path(writer->out),
                        (long long)writer->nwritten, (long long)writer->nnodes);
        eqp_paradis_write_discard(writer);
        return EQP_ERR_ARGUMENT;
    }
    rc = eqp_output_commit(writer->out, message);
    writer->out = NULL;
    if (rc == EQP_OK && writer->control) {
        rc = eqp_output_commit(writer->control, message);
        writer->control = NULL;
    }
    eqp_paradis_write_discard(writer);
    return rc;
}

void eqp_paradis_write_discard(eqp_paradis_writer *writer)
{
    if (writer) {
        eqp_output_discard(writer->control);
        eqp_output_discard(writer->out);
        free(writer);
    }
}
