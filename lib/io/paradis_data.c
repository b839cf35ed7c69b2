/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes of `.data` files in sequence. Memory grows with the data read, not with the counts that a file claims. */
#include "base/internal.h"
#include "io/internal.h"
#include "io/paradis_text.h"

#include <equipoise/more/io.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The shortest node is "0,0 0 0 0 0 0\n"; gzip packs at most 1032 to 1. */
enum { LEAST_NODE_BYTES = 14, MOST_PACKING = 1032 };

struct eqp_paradis_reader {
    eqp_paradis_header header;
    eqp__lines lines;
    char *base;    /* common part of the names of several files; owned */
    int file;      /* number of the open file */
    int64_t nread; /* nodes so far */
    bool file_new; /* this file has not been read yet; only after the first file */
    bool failed;
    eqp_paradis_node *node; /* [room_nodes] owned */
    eqp_paradis_arm *arm;   /* [room_arms] owned */
    int64_t room_nodes, room_arms;
};

static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* The first existing file named base + suffix + one of the endings; NULL: none. */
static int find_file(const char *base, const char *suffix, char **found)
{
    static const char *const ending[] = {"", ".gz"};

    *found = NULL;
    for (int i = 0; i < 2; i++) {
        EQP__HEAP char *stem = NULL, *path = NULL;

        EQP__CHECK(eqp__path_join(base, suffix, &stem));
        EQP__CHECK(eqp__path_join(stem, ending[i], &path));
        if (is_file(path)) {
            *found = path;
            path = NULL;
            return EQP_OK;
        }
    }
    return EQP_OK;
}

/* Path of the first file, and the part of it common to all files. */
static int find_first(const char *path, char **first, char **base)
{
    static const char *const ending[] = {".0", ".0.gz"};
    size_t length = strlen(path);
    EQP__HEAP char *found = NULL;

    if (!is_file(path)) {
        EQP__CHECK(find_file(path, ".0", &found));
        EQP__CHECK(found ? EQP_OK : find_file(path, "", &found));
    }
    EQP__CHECK(found ? EQP_OK : eqp__path_join(path, "", &found)); /* opening a missing file reports the reason */
    EQP__CHECK(eqp__path_join(path, "", base));
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(ending[i]);

        if (length > n && strcmp(path + length - n, ending[i]) == 0) {
            (*base)[length - n] = '\0';
            break;
        }
    }
    *first = found;
    found = NULL;
    return EQP_OK;
}

static int find_next(const eqp_paradis_reader *r, int k, char **path, eqp_message *message)
{
    char suffix[32];

    (void)snprintf(suffix, sizeof suffix, ".%d", k);
    EQP__CHECK(find_file(r->base, suffix, path));
    EQP__FAIL_IF(!*path, EQP__SAY(message, EQP_ERR_IO, "%s%s: is missing: the nodes are in %d files", r->base, suffix,
                                  r->header.nfiles));
    return EQP_OK;
}

/* A count that the files cannot hold would make callers allocate too much memory. */
static int check_count(eqp_paradis_reader *r, eqp_message *message)
{
    double most = (double)r->lines.text.source.size; /* bytes; packed files count with their largest contents */
    struct stat status;

    r->header.bytes = stat(r->lines.path, &status) == 0 ? (int64_t)status.st_size : 0;
    for (int k = 1; k < r->header.nfiles; k++) {
        EQP__HEAP char *path = NULL;

        EQP__CHECK(find_next(r, k, &path, message));
        if (stat(path, &status) == 0) {
            most += (double)status.st_size * MOST_PACKING;
            r->header.bytes += (int64_t)status.st_size;
        }
    }
    EQP__FAIL_IF((double)r->header.nnodes * LEAST_NODE_BYTES > most,
                 eqp__lines_refuse(&r->lines, EQP_ERR_FORMAT, message, "nodeCount: %lld nodes are more than fit",
                                   (long long)r->header.nnodes));
    return EQP_OK;
}

int eqp_paradis_open(const char *path, eqp_paradis_reader **reader, eqp_message *message)
{
    eqp_paradis_reader *r = NULL;
    EQP__IN_C_LOCALE;
    char *first = NULL;
    int code;

    EQP__FAIL_IF(!path || !reader, EQP__SAY(message, EQP_ERR_ARGUMENT, "a network needs the name of a file"));
    EQP_TRY(eqp_array_create(&r, 1, sizeof *r));
    r->lines.text.source.fd = -1;
    EQP_TRY(find_first(path, &first, &r->base));
    EQP_TRY(eqp__lines_open(first, &r->lines, message));
    r->lines.need_newline = true;
    EQP_TRY(eqp__paradis_header_read(&r->lines, &r->header, message));
    EQP_TRY(check_count(r, message));
    *reader = r;
    r = NULL;
done:
    free(first);
    eqp_paradis_close(r);
    return eqp__explain(code, path, message);
}

