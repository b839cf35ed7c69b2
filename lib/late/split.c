/* SPDX-License-Identifier: BSD-3-Clause */
/* Roles of ranks (application, balancers, hosts of threads): setup and leaving. */
#define _POSIX_C_SOURCE 200809L
#include "late/lazy.h"

#include "base/internal.h"
#include "comm/agree.h"

#include <equipoise/more/comm.h>

#include <limits.h>
#include <signal.h>
#include <unistd.h>

bool eqp_lazy_serves(const eqp_lazy *lazy)
{
    return lazy != NULL && lazy->serves;
}

int eqp_lazy_balancers(const eqp_lazy *lazy)
{
    return lazy != NULL ? lazy->nservers : 0;
}

eqp_lazy_options eqp__lazy_settings(const eqp_lazy *lazy)
{
    return lazy != NULL ? lazy->options : eqp_lazy_options_defaults();
}

int eqp_lazy_host(eqp_lazy *lazy, eqp_lazy_make_fn make, void *user)
{
    EQP__FAIL_IF(lazy == NULL || make == NULL || lazy->serves, EQP_ERR_ARGUMENT);
    lazy->make = make;
    lazy->user = user;
    return EQP_OK;
}

static bool can_be(const eqp_lazy_options *o)
{
    return o != NULL && o->size == sizeof *o && o->mode >= EQP_LAZY_NONE && o->mode <= EQP_LAZY_BY_RANKS &&
           o->balancers >= 0 && o->wait >= -1 && (o->delay == -1 || o->delay >= 1) && o->repair >= -1 &&
           isfinite(o->patience) && o->patience > 0 && !(o->wait >= 0 && o->delay >= 0) &&
           !(o->mode == EQP_LAZY_BY_RANKS && o->balancers == 0 && o->delay < 0);
}

static int64_t print_of(const eqp_lazy_options *o)
{
    const int64_t word[] = {o->mode,   o->balancers, o->wait, o->delay, o->repair, eqp__bits_of(o->patience),
                            o->spread, o->choose};

    return eqp_fingerprint(0, (int64_t)(sizeof word / sizeof word[0]), word);
}

/* Start time of a process in system ticks; 0: unknown, or it has ended. */
static int64_t start_of(int64_t pid)
{
    char name[64], line[1024], state = 'Z';
    long long start = 0;
    FILE *file;

    snprintf(name, sizeof name, "/proc/%lld/stat", (long long)pid);
    file = fopen(name, "r");
    if (file == NULL) {
        return 0;
    }
    const size_t n = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file);
    line[n] = '\0';
    const char *at = strrchr(line, ')'); /* the name before it may contain anything */
    if (at == NULL || sscanf(at + 1, " %c", &state) != 1 || state == 'Z' || state == 'X') {
        return 0;
    }
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL && sscanf(at, "%lld", &start) == 1 ? start : 0;
}

bool eqp__lazy_has_ended(const eqp_lazy *lazy)
{
    const eqp__lazy_process *of = &lazy->process;

    return of->node == lazy->node && of->start != 0 && start_of(of->pid) != of->start;
}

/* Processes of all ranks; a node is numbered by its first rank. [ranks] owned by the caller. */
static int find_processes(MPI_Comm comm, int nranks, eqp__lazy_process **processes)
{
    eqp__lazy_process mine = {getpid(), start_of(getpid()), 0}, *all = NULL;
    MPI_Comm node = MPI_COMM_NULL;
    int rank, first, code = EQP_OK;

    MPI_Comm_rank(comm, &rank);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&all, nranks, sizeof *all), NULL));
    code = EQP_ERR_MPI;
    first = rank;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) == MPI_SUCCESS &&
        MPI_Bcast(&first, 1, MPI_INT, 0, node) == MPI_SUCCESS) {
        mine.node = first;
        code = MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, comm) == MPI_SUCCESS
                   ? EQP_OK
                   : EQP_ERR_MPI;
    }
done:
    eqp_comm_free(&node);
    if (code != EQP_OK) {
        free(all);
        return code;
    }
    *processes = all;
    return EQP_OK;
}

