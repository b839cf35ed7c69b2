/* SPDX-License-Identifier: BSD-3-Clause */
/* Text with named columns or positions only, files of LAMMPS and XYZ, compressed files; and the messages for unreadable
 * ones. */
#include "snapshot_files.h"

enum { MASSES = 1, VELOCITIES = 2, IDS = 4, ALL = 7 };

/* The last particle of two: x 1, y 2, z 3; velocities 4, 5, 6; mass 7; id 8. */
typedef struct table {
    const char *text, *format;
    int has;
    const char *note; /* NULL: none */
} table;

#define PLAIN "m,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n7,1,2,3,4,5,6\n"
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
        eqp_message message = {""};

        save_text(in_folder("a"), bad[k].text);
        int rc = open_and_read(in_folder("a"), &message);
        if (rc != EQP_ERR_FORMAT || !strstr(message.text, bad[k].what)) {
            fail_msg("'%s': %d '%s' instead of '%s'", bad[k].text, rc, message.text, bad[k].what);
        }
    }
    for (int k = 0; k < COUNT_OF(strangers); k++) {
        save_part(in_folder("a"), (const unsigned char *)strangers[k].sign, strangers[k].bytes);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, strangers[k].what);
    }
}
