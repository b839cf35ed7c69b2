/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes rows that ranks hold in any order by ascending place, one window of the file after another. Each rank needs
 * memory for a few windows, whatever the file's size. A rank sleeps until rank 0 invites it to send its rows, because
 * MPI's busy waiting takes a core from rank 0, which writes. */
#include "run_files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/snapshot.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WINDOW = 1 << 18,   /* places of a window; large enough that rows of a rank share cache lines */
    LISTED = 1 << 20,   /* rows that a rank looks up at once; at least one window's */
    BLOCK = 1 << 13,    /* rows written at once */
    STRIDE = BLOCK + 8, /* words between columns; with a power of two all columns would share cache sets */
    PIECE = 1 << 11,    /* rows of a message */
    INVITED =
        2 * PIECE,  /* rows that invited ranks hold ready, so that a sleeper wakes while the ranks before it send */
    PAUSE = 500000, /* nanoseconds between two tests of a request */
    TAG = 78
};

typedef struct ordering {
    MPI_Comm comm;
    int me, nranks;
    int ncolumns;
    const app_rows *rows;
    int64_t per_kind, nwindows; /* windows of one kind, of all kinds */
    int64_t *count, *total;     /* [nwindows] rows of this rank, of all ranks */
    int64_t *end;               /* [nwindows] end of each listed window's rows in `list` */
    int64_t listed;             /* windows below this are listed or done */
    int64_t *list;              /* [LISTED] this rank's rows, window by window */
    uint64_t *piece;            /* [PIECE][1 + ncolumns] rows on their way: the place in the window, then the columns */
    int64_t *coming;            /* rank 0: [nranks] rows of the present window */
    bool *filled;               /* rank 0: [WINDOW] */
    uint64_t *window;           /* rank 0: [WINDOW][ncolumns] */
    uint64_t *block;            /* rank 0: [ncolumns][STRIDE] */
} ordering;

static int64_t window_of(const ordering *o, int64_t i)
{
    const int64_t kind = o->rows->kind != NULL ? o->rows->kind[i] : 0;

    return kind * o->per_kind + o->rows->index[i] / WINDOW;
}

