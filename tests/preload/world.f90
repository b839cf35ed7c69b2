! SPDX-License-Identifier: BSD-3-Clause
! The world as Fortran sees it, by mpif.h, by -DUSE_MPI or by -DF08. Lines of rank 0: its ranks and their sum; ranks of a
! half, of a grid, of a group; what a neighbour sent; a file; the name; attributes. `world fail`: an error that is
! returned. `world abort`: ends with status 7.
#if defined(F08)
#define COMM type(MPI_Comm)
#else
#define COMM integer
#endif

! Callbacks of MPI count the calls with the world's handle.
module called
#if defined(F08)
   use mpi_f08
   implicit none
#elif defined(USE_MPI)
   use mpi
   implicit none
#else
   implicit none
   include 'mpif.h'
#endif
   integer :: handled = 0, copied = 0, deleted = 0
   logical :: no_handles ! Open MPI tells no Fortran program whose attribute is deleted
contains
   subroutine handle(comm, error_code)
      COMM :: comm
      integer :: error_code
      if (comm == MPI_COMM_WORLD .and. error_code /= MPI_SUCCESS) handled = handled + 1
   end subroutine handle

   subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
      COMM :: oldcomm
      integer :: comm_keyval, ierror
      integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
      logical :: flag
      if (oldcomm == MPI_COMM_WORLD .and. extra_state == 2_MPI_ADDRESS_KIND**40) copied = copied + 1
      attribute_val_out = attribute_val_in
      flag = .true.
      ierror = MPI_SUCCESS
   end subroutine copy

   subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
      COMM :: comm
      integer :: comm_keyval, ierror
      integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
      if ((comm == MPI_COMM_WORLD .or. no_handles) .and. extra_state == 2_MPI_ADDRESS_KIND**40) deleted = deleted + 1
      ierror = MPI_SUCCESS
   end subroutine delete

#if defined(OLD_NAMES)
   subroutine old_delete(comm, keyval, attribute_val, extra_state, ierror)
      integer :: comm, keyval, attribute_val, extra_state, ierror
      if ((comm == MPI_COMM_WORLD .or. no_handles) .and. extra_state == 5) deleted = deleted + 1
      ierror = MPI_SUCCESS
   end subroutine old_delete
#endif
end module called

program world
   use called
#if defined(F08)
   implicit none
   type(MPI_Comm) :: other, half, grid
   type(MPI_File) :: file
   type(MPI_Group) :: group
   type(MPI_Request) :: request
#elif defined(USE_MPI)
   implicit none
   integer :: other, half, grid, file, group, request
#else
   implicit none
   integer :: other, half, grid, file, group, request
#endif
   integer :: ierror, rank, ranks, total, of_half, of_grid, of_group, length, got, same, left, right, provided
   integer(kind=MPI_ADDRESS_KIND) :: bound, universe
   integer(kind=MPI_OFFSET_KIND) :: bytes, place
   logical :: there
   character(len=MPI_MAX_OBJECT_NAME) :: name
   character(len=16) :: what
   character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
   integer :: keyval
   integer(kind=MPI_ADDRESS_KIND) :: state, value
#if defined(F08)
   type(MPI_Errhandler) :: handler
#else
   integer :: handler
#endif

#if defined(F08)
   call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
#else
   call MPI_Init(ierror)
#endif
   call MPI_Pcontrol(1)
   call get_command_argument(1, what)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
   if (what == 'abort') call MPI_Abort(MPI_COMM_WORLD, 7, ierror)
   call MPI_Comm_create_errhandler(handle, handler, ierror)
   call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
   call MPI_Errhandler_free(handler, ierror)
   call MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER, ierror)
   call MPI_Send(rank, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, ierror)
   if (handled /= 2) print *, 'a handler of errors sees another world', handled
   call MPI_Get_library_version(version, length, ierror)
   no_handles = index(version, 'Open MPI') > 0
   state = 2_MPI_ADDRESS_KIND**40
   value = 7
   call MPI_Comm_create_keyval(copy, delete, keyval, state, ierror)
   call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierror)
   call MPI_Comm_dup(MPI_COMM_WORLD, other, ierror)
   value = 0
   call MPI_Comm_get_attr(other, keyval, value, there, ierror)
   if (.not. there .or. value /= 7) print *, 'an attribute is not copied'
   call MPI_Comm_free(other, ierror)
   call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
   call MPI_Comm_free_keyval(keyval, ierror)
   if (copied /= 1 .or. deleted /= merge(2, 1, no_handles)) print *, 'callbacks of attributes see another world', copied, deleted
#if defined(OLD_NAMES)
   call MPI_Keyval_create(MPI_NULL_COPY_FN, old_delete, keyval, 5, ierror)
   call MPI_Attr_put(MPI_COMM_WORLD, keyval, 7, ierror)
   call MPI_Attr_delete(MPI_COMM_WORLD, keyval, ierror)
   if (deleted /= merge(3, 2, no_handles)) print *, 'callbacks of old attributes see another world', deleted
#endif
   call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
   call MPI_Send(rank, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, ierror)
   if (ierror == MPI_SUCCESS) print *, 'there is a rank behind the last one'

   call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
   call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierror)
   call MPI_Comm_size(half, of_half, ierror)
   call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., grid, ierror)
   call MPI_Comm_size(grid, of_grid, ierror)
   call MPI_Cart_shift(grid, 0, 1, left, right, ierror)
   call MPI_Irecv(got, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request, ierror)
   call MPI_Send(rank, 1, MPI_INTEGER, right, 1, grid, ierror)
   call MPI_Send(rank, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, ierror)
   call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
   call MPI_Recv(same, 1, MPI_INTEGER, left, 1, grid, MPI_STATUS_IGNORE, ierror)
   if (got /= left .or. same /= left) print *, 'another neighbour'
   call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
   call MPI_Group_size(group, of_group, ierror)
   call MPI_Comm_dup(MPI_COMM_WORLD, other, ierror)
   call MPI_Comm_compare(MPI_COMM_WORLD, other, same, ierror)
   call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierror)
   call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, bound, there, ierror)
   if (.not. there .or. bound < 32767) print *, 'no largest tag'
   call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, universe, there, ierror)
   if (.not. there) universe = ranks
   call MPI_File_open(MPI_COMM_WORLD, 'numbers.bin', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
   place = 4 * rank
   call MPI_File_write_at_all(file, place, rank, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
   call MPI_File_sync(file, ierror)
   call MPI_Barrier(MPI_COMM_WORLD, ierror)
   call MPI_File_get_size(file, bytes, ierror)
   call MPI_File_close(file, ierror)
   if (rank == 0) then
      print *, ranks, total, of_half, of_grid, of_group, same == MPI_CONGRUENT, bytes
      print *, name(1:length), universe - ranks
   end if
   call MPI_Pcontrol(0)
   call MPI_Finalize(ierror)
end program world
