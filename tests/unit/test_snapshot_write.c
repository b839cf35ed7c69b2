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

    if (eqp_snapshot_write_slice(writer, n, &a, data, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
}

/* In slices of different lengths. */
static void write_whole(const char *path, const eqp_snapshot_layout *layout, const particles *whole,
                        const void *const *data)
{
    static const int64_t cut[] = {0, 0, 3, 5, 6, 20};
    eqp_snapshot_writer *writer = begin(path, layout);

    for (int k = 0; k < 6; k++) {
        const int64_t end = k < 5 && cut[k + 1] < whole->n ? cut[k + 1] : whole->n;
        const int64_t first = cut[k] < whole->n ? cut[k] : whole->n;
        const void *part[6];
        for (int c = 0; c < 6 && data && data[c]; c++) {
            part[c] = (const char *)data[c] + 8 * first;
        }
        write_part(writer, whole, first, end - first, data ? part : NULL);
    }
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

/* In one file or several, in any number of types, in more rows than a buffer holds. */
TEST(what_is_written_is_read_to_the_bit)
{
    static const struct {
        int nfiles, ntypes;
        int64_t n[EQP_SNAPSHOT_TYPES];
    } cases[] = {{0, 6, {5, 11, 0, 0, 7}}, {4, 6, {5, 11, 0, 0, 7}}, {8, 6, {5, 11, 0, 0, 7}}, {0, 1, {3}},
                 {0, 11, {2, [10] = 3}},   {0, 16, {2, [15] = 3}},   {0, 6, {0, 40000}}};

    for (int k = 0; k < COUNT_OF(cases); k++) {
        const int nfiles = cases[k].nfiles > 1 ? cases[k].nfiles : 1;
        const char *path = in_folder(nfiles > 1 ? "out" : "out.hdf5");
        eqp_snapshot_layout l = some_layout();

        l.nfiles = cases[k].nfiles;
        l.ntypes = cases[k].ntypes;
        memcpy(l.type_n, cases[k].n, sizeof l.type_n);
        FREED_BY(particles_free) particles whole = noisy_particles(&l);
        write_whole(path, &l, &whole, NULL);
        assert_int_equal(files_in_folder(false), nfiles);
        FREED(eqp_snapshot) *s = open_good(path);
        const eqp_snapshot_info *info = eqp_snapshot_get_info(s);
        assert_int_equal(info->nfiles, nfiles);
        assert_int_equal(info->ntypes, l.ntypes < 6 ? 6 : l.ntypes);
        assert_true(info->time == 0.1 && info->box_size == 3 && info->has_ids && !info->cosmological);
        check_slice(s, 0, whole.n, &whole);
        if (whole.n < 100) {
            check_slices(path, &whole);
        }
        files_in_folder(true);
    }
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
    write_whole(in_folder("a"), &l, &whole, NULL);
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
    const eqp_column missing = {"Pressure", EQP_KIND_DOUBLE, 1}, wrong = {"Acceleration", EQP_KIND_DOUBLE, 2};
    HEAP uint64_t *found = NULL;
    int64_t nwords = 0, stored[6][N], back[3][N];
    void *const to[] = {back[0], back[1], back[2]};
    const void *data[6];
    eqp_snapshot_layout l = some_layout();
    FREED_BY(particles_free) particles whole = noisy_particles(&l);

    for (int c = 0; c < 6; c++) {
        data[c] = stored[c];
        for (int64_t i = 0; i < N; i++) {
            const double x = noisy(1000 + 4 * i + c);
            stored[c][i] = c == 5 ? INT64_MAX - i : -i;
            memcpy(&stored[c][i], &x, c < 4 ? sizeof x : 0);
        }
    }
    l.ncolumns = l.nattributes = 3;
    l.column = column;
    l.attribute = given;
    l.nwords = 3;
    l.words = words;
    write_whole(in_folder("a"), &l, &whole, data);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    for (int k = 0; k < 3; k++) {
        eqp_attribute got = {.name = given[k].name, .kind = given[k].kind};

        assert_ok(eqp_snapshot_get_attribute(s, &got, NULL));
        assert_true(got.real == given[k].real && got.integer == given[k].integer);
    }
    for (int64_t first = 0; first < N; first += 6) {
        const int64_t n = first + 6 < N ? 6 : N - first;

        for (int k = 0, at = 0; k < 3; at += column[k++].width) {
            assert_ok(eqp_snapshot_read_column(s, &column[k], first, n, to, NULL));
            for (int c = 0; c < column[k].width; c++) {
                assert_memory_equal(back[c], stored[at + c] + first, (size_t)n * 8);
            }
        }
    }
    assert_int_equal(eqp_snapshot_read_column(s, &missing, 0, 1, to, NULL), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp_snapshot_read_column(s, &wrong, 0, 1, to, NULL), EQP_ERR_FORMAT);
    eqp_attribute asked = {.name = "missing", .kind = EQP_KIND_DOUBLE, .real = 5};
    assert_int_equal(eqp_snapshot_get_attribute(s, &asked, NULL), EQP_ERR_UNKNOWN);
    assert_true(asked.real == 5);
    asked = (eqp_attribute){.name = "dt", .kind = EQP_KIND_INT64};
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
    write_whole(in_folder("a"), &l, &whole, NULL);
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
    static const eqp_column bad[][2] = {{{"a/b", EQP_KIND_DOUBLE, 1}},
                                        {{"", EQP_KIND_DOUBLE, 1}},
                                        {{NULL, EQP_KIND_DOUBLE, 1}},
                                        {{"a", EQP_KIND_DOUBLE, 0}},
                                        {{"a", EQP_KIND_DOUBLE, EQP_COLUMN_WIDTH + 1}},
                                        {{"Masses", EQP_KIND_DOUBLE, 1}},
                                        {{"a", EQP_KIND_DOUBLE, 1}, {"a", EQP_KIND_DOUBLE, 1}}};
    const int nbad = COUNT_OF(bad);
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
    for (int k = 0; k < nbad + 3; k++) {
        l = some_layout();
        l.ncolumns = k < nbad ? 1 + (k == nbad - 1) : 0;
        l.column = k < nbad ? bad[k] : NULL;
        l.type_n[2] = k == nbad ? -1 : 0;
        l.ntypes = k == nbad + 1 ? EQP_SNAPSHOT_TYPES + 1 : 6;
        l.time = k == nbad + 2 ? (double)NAN : 0;
        assert_refused(begin_bad(in_folder("a"), &l, NULL));
    }
    assert_int_equal(files_in_folder(false), 0);
}

/* Attributes that readers of other projects require. */
TEST(the_header_is_complete)
{
    char names[] = "NumPart_ThisFile NumPart_Total NumPart_Total_HighWord MassTable NumFilesPerSnapshot Time Redshift "
                   "BoxSize Omega0 OmegaLambda HubbleParam Flag_Sfr Flag_Cooling Flag_Feedback Flag_StellarAge "
                   "Flag_Metals Flag_DoublePrecision";
    eqp_snapshot_layout l = some_layout();
    FREED_BY(particles_free) particles whole = noisy_particles(&l);

    write_whole(in_folder("a"), &l, &whole, NULL);
    const hid_t file = H5Fopen(in_folder("a"), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (const char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        if (H5Aexists_by_name(file, "Header", name, H5P_DEFAULT) <= 0) {
            fail_msg("no attribute %s", name);
        }
    }
    const hid_t ids = H5Dopen2(file, "PartType4/ParticleIDs", H5P_DEFAULT), type = H5Dget_type(ids);
    assert_true(H5Tequal(type, H5T_STD_U64LE) > 0);
    assert_int_equal(H5Lexists(file, "PartType2", H5P_DEFAULT), 0);
    H5Tclose(type);
    H5Dclose(ids);
    H5Fclose(file);
}

TEST(tables_hold_what_was_written)
{
    static const eqp_column column[] = {{"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3}};
    const char *path = in_folder("f.hdf5");
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
    save_text(path, "old");
    assert_ok(eqp_table_write_begin(path, N, 2, column, &writer, NULL));
    for (int64_t first = 0; first <= N; first += 5) {
        const void *const part[] = {id + first, f[0] + first, f[1] + first, f[2] + first};

        assert_ok(eqp_table_write_rows(writer, first + 5 < N ? 5 : N - first, part, NULL));
    }
    assert_refused(eqp_table_write_rows(writer, 1, (const void *const[]){id, f[0], f[1], f[2]}, NULL));
    assert_ok(eqp_table_write_rows(writer, 0, (const void *const[]){NULL, NULL, NULL, NULL}, NULL));
    assert_ok(eqp_table_write_finish(writer, NULL));
    assert_int_equal(files_in_folder(false), 1);
    assert_int_equal(read_dataset(path, "ids", H5T_NATIVE_UINT64, id_back, dimension), 1);
    assert_memory_equal(id_back, id, sizeof id);
    assert_int_equal(read_dataset(path, "forces", H5T_NATIVE_DOUBLE, f_back, dimension), 2);
    assert_true(dimension[0] == N && dimension[1] == 3);
    for (int64_t i = 0; i < 3 * N; i++) {
        assert_true(f_back[i / 3][i % 3] == f[i % 3][i / 3]);
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
        FREED_BY(particles_free) particles whole = noisy_particles(frame[k].layout);

        write_whole(frame[k].path, frame[k].layout, &whole, (const void *const[]){whole.column[1], NULL});
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
