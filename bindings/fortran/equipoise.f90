! SPDX-License-Identifier: BSD-3-Clause
!> Load balancing for MPI N-body codes by their interactions: the C interface for Fortran.
!!
!! Names match the C interface, whose man pages have the details (`man 3 equipoise`). Communicators are type(MPI_Comm)
!! of mpi_f08 or integers. `ierror` is EQP_OK or an EQP_ERR_... code; it is required because nothing here prints or
!! stops. `message` receives one line that explains the error. Coordinates are x(3, n), real32 or real64, and are read in
!! place if the three coordinates of each item are contiguous. Ranks and parts count from 0, as in MPI.
module equipoise
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, real64, int32, int64
  use mpi_f08, only: MPI_Comm, MPI_Comm_size
  use equipoise_types
  use equipoise_calls
  implicit none
  private :: c_message, c_text, agreed, bytes_between, fill_real32, fill_real64, balance

  !> The balancer of an N-body code: eqp_balancer. All ranks free it together, by eqp_balancer_free().
  type :: eqp_balancer
    type(c_ptr) :: handle = c_null_ptr !< for bind(c) functions
    integer :: nkinds = 1 !< number of kinds of work in the problem
  end type eqp_balancer

  !> Maps each point in space to its part: eqp_regions. A balance call also returns the cells of `voronoi` as regions if
  !! options%regions is c_loc(regions%handle); then set regions%nparts as well.
  type :: eqp_regions
    type(c_ptr) :: handle = c_null_ptr
    integer :: nparts = 0
  end type eqp_regions

  !> Routes by which several arrays of the same items travel: eqp_move_plan.
  type :: eqp_plan
    type(c_ptr) :: handle = c_null_ptr
    integer, private :: comm
    integer(c_int64_t) :: nsend = 0, nrecv = 0 !< items of this rank; items that arrive on it
    integer(c_int64_t), allocatable, private :: count(:)
  end type eqp_plan

  ! ---- Interfaces of the callbacks of a problem, which take c_funloc() of them. All arguments from C are borrowed ----

  abstract interface
    integer(c_int) function eqp_survey_fn(user, kind, survey) bind(c)
      import :: c_ptr, c_int
      type(c_ptr), value :: user, survey
      integer(c_int), value :: kind !< EQP_SURVEY_NAMES or EQP_SURVEY_WORK
    end function eqp_survey_fn
    integer(c_int) function eqp_open_fn(user, traced) bind(c)
      import :: c_ptr, c_int, c_bool
      type(c_ptr), value :: user
      logical(c_bool), value :: traced
    end function eqp_open_fn
    subroutine eqp_close_fn(user) bind(c)
      import :: c_ptr
      type(c_ptr), value :: user
    end subroutine eqp_close_fn
    integer(c_int) function eqp_trace_fn(user, nparts, map, placement, loads_only, evaluation) bind(c)
      import :: c_ptr, c_int, c_bool
      type(c_ptr), value :: user, map, placement, evaluation
      integer(c_int), value :: nparts
      logical(c_bool), value :: loads_only
    end function eqp_trace_fn
  end interface

  ! ---- C functions without communicators and texts, which Fortran calls directly ----

  !interfaces eqp_cpu_seconds eqp_busy_seconds eqp_wait_begin eqp_wait_end eqp_random_uniform eqp_hilbert_keys
  ! eqp_survey_add_pin eqp_survey_add_tile eqp_survey_add_owner eqp_survey_heavy eqp_survey_weigh eqp_map_rank
  ! eqp_map_own_rank eqp_map_tag_in eqp_evaluation_load eqp_evaluation_block eqp_evaluation_need eqp_free

  ! ---- Generic procedures ----

  !> Assigns a part to each item by its position and work. Collective.
  interface eqp_balance_points
    module procedure balance_real32, balance_real64, balance_real32_integer, balance_real64_integer
  end interface eqp_balance_points

  !> Sends each item to its rank in `dest`. Numbers and columns of numbers arrive in an array that the call allocates;
  !! records of `element` bytes travel from one c_ptr to another, which the caller frees by eqp_free(). Collective.
  interface eqp_send_records
    module procedure send_real32, send_real64, send_int32, send_int64
    module procedure send_real32_columns, send_real64_columns, send_bytes_f08, send_bytes
  end interface eqp_send_records
  private :: send_real32, send_real64, send_int32, send_int64, send_real32_columns, send_real64_columns, send_bytes_f08, &
    balance_real32, balance_real64, balance_real32_integer, balance_real64_integer

  !> Balances as eqp_balance_points() does, with one part per rank, and makes the plan that moves the items there;
  !! eqp_plan_send() then moves each of their arrays. Collective.
  interface eqp_plan_balance
    module procedure plan_balance_real32, plan_balance_real64
  end interface eqp_plan_balance
  private :: plan_balance_real32, plan_balance_real64

  !> Gives each part a box that meets the neighboring boxes face to face: eqp_walls(). Collective.
  interface eqp_walls
    module procedure walls_real32, walls_real64
  end interface eqp_walls
  private :: walls_real32, walls_real64, make_walls

  !> Gathers the items of all ranks on every rank. Collective.
  interface eqp_gather_records
    module procedure gather_int32, gather_real64
  end interface eqp_gather_records
  private :: gather_int32, gather_real64

  !> Makes the regions of parts. Collective.
  interface eqp_regions_create
    module procedure regions_create_f08, regions_create_integer
  end interface eqp_regions_create
  private :: regions_create_f08, regions_create_integer

  !> Makes a balancer. Collective.
  interface eqp_balancer_create
    module procedure balancer_create_f08, balancer_create_integer
  end interface eqp_balancer_create
  private :: balancer_create_f08, balancer_create_integer

