/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks come in the same for any number of ranks, from generators, files, copies and restart files, and go out as
 * the same bytes; what cannot be a network is refused on all ranks with one line that names the node. */
#include "harness.h"

#include "files/files.h"
#include "files/input.h"
#include "files/output.h"

#include "network/check.h"

#include <equipoise/more/paradis.h>

#include <math.h>
#include <unistd.h>

/* A run's settings from a command line of up to 15 words. */
static dd_settings settings_of(const char *const *words)
{
    char *argv[16] = {(char *)(uintptr_t) "dislocation"};
    dd_settings settings;
    eqp_message message = {""};
    app_action action;
    int argc = 1;

    while (words[argc - 1] != NULL) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
        argc++;
    }
    int code = app_options_parse(dd_settings_table(), argc, argv, &settings, NULL, &action, &message);
    if (code == EQP_OK) {
        code = dd_settings_complete(&settings, &message);
    }
    if (code != EQP_OK) {
        fprintf(stderr, "%s\n", message.text);
    }
    CHECK_EQUAL(code, EQP_OK);
    return settings;
}

#define SETTINGS(...) settings_of((const char *const[]){__VA_ARGS__, NULL})

/* The same name on all ranks of a communicator, and no other's. Collective. */
static const char *temporary(MPI_Comm comm, const char *ending, char name[256])
{
    const char *folder = getenv("TMPDIR");
    int pid = (int)getpid();

    MPI_Bcast(&pid, 1, MPI_INT, 0, comm);
    snprintf(name, 256, "%s/dd-input-%d%s", folder != NULL ? folder : "/tmp", pid, ending);
    return name;
}

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;

    x += 0.0; /* -0 is 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Of everything about the nodes that files hold, in whatever order nodes and arms lie. */
static uint64_t checksum(const dd_domain *domain)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        uint64_t h = mix(mix(mix(1, node->tag), (uint64_t)node->order), (uint64_t)node->constraint), arms = 0;
        for (int k = 0; k < node->narms; k++) {
            uint64_t a = mix(2, node->arm[k].tag);
            for (int d = 0; d < 3; d++) {
                a = mix(mix(a, bits_of(node->arm[k].burgers[d])), bits_of(node->arm[k].normal[d]));
            }
            arms += a;
        }
        for (int d = 0; d < 3; d++) {
            h = mix(h, bits_of(node->x[d]));
        }
        sum += mix(h, arms);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, domain->comm);
    return sum;
}

typedef struct reading {
    dd_domain domain;
    dd_input input;
    eqp_message message;
    int code;
} reading;

static reading read_network(MPI_Comm comm, const dd_settings *settings)
{
    reading r = {.message = {""}};

    dd_domain_init(&r.domain, comm);
    r.code = dd_input_read(settings, &r.domain, &r.input, &r.message);
    return r;
}

static reading read_well(MPI_Comm comm, const dd_settings *settings)
{
    reading r = read_network(comm, settings);

    if (r.code != EQP_OK) {
        fprintf(stderr, "%s\n", r.message.text);
    }
    CHECK_EQUAL(r.code, EQP_OK);
    return r;
}

static void reading_free(reading *r)
{
    dd_domain_free(&r->domain);
    eqp_paradis_control_free(&r->input.control);
}

/* Nodes of a rank lie in the box, in slices of the input's order, and know their homes. */
static void check_slices(const reading *r)
{
    const dd_domain *domain = &r->domain;
    int64_t first, count, seen = 0;

    app_slice(r->input.nodes, domain->rank, domain->nranks, &first, &count);
    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        CHECK(node->order >= 0 && node->order < r->input.nodes);
        CHECK_EQUAL(node->split, -1);
        CHECK_EQUAL(node->home, domain->rank);
        CHECK(node->tag < domain->next_tag);
        seen += node->order;
        for (int d = 0; d < 3; d++) {
            CHECK(domain->box[d] == 0 ||
                  (node->x[d] >= domain->low[d] && node->x[d] < domain->low[d] + domain->box[d]));
        }
        for (int k = 0; k < node->narms; k++) {
            CHECK_EQUAL(dd_network_find(&domain->network, node->arm[k].tag) >= 0, node->arm[k].home == domain->rank);
        }
    }
    CHECK_EQUAL(eqp_sum_int64(domain->comm, 1, &seen), EQP_OK);
    CHECK_EQUAL(seen, r->input.nodes * (r->input.nodes - 1) / 2);
}

