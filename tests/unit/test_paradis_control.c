/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of dislocation runs: defaults, what follows from what, ranges, and files that come back as they were. */
#include "paradis_files.h"

static const char usual[] =
    "#  a run\n\ndirname   = \"here # there\"\nnumXcells = 4\nMAXSEG = 4.0e+02\n"
    "nextDT     = 1.0e-12;\nrc=5.0 # b\nloadType  = 1\nedotdir   = [\n    0.0\n    0.0\n    1.0\n"
    "  ]\nappliedStress = [ 0 1, 5e8 ; 0 0\n 0 ]\nmobilityLaw     = \"FCC_0\"  \nunheard = [ 1 2 ]\n";

static eqp_paradis_control control_good(const char *text)
{
    eqp_paradis_control control = eqp_paradis_control_defaults;
    eqp_message message = {"unchanged"};

    save_text(in_folder("run.ctrl"), text);
    int rc = eqp_paradis_control_read(in_folder("run.ctrl"), &control, NULL, NULL, &message);
    if (rc != EQP_OK) {
        fail_msg("%d '%s' of\n%s", rc, message.text, text);
    }
    assert_string_equal(message.text, "unchanged");
    return control;
}

TEST(a_file_replaces_what_it_names)
{
    eqp_paradis_control c = control_good(usual), d = eqp_paradis_control_defaults;

    assert_true(c.cells[0] == 4 && c.cells[1] == 3 && c.max_seg == 400 && c.next_dt == 1e-12 && c.core_radius == 5);
    assert_true(c.load_type == 1 && c.direction[2] == 1 && c.direction[0] == 0 && c.stress[1] == 1 &&
                c.stress[2] == 5e8);
    assert_string_equal(c.mobility, "FCC_0");
    assert_string_equal(c.integrator, d.integrator);
    assert_true(isnan(c.tolerance) && isnan(c.core_energy) && isnan(c.min_seg));
    eqp_paradis_control_free(&c);
}

/* Parameters of the laws of mobility: defaults of beryllium, tantalum and vanadium, and each key in its place. */
TEST(keys_of_mobility)
{
    const eqp_paradis_control d = eqp_paradis_control_defaults;
    eqp_paradis_control c = control_good(
        "MobClimbJunc = -1\nshearVelocity = 0\nMobRelaxX = 2\nMobRelaxY = 3\nMobRelaxZ = 0\nMobRelaxScaleByLength = 0\n"
        "cOVERa = 1.6\nHCP_A_Basal_EdgeDrag = 1\nHCP_A_2ndPyramidal_EdgeDrag = 9\nHCP_C_Prismatic_ScrewDrag = 2\n"
        "HCP_CpA_2ndPyramidal_ScrewDrag = 3\nHCP_Sessile_ScrewDrag = 4\nHCP_LineDrag = 5\nTaDragEdge112 = 6\n"
        "TaDragScrew112T = 7\nTaDragLine = 8\nTaDragClimbEdge = 9\nTaDragClimbScrew = 10\nTaDragParam110K = 11\n"
        "TaDragParam112TB = 12\nTaDragParam112ATalpha = 13\nTempK = 14\npressure = -15\nMobG0 = 16\n");
    const double found[] = {d.climb_junction, d.shear_velocity, d.temperature,  d.pressure,     d.modulus_0,
                            c.climb_junction, c.shear_velocity, c.relax[0],     c.relax[1],     c.relax[2],
                            c.c_over_a,       c.hcp_edge[0],    c.hcp_screw[3], c.hcp_screw[6], c.hcp_climb,
                            c.hcp_line,       c.ta_edge[1],     c.ta_screw[1],  c.ta_line,      c.ta_climb_edge,
                            c.ta_climb_screw, c.temperature,    c.pressure,     c.modulus_0,    c.ta_k[0],
                            c.ta_b[1],        c.ta_alpha[2],    c.ta_k[2]};
    static const double want[] = {1, 3400, 600, 0, 49e9, -1, 0,  2,  3,   0,  1.6, 1,  2,  3,
                                  4, 5,    6,   7, 8,    9,  10, 14, -15, 16, 11,  12, 13, 10600};

    assert_true(d.hcp_edge[1] == 5.69513923115224e-5 && c.hcp_edge[2] == 7.28268834977848e-5 &&
                c.ta_edge[0] == 2.8532e-4 && c.ta_screw[0] == 0.034239 && c.ta_screw[2] == 0.11641);
    for (int i = 0; i < COUNT_OF(found); i++) {
        assert_true(found[i] == want[i]);
    }
    assert_int_equal(c.relax_by_length, 0);
    assert_non_null(strstr(c.others, "HCP_A_2ndPyramidal_EdgeDrag = 9"));
    eqp_paradis_control_free(&c);
}