contains

  ! ---- Texts ----

  !> The text of a C string; "" for a null pointer.
  function c_text(text) result(found)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: found
    character(kind=c_char), pointer :: letters(:)

    found = ""
    if (c_associated(text)) then
      call c_f_pointer(text, letters, [c_strlen(text)])
      found = eqp_text(letters)
    end if
  end function c_text

  !> The text of a null-terminated character array such as eqp_step%why.
  pure function eqp_text(letters) result(found)
    character(kind=c_char), intent(in) :: letters(:)
    character(len=:), allocatable :: found
    integer :: i, n

    n = findloc(letters, c_null_char, dim=1) - 1
    n = merge(size(letters), n, n < 0)
    allocate (character(len=n) :: found)
    do i = 1, n
      found(i:i) = letters(i)
    end do
  end function eqp_text

  !> The text of an error code.
  function eqp_error_text(code) result(found)
    integer, intent(in) :: code
    character(len=:), allocatable :: found

    found = c_text(c_error_text(int(code, c_int)))
  end function eqp_error_text

  !> The version of the loaded library.
  function eqp_version() result(found)
    character(len=:), allocatable :: found

    found = c_text(c_version())
  end function eqp_version

  subroutine c_message(code, said, ierror, message)
    integer(c_int), intent(in) :: code
    type(eqp_message), intent(in) :: said
    integer, intent(out) :: ierror
    character(len=*), optional, intent(out) :: message

    ierror = code
    if (present(message)) then
      message = ""
      if (code /= EQP_OK) then
        message = eqp_text(said%text)
        if (message == "") message = eqp_error_text(ierror)
      end if
    end if
  end subroutine c_message

  ! ---- Items with a position and work ----

  !> Default options; nparts = 0 means one part per rank.
  function eqp_balance_options_defaults() result(options)
    type(eqp_balance_options) :: options

    options%size = c_sizeof(options)
    options%imbalance_tol = 0.02_c_double
    options%seed = 1
  end function eqp_balance_options_defaults

  !> Sets an option of a method; an option that takes no value is set without `value`.
  subroutine eqp_method_set(method, name, settings, ierror, value, message)
    character(len=*), intent(in) :: method, name
    type(eqp_settings), intent(inout) :: settings
    integer, intent(out) :: ierror
    character(len=*), optional, intent(in) :: value
    character(len=*), optional, intent(out) :: message
    character(kind=c_char), target :: letters(512)
    type(c_ptr) :: address
    type(eqp_message) :: said
    integer :: i

    address = c_null_ptr
    letters = c_null_char
    if (present(value)) then
      do i = 1, min(len_trim(value), size(letters) - 1)
        letters(i) = value(i:i)
      end do
      address = c_loc(letters)
    end if
    call c_message(c_method_set(c_method_find(trim(method)//c_null_char), trim(name)//c_null_char, address, settings, &
      said), said, ierror, message)
  end subroutine eqp_method_set

  !> Distance between two addresses in bytes.
  integer(c_int64_t) function bytes_between(from, to)
    type(c_ptr), intent(in) :: from, to

    bytes_between = transfer(to, 0_c_intptr_t) - transfer(from, 0_c_intptr_t)
  end function bytes_between

  !> Passes points to C in place, or as a copy if the coordinates of an item are not contiguous. If the first extent of
  !! x is not 3, n becomes -1, which C reports as an error on all ranks.
  !each R=real32;SINGLE=.true.;BYTES=4 | R=real64;SINGLE=.false.;BYTES=8
  subroutine fill_@R@(x, copy, points)
    real(@R@), intent(in), target :: x(:, :)
    real(@R@), allocatable, intent(out), target :: copy(:, :)
    type(eqp_points), intent(inout) :: points

    points%single = @SINGLE@
    points%n = merge(size(x, 2, kind=c_int64_t), -1_c_int64_t, size(x, 1) == 3)
    if (points%n <= 0) return
    points%x = c_loc(x(1, 1))
    if (points%n > 1) points%stride = bytes_between(c_loc(x(1, 1)), c_loc(x(1, 2)))
    if (bytes_between(c_loc(x(1, 1)), c_loc(x(2, 1))) /= @BYTES@ .or. (points%n > 1 .and. points%stride < 3 * @BYTES@)) then
      copy = x
      points%x = c_loc(copy(1, 1))
      points%stride = 0
    end if
  end subroutine fill_@R@

  !end each
  subroutine balance(comm, method, points, part, ierror, weight, size_of, part_now, options, result, message)
    integer, intent(in) :: comm
    character(len=*), intent(in) :: method
    type(eqp_points), intent(inout) :: points
    integer(c_int), intent(inout), contiguous :: part(:)
    integer, intent(out) :: ierror
    real(c_double), optional, intent(in), target, contiguous :: weight(:)
    integer(c_int64_t), optional, intent(in), target, contiguous :: size_of(:)
    integer(c_int), optional, intent(in), target, contiguous :: part_now(:)
    type(eqp_balance_options), optional, intent(in) :: options
    type(eqp_balance_result), optional, intent(out) :: result
    character(len=*), optional, intent(out) :: message
    type(eqp_balance_options) :: wanted
    type(eqp_balance_result) :: found
    type(eqp_message), target :: said
    integer(c_int64_t) :: n

    n = points%n
    if (size(part, kind=c_int64_t) /= n) points%n = -1
    if (present(weight)) then
      if (size(weight, kind=c_int64_t) /= n) points%n = -1
      points%weight = c_loc(weight)
    end if
    if (present(size_of)) then
      if (size(size_of, kind=c_int64_t) /= n) points%n = -1
      points%size = c_loc(size_of)
    end if
    if (present(part_now)) then
      if (size(part_now, kind=c_int64_t) /= n) points%n = -1
      points%part_now = c_loc(part_now)
    end if
    wanted = eqp_balance_options_defaults()
    if (present(options)) wanted = options
    if (wanted%nparts == 0) call MPI_Comm_size(MPI_Comm(comm), wanted%nparts)
    wanted%message = c_loc(said)
    call c_message(c_balance_points(int(comm, c_int), trim(method)//c_null_char, points, wanted, part, found), said, &
      ierror, message)
    if (present(result)) result = found
  end subroutine balance

  !each R=real32;C=;COMM=type(MPI_Comm);HANDLE=comm%mpi_val | R=real32;C=_integer;COMM=integer;HANDLE=comm | R=real64;C=;COMM=type(MPI_Comm);HANDLE=comm%mpi_val | R=real64;C=_integer;COMM=integer;HANDLE=comm
  subroutine balance_@R@@C@(comm, method, x, part, ierror, weight, size, part_now, options, result, message)
    @COMM@, intent(in) :: comm
    character(len=*), intent(in) :: method
    real(@R@), intent(in), target :: x(:, :)
    integer(c_int), intent(inout), contiguous :: part(:)
    integer, intent(out) :: ierror
    real(c_double), optional, intent(in), target, contiguous :: weight(:)
    integer(c_int64_t), optional, intent(in), target, contiguous :: size(:)
    integer(c_int), optional, intent(in), target, contiguous :: part_now(:)
    type(eqp_balance_options), optional, intent(in) :: options
    type(eqp_balance_result), optional, intent(out) :: result
    character(len=*), optional, intent(out) :: message
    real(@R@), allocatable, target :: copy(:, :)
    type(eqp_points) :: points

    call fill_@R@(x, copy, points)
    call balance(@HANDLE@, method, points, part, ierror, weight, size, part_now, options, result, message)
  end subroutine balance_@R@@C@

  !end each
  ! ---- Moving items to their ranks ----

  !> n if ndest equals it, else -1, which C reports as an error on all ranks.
  pure integer(c_int64_t) function agreed(ndest, n)
    integer(c_int64_t), intent(in) :: ndest, n

    agreed = merge(n, -1_c_int64_t, ndest == n)
  end function agreed

  !each C=_f08;COMM=type(MPI_Comm);HANDLE=comm%mpi_val | C=;COMM=integer;HANDLE=comm
  subroutine send_bytes@C@(comm, element, dest, send, nrecv, recv, ierror)
    @COMM@, intent(in) :: comm
    integer(c_size_t), intent(in) :: element
    integer(c_int), intent(in), contiguous :: dest(:)
    type(c_ptr), intent(in) :: send
    integer(c_int64_t), intent(out) :: nrecv
    type(c_ptr), intent(inout) :: recv
    integer, intent(out) :: ierror

    nrecv = 0
    ierror = c_send_records(int(@HANDLE@, c_int), element, size(dest, kind=c_int64_t), dest, send, nrecv, recv)
  end subroutine send_bytes@C@

  !end each
  !each N=real32;T=real(real32);BYTES=4 | N=real64;T=real(real64);BYTES=8 | N=int32;T=integer(int32);BYTES=4 | N=int64;T=integer(int64);BYTES=8
  subroutine send_@N@(comm, dest, send, recv, ierror)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(in), contiguous :: dest(:)
    @T@, intent(in), target, contiguous :: send(:)
    @T@, allocatable, intent(out) :: recv(:)
    integer, intent(out) :: ierror
    @T@, pointer :: arrived(:)
    type(c_ptr) :: memory
    integer(c_int64_t) :: n

    memory = c_null_ptr
    n = 0
    ierror = c_send_records(comm%mpi_val, @BYTES@_c_size_t, &
      agreed(size(dest, kind=c_int64_t), size(send, kind=c_int64_t)), dest, c_loc(send), n, memory)
    if (ierror == EQP_OK) then
      call c_f_pointer(memory, arrived, [n])
      recv = arrived
      call eqp_free(memory)
    end if
  end subroutine send_@N@

  !end each
  !each R=real32;BYTES=4 | R=real64;BYTES=8
  subroutine send_@R@_columns(comm, dest, send, recv, ierror)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(in), contiguous :: dest(:)
    real(@R@), intent(in), target, contiguous :: send(:, :)
    real(@R@), allocatable, intent(out) :: recv(:, :)
    integer, intent(out) :: ierror
    real(@R@), pointer :: arrived(:, :)
    type(c_ptr) :: memory
    integer(c_int64_t) :: n

    memory = c_null_ptr
    n = 0
    ierror = c_send_records(comm%mpi_val, @BYTES@_c_size_t * size(send, 1), &
      agreed(size(dest, kind=c_int64_t), size(send, 2, kind=c_int64_t)), dest, c_loc(send), n, memory)
    if (ierror == EQP_OK) then
      call c_f_pointer(memory, arrived, [int(size(send, 1), c_int64_t), n])
      recv = arrived
      call eqp_free(memory)
    end if
  end subroutine send_@R@_columns

  !end each
  !each N=int32;T=integer(int32);BYTES=4 | N=real64;T=real(real64);BYTES=8
  subroutine gather_@N@(comm, send, recv, ierror)
    type(MPI_Comm), intent(in) :: comm
    @T@, intent(in), target, contiguous :: send(:)
    @T@, allocatable, intent(out) :: recv(:)
    integer, intent(out) :: ierror
    @T@, pointer :: arrived(:)
    type(c_ptr) :: memory
    integer(c_int64_t) :: n

    memory = c_null_ptr
    n = 0
    ierror = c_gather_records(comm%mpi_val, @BYTES@_c_size_t, size(send, kind=c_int64_t), c_loc(send), n, memory)
    if (ierror == EQP_OK) then
      call c_f_pointer(memory, arrived, [n])
      recv = arrived
      call eqp_free(memory)
    end if
  end subroutine gather_@N@

  !end each
  ! ---- Plans for several arrays ----

  !> Makes a plan: item i goes to rank dest(i); plan%nrecv items arrive here. Collective.
  subroutine eqp_plan_create(comm, dest, plan, ierror)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(in), contiguous :: dest(:)
    type(eqp_plan), intent(inout) :: plan
    integer, intent(out) :: ierror
    type(eqp_plan) :: made
    integer :: ranks

    call MPI_Comm_size(comm, ranks)
    allocate (made%count(ranks))
    made%comm = comm%mpi_val
    made%nsend = size(dest, kind=c_int64_t)
    ierror = c_plan_create(int(made%comm, c_int), made%nsend, dest, made%handle, made%count, made%nrecv)
    if (ierror == EQP_OK) plan = made
  end subroutine eqp_plan_create

  !each R=real32 | R=real64
  subroutine plan_balance_@R@(comm, method, x, plan, ierror, weight, options, result, message)
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: method
    real(@R@), intent(in), target :: x(:, :)
    type(eqp_plan), intent(inout) :: plan
    integer, intent(out) :: ierror
    real(c_double), optional, intent(in), target, contiguous :: weight(:)
    type(eqp_balance_options), optional, intent(in) :: options
    type(eqp_balance_result), optional, intent(out) :: result
    character(len=*), optional, intent(out) :: message
    integer(c_int) :: part(size(x, 2))

    call eqp_balance_points(comm, method, x, part, ierror, weight=weight, options=options, result=result, message=message)
    if (ierror == EQP_OK) call eqp_plan_create(comm, part, plan, ierror)
  end subroutine plan_balance_@R@

  !end each
  !> eqp_plan_send() moves an array of any type along the plan: the last dimension is plan%nsend long in send and
  !! plan%nrecv in recv. eqp_plan_return() returns the arrived items, or one value for each, to their origin. All other
  !! dimensions and the types agree. Sections with gaps give EQP_ERR_ARGUMENT on all ranks. Collective.
  !each CALL=send;FROM=nsend;TO=nrecv;BACK=.false. | CALL=return;FROM=nrecv;TO=nsend;BACK=.true.
  subroutine eqp_plan_@CALL@(plan, send, recv, ierror)
    type(eqp_plan), intent(in) :: plan
    type(*), intent(in) :: send(..)
    type(*), intent(inout) :: recv(..)
    integer, intent(out) :: ierror

    ierror = c_plan_move(int(plan%comm, c_int), plan%handle, plan%count, plan%@FROM@, plan%@TO@, @BACK@_c_bool, send, recv)
  end subroutine eqp_plan_@CALL@

  !end each
  !> Frees a plan. Local.
  subroutine eqp_plan_free(plan)
    type(eqp_plan), intent(inout) :: plan

    call c_move_plan_free(plan%handle)
    plan%handle = c_null_ptr
  end subroutine eqp_plan_free

  !> Assigns a rank to each item by the caller's keys, which are read as unsigned: eqp_cut_keys(). Collective.
  subroutine eqp_cut_keys(comm, key, part, ierror, work, message)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int64_t), intent(in), contiguous :: key(:)
    integer(c_int), intent(inout), contiguous :: part(:)
    integer, intent(out) :: ierror
    real(c_double), optional, intent(in), target, contiguous :: work(:)
    character(len=*), optional, intent(out) :: message
    integer(c_int64_t) :: n
    type(c_ptr) :: address
    type(eqp_message) :: said

    n = agreed(size(part, kind=c_int64_t), size(key, kind=c_int64_t))
    address = c_null_ptr
    if (present(work)) then
      if (size(work, kind=c_int64_t) /= n) n = -1
      address = c_loc(work)
    end if
    call c_message(c_cut_keys(int(comm%mpi_val, c_int), n, key, address, part, said), said, ierror, message)
  end subroutine eqp_cut_keys

  !> Detects records that were lost, duplicated or changed while they moved. With zeros in sum the call computes it,
  !! else it compares with it. items: an array of any type whose last dimension is as long as id. Collective.
  subroutine eqp_verify_records(comm, id, sum, ierror, items, message)
    type(MPI_Comm), intent(in) :: comm
    integer(c_int64_t), intent(in), contiguous :: id(:)
    integer(c_int64_t), intent(inout) :: sum(2)
    integer, intent(out) :: ierror
    type(*), optional, intent(in) :: items(..)
    character(len=*), optional, intent(out) :: message
    type(eqp_message) :: said

    call c_message(c_verify_records(int(comm%mpi_val, c_int), size(id, kind=c_int64_t), id, items, sum, said), said, &
      ierror, message)
  end subroutine eqp_verify_records

  ! ---- Regions ----

  subroutine make_walls(comm, method, points, regions, grid, ierror, weight, low, high, least, options, message)
    integer, intent(in) :: comm
    character(len=*), intent(in) :: method
    type(eqp_points), intent(inout) :: points
    type(eqp_regions), intent(inout) :: regions
    integer(c_int), intent(inout) :: grid(3)
    integer, intent(out) :: ierror
    real(c_double), optional, intent(in), target, contiguous :: weight(:)
    real(c_double), optional, intent(in) :: low(3), high(3), least(3)
    type(eqp_balance_options), optional, intent(in) :: options
    character(len=*), optional, intent(out) :: message
    type(eqp_balance_options) :: wanted
    type(eqp_walls_options) :: how
    type(eqp_message), target :: said

    if (present(weight)) then
      if (size(weight, kind=c_int64_t) /= points%n) points%n = -1
      points%weight = c_loc(weight)
    end if
    how%size = c_sizeof(how)
    if (present(low)) how%low = low
    if (present(high)) how%high = high
    if (present(least)) how%least = least
    wanted = eqp_balance_options_defaults()
    if (present(options)) wanted = options
    if (wanted%nparts == 0) call MPI_Comm_size(MPI_Comm(comm), wanted%nparts)
    wanted%message = c_loc(said)
    call c_message(c_walls(int(comm, c_int), trim(method)//c_null_char, points, wanted, how, grid, &
      regions%handle), said, ierror, message)
    if (ierror == EQP_OK) regions%nparts = wanted%nparts
  end subroutine make_walls

  !each R=real32 | R=real64
  subroutine walls_@R@(comm, method, x, regions, grid, ierror, weight, low, high, least, options, message)
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: method
    real(@R@), intent(in), target :: x(:, :)
    type(eqp_regions), intent(inout) :: regions
    integer(c_int), intent(inout) :: grid(3)
    integer, intent(out) :: ierror
    real(c_double), optional, intent(in), target, contiguous :: weight(:)
    real(c_double), optional, intent(in) :: low(3), high(3), least(3)
    type(eqp_balance_options), optional, intent(in) :: options
    character(len=*), optional, intent(out) :: message
    real(@R@), allocatable, target :: copy(:, :)
    type(eqp_points) :: points

    call fill_@R@(x, copy, points)
    call make_walls(comm%mpi_val, method, points, regions, grid, ierror, weight, low, high, least, options, message)
  end subroutine walls_@R@

  !end each
  !> The box of a part between walls: eqp_regions_walls(). Local.
  subroutine eqp_regions_walls(regions, part, low, high, ierror)
    type(eqp_regions), intent(in) :: regions
    integer, intent(in) :: part
    real(c_double), intent(inout) :: low(3), high(3)
    integer, intent(out) :: ierror

    ierror = c_regions_walls(regions%handle, int(part, c_int), low, high)
  end subroutine eqp_regions_walls

  !> The parts within reach of a box: eqp_regions_touch(). domain: the corners of a periodic domain. Local.
  subroutine eqp_regions_touch(regions, low, high, reach, part, ierror, domain)
    type(eqp_regions), intent(in) :: regions
    real(c_double), intent(in) :: low(3), high(3), reach
    integer(c_int), allocatable, intent(inout) :: part(:)
    integer, intent(out) :: ierror
    real(c_double), optional, intent(in), target :: domain(3, 2)
    integer(c_int) :: n
    integer(c_int), allocatable :: found(:)
    type(c_ptr) :: address

    address = c_null_ptr
    if (present(domain)) address = c_loc(domain)
    n = 0
    allocate (found(regions%nparts))
    ierror = c_regions_touch(regions%handle, low, high, reach, address, found, n)
    if (ierror == EQP_OK) part = found(1:n)
  end subroutine eqp_regions_touch

  !each C=f08;COMM=type(MPI_Comm);HANDLE=comm%mpi_val | C=integer;COMM=integer;HANDLE=comm
  subroutine regions_create_@C@(comm, x, part, nparts, regions, ierror, message)
    @COMM@, intent(in) :: comm
    real(real64), intent(in), target :: x(:, :)
    integer(c_int), intent(in), contiguous :: part(:)
    integer, intent(in) :: nparts
    type(eqp_regions), intent(inout) :: regions
    integer, intent(out) :: ierror
    character(len=*), optional, intent(out) :: message
    real(real64), allocatable, target :: copy(:, :)
    type(eqp_points) :: points
    type(eqp_message) :: said

    call fill_real64(x, copy, points)
    if (size(part, kind=c_int64_t) /= points%n) points%n = -1
    call c_message(c_regions_create(int(@HANDLE@, c_int), points, part, int(nparts, c_int), regions%handle, said), said, &
      ierror, message)
    if (ierror == EQP_OK) regions%nparts = nparts
  end subroutine regions_create_@C@

  !end each
  !> The part of a point, or -1 if it belongs to no part. Local.
  integer function eqp_regions_find(regions, place)
    type(eqp_regions), intent(in) :: regions
    real(c_double), intent(in) :: place(3)

    eqp_regions_find = c_regions_find(regions%handle, place)
  end function eqp_regions_find

  subroutine eqp_regions_free(regions)
    type(eqp_regions), intent(inout) :: regions

    call c_regions_free(regions%handle)
    regions%handle = c_null_ptr
  end subroutine eqp_regions_free

  ! ---- The balancer ----

  !> Default options of a balancer.
  subroutine eqp_balancer_options_init(options, ierror)
    type(eqp_balancer_options), intent(inout) :: options
    integer, intent(out) :: ierror

    ierror = c_balancer_options_init(options, c_sizeof(options))
  end subroutine eqp_balancer_options_init

  !> Reads a word such as `interaction:pins=2` into options%method.
  subroutine eqp_choice_parse(word, choice, ierror, message)
    character(len=*), intent(in) :: word
    type(eqp_choice), intent(inout) :: choice
    integer, intent(out) :: ierror
    character(len=*), optional, intent(out) :: message
    type(eqp_message) :: said

    call c_message(c_choice_parse(c_null_ptr, c_null_ptr, trim(word)//c_null_char, choice, said), said, ierror, message)
  end subroutine eqp_choice_parse

  !> Reads `auto`, `never`, `repair`, `gain` or a number of steps into options%policy.
  subroutine eqp_policy_options_parse(text, policy, ierror)
    character(len=*), intent(in) :: text
    type(eqp_policy_options), intent(inout) :: policy
    integer, intent(out) :: ierror

    ierror = c_policy_options_parse(trim(text)//c_null_char, policy)
  end subroutine eqp_policy_options_parse

  !each C=f08;COMM=type(MPI_Comm);HANDLE=comm%mpi_val | C=integer;COMM=integer;HANDLE=comm
  subroutine balancer_create_@C@(comm, problem, options, balancer, ierror, message)
    @COMM@, intent(in) :: comm
    type(eqp_problem), intent(in) :: problem
    type(eqp_balancer_options), intent(in) :: options
    type(eqp_balancer), intent(inout) :: balancer
    integer, intent(out) :: ierror
    character(len=*), optional, intent(out) :: message
    type(eqp_message) :: said

    call c_message(c_balancer_create(int(@HANDLE@, c_int), problem, options, balancer%handle, said), said, ierror, message)
    if (ierror == EQP_OK) balancer%nkinds = max(1, problem%nkinds)
  end subroutine balancer_create_@C@

  !end each
  !> Frees a balancer. Collective.
  subroutine eqp_balancer_free(balancer)
    type(eqp_balancer), intent(inout) :: balancer

    call c_balancer_free(balancer%handle)
    balancer%handle = c_null_ptr
  end subroutine eqp_balancer_free

  !> True if the next advice will do more than keep the map. Local.
  logical function eqp_balancer_due(balancer)
    type(eqp_balancer), intent(in) :: balancer

    eqp_balancer_due = c_balancer_due(balancer%handle)
  end function eqp_balancer_due

  !> eqp_balancer_advise() advises before a step, eqp_balancer_renew() makes a new map, due or not. If advice%changed,
  !! placement holds the new places of the owners that live here, in the order of at_home counted from 1; else it is
  !! null. Borrowed until the next call. Collective.
  !each CALL=advise | CALL=renew
  subroutine eqp_balancer_@CALL@(balancer, left, advice, placement, ierror, message)
    type(eqp_balancer), intent(in) :: balancer
    integer(c_int64_t), intent(in) :: left
    type(eqp_advice), intent(inout) :: advice
    type(eqp_placement), pointer, intent(out) :: placement(:)
    integer, intent(out) :: ierror
    character(len=*), optional, intent(out) :: message
    type(eqp_message) :: said

    placement => null()
    call c_message(c_balancer_@CALL@(balancer%handle, left, advice, said), said, ierror, message)
    if (ierror == EQP_OK .and. advice%changed) call c_f_pointer(advice%placement, placement, [advice%nplacements])
  end subroutine eqp_balancer_@CALL@

  !end each
  !> Records a step: the row of this rank and its work by kind. `work` holds all optional members. Collective.
  subroutine eqp_balancer_record(balancer, row, count, step, ierror, work)
    type(eqp_balancer), intent(in) :: balancer
    type(eqp_rank_row), intent(inout), target :: row
    integer(c_int64_t), intent(in), target, contiguous :: count(:) !< one entry per kind of work
    type(eqp_step), intent(inout) :: step
    integer, intent(out) :: ierror
    type(eqp_work), optional, intent(in) :: work
    type(eqp_work) :: said

    if (present(work)) said = work
    said%row = c_loc(row)
    said%count = c_loc(count)
    if (size(count) /= balancer%nkinds) said%code = EQP_ERR_ARGUMENT
    ierror = c_balancer_record(balancer%handle, said, step)
  end subroutine eqp_balancer_record

  !> Compares methods ("sfc,rcb") at several numbers of parts. Rows are ordered by parts, then by method in the order of
  !! `words`; the `method` pointer of a row is null. Collective.
  subroutine eqp_balancer_compare(balancer, words, parts, rows, ierror, message)
    type(eqp_balancer), intent(in) :: balancer
    character(len=*), intent(in) :: words
    integer(c_int64_t), intent(in), target, contiguous :: parts(:)
    type(eqp_compared), allocatable, intent(out) :: rows(:)
    integer, intent(out) :: ierror
    character(len=*), optional, intent(out) :: message
    type(eqp_comparison) :: wanted
    type(eqp_compared), pointer :: found(:)
    type(eqp_message) :: said, none
    type(c_ptr) :: memory
    integer(c_int) :: code, other

    memory = c_null_ptr
    code = c_choices_parse(c_null_ptr, c_null_ptr, trim(words)//c_null_char, wanted%nchoices, wanted%choice, said)
    wanted%ncounts = size(parts)
    wanted%parts = c_loc(parts)
    ! The collective call fails on all ranks without choices; this rank reports its own error.
    if (code == EQP_OK) then
      code = c_balancer_compare(balancer%handle, wanted, memory, said)
    else
      other = c_balancer_compare(balancer%handle, eqp_comparison(), memory, none)
    end if
    if (code == EQP_OK) then
      call c_f_pointer(memory, found, [wanted%nchoices * wanted%ncounts])
      rows = found
      rows%method = c_null_ptr
      call eqp_free(memory)
    end if
    call eqp_free(wanted%choice)
    call c_message(code, said, ierror, message)
  end subroutine eqp_balancer_compare

  !> The present map, for eqp_map_own_rank(). Borrowed until the next map. Local.
  type(c_ptr) function eqp_balancer_map(balancer)
    type(eqp_balancer), intent(in) :: balancer

    eqp_balancer_map = c_balancer_map(balancer%handle)
  end function eqp_balancer_map
end module equipoise