/* The same as on one rank, whose network passes the whole check. */
static void check_same_as_alone(const reading *r, const dd_settings *settings)
{
    reading alone = read_well(MPI_COMM_SELF, settings);
    eqp_message message = {""};
    int code = dd_network_check(&alone.domain.network, alone.domain.box, &message);

    if (code != EQP_OK) {
        fprintf(stderr, "%s\n", message.text);
    }
    CHECK_EQUAL(code, EQP_OK);
    CHECK(checksum(&r->domain) == checksum(&alone.domain));
    CHECK_EQUAL(r->input.nodes, alone.input.nodes);
    CHECK_EQUAL(r->input.segments, alone.input.segments);
    CHECK_EQUAL(r->input.longest, alone.input.longest);
    CHECK_EQUAL(r->domain.next_tag, alone.domain.next_tag);
    CHECK(memcmp(r->input.control.cells, alone.input.control.cells, sizeof alone.input.control.cells) == 0);
    reading_free(&alone);
}

static void generated(MPI_Comm comm)
{
    static const char *const kinds[] = {"frank-read", "loops:n=20", "lines:n=5", "chains:n=9,seed=3"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const dd_settings settings = SETTINGS("--generate", kinds[i]);
        reading r = read_well(comm, &settings);
        check_slices(&r);
        check_same_as_alone(&r, &settings);
        CHECK(r.input.control.cells[0] >= 3);
        reading_free(&r);
    }
}

static char *slurp(const char *path, long *size)
{
    FILE *file = fopen(path, "rb");

    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *size = ftell(file);
    rewind(file);
    char *text = mpi_test_alloc(*size + 1, 1);
    CHECK_EQUAL((long)fread(text, 1, (size_t)*size, file), *size);
    fclose(file);
    return text;
}

static void check_same_bytes(const char *left, const char *right)
{
    long nleft, nright;
    char *a = slurp(left, &nleft), *b = slurp(right, &nright);

    CHECK_EQUAL(nleft, nright);
    CHECK(memcmp(a, b, (size_t)nleft) == 0);
    free(a);
    free(b);
}

/* What was written is read back to the last bit; the bytes do not depend on the ranks. */
static void written(MPI_Comm comm)
{
    const dd_settings settings = SETTINGS("--generate", "chains:n=40", "--stress=1e6,0,0,-2e6,0,0", "--steps=30");
    const dd_moment now = {12, 3e-8, 1.5e-10, {1, 2, 3, 4, 5, 6}, {0, 1e-5, 0, 0, -1e-6, 0}, -7, NULL};
    char stem[256], data[256], ctrl[256], again[256], again_ctrl[256];
    reading r = read_well(comm, &settings);

    CHECK_EQUAL(r.input.control.stress[3], -2e6);
    CHECK_EQUAL(dd_output_restart(&r.domain, &r.input, &now, temporary(comm, "", stem), &r.message), EQP_OK);
    temporary(comm, ".data", data);
    temporary(comm, ".ctrl", ctrl);
    temporary(comm, "-again.data", again);
    temporary(comm, "-again.ctrl", again_ctrl);
    const dd_settings restart = SETTINGS("--restart", stem), by_data = SETTINGS("--restart", data);
    reading back = read_well(comm, &restart), named = read_well(comm, &by_data);

    CHECK(checksum(&r.domain) == checksum(&back.domain));
    CHECK(checksum(&r.domain) == checksum(&named.domain));
    check_slices(&back);
    CHECK_EQUAL(back.input.control.first_step, 12);
    CHECK_EQUAL(back.input.last_step, 30);
    CHECK_EQUAL(back.input.control.time, 3e-8);
    CHECK_EQUAL(back.input.control.strain_rate, -7);
    CHECK_EQUAL(back.input.control.next_dt, 1.5e-10);
    CHECK_EQUAL(back.input.control.max_seg, r.input.control.max_seg);
    CHECK(memcmp(back.input.control.stress, now.stress, sizeof now.stress) == 0);
    CHECK(memcmp(back.input.control.plastic_strain, now.plastic_strain, sizeof now.plastic_strain) == 0);
    CHECK(memcmp(back.input.control.cells, r.input.control.cells, sizeof r.input.control.cells) == 0);
    if (mpi_test_rank(comm) == 0) {
        reading alone = read_well(MPI_COMM_SELF, &settings);
        CHECK_EQUAL(dd_output_restart(&alone.domain, &alone.input, &now, again, &alone.message), EQP_OK);
        check_same_bytes(data, again);
        reading_free(&alone);
        remove(again);
        remove(data);
        remove(ctrl);
        remove(again_ctrl);
    }
    reading_free(&named);
    reading_free(&back);
    reading_free(&r);
}

