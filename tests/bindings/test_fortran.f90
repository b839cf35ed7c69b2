! SPDX-License-Identifier: BSD-3-Clause
!> The Fortran module: prints what parts.c prints, and tests strided arrays, errors on all ranks with messages, both kinds
!! of communicators, records of other types, regions, callbacks that fail.
module code
  use equipoise
  implicit none
  integer :: rank, ranks
  logical :: fails = .false.
contains
  !> One owner on each rank.
  integer(c_int) function survey(user, kind, list) bind(c)
    type(c_ptr), value :: user, list
    integer(c_int), value :: kind
    integer, pointer :: given
    type(eqp_owner) :: owner

    call c_f_pointer(user, given)
    owner = eqp_owner(id=rank, pin=rank, key=rank, home=rank, tag=rank, particles=1, interactions=1)
    owner%count(1) = merge(1, 0, given == 42)
    survey = EQP_OK
    if (kind == EQP_SURVEY_WORK) survey = eqp_survey_add_pin(list, int(rank, c_int64_t))
    if (survey == EQP_OK) survey = eqp_survey_add_owner(list, owner)
    if (fails .and. rank == ranks - 1) survey = EQP_ERR_STATE
  end function survey
end module code

program test_fortran
  use mpi_f08
  use code
  implicit none
  integer, parameter :: most = 300
  type :: item
    integer(c_int64_t) :: id = 0
    real(c_double) :: weight = 0
  end type item
  real(real32), allocatable :: x(:, :)
  real(c_double), allocatable :: weight(:)
  integer(c_int), allocatable :: part(:), other(:)
  integer :: n, i, a, failures = 0

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  n = merge(0, most, rank == 1)
  allocate (x(3, n), weight(n), part(n), other(n))
  do i = 1, n
    do a = 1, 3
      x(a, i) = real(eqp_random_uniform(3_int64, int(rank * most + i - 1, int64), int(a - 1, int64)), real32)
    end do
    weight(i) = 1 + mod(i - 1, 5)
  end do
  call print_parts("rcb")
  call print_parts("sfc")
  call test_arrays()
  call test_errors()
  call test_one_rank()
  call test_records()
  call test_plans()
  call test_walls()
  call test_balancer()
  call MPI_Finalize()
  if (failures > 0) error stop 1

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what

    if (.not. condition) then
      print '(a,i0,2a)', "rank ", rank, ": ", what
      failures = failures + 1
    end if
  end subroutine check

  subroutine print_parts(method)
    character(len=*), intent(in) :: method
    type(eqp_balance_options) :: options
    type(eqp_balance_result) :: said
    integer(c_int), allocatable :: all(:)
    character(len=32) :: text
    integer :: ierror, k

    options = eqp_balance_options_defaults()
    options%nparts = 7
    call eqp_balance_points(MPI_COMM_WORLD, method, x, part, ierror, weight=weight, options=options, result=said)
    call check(ierror == EQP_OK, "parts")
    call eqp_gather_records(MPI_COMM_WORLD, part, all, ierror)
    call check(ierror == EQP_OK, "parts of all")
    if (rank == 0) then
      do k = 1, size(all)
        print '(2a,i0)', method, " ", all(k)
      end do
      write (text, '(es18.12e2)') said%imbalance
      if (said%imbalance > 0) text = text(1:index(text, "E") - 1)//"e"//text(index(text, "E") + 1:)
      print '(3a)', method, " ", trim(adjustl(text))
    end if
  end subroutine print_parts

  subroutine test_arrays()
    real(real64), allocatable :: wide(:, :), columns(:, :)
    integer :: ierror

    ! part is the result of sfc into 7 parts.
    allocate (wide(5, n), columns(n, 3))
    wide = -1
    wide(2:4, :) = x
    columns = transpose(real(x, real64))
    call into_seven(wide(2:4, :), "a part of a wider array")
    call into_seven(transpose(columns), "an expression")
    wide(1:5:2, :) = x
    call into_seven(wide(1:5:2, :), "with holes")
    wide(3:1:-1, :) = x
    call into_seven(wide(3:1:-1, :), "backwards")
    call grid_of_words()
    call eqp_balance_points(MPI_COMM_WORLD%mpi_val, "sfc", x, other, ierror)
    call check(ierror == EQP_OK .and. all(other >= 0 .and. other < ranks), "an integer for a communicator")
  end subroutine test_arrays

  subroutine grid_of_words()
    type(eqp_balance_options) :: options
    integer(c_int) :: third(size(other))
    integer :: ierror

    options = eqp_balance_options_defaults()
    options%nparts = 8
    call eqp_balance_points(MPI_COMM_WORLD, "tensor:x=1,y=2,z=4", x, other, ierror, options=options)
    call check(ierror == EQP_OK, "a word with options")
    call eqp_method_set("tensor", "y", options%settings, ierror, "2")
    call eqp_balance_points(MPI_COMM_WORLD, "tensor:x=1,z=4", x, third, ierror, options=options)
    call check(ierror == EQP_OK .and. all(other == third), "options of words and settings")
  end subroutine grid_of_words

  subroutine into_seven(y, what)
    real(real64), intent(in) :: y(:, :)
    character(len=*), intent(in) :: what
    type(eqp_balance_options) :: options
    integer :: ierror

    options = eqp_balance_options_defaults()
    options%nparts = 7
    other = -1
    call eqp_balance_points(MPI_COMM_WORLD, "sfc", y, other, ierror, weight=weight, options=options)
    call check(ierror == EQP_OK .and. all(other == part), what)
  end subroutine into_seven

  subroutine test_errors()
    character(len=200) :: message
    type(eqp_balancer_options) :: options
    type(eqp_settings) :: settings
    integer :: ierror

    call eqp_balance_points(MPI_COMM_WORLD, "no such", x, other, ierror, message=message)
    call check(ierror == EQP_ERR_ARGUMENT .and. index(message, "'no such'") == 1 .and. index(message, " sfc") > 0, &
      "no such method: "//trim(message))
    call eqp_balance_points(MPI_COMM_WORLD, merge("no such", "sfc    ", rank == 0), x, other, ierror, message=message)
    call check(ierror == EQP_ERR_ARGUMENT .and. index(message, "'no such'") == 1, "of one rank: "//trim(message))
    call eqp_balancer_options_init(options, ierror)
    call check(ierror == EQP_OK .and. options%calibrate, "options have their defaults")
    call eqp_choice_parse("sfc:nonsense=1", options%method, ierror, message)
    call check(ierror == EQP_ERR_UNKNOWN .and. index(message, "nonsense") > 0, "no such option: "//trim(message))
    call eqp_policy_options_parse("7", options%policy, ierror)
    call check(ierror == EQP_OK .and. options%policy%every == 7, "every seven steps")
    call eqp_method_set("tensor", "x", settings, ierror, "3")
    call check(ierror == EQP_OK, "an option of a method's own")
    call eqp_method_set("tensor", "x", settings, ierror, "none", message)
    call check(ierror == EQP_ERR_ARGUMENT .and. message /= "", "a value that is none")
    call check(eqp_error_text(EQP_ERR_MEMORY) == "out of memory", "the text of a code")
    call check(eqp_version() /= "", "a version")
  end subroutine test_errors

  !> An argument that is wrong on one rank gives an error on all ranks. tests/tools/check_disagree.py requires a row for
  !! every collective C function.
  subroutine all_fail(what, ierror)
    character(len=*), intent(in) :: what
    integer, intent(in) :: ierror

    call check(ierror /= EQP_OK, what//" is wrong on one rank")
  end subroutine all_fail

  !> Items for all ranks; one rank has one item fewer.
  integer function but_one(m)
    integer, intent(in) :: m

    but_one = merge(m - 1, m, rank == 0)
  end function but_one

  subroutine test_one_rank()
    real(real64), allocatable :: columns(:, :)
    real(real64) :: y(3, n)
    integer(int32), allocatable :: all32(:)
    real(real64), allocatable :: all64(:)
    type(eqp_regions) :: regions
    type(eqp_plan) :: plan
    integer(c_int) :: to(n), grid(3)
    integer(c_int64_t) :: keys(n), sum(2)
    integer :: ierror

    y = x
    to = 0
    keys = 5
    sum = 0
    call eqp_balance_points(MPI_COMM_WORLD, "rcb", x, other, ierror, weight=weight(1:but_one(n)))
    call all_fail("eqp_balance_points: weight", ierror)
    call eqp_balance_points(MPI_COMM_WORLD, "rcb", x(1:but_one(3), :), other, ierror)
    call all_fail("eqp_balance_points: x", ierror)
    call eqp_balance_points(MPI_COMM_WORLD, "rcb", x, other(1:but_one(n)), ierror)
    call all_fail("eqp_balance_points: part", ierror)
    call eqp_send_records(MPI_COMM_WORLD, to(1:but_one(n)), y, columns, ierror)
    call all_fail("eqp_send_records: dest", ierror)
    if (rank == 0) then
      call eqp_gather_records(MPI_COMM_WORLD, to, all32, ierror)
    else
      call eqp_gather_records(MPI_COMM_WORLD, weight, all64, ierror)
    end if
    if (ranks > 1) call all_fail("eqp_gather_records: send", ierror)
    call eqp_regions_create(MPI_COMM_WORLD, y, part(1:but_one(n)), 7, regions, ierror)
    call all_fail("eqp_regions_create: part", ierror)
    call eqp_cut_keys(MPI_COMM_WORLD, keys, to(1:but_one(n)), ierror)
    call all_fail("eqp_cut_keys: part", ierror)
    call eqp_cut_keys(MPI_COMM_WORLD, keys, to, ierror, weight(1:but_one(n)))
    call all_fail("eqp_cut_keys: work", ierror)
    call eqp_verify_records(MPI_COMM_WORLD, keys, sum, ierror, y(:, 1:but_one(n)))
    call all_fail("eqp_verify_records: items", ierror)
    call eqp_walls(MPI_COMM_WORLD, "tensor", y, regions, grid, ierror, weight(1:but_one(n)))
    call all_fail("eqp_walls: weight", ierror)
    call eqp_walls(MPI_COMM_WORLD, "tensor", y, regions, grid, ierror, least=[0d0, 0d0, merge(1d0, 2d0, rank == 0)])
    if (ranks > 1) call all_fail("eqp_walls: least", ierror)
    call eqp_plan_create(MPI_COMM_WORLD, merge(to, ranks, rank > 0), plan, ierror)
    if (ranks > 2) call all_fail("eqp_plan_create: dest", ierror)
    call eqp_plan_balance(MPI_COMM_WORLD, "sfc", y(1:but_one(3), :), plan, ierror)
    call all_fail("eqp_plan_balance: x", ierror)
    to = 0
    call eqp_plan_create(MPI_COMM_WORLD, to, plan, ierror)
    call check(ierror == EQP_OK, "the next call is as good as any")
    allocate (all64(plan%nrecv))
    call eqp_plan_send(plan, weight(1:but_one(n)), all64, ierror)
    call all_fail("eqp_plan_send: send", ierror)
    call eqp_plan_send(plan, weight, all64(1:merge(int(plan%nrecv) - 1, int(plan%nrecv), rank == 0)), ierror)
    call all_fail("eqp_plan_send: recv", ierror)
    if (rank == 0) then
      call eqp_plan_send(plan, y(1, :), all64, ierror)
    else
      call eqp_plan_send(plan, weight, all64, ierror)
    end if
    call all_fail("eqp_plan_send: a section with holes", ierror)
    call eqp_plan_free(plan)
  end subroutine test_one_rank

  subroutine test_records()
    type(item), allocatable, target :: items(:)
    type(item), pointer :: mine(:)
    real(real64), allocatable :: columns(:, :)
    type(eqp_regions) :: regions
    type(c_ptr) :: memory
    integer(c_int64_t) :: narrived
    integer(c_int) :: to(n)
    integer :: ierror, k

    allocate (items(n))
    do k = 1, n
      items(k) = item(rank * most + k, weight(k))
      to(k) = int(mod(items(k)%id, int(ranks, c_int64_t)), c_int)
    end do
    memory = c_null_ptr
    call eqp_send_records(MPI_COMM_WORLD, storage_size(items, c_size_t) / 8, to, c_loc(items), narrived, memory, ierror)
    call check(ierror == EQP_OK, "records travel")
    call c_f_pointer(memory, mine, [narrived])
    call check(all(mod(mine%id, int(ranks, c_int64_t)) == rank), "to where they belong")
    call eqp_send_records(MPI_COMM_WORLD, to, real(x, real64), columns, ierror)
    call check(ierror == EQP_OK .and. size(columns, 1) == 3 .and. size(columns, 2) == narrived, "columns likewise")
    call eqp_free(memory)
    call eqp_regions_create(MPI_COMM_WORLD, real(x, real64), part, 7, regions, ierror)
    call check(ierror == EQP_OK, "regions")
    do k = 1, n
      call check(eqp_regions_find(regions, real(x(:, k), real64)) == part(k), "an item is in the region of its part")
    end do
    call eqp_regions_free(regions)
  end subroutine test_records

  !> Arrays of any type and rank follow one plan, and come back.
  subroutine test_plans()
    type(item), allocatable :: items(:), mine(:)
    real(real32), allocatable :: y(:, :), back(:, :)
    character(len=7), allocatable :: names(:), my_names(:)
    type(eqp_plan) :: plan
    character(len=200) :: message
    integer(c_int64_t) :: sum(2)
    integer :: ierror, k
    integer(c_int) :: to(n)

    allocate (items(n), names(n), back(3, n))
    do k = 1, n
      items(k) = item(rank * most + k, weight(k))
      write (names(k), '(i7)') items(k)%id
    end do
    sum = 0
    call eqp_verify_records(MPI_COMM_WORLD, items%id, sum, ierror, items)
    call check(ierror == EQP_OK .and. sum(1) == most * merge(1, ranks - 1, ranks == 1), "the sum of all records")
    call eqp_plan_balance(MPI_COMM_WORLD, "sfc", x, plan, ierror, weight=weight)
    call check(ierror == EQP_OK .and. plan%nsend == n, "balanced")
    allocate (mine(plan%nrecv), y(3, plan%nrecv), my_names(plan%nrecv))
    call eqp_plan_send(plan, items, mine, ierror)
    call check(ierror == EQP_OK, "records of a type")
    call eqp_plan_send(plan, x, y, ierror)
    call check(ierror == EQP_OK, "columns")
    call eqp_plan_send(plan, names, my_names, ierror)
    call check(ierror == EQP_OK, "texts")
    do k = 1, size(mine)
      call check(index(my_names(k), trim(adjustl(name_of(mine(k)%id)))) > 0, "texts stay with their records")
      call check(all(abs(y(:, k) - place_of(mine(k)%id)) <= 0), "places likewise")
    end do
    call eqp_verify_records(MPI_COMM_WORLD, mine%id, sum, ierror, mine)
    call check(ierror == EQP_OK, "nothing is lost")
    if (rank == 0) mine(1)%weight = -1
    call eqp_verify_records(MPI_COMM_WORLD, mine%id, sum, ierror, mine, message)
    call check(ierror == EQP_ERR_DATA .and. index(message, "not the same") > 0, "what is changed is found: "//message)
    call eqp_plan_return(plan, y, back, ierror)
    call check(ierror == EQP_OK .and. all(abs(back - x) <= 0), "and back")
    call eqp_plan_free(plan)
    call eqp_cut_keys(MPI_COMM_WORLD, items%id, to, ierror, weight)
    call check(ierror == EQP_OK .and. all(to(2:n) >= to(1:n - 1)), "ranks ascend with keys")
  end subroutine test_plans

  function name_of(id) result(name)
    integer(c_int64_t), intent(in) :: id
    character(len=7) :: name

    write (name, '(i7)') id
  end function name_of

  function place_of(id) result(place)
    integer(c_int64_t), intent(in) :: id
    real(real32) :: place(3)
    integer :: a

    do a = 1, 3
      place(a) = real(eqp_random_uniform(3_int64, id - 1, int(a - 1, int64)), real32)
    end do
  end function place_of

  subroutine test_walls()
    type(eqp_balance_options) :: options
    type(eqp_regions) :: regions
    integer(c_int) :: grid(3)
    integer(c_int), allocatable :: near(:)
    real(c_double) :: low(3), high(3), volume
    character(len=200) :: message
    integer :: ierror, p

    options = eqp_balance_options_defaults()
    options%nparts = 12
    call eqp_walls(MPI_COMM_WORLD, "tensor", x, regions, grid, ierror, weight, low=[0d0, 0d0, 0d0], high=[1d0, 1d0, 1d0], &
      least=[0.05d0, 0.05d0, 0.05d0], options=options, message=message)
    call check(ierror == EQP_OK .and. product(grid) == 12, "walls: "//message)
    volume = 0
    do p = 0, 11
      call eqp_regions_walls(regions, p, low, high, ierror)
      volume = volume + product(high - low)
      call eqp_regions_touch(regions, low, high, 0d0, near, ierror)
      call check(ierror == EQP_OK .and. any(near == p) .and. size(near) > 1, "neighbours")
    end do
    call check(abs(volume - 1) < 1e-12, "boxes fill the domain")
    call eqp_regions_free(regions)
    call eqp_walls(MPI_COMM_WORLD, "sfc", x, regions, grid, ierror, options=options, message=message)
    call check(ierror == EQP_ERR_STATE .and. index(message, "sfc") > 0, "no walls, and why: "//message)
  end subroutine test_walls

  subroutine test_balancer()
    integer, target :: given = 42
    type(eqp_problem) :: problem
    type(eqp_balancer_options) :: options
    type(eqp_balancer) :: balancer
    type(eqp_advice) :: advice
    type(eqp_placement), pointer :: placement(:)
    type(eqp_rank_row) :: row
    type(eqp_step) :: said
    type(eqp_work) :: work
    type(eqp_compared), allocatable :: rows(:)
    character(len=200) :: message
    integer :: ierror, owner

    call eqp_balancer_options_init(options, ierror)
    call eqp_choice_parse("sfc", options%method, ierror)
    call eqp_balancer_create(MPI_COMM_WORLD, problem, options, balancer, ierror, message)
    call check(ierror == EQP_ERR_ARGUMENT .and. message /= "", "a survey is needed")
    problem%survey = c_funloc(survey)
    problem%user = c_loc(given)
    problem%nkinds = merge(-1, 1, rank == 0)
    call eqp_balancer_create(MPI_COMM_WORLD, problem, options, balancer, ierror)
    call all_fail("eqp_balancer_create: problem", ierror)
    problem%nkinds = 1
    call eqp_policy_options_parse("1", options%policy, ierror)
    call eqp_balancer_create(MPI_COMM_WORLD%mpi_val, problem, options, balancer, ierror, message)
    call check(ierror == EQP_OK, message)
    row%load = 1
    call eqp_balancer_record(balancer, row, [1_int64], said, ierror)
    call check(ierror == EQP_OK .and. abs(said%load_max - 1) < 1e-12, "a step")
    if (rank == 0) then
      call eqp_balancer_record(balancer, row, [1_int64, 2_int64], said, ierror)
    else
      call eqp_balancer_record(balancer, row, [1_int64], said, ierror)
    end if
    call all_fail("eqp_balancer_record: count", ierror)
    call eqp_balancer_compare(balancer, trim(merge("nonsense", "sfc     ", rank == 0)), [2_int64], rows, ierror, message)
    call all_fail("eqp_balancer_compare: words", ierror)
    call check(rank /= 0 .or. index(message, "nonsense") > 0, "the rank with the mistake says it: "//message)
    call eqp_balancer_compare(balancer, "sfc", [merge(0_int64, 2_int64, rank == 0)], rows, ierror, message)
    call all_fail("eqp_balancer_compare: parts", ierror)
    fails = .true.
    call eqp_balancer_advise(balancer, 5_int64, advice, placement, ierror, message)
    call all_fail("eqp_balancer_advise: survey", ierror)
    call eqp_balancer_renew(balancer, 5_int64, advice, placement, ierror, message)
    call check(ierror == EQP_ERR_STATE .and. .not. associated(placement), "eqp_balancer_renew: one rank's survey fails")
    fails = .false.
    call eqp_balancer_renew(balancer, 5_int64, advice, placement, ierror)
    call check(ierror == EQP_OK .and. advice%action == EQP_RENEW, "the next call is as good as any")
    call check(associated(placement) .eqv. logical(advice%changed), "placements where they have changed")
    if (associated(placement)) then
      owner = eqp_map_own_rank(eqp_balancer_map(balancer), placement(1)%tag)
      call check(size(placement) == 1 .and. owner == placement(1)%home, "of one owner")
      call check(eqp_map_tag_in(eqp_balancer_map(balancer), placement(1)%tag, 3) == placement(1)%tag, "in any phase")
    end if
    work%code = merge(EQP_ERR_DATA, EQP_OK, rank == 0)
    call eqp_balancer_record(balancer, row, [1_int64], said, ierror, work)
    call check(ierror == EQP_ERR_DATA, "one rank's step has failed: all know")
    call eqp_balancer_free(balancer)
  end subroutine test_balancer
end program test_fortran