/* Counts windows and the rows in each. Collective. */
static int count_rows(ordering *o)
{
    const app_rows *rows = o->rows;
    int64_t most[2] = {-1, -1};
    int code = EQP_OK;

    for (int64_t i = 0; i < rows->n; i++) {
        const int64_t kind = rows->kind != NULL ? rows->kind[i] : 0;
        most[0] = kind > most[0] ? kind : most[0];
        most[1] = rows->index[i] > most[1] ? rows->index[i] : most[1];
        code = kind < 0 || kind >= EQP_SNAPSHOT_TYPES || rows->index[i] < 0 ? EQP_ERR_INTERNAL : code;
    }
    EQP_TRY(eqp_agree(o->comm, code, NULL));
    EQP_TRY(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT64_T, MPI_MAX, o->comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
    o->per_kind = most[1] >= 0 ? most[1] / WINDOW + 1 : 0;
    o->nwindows = (most[0] + 1) * o->per_kind;
    code = eqp_array_create(&o->count, o->nwindows, sizeof *o->count);
    code = code == EQP_OK ? eqp_array_create(&o->total, o->nwindows, sizeof *o->total) : code;
    code = code == EQP_OK ? eqp_array_create(&o->end, o->nwindows, sizeof *o->end) : code;
    EQP_TRY(eqp_agree(o->comm, code, NULL));
    for (int64_t i = 0; i < rows->n; i++) {
        o->count[window_of(o, i)]++;
    }
    memcpy(o->total, o->count, (size_t)o->nwindows * sizeof *o->total);
    EQP_TRY(eqp_sum_int64(o->comm, o->nwindows, o->total));
    for (int64_t w = 0; w < o->nwindows; w++) {
        code = o->total[w] > WINDOW ? EQP_ERR_INTERNAL : code; /* two rows have one place */
    }
done:
    return code;
}

static int create_buffers(ordering *o)
{
    EQP_CHECK(eqp_array_create(&o->list, o->rows->n < LISTED ? o->rows->n : LISTED, sizeof *o->list));
    EQP_CHECK(eqp_array_create(&o->piece, o->nranks > 1 ? (int64_t)PIECE * (1 + o->ncolumns) : 0, sizeof *o->piece));
    if (o->me == 0) {
        EQP_CHECK(eqp_array_create(&o->coming, o->nranks, sizeof *o->coming));
        EQP_CHECK(eqp_array_create(&o->filled, WINDOW, sizeof *o->filled));
        EQP_CHECK(eqp_array_create(&o->window, (int64_t)WINDOW * o->ncolumns, sizeof *o->window));
        EQP_CHECK(eqp_array_create(&o->block, (int64_t)STRIDE * o->ncolumns, sizeof *o->block));
    }
    return EQP_OK;
}

static void free_ordering(ordering *o)
{
    free(o->block);
    free(o->window);
    free(o->filled);
    free(o->coming);
    free(o->piece);
    free(o->list);
    free(o->end);
    free(o->total);
    free(o->count);
}

/* Looks up the rows of this window and of following ones while they fit. */
static void list_rows(ordering *o, int64_t window)
{
    int64_t n = 0, w = window;

    for (; w < o->nwindows && n + o->count[w] <= LISTED; w++) {
        o->end[w] = n;
        n += o->count[w];
    }
    o->listed = w;
    for (int64_t i = 0; i < o->rows->n && n > 0; i++) {
        w = window_of(o, i);
        if (w >= window && w < o->listed) {
            o->list[o->end[w]++] = i;
        }
    }
}

static uint64_t place_of(const ordering *o, int64_t row)
{
    return (uint64_t)o->rows->index[row] % WINDOW;
}

static void take_row(const ordering *o, int64_t row, uint64_t *to)
{
    for (int c = 0; c < o->ncolumns; c++) {
        memcpy(&to[c], (const char *)o->rows->column[c] + 8 * row, 8);
    }
}

static void sleep_until(MPI_Request *request)
{
    const struct timespec pause = {0, PAUSE};
    int done = 0;

    while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        (void)nanosleep(&pause, NULL);
    }
}

static void send_rows(ordering *o, int64_t n, const int64_t *row)
{
    MPI_Request invitation;

    MPI_Send(&n, 1, MPI_INT64_T, 0, TAG, o->comm);
    if (n > 0) {
        MPI_Irecv(NULL, 0, MPI_INT64_T, 0, TAG, o->comm, &invitation);
        sleep_until(&invitation);
    }
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t now = n - at < PIECE ? n - at : PIECE;

        for (int64_t k = 0; k < now; k++) {
            uint64_t *to = o->piece + k * (1 + o->ncolumns);
            to[0] = place_of(o, row[at + k]);
            take_row(o, row[at + k], to + 1);
        }
        MPI_Send(o->piece, (int)((1 + o->ncolumns) * now), MPI_UINT64_T, 0, TAG, o->comm);
    }
}

static void take_piece(ordering *o, int from, int64_t now)
{
    MPI_Recv(o->piece, (int)((1 + o->ncolumns) * now), MPI_UINT64_T, from, TAG, o->comm, MPI_STATUS_IGNORE);
    for (int64_t k = 0; k < now; k++) {
        const uint64_t *from_row = o->piece + k * (1 + o->ncolumns);
        o->filled[from_row[0]] = true;
        memcpy(o->window + from_row[0] * (uint64_t)o->ncolumns, from_row + 1, (size_t)o->ncolumns * sizeof *from_row);
    }
}