TEST(other_keys_are_counted_listed_and_kept)
{
    eqp_paradis_control c = eqp_paradis_control_defaults;
    eqp_message ignored = {"?"};
    int64_t n = -1;
    char many[8192] = "rc = 1\n";

    save_text(in_folder("run.ctrl"), usual);
    assert_ok(eqp_paradis_control_read(in_folder("run.ctrl"), &c, &n, &ignored, NULL));
    assert_int_equal(n, 2);
    assert_string_equal(ignored.text, "dirname, unheard");
    assert_non_null(strstr(c.others, "unheard = [ 1 2 ]\n"));
    for (int i = 0; i < 200; i++) {
        snprintf(many + strlen(many), sizeof many - strlen(many), "some_key_%d =\n", i);
    }
    save_text(in_folder("run.ctrl"), many);
    assert_ok(eqp_paradis_control_read(in_folder("run.ctrl"), &c, &n, &ignored, NULL));
    assert_int_equal(n, 200);
    assert_int_equal(strncmp(ignored.text, "some_key_0, some_key_1, ", 24), 0);
    assert_string_equal(ignored.text + strlen(ignored.text) - 3, "...");
    assert_null(strstr(c.others, "unheard"));
    assert_null(strstr(c.others, "rc"));
    assert_non_null(strstr(c.others, "some_key_0 =\nsome_key_1 =\n"));
    eqp_paradis_control_free(&c);
    assert_null(c.others);
}

TEST(what_is_not_understood_is_written_again)
{
    static const char text[] = "rc = 1\nfmEnabled = 0 # a comment\nmaxSeg = 10\nsavecn = [\n  1 2\n  3 \"a # b\"\n]\n";
    static const char kept[] = "fmEnabled = 0 \nsavecn = [\n1 2\n3 \"a # b\"\n]\n";
    eqp_paradis_control c = control_good(text), back = eqp_paradis_control_defaults;

    assert_string_equal(c.others, kept);
    assert_ok(control_write(in_folder("copy"), &c, NULL));
    assert_ok(eqp_paradis_control_read(in_folder("copy"), &back, NULL, NULL, NULL));
    assert_string_equal(back.others, kept);
    eqp_paradis_control_free(&c);
    eqp_paradis_control_free(&back);
}

TEST(what_is_not_given_follows_from_the_rest)
{
    const double triangle = sqrt(3) / 4;
    eqp_paradis_control c =
        control_good("maxSeg = 400\nrc = 5\nmaxDT = 1e-8\nshearModulus = 5e10\nminSeg = -1\nEcore = -1\n");

    assert_ok(eqp_paradis_control_complete(&c, NULL, NULL));
    assert_near(c.next_dt, 1e-8, 0);
    assert_near(c.tolerance, 1.25, 1e-15);
    assert_near(c.annihilation, 2.5, 1e-15);
    assert_near(c.min_seg, sqrt(1000 / triangle), 1e-9); /* of a triangle of 2 rTol maxSeg */
    assert_near(c.core_energy, 5e10 / (4 * acos(-1)) * log(50), 1e-3);
    assert_near(c.area_min, 1000, 1e-9); /* 2 rTol maxSeg */
    assert_near(c.area_max, (4 * c.area_min + triangle * 400 * 400) / 2, 1e-9);
    eqp_paradis_control again = c;
    assert_ok(eqp_paradis_control_complete(&again, NULL, NULL));
    assert_memory_equal(&again, &c, sizeof c);
    c = control_good("maxSeg = 400\nrc = 5\nrTol = 10\nminSeg = 20\nrann = 3\nnextDT = 1\nEcore = 7\n"
                     "splitMultiNodeFreq = 0\n");
    assert_ok(eqp_paradis_control_complete(&c, NULL, NULL));
    assert_int_equal(c.split_every, 1);
    assert_near(c.area_min, triangle * 400, 1e-9);
    assert_near(c.annihilation, 3, 0);
    assert_near(c.core_energy, 7, 0);
    assert_near(c.next_dt, 1e-7, 0);
}