/* Nodes that are not of the input stand behind those that are, by tag, wherever they live. */
static void order_of_files(MPI_Comm comm)
{
    const dd_settings settings = SETTINGS("--generate", "loops:n=30");
    const dd_moment now = {.step = 1};
    char name[256], ctrl[256];
    reading r = read_well(comm, &settings);
    dd_moved moved = {0, 0};
    int *dest = mpi_test_alloc(r.domain.network.n, sizeof *dest);

    for (int64_t i = 0; i < r.domain.network.n; i++) {
        dd_node *node = &r.domain.network.node[i];
        node->order = node->tag % 3 == 0 ? -1 : (int64_t)(1000000 - node->tag);
        dest[i] = (int)(node->tag * 7 % (uint64_t)r.domain.nranks);
    }
    CHECK_EQUAL(dd_domain_migrate(&r.domain, dest, &moved), EQP_OK);
    CHECK_EQUAL(dd_output_restart(&r.domain, &r.input, &now, temporary(comm, ".data", name), &r.message), EQP_OK);
    temporary(comm, ".ctrl", ctrl);
    const dd_settings restart = SETTINGS("--restart", name);
    if (mpi_test_rank(comm) == 0) {
        reading back = read_well(MPI_COMM_SELF, &restart);
        dd_node *node = back.domain.network.node;
        for (int64_t i = 1; i < back.domain.network.n; i++) {
            const bool old = node[i].tag % 3 != 0, old_before = node[i - 1].tag % 3 != 0;
            CHECK_EQUAL(node[i].order, i);
            CHECK(old <= old_before);
            CHECK(old != old_before || (node[i].tag < node[i - 1].tag) == old);
        }
        reading_free(&back);
        remove(name);
        remove(ctrl);
    }
    free(dest);
    reading_free(&r);
}

static void lines(MPI_Comm comm)
{
    const dd_settings settings = SETTINGS("--generate", "chains:n=40");
    reading r = read_well(comm, &settings);
    char name[256];

    CHECK_EQUAL(dd_output_snapshot(&r.domain, &r.input, &(dd_moment){0}, temporary(comm, ".vtp", name), &r.message),
                EQP_OK);
    if (mpi_test_rank(comm) == 0) {
        long size;
        char *text = slurp(name, &size);
        int64_t found = 0, n = 0;
        for (const char *at = text; (at = strstr(at, "NumberOfLines=\"")) != NULL;) {
            at += strlen("NumberOfLines=\"");
            CHECK_EQUAL(sscanf(at, "%" SCNd64, &n), 1);
            found += n;
        }
        CHECK_EQUAL(found, r.input.segments);
        free(text);
        remove(name);
    }
    reading_free(&r);
}

