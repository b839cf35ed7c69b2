/* SPDX-License-Identifier: BSD-3-Clause */
/* Written numbers are read back bit for bit, in any slices; an old file survives until the new one is complete. */
#include "snapshot_files.h"

#include <hdf5.h>

enum { N = 23 };

/* Doubles with every bit in use. */
static double noisy(int64_t i)
{
    uint64_t bits = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);

    bits ^= bits >> 29;
    bits *= UINT64_C(0xbf58476d1ce4e5b9);
    return ldexp((double)(bits >> 11), -40) - 4096;
}

static particles noisy_particles(const eqp_snapshot_layout *l)
{
    int files = l->nfiles > 1 ? l->nfiles : 1;
    int64_t n = 0, at = 0;

    for (int t = 0; t < l->ntypes; t++) {
        n += l->type_n[t];
    }
    particles p = particles_new(n);
    for (int kt = 0; kt < files * l->ntypes; kt++) {
        int t = kt % l->ntypes, k = kt / l->ntypes;
        int64_t count = l->type_n[t] / files + (k < l->type_n[t] % files);

        for (int64_t j = 0; j < count; j++) {
            p.type[at++] = (int8_t)t;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int c = 0; c < 7; c++) {
            p.column[c][i] = c == 0 ? fabs(noisy(7 * i)) : noisy(7 * i + c);
        }
        p.id[i] = (int64_t)((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15));
    }
    return p;
}

