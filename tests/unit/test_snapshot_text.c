/* SPDX-License-Identifier: BSD-3-Clause */
/* Text in both layouts, with comments, blank lines and further columns; with named columns or positions only; files of
 * LAMMPS and XYZ; and the messages for unreadable ones. */
#include "snapshot_files.h"

enum { TYPES = 6 };

static const double no_mass[TYPES];

static void put_text(bytes *b, const char *text)
{
    put_bytes(b, text, strlen(text));
}

static void put_particle(bytes *b, int64_t i, bool with_id)
{
    char line[512];

    if (with_id) {
        snprintf(line, sizeof line, "%06lld ", (long long)model_id(i, false));
        put_text(b, line);
    }
    for (int c = 0; c < 7; c++) {
        snprintf(line, sizeof line, "%s%.16E", c ? "  " : "", model(c, i));
        put_text(b, line);
    }
}

static bytes file_of(int64_t n, bool with_id)
{
    char head[64];
    bytes b = {0};

    if (with_id) {
        snprintf(head, sizeof head, "0000 \n%06lld \n0.25 \n", (long long)n);
        put_text(&b, head);
    }
    for (int64_t i = 0; i < n; i++) {
        put_particle(&b, i, with_id);
        put_text(&b, " \n");
    }
    return b;
}

TEST(both_layouts_give_the_same_particles)
{
    for (int with_id = 0; with_id < 2; with_id++) {
        const int64_t counts[TYPES] = {0, 12};
        FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, with_id, false);
        bytes file = file_of(12, with_id);

        save(in_folder("a"), &file);
        check_slices(in_folder("a"), &whole);
        FREED(eqp_snapshot) *s = open_good(in_folder("a"));
        assert_int_equal(eqp_snapshot_get_info(s)->has_ids, with_id);
        assert_true(eqp_snapshot_get_info(s)->time == (with_id ? 0.25 : 0));
        assert_string_equal(eqp_snapshot_get_info(s)->format, with_id ? "text with ids" : "text");
        if (with_id) { /* the header counts, so any truncation is found */
            check_format(&whole, 1, false);
        }
        free(file.p);
    }
}

TEST(comments_blanks_and_further_columns_are_passed_over)
{
    static const char *const between[] = {
        "\n", "\n\n  \t\n", "  # comment\n", " 8 nine \"10\"\n#\n", "\r\n", "\n   # 1 2 3 4 5 6 7 8\n", "# 8\n"};
    const int64_t counts[TYPES] = {0, 14};
    FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, 0, false);
    bytes b = {0};

    put_text(&b, "# m x y z vx vy vz, \xc3\xa4\n\n");
    for (int64_t i = 0; i < 14; i++) {
        if (i % 3 == 0) {
            put_text(&b, "\t ");
        }
        put_particle(&b, i, false);
        put_text(&b, between[i % 7]);
    }
    save(in_folder("a"), &b);
    check_slices(in_folder("a"), &whole);
    free(b.p);
}

TEST(numbers_may_have_any_usual_form)
{
    static const double want[] = {1, 0.5, -2500, 0.125, 3, 0, 1e300};
    FREED_BY(particles_free) particles p = particles_new(1);

    save_text(in_folder("a"), "+1 .5 -2.5D+03 1.25d-1 3. -0 1e300");
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    read_good(s, 0, &p);
    for (int c = 0; c < 7; c++) {
        assert_true(p.column[c][0] == want[c]);
    }
}

TEST(slices_of_many_lines_start_where_they_should)
{
    static const int64_t cut[] = {0, 1, 1023, 1024, 1025, 2048, 3000, 4100, 5000};
    const int64_t counts[TYPES] = {0, 5000};
    FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, 1, false);
    bytes file = file_of(5000, true);

    save(in_folder("a"), &file);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    for (int k = 7; k >= 0; k--) {
        check_slice(s, cut[k], cut[k + 1] - cut[k], &whole);
    }
    free(file.p);
}