/* As in ParaDiS: 0 and below say that a length or a time is not given, below 0 a core energy. */
TEST(what_is_not_positive_is_not_given)
{
    eqp_paradis_control c =
        control_good("maxSeg = 0\nrc = -3\nrTol = -2\nnextDT = 0\nminSeg = 0\nrann = 0\nEcore = -7\n");

    assert_true(isnan(c.max_seg) && isnan(c.core_radius) && isnan(c.tolerance) && isnan(c.next_dt) &&
                isnan(c.min_seg) && isnan(c.annihilation) && isnan(c.core_energy));
    c = control_good("Ecore = 0\nMobScrew = 0\nMobEdge = 0\n");
    assert_true(c.core_energy == 0 && c.mobility_screw == 0 && c.mobility_edge == 0);
}

/* A list may begin in a line of its own, behind comments; what is no list is left alone. */
TEST(a_list_may_begin_in_the_next_line)
{
    eqp_paradis_control c =
        control_good("edotdir =\n\n  # of the load\n  [\n 0 0 2 ]\nrotationMatrix =\n[\n 1 0 0\n 0 1 0\n]\n"
                     "empty =\nrc = 3\n");

    assert_true(c.direction[0] == 0 && c.direction[2] == 2 && c.core_radius == 3);
    assert_string_equal(c.others, "rotationMatrix =\n[\n1 0 0\n0 1 0\n]\nempty =\n");
    eqp_paradis_control_free(&c);
}

TEST(other_keys_are_found)
{
    eqp_paradis_control c = control_good("rc = 1\nfmEnabled = 1 # on\nNAME = \"a b/c\"\nlist = [ 3 4 ]\nFMENABLED=0;\n"
                                         "xfmMPOrder = 7\nempty =\nlong = \"0123456789012345678901234567890123456789"
                                         "0123456789012345678901234567890\"\n");
    static const char *const known[][2] = {{"fmEnabled", "0"}, {"name", "a b/c"}, {"list", "3"}, {"empty", ""}};
    char value[EQP_PARADIS_NAME] = "unchanged";

    assert_false(eqp_paradis_control_find(&c, "fmMPOrder", value));
    assert_false(eqp_paradis_control_find(&c, "rc", value));
    assert_string_equal(value, "unchanged");
    for (int i = 0; i < COUNT_OF(known); i++) {
        assert_true(eqp_paradis_control_find(&c, known[i][0], value));
        assert_string_equal(value, known[i][1]);
    }
    assert_true(eqp_paradis_control_find(&c, "long", value));
    assert_int_equal(strlen(value), EQP_PARADIS_NAME - 1);
    eqp_paradis_control_free(&c);
    assert_false(eqp_paradis_control_find(&c, "list", value));
    c.others = strdup("first = 1\nlast = 5"); /* a caller's own, without an end */
    assert_true(eqp_paradis_control_find(&c, "last", value));
    assert_string_equal(value, "5");
    eqp_paradis_control_free(&c);
}

static void check_incomplete(const char *text, const double *box, const char *says)
{
    eqp_paradis_control c = control_good(text), before = c;
    eqp_message message = {""};

    assert_refused(eqp_paradis_control_complete(&c, box, &message));
    if (!strstr(message.text, says)) {
        fail_msg("wanted '%s', got '%s'", says, message.text);
    }
    assert_memory_equal(&c, &before, sizeof c);
}

TEST(what_does_not_fit_together_is_named)
{
    static const double box[3] = {2000, 3000, 1300};

    check_incomplete("rc = 1\n", NULL, "maxSeg: is required");
    check_incomplete("maxSeg = 1\n", NULL, "rc: is required");
    check_incomplete("rc = 1\nmaxSeg = 10\nminSeg = 5.1\n", NULL, "minSeg: 5.1 is more than half of maxSeg, 10");
    check_incomplete("rc = 1\nmaxSeg = 400\n", box, "maxSeg: 400 is more than 0.9");
    eqp_paradis_control c = control_good("rc = 1\nmaxSeg = 390\n");
    assert_ok(eqp_paradis_control_complete(&c, box, NULL));
    /* Values that a caller has set. */
    for (int k = 0; k < 4; k++) {
        eqp_paradis_control bad = c;

        bad.poisson = k == 0 ? 0.5 : c.poisson;
        bad.cells[1] = k == 1 ? 2 : 3;
        bad.stress[5] = k == 2 ? (double)NAN : 0;
        bad.direction[0] = k == 3 ? 0 : 1;
        assert_refused(eqp_paradis_control_complete(&bad, box, NULL));
    }
}