static eqp_snapshot_writer *begin(const char *path, const eqp_snapshot_layout *layout)
{
    eqp_message message = {""};
    eqp_snapshot_writer *writer = NULL;

    if (eqp_snapshot_write_begin(path, layout, &writer, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
    return writer;
}

static int begin_bad(const char *path, const eqp_snapshot_layout *layout, eqp_message *message)
{
    eqp_snapshot_writer *writer = NULL;
    int code = eqp_snapshot_write_begin(path, layout, &writer, message);

    assert_null(writer);
    return code;
}

static void write_part(eqp_snapshot_writer *writer, const particles *whole, int64_t first, int64_t n,
                       const void *const *data)
{
    eqp_message message = {""};
    const eqp_snapshot_arrays a = particles_from(whole, first);
    const int rc = eqp_snapshot_write_slice(writer, n, &a, data, &message);

    if (rc != EQP_OK) {
        fail_msg("%d %s", rc, message.text);
    }
}

static void write_whole(const char *path, const eqp_snapshot_layout *layout, const particles *whole)
{
    eqp_snapshot_writer *writer = begin(path, layout);

    write_part(writer, whole, 0, whole->n, NULL);
    assert_ok(eqp_snapshot_write_finish(writer, NULL));
}

static eqp_snapshot_layout some_layout(void)
{
    eqp_snapshot_layout l = eqp_snapshot_layout_defaults();

    l.type_n[0] = 5;
    l.type_n[1] = 11;
    l.type_n[4] = 7;
    l.time = 0.1;
    l.box_size = 3;
    return l;
}

/* Reads a whole dataset unless to is NULL; returns the number of its dimensions. */
static int read_dataset(const char *path, const char *name, hid_t memory, void *to, hsize_t dimension[2])
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(dataset);
    const int ndims = H5Sget_simple_extent_dims(space, dimension, NULL);

    assert_true(dataset >= 0 && (!to || H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0));
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    return ndims;
}

TEST(what_is_written_is_read_to_the_bit)
{
    static const int64_t cut[] = {0, 0, 3, 5, 6, 20, 23};
    eqp_snapshot_layout l = some_layout();

    for (int nfiles = 0; nfiles <= 8; nfiles += 4) {
        const char *name = nfiles > 1 ? "out" : "out.hdf5";

        l.nfiles = nfiles;
        particles whole = noisy_particles(&l);
        eqp_snapshot_writer *writer = begin(in_folder(name), &l);
        for (int k = 0; k < 6; k++) {
            write_part(writer, &whole, cut[k], cut[k + 1] - cut[k], NULL);
        }
        assert_ok(eqp_snapshot_write_finish(writer, NULL));
        assert_int_equal(files_in_folder(false), nfiles > 1 ? nfiles : 1);
        check_slices(in_folder(name), &whole);
        eqp_snapshot *s = open_good(in_folder(name));
        assert_int_equal(eqp_snapshot_get_info(s)->nfiles, nfiles > 1 ? nfiles : 1);
        assert_true(eqp_snapshot_get_info(s)->time == 0.1);
        assert_true(eqp_snapshot_get_info(s)->box_size == 3);
        assert_true(eqp_snapshot_get_info(s)->has_ids);
        assert_false(eqp_snapshot_get_info(s)->cosmological);
        eqp_snapshot_close(s);
        particles_free(&whole);
        files_in_folder(true);
    }
}

TEST(any_number_of_types)
{
    for (int ntypes = 1; ntypes <= EQP_SNAPSHOT_TYPES; ntypes += 5) {
        eqp_snapshot_layout l = eqp_snapshot_layout_defaults();

        l.ntypes = ntypes;
        l.type_n[0] = 2;
        l.type_n[ntypes - 1] = 3;
        FREED_BY(particles_free) particles whole = noisy_particles(&l);
        write_whole(in_folder("a"), &l, &whole);
        check_slices(in_folder("a"), &whole);
        FREED(eqp_snapshot) *s = open_good(in_folder("a"));
        assert_int_equal(eqp_snapshot_get_info(s)->ntypes, ntypes < 6 ? 6 : ntypes);
    }
}

TEST(more_rows_than_a_buffer_holds)
{
    eqp_snapshot_layout l = eqp_snapshot_layout_defaults();

    l.type_n[1] = 40000;
    FREED_BY(particles_free) particles whole = noisy_particles(&l);
    write_whole(in_folder("a"), &l, &whole);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    check_slice(s, 0, whole.n, &whole);
}

TEST(velocities_and_ids_may_be_left_out)
{
    eqp_snapshot_layout l = some_layout();
    FREED_BY(particles_free) particles whole = noisy_particles(&l);
    eqp_snapshot_arrays a = particles_arrays(&whole);

    a.vx = a.vy = a.vz = NULL;
    a.id = NULL;
    eqp_snapshot_writer *writer = begin(in_folder("a"), &l);
    assert_ok(eqp_snapshot_write_slice(writer, N, &a, NULL, NULL));
    assert_ok(eqp_snapshot_write_finish(writer, NULL));
    for (int64_t i = 0; i < N; i++) {
        whole.column[4][i] = whole.column[5][i] = whole.column[6][i] = 0;
        whole.id[i] = i;
    }
    check_slices(in_folder("a"), &whole);
}

TEST(cosmological_files_store_u)
{
    eqp_snapshot_layout l = some_layout();
    FREED_BY(particles_free) particles whole = noisy_particles(&l);
    double stored[15];
    FREED_BY(particles_free) particles back = particles_new(N);
    hsize_t dimension[2];

    l.time = 0.25;
    l.redshift = 3;
    write_whole(in_folder("a"), &l, &whole);
    read_dataset(in_folder("a"), "PartType0/Velocities", H5T_NATIVE_DOUBLE, stored, dimension);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    assert_true(eqp_snapshot_get_info(s)->cosmological);
    read_good(s, 0, &back);
    for (int c = 4; c < 7; c++) {
        assert_true(stored[c - 4] == 2 * whole.column[c][0]);
        assert_memory_equal(back.column[c], whole.column[c], N * sizeof(double));
    }
}

TEST(further_columns_and_numbers_come_back)
{
    static const eqp_column column[] = {
        {"Potential", EQP_KIND_DOUBLE, 1}, {"Acceleration", EQP_KIND_DOUBLE, 3}, {"Tag", EQP_KIND_INT64, 2}};
    static const eqp_attribute given[] = {
        {"dt", EQP_KIND_DOUBLE, 0.1, 0}, {"step", EQP_KIND_INT64, 0, -17}, {"seed", EQP_KIND_UINT64, 0, INT64_MIN + 3}};
    static const uint64_t words[] = {7, UINT64_MAX, UINT64_C(1) << 63};
    eqp_attribute asked = {.name = "step", .kind = EQP_KIND_INT64};
    HEAP uint64_t *found = NULL;
    int64_t nwords = 0;
    eqp_column missing = {"Pressure", EQP_KIND_DOUBLE, 1}, wrong = {"Acceleration", EQP_KIND_DOUBLE, 2};
    eqp_snapshot_layout l = some_layout();
    FREED_BY(particles_free) particles whole = noisy_particles(&l);
    double a[4][N], b[3][N];
    int64_t tag[2][N], back[2][N];

    for (int64_t i = 0; i < N; i++) {
        for (int c = 0; c < 4; c++) {
            a[c][i] = noisy(1000 + 4 * i + c);
        }
        tag[0][i] = -i;
        tag[1][i] = INT64_MAX - i;
    }
    l.ncolumns = 3;
    l.column = column;
    l.nattributes = 3;
    l.attribute = given;
    l.nwords = 3;
    l.words = words;
    eqp_snapshot_writer *writer = begin(in_folder("a"), &l);
    for (int64_t first = 0; first < N; first += 8) {
        int64_t n = first + 8 < N ? 8 : N - first;

        write_part(writer, &whole, first, n,
                   (const void *const[]){a[0] + first, a[1] + first, a[2] + first, a[3] + first, tag[0] + first,
                                         tag[1] + first});
    }
    assert_ok(eqp_snapshot_write_finish(writer, NULL));
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    for (int k = 0; k < 3; k++) {
        eqp_attribute got = {.name = given[k].name, .kind = given[k].kind};

        assert_ok(eqp_snapshot_get_attribute(s, &got, NULL));
        assert_true(got.real == given[k].real);
        assert_int_equal(got.integer, given[k].integer);
    }
    for (int64_t first = 0; first < N; first += 6) {
        int64_t n = first + 6 < N ? 6 : N - first;

        assert_ok(eqp_snapshot_read_column(s, &column[0], first, n, (void *const[]){b[0]}, NULL));
        assert_memory_equal(b[0], a[0] + first, (size_t)n * sizeof(double));
        assert_ok(eqp_snapshot_read_column(s, &column[1], first, n, (void *const[]){b[0], b[1], b[2]}, NULL));
        for (int c = 0; c < 3; c++) {
            assert_memory_equal(b[c], a[1 + c] + first, (size_t)n * sizeof(double));
        }
        assert_ok(eqp_snapshot_read_column(s, &column[2], first, n, (void *const[]){back[0], back[1]}, NULL));
        assert_memory_equal(back[1], tag[1] + first, (size_t)n * sizeof(int64_t));
        assert_memory_equal(back[0], tag[0] + first, (size_t)n * sizeof(int64_t));
    }
    assert_int_equal(eqp_snapshot_read_column(s, &missing, 0, 1, (void *const[]){b[0]}, NULL), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp_snapshot_read_column(s, &wrong, 0, 1, (void *const[]){b[0], b[1]}, NULL), EQP_ERR_FORMAT);
    asked.kind = EQP_KIND_DOUBLE;
    asked.name = "missing";
    asked.real = 5;
    assert_int_equal(eqp_snapshot_get_attribute(s, &asked, NULL), EQP_ERR_UNKNOWN);
    assert_true(asked.real == 5);
    asked.kind = EQP_KIND_INT64;
    asked.name = "dt";
    assert_int_equal(eqp_snapshot_get_attribute(s, &asked, NULL), EQP_ERR_FORMAT);
    assert_ok(eqp_snapshot_get_words(s, &nwords, &found, NULL));
    assert_int_equal(nwords, 3);
    assert_memory_equal(found, words, sizeof words);
}

TEST(the_old_file_survives_until_the_new_one_is_whole)
{
    eqp_snapshot_layout l = some_layout();
    FREED_BY(particles_free) particles whole = noisy_particles(&l);
    eqp_message message = {""};

    /* Given up, or finished without all particles, which is an error and no zeros. */
    save_text(in_folder("a"), old_text);
    for (int finished = 0; finished < 2; finished++) {
        eqp_snapshot_writer *writer = begin(in_folder("a"), &l);
        write_part(writer, &whole, 0, 10, NULL);
        assert_int_equal(files_in_folder(false), 2);
        if (finished) {
            assert_refused(eqp_snapshot_write_finish(writer, &message));
            assert_non_null(strstr(message.text, "fewer particles"));
        } else {
            eqp_snapshot_write_discard(writer);
        }
        check_old(in_folder("a"));
    }
    write_whole(in_folder("a"), &l, &whole);
    check_slices(in_folder("a"), &whole);
    assert_int_equal(files_in_folder(false), 1);
}

TEST(a_target_that_cannot_be_written_leaves_nothing)
{
    eqp_snapshot_layout l = some_layout();
    eqp_message message = {""};

    assert_int_equal(begin_bad(in_folder("missing/a"), &l, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "No such file"));
    assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
    assert_int_equal(begin_bad(in_folder("folder"), &l, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "is a directory"));
    assert_int_equal(files_in_folder(false), 1);
    /* If the second of two files cannot be created, the first is removed. */
    l.nfiles = 2;
    assert_int_equal(mkdir(in_folder("b.1.hdf5"), 0700), 0);
    assert_int_equal(begin_bad(in_folder("b"), &l, &message), EQP_ERR_IO);
    assert_int_equal(files_in_folder(false), 2);
}

TEST(what_does_not_fit_the_layout_is_refused)
{
    static const eqp_column bad[] = {{"a/b", EQP_KIND_DOUBLE, 1},
                                     {"", EQP_KIND_DOUBLE, 1},
                                     {NULL, EQP_KIND_DOUBLE, 1},
                                     {"a", EQP_KIND_DOUBLE, 0},
                                     {"a", EQP_KIND_DOUBLE, EQP_COLUMN_WIDTH + 1},
                                     {"Masses", EQP_KIND_DOUBLE, 1}};
    static const eqp_column twice[] = {{"a", EQP_KIND_DOUBLE, 1}, {"a", EQP_KIND_DOUBLE, 1}};
    eqp_snapshot_layout l = some_layout();
    FREED_BY(particles_free) particles whole = noisy_particles(&l);
    eqp_snapshot_arrays a = particles_arrays(&whole);

    eqp_snapshot_writer *writer = begin(in_folder("a"), &l);
    assert_refused(eqp_snapshot_write_slice(writer, -1, &a, NULL, NULL));
    assert_refused(eqp_snapshot_write_slice(writer, N + 1, &a, NULL, NULL));
    assert_refused(eqp_snapshot_write_slice(writer, INT64_MAX, &a, NULL, NULL));
    a.m = NULL;
    assert_refused(eqp_snapshot_write_slice(writer, 1, &a, NULL, NULL));
    assert_ok(eqp_snapshot_write_slice(writer, 0, &a, NULL, NULL));
    write_part(writer, &whole, 0, 20, NULL);
    assert_refused(eqp_snapshot_write_slice(writer, 4, &(eqp_snapshot_arrays){0}, NULL, NULL));
    eqp_snapshot_write_discard(writer);
    l.ncolumns = 1;
    for (int k = 0; k < 6; k++) {
        l.column = &bad[k];
        assert_refused(begin_bad(in_folder("a"), &l, NULL));
    }
    l.column = twice;
    l.ncolumns = 2;
    assert_refused(begin_bad(in_folder("a"), &l, NULL));
    l = some_layout();
    l.type_n[2] = -1;
    assert_refused(begin_bad(in_folder("a"), &l, NULL));
    l = some_layout();
    l.ntypes = EQP_SNAPSHOT_TYPES + 1;
    assert_refused(begin_bad(in_folder("a"), &l, NULL));
    l = some_layout();
    l.time = (double)NAN;
    assert_refused(begin_bad(in_folder("a"), &l, NULL));
    assert_int_equal(files_in_folder(false), 0);
}

/* Attributes that readers of other projects require. */
TEST(the_header_is_complete)
{
    char names[] = "NumPart_ThisFile NumPart_Total NumPart_Total_HighWord MassTable NumFilesPerSnapshot Time Redshift "
                   "BoxSize Omega0 OmegaLambda HubbleParam Flag_Sfr Flag_Cooling Flag_Feedback Flag_StellarAge "
                   "Flag_Metals Flag_DoublePrecision";
    eqp_snapshot_layout l = some_layout();
    particles whole = noisy_particles(&l);
    hid_t file, header, ids, type;

    write_whole(in_folder("a"), &l, &whole);
    particles_free(&whole);
    file = H5Fopen(in_folder("a"), H5F_ACC_RDONLY, H5P_DEFAULT);
    header = H5Gopen2(file, "Header", H5P_DEFAULT);
    for (const char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        if (H5Aexists(header, name) <= 0) {
            fail_msg("no attribute %s", name);
        }
    }
    ids = H5Dopen2(file, "PartType4/ParticleIDs", H5P_DEFAULT);
    type = H5Dget_type(ids);
    assert_true(H5Tequal(type, H5T_STD_U64LE) > 0);
    assert_int_equal(H5Lexists(file, "PartType2", H5P_DEFAULT), 0);
    H5Tclose(type);
    H5Dclose(ids);
    H5Gclose(header);
    H5Fclose(file);
}

TEST(tables_hold_what_was_written)
{
    static const eqp_column column[] = {{"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3}};
    uint64_t id[N], id_back[N];
    double f[3][N], f_back[N][3];
    hsize_t dimension[2];
    eqp_table_writer *writer;

    for (int64_t i = 0; i < N; i++) {
        id[i] = UINT64_MAX - (uint64_t)i;
        for (int c = 0; c < 3; c++) {
            f[c][i] = noisy(3 * i + c);
        }
    }
    save_text(in_folder("f.hdf5"), "old");
    assert_ok(eqp_table_write_begin(in_folder("f.hdf5"), N, 2, column, &writer, NULL));
    for (int64_t first = 0; first < N; first += 5) {
        int64_t n = first + 5 < N ? 5 : N - first;

        assert_ok(eqp_table_write_rows(
            writer, n, (const void *const[]){id + first, f[0] + first, f[1] + first, f[2] + first}, NULL));
    }
    assert_refused(eqp_table_write_rows(writer, 1, (const void *const[]){id, f[0], f[1], f[2]}, NULL));
    assert_ok(eqp_table_write_rows(writer, 0, (const void *const[]){NULL, NULL, NULL, NULL}, NULL));
    assert_ok(eqp_table_write_finish(writer, NULL));
    assert_int_equal(files_in_folder(false), 1);
    assert_int_equal(read_dataset(in_folder("f.hdf5"), "ids", H5T_NATIVE_UINT64, id_back, dimension), 1);
    assert_memory_equal(id_back, id, sizeof id);
    assert_int_equal(read_dataset(in_folder("f.hdf5"), "forces", H5T_NATIVE_DOUBLE, f_back, dimension), 2);
    assert_true(dimension[0] == N && dimension[1] == 3);
    for (int64_t i = 0; i < N; i++) {
        for (int c = 0; c < 3; c++) {
            assert_true(f_back[i][c] == f[c][i]);
        }
    }
}

TEST(a_table_may_be_empty_or_given_up)
{
    static const eqp_column column[] = {{"ids", EQP_KIND_UINT64, 1}};
    eqp_message message = {""};
    eqp_table_writer *writer;

    assert_ok(eqp_table_write_begin(in_folder("a"), 0, 1, column, &writer, NULL));
    assert_ok(eqp_table_write_finish(writer, NULL));
    assert_int_equal(files_in_folder(false), 1);
    assert_ok(eqp_table_write_begin(in_folder("b"), 5, 1, column, &writer, NULL));
    eqp_table_write_discard(writer);
    assert_ok(eqp_table_write_begin(in_folder("b"), 5, 1, column, &writer, NULL));
    assert_refused(eqp_table_write_finish(writer, &message));
    assert_non_null(strstr(message.text, "b: fewer rows"));
    assert_int_equal(files_in_folder(false), 1);
    assert_refused(eqp_table_write_begin(in_folder("b"), -1, 1, column, &writer, NULL));
    assert_int_equal(eqp_table_write_begin(in_folder("missing/b"), 1, 1, column, &writer, NULL), EQP_ERR_IO);
    assert_int_equal(files_in_folder(false), 1);
}

/* Every reference points to a dataset of the shape in the XML. Returns the number of references. */
static int check_references(const char *text)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, "<DataItem Dimensions=\"")) != NULL; at++, n++) {
        long long rows = 0, width = 1;
        char name[64], inside[128];
        hsize_t dimension[2] = {0, 1};
        const char *body = strchr(at, '>') + 1;

        assert_true(sscanf(at, "<DataItem Dimensions=\"%lld %lld", &rows, &width) >= 1);
        assert_int_equal(sscanf(body, "%63[^:]:%127[^<]", name, inside), 2);
        read_dataset(in_folder(name), inside, -1, NULL, dimension);
        assert_int_equal(dimension[0], rows);
        assert_int_equal(dimension[1], width);
    }
    return n;
}