/* Without a count, truncation is detected within a line only, and not within its last number. */
TEST(truncation_within_a_line_is_refused)
{
    bytes file = {0};
    int refused = 0;

    put_text(&file, "1 2 3 4 5 6 77\n1 2 3 4 5 6 77\n");
    for (size_t n = 0; n < file.n; n++) {
        eqp_message message = {""};
        bool whole_lines = n == 14 || n == 15 || n == 29, last_number = n == 13 || n == 28;

        save_part(in_folder("a"), file.p, n);
        int rc = open_and_read(in_folder("a"), &message);
        if (rc != (whole_lines || last_number ? EQP_OK : EQP_ERR_FORMAT)) {
            fail_msg("%d bytes: %d '%s'", (int)n, rc, message.text);
        }
        refused += rc != EQP_OK;
    }
    assert_int_equal(refused, (int)file.n - 5);
    free(file.p);
}

static void put_long_line(bytes *b, int columns, const char *end)
{
    for (int i = 0; i < columns; i++) {
        put_text(b, "1 ");
    }
    put_text(b, end);
}

TEST(lines_without_end_are_refused)
{
    bytes b = {0};

    put_long_line(&b, 100000, "");
    save(in_folder("a"), &b);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "longer than");
    /* Longest lines that fit, across the borders of buffers. */
    b.n = 0;
    for (int i = 0; i < 11; i++) {
        put_long_line(&b, 32500, "\n");
    }
    save(in_folder("a"), &b);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    assert_int_equal(eqp_snapshot_get_info(s)->n, 11);
    free(b.p);
}

TEST(a_zero_byte_behind_the_start_is_refused)
{
    bytes file = file_of(200, false);

    assert_true(file.n > 5000);
    file.p[5000] = '\0';
    save(in_folder("a"), &file);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "zero byte");
    free(file.p);
}

TEST(a_file_that_shrinks_after_opening_is_an_error)
{
    bytes file = file_of(2000, false);
    eqp_snapshot_arrays none = {0};

    save(in_folder("a"), &file);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    save_part(in_folder("a"), file.p, file.n / 2);
    assert_int_equal(eqp_snapshot_read(s, 0, 2000, &none, NULL), EQP_ERR_FORMAT);
    assert_true(eqp_snapshot_read(s, 1999, 1, &none, NULL) < 0);
    unlink(in_folder("a"));
    assert_int_equal(eqp_snapshot_read(s, 0, 1, &none, NULL), EQP_ERR_IO);
    free(file.p);
}

enum { MASSES = 1, VELOCITIES = 2, IDS = 4, ALL = 7 };

/* The last particle of two: x 1, y 2, z 3; velocities 4, 5, 6; mass 7; id 8. */
typedef struct table {
    const char *text, *format;
    int has;
    const char *note; /* NULL: none */
} table;

#define DUMP_HEAD(bounds) "ITEM: TIMESTEP\n100\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS" bounds
#define BOX " pp pp pp\n-1 3\n0 4\n1 5\n"
#define DATA_HEAD                                                                                                      \
    "LAMMPS data file, 2 atoms as such\n\n2 atoms\n2 atom types\n1 bonds\n\n0 4 xlo xhi\n0 4 ylo yhi\n0 4 zlo zhi\n\n"
#define DATA_MASSES "Masses\n\n1 1.5 # H\n2 7 # O\n\n"

