/* SPDX-License-Identifier: BSD-3-Clause */
/* PolyData in VTK's XML format, with arrays in base64 inside the tags, so that pieces are written as they arrive and
 * readers need not seek. Source: "VTK File Formats", chapter "XML file formats", in the VTK User's Guide. */
#include "base/internal.h"
#include "io/internal.h"

#include <equipoise/more/base.h>
#include <equipoise/more/io.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eqp_vtk_writer {
    eqp_output *out;
    bool any; /* a piece was written, with these optional arrays: */
    bool v, burgers, type, rank;
};

/* Encodes bytes in base64, three at a time. */
typedef struct stream {
    FILE *to;
    unsigned char left[3];
    int nleft;
} stream;

static void put_group(FILE *to, const unsigned char *b, int n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4];

    text[0] = digit[b[0] >> 2];
    text[1] = digit[(b[0] & 3) << 4 | (n > 1 ? b[1] >> 4 : 0)];
    text[2] = n > 1 ? digit[(b[1] & 15) << 2 | (n > 2 ? b[2] >> 6 : 0)] : '=';
    text[3] = n > 2 ? digit[b[2] & 63] : '=';
    (void)fwrite(text, 1, sizeof text, to);
}

static void put_bytes(stream *s, const void *data, size_t bytes)
{
    const unsigned char *b = data;

    while (bytes-- > 0) {
        s->left[s->nleft++] = *b++;
        if (s->nleft == 3) {
            put_group(s->to, s->left, 3);
            s->nleft = 0;
        }
    }
}

/* An array's head, and the number of its bytes; end_array() follows its contents. */
static stream begin_array(FILE *to, const char *name, const char *kind, int width, int64_t rows, size_t size)
{
    stream s = {.to = to};
    uint64_t bytes = (uint64_t)rows * (uint64_t)width * size;

    (void)fprintf(to, "<DataArray type=\"%s\" Name=\"%s\"", kind, name);
    if (width > 1) {
        (void)fprintf(to, " NumberOfComponents=\"%d\"", width);
    }
    (void)fputs(" format=\"binary\">\n", to);
    put_bytes(&s, &bytes, sizeof bytes);
    return s;
}

static void end_array(stream *s)
{
    if (s->nleft > 0) {
        put_group(s->to, s->left, s->nleft);
    }
    (void)fputs("\n</DataArray>\n", s->to);
}

static void put_array(FILE *to, const char *name, const char *kind, int width, int64_t rows, size_t size,
                      const void *data)
{
    stream s = begin_array(to, name, kind, width, rows, size);

    if (rows > 0) {
        put_bytes(&s, data, (size_t)rows * (size_t)width * size);
    }
    end_array(&s);
}

static void put_magnitudes(FILE *to, const char *name, int64_t n, const double (*v)[3])
{
    stream s = begin_array(to, name, "Float64", 1, n, sizeof(double));

    for (int64_t i = 0; i < n; i++) {
        double magnitude = sqrt(v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2]);

        put_bytes(&s, &magnitude, sizeof magnitude);
    }
    end_array(&s);
}

static void put_lines(FILE *to, int64_t n, const int64_t (*end)[2])
{
    stream s;

    (void)fputs("<Lines>\n", to);
    put_array(to, "connectivity", "Int64", 1, 2 * n, sizeof(int64_t), end);
    s = begin_array(to, "offsets", "Int64", 1, n, sizeof(int64_t));
    for (int64_t offset = 2; offset <= 2 * n; offset += 2) {
        put_bytes(&s, &offset, sizeof offset);
    }
    end_array(&s);
    (void)fputs("</Lines>\n", to);
}

_Static_assert(sizeof(int) == sizeof(int32_t), "an int is written as Int32");

static void put_piece(FILE *to, const eqp_vtk_piece *p, const eqp_vtk_writer *w)
{
    (void)fprintf(to,
                  "<Piece NumberOfPoints=\"%lld\" NumberOfVerts=\"0\" NumberOfLines=\"%lld\" NumberOfStrips=\"0\" "
                  "NumberOfPolys=\"0\">\n<PointData>\n",
                  (long long)p->npoints, (long long)p->nlines);
    if (w->v) {
        put_array(to, "velocity", "Float64", 3, p->npoints, sizeof(double), p->v);
    }
    (void)fputs("</PointData>\n<CellData>\n", to);
    if (w->burgers) {
        put_array(to, "Burgers vector", "Float64", 3, p->nlines, sizeof(double), p->burgers);
        put_magnitudes(to, "Burgers magnitude", p->nlines, p->burgers);
    }
    if (w->type) {
        put_array(to, "type", "Int32", 1, p->nlines, sizeof(int), p->type);
    }
    if (w->rank) {
        put_array(to, "rank", "Int32", 1, p->nlines, sizeof(int), p->rank);
    }
    (void)fputs("</CellData>\n<Points>\n", to);
    put_array(to, "position", "Float64", 3, p->npoints, sizeof(double), p->x);
    (void)fputs("</Points>\n", to);
    put_lines(to, p->nlines, p->end);
    (void)fputs("</Piece>\n", to);
}

static const char *byte_order(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 1 ? "LittleEndian" : "BigEndian";
}