const eqp_paradis_header *eqp_paradis_get_header(const eqp_paradis_reader *reader)
{
    return reader ? &reader->header : NULL;
}

const char *eqp_paradis_path(const eqp_paradis_reader *reader)
{
    return reader ? reader->lines.path : NULL;
}

void eqp_paradis_close(eqp_paradis_reader *reader)
{
    if (reader) {
        eqp__lines_close(&reader->lines);
        EQP__FREE(reader->base, reader->node, reader->arm, reader);
    }
}

static int open_next_file(eqp_paradis_reader *r, eqp_message *message)
{
    eqp__lines next;
    EQP__HEAP char *path = NULL;

    EQP__CHECK(find_next(r, r->file + 1, &path, message));
    EQP__CHECK(eqp__lines_open(path, &next, message));
    eqp__lines_close(&r->lines);
    r->lines = next;
    r->lines.need_newline = true;
    r->file++;
    r->file_new = true;
    return EQP_OK;
}

/* The next line of any file; NULL at the end of the last one. */
static int next_text(eqp_paradis_reader *r, char **text, eqp_message *message)
{
    for (;;) {
        EQP__CHECK(eqp__lines_next(&r->lines, text, message));
        if (!*text && r->file + 1 == r->header.nfiles) {
            return EQP_OK;
        }
        if (!*text) {
            EQP__CHECK(open_next_file(r, message));
            continue;
        }
        const bool begins = r->file_new && eqp__line_has_key(*text, "nodalData");
        r->file_new = false;
        if (!begins) {
            return EQP_OK;
        }
        EQP__CHECK(eqp__paradis_nodes_begin(&r->lines, *text, message));
    }
}

static int refuse_field(const eqp_paradis_reader *r, int code, const eqp_paradis_node *node, const char *what,
                        eqp_message *message)
{
    const char *why = code == EQP_ERR_DATA ? "is not finite or out of range" : "is missing or no number";

    EQP__FAIL_IF(node, eqp__lines_refuse(&r->lines, code, message, "node %u,%u: %s %s", EQP_PARADIS_DOMAIN(node->tag),
                                         EQP_PARADIS_INDEX(node->tag), what, why));
    return eqp__lines_refuse(&r->lines, code, message, "%s %s", what, why);
}

static int refuse_junk(const eqp_paradis_reader *r, const eqp_paradis_node *node, eqp_message *message)
{
    return eqp__lines_refuse(&r->lines, EQP_ERR_FORMAT, message, "node %u,%u: something follows the last number",
                             EQP_PARADIS_DOMAIN(node->tag), EQP_PARADIS_INDEX(node->tag));
}

static int take_vector(const eqp_paradis_reader *r, char **at, const eqp_paradis_node *node, const char *what,
                       double v[3], eqp_message *message)
{
    for (int d = 0; d < 3; d++) {
        int rc = eqp__take_real(at, &v[d]);

        EQP__FAIL_IF(rc != EQP_OK, refuse_field(r, rc, node, what, message));
    }
    return EQP_OK;
}

/* Parses the last vector of a line. */
static int take_rest(const eqp_paradis_reader *r, char *at, const eqp_paradis_node *node, const char *what, double v[3],
                     eqp_message *message)
{
    EQP__CHECK(take_vector(r, &at, node, what, v, message));
    EQP__FAIL_IF(!eqp__at_end(at), refuse_junk(r, node, message));
    return EQP_OK;
}

/* from the comment before the node */
static int parse_velocity(eqp_paradis_reader *r, eqp_paradis_node *node, eqp_message *message)
{
    EQP__CHECK(r->lines.velocity[0] ? take_rest(r, r->lines.velocity, node, "a velocity", node->velocity, message)
                                    : EQP_OK);
    r->lines.velocity[0] = '\0';
    return EQP_OK;
}

/* `dom,idx x y z narms constraint` */
static int parse_node(eqp_paradis_reader *r, char *at, eqp_paradis_node *node, eqp_message *message)
{
    int64_t narms = 0, constraint = 0;
    int rc = eqp__take_tag(&at, &node->tag);

    EQP__FAIL_IF(rc != EQP_OK, refuse_field(r, rc, NULL, "the tag of a node", message));
    EQP__CHECK(take_vector(r, &at, node, "a coordinate", node->x, message));
    rc = eqp__take_integer(&at, &narms);
    EQP__FAIL_IF(rc != EQP_OK || narms < 0 || narms > EQP_PARADIS_MOST_ARMS,
                 refuse_field(r, rc != EQP_OK ? rc : EQP_ERR_DATA, node, "the number of arms", message));
    rc = eqp__take_integer(&at, &constraint);
    EQP__FAIL_IF(rc != EQP_OK || constraint < 0 || constraint > (EQP_PARADIS_PINNED | EQP_PARADIS_SURFACE),
                 refuse_field(r, rc != EQP_OK ? rc : EQP_ERR_DATA, node, "the constraint", message));
    EQP__FAIL_IF(!eqp__at_end(at), refuse_junk(r, node, message));
    rc = parse_velocity(r, node, message);
    node->narms = (int)narms;
    node->constraint = r->header.version == 4 && constraint == 1 ? EQP_PARADIS_SURFACE : (int)constraint;
    return rc;
}

