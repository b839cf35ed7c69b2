/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI calls missing or broken in SimGrid 3.32: matched probes, nonblocking reductions, MPI_Test of MPI_REQUEST_NULL,
 * and windows in the memory of a node. judge.c includes this file. */

/* ---- matched probes ---- */

typedef struct matched {
    int source, tag;
    MPI_Comm comm;
} matched;

static int match(const MPI_Status *from, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    matched *m = __real_malloc(sizeof *m);

    if (!m) {
        return MPI_ERR_NO_MEM;
    }
    *m = (matched){from->MPI_SOURCE, from->MPI_TAG, comm};
    *message = m;
    if (status != MPI_STATUS_IGNORE) {
        *status = *from;
    }
    return MPI_SUCCESS;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    MPI_Status found;
    int code;

    charge();
    code = PMPI_Iprobe(source, tag, comm, flag, &found);
    code = code == MPI_SUCCESS && *flag ? match(&found, comm, message, status) : code;
    leave(flag);
    return code;
}

/* SimGrid's blocking probe would poll without an end, as polls cost no time there. */
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int flag = 0, code = MPI_SUCCESS;

    while (code == MPI_SUCCESS && !flag) {
        code = MPI_Improbe(source, tag, comm, &flag, message, status);
    }
    return code;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int flag = 0, code = MPI_SUCCESS;

    while (code == MPI_SUCCESS && !flag) {
        charge();
        code = PMPI_Iprobe(source, tag, comm, &flag, status);
        leave(&flag);
    }
    return code;
}

static matched take(MPI_Message *message)
{
    const matched m = *(matched *)*message;

    __real_free(*message);
    *message = MPI_MESSAGE_NULL;
    return m;
}

int MPI_Mrecv(void *data, int n, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    const matched m = take(message);
    int code;

    charge();
    code = PMPI_Recv(data, n, type, m.source, m.tag, m.comm, status);
    leave(NULL);
    return code;
}

int MPI_Imrecv(void *data, int n, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    const matched m = take(message);
    int code;

    charge();
    code = PMPI_Irecv(data, n, type, m.source, m.tag, m.comm, request);
    leave(NULL);
    return code;
}

/* ---- nonblocking reductions: SimGrid's send a message from each rank to each other one ---- */

/* All ranks are in one process, so they meet in its memory: a reduction is complete a hop for each of log2(ranks)
 * rounds after its last rank has come. */
typedef struct reduction {
    int64_t comm, turn; /* the communicator's number and that of the reduction on it */
    int nranks, ncame, nleft;
    sg_host_t host; /* NULL: of more than one */
    double done;
    void *sum;
    struct reduction *next;
} reduction;

/* This rank's part in a reduction, which its request points to. */
typedef struct part {
    reduction *of;
    void *all;
    size_t bytes;
    struct part *next;
} part;

/* A communicator: its number, the same on its ranks and no other's, and the reductions begun on it. */
typedef struct group {
    MPI_Comm comm;
    int64_t number, turn;
    struct group *next;
} group;

static part *parts;
static group *groups;

/* Ranks have their own variables; the environment is the process's. */
static reduction **reductions(void)
{
    const char *text = getenv("JUDGE_REDUCTIONS");
    reduction **list = NULL;
    char address[32];

    if (!text || sscanf(text, "%p", (void **)&list) != 1) {
        list = __real_calloc(1, sizeof *list);
        (void)snprintf(address, sizeof address, "%p", (void *)list);
        (void)setenv("JUDGE_REDUCTIONS", address, 1);
    }
    return list;
}

static group *group_of(MPI_Comm comm)
{
    group *g = groups;

    while (g && g->comm != comm) {
        g = g->next;
    }
    if (!g) {
        g = __real_calloc(1, sizeof *g);
        *g = (group){.comm = comm, .next = groups};
        groups = g;
    }
    return g;
}

/* Numbers a new communicator. Collective. */
static void adopt(MPI_Comm comm)
{
    static int64_t made;
    int64_t number = 0;
    int rank = 0;

    if (comm == MPI_COMM_NULL) {
        return;
    }
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    number = ++made * INT32_MAX + rank;
    (void)PMPI_Bcast(&number, 1, MPI_INT64_T, 0, comm);
    group *g = group_of(comm);
    g->number = number;
    g->turn = 0;
}

/* The reduction that this rank's call belongs to. */
static reduction *meet(MPI_Comm comm, size_t bytes)
{
    group *g = group_of(comm);
    const int64_t turn = g->turn++;
    reduction **list = reductions(), *r = *list;

    while (r && (r->comm != g->number || r->turn != turn)) {
        r = r->next;
    }
    if (!r) {
        r = __real_calloc(1, sizeof *r);
        *r = (reduction){
            .comm = g->number, .turn = turn, .host = sg_host_self(), .sum = __real_malloc(bytes + 1), .next = *list};
        (void)PMPI_Comm_size(comm, &r->nranks);
        *list = r;
    }
    return r;
}

static int reduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    int size = 0;

    enter(NONBLOCKING, comm, 0, MPI_BYTE);
    (void)PMPI_Type_size(type, &size);
    const size_t bytes = (size_t)n * (size_t)size;
    const void *from = mine == MPI_IN_PLACE ? all : mine;
    part *p = __real_malloc(sizeof *p);
    reduction *r = meet(comm, bytes);

    if (r->ncame++ == 0 && bytes > 0) {
        memcpy(r->sum, from, bytes);
    } else if (bytes > 0) {
        (void)PMPI_Reduce_local(from, r->sum, n, type, op);
    }
    r->host = r->host == sg_host_self() ? r->host : NULL;
    if (r->ncame == r->nranks) {
        const double hop = atof(getenv(r->host ? "JUDGE_NEAR" : "JUDGE_FAR"));
        const double byte = atof(getenv("JUDGE_BYTE")) * (double)bytes;
        r->done = simgrid_get_clock() + ceil(log2(r->nranks)) * (hop + byte);
    }
    *p = (part){r, all, bytes, parts};
    parts = p;
    *request = (MPI_Request)p;
    leave(NULL);
    return MPI_SUCCESS;
}

