/* SPDX-License-Identifier: BSD-3-Clause */
/* C wrappers for Fortran: functions that take a communicator, which is an integer in Fortran and which only C can
 * convert, and functions that take arrays of any type by their Fortran descriptors. */
#include <ISO_Fortran_binding.h>
#include <equipoise/balancer.h>
#include <equipoise/more/comm.h>
#include <equipoise/points.h>

/* A function that Fortran calls: bindings/structs.py reads its declaration. */
#define EXPORT(declaration)                                                                                            \
    declaration;                                                                                                       \
    declaration

/* A function of C whose communicator is converted. */
#define WITH_COMM(name, parameters, ...)                                                                               \
    int eqp_fortran_##name parameters;                                                                                 \
    int eqp_fortran_##name parameters                                                                                  \
    {                                                                                                                  \
        return eqp_##name(MPI_Comm_f2c(comm), __VA_ARGS__);                                                            \
    }

WITH_COMM(send_records,
          (MPI_Fint comm, size_t element_size, int64_t n, const int *dest, const void *send, int64_t *nrecv,
           void **recv),
          element_size, n, dest, send, nrecv, recv)
WITH_COMM(gather_records,
          (MPI_Fint comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv, void **recv), element_size,
          n, send, nrecv, recv)
WITH_COMM(regions_create,
          (MPI_Fint comm, const eqp_points *points, const int *part, int nparts, eqp_regions **regions,
           eqp_message *message),
          points, part, nparts, regions, message)
WITH_COMM(cut_keys,
          (MPI_Fint comm, int64_t n, const uint64_t *key, const double *work, int *part, eqp_message *message), n, key,
          work, part, message)
WITH_COMM(balancer_create,
          (MPI_Fint comm, const eqp_problem *problem, const eqp_balancer_options *options, eqp_balancer **balancer,
           eqp_message *message),
          problem, options, balancer, message)

/* The method that a word from Fortran names, or NULL, an error code and its message. */
typedef struct reading {
    int code;
    const eqp_method *method;
    eqp_balance_options options; /* the caller's options and those of the word */
    eqp_message why;
} reading;

static reading read_word(const char *word, const eqp_balance_options *options)
{
    reading r = {.method = NULL, .options = *options};

    r.code = eqp_method_read(word, &r.method, &r.options.settings, &r.why);
    return r;
}

/* Returns the code of a call, which is the same on all ranks. If a rank could not read its word, all get its message.
 */
static int tell_why(MPI_Comm comm, int code, reading *r)
{
    if (code == EQP_ERR_ARGUMENT && comm != MPI_COMM_NULL &&
        eqp_agree(comm, r->code != EQP_OK ? r->code : EQP_ERR_REMOTE, &r->why) != EQP_ERR_REMOTE &&
        r->options.message != NULL) {
        *r->options.message = r->why;
    }
    return code;
}

/* Bytes per item of an array of n items that are contiguous along the last dimension; 0 for any other array, or for a
 * descriptor of another compiler. */
static size_t item_bytes(const CFI_cdesc_t *array, int64_t n)
{
    size_t bytes;

    if (array->version != CFI_VERSION || array->rank < 1 || array->dim[array->rank - 1].extent != n) {
        return 0;
    }
    bytes = array->elem_len;
    for (int d = 0; d < array->rank; d++) {
        if (array->dim[d].extent > 1 && n > 0 && array->dim[d].sm != (CFI_index_t)bytes) {
            return 0;
        }
        bytes *= d < array->rank - 1 ? (size_t)array->dim[d].extent : 1;
    }
    return bytes;
}

EXPORT(int eqp_fortran_walls(MPI_Fint comm, const char *word, const eqp_points *points,
                             const eqp_balance_options *options, const eqp_walls_options *how, int grid[3],
                             eqp_regions **regions))
{
    reading r = read_word(word, options);
    const int code = eqp_walls(MPI_Comm_f2c(comm), r.method, points, &r.options, how, grid, regions);

    return tell_why(MPI_Comm_f2c(comm), code, &r);
}

EXPORT(int eqp_fortran_verify_records(MPI_Fint comm, int64_t n, const int64_t *id, const CFI_cdesc_t *record,
                                      uint64_t sum[2], eqp_message *message))
{
    const size_t bytes = record != NULL ? item_bytes(record, n) : 0;

    return eqp_verify_records(MPI_Comm_f2c(comm), record != NULL && bytes == 0 ? -1 : n, id, bytes,
                              record != NULL ? record->base_addr : NULL, sum, message);
}

EXPORT(int eqp_fortran_plan_create(MPI_Fint comm, int64_t n, const int *dest, eqp_move_plan **plan, int64_t *count,
                                   int64_t *narriving))
{
    eqp_move_plan *made = NULL;
    int nranks = 0, code = MPI_Comm_size(MPI_Comm_f2c(comm), &nranks) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;

    code = code == EQP_OK ? eqp_move_plan_create(n, dest, nranks, &made) : code;
    const int agreed =
        eqp_move_counts(MPI_Comm_f2c(comm), made, count, narriving); /* fails everywhere if one has no plan */
    if (agreed != EQP_OK) {
        eqp_move_plan_free(made);
        return code != EQP_OK ? code : agreed;
    }
    *plan = made;
    return EQP_OK;
}

EXPORT(int eqp_fortran_plan_move(MPI_Fint comm, const eqp_move_plan *plan, const int64_t *count, int64_t nsend,
                                 int64_t nrecv, bool back, const CFI_cdesc_t *send, CFI_cdesc_t *recv))
{
    const size_t bytes = item_bytes(send, nsend);
    int (*const move)(MPI_Comm, const eqp_move_plan *, const int64_t *, size_t, const void *, void *) =
        back ? eqp_move_return : eqp_move_apply;

    return move(MPI_Comm_f2c(comm), plan, count, item_bytes(recv, nrecv) == bytes ? bytes : 0, send->base_addr,
                recv->base_addr);
}

EXPORT(int eqp_fortran_balance_points(MPI_Fint comm, const char *word, const eqp_points *points,
                                      const eqp_balance_options *options, int *part, eqp_balance_result *result))
{
    reading r = read_word(word, options);
    const int code = eqp_balance_points(MPI_Comm_f2c(comm), r.method, points, &r.options, part, result);

    return tell_why(MPI_Comm_f2c(comm), code, &r);
}
