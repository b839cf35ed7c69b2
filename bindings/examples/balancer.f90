! SPDX-License-Identifier: BSD-3-Clause
!> The balancer object in Fortran: a clump moves through the cells of a box, and each rank owns whole cells.
!! usage: balancer [METHOD [STEPS]]
module cells
  use mpi_f08
  use equipoise
  implicit none
  integer, parameter :: m = 12, ncells = m**3 !< cells along an edge of the unit box; all cells
  type(MPI_Comm) :: comm
  type(eqp_balancer) :: balancer
  integer :: rank, ranks
  integer(c_int64_t) :: now = 0, looked = 0 !< step; interactions of this rank in it
  integer(c_int) :: home(0:ncells - 1)      !< rank of each cell, on all ranks
  real(c_double) :: force = 0

contains

  pure function centre_of(c) result(x)
    integer, intent(in) :: c
    real(c_double) :: x(3)

    x = ([c / m**2, mod(c / m, m), mod(c, m)] + 0.5_c_double) / m
  end function centre_of

  !> Neighbour k of 27 in a periodic box.
  pure integer function neighbour(c, k)
    integer, intent(in) :: c, k
    integer :: at(3)

    at = modulo([c / m**2 + k / 9 - 1, mod(c / m, m) + mod(k / 3, 3) - 1, mod(c, m) + mod(k, 3) - 1], m)
    neighbour = (at(1) * m + at(2)) * m + at(3)
  end function neighbour

  !> Interactions of a cell in a step; cells in the clump have many.
  pure integer(c_int64_t) function work_of(c, step)
    integer, intent(in) :: c
    integer(c_int64_t), intent(in) :: step

    work_of = 20 + int(2000 * exp(-40 * sum((centre_of(c) - (0.3_c_double + 0.005_c_double * step))**2)), c_int64_t)
  end function work_of

  !> Adds every local cell as an owner with its work and the cells that it reads.
  integer(c_int) function survey(user, kind, list) bind(c)
    type(c_ptr), value :: user, list
    integer(c_int), value :: kind
    type(eqp_owner) :: owner
    integer(c_int64_t) :: at_home, key(1)
    integer :: c, k

    survey = EQP_OK
    at_home = 0
    if (c_associated(user)) survey = EQP_ERR_ARGUMENT ! problem%user, which this code does not set
    do c = 0, ncells - 1
      if (home(c) /= rank .or. survey /= EQP_OK) cycle
      owner = eqp_owner(id=c, pin=c, home=rank, tag=rank, at_home=at_home, particles=10, bytes=800, interactions=27)
      owner%count(1) = work_of(c, now)
      owner%centre = centre_of(c)
      survey = eqp_hilbert_keys(1_int64, owner%centre(1:1), owner%centre(2:2), owner%centre(3:3), [0d0, 0d0, 0d0], 1d0, key)
      owner%key = key(1)
      do k = 0, 26
        if (survey == EQP_OK .and. kind == EQP_SURVEY_WORK) &
          survey = eqp_survey_add_pin(list, int(neighbour(c, k), c_int64_t))
      end do
      if (survey == EQP_OK) survey = eqp_survey_add_owner(list, owner)
      at_home = at_home + 1
    end do
  end function survey

  subroutine check(ierror, message)
    integer, intent(in) :: ierror
    character(len=*), intent(in) :: message

    if (ierror /= EQP_OK) then
      print '(2a)', "balancer: ", trim(message)
      error stop 1
    end if
  end subroutine check

  subroutine create(method)
    character(len=*), intent(in) :: method
    type(eqp_problem) :: problem
    type(eqp_balancer_options) :: options
    character(len=512) :: message
    integer :: ierror, c

    home = [(c * ranks / ncells, c=0, ncells - 1)]
    problem%survey = c_funloc(survey)
    call eqp_balancer_options_init(options, ierror)
    call eqp_choice_parse(method, options%method, ierror, message)
    call check(ierror, message)
    options%calibrate = .false. ! what is checked is counted work, not seconds
    options%policy%mode = EQP_POLICY_REPAIR
    call eqp_balancer_create(comm, problem, options, balancer, ierror, message)
    call check(ierror, message)
  end subroutine create

  !> Moves cells as advised. A real code would move their particles with eqp_send_records().
  subroutine follow(placement)
    type(eqp_placement), intent(in) :: placement(:)
    integer(c_int) :: moved(0:ncells - 1)

    moved = unpack(placement%home, home == rank, 0_c_int)
    call MPI_Allreduce(moved, home, ncells, MPI_INTEGER, MPI_SUM, comm)
  end subroutine follow

  function percent(x) result(text)
    real(c_double), intent(in) :: x
    character(len=8) :: text

    write (text, '(f7.1,a)') 100 * x, "%"
    text = adjustl(text)
  end function percent

  !> Computes the forces of this step.
  subroutine compute()
    integer :: c
    integer(c_int64_t) :: i

    looked = 0
    do c = 0, ncells - 1
      if (home(c) /= rank) cycle
      do i = 1, work_of(c, now)
        force = force + 1 / sqrt(real(i, c_double))
      end do
      looked = looked + work_of(c, now)
    end do
  end subroutine compute

  subroutine do_step(step, steps, said)
    integer(c_int64_t), intent(in) :: step, steps
    type(eqp_step), intent(out) :: said
    type(eqp_advice) :: advice
    type(eqp_placement), pointer :: placement(:)
    type(eqp_rank_row) :: row
    character(len=512) :: message
    real(c_double) :: begin, balanced
    integer :: ierror

    begin = eqp_cpu_seconds()
    call eqp_balancer_advise(balancer, steps - step, advice, placement, ierror, message)
    call check(ierror, message)
    if (advice%changed) call follow(placement)
    now = step
    balanced = eqp_cpu_seconds()
    call compute()
    row%load = eqp_cpu_seconds() - balanced
    row%balance_seconds = balanced - begin
    call eqp_balancer_record(balancer, row, [looked], said, ierror)
    call check(ierror, eqp_error_text(ierror))
  end subroutine do_step
