/* SPDX-License-Identifier: BSD-3-Clause */
/* An unmodified program. It prints properties of its world in the order of ranks and checks that they are consistent.
 * usage: world [thread | spawn | abort | exit | return | wrong | many | steps [marked] | start COMMAND |
 * door STEPS [wrong | begun]] */
#include <equipoise/more/pcontrol.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static MPI_Comm world = MPI_COMM_WORLD; /* a handle stored before MPI_Init */
static int rank, ranks;

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            printf("rank %d: line %d: not so: %s\n", rank, __LINE__, #holds);                                          \
        }                                                                                                              \
    } while (0)

static int size_of(MPI_Comm comm)
{
    int size = 0;

    MPI_Comm_size(comm, &size);
    return size;
}

static int sum_over(MPI_Comm comm)
{
    int sum = 0;

    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static int result_of(MPI_Comm a, MPI_Comm b)
{
    int result = -1;

    MPI_Comm_compare(a, b, &result);
    return result;
}

static void look_at_communicators(void)
{
    MPI_Comm copy, half, node, shifted, grid, graph;
    const int all[] = {ranks}, round[] = {1}, right[] = {(rank + 1) % ranks}, left[] = {(rank + ranks - 1) % ranks};
    const int weight[] = {1};
    int in = 0, out = 0, weighted = 0;

    CHECK(result_of(world, MPI_COMM_WORLD) == MPI_IDENT);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(result_of(copy, MPI_COMM_WORLD) == MPI_CONGRUENT && sum_over(copy) == sum_over(world));
    MPI_Comm_split(world, rank % 2, -rank, &half);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &shifted);
    CHECK((shifted == MPI_COMM_NULL) == (rank == 0));
    MPI_Cart_create(MPI_COMM_WORLD, 1, all, round, 0, &grid);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, weight, 1, right, weight, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    printf("%d: half %d, node %d, grid %d, graph %d %d\n", rank, size_of(half), size_of(node), size_of(grid), in, out);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Comm_free(&node);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&graph);
    if (shifted != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&shifted);
    }
}

static void look_at_groups(void)
{
    const int ends[] = {0, ranks - 1};
    int places[] = {-1, -1};
    MPI_Group all, some;
    MPI_Comm both, pair, between, merged;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, ends, &some);
    MPI_Group_translate_ranks(some, 2, (const int[]){0, 1}, all, places);
    CHECK(places[0] == 0 && places[1] == ranks - 1);
    MPI_Comm_create(MPI_COMM_WORLD, some, &both);
    CHECK((both != MPI_COMM_NULL) == (rank == 0 || rank == ranks - 1));
    if (both != MPI_COMM_NULL) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &pair);
        CHECK(sum_over(pair) == ranks - 1);
        MPI_Comm_free(&pair);
        MPI_Comm_free(&both);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &pair);
    MPI_Intercomm_create(pair, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    MPI_Comm_remote_size(between, &places[0]);
    MPI_Intercomm_merge(between, rank % 2, &merged);
    printf("%d: beyond %d, merged %d, group %d\n", rank, places[0], size_of(merged), sum_over(merged));
    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&pair);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

static void look_at_windows_and_files(void)
{
    int *shared = NULL, got = -1, number = 10 + rank;
    MPI_Offset bytes = 0;
    MPI_Win window;
    MPI_File file;

    MPI_Win_allocate(sizeof *shared, sizeof *shared, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
    *shared = number;
    MPI_Win_fence(0, window);
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(got == 10 + (rank + 1) % ranks);
    MPI_Win_free(&window);
    MPI_File_open(world, "numbers.bin", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at_all(file, (MPI_Offset)sizeof number * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all(file, (MPI_Offset)sizeof number * (ranks - 1 - rank), &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(got == 10 + ranks - 1 - rank);
    MPI_File_get_size(file, &bytes);
    CHECK(bytes == (MPI_Offset)sizeof number * ranks);
    MPI_File_close(&file);
}

static int deleted;

static int count_deleted(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)keyval;
    deleted++;
    if (value == &rank) { /* of MPI_COMM_SELF, where some libraries still communicate */
        CHECK(sum_over(MPI_COMM_WORLD) == ranks * (ranks - 1) / 2);
        CHECK(size_of(comm) == 1);
    } else {
        CHECK(comm == MPI_COMM_WORLD && state == &deleted);
    }
    return MPI_SUCCESS;
}

static int copied;

static int copy_once(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *flag)
{
    (void)keyval;
    CHECK((comm == MPI_COMM_WORLD) == (copied == 0) && state == &copied && value == &ranks);
    *(void **)copy = value;
    *flag = copied++ == 0;
    return MPI_SUCCESS;
}

/* The world's attribute is copied to its duplicate, but not to a duplicate of that. */
static void look_at_copied_attributes(void)
{
    int *number = NULL, there = 0, keyval;
    MPI_Comm copy, copy_of_copy;

    MPI_Comm_create_keyval(copy_once, MPI_COMM_NULL_DELETE_FN, &keyval, &copied);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, keyval, &number, &there);
    CHECK(there && number == &ranks);
    MPI_Comm_dup(copy, &copy_of_copy);
    MPI_Comm_get_attr(copy_of_copy, keyval, &number, &there);
    CHECK(!there && copied == 2);
    MPI_Comm_free(&copy_of_copy);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_free_keyval(&keyval);
}

static void look_at_attributes(void)
{
    int *number = NULL, there = 0, keyval, length = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &there);
    CHECK(there && *number >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &there);
    CHECK(there && *number == 0);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &number, &there);
    CHECK(!there || *number > 0);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_deleted, &keyval, &deleted);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &ranks);
    MPI_Comm_get_attr(world, keyval, &number, &there);
    CHECK(there && number == &ranks);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    CHECK(deleted == 1);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &ranks);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &rank);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    printf("%d: %s, of %d\n", rank, name, ranks);
}