static void refuse(const char *text, int code, const char *says)
{
    eqp_paradis_control c = eqp_paradis_control_defaults;
    eqp_message message = {""}, ignored = {"unchanged"};
    const char *path = in_folder("run.ctrl");
    int64_t n = -5;

    save_text(path, text);
    int rc = eqp_paradis_control_read(path, &c, &n, &ignored, &message);
    if (rc != code || !strstr(message.text, says) || strncmp(message.text, path, strlen(path)) != 0) {
        fail_msg("wanted %d '%s', got %d '%s' of\n%s", code, says, rc, message.text, text);
    }
    assert_memory_equal(&c, &eqp_paradis_control_defaults, sizeof c);
    assert_true(n == -5 && strcmp(ignored.text, "unchanged") == 0);
}

TEST(keys_that_nobody_knows_have_an_end)
{
    const size_t size = 3 << 20;
    HEAP char *text = calloc(size + 64, 1);

    for (size_t at = 0; at < size; at += 32) {
        memcpy(text + at, "some_key = 1                   \n", 32);
    }
    refuse(text, EQP_ERR_DATA, "more than 1 MiB of statements with unknown keys");
}

TEST(bad_values_name_the_line)
{
    char long_name[200] = "rc = 1\nmobilityLaw = ";

    refuse("\n\npois = 0.5\n", EQP_ERR_DATA, "line 3: pois: 0.5 is out of range");
    refuse("numXcells = 2\n", EQP_ERR_DATA, "line 1: numXcells: 2 is not from 3");
    refuse("numXcells = 4.5\n", EQP_ERR_FORMAT, "numXcells: '4.5' is not an integer");
    refuse("maxstep = -1\n", EQP_ERR_DATA, "maxstep");
    refuse("maxstep = 99999999999999999999\n", EQP_ERR_DATA, "maxstep");
    refuse("MobEdge = -2\n", EQP_ERR_DATA, "MobEdge: -2 is out of range");
    refuse("maxDT = -1\n", EQP_ERR_DATA, "maxDT");
    refuse("dtIncrementFact = .9\n", EQP_ERR_DATA, "dtIncrementFact");
    refuse("dtDecrementFact = 1\n", EQP_ERR_DATA, "dtDecrementFact");
    refuse("xBoundType = 2\n", EQP_ERR_DATA, "xBoundType");
    refuse("burgMag = nan\n", EQP_ERR_DATA, "burgMag: 'nan' is not a finite number");
    refuse("eRate = 1e999\n", EQP_ERR_DATA, "eRate: '1e999' is not a finite number");
    refuse("rc = five\n", EQP_ERR_FORMAT, "rc: 'five' is not a number");
    refuse("rc =\n", EQP_ERR_FORMAT, "rc: 0 values instead of 1");
    refuse("rc = 1 2\n", EQP_ERR_FORMAT, "rc: several values without brackets");
    refuse("rc\n", EQP_ERR_FORMAT, "line 1: rc: no '=' follows");
    refuse("# only\nedotdir = [ 1 0\n", EQP_ERR_FORMAT, "line 2: edotdir: the file ends within the list");
    refuse("edotdir = [ 1 0 ]\n", EQP_ERR_FORMAT, "edotdir: 2 values instead of 3");
    refuse("edotdir = [ 1 0 0 ] 0\n", EQP_ERR_FORMAT, "edotdir: something follows the list");
    refuse("edotdir = [ 1 [ 0 0 ]\n", EQP_ERR_FORMAT, "edotdir: a bracket in the wrong place");
    refuse("edotdir = [ 0 0 0 ]\n", EQP_ERR_DATA, "edotdir: must not be zero");
    refuse("appliedStress = [ 1 2 3 4 5 inf ]\n", EQP_ERR_DATA, "appliedStress: 'inf'");
    refuse("mobilityLaw = \"FCC\n", EQP_ERR_FORMAT, "mobilityLaw: a string without its end");
    refuse("mobilityLaw = [ a b ]\n", EQP_ERR_FORMAT, "mobilityLaw: 2 values");
    memset(long_name + strlen(long_name), 'F', 100);
    refuse(long_name, EQP_ERR_DATA, "line 2: mobilityLaw: is no name of at most 63");
    refuse("", EQP_ERR_FORMAT, "is empty");
    assert_int_equal(eqp_paradis_control_read(in_folder("none"), &(eqp_paradis_control){0}, NULL, NULL, NULL),
                     EQP_ERR_IO);
}