int MPI_Iallreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    return reduce(mine, all, n, type, op, comm, request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    return reduce(NULL, NULL, 0, MPI_BYTE, MPI_BOR, comm, request);
}

/* Takes a complete reduction's result; the last rank to do so frees it. */
static void take_sum(part *p)
{
    reduction *r = p->of, **link = reductions();

    if (p->bytes > 0) {
        memcpy(p->all, r->sum, p->bytes);
    }
    if (++r->nleft == r->nranks) {
        while (*link != r) {
            link = &(*link)->next;
        }
        *link = r->next;
        __real_free(r->sum);
        __real_free(r);
    }
}

/* True if the request is a reduction's; *done: and it is complete. */
static bool is_reduction(MPI_Request *request, int *done)
{
    part **link = &parts, *p;

    while (*link && (MPI_Request)*link != *request) {
        link = &(*link)->next;
    }
    if (!(p = *link)) {
        return false;
    }
    *done = p->of->ncame == p->of->nranks && simgrid_get_clock() >= p->of->done;
    if (*done) {
        take_sum(p);
        *link = p->next;
        *request = MPI_REQUEST_NULL;
        __real_free(p);
    }
    return true;
}

/* SimGrid does not set the flag for MPI_REQUEST_NULL with MPI_STATUS_IGNORE. */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    int code = MPI_SUCCESS;

    enter(CALL, MPI_COMM_NULL, 0, MPI_BYTE);
    *flag = *request == MPI_REQUEST_NULL;
    if (!is_reduction(request, flag) && !*flag) {
        code = PMPI_Test(request, flag, status);
    }
    leave(flag);
    return code;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int done = 0, code = MPI_SUCCESS;

    enter(CALL, MPI_COMM_NULL, 0, MPI_BYTE);
    if (!is_reduction(request, &done)) {
        code = PMPI_Wait(request, status);
        done = 1;
    }
    leave(&done);
    while (!done) {
        (void)is_reduction(request, &done);
        leave(&done);
    }
    return code;
}

/* ---- memory of a node: its ranks are one process, so the first of them allocates for all ---- */

typedef struct segment {
    char *begin;
    MPI_Aint size;
    int unit;
} segment;

typedef struct window {
    MPI_Win win;
    MPI_Comm comm;
    int nranks, rank;
    char *memory; /* of the first rank */
    segment *of;  /* [nranks] */
    struct window *next;
} window;

static window *windows;

/* Segments begin at cache lines. */
static int divide(window *w, MPI_Aint size, int unit)
{
    segment mine = {NULL, size, unit};
    MPI_Aint total = 0;
    int code = PMPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, w->of, (int)sizeof mine, MPI_BYTE, w->comm);

    for (int r = 0; r < w->nranks; r++) {
        w->of[r].begin = (char *)NULL + total;
        total += (w->of[r].size + 63) / 64 * 64;
    }
    if (w->rank == 0 && __real_posix_memalign((void **)&w->memory, 64, (size_t)total + 64) != 0) {
        w->memory = NULL;
    }
    if (w->memory) {
        memset(w->memory, 0, (size_t)total);
    }
    char *memory = w->memory;
    code = code == MPI_SUCCESS ? PMPI_Bcast(&memory, (int)sizeof memory, MPI_BYTE, 0, w->comm) : code;
    for (int r = 0; r < w->nranks; r++) {
        w->of[r].begin = memory + (w->of[r].begin - (char *)NULL);
    }
    return code != MPI_SUCCESS ? code : memory ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
    window *w = __real_calloc(1, sizeof *w);
    int code;

    enter(BLOCKING, comm, 0, MPI_BYTE);
    w->comm = comm;
    (void)PMPI_Comm_rank(comm, &w->rank);
    (void)PMPI_Comm_size(comm, &w->nranks);
    w->of = __real_calloc((size_t)w->nranks, sizeof *w->of);
    code = divide(w, size, unit);
    if (code == MPI_SUCCESS) {
        memcpy(base, &w->of[w->rank].begin, sizeof(char *));
        code = PMPI_Win_create(w->of[w->rank].begin, size, unit, info, comm, win);
        w->win = *win;
        w->next = windows;
        windows = w;
    }
    leave(NULL);
    return code;
}

int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *unit, void *base)
{
    const window *w = windows;

    while (w && w->win != win) {
        w = w->next;
    }
    if (!w || rank >= w->nranks) {
        return MPI_ERR_WIN;
    }
    for (int r = 0; rank == MPI_PROC_NULL && r < w->nranks; r++) {
        rank = w->of[r].size > 0 ? r : rank;
    }
    rank = rank == MPI_PROC_NULL ? 0 : rank;
    *size = w->of[rank].size;
    *unit = w->of[rank].unit;
    memcpy(base, &w->of[rank].begin, sizeof(char *));
    return MPI_SUCCESS;
}

int MPI_Win_free(MPI_Win *win)
{
    window **link = &windows, *w;
    int code;

    enter(BLOCKING, MPI_COMM_NULL, 0, MPI_BYTE);
    while (*link && (*link)->win != *win) {
        link = &(*link)->next;
    }
    w = *link;
    code = PMPI_Win_free(win); /* all ranks meet in it */
    if (w) {
        *link = w->next;
        __real_free(w->memory);
        __real_free(w->of);
        __real_free(w);
    }
    leave(NULL);
    return code;
}