/* Normalizes a vector, unless its length is 1 up to rounding: values written with all digits come back unchanged. */
static void normalise(double v[3])
{
    double scale = fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2]))), length;
    double w[3];

    if (scale == 0) {
        v[0] = v[1] = v[2] = 0; /* no negative zeros */
        return;
    }
    for (int d = 0; d < 3; d++) {
        w[d] = v[d] / scale;
    }
    length = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    if (fabs(length * scale - 1) > 8 * DBL_EPSILON) {
        for (int d = 0; d < 3; d++) {
            v[d] = w[d] / length;
        }
    }
}

static int node_line(eqp_paradis_reader *r, const eqp_paradis_node *node, char **at, eqp_message *message)
{
    EQP__CHECK(eqp__lines_next(&r->lines, at, message));
    EQP__FAIL_IF(!*at,
                 eqp__lines_refuse(&r->lines, EQP_ERR_FORMAT, message, "node %u,%u: the file ends within it: truncated",
                                   EQP_PARADIS_DOMAIN(node->tag), EQP_PARADIS_INDEX(node->tag)));
    return EQP_OK;
}

/* `dom,idx bx by bz` and `nx ny nz` */
static int read_arm(eqp_paradis_reader *r, const eqp_paradis_node *node, eqp_paradis_arm *arm, eqp_message *message)
{
    char *at;
    int rc;

    EQP__CHECK(node_line(r, node, &at, message));
    rc = eqp__take_tag(&at, &arm->tag);
    EQP__FAIL_IF(rc != EQP_OK, refuse_field(r, rc, node, "the tag of a neighbour", message));
    EQP__CHECK(take_rest(r, at, node, "a Burgers vector", arm->burgers, message));
    EQP__CHECK(node_line(r, node, &at, message));
    EQP__CHECK(take_rest(r, at, node, "a normal", arm->normal, message));
    normalise(arm->normal);
    return EQP_OK;
}

/* Reads the node whose first line is `text`, after the n nodes and narms arms already read. */
static int read_node(eqp_paradis_reader *r, char *text, int64_t n, int64_t narms, eqp_message *message)
{
    eqp_paradis_node node = {.first_arm = narms};
    eqp_message why;
    int rc;

    EQP__CHECK(parse_node(r, text, &node, message));
    EQP__CHECK(eqp_array_reserve(&r->node, &r->room_nodes, n + 1, sizeof *r->node));
    EQP__CHECK(eqp_array_reserve(&r->arm, &r->room_arms, narms + EQP_PARADIS_MOST_ARMS, sizeof *r->arm));
    for (int i = 0; i < node.narms; i++) {
        EQP__CHECK(read_arm(r, &node, &r->arm[narms + i], message));
    }
    rc = eqp__paradis_check_node(&node, r->arm + narms, &why);
    EQP__FAIL_IF(rc != EQP_OK, eqp__lines_refuse(&r->lines, rc, message, "%s", why.text));
    r->node[n] = node;
    r->nread++;
    return EQP_OK;
}

static int read_block(eqp_paradis_reader *r, int64_t most, eqp_paradis_block *block, eqp_message *message)
{
    int64_t n = 0, narms = 0;

    while (n < most) {
        char *text;

        EQP__CHECK(next_text(r, &text, message));
        EQP__FAIL_IF(!text && r->nread < r->header.nnodes,
                     eqp__lines_refuse(&r->lines, EQP_ERR_FORMAT, message,
                                       "the file ends after %lld of %lld nodes: truncated?", (long long)r->nread,
                                       (long long)r->header.nnodes));
        if (!text) {
            break;
        }
        EQP__FAIL_IF(r->nread == r->header.nnodes,
                     eqp__lines_refuse(&r->lines, EQP_ERR_FORMAT, message, "more than the %lld nodes of nodeCount",
                                       (long long)r->header.nnodes));
        EQP__CHECK(read_node(r, text, n, narms, message));
        narms += r->node[n++].narms;
    }
    *block = (eqp_paradis_block){.n = n, .narms = narms, .node = r->node, .arm = r->arm};
    return EQP_OK;
}

int eqp_paradis_next(eqp_paradis_reader *reader, int64_t most, eqp_paradis_block *block, eqp_message *message)
{
    EQP__IN_C_LOCALE;
    int rc;

    EQP__FAIL_IF(!reader || most < 1 || !block,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "a block of a network has one node or more"));
    EQP__FAIL_IF(reader->failed,
                 EQP__SAY(message, EQP_ERR_STATE, "%s: cannot be read on after an error", reader->base));
    rc = read_block(reader, most, block, message);
    reader->failed = rc != EQP_OK;
    return eqp__explain(rc, reader->base, message);
}