TEST(what_is_written_comes_back_to_the_last_bit)
{
    eqp_paradis_control c = control_good(usual), back;

    for (int completed = 0; completed < 2; completed++) {
        c.shear_modulus = 1e11 / 3;
        c.plastic_strain[4] = -1e-5 / 7;
        c.first_step = INT64_C(12345678901);
        c.time = 1e-9 / 3;
        c.boundary[1] = 1;
        assert_ok(control_write(in_folder("copy"), &c, NULL));
        back = eqp_paradis_control_defaults;
        assert_ok(eqp_paradis_control_read(in_folder("copy"), &back, NULL, NULL, NULL));
        assert_string_equal(back.others, c.others);
        eqp_paradis_control_free(&back);
        back.others = c.others;
        back.area_min = c.area_min; /* has no key */
        back.area_max = c.area_max;
        assert_memory_equal(&back, &c, sizeof c);
        assert_ok(eqp_paradis_control_complete(&c, NULL, NULL));
    }
    snprintf(c.mobility, sizeof c.mobility, "a \"b");
    assert_refused(control_write(in_folder("copy"), &c, NULL));
    memset(c.mobility, 'x', sizeof c.mobility);
    assert_refused(control_write(in_folder("copy"), &c, NULL));
    eqp_paradis_control_free(&c);
}

/* A file that names its network does so at both ends: cut anywhere in between, it is refused. */
TEST(a_torn_file_is_refused)
{
    eqp_paradis_control c = control_good(usual), back = eqp_paradis_control_defaults;
    eqp_message message = {""};

    strcpy(c.checksum, "0123456789abcdef");
    assert_ok(control_write(in_folder("whole"), &c, NULL));
    assert_ok(eqp_paradis_control_read(in_folder("whole"), &back, NULL, NULL, NULL));
    assert_string_equal(back.checksum, "0123456789abcdef");
    HEAP char *text = contents_of(in_folder("whole"), NULL);
    const char *first = strchr(strstr(text, "networkChecksum"), '\n');
    assert_non_null(first);
    /* Without its last newline it is whole. */
    for (size_t length = strlen(text) - 2; length > (size_t)(first - text); length -= 7) {
        text[length] = '\0';
        save_text(in_folder("torn"), text);
        assert_true(eqp_paradis_control_read(in_folder("torn"), &back, NULL, NULL, &message) < 0);
    }
    save_text(in_folder("mixed"), "networkChecksum = \"1\"\nrc = 2\nnetworkChecksum = \"2\"\n");
    assert_int_equal(eqp_paradis_control_read(in_folder("mixed"), &back, NULL, NULL, &message), EQP_ERR_FORMAT);
    assert_non_null(strstr(message.text, "mixed: is torn"));
    eqp_paradis_control_free(&c);
    eqp_paradis_control_free(&back);
}

/* Real files, with the edges of the boxes that belong to them. */
TEST(real_files_are_read)
{
    static const struct {
        const char *name;
        double box, max_seg, tolerance;
        int64_t steps;
        const char *mobility;
    } real[] = {{"Copper.ctrl", 20000, 400, 10, 200000, "FCC_0"},
                {"Tantalum.ctrl", 8000, 500, 0.5, 2000, "BCC_0"},
                {"copper_x8.ctrl", 7824, 200, 2.5, 1000, "FCC_0b"},
                {"form_binaryjunc.ctrl", 35000, 2000, 0.025, 500, "BCC_0"},
                {"frank_read_src.ctrl", 35000, 2000, 1, 500, "BCC_0"}};
    const char *data = getenv("EQUIPOISE_SHARED_DATA");
    int found = 0;

    for (int i = 0; i < COUNT_OF(real); i++) {
        const double box[3] = {real[i].box, real[i].box, real[i].box};
        eqp_paradis_control c = eqp_paradis_control_defaults;
        eqp_message message = {""};
        char path[2048];

        snprintf(path, sizeof path, "%s/dislocation/%s", data ? data : PROJECT_SOURCE_ROOT "/../shared/data",
                 real[i].name);
        if (access(path, R_OK) != 0) {
            continue;
        }
        found++;
        if (eqp_paradis_control_read(path, &c, NULL, NULL, &message) != EQP_OK ||
            eqp_paradis_control_complete(&c, box, &message) != EQP_OK) {
            fail_msg("%s: %s", path, message.text);
        }
        assert_near(c.max_seg, real[i].max_seg, 0);
        assert_near(c.tolerance, real[i].tolerance, 1e-15);
        assert_int_equal(c.steps, real[i].steps);
        assert_string_equal(c.mobility, real[i].mobility);
        assert_int_equal(c.cells[2], 4);
        eqp_paradis_control_free(&c);
    }
    if (found == 0) {
        print_message("no real parameters here\n");
        skip();
    }
}
