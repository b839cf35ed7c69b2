/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that take a communicator, for Fortran, where it is an integer: only C can turn one into the other. */
#include <equipoise/balancer.h>
#include <equipoise/par.h>
#include <equipoise/points.h>

int eqp_fortran_balance_points(MPI_Fint comm, const eqp_method *method, const eqp_points *points,
                               const eqp_balance_options *options, int *part, eqp_balance_result *result);
int eqp_fortran_send_records(MPI_Fint comm, size_t element_size, int64_t n, const int *dest, const void *send,
                             int64_t *nrecv, void *recv);
int eqp_fortran_gather_records(MPI_Fint comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv,
                               void *recv);
int eqp_fortran_regions_create(MPI_Fint comm, const eqp_points *points, const int *part, int nparts,
                               eqp_regions **regions);
int eqp_fortran_balancer_create(MPI_Fint comm, const eqp_problem *problem, const eqp_balancer_options *options,
                                eqp_balancer **balancer, eqp_message *message);

int eqp_fortran_balance_points(MPI_Fint comm, const eqp_method *method, const eqp_points *points,
                               const eqp_balance_options *options, int *part, eqp_balance_result *result)
{
    return eqp_balance_points(MPI_Comm_f2c(comm), method, points, options, part, result);
}

int eqp_fortran_send_records(MPI_Fint comm, size_t element_size, int64_t n, const int *dest, const void *send,
                             int64_t *nrecv, void *recv)
{
    return eqp_send_records(MPI_Comm_f2c(comm), element_size, n, dest, send, nrecv, recv);
}

int eqp_fortran_gather_records(MPI_Fint comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv,
                               void *recv)
{
    return eqp_gather_records(MPI_Comm_f2c(comm), element_size, n, send, nrecv, recv);
}

int eqp_fortran_regions_create(MPI_Fint comm, const eqp_points *points, const int *part, int nparts,
                               eqp_regions **regions)
{
    return eqp_regions_create(MPI_Comm_f2c(comm), points, part, nparts, regions);
}

int eqp_fortran_balancer_create(MPI_Fint comm, const eqp_problem *problem, const eqp_balancer_options *options,
                                eqp_balancer **balancer, eqp_message *message)
{
    return eqp_balancer_create(MPI_Comm_f2c(comm), problem, options, balancer, message);
}
