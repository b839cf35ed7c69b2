/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of other codes: what each format says comes out alike, and what cannot be is told with its place. Files that
 * are damaged in many ways are in tests/fuzz/corpus/traces. */
#include "snapshot_files.h"

#include "trace.h"

#include <hdf5.h>
#include <math.h>

static rf_trace *open_trace(const char *path, const char *edges, int64_t wanted)
{
    rf_trace *trace = NULL;
    eqp_message message = {""};

    if (rf_trace_read(1, &path, edges, wanted, &trace, &message) != EQP_OK) {
        fail_msg("%s: %s", path, message.text);
    }
    return trace;
}

/* The line must have the name of the file and the word. */
static void check_refused(const char *text, const char *word)
{
    const char *path = in_folder("bad");
    rf_trace *trace = NULL;
    eqp_message message = {""};

    save_text(path, text);
    assert_true(rf_trace_read(1, &path, NULL, -1, &trace, &message) != EQP_OK);
    assert_null(trace);
    assert_ptr_equal(strstr(message.text, path), message.text);
    if (strstr(message.text, word) == NULL) {
        fail_msg("'%s' is not in: %s", word, message.text);
    }
}

/* Three items in two phases, the third one not in phase 4, and two edges. */
static void check_usual(const rf_trace *t, double unit)
{
    static const double load[] = {1, 2, 3, 4, 5, 0};
    static const int32_t rank[] = {0, 1, 1, 1, 0, 1};

    assert_int_equal(t->n, 3);
    assert_int_equal(t->nphases, 2);
    assert_int_equal(t->nranks, 2);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(t->id[k], 10 * k);
        assert_true(t->centre[3 * k] == k && t->centre[3 * k + 1] == 0.5);
        assert_int_equal(t->bytes[k], 7 + k);
    }
    for (int c = 0; c < 6; c++) {
        assert_true(fabs(t->load[c] - unit * load[c]) < 1e-15);
        assert_int_equal(t->rank[c], rank[c]);
    }
    assert_true(signbit(t->load[5]) && !signbit(t->load[0])); /* it was not there */
    assert_int_equal(t->phase[0], 2);
    assert_int_equal(t->phase[1], 4);
    assert_int_equal(t->ncommon, 1);
    assert_int_equal(t->edge_first[1], 1); /* none of phase 2 */
    assert_int_equal(t->edge_first[2], 2);
    assert_true(t->edge[0].from == 0 && t->edge[0].to == 1 && t->edge[0].bytes == -1);
    assert_true(t->edge[1].from == 2 && t->edge[1].to == 0 && t->edge[1].bytes == 64);
}

#define ITEMS                                                                                                          \
    "item,x,y,load_ms,phase,rank,bytes\n20,2,.5,3,2,1,9\n0,0,.5,1,2,0,7\n10,1,.5,2,2,1,8\n10,5,.5,5,4,0,8\n"           \
    "0,6,.5,4,4,1,7\n"
#define EDGES "from,to,bytes,phase\n0,10,,\n20,0,64,4\n"

/* `text` with other separators. */
static const char *separated(const char *text, char separator)
{
    static char made[1024];

    assert_true(strlen(text) < sizeof made);
    strcpy(made, text);
    for (char *c = made; *c != '\0'; c++) {
        *c = *c == ',' ? separator : *c;
    }
    return made;
}

static void every_separator_says_the_same(void **state)
{
    const char *items = in_folder("items"), *edges = in_folder("edges");

    (void)state;
    for (const char *c = ",;\t"; *c != '\0'; c++) {
        save_text(items, separated(ITEMS, *c));
        save_text(edges, separated(EDGES, *c == ',' ? '\t' : *c));
        rf_trace *t = open_trace(items, edges, -1);
        check_usual(t, 1e-3);
        rf_trace_free(t);
    }
    save_text(items, ITEMS "\n# edges\n" EDGES);
    rf_trace *t = open_trace(items, NULL, -1);
    check_usual(t, 1e-3);
    rf_trace_free(t);
    unlink(items);
    unlink(edges);
}