static void tiled(MPI_Comm comm)
{
    const dd_settings one = SETTINGS("--generate", "chains:n=12,box=20000");
    const dd_settings eight = SETTINGS("--generate", "chains:n=12,box=20000", "--tile", "2,2,2");
    const dd_settings flat = SETTINGS("--generate", "lines:n=3", "--tile", "3,1,2");
    reading a = read_well(comm, &one), b = read_well(comm, &eight), c = read_well(comm, &flat);

    CHECK_EQUAL(b.input.nodes, 8 * a.input.nodes);
    CHECK_EQUAL(b.input.segments, 8 * a.input.segments);
    CHECK_EQUAL(b.domain.box[1], 2 * a.domain.box[1]);
    CHECK_NEAR(b.input.longest, a.input.longest, 1e-6);
    CHECK(b.domain.network.n >= 8 * (a.input.nodes / mpi_test_size(comm) / 2));
    check_slices(&b);
    check_slices(&c);
    check_same_as_alone(&b, &eight);
    check_same_as_alone(&c, &flat);
    reading_free(&a);
    reading_free(&b);
    reading_free(&c);
}

/* --- what is no network --- */

/* A square loop of four nodes and a line between two pinned ones; each row changes some words of it. */
static const char sound[] = "dataFileVersion = 5\nnumFileSegments = 1\n"
                            "minCoordinates = [ -50 -50 -50 ]\nmaxCoordinates = [ 50 50 50 ]\nnodeCount = 6\n"
                            "dataDecompType = 2\ndataDecompGeometry = [ 1 1 1 ]\ndomainDecomposition =\n"
                            " 0 -50 -50 -50 50 50 50\nnodalData =\n"
                            "0,1 0 0 0 2 0\n0,2 1 0 0\n0 0 1\n0,4 -1 0 0\n0 0 1\n"
                            "0,2 10 0 0 2 0\n0,3 1 0 0\n0 0 1\n0,1 -1 0 0\n0 0 1\n"
                            "0,3 10 10 0 2 0\n0,4 1 0 0\n0 0 1\n0,2 -1 0 0\n0 0 1\n"
                            "0,4 0 10 0 2 0\n0,1 1 0 0\n0 0 1\n0,3 -1 0 0\n0 0 1\n"
                            "3,5 0 0 30 1 7\n3,9 0 1 0\n1 0 0\n"
                            "3,9 0 30 30 1 7\n3,5 0 -1 0\n1 0 0\n";

static const struct {
    const char *what, *from, *to, *named;
} wrong[] = {
    {"an arm to nobody", "3,9 0 1 0\n1 0 0\n", "3,8 0 1 0\n1 0 0\n", "3,5"},
    {"two nodes of one tag", "0,4 0 10 0 2 0", "0,2 0 10 0 2 0", "0,2"},
    {"no arm leads back", "3,9 0 30 30 1 7\n3,5 0 -1 0", "3,9 0 30 30 1 7\n0,3 0 -1 0", "3,5"},
    {"the same Burgers vector at both ends", "3,5 0 -1 0", "3,5 0 1 0", "3,9"},
    {"a Burgers vector that is lost", "0,3 1 0 0", "0,3 1 0.5 0", "0,2"},
    {"no length", "3,9 0 30 30 1 7", "3,9 0 0 30 1 7", "3,9"},
    {"no length but for the box", "3,9 0 30 30 1 7", "3,9 0 100 30 1 7", "3,9"},
    {"longer than half the box", "3,9 0 30 30 1 7", "3,9 40 40 30 1 7", "a segment is shorter than 50 b"},
    {"no number", "0,3 10 10 0 2 0", "0,3 10 nan 0 2 0", "0,3"},
    {"a loose end", "3,9 0 30 30 1 7", "3,9 0 30 30 1 0", "3,9"},
    {"fewer nodes than announced", "nodeCount = 6", "nodeCount = 7", "line"},
    {"more nodes than announced", "nodeCount = 6", "nodeCount = 5", "line"},
    {"no nodes", "nodeCount = 6", "nodeCount = 0", ""},
    {"a box of no size", "[ 50 50 50 ]", "[ 50 -50 50 ]", "line"},
};