static void take_rows(ordering *o)
{
    int64_t ready = 0; /* rows that invited ranks have yet to send */
    int invited = 1;

    for (int r = 1; r < o->nranks; r++) {
        MPI_Recv(&o->coming[r], 1, MPI_INT64_T, r, TAG, o->comm, MPI_STATUS_IGNORE);
    }
    for (int r = 1; r < o->nranks; r++) {
        for (int64_t n = o->coming[r]; n > 0; n -= PIECE) {
            for (; invited < o->nranks && (invited <= r || ready < INVITED); invited++) {
                if (o->coming[invited] > 0) {
                    MPI_Send(NULL, 0, MPI_INT64_T, invited, TAG, o->comm);
                    ready += o->coming[invited];
                }
            }
            take_piece(o, r, n < PIECE ? n : PIECE);
            ready -= n < PIECE ? n : PIECE;
        }
    }
}

static void place_own(ordering *o, int64_t n, const int64_t *row)
{
    for (int64_t k = 0; k < n; k++) {
        const uint64_t place = place_of(o, row[k]);
        o->filled[place] = true;
        take_row(o, row[k], o->window + place * (uint64_t)o->ncolumns);
    }
}

/* Writes a window's rows and skips places without rows. */
static int write_window(ordering *o, int64_t expected, const app_file_writer *writer, void *file, eqp_message *message)
{
    const void *column[APP_FILE_COLUMNS];
    int64_t n = 0, written = 0;
    int code = EQP_OK;

    for (int c = 0; c < o->ncolumns; c++) {
        column[c] = o->block + c * STRIDE;
    }
    for (int64_t place = 0; place < WINDOW && code == EQP_OK && written < expected; place++) {
        for (int c = 0; c < o->ncolumns && o->filled[place]; c++) {
            o->block[c * STRIDE + n] = o->window[place * o->ncolumns + c];
        }
        n += o->filled[place];
        if (n == BLOCK || written + n == expected) {
            code = writer->write(file, n, column, message);
            written += n;
            n = 0;
        }
    }
    memset(o->filled, 0, WINDOW * sizeof *o->filled);
    return code == EQP_OK && written < expected ? EQP_ERR_INTERNAL : code;
}

/* After an error rank 0 stops writing but receives all rows, because the senders do not know of it. */
static int write_windows(ordering *o, const app_file_writer *writer, void *file, eqp_message *message)
{
    int code = EQP_OK;

    for (int64_t w = 0; w < o->nwindows; w++) {
        if (o->total[w] == 0) {
            continue;
        }
        if (w >= o->listed) {
            list_rows(o, w);
        }
        const int64_t *row = o->list + o->end[w] - o->count[w];
        if (o->me > 0) {
            send_rows(o, o->count[w], row);
            continue;
        }
        place_own(o, o->count[w], row);
        take_rows(o);
        code = code == EQP_OK ? write_window(o, o->total[w], writer, file, message) : code;
    }
    return code;
}

/* Sleeps until all ranks arrive; rank 0 writes the file and comes last. Returns code, or EQP_ERR_MPI. Collective. */
static int sleep_until_all(MPI_Comm comm, int code)
{
    MPI_Request all;

    if (MPI_Ibarrier(comm, &all) != MPI_SUCCESS) {
        return code != EQP_OK ? code : EQP_ERR_MPI;
    }
    sleep_until(&all);
    return code;
}

int app_write_ordered(MPI_Comm comm, const app_file_writer *writer, void *file, int ncolumns, const app_rows *rows,
                      eqp_message *message)
{
    ordering o = {.comm = comm, .ncolumns = ncolumns, .rows = rows};
    bool begun = false;
    int code;

    MPI_Comm_rank(comm, &o.me);
    MPI_Comm_size(comm, &o.nranks);
    EQP_TRY(count_rows(&o));
    code = create_buffers(&o);
    EQP_TRY(eqp_agree(comm, code, message));
    begun = o.me == 0;
    EQP_TRY(eqp_agree(comm, begun ? writer->begin(file, message) : EQP_OK, message));
    code = write_windows(&o, writer, file, message);
    code = code == EQP_OK && begun ? writer->finish(file, message) : code;
    code = sleep_until_all(comm, code);
    code = eqp_agree(comm, code, message);
done:
    if (begun) {
        writer->discard(file);
    }
    free_ordering(&o);
    return code;
}