static int handled;
static MPI_Comm handled_last;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    handled_last = *comm;
    handled++;
}

static void handle_nothing(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    CHECK(!"an unset handler is called");
}

static void look_at_errors(void)
{
    MPI_Errhandler handler, found;
    MPI_Comm copy;
    void *buffer;

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler); /* the world keeps a reference */
    MPI_Comm_create_errhandler(handle_nothing, &handler);
    MPI_Send(&rank, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD); /* would reach a balancing rank, if there were one */
    CHECK(handled == 1 && handled_last == MPI_COMM_WORLD);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    CHECK(handled == 2 && handled_last == MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
    CHECK(handled == 3 && handled_last == copy);
    MPI_Comm_free(&copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(&rank, 1, MPI_INT, ranks, 0, world) != MPI_SUCCESS);
    CHECK(MPI_Alloc_mem(-1, MPI_INFO_NULL, &buffer) != MPI_SUCCESS); /* error without a communicator */
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

/* Children see all of their siblings and all parents. */
static void spawn(char *self)
{
    char *arguments[] = {"child", NULL};
    MPI_Comm parent, children;
    int number = 0;

    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Comm_remote_size(children, &number);
        CHECK(number == 2);
        MPI_Bcast(&ranks, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
        MPI_Comm_disconnect(&children);
    } else {
        MPI_Bcast(&number, 1, MPI_INT, 0, parent);
        CHECK(ranks == 2 && size_of(parent) == 2);
        MPI_Comm_remote_size(parent, &ranks);
        CHECK(number == ranks);
        MPI_Comm_disconnect(&parent);
    }
}

/* Steps in which rank r works r + 1 times as long as rank 0 and then waits, with two collective calls each and an
 * optional mark. */
static void work(int steps, int marked)
{
    volatile double sum = 0.0;

    for (int step = 0; step < steps; step++) {
        if (marked) {
            MPI_Pcontrol(1);
        }
        for (long i = 0; i < 2000000L * (rank + 1); i++) {
            sum += 1.0 / (double)(i + 1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&ranks, 1, MPI_INT, 0, world);
    }
    if (marked) {
        MPI_Pcontrol(0);
    }
}

/* ---- Maps on request, without linking the library: items on a line, a few of them heavy ---- */

#define ITEMS 300

typedef struct items {
    int64_t n, id[2 * ITEMS];
    double weight[2 * ITEMS], point[2 * ITEMS][3];
    int part[2 * ITEMS];
} items;

static void make_items(items *own)
{
    own->n = rank == 1 ? 0 : ITEMS; /* one rank has no items */
    for (int64_t i = 0; i < own->n; i++) {
        const double x = (double)(rank * ITEMS + i);

        own->id[i] = 7 * (rank * ITEMS + i);
        own->weight[i] = rank == 0 ? 9.0 : 1.0;
        own->point[i][0] = x;
        own->point[i][1] = own->point[i][2] = 0.0;
    }
}

/* Changes the items while the map is made: drops the last, reverses the order, inserts a new one in front. */
static void change_items(items *own)
{
    items old = *own;

    own->id[0] = 1;
    own->n = old.n > 0 ? old.n : 1;
    for (int64_t i = 1; i < own->n; i++) {
        own->id[i] = old.id[old.n - 1 - i];
    }
}

/* Every remaining item of rank r's line has a part, and parts are even up to the removed items. */
static void judge(const items *own, const items *offered)
{
    double load[64] = {0}, all[64] = {0}, sum = 0.0, most = 0.0;

    CHECK(own->part[0] == -1);
    for (int64_t i = 1; i < own->n; i++) {
        CHECK(own->part[i] >= 0 && own->part[i] < ranks);
        load[own->part[i] % 64] += offered->weight[offered->n - 1 - i];
    }
    MPI_Allreduce(load, all, ranks, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        sum += all[r];
        most = all[r] > most ? all[r] : most;
    }
    CHECK(most < 1.1 * sum / ranks);
}

static void ask(int level, int64_t step, items *own, eqp_pcontrol *asked)
{
    *asked = (eqp_pcontrol){.size = sizeof *asked, .step = step, .n = own->n, .id = own->id, .weight = own->weight};
    asked->point = own->point[0];
    asked->part = own->part;
    MPI_Pcontrol(level, asked);
}

/* Steps until enough maps have arrived. */
static int count_maps(int64_t steps)
{
    static items own, offered;
    int maps = 0;

    for (int64_t step = 0; step < steps; step++) {
        eqp_pcontrol asked;

        ask(EQP_PCONTROL_TAKE, step, &own, &asked);
        int state = asked.state, lowest = 0;

        MPI_Allreduce(&state, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        CHECK(lowest == state);
        if (state == EQP_PCONTROL_READY) {
            judge(&own, &offered);
            maps++;
        } else if (state == EQP_PCONTROL_IDLE) {
            make_items(&own);
            offered = own;
            ask(EQP_PCONTROL_OFFER, step, &own, &asked);
            CHECK(asked.state == EQP_PCONTROL_WAITING);
            change_items(&own);
            ask(EQP_PCONTROL_OFFER, step, &own, &asked); /* a second offer is ignored */
            CHECK(asked.state == EQP_PCONTROL_WAITING);
        } else if (state == EQP_PCONTROL_NOBODY) {
            return -1;
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return maps;
}

/* Unreadable offers are reported, and the run continues. */
static void offer_what_is_wrong(void)
{
    static items own;
    eqp_pcontrol asked;

    make_items(&own);
    own.weight[0] = -1.0;
    ask(EQP_PCONTROL_OFFER, 0, &own, &asked);
    CHECK(asked.state == (own.n > 0 ? EQP_PCONTROL_WRONG : EQP_PCONTROL_WAITING));
    for (int64_t step = 1; step < 2000 && asked.state != EQP_PCONTROL_FAILED; step++) {
        ask(EQP_PCONTROL_TAKE, step, &own, &asked);
        CHECK(asked.state == EQP_PCONTROL_WAITING || asked.state == EQP_PCONTROL_FAILED);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    CHECK(asked.state == EQP_PCONTROL_FAILED);
    ask(EQP_PCONTROL_OFFER, -1, &own, &asked);
    CHECK(asked.state == EQP_PCONTROL_WRONG);
    asked.size = 8;
    asked.state = EQP_PCONTROL_NOBODY;
    MPI_Pcontrol(EQP_PCONTROL_OFFER, &asked);
    CHECK(asked.state == EQP_PCONTROL_NOBODY);
    MPI_Pcontrol(EQP_PCONTROL_TAKE, NULL);
}

/* argument: STEPS [wrong | begun] */
static void ask_for_maps(int narguments, char **argument)
{
    if (narguments > 1 && strcmp(argument[1], "wrong") == 0) {
        offer_what_is_wrong();
    } else if (narguments > 1 && rank == 0) {
        puts("begun");
        fflush(stdout);
    }
    const int maps = count_maps(atol(argument[0]));

    if (rank == 0) {
        printf("%s\n", maps < 0 ? "nobody" : maps > 0 ? "maps" : "no maps");
    }
}

static void look_at_everything(void)
{
    look_at_communicators();
    look_at_groups();
    look_at_windows_and_files();
    look_at_attributes();
    look_at_copied_attributes();
    look_at_errors();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int provided = MPI_THREAD_SINGLE;

    if (strcmp(what, "thread") == 0) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
        CHECK(provided == MPI_THREAD_MULTIPLE);
    } else {
        MPI_Init(&argc, &argv);
    }
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(what, "abort") == 0 && rank == ranks - 1) {
        MPI_Comm alone;

        MPI_Comm_dup(MPI_COMM_SELF, &alone);
        MPI_Abort(alone, 7);
    } else if (strcmp(what, "exit") == 0) {
        exit(3);
    } else if (strcmp(what, "wrong") == 0) {
        MPI_Send(&rank, 1, MPI_INT, rank == 0 ? ranks : MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(what, "spawn") == 0 || strcmp(what, "child") == 0) {
        spawn(argv[0]);
    } else if (strcmp(what, "many") == 0) {
        for (int step = 0; step < 4100; step++) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    } else if (strcmp(what, "start") == 0) {
        CHECK(rank > 0 || system(argv[2]) == 0);
    } else if (strcmp(what, "door") == 0) {
        ask_for_maps(argc - 2, argv + 2);
    } else if (strcmp(what, "steps") == 0) {
        work(6, argc > 2);
    } else {
        look_at_everything();
        handled = -1;
    }
    MPI_Finalize();
    CHECK(handled == 0 || deleted == 3);
    return strcmp(what, "return") == 0 ? 5 : 0;
}
