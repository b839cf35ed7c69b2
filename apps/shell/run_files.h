/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files of a run: their names, checks that they can be made, and collective writing of one file. */
#ifndef APP_RUN_FILES_H
#define APP_RUN_FILES_H

#include "run_settings.h"

#include <equipoise/more/base.h>

#include <mpi.h>

#include <stdbool.h>

/* Names of the files of --output FILE. FILE without a known ending is the stem of all other names. */
typedef struct app_naming {
    const char *const *ending; /* endings that FILE may have, such as ".hdf5" and ".h5"; NULL ends the list */
    const char *numbered;      /* ending of a numbered snapshot: stem_000012 and this */
    const char *const *each;   /* endings of files written with every snapshot, or NULL; NULL ends the list */
    const char *const *once;   /* endings of files written once for the whole series, or NULL; NULL ends the list */
} app_naming;

/* For apps without --output. */
extern const app_naming app_no_output;

/* Names from `path`: stem and ending; stem, number and ending. Owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
int app_name_with_ending(const app_naming *naming, const char *path, const char *ending, char **name);
int app_name_numbered(const app_naming *naming, const char *path, int64_t step, const char *ending, char **name);

#define APP_RESTART_NAME 64
enum { APP_LOCKS = 6 }; /* output and forces, each with its link's target; report; restart file */

/* Names that a run reserves from start to end. Zeros: none. */
typedef struct app_places {
    char restart[APP_RESTART_NAME]; /* the restart file, on all ranks; rank 0 has the rest */
    int nlocks;
    eqp_lock *lock[APP_LOCKS];
    char *path[APP_LOCKS]; /* of the locks */
    char *made;            /* the report's folder */
    int nmade;             /* folders made for it, itself included */
} app_places;

/* Checks as far as possible in advance that a run's output files can be made, and that no two of them, and none of them
 * and the input, are one file, so that hours of work do not end in "no such directory". Then locks the stems of
 * --output and --forces, the folder of --report and the restart file, and removes temporary files of dead runs. If
 * another run holds the restart file's name, a number is added to it. From now on a signal that ends the run removes
 * the locks (see signals.h), so *places must not move until it is freed. restart: the usual name with its ending; NULL:
 * no restart file. EQP_ERR_IO or EQP_ERR_ARGUMENT with a message, and nothing is left behind. Collective: rank 0 checks
 * and locks. */
int app_places_take(MPI_Comm comm, const char *program, const app_run_settings *run, const app_naming *naming,
                    const char *restart, app_places *places, eqp_message *message);

/* Checks that no output is a file that the run has read, for runs with inputs unknown to app_places_take(). reads: true
 * for such a file. EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT with a message. Local. */
int app_places_spare(const char *program, const app_run_settings *run, const app_naming *naming,
                     bool (*reads)(const void *user, const char *path), const void *user, eqp_message *message);

void app_places_free(app_places *places);

/* True if both paths exist and lead to one file. Local. */
bool app_same_inode(const char *a, const char *b);

/* Snapshots that a run has written so far. Zeros: none. */
typedef struct app_series {
    int64_t n, capacity;
    char **path;  /* [n] owned */
    double *time; /* [n] */
} app_series;

/* Adds a snapshot's name (copied). EQP_OK or EQP_ERR_MEMORY. Local. */
int app_series_add(app_series *series, const char *path, double time);
void app_series_free(app_series *series);

/* This rank's slice of 0 .. n - 1, cut as evenly as possible. Local. */
void app_slice(int64_t n, int rank, int nranks, int64_t *first, int64_t *count);

/* A file that rank 0 writes for all, since a serial HDF5 library serves one process; called only there. */
typedef struct app_file_writer {
    int (*begin)(void *file, eqp_message *message);
    int (*write)(void *file, int64_t n, const void *const *column, eqp_message *message); /* the next n rows */
    int (*finish)(void *file, eqp_message *message);
    void (*discard)(void *file); /* always, after finish() too */
} app_file_writer;

#define APP_FILE_COLUMNS 16

/* Rows of this rank, in any order (borrowed). A row's place in the file is its kind, then its index within the kind;
 * both are >= 0 and all places differ; gaps are allowed. */
typedef struct app_rows {
    int64_t n;
    const int64_t *kind;       /* [n] below EQP_SNAPSHOT_TYPES; NULL: all are of one kind */
    const int64_t *index;      /* [n] */
    const void *const *column; /* words of 8 bytes, [n] each; at most APP_FILE_COLUMNS */
} app_rows;

/* Writes rows by ascending place. Each rank takes up to 9 MB, plus 24 bytes for every 262144 indices of a kind; rank 0
 * takes another 2.1 MB per column. EQP_ERR_INTERNAL for equal places. Collective. */
int app_write_ordered(MPI_Comm comm, const app_file_writer *writer, void *file, int ncolumns, const app_rows *rows,
                      eqp_message *message);

/* Brings records into the order of a file, cut into one run of equal length per rank. A record is `size` bytes, a
 * multiple of 8, and begins with its place in the file, a unique uint64_t below UINT64_MAX. records [n] get sorted by
 * place; *slice (address of a pointer, owned by the caller) [*nslice] in order, starting with record *first of all.
 * Collective; unchanged on error. */
int app_file_order(MPI_Comm comm, size_t size, int64_t n, void *records, int64_t *nslice, void *slice, int64_t *first);

/* A checksum of rows of words, independent of their distribution: sum this over all rows. place: in the file; at: of
 * the first of these words in its row. Local. */
uint64_t app_checksum_row(int64_t place, int at, int nwords, const uint64_t *word);
/* The same for word number `at` of n consecutive rows; faster. */
uint64_t app_checksum_column(int64_t place, int at, int64_t n, const void *word);
/* Sum over all ranks. Collective. */
uint64_t app_checksum_sum(MPI_Comm comm, uint64_t part);

/* A force, on the rank that reports it. */
typedef struct app_force {
    uint64_t place; /* in the order of the input; unique, gaps allowed */
    uint64_t id;
    double force[3];
} app_force;

/* Writes --forces: HDF5 with the datasets ids [total] and forces [total][3] by ascending place. Sorts force [n] of this
 * rank. Collective. */
int app_forces_write(MPI_Comm comm, const char *path, int64_t n, app_force *force, eqp_message *message);

/* The same for rows with the columns id and force in x, y and z. Collective. */
int app_forces_write_rows(MPI_Comm comm, const char *path, const app_rows *rows, eqp_message *message);

#endif