static const table tables[] = {
    {"m,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n7,1,2,3,4,5,6\n", "text with named columns", MASSES | VELOCITIES, NULL},
    {"\xef\xbb\xbfid;x;y;z;mass\r\n5;0;0;0;1\r\n8;1;2;3;7\r\n", "text with named columns", MASSES | IDS, NULL},
    {"Z [kpc]\tY [kpc]\tX [kpc]\tname\n0\t0\t0\ta b\n3\t2\t1\t\n", "text with named columns", 0, NULL},
    {"\"Points:0\",\"Points:1\",\"Points:2\",\"Velocity:0\",\"Velocity:1\",\"Velocity:2\",\"Mass\"\n"
     "0,0,0,0,0,0,1\n1,2,3,4,5,6,7\n",
     "text with named columns", MASSES | VELOCITIES, NULL},
    {"particle_index, particle_position_x, particle_position_y, particle_position_z, particle_mass\n"
     "1.0, 0, 0, 0, 1\n8.0, 1e0, 2.0, \"3\", 7\n",
     "text with named columns", MASSES | IDS, NULL},
    {"id x y z flag\nfirst 0 0 0 a\nsecond 1 2 3 b\n", "text with named columns", 0, NULL},
    {"x_kpc,y_kpc,z_kpc,vel_x (km/s),vy_kms,vz km/s,mass_Msun\n0,0,0,0,0,0,1\n1,2,3,4,5,6,7\n",
     "text with named columns", MASSES | VELOCITIES, NULL},
    {"sep=;\n% x [kpc] y [kpc] z [kpc]\n0 0 0\n1 2 3\n", "text with named columns", 0, NULL},
    {"2\n0.5\n1 0 0 0 0 0 0\n7 1 2 3 4 5 6\n2\n1\n9 9 9 9 9 9 9\n9 9 9 9 9 9 9\n", "text", MASSES | VELOCITIES,
     "several frames"},
    {"# x y z m\n0 0 0 1\n1 2 3 7\n", "text with named columns", MASSES, NULL},
    {"# made by hand\n# id,x,y,z\n1,0,0,0\n8,1,2,3\n", "text with named columns", IDS, NULL},
    {"#ID Mvir Np X Y Z VX VY VZ\n#a = 1.000000\n1 9 9 0 0 0 0 0 0\n8 9 9 1 2 3 4 5 6\n", "text with named columns",
     VELOCITIES | IDS, NULL},
    {"# as it comes\n0 0 0\n1 2 3\n", "text x y z", 0, NULL},
    {"0, 0, 0\n1, 2, 3\n", "text x y z", 0, NULL},
    {"1,0,0,0,0,0,0\n7,1,2,3,4,5,6\n", "text", MASSES | VELOCITIES, NULL},
    {"2\nwater, perhaps\nO 0 0 0\nH 1 2 3 -0.5\n", "XYZ", 0, NULL},
    {"2\n\n0 0 0\n1 2 3", "XYZ", 0, NULL},
    {"2\nfirst\nO 0 0 0\nH 1 2 3\n2\nsecond\nO 9 9 9\nH 9 9 9\n", "XYZ", 0, "several frames"},
    {"2\nLattice=\"4 0 0 0 4 0 0 0 4\" Properties=species:S:1:id:I:1:mass:R:1:pos:R:3:velo:R:3 pbc=\"T T T\"\n"
     "O 1 1 0 0 0 0 0 0\nH 8 7 1 2 3 4 5 6\n",
     "XYZ", ALL, NULL},
    {DUMP_HEAD(BOX) "ITEM: ATOMS id type x y z vx vy vz mass\n9 1 0 0 0 0 0 0 1\n8 2 1 2 3 4 5 6 7\n", "LAMMPS dump",
     ALL, NULL},
    {DUMP_HEAD(BOX) "ITEM: ATOMS id type xs ys zs\n9 1 0 0 0\n8 2 0.5 0.5 0.5\n", "LAMMPS dump", IDS, NULL},
    {"ITEM: NUMBER OF ATOMS\r\n2\r\nITEM: ATOMS x y z\r\n0 0 0\r\n1 2 3\r\n", "LAMMPS dump", 0, NULL},
    {DUMP_HEAD(BOX) "ITEM: ATOMS\n9 1 0 0 0\n8 2 0.5 0.5 0.5\n", "LAMMPS dump", IDS, NULL},
    {DUMP_HEAD(BOX) "ITEM: ATOMS zu yu element xu\n0 0 C 0\n3 2 O 1 \n", "LAMMPS dump", 0, NULL},
    {"ITEM: UNITS\nlj\nITEM: TIME\n0.5\n" DUMP_HEAD(BOX) "ITEM: ATOMS id x y z\n9 0 0 0\n8 1 2 3\n" DUMP_HEAD(
         BOX) "ITEM: ATOMS id x y z\n9 9 9 9\n8 9 9 9\n",
     "LAMMPS dump", IDS, "several frames"},
    /* Edges (4, 0, 0), (2, 4, 0) and (0, 0, 4) from (-2, 0, 1) on; the bounds are those of the corners. */
    {DUMP_HEAD(" xy xz yz pp pp pp\n-2 4 2\n0 4 0\n1 5 0\n") "ITEM: ATOMS id xs ys zs\n9 0 0 0\n8 0.5 0.5 0.5\n",
     "LAMMPS dump", IDS, NULL},
    {DUMP_HEAD(
         " abc origin pp pp pp\n4 0 0 -2\n2 4 0 0\n0 0 4 1\n") "ITEM: ATOMS id xsu ysu zsu\n9 0 0 0\n8 0.5 0.5 0.5\n",
     "LAMMPS dump", IDS, NULL},
    {DATA_HEAD DATA_MASSES "Atoms # atomic\n\n1 1 0 0 0\n8 2 1 2 3\n\nVelocities\n\n8 4 5 6\n1 0 0 0\n", "LAMMPS data",
     MASSES | IDS, "velocities"},
    {DATA_HEAD DATA_MASSES "Atoms # full\n\n1 1 1 -0.8 0 0 0 0 0 0\n8 1 2 0.4 1 2 3 0 0 0\n\nBonds\n\n1 1 1 8\n",
     "LAMMPS data", MASSES | IDS, NULL},
    {DATA_HEAD DATA_MASSES "Atoms  # molecular\n\n1 5 1 0 0 0\n8 5 2 1 2 3 # O\n", "LAMMPS data", MASSES | IDS, NULL},
    {DATA_HEAD DATA_MASSES "Atoms\n\n1 1 0.5 0 0 0\n8 2 0.5 1 2 3\n", "LAMMPS data", MASSES | IDS, NULL},
    {DATA_HEAD DATA_MASSES "Atoms\n\n1 5 1 0.5 0 0 0 0 0 0\n8 5 2 -0.5 1 2 3 0 0 0\n", "LAMMPS data", MASSES | IDS,
     NULL},
    {DATA_HEAD DATA_MASSES "Atoms\n\n1 1 0 0 0 0\n8 2 1 1 2 3\n", "LAMMPS data", IDS, NULL},
    {DATA_HEAD "Atoms # sphere\n\n1 1 1 1 0 0 0\n8 2 1 1 1 2 3\n\n" DATA_MASSES, "LAMMPS data", MASSES | IDS, NULL},
    {DATA_HEAD "Atoms # charge\n\n1 H 0 0 0 0\n8 O 0 1 2 3\n", "LAMMPS data", IDS, NULL},
};