static void write_changed(const char *path, const char *from, const char *to)
{
    FILE *file = fopen(path, "w");
    const char *at = strstr(sound, from);

    CHECK(file != NULL && at != NULL);
    fprintf(file, "%.*s%s%s", (int)(at - sound), sound, to, at + strlen(from));
    CHECK(fclose(file) == 0);
}

static void check_refused(MPI_Comm comm, const dd_settings *settings, const char *what, const char *named)
{
    reading r = read_network(comm, settings);
    eqp_message first = r.message;

    if (r.code == EQP_OK || r.message.text[0] == '\0' || strstr(r.message.text, named) == NULL) {
        fprintf(stderr, "%s: code %d, '%s' does not say '%s'\n", what, r.code, r.message.text, named);
    }
    CHECK(r.code == EQP_ERR_DATA || r.code == EQP_ERR_FORMAT || r.code == EQP_ERR_ARGUMENT || r.code == EQP_ERR_IO);
    CHECK(r.message.text[0] != '\0');
    CHECK(strstr(r.message.text, named) != NULL);
    CHECK(strstr(r.message.text, settings->ctrl != NULL ? settings->ctrl : settings->run.snapshot) != NULL);
    MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, comm);
    CHECK(strcmp(first.text, r.message.text) == 0);
    reading_free(&r);
}

static void refused(MPI_Comm comm)
{
    char name[256];

    temporary(comm, ".data", name);
    const dd_settings settings = SETTINGS(name, "--rc=1");
    if (mpi_test_rank(comm) == 0) {
        write_changed(name, "nodeCount", "nodeCount");
    }
    MPI_Barrier(comm);
    reading r = read_well(comm, &settings);
    CHECK_EQUAL(r.input.nodes, 6);
    CHECK_EQUAL(r.input.segments, 5);
    check_slices(&r);
    reading_free(&r);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        MPI_Barrier(comm);
        if (mpi_test_rank(comm) == 0) {
            write_changed(name, wrong[i].from, wrong[i].to);
        }
        MPI_Barrier(comm);
        check_refused(comm, &settings, wrong[i].what, wrong[i].named);
    }
    MPI_Barrier(comm);
    if (mpi_test_rank(comm) == 0) {
        remove(name);
    }
    MPI_Barrier(comm);
    check_refused(comm, &settings, "no file", "");
}

static void write_text(MPI_Comm comm, const char *path, const char *text)
{
    MPI_Barrier(comm);
    if (mpi_test_rank(comm) == 0) {
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs(text, file) >= 0);
        CHECK(fclose(file) == 0);
    }
    MPI_Barrier(comm);
}

/* Parameters: the file's, the command line's on top; what does not fit is refused with the file's name. */
static void parameters(MPI_Comm comm)
{
    char ctrl[256];

    temporary(comm, ".ctrl", ctrl);
    write_text(comm, ctrl,
               "maxSeg = 600\nrc = 3\nnumXcells = 4\nnumYcells = 5\nnumZcells = 6\nmaxstep = 44\n"
               "loadType = 1\neRate = 7\ntimeNow = 5\ncycleStart = 9\n");
    const dd_settings plain = SETTINGS("--generate=lines:n=2,box=20000", "--ctrl", ctrl, "--tile=1,1,2");
    const dd_settings over = SETTINGS("--generate=lines:n=2,box=20000", "--ctrl", ctrl, "--cells=3,4,5", "--nu=0",
                                      "--steps=0", "--strain-rate=0", "--mobility=FCC_0");
    reading a = read_well(comm, &plain), b = read_well(comm, &over);

    CHECK_EQUAL(a.input.control.cells[1], 5);
    CHECK_EQUAL(a.input.control.cells[2], 12);
    CHECK_EQUAL(a.input.last_step, 44);
    CHECK_EQUAL(a.input.control.first_step, 0);
    CHECK_EQUAL(a.input.control.time, 0);
    CHECK_EQUAL(a.input.control.strain_rate, 7);
    CHECK_EQUAL(b.input.control.cells[2], 5);
    CHECK_EQUAL(b.input.control.poisson, 0);
    CHECK_EQUAL(b.input.control.strain_rate, 0);
    CHECK_EQUAL(b.input.control.load_type, 1);
    CHECK_EQUAL(b.input.last_step, 0);
    CHECK(strcmp(b.input.control.mobility, "FCC_0") == 0);
    CHECK(strcmp(a.input.control.mobility, "BCC_0") == 0);
    CHECK(a.input.control.poisson != 0);
    write_text(comm, ctrl, "maxSeg = 600\nrc = 3\nyBoundType = 1\n");
    check_refused(comm, &plain, "a generated network that ends", "yBoundType");
    MPI_Barrier(comm);
    if (mpi_test_rank(comm) == 0) {
        remove(ctrl);
    }
    MPI_Barrier(comm);
    check_refused(comm, &plain, "no parameters", "");
    reading_free(&a);
    reading_free(&b);
}