int eqp_vtk_begin(const char *path, double time, eqp_vtk_writer **writer, eqp_message *message)
{
    eqp_vtk_writer *w = NULL;
    stream s;
    int code;

    EQP__FAIL_IF(!path || !writer || !isfinite(time),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "a file of lines needs a name and a time"));
    EQP_TRY(eqp_array_create(&w, 1, sizeof *w));
    EQP_TRY(eqp_output_create(path, &w->out, message));
    s = (stream){.to = eqp_output_stream(w->out)};
    (void)fprintf(s.to,
                  "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"%s\" "
                  "header_type=\"UInt64\">\n<PolyData>\n<FieldData>\n"
                  "<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"binary\">\n",
                  byte_order());
    put_bytes(&s, &(uint64_t){sizeof time}, sizeof(uint64_t));
    put_bytes(&s, &time, sizeof time);
    end_array(&s);
    (void)fputs("</FieldData>\n", s.to);
    EQP_TRY(eqp_output_check(w->out, message));
    *writer = w;
    return EQP_OK;
done:
    eqp_vtk_discard(w);
    return eqp__explain(code, path, message);
}

static int check_piece(const eqp_vtk_writer *w, const eqp_vtk_piece *p, eqp_message *message)
{
    EQP__FAIL_IF(p->npoints < 0 || p->nlines < 0 || (p->npoints > 0 && !p->x) || (p->nlines > 0 && !p->end),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: points without places, or lines without ends",
                          eqp_output_path(w->out)));
    for (int64_t i = 0; i < p->nlines; i++) {
        for (int e = 0; e < 2; e++) {
            EQP__FAIL_IF(p->end[i][e] < 0 || p->end[i][e] >= p->npoints,
                         EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: line %lld ends at point %lld of %lld",
                                  eqp_output_path(w->out), (long long)i, (long long)p->end[i][e],
                                  (long long)p->npoints));
        }
    }
    /* An empty piece may come without arrays. */
    EQP__FAIL_IF(
        w->any && ((p->npoints > 0 && (p->v != NULL) != w->v) ||
                   (p->nlines > 0 && ((p->burgers != NULL) != w->burgers || (p->type != NULL) != w->type ||
                                      (p->rank != NULL) != w->rank))),
        EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: a piece with other arrays than the first", eqp_output_path(w->out)));
    return EQP_OK;
}

int eqp_vtk_add(eqp_vtk_writer *writer, const eqp_vtk_piece *piece, eqp_message *message)
{
    EQP_REQUIRE(writer && piece);
    int rc = check_piece(writer, piece, message);

    /* Empty pieces do not fix the optional arrays. */
    if (rc != EQP_OK || (piece->npoints == 0 && piece->nlines == 0)) {
        return rc;
    }
    if (!writer->any) {
        writer->v = piece->v != NULL;
        writer->burgers = piece->burgers != NULL;
        writer->type = piece->type != NULL;
        writer->rank = piece->rank != NULL;
        writer->any = true;
    }
    put_piece(eqp_output_stream(writer->out), piece, writer);
    return eqp_output_check(writer->out, message);
}

int eqp_vtk_finish(eqp_vtk_writer *writer, eqp_message *message)
{
    EQP_REQUIRE(writer);
    int rc;

    if (!writer->any) {
        put_piece(eqp_output_stream(writer->out), &(eqp_vtk_piece){0}, writer);
    }
    (void)fputs("</PolyData>\n</VTKFile>\n", eqp_output_stream(writer->out));
    rc = eqp_output_commit(writer->out, message);
    free(writer);
    return rc;
}

void eqp_vtk_discard(eqp_vtk_writer *writer)
{
    if (writer) {
        eqp_output_discard(writer->out);
        free(writer);
    }
}

int eqp_vtk_write_series(const char *path, int64_t nframes, const eqp_vtk_frame *frame, eqp_message *message)
{
    eqp_output *out;
    EQP__IN_C_LOCALE;

    EQP__FAIL_IF(!path || nframes < 0 || (nframes > 0 && !frame),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "a series needs a name and files"));
    for (int64_t i = 0; i < nframes; i++) {
        EQP__FAIL_IF(!frame[i].path || !isfinite(frame[i].time) || !eqp__same_folder(path, frame[i].path),
                     EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: file %lld is not in the same folder, or has no time",
                              path, (long long)i));
    }
    EQP__CHECK(eqp_output_create(path, &out, message));
    (void)fputs("<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n<Collection>\n",
                eqp_output_stream(out));
    for (int64_t i = 0; i < nframes; i++) {
        (void)fprintf(eqp_output_stream(out), "<DataSet timestep=\"%.17g\" part=\"0\" file=\"", frame[i].time);
        eqp__put_escaped(eqp_output_stream(out), eqp__base_name(frame[i].path));
        (void)fputs("\"/>\n", eqp_output_stream(out));
    }
    (void)fputs("</Collection>\n</VTKFile>\n", eqp_output_stream(out));
    return eqp_output_commit(out, message);
}

const char *eqp__base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool eqp__same_folder(const char *a, const char *b)
{
    size_t length = (size_t)(eqp__base_name(a) - a);

    return length == (size_t)(eqp__base_name(b) - b) && strncmp(a, b, length) == 0;
}

void eqp__put_escaped(FILE *to, const char *text)
{
    static const char *const entity[] = {['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};

    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < sizeof entity / sizeof *entity && entity[c]) {
            (void)fputs(entity[c], to);
        } else {
            (void)fputc(c, to);
        }
    }
}
