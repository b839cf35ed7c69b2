/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of other codes: equal contents in all formats give equal traces, and errors are reported with their location.
 * The corpus of the fuzz target traces has many damaged files. */
#include "snapshot_files.h"

#include "build.h"
#include "trace.h"

#include <hdf5.h>

FREES(rf_trace, rf_trace_free)

/* Saves a text with double quotes in place of single ones. */
static void save_quoted(const char *path, const char *text)
{
    HEAP char *copy = strdup(text);

    for (char *c = copy; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    save_text(path, copy);
}

static rf_trace *open_trace(const char *path, const char *edges, int64_t wanted)
{
    rf_trace *trace = NULL;
    eqp_message message = {""};

    const rf_trace_known known = {.edges = edges, .phase = wanted};

    if (rf_trace_read(1, &path, &known, &trace, &message) != EQP_OK) {
        fail_msg("%s: %s", path, message.text);
    }
    return trace;
}

/* The line must begin with the name of the file and have the word. */
static void check_file_refused(const char *path, const char *word)
{
    rf_trace *trace = NULL;
    eqp_message message = {""};

    assert_true(rf_trace_read(1, &path, &(rf_trace_known){.phase = -1}, &trace, &message) != EQP_OK);
    assert_null(trace);
    assert_ptr_equal(strstr(message.text, path), message.text);
    if (strstr(message.text, word) == NULL) {
        fail_msg("'%s' is not in: %s", word, message.text);
    }
}

static void check_refused(const char *text, const char *word)
{
    save_quoted(in_folder("bad"), text);
    check_file_refused(in_folder("bad"), word);
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

TEST(every_separator_says_the_same)
{
    const char *items = in_folder("items"), *edges = in_folder("edges");

    for (const char *c = ",;\t"; *c != '\0'; c++) {
        save_quoted(items, separated(ITEMS, *c));
        save_quoted(edges, separated(EDGES, *c == ',' ? '\t' : *c));
        FREED(rf_trace) *t = open_trace(items, edges, -1);
        check_usual(t, 1e-3);
    }
    save_quoted(items, ITEMS "\n# edges\n" EDGES);
    FREED(rf_trace) *t = open_trace(items, NULL, -1);
    check_usual(t, 1e-3);
}

TEST(positions_are_those_of_the_wanted_phase)
{
    const char *items = in_folder("items");

    save_quoted(items, ITEMS);
    FREED(rf_trace) *t = open_trace(items, NULL, 4);
    assert_true(t->centre[0] == 6 && t->centre[3] == 5 && t->centre[6] == 2); /* the last one is not there */
}

TEST(names_and_units_of_columns)
{
    static const char *const header[] = {"id load_us", "object cost(us)", "task time_us", "ITEM 'seconds_us'",
                                         "element work_us x_mm"};
    const char *path = in_folder("items");

    for (size_t k = 0; k < sizeof header / sizeof header[0]; k++) {
        char text[100];
        snprintf(text, sizeof text, "%s\n5 2 %s\n", header[k], k == 4 ? "7" : "");
        save_quoted(path, text);
        FREED(rf_trace) *t = open_trace(path, NULL, -1);
        assert_true(t->n == 1 && t->id[0] == 5 && t->load[0] == 2e-6 && t->rank == NULL && t->nranks == 0);
        assert_true((t->centre != NULL) == (k == 4));
        assert_string_equal(t->note.text, "");
    }
    save_quoted(path, "item,load,colour\n0,1,2\n");
    FREED(rf_trace) *t = open_trace(path, NULL, -1);
    assert_non_null(strstr(t->note.text, "'colour' is not read"));
}

TEST(hostile_tables_are_refused_with_their_line)
{
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
    check_refused("item,load,bytes_kb\n0,1,1\n", "line 1: unit 'kb'");
    check_refused("item;load\n0;1,5\n", "line 2: load: '1,5' is no number: decimals have a point");
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
    check_refused("{'phases':[{'id':0,'tasks':[", "line 1, column");
    check_refused("{'phases':[{'id':0,'tasks':[{}]}]}", "task 0: an entity without a number in phase 0");
    check_refused("{'tasks':[]}", "there is no array 'phases'");
}

TEST(items_and_phases_that_hardly_meet_make_no_table)
{
    HEAP char *text = malloc(1 << 20);
    int at = snprintf(text, 100, "item,load,phase\n");

    for (int i = 0; i < 20000; i++) { /* a table of 3 GB */
        at += snprintf(text + at, 50, "%d,1,%d\n", i, i);
    }
    check_refused(text, "20000 items and 20000 phases, but only 20000 loads");
}

#define ELEMENT(id, moves) "{'type':'object','id':" id ",'home':0,'migratable':" moves "}"
#define TASK(id, moves, node, time) "{'entity':" ELEMENT(id, moves) ",'node':" node ",'resource':'cpu','time':" time "}"

TEST(vt_says_who_stays_what_repeats_and_what_is_no_edge)
{
    static const char text[] =
        "{'metadata':{'phases':{'identical_to_previous':{'list':[],'range':[[1,2]]}}},'phases':[{'id':0,'tasks':"
        "[" TASK("262147", "true", "0", "0.5") "," TASK("1", "false", "0", "2") "," TASK(
            "0", "false", "0",
            "0.0") ",{'entity':{'type':'object','seq_id':2,'collection_id':7,'home':1,'migratable':true},'node':1,"
                   "'resource':'cpu','time':1}],'communications':["
                   "{'type':'SendRecv','bytes':8.0,'messages':1,'from':" ELEMENT("262147", "true") ",'to':" ELEMENT(
                       "1", "false") "},{'type':'NodeToCollection','bytes':8,'messages':1,'from':{'type':'node','"
                                     "id':0},'to':" ELEMENT("1", "false") "}]}]}";
    const char *path = in_folder("vt");

    save_quoted(path, text);
    FREED(rf_trace) *t = open_trace(path, NULL, -1);
    assert_true(t->n == 3 && t->nphases == 3 && t->nranks == 2 && t->names_are_json);
    assert_true(t->id[0] == 1 && t->id[1] == 262147 && t->id[2] == (2 << 18 | 1 << 2 | 3));
    assert_true(t->fixed[0] && !t->fixed[1] && !t->fixed[2]);
    for (int p = 0; p < 3; p++) {
        const double *load = rf_trace_load(t, p);
        assert_true(load[0] == 2 && load[1] == 0.5 && load[2] == 1 && t->row[p] == 0 && t->like[p] == 0);
        assert_true(rf_trace_rank(t, p)[0] == 0 && rf_trace_rank(t, p)[2] == 1);
    }
    assert_int_equal(t->left_out, 1);
    assert_true(t->edge_first[1] == 1 && t->edge[0].from == 1 && t->edge[0].to == 0 && t->edge[0].bytes == 8);
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

TEST(hdf5_says_the_same)
{
    const char *path = in_folder("h5");
    const hid_t file = begin_hdf5(path);

    write_set(file, "/edges/bytes", H5T_NATIVE_INT, 1, (hsize_t[]){1}, (int[]){64});
    write_set(file, "/edges/phase", H5T_NATIVE_INT, 1, (hsize_t[]){1}, (int[]){4});
    H5Fclose(file);
    FREED(rf_trace) *t = open_trace(path, NULL, -1);
    assert_true(t->n == 3 && t->nphases == 2 && t->nranks == 2 && t->ncommon == 0);
    assert_true(t->phase[0] == 2 && t->phase[1] == 4 && t->id[2] == 20 && t->bytes[2] == 9);
    for (int c = 0; c < 6; c++) {
        assert_true(t->load[c] == (c < 5 ? c + 1 : 0) && t->rank[c] == (c == 1 || c == 2 || c == 3 || c == 5));
    }
    assert_true(t->centre[6] == 2 && t->centre[7] == 0.5);
    assert_true(t->edge_first[1] == 0 && t->edge_first[2] == 1);
    assert_true(t->edge[0].from == 2 && t->edge[0].to == 0 && t->edge[0].bytes == 64);
}

TEST(hdf5_that_cannot_be_is_refused)
{
    static const char *const gone[] = {NULL, "/items/loads", "/items/id", "/items/loads"},
                             *const word[] = {"/edges/bytes: has another shape", "/items/loads: is missing",
                                              "item 2: item 10 stands twice", "item 2: load nan"};
    const char *path = in_folder("h5");

    for (int k = 0; k < 4; k++) {
        const hid_t file = begin_hdf5(path);
        if (gone[k] != NULL) {
            H5Ldelete(file, gone[k], H5P_DEFAULT);
        }
        if (k == 0) {
            write_set(file, "/edges/bytes", H5T_NATIVE_INT, 1, (hsize_t[]){2}, (int[]){64, 65});
        } else if (k == 1) {
            H5Lcreate_external("elsewhere.h5", "/items/loads", file, "/items/loads", H5P_DEFAULT, H5P_DEFAULT);
        } else if (k == 2) {
            write_set(file, "/items/id", H5T_NATIVE_INT, 1, (hsize_t[]){3}, (int[]){0, 10, 10});
        } else {
            write_set(file, "/items/loads", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){2, 3}, (double[]){1, 2, NAN, 4, 5, 6});
        }
        H5Fclose(file);
        check_file_refused(path, word[k]);
    }
}

/* Names in one folder, with what is in them. */
typedef struct named_text {
    const char *name, *text;
} named_text;

/* A folder's files, read as one trace, and what is then told. */
typedef struct folder_case {
    named_text text[4];
    int nranks, found; /* ranks that the user declares; ranks of the trace, or -1: refused */
    const char *word;  /* of the message or of the note; "": there is no note */
} folder_case;

static void check_folder(const folder_case *c, rf_trace **trace)
{
    const char *folder = files_folder;
    eqp_message message = {""};

    for (int k = 0; k < 4 && c->text[k].name != NULL; k++) {
        save_quoted(in_folder(c->text[k].name), c->text[k].text);
    }
    const int code = rf_trace_read(1, &folder, &(rf_trace_known){.phase = -1, .nranks = c->nranks}, trace, &message);
    const char *told = code == EQP_OK ? (*trace)->note.text : message.text;
    if ((code == EQP_OK ? (*trace)->nranks : -1) != c->found || strstr(told, c->word) == NULL ||
        (c->word[0] == '\0' && told[0] != '\0')) {
        fail_msg("%s, '%s': %d ranks, '%s'", c->text[0].name, c->word, code == EQP_OK ? (*trace)->nranks : -1, told);
    }
    (void)files_in_folder(true);
}

static void check_folders(size_t n, const folder_case *cases)
{
    for (size_t k = 0; k < n; k++) {
        FREED(rf_trace) *t = NULL;
        check_folder(&cases[k], &t);
    }
}

#define MOVES(id, node) TASK(id, "true", node, "1")
#define FILE_OF(metadata, tasks) "{'metadata':{" metadata "},'phases':[{'id':0,'tasks':[" tasks "]}]}"

/* An idle rank is known by its file, by the metadata or by the user; contradictions are told in a line. */
TEST(ranks_are_declared_not_guessed)
{
    static const char first[] = FILE_OF("", MOVES("7", "0")), second[] = FILE_OF("", MOVES("11", "1")),
                      idle[] = FILE_OF("'rank':2", ""), three[] = FILE_OF("'num_ranks':3", MOVES("7", "0"));
    static const folder_case cases[] = {
        {{{"d.0.json", first}, {"d.1.json", second}, {"d.2.json", idle}}, 0, 3, ""},
        {{{"d.0.json", first}, {"d.1.json", second}, {"other", idle}}, 0, 3, ""},
        {{{"d.0.json", three}}, 0, 3, "no file of rank 1: taken as idle"},
        {{{"d.0.json", first}, {"d.2.json", idle}}, 0, -1, "there is no file of rank 1"},
        {{{"d.0.json", first}, {"d.2.json", idle}}, 3, 3, "no file of rank 1: taken as idle"},
        {{{"d.0.json", first}, {"e.0.json", second}}, 0, -1, "is of rank 0, as is"},
        {{{"d.0.json", first}, {"d.1.json", second}}, 1, -1, "rank 1 occurs, but there are 1 ranks"},
        {{{"d.0.json", three}}, 4, -1, "there are 3 ranks, not 4"},
        {{{"a.csv", "item,load,rank\n0,1,0\n1,1,2\n"}}, 0, 3, ""},
        {{{"a.csv", "item,load,rank\n0,1,0\n1,1,2\n"}}, 4, 4, ""},
        {{{"a.csv", "item,load,rank\n0,1,0\n1,1,2\n"}}, 2, -1, "rank 2 occurs, but there are 2 ranks"},
        {{{"a.csv", "item,load\n0,1\n1,1\n"}}, 4, 0, ""},
        {{{"steps.csv", "step,rank,cpu_seconds\n0,0,2\n0,1,3\n"}}, 0, 2, "each rank is one item"},
        {{{"steps.json", "{'ranks':2,'steps_per_row':4,'cpu_seconds':[[1,2],[3,4]]}"}}, 0, 2, "each rank is one"},
        {{{"a.csv", "item,'name, bytes_sent',load,rank,bytes_sent\n0,'a,b',1,0,3\n1,c,2,1,3\n"}},
         0,
         2,
         "bytes_sent' and 1 more are not read"},
    };
    check_folders(sizeof cases / sizeof cases[0], cases);
}

/* Other files in the folder of a trace, and texts as other programs save them. */
TEST(strangers_marks_and_packed_files)
{
    static const char task[] = FILE_OF("", MOVES("7", "0"));
    static const folder_case cases[] = {
        {{{"NOTES.md", "Notes, on the work of each part.\n"}, {"d.0.json", task}}, 0, 1, "NOTES.md is passed over"},
        {{{"c.json", "{'steps': 3}"}, {"d.0.json", task}}, 0, 1, "c.json is passed over"},
        {{{"s.json", "{'type':'LBStatsfile','phases':[]}"}, {"d.0.json", task}}, 0, 1, "s.json is passed"},
        {{{"NOTES.md", "Notes\n"}, {"a.csv", "item,load\n0,1\n"}}, 0, 0, "NOTES.md is passed over"},
        {{{"NOTES.md", "Notes\n"}}, 0, -1, "none of its files is a trace"},
        {{{"a.csv", "item,load\n0,1\n"}, {"d.0.json", task}}, 0, -1, "in one trace"},
        {{{"d.0.json", "[y\x8b\x01\x02"}}, 0, -1, "brotli -dc"},
        {{{"d.0.json.br", "hello"}}, 0, -1, "brotli -dc"},
        {{{"a.csv", "\x1f\x8b\x08"}}, 0, -1, "gzip -dc"},
        {{{"d.0.json", "\xef\xbb\xbf{'phases':[{'id':0,'tasks':[" MOVES("7", "0") "]}]}"}}, 0, 1, ""},
        {{{"a.csv", "\xef\xbb\xbfitem,load\r\n0,1\r\n"}}, 0, 0, ""},
        {{{"a.csv", "sep=;\r\nitem;load\r\n0;1\r\n;\r\n"}}, 0, 0, ""},
        {{{"a.csv", "\xff\xfei"}}, 0, -1, "none of its files is a trace"},
        {{{"a.csv", "item,load\n0,1\n"}, {"b.csv", "item,load_ms\n1,1\n"}}, 0, -1, "some have not"},
    };
    check_folders(sizeof cases / sizeof cases[0], cases);
    check_refused("\xff\xfei", "line 1: UTF-16");
}

#define LIKE(phases, tasks, more)                                                                                      \
    "{'metadata':{'phases':{'identical_to_previous':{" phases "}}},'phases':[{'id':0,'tasks':[" tasks "]}" more "]}"

TEST(repeated_phases_share_what_they_repeat)
{
    static const char often[] = LIKE("'list':[1,2],'range':[[3,1000000]]", MOVES("7", "0"), ""),
                      twice[] =
                          LIKE("'list':[1,3]", MOVES("7", "0"), ",{'id':2,'tasks':[" TASK("7", "true", "0", "3") "]}"),
                      other[] = LIKE("'list':[2,3]", MOVES("11", "1"),
                                     ",{'id':1,'tasks':[" TASK("11", "true", "1", "5") "]}");
    static const folder_case one = {{{"d.0.json", often}}, 0, 1, ""},
                             both = {{{"d.0.json", twice}, {"d.1.json", other}}, 0, 2, ""};
    static const double load[4][2] = {{1, 1}, {1, 5}, {3, 5}, {3, 5}};
    FREED(rf_trace) *repeated = NULL, *t = NULL;

    check_folder(&one, &repeated);
    assert_true(repeated->nphases == 1000001 && repeated->nrows == 1 &&
                repeated->row[1000000] == 0); /* memory and work of one */
    check_folder(&both, &t);
    assert_true(t->nphases == 4 && t->nrows == 3 && t->row[3] == t->row[2] && t->like[3] == 2);
    for (int p = 0; p < 4; p++) {
        assert_true(rf_trace_load(t, p)[0] == load[p][0] && rf_trace_load(t, p)[1] == load[p][1]);
    }
}

#define NAMED(seq, home) "{'type':'object','collection_id':7,'seq_id':" seq home ",'migratable':true}"
#define NAMED_TASK(seq, node) "{'entity':" NAMED(seq, ",'home':" node) ",'node':" node ",'time':1}"
#define PHASE(tasks, messages) "{'phases':[{'id':0,'tasks':[" tasks "],'communications':[" messages "]}]}"
#define SEND(from, to) "{'bytes':2,'from':" from ",'to':" to "}"

/* Messages name kind and number but no home; a name of two tasks is ambiguous. */
TEST(messages_of_vt_by_name)
{
    static const char first[] =
        PHASE(NAMED_TASK("1", "0") "," NAMED_TASK("2", "0"),
              SEND(NAMED("1", ""), NAMED("3", "")) "," SEND(NAMED("1", ""), NAMED("2", "")) "," SEND(
                  NAMED("1", ""), NAMED("2", ",'home':1"))),
                      second[] = PHASE(NAMED_TASK("2", "1") "," NAMED_TASK("3", "1"), "");
    static const folder_case both = {{{"d.0.json", first}, {"d.1.json", second}}, 0, 2, ""};
    FREED(rf_trace) *t = NULL;

    check_folder(&both, &t);
    assert_true(t->n == 4 && t->edge_first[1] == 2 && t->left_out == 1);
    assert_true(t->edge[0].from == 0 && t->edge[0].bytes == 2);
    assert_int_equal(t->edge[0].to + t->edge[1].to, 2 + 3); /* number 2 of home 1, number 3 */
}

TEST(memory_of_tasks_blocks_and_ranks)
{
    static const char first[] =
        FILE_OF("", "{'entity':" ELEMENT(
                        "7", "true") ",'node':0,'time':1,'user_defined':{"
                                     "'task_footprint_bytes':8,'task_working_bytes':100,'task_serialized_bytes':16,"
                                     "'shared_id':5,'shared_bytes':1e9,'rank_working_bytes':4e8}}," MOVES("11", "0")),
                      second[] = FILE_OF("", MOVES("15", "1"));
    static const folder_case both = {{{"d.0.json", first}, {"d.1.json", second}}, 0, 2, ""},
                             table = {
                                 {{"a.csv", "item,load,rank,memory,working_bytes,block,block_bytes\n0,1,0,8,100,5,9\n"
                                            "1,1,0,,,,\n2,1,1,3,,5,9\n"}},
                                 0,
                                 2,
                                 ""};
    FREED(rf_trace) *t = NULL, *of_table = NULL;

    check_folder(&both, &t);
    assert_true(t->memory.held[0] == 8 && t->memory.working[0] == 116 && t->memory.held[1] == 0 && t->bytes[0] == 16);
    assert_true(t->memory.nblocks == 1 && t->memory.block[0] == 0 && t->memory.block[1] == -1);
    assert_true(t->memory.block_bytes[0] == 1e9 && t->memory.rank_bytes[0] == 4e8);
    assert_true(t->memory.rank_bytes[1] == 4e8); /* unspecified: as the rest */
    check_folder(&table, &of_table);
    assert_true(of_table->memory.held[0] == 8 && of_table->memory.held[1] == 0 && of_table->memory.working[0] == 100);
    assert_true(of_table->memory.block[0] == of_table->memory.block[2] && of_table->memory.block[1] == -1 &&
                of_table->memory.block_bytes[0] == 9);
    assert_null(of_table->memory.rank_bytes);
    check_refused("item,load,memory\n0,1,-1\n", "line 2: -1 bytes of memory");
}

/* Numbers that the multiplier of a common hash throws into one slot: twice as many are twice the work. */
TEST(crafted_numbers_do_not_collide)
{
    const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of 0x9e3779b97f4a7c15 modulo 2^64 */
    int64_t work[2];

    assert_true(inverse * UINT64_C(0x9e3779b97f4a7c15) == 1);
    for (int k = 0; k < 2; k++) {
        rf_keys ids = {.n = 0};
        int64_t index;
        for (uint64_t i = 1; ids.n < 10000 << k; i++) {
            const uint64_t id = inverse * (i << 50 | (i >> 14) << 20);
            assert_ok(id >> 63 == 0 ? rf_keys_take(&ids, &(int64_t){(int64_t)id}, &index) : EQP_OK);
        }
        work[k] = ids.probes;
        rf_keys_free(&ids);
    }
    assert_true(work[0] < 6 * 10000 && 2 * work[1] < 5 * work[0]);
}
