! SPDX-License-Identifier: BSD-3-Clause
!> Private interfaces of the C functions behind module equipoise.
module equipoise_calls
  use, intrinsic :: iso_c_binding
  use equipoise_types
  implicit none
  public

  interface
    type(c_ptr) function c_version() bind(c, name="eqp_version")
      import :: c_ptr
    end function c_version
    type(c_ptr) function c_error_text(code) bind(c, name="eqp_error_text")
      import :: c_ptr, c_int
      integer(c_int), value :: code
    end function c_error_text
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function c_strlen
    type(c_ptr) function c_method_find(name) bind(c, name="eqp_method_find")
      import :: c_ptr, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function c_method_find
    integer(c_int) function c_method_set(method, name, value, settings, message) bind(c, name="eqp_method_set")
      import :: c_int, c_ptr, c_char, eqp_settings, eqp_message
      type(c_ptr), value :: method, value
      character(kind=c_char), intent(in) :: name(*)
      type(eqp_settings), intent(inout) :: settings
      type(eqp_message), intent(inout) :: message
    end function c_method_set
    integer(c_int) function c_choice_parse(own, usual, word, choice, message) bind(c, name="eqp_choice_parse")
      import :: c_int, c_ptr, c_char, eqp_choice, eqp_message
      type(c_ptr), value :: own, usual
      character(kind=c_char), intent(in) :: word(*)
      type(eqp_choice), intent(inout) :: choice
      type(eqp_message), intent(inout) :: message
    end function c_choice_parse
    integer(c_int) function c_choices_parse(own, usual, words, n, choices, message) bind(c, name="eqp_choices_parse")
      import :: c_int, c_ptr, c_char, eqp_message
      type(c_ptr), value :: own, usual
      character(kind=c_char), intent(in) :: words(*)
      integer(c_int), intent(out) :: n
      type(c_ptr), intent(out) :: choices
      type(eqp_message), intent(inout) :: message
    end function c_choices_parse
    integer(c_int) function c_options_init(options, size) bind(c, name="eqp_balancer_options_init")
      import :: c_int, c_size_t, eqp_balancer_options
      type(eqp_balancer_options), intent(inout) :: options
      integer(c_size_t), value :: size
    end function c_options_init
    integer(c_int) function c_policy_parse(text, policy) bind(c, name="eqp_policy_options_parse")
      import :: c_int, c_char, eqp_policy_options
      character(kind=c_char), intent(in) :: text(*)
      type(eqp_policy_options), intent(inout) :: policy
    end function c_policy_parse
    integer(c_int) function c_balance_points(comm, word, points, options, part, result) &
        bind(c, name="eqp_fortran_balance_points")
      import :: c_int, c_char, eqp_points, eqp_balance_options, eqp_balance_result
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: word(*)
      type(eqp_points), intent(in) :: points
      type(eqp_balance_options), intent(in) :: options
      integer(c_int), intent(inout) :: part(*)
      type(eqp_balance_result), intent(inout) :: result
    end function c_balance_points
    integer(c_int) function c_send_records(comm, element, n, dest, send, nrecv, recv) &
        bind(c, name="eqp_fortran_send_records")
      import :: c_int, c_size_t, c_int64_t, c_ptr
      integer(c_int), value :: comm
      integer(c_size_t), value :: element
      integer(c_int64_t), value :: n
      integer(c_int), intent(in) :: dest(*)
      type(c_ptr), value :: send
      integer(c_int64_t), intent(out) :: nrecv
      type(c_ptr), intent(inout) :: recv
    end function c_send_records
    integer(c_int) function c_gather_records(comm, element, n, send, nrecv, recv) &
        bind(c, name="eqp_fortran_gather_records")
      import :: c_int, c_size_t, c_int64_t, c_ptr
      integer(c_int), value :: comm
      integer(c_size_t), value :: element
      integer(c_int64_t), value :: n
      type(c_ptr), value :: send
      integer(c_int64_t), intent(out) :: nrecv
      type(c_ptr), intent(inout) :: recv
    end function c_gather_records
    integer(c_int) function c_regions_create(comm, points, part, nparts, regions, message) &
        bind(c, name="eqp_fortran_regions_create")
      import :: c_int, c_ptr, eqp_points, eqp_message
      integer(c_int), value :: comm, nparts
      type(eqp_points), intent(in) :: points
      integer(c_int), intent(in) :: part(*)
      type(c_ptr), intent(inout) :: regions
      type(eqp_message), intent(inout) :: message
    end function c_regions_create
    integer(c_int) function c_walls(comm, word, points, options, how, grid, regions) bind(c, name="eqp_fortran_walls")
      import :: c_int, c_char, c_ptr, eqp_points, eqp_balance_options, eqp_walls_options
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: word(*)
      type(eqp_points), intent(in) :: points
      type(eqp_balance_options), intent(in) :: options
      type(eqp_walls_options), intent(in) :: how
      integer(c_int), intent(inout) :: grid(3)
      type(c_ptr), intent(inout) :: regions
    end function c_walls
    integer(c_int) function c_regions_walls(regions, part, low, high) bind(c, name="eqp_regions_walls")
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: regions
      integer(c_int), value :: part
      real(c_double), intent(inout) :: low(3), high(3)
    end function c_regions_walls
    integer(c_int) function c_regions_touch(regions, low, high, reach, domain, part, n) bind(c, name="eqp_regions_touch")
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: regions, domain
      real(c_double), intent(in) :: low(3), high(3)
      real(c_double), value :: reach
      integer(c_int), intent(inout) :: part(*), n
    end function c_regions_touch
    integer(c_int) function c_cut_keys(comm, n, key, work, part, message) &
        bind(c, name="eqp_fortran_cut_keys")
      import :: c_int, c_int64_t, c_ptr, eqp_message
      integer(c_int), value :: comm
      integer(c_int64_t), value :: n
      integer(c_int64_t), intent(in) :: key(*)
      type(c_ptr), value :: work
      integer(c_int), intent(inout) :: part(*)
      type(eqp_message), intent(inout) :: message
    end function c_cut_keys
    integer(c_int) function c_verify_records(comm, n, id, record, sum, message) bind(c, name="eqp_fortran_verify_records")
      import :: c_int, c_int64_t, eqp_message
      integer(c_int), value :: comm
      integer(c_int64_t), value :: n
      integer(c_int64_t), intent(in) :: id(*)
      type(*), intent(in), optional :: record(..)
      integer(c_int64_t), intent(inout) :: sum(2)
      type(eqp_message), intent(inout) :: message
    end function c_verify_records
    integer(c_int) function c_plan_create(comm, n, dest, plan, count, narriving) bind(c, name="eqp_fortran_plan_create")
      import :: c_int, c_int64_t, c_ptr
      integer(c_int), value :: comm
      integer(c_int64_t), value :: n
      integer(c_int), intent(in) :: dest(*)
      type(c_ptr), intent(inout) :: plan
      integer(c_int64_t), intent(inout) :: count(*), narriving
    end function c_plan_create
    integer(c_int) function c_plan_move(comm, plan, count, nsend, nrecv, back, send, recv) &
        bind(c, name="eqp_fortran_plan_move")
      import :: c_int, c_int64_t, c_ptr, c_bool
      integer(c_int), value :: comm
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(in) :: count(*)
      integer(c_int64_t), value :: nsend, nrecv
      logical(c_bool), value :: back
      type(*), intent(in) :: send(..)
      type(*), intent(inout) :: recv(..)
    end function c_plan_move
    subroutine c_plan_free(plan) bind(c, name="eqp_move_plan_free")
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine c_plan_free
    subroutine c_regions_free(regions) bind(c, name="eqp_regions_free")
      import :: c_ptr
      type(c_ptr), value :: regions
    end subroutine c_regions_free
    integer(c_int) function c_regions_find(regions, place) bind(c, name="eqp_regions_find")
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: regions
      real(c_double), intent(in) :: place(3)
    end function c_regions_find
    integer(c_int) function c_balancer_create(comm, problem, options, balancer, message) &
        bind(c, name="eqp_fortran_balancer_create")
      import :: c_int, c_ptr, eqp_problem, eqp_balancer_options, eqp_message
      integer(c_int), value :: comm
      type(eqp_problem), intent(in) :: problem
      type(eqp_balancer_options), intent(in) :: options
      type(c_ptr), intent(inout) :: balancer
      type(eqp_message), intent(inout) :: message
    end function c_balancer_create
    subroutine c_balancer_free(balancer) bind(c, name="eqp_balancer_free")
      import :: c_ptr
      type(c_ptr), value :: balancer
    end subroutine c_balancer_free
    logical(c_bool) function c_balancer_due(balancer) bind(c, name="eqp_balancer_due")
      import :: c_ptr, c_bool
      type(c_ptr), value :: balancer
    end function c_balancer_due
    integer(c_int) function c_balancer_advise(balancer, left, advice, message) bind(c, name="eqp_balancer_advise")
      import :: c_int, c_ptr, c_int64_t, eqp_advice, eqp_message
      type(c_ptr), value :: balancer
      integer(c_int64_t), value :: left
      type(eqp_advice), intent(inout) :: advice
      type(eqp_message), intent(inout) :: message
    end function c_balancer_advise
    integer(c_int) function c_balancer_renew(balancer, left, advice, message) bind(c, name="eqp_balancer_renew")
      import :: c_int, c_ptr, c_int64_t, eqp_advice, eqp_message
      type(c_ptr), value :: balancer
      integer(c_int64_t), value :: left
      type(eqp_advice), intent(inout) :: advice
      type(eqp_message), intent(inout) :: message
    end function c_balancer_renew
    integer(c_int) function c_balancer_record(balancer, work, step) bind(c, name="eqp_balancer_record")
      import :: c_int, c_ptr, eqp_work, eqp_step
      type(c_ptr), value :: balancer
      type(eqp_work), intent(in) :: work
      type(eqp_step), intent(inout) :: step
    end function c_balancer_record
    integer(c_int) function c_balancer_compare(balancer, comparison, rows, message) bind(c, name="eqp_balancer_compare")
      import :: c_int, c_ptr, eqp_comparison, eqp_message
      type(c_ptr), value :: balancer
      type(eqp_comparison), intent(in) :: comparison
      type(c_ptr), intent(inout) :: rows
      type(eqp_message), intent(inout) :: message
    end function c_balancer_compare
    type(c_ptr) function c_balancer_map(balancer) bind(c, name="eqp_balancer_map")
      import :: c_ptr
      type(c_ptr), value :: balancer
    end function c_balancer_map
  end interface
end module equipoise_calls