static void positions_are_those_of_the_wanted_phase(void **state)
{
    const char *items = in_folder("items");

    (void)state;
    save_text(items, ITEMS);
    rf_trace *t = open_trace(items, NULL, 4);
    assert_true(t->centre[0] == 6 && t->centre[3] == 5 && t->centre[6] == 2); /* the last one is not there */
    rf_trace_free(t);
    unlink(items);
}

static void names_and_units_of_columns(void **state)
{
    static const char *const header[] = {"id load_us", "object cost(us)", "task time_us", "ITEM \"seconds_us\"",
                                         "element work_us x_mm"};
    const char *path = in_folder("items");

    (void)state;
    for (size_t k = 0; k < sizeof header / sizeof header[0]; k++) {
        char text[100];
        snprintf(text, sizeof text, "%s\n5 2 %s\n", header[k], k == 4 ? "7" : "");
        save_text(path, text);
        rf_trace *t = open_trace(path, NULL, -1);
        assert_true(t->n == 1 && t->id[0] == 5 && t->load[0] == 2e-6 && t->rank == NULL && t->nranks == 0);
        assert_true((t->centre != NULL) == (k == 4));
        assert_string_equal(t->note.text, "");
        rf_trace_free(t);
    }
    save_text(path, "item,load,colour\n0,1,2\n");
    rf_trace *t = open_trace(path, NULL, -1);
    assert_non_null(strstr(t->note.text, "'colour' is not read"));
    rf_trace_free(t);
    unlink(path);
}

static void hostile_tables_are_refused_with_their_line(void **state)
{
    (void)state;
    check_refused("item,load\n0,1\n1,nan\n", "line 3: load: 'nan' is not finite");
    check_refused("item,load\n0,1\n1,1e999\n", "line 3: load: '1e999' is not finite");
    check_refused("item,load\n0,-1\n", "line 2: load -1");
    check_refused("item,load\n0,1e19\n", "line 2: load 1e+19");
    check_refused("item,load\n0.5,1\n", "line 2: item: '0.5' is no whole number");
    check_refused("item,load\n9223372036854775808,1\n", "does not fit into 64 bits");
    check_refused("item,load\n-1,1\n", "line 2: item -1");
    check_refused("item,load\n0,1\n\n0,1\n", "line 4: item 0 stands twice in phase 0");
    check_refused("item,load\n0\n", "line 2: 1 fields");
    check_refused("item,load\n0,\n", "line 2: there is no load");
    check_refused("item,x\n0,1\n", "line 1: there is no column 'load'");
    check_refused("load\n1\n", "line 1: there is no column 'item'");
    check_refused("item,load,cost\n0,1,1\n", "line 1: two columns are 'load'");
    check_refused("item,load_mb\n0,1\n", "line 1: unit 'mb'");
    check_refused("item,load,rank\n0,1,65536\n", "line 2: rank 65536");
    check_refused("item,load,rank\n0,1,0\n1,1,\n", "line 3: there is no rank");
    check_refused("item,x,y,load\n0,1,,1\n", "line 2: half a position");
    check_refused("item,x,load\n0,1,1\n1,,1\n", "item 1 has no position");
    check_refused("item,load,fixed\n0,1,1\n", "line 2: item 0 is fixed, but has no rank");
    check_refused("item,load\n0,1\nfrom,to\n0,3\n", "line 4: an edge to item 3");
    check_refused("item,load\n0,1\nfrom,to,bytes\n0,0,-1\n", "line 4: -1 bytes");
    check_refused("item,load\n", "there are no items");
    check_refused("0,1\n", "line 1: not a trace");
    check_refused("", "is empty");
    check_refused("{\"phases\":[{\"id\":0,\"tasks\":[", "line 1, column");
    check_refused("{\"phases\":[{\"id\":0,\"tasks\":[{}]}]}", "task 0: an entity without a number in phase 0");
    check_refused("{\"tasks\":[]}", "there is no array 'phases'");
    unlink(in_folder("bad"));
}