static void check_table(const char *path, const table *t)
{
    static const double want[] = {7, 1, 2, 3, 4, 5, 6};
    FREED_BY(particles_free) particles p = particles_new(2);
    FREED(eqp_snapshot) *s = open_good(path);
    const eqp_snapshot_info *info = eqp_snapshot_get_info(s);

    if (info->n != 2 || strcmp(info->format, t->format) != 0 ||
        (info->has_masses ? MASSES : 0) + (info->has_velocities ? VELOCITIES : 0) + (info->has_ids ? IDS : 0) !=
            t->has ||
        (t->note ? !strstr(info->note.text, t->note) : info->note.text[0] != '\0')) {
        fail_msg("'%s': %d particles, '%s', '%s'", t->text, (int)info->n, info->format, info->note.text);
    }
    read_good(s, 0, &p);
    for (int c = 0; c < 7; c++) {
        const double right = c == 0                ? t->has & MASSES ? want[0] : 0.5
                             : c < 4               ? want[c]
                             : t->has & VELOCITIES ? want[c]
                                                   : 0;

        if (p.column[c][1] != right) {
            fail_msg("'%s': column %d is %g instead of %g", t->text, c, p.column[c][1], right);
        }
    }
    assert_int_equal(p.id[1], t->has & IDS ? 8 : 1);
}

TEST(tables_are_read_by_their_names)
{
    for (int k = 0; k < COUNT_OF(tables); k++) {
        save_text(in_folder("a"), tables[k].text);
        check_table(in_folder("a"), &tables[k]);
    }
}