/* Chooses the last ranks, or the last ones of each node in turn. serves: [nranks] zeros. */
static void choose_balancers(const eqp_lazy_options *o, int nranks, const eqp__lazy_process *process, bool *serves)
{
    int chosen = 0;

    for (int r = nranks - 1; r >= 0 && !o->spread && chosen < o->balancers; r--, chosen++) {
        serves[r] = true;
    }
    while (o->spread && chosen < o->balancers) { /* one round over the nodes, numbered by their first ranks */
        for (int node = 0; node < nranks && chosen < o->balancers; node++) {
            int r = nranks - 1;
            while (r >= 0 && (process[r].node != node || serves[r])) {
                r--;
            }
            if (process[node].node == node && r >= 0) {
                serves[r] = true;
                chosen++;
            }
        }
    }
}

static int set_client(eqp_lazy *lazy, int64_t n, bool whole)
{
    eqp__lazy_client *const client = &lazy->client;

    EQP_CHECK(EQP__ARRAYS(EQP__ARRAY(client->to, n), EQP__ARRAY(client->out, n), EQP__ARRAY(client->leaving, n)));
    for (int64_t i = 0; i < n; i++) {
        client->out[i] = (eqp__lazy_letter){NULL, MPI_REQUEST_NULL};
    }
    client->n = n;
    client->whole = whole;
    return EQP_OK;
}

/* Connects napp application ranks and n balancers: each balancer answers a consecutive range of ranks; surplus
 * balancers answer none and only learn when to start. app, serving: their ranks in `talk`. */
static int connect_ranks(eqp_lazy *lazy, const int *app, const int *serving)
{
    const int64_t napp = lazy->napp, n = lazy->nservers, usable = n < napp ? n : napp;
    eqp__lazy_source *source = NULL;
    int code;

    if (!lazy->serves) {
        const int64_t a = lazy->rank, first = (usable * (a + 1) - 1) / napp;
        EQP_TRY(set_client(lazy, n > napp ? 1 + (n - 1 - a) / napp : 1, false));
        lazy->client.to[0] = serving[first];
        for (int64_t i = 1; i < lazy->client.n; i++) {
            lazy->client.to[i] = serving[a + i * napp];
        }
        lazy->client.server = serving[first];
        return EQP_OK;
    }
    const int64_t s = lazy->rank, begin = s < usable ? s * napp / usable : s % napp,
                  end = s < usable ? (s + 1) * napp / usable : begin + 1;
    EQP_TRY(eqp_array_create(&source, end - begin, sizeof *source));
    for (int64_t i = begin; i < end; i++) {
        source[i - begin] =
            (eqp__lazy_source){.at = app[i], .rank = (int)i, .counts = s < usable, .answer = s < usable};
    }
    EQP_TRY(eqp__lazy_server_create(end - begin, source, false, &lazy->server));
    source = NULL;
done:
    free(source);
    return code;
}