end module cells

program main
  use cells
  implicit none
  character(len=80) :: method = "sfc", text = "20"
  character(len=5), parameter :: compared(2) = ["count", "sfc  "]
  type(eqp_compared), allocatable :: rows(:)
  type(eqp_step) :: said
  integer(c_int64_t) :: step, steps, total, expected
  integer :: i, ierror

  call MPI_Init()
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
  if (command_argument_count() > 0) call get_command_argument(1, method)
  if (command_argument_count() > 1) call get_command_argument(2, text)
  read (text, *) steps

  call create(method)
  do step = 0, steps
    call do_step(step, steps, said)
    if (rank == 0 .and. (said%rebalanced .or. step == steps)) &
      print '(a,i0,5a)', "step ", step, ": imbalance ", trim(percent(said%imbalance_work)), " by work ", eqp_text(said%why)
  end do
  call eqp_balancer_compare(balancer, "count,sfc", [64_int64, 512_int64], rows, ierror)
  call check(ierror, eqp_error_text(ierror))
  do i = 1, size(rows)
    if (rank == 0) print '(2a,i0,a,i0,a)', trim(compared(1 + mod(i - 1, 2))), " into ", rows(i)%parts, &
      " parts: imbalance ", nint(100 * rows(i)%evaluated%imbalance), "%"
  end do
  call eqp_balancer_free(balancer)
  call MPI_Allreduce(looked, total, 1, MPI_INTEGER8, MPI_SUM, comm)
  call MPI_Finalize()
  expected = sum([(work_of(i, steps), i=0, ncells - 1)])
  if (total /= expected .or. said%imbalance_work >= 0.1 .or. size(rows) /= 4) error stop 1
end program main