static void items_and_phases_that_hardly_meet_make_no_table(void **state)
{
    const char *path = in_folder("bad");
    char *text = malloc(1 << 20);
    int at = snprintf(text, 100, "item,load,phase\n");

    (void)state;
    for (int i = 0; i < 20000; i++) { /* a table of 3 GB */
        at += snprintf(text + at, 50, "%d,1,%d\n", i, i);
    }
    check_refused(text, "20000 items and 20000 phases, but only 20000 loads");
    free(text);
    unlink(path);
}

#define ELEMENT(id, moves) "{\"type\":\"object\",\"id\":" id ",\"home\":0,\"migratable\":" moves "}"
#define TASK(id, moves, node, time)                                                                                    \
    "{\"entity\":" ELEMENT(id, moves) ",\"node\":" node ",\"resource\":\"cpu\",\"time\":" time "}"

static void vt_says_who_stays_what_repeats_and_what_is_no_edge(void **state)
{
    static const char text[] =
        "{\"metadata\":{\"phases\":{\"identical_to_previous\":{\"list\":[],\"range\":[[1,2]]}}},"
        "\"phases\":[{\"id\":0,\"tasks\":[" TASK("262147", "true", "0", "0.5") "," TASK(
            "1", "false", "0",
            "2") "," TASK("0", "false", "0",
                          "0.0") ",{\"entity\":{\"type\":\"object\",\"seq_id\":2,\"collection_id\":7,\"home\":1,"
                                 "\"migratable\":true},\"node\":1,\"resource\":\"cpu\",\"time\":1}],\"communications\":"
                                 "["
                                 "{\"type\":\"SendRecv\",\"bytes\":8.0,\"messages\":1,\"from\":" ELEMENT(
                                     "262147",
                                     "true") ",\"to\":" ELEMENT("1",
                                                                "false") "},"
                                                                         "{\"type\":\"NodeToCollection\",\"bytes\":8,"
                                                                         "\"messages\":1,\"from\":{\"type\":\"node\","
                                                                         "\"id\":0},\"to\":" ELEMENT("1",
                                                                                                     "false") "}]}]}";
    const char *path = in_folder("vt");

    (void)state;
    save_text(path, text);
    rf_trace *t = open_trace(path, NULL, -1);
    assert_true(t->n == 3 && t->nphases == 3 && t->nranks == 2 && t->names_are_json);
    assert_true(t->id[0] == 1 && t->id[1] == 262147 && t->id[2] == (2 << 18 | 1 << 2 | 3));
    assert_true(t->fixed[0] && !t->fixed[1] && !t->fixed[2]);
    for (int p = 0; p < 3; p++) {
        assert_true(t->load[3 * p] == 2 && t->load[3 * p + 1] == 0.5 && t->load[3 * p + 2] == 1);
        assert_true(t->rank[3 * p] == 0 && t->rank[3 * p + 2] == 1);
    }
    assert_int_equal(t->left_out, 1);
    assert_true(t->edge_first[1] == 1 && t->edge[0].from == 1 && t->edge[0].to == 0 && t->edge[0].bytes == 8);
    rf_trace_free(t);
    unlink(path);
}