/* Nothing is folded, and nothing nearer than it is, where the box is free. */
static void free_box(MPI_Comm comm)
{
    char name[256], ctrl[256];

    temporary(comm, ".data", name);
    temporary(comm, ".ctrl", ctrl);
    write_text(comm, ctrl, "maxSeg = 30\nrc = 1\nxBoundType = 1\nyBoundType = 1\nzBoundType = 1\n");
    MPI_Barrier(comm);
    if (mpi_test_rank(comm) == 0) {
        write_changed(name, "3,9 0 30 30 1 7", "3,9 0 80 30 1 7");
    }
    MPI_Barrier(comm);
    const dd_settings open = SETTINGS(name, "--ctrl", ctrl), closed = SETTINGS(name, "--rc=1");
    reading a = read_well(comm, &open), b = read_well(comm, &closed);

    CHECK_EQUAL(a.domain.box[1], 0);
    CHECK_EQUAL(a.domain.edge[1], 100);
    CHECK_EQUAL(a.input.longest, 80);
    CHECK_EQUAL(b.input.longest, 20);
    reading_free(&a);
    reading_free(&b);
    MPI_Barrier(comm);
    if (mpi_test_rank(comm) == 0) {
        remove(name);
        remove(ctrl);
    }
}

/* Networks of other programs, where they are at hand: DD_DATA names their folder. */
static void real_files(MPI_Comm comm)
{
    static const struct {
        const char *name;
        int64_t nodes, segments;
    } known[] = {{"frank_read_src.data", 3, 2},
                 {"form_binaryjunc.data", 6, 4},
                 {"copper_x8.data", 274, 262},
                 {"Copper.data", 2304, 2304},
                 {"Tantalum.data", 464, 464},
                 {"180chains_16.10e.data", 5055, 5930},
                 {"fcc_900chains_95k.data.gz", 95400, 95400}};
    const char *folder = getenv("DD_DATA");
    char path[512];

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "", known[i].name);
        if (folder == NULL || access(path, R_OK) != 0) {
            if (mpi_test_rank(comm) == 0) {
                printf("%s: not here, skipped\n", known[i].name);
            }
            continue;
        }
        const dd_settings settings = SETTINGS(path);
        reading r = read_well(comm, &settings);
        CHECK_EQUAL(r.input.nodes, known[i].nodes);
        CHECK_EQUAL(r.input.segments, known[i].segments);
        check_slices(&r);
        if (known[i].nodes < 10000) {
            check_same_as_alone(&r, &settings);
        }
        reading_free(&r);
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {MPI_TEST(generated),  MPI_TEST(written),  MPI_TEST(order_of_files),
                                     MPI_TEST(lines),      MPI_TEST(tiled),    MPI_TEST(refused),
                                     MPI_TEST(parameters), MPI_TEST(free_box), MPI_TEST(real_files)};

    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