static int divide(eqp_lazy *lazy, MPI_Comm *mine)
{
    eqp__lazy_process *process = NULL;
    bool *serves = NULL;
    int *place = NULL, rank, nranks, napp = 0, nserving = 0, code;

    MPI_Comm_rank(lazy->talk, &rank);
    MPI_Comm_size(lazy->talk, &nranks);
    EQP_TRY(find_processes(lazy->talk, nranks, &process));
    code = eqp_array_create(&serves, nranks, sizeof *serves);
    code = code == EQP_OK ? eqp_array_create(&place, nranks, sizeof *place) : code;
    EQP_TRY(eqp_agree(lazy->talk, code, NULL));
    choose_balancers(&lazy->options, nranks, process, serves);
    lazy->nservers = lazy->options.balancers;
    lazy->napp = nranks - lazy->nservers;
    lazy->serves = serves[rank];
    for (int r = 0; r < nranks; r++) {
        place[serves[r] ? lazy->napp + nserving++ : napp++] = r;
    }
    EQP_TRY(MPI_Comm_split(lazy->talk, serves[rank], rank, mine) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
    MPI_Comm_set_errhandler(*mine, MPI_ERRORS_RETURN);
    MPI_Comm_rank(*mine, &lazy->rank);
    EQP_TRY(eqp_agree(lazy->talk, connect_ranks(lazy, place, place + lazy->napp), NULL));
    lazy->node = process[rank].node;
    lazy->process = lazy->serves ? process[rank] : process[lazy->client.server];
done:
    EQP__FREE(place, serves, process);
    return code;
}

/* A host receives offers from all ranks and answers those of its node. */
static int make_host(eqp_lazy *lazy, const eqp__lazy_process *process)
{
    eqp__lazy_source *source = NULL;
    int code;

    EQP_TRY(eqp_array_create(&source, lazy->napp, sizeof *source));
    for (int r = 0; r < lazy->napp; r++) {
        const bool near = !lazy->options.spread || process[r].node == process[lazy->rank].node;
        source[r] = (eqp__lazy_source){.at = r, .rank = r, .counts = true, .answer = near};
    }
    EQP_TRY(eqp__lazy_server_create(lazy->napp, source, true, &lazy->server));
    source = NULL;
done:
    free(source);
    return code;
}

static int connect_hosts(eqp_lazy *lazy, const eqp__lazy_process *process)
{
    eqp__lazy_client *const client = &lazy->client;
    int code = EQP_OK, n = 0;

    client->server = lazy->options.spread ? (int)process[lazy->rank].node : 0;
    EQP_TRY(set_client(lazy, lazy->nservers, true));
    client->to[n++] = client->server;
    for (int r = 0; r < lazy->napp && lazy->options.spread; r++) {
        if (process[r].node == r && r != client->server) {
            client->to[n++] = r;
        }
    }
    EQP_TRY(client->server == lazy->rank ? make_host(lazy, process) : EQP_OK);
done:
    return code;
}

/* For threads: all ranks belong to the application. */
static int find_hosts(eqp_lazy *lazy)
{
    eqp__lazy_process *process = NULL;
    int code = find_processes(lazy->talk, lazy->napp, &process);

    if (code == EQP_OK) {
        lazy->nservers = lazy->options.spread ? 0 : 1;
        for (int r = 0; r < lazy->napp && lazy->options.spread; r++) {
            lazy->nservers += process[r].node == r;
        }
        code = eqp_agree(lazy->talk, connect_hosts(lazy, process), NULL);
    }
    free(process);
    return code;
}

static void lazy_free(eqp_lazy *lazy)
{
    eqp__lazy_client *const client = &lazy->client;

    if (lazy->server != NULL) {
        eqp__lazy_worker_free(lazy->server->worker);
    }
    eqp__lazy_server_free(lazy->server);
    EQP__FREE(client->to, client->out, client->leaving, client->answer.bytes, client->mine.data, client->room);
    eqp_comm_free(&lazy->mine);
    eqp_comm_free(&lazy->talk);
    free(lazy);
}

/* talk: taken over. */
static int make_lazy(MPI_Comm *talk, const eqp_lazy_options *options, MPI_Comm *mine, eqp_lazy **made)
{
    eqp_lazy *lazy = NULL;
    int code = eqp_agree(*talk, eqp_array_create(&lazy, 1, sizeof *lazy), NULL);

    if (code != EQP_OK) {
        free(lazy);
        return code;
    }
    *lazy = (eqp_lazy){.options = *options, .talk = *talk, .mine = MPI_COMM_NULL, .polling = MPI_REQUEST_NULL};
    lazy->client.state = (eqp_lazy_state){.wait = options->wait, .delay = options->delay};
    lazy->client.in = lazy->client.answer = (eqp__lazy_letter){NULL, MPI_REQUEST_NULL};
    *talk = MPI_COMM_NULL;
    if (options->mode == EQP_LAZY_BY_RANKS && options->balancers > 0) {
        code = divide(lazy, mine);
    } else {
        MPI_Comm_rank(lazy->talk, &lazy->rank);
        MPI_Comm_size(lazy->talk, &lazy->napp);
        EQP_TRY(eqp_comm_create(lazy->talk, mine));
        EQP_TRY(options->mode == EQP_LAZY_BY_THREAD ? find_hosts(lazy) : EQP_OK);
    }
    EQP_TRY(code);
    EQP_TRY(eqp_comm_create(*mine, &lazy->mine));
    MPI_Comm_size(lazy->mine, &lazy->nranks);
    *made = lazy;
    return EQP_OK;
done:
    lazy_free(lazy);
    eqp_comm_free(mine);
    return code;
}

int eqp_lazy_split(MPI_Comm world, const eqp_lazy_options *options, MPI_Comm *mine, eqp_lazy **lazy,
                   eqp_message *message)
{
    MPI_Comm talk = MPI_COMM_NULL, own = MPI_COMM_NULL;
    eqp_lazy *made = NULL;
    int nranks, code = eqp__comm_dup(world, &talk);

    if (code != EQP_OK) {
        return code;
    }
    MPI_Comm_size(talk, &nranks);
    code = can_be(options) && mine != NULL && lazy != NULL ? EQP_OK : EQP_ERR_ARGUMENT;
    EQP_TRY(eqp__agree_alike(talk, code, code == EQP_OK ? print_of(options) : 0));
    if (options->mode == EQP_LAZY_BY_RANKS && options->balancers >= nranks) {
        eqp_message_set(message, "%d of %d ranks as balancers leave none for the application", options->balancers,
                        nranks);
        EQP_TRY(EQP_ERR_ARGUMENT);
    }
    EQP_TRY(options->mode >= EQP_LAZY_BY_THREAD ? make_lazy(&talk, options, &own, &made) : eqp_comm_create(talk, &own));
    *mine = own;
    *lazy = made;
done:
    eqp_comm_free(&talk);
    if (code != EQP_OK && message != NULL && message->text[0] == '\0') {
        eqp_message_set(message, "lazy maps: %s", eqp_error_text(code));
    }
    return code;
}

/* Kills a balancer that does not answer, since the launcher would wait for it. eqp_lazy_leave() documents this. */
static void end_process(const eqp_lazy *lazy)
{
    const eqp__lazy_process *of = &lazy->process;

    if (of->node == lazy->node && of->pid > 1 && of->start != 0 && start_of(of->pid) == of->start) {
        (void)kill((pid_t)of->pid, SIGKILL);
    }
}

/* Waits until all servers know that all have left, and hosts have no clients. */
static bool part(eqp_lazy *lazy)
{
    const bool ranks = lazy->options.mode == EQP_LAZY_BY_RANKS;
    const double begin = eqp_wall_seconds();
    long pause = 0;
    bool bye = false, ended = false;

    while (!bye && !lazy->client.gone && !(ranks && (eqp_wall_seconds() - begin > lazy->options.patience || ended))) {
        const bool ends = lazy->server == NULL || eqp__lazy_server_ends(lazy);
        bye = eqp__lazy_says_bye(lazy) && ends;
        ended = !bye && eqp__lazy_has_ended(lazy); /* its last message may still arrive */
        if (!bye && !ended) {
            eqp__lazy_rest(&pause);
        }
    }
    return bye || (ended && eqp__lazy_says_bye(lazy));
}

int eqp_lazy_leave(eqp_lazy **lazy, bool *lost)
{
    EQP__FAIL_IF(lazy == NULL, EQP_ERR_ARGUMENT);
    eqp_lazy *const leaving = *lazy;
    int gone = 0;

    if (leaving != NULL && leaving->polling != MPI_REQUEST_NULL) {
        (void)MPI_Wait(&leaving->polling, MPI_STATUS_IGNORE);
    }
    if (leaving != NULL && !leaving->serves && leaving->client.n > 0) {
        gone = leaving->client.state.phase == EQP_LAZY_LOST || !part(leaving);
        (void)MPI_Allreduce(MPI_IN_PLACE, &gone, 1, MPI_INT, MPI_MAX, leaving->mine);
    }
    if (leaving != NULL && gone) { /* keep buffers that a letter may still arrive in */
        end_process(leaving);
        eqp_comm_free(&leaving->mine);
    } else if (leaving != NULL) {
        lazy_free(leaving);
    }
    *lazy = NULL;
    if (lost != NULL) {
        *lost = gone != 0;
    }
    return EQP_OK;
}