static void write_set(hid_t file, const char *name, hid_t type, int ndims, const hsize_t *extent, const void *data)
{
    const hid_t space = H5Screate_simple(ndims, extent, NULL);
    const hid_t set = H5Dcreate2(file, name, type == H5T_NATIVE_DOUBLE ? H5T_IEEE_F32BE : H5T_STD_I32LE, space,
                                 H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static hid_t begin_hdf5(const char *path)
{
    static const double load[6] = {1, 2, 3, 4, 5, 0}, place[9] = {0, .5, 0, 1, .5, 0, 2, .5, 0};
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    H5Gclose(H5Gcreate2(file, "/items", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(file, "/edges", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    write_set(file, "/items/loads", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){2, 3}, load);
    write_set(file, "/items/positions", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){3, 3}, place);
    write_set(file, "/items/rank", H5T_NATIVE_INT, 2, (hsize_t[]){2, 3}, (int[]){0, 1, 1, 1, 0, 1});
    write_set(file, "/items/id", H5T_NATIVE_INT, 1, (hsize_t[]){3}, (int[]){0, 10, 20});
    write_set(file, "/items/bytes", H5T_NATIVE_INT, 1, (hsize_t[]){3}, (int[]){7, 8, 9});
    write_set(file, "/phases", H5T_NATIVE_INT, 1, (hsize_t[]){2}, (int[]){2, 4});
    write_set(file, "/edges/from", H5T_NATIVE_INT, 1, (hsize_t[]){1}, (int[]){20});
    write_set(file, "/edges/to", H5T_NATIVE_INT, 1, (hsize_t[]){1}, (int[]){0});
    return file;
}

static void hdf5_says_the_same(void **state)
{
    const char *path = in_folder("h5");
    const hid_t file = begin_hdf5(path);

    (void)state;
    write_set(file, "/edges/bytes", H5T_NATIVE_INT, 1, (hsize_t[]){1}, (int[]){64});
    write_set(file, "/edges/phase", H5T_NATIVE_INT, 1, (hsize_t[]){1}, (int[]){4});
    H5Fclose(file);
    rf_trace *t = open_trace(path, NULL, -1);
    assert_true(t->n == 3 && t->nphases == 2 && t->nranks == 2 && t->ncommon == 0);
    assert_true(t->phase[0] == 2 && t->phase[1] == 4 && t->id[2] == 20 && t->bytes[2] == 9);
    for (int c = 0; c < 6; c++) {
        assert_true(t->load[c] == (c < 5 ? c + 1 : 0) && t->rank[c] == (c == 1 || c == 2 || c == 3 || c == 5));
    }
    assert_true(t->centre[6] == 2 && t->centre[7] == 0.5);
    assert_true(t->edge_first[1] == 0 && t->edge_first[2] == 1);
    assert_true(t->edge[0].from == 2 && t->edge[0].to == 0 && t->edge[0].bytes == 64);
    rf_trace_free(t);
    unlink(path);
}

static void check_hdf5_refused(const char *path, const char *word)
{
    rf_trace *trace = NULL;
    eqp_message message = {""};

    assert_true(rf_trace_read(1, &path, NULL, -1, &trace, &message) != EQP_OK);
    if (strstr(message.text, word) == NULL) {
        fail_msg("'%s' is not in: %s", word, message.text);
    }
}

static void hdf5_that_cannot_be_is_refused(void **state)
{
    const char *path = in_folder("h5");
    hid_t file = begin_hdf5(path);

    (void)state;
    write_set(file, "/edges/bytes", H5T_NATIVE_INT, 1, (hsize_t[]){2}, (int[]){64, 65});
    H5Fclose(file);
    check_hdf5_refused(path, "/edges/bytes: has another shape");
    file = begin_hdf5(path);
    H5Ldelete(file, "/items/loads", H5P_DEFAULT);
    H5Lcreate_external("elsewhere.h5", "/items/loads", file, "/items/loads", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    check_hdf5_refused(path, "/items/loads: is missing");
    file = begin_hdf5(path);
    H5Ldelete(file, "/items/id", H5P_DEFAULT);
    write_set(file, "/items/id", H5T_NATIVE_INT, 1, (hsize_t[]){3}, (int[]){0, 10, 10});
    H5Fclose(file);
    check_hdf5_refused(path, "item 2: item 10 stands twice");
    file = begin_hdf5(path);
    H5Ldelete(file, "/items/loads", H5P_DEFAULT);
    write_set(file, "/items/loads", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){2, 3}, (double[]){1, 2, NAN, 4, 5, 6});
    H5Fclose(file);
    check_hdf5_refused(path, "item 2: load nan");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_separator_says_the_same),
        cmocka_unit_test(positions_are_those_of_the_wanted_phase),
        cmocka_unit_test(names_and_units_of_columns),
        cmocka_unit_test(hostile_tables_are_refused_with_their_line),
        cmocka_unit_test(items_and_phases_that_hardly_meet_make_no_table),
        cmocka_unit_test(vt_says_who_stays_what_repeats_and_what_is_no_edge),
        cmocka_unit_test(hdf5_says_the_same),
        cmocka_unit_test(hdf5_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
