/* SPDX-License-Identifier: BSD-3-Clause */
/* XDMF 2: an XML file that describes the datasets of a snapshot to ParaView and VisIt. */
#include "base/internal.h"
#include "io/internal.h"

#include <equipoise/more/base.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct grid {
    FILE *to;
    const char *file; /* HDF5 file, without its folder */
    int type;
    int64_t n;
} grid;

/* XDMF 2 has no unsigned 8-byte integers: ids are declared signed, and HDF5 converts them. */
static void put_item(const grid *g, const char *name, eqp_kind kind, int width)
{
    fprintf(g->to, "     <DataItem Dimensions=\"%lld", (long long)g->n);
    if (width > 1) {
        fprintf(g->to, " %d", width);
    }
    fprintf(g->to, "\" NumberType=\"%s\" Precision=\"8\" Format=\"HDF\">", kind == EQP_KIND_DOUBLE ? "Float" : "Int");
    eqp__put_escaped(g->to, g->file);
    fprintf(g->to, ":/PartType%d/", g->type);
    eqp__put_escaped(g->to, name);
    fputs("</DataItem>\n", g->to);
}

static void put_attribute(const grid *g, const char *name, eqp_kind kind, int width)
{
    const char *what = width == 1 ? "Scalar" : width == 3 ? "Vector" : width == 9 ? "Tensor" : "Matrix";

    fputs("    <Attribute Name=\"", g->to);
    eqp__put_escaped(g->to, name);
    fprintf(g->to, "\" AttributeType=\"%s\" Center=\"Node\">\n", what);
    put_item(g, name, kind, width);
    fputs("    </Attribute>\n", g->to);
}

static void put_grid(const grid *g, const eqp_snapshot_layout *layout)
{
    fprintf(g->to, "   <Grid Name=\"PartType%d\" GridType=\"Uniform\">\n", g->type);
    fprintf(g->to, "    <Topology TopologyType=\"Polyvertex\" NumberOfElements=\"%lld\" NodesPerElement=\"1\"/>\n",
            (long long)g->n);
    fputs("    <Geometry GeometryType=\"XYZ\">\n", g->to);
    put_item(g, "Coordinates", EQP_KIND_DOUBLE, 3);
    fputs("    </Geometry>\n", g->to);
    put_attribute(g, "Velocities", EQP_KIND_DOUBLE, 3);
    put_attribute(g, "Masses", EQP_KIND_DOUBLE, 1);
    put_attribute(g, "ParticleIDs", EQP_KIND_UINT64, 1);
    for (int c = 0; c < layout->ncolumns; c++) {
        put_attribute(g, layout->column[c].name, layout->column[c].kind, layout->column[c].width);
    }
    fputs("   </Grid>\n", g->to);
}

static int put_frame(FILE *to, const eqp_snapshot_frame *frame)
{
    eqp_snapshot_layout known;
    const eqp_snapshot_layout *l = eqp__layout_known(frame->layout, &known);

    fputs("  <Grid Name=\"snapshot\" GridType=\"Collection\" CollectionType=\"Spatial\">\n", to);
    fprintf(to, "   <Time Value=\"%.17g\"/>\n", l->time);
    for (int k = 0; k < eqp__layout_files(l); k++) {
        char *name;

        EQP__CHECK(eqp__layout_path(eqp__base_name(frame->path), l, k, &name));
        for (int t = 0; t < l->ntypes; t++) {
            int64_t n = eqp__layout_first(l, t, k + 1) - eqp__layout_first(l, t, k);

            if (n > 0) {
                put_grid(&(grid){.to = to, .file = name, .type = t, .n = n}, l);
            }
        }
        free(name);
    }
    fputs("  </Grid>\n", to);
    return EQP_OK;
}

static int put_all(FILE *to, int nframes, const eqp_snapshot_frame *frame)
{
    int rc = EQP_OK;

    fputs("<?xml version=\"1.0\"?>\n<!DOCTYPE Xdmf SYSTEM \"Xdmf.dtd\" []>\n<Xdmf Version=\"2.0\">\n <Domain>\n", to);
    fputs(" <Grid Name=\"series\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", to);
    for (int i = 0; rc == EQP_OK && i < nframes; i++) {
        rc = put_frame(to, &frame[i]);
    }
    fputs(" </Grid>\n </Domain>\n</Xdmf>\n", to);
    return rc;
}

int eqp_snapshot_write_xdmf(const char *path, int nframes, const eqp_snapshot_frame *frame, eqp_message *message)
{
    eqp_output *out;
    int rc;

    EQP__FAIL_IF(!path || nframes < 1 || !frame,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "an XDMF file needs a name and snapshots"));
    for (int i = 0; i < nframes; i++) {
        EQP__FAIL_IF(!frame[i].path || !frame[i].layout || !eqp__same_folder(path, frame[i].path),
                     EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: snapshot %d is not in the same folder", path, i));
        eqp_snapshot_layout known;
        EQP__CHECK(eqp__layout_check(frame[i].path, eqp__layout_known(frame[i].layout, &known), message));
    }
    EQP__CHECK(eqp_output_create(path, &out, message));
    rc = put_all(eqp_output_stream(out), nframes, frame);
    if (rc == EQP_OK) {
        return eqp_output_commit(out, message);
    }
    eqp_output_discard(out);
    return eqp__explain(rc, path, message);
}