static void check_balance(const char *text)
{
    int depth = 0;

    for (const char *at = text; (at = strchr(at, '<')) != NULL; at++) {
        const char *end = strchr(at, '>');

        assert_non_null(end);
        depth += at[1] == '/' ? -1 : at[1] == '!' || at[1] == '?' || end[-1] == '/' ? 0 : 1;
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
}

TEST(xdmf_refers_to_what_is_there)
{
    static const eqp_column column[] = {{"Potential", EQP_KIND_DOUBLE, 1}};
    eqp_snapshot_layout l = some_layout(), several = some_layout();
    const eqp_snapshot_frame frame[] = {{in_folder("a.hdf5"), &l}, {in_folder("b"), &several}};

    l.ncolumns = 1;
    l.column = column;
    several.nfiles = 2;
    several.time = 0.7;
    for (int k = 0; k < 2; k++) {
        eqp_snapshot_writer *writer = begin(frame[k].path, frame[k].layout);
        FREED_BY(particles_free) particles whole = noisy_particles(frame[k].layout);

        write_part(writer, &whole, 0, N, (const void *const[]){whole.column[1]});
        assert_ok(eqp_snapshot_write_finish(writer, NULL));
    }
    assert_ok(eqp_snapshot_write_xdmf(in_folder("all.xmf"), 2, frame, NULL));
    HEAP char *text = contents_of(in_folder("all.xmf"), NULL);
    /* 3 types with x, v, m, id and one more; then twice 3 types in two files. */
    assert_int_equal(check_references(text), 3 * 5 + 2 * 3 * 4);
    check_balance(text);
    assert_non_null(strstr(text, "<Time Value=\"0.69999999999999996\"/>"));
    assert_non_null(strstr(text, ">b.1.hdf5:/PartType4/Coordinates<"));
    assert_int_equal(files_in_folder(false), 4);
}

TEST(xdmf_escapes_names_and_keeps_the_old_file)
{
    eqp_snapshot_layout l = some_layout();
    eqp_snapshot_frame frame = {in_folder("a<&>.hdf5"), &l};
    eqp_message message = {""};

    assert_ok(eqp_snapshot_write_xdmf(in_folder("a.xmf"), 1, &frame, NULL));
    char *text = contents_of(in_folder("a.xmf"), NULL);
    assert_non_null(strstr(text, ">a&lt;&amp;&gt;.hdf5:/PartType0/"));
    check_balance(text);
    free(text);
    frame.path = "elsewhere/a.hdf5";
    assert_refused(eqp_snapshot_write_xdmf(in_folder("a.xmf"), 1, &frame, &message));
    assert_non_null(strstr(message.text, "folder"));
    assert_refused(eqp_snapshot_write_xdmf(in_folder("a.xmf"), 0, &frame, NULL));
    assert_int_equal(files_in_folder(false), 1);
}
