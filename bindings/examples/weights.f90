! SPDX-License-Identifier: BSD-3-Clause
!> Weights only, in Fortran: items with positions and measured work are assigned to ranks and moved there.
program weights
  use mpi_f08
  use equipoise
  implicit none
  integer, parameter :: most = 5000
  real(real32), allocatable :: x(:, :), mine(:, :)
  real(c_double), allocatable :: seconds(:), my_seconds(:)
  type(eqp_plan) :: plan
  character(len=40) :: method = "sfc"
  real(c_double) :: u, load, total, largest
  integer :: rank, ranks, n, i, a, ierror

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() > 0) call get_command_argument(1, method)

  ! A clump in a thin background; items in the clump take longer. The last rank has no items yet.
  n = merge(0, most, ranks > 1 .and. rank == ranks - 1)
  allocate (x(3, n), seconds(n))
  do i = 1, n
    do a = 1, 3
      u = eqp_random_uniform(1_int64, int(rank * most + i - 1, int64), int(a - 1, int64))
      x(a, i) = real(merge(0.7 + 0.05_c_double * u, u, mod(i, 2) == 1), real32)
    end do
    seconds(i) = merge(3e-6_c_double, 1e-6_c_double, mod(i, 2) == 1)
  end do

  call eqp_plan_balance(MPI_COMM_WORLD, method, x, plan, ierror, weight=seconds)
  allocate (mine(3, plan%nrecv), my_seconds(plan%nrecv))
  if (ierror == EQP_OK) call eqp_plan_send(plan, x, mine, ierror)
  if (ierror == EQP_OK) call eqp_plan_send(plan, seconds, my_seconds, ierror)
  if (ierror /= EQP_OK) then
    print '(2a)', "weights: ", eqp_error_text(ierror)
    error stop 1
  end if

  call eqp_plan_free(plan)
  load = sum(my_seconds)
  call MPI_Allreduce(load, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Allreduce(load, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  if (rank == 0) print '(a,f4.2,a)', "imbalance ", 100 * (largest * ranks / total - 1), "%"
  call MPI_Finalize()
  if (largest * ranks > 1.021_c_double * total .or. size(mine, 2) /= size(my_seconds)) error stop 1
end program weights