/* Compressed files give the same particles; truncated ones are refused. */
TEST(packed_tables_are_read)
{
    for (int k = 0; k < COUNT_OF(tables); k += 7) {
        save_packed_text(in_folder("a"), tables[k].text);
        check_table(in_folder("a"), &tables[k]);
        refuse_truncations(in_folder("a"), 5);
    }
    save_packed_text(in_folder("a"), "");
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "is empty");
}

TEST(slices_of_packed_text_are_those_of_the_whole)
{
    enum { N = 3000 };
    FREED_BY(particles_free) particles p = particles_new(10);
    char *text = malloc(N * 64), *at = text;

    assert_non_null(text);
    at += sprintf(at, "z y x\n");
    for (int i = 0; i < N; i++) {
        at += sprintf(at, "%d %d %d\n", 3 * i, 2 * i, i);
    }
    save_packed(in_folder("a"), text, (size_t)(at - text));
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    assert_int_equal(eqp_snapshot_get_info(s)->n, N);
    for (int64_t first = N - 10; first >= 0; first -= 598) {
        read_good(s, first, &p);
        for (int64_t i = 0; i < 10; i++) {
            assert_true(p.column[1][i] == (double)(first + i) && p.column[3][i] == 3 * (double)(first + i));
        }
    }
    free(text);
}

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *text, *what;
    } bad[] = {
        {"# only\n\n# comments\n", "no particles"},
        {"\n", "no particles"},
        {"Lorem ipsum dolor sit amet\n", "line 1"},
        {"1 2 3 4 5 6\n", "line 1"},
        {"1 2 3 4 5 6 7\n# c\n1 2 3 4 x 6 7\n", "line 3: column 5 is not a number"},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 6\n1 2 3 4 5 6 7\n", "line 2: column 7 is not a number"},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 6 7x\n", "line 2: column 7 is not a number"},
        {"1 2 3 4 5 6 7\n1 2 3,4 5 6 7 8\n", "line 2: column 3 is not a number"},
        {"1 2 3 4 5 6 7\n1 2 3 nan 5 6 7\n", "particle 1: z is not a number"},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 -inf 7\n", "particle 1: vy is infinite"},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 6 1e999\n", "particle 1: vz is infinite"},
        {"1 2 3 4 5 6 7\n-1 2 3 4 5 6 7\n", "particle 1: mass is negative"},
        {"0\n", "truncated"},
        {"0\n1\n", "truncated"},
        {"0\n1\n0.0\n", "no particles"},
        {"0\n1\nzero\n", "line 3"},
        {"zero\n1\n0\n0 1 2 3 4 5 6 7\n", "line 1"},
        {"0\n0\n0\n0 1 2 3 4 5 6 7\n", "no particles"},
        {"0\n-1\n0\n0 1 2 3 4 5 6 7\n", "no particles"},
        {"0\n2\n0\n0 1 2 3 4 5 6 7\n", "2 particles"},
        {"0\n1\n0\n0 1 2 3 4 5 6 7\n1 1 2 3 4 5 6 7\n", "1 particles"},
        {"0\n9223372036854775807\n0\n0 1 2 3 4 5 6 7\n", "9223372036854775807 particles"},
        {"0\n9999999999999999999\n0\n0 1 2 3 4 5 6 7\n", "line 2"},
        {"0\n1\nnan\n0 1 2 3 4 5 6 7\n", "time is not finite"},
        {"0\n1\n0\n0.5 1 2 3 4 5 6 7\n", "line 4"},
        {"x;y;z\n1,5;2,5;3,5\n", "line 2: column 1 is not a number: write a decimal point"},
        {"x,y,z,x\n1,2,3,4\n", "line 1: column 4 has the name of an earlier column"},
        {"1 2 3\r4 5 6\r", "line 1: ends with CR alone"},
        {"0\n2\n0\n0 1 2 3 4 5 6 7\n0.5 1 2 3 4 5 6 7\n", "line 5: column 1 is not an integer"},
        {"a,b,c\n1,2,3\n", "line 1: is not 'm x y z vx vy vz', and names no columns x, y, z"},
        {"x,y,m\n1,2,3\n", "line 1"},
        {"x,y,z\n", "holds no particles"},
        {"x,y,z\n1,2,\n", "line 2: column 3 is not a number"},
        {"x,y,z\n1,2,3\n1,,3\n", "line 3: column 2 is not a number"},
        {"x,y,z\n1,2,3\n1,2\n", "line 3: column 3 is not a number"},
        {"1 2 3 4\n", "line 1: has 4 columns"},
        {"1 2 3\n1 2 3 4 5 6 7\n", "line 2: has another number of columns"},
        {"1 2 3\n1 2", "line 2: has fewer columns"},
        {"3\nc\nH 0 0 0\nH 1 1 1\n", "header says 3 particles"},
        {"1\nc\nH 0 0 0\nH 1 1 1\n", "line 4: more lines than the number of atoms"},
        {"99999999999999999999\nc\nH 0 0 0\n", "line 3: is not a number of atoms"},
        {"999999999999\nc\nH 0 0 0\n", "more atoms than the file has room for"},
        {"2\nc\nH 0 0 0\n\n", "line 4: column 1 is not a number"},
        {DUMP_HEAD(BOX), "line 8: ends within the header"},
        {DUMP_HEAD(BOX) "ITEM: ATOMS id q\n1 2\n3 4\n", "line 9: names no positions"},
        {DUMP_HEAD(BOX) "ITEM: ATOMS x y z\n1 2 3\n", "header says 2 particles"},
        {DUMP_HEAD(BOX) "ITEM: ATOMS x y z\n1 2 3\n3 4", "ends without a newline"},
        {DUMP_HEAD(BOX) "ITEM: ATOMS x y z\n1 2 3\n3 4 5\n6 7 8\n", "more lines than the number of atoms"},
        {DUMP_HEAD(" pp pp pp\n0 x\n") "ITEM: ATOMS x y z\n", "line 6: is not a bound"},
        {"ITEM: ATOMS x y z\n1 2 3\n", "comes before the number of atoms"},
        {"ITEM: NUMBER OF ATOMS\n0\nITEM: ATOMS x y z\n", "holds no particles"},
        {"t\n\n5 atoms\n1 atom types\n\nMasses\n\n1 1\n", "without a section Atoms"},
        {"t\n\n5 atoms\n\nAtoms # full\n\n1 1 1 0 1 1 1\n", "header says 5 particles"},
        {"t\n\n5 atoms\n2 atom types\n\nMasses\n\n1 1\n", "ends within the masses"},
        {"t\n\n5 atoms\n99999999 atom types\n\nMasses\n\n1 1\n", "more than 65536"},
        {"t\n\n1 atoms\n1 atom types\n\nMasses\n\n1 1\n\nAtoms # atomic\n\n1 2 1 1 1\n", "is of a type without a mass"},
        {"t\n\n1 atoms\n\nAtoms # unheard\n\n1 2 1\n", "no known atom style"},
        {"t\n\n1 atoms\n\nAtoms # atomic\n\n1 1 1 x 1\n", "column 4 is not a number"},
    };
    static const struct {
        const char *sign;
        size_t bytes;
        const char *what;
    } strangers[] = {{"\xfd"
                      "7zXZ\0\0\4",
                      8, "xz -dk"},
                     {"BZh91AY", 7, "bunzip2"},
                     {"\x28\xb5\x2f\xfd\0", 5, "zstd -d"},
                     {"\x04\x22\x4d\x18\x64", 5, "lz4 -d"},
                     {"PK\3\4\0", 5, "unzip"},
                     {"\x93NUMPY\1\0", 8, "NumPy"},
                     {"version https://git-lfs.github.com/spec/v1\n", 43, "Git LFS"},
                     {"\xff\xfe"
                      "1\0",
                      4, "UTF-16"}};

    for (int k = 0; k < COUNT_OF(bad); k++) {
        save_text(in_folder("a"), bad[k].text);
        refuse_read(in_folder("a"), strncmp(bad[k].what, "particle ", 9) == 0 ? EQP_ERR_DATA : EQP_ERR_FORMAT,
                    bad[k].what);
    }
    for (int k = 0; k < COUNT_OF(strangers); k++) {
        save_part(in_folder("a"), (const unsigned char *)strangers[k].sign, strangers[k].bytes);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, strangers[k].what);
    }
}
