! SPDX-License-Identifier: BSD-3-Clause
! The world as Fortran sees it, by mpif.h, by -DUSE_MPI or by -DF08. Lines of rank 0: its ranks and their sum; ranks of a
! half, of a grid, of a group; what a neighbour sent; a file; the name; attributes. `world fail`: an error that is
! returned. `world abort`: ends with status 7.
program world
#if defined(F08)
   use mpi_f08
   implicit none
   type(MPI_Comm) :: other, half, grid
   type(MPI_File) :: file
   type(MPI_Group) :: group
   type(MPI_Request) :: request
#elif defined(USE_MPI)
   use mpi
   implicit none
   integer :: other, half, grid, file, group, request
#else
   implicit none
   include 'mpif.h'
   integer :: other, half, grid, file, group, request
#endif
   integer :: ierror, rank, ranks, total, of_half, of_grid, of_group, length, got, same, left, right, provided
   integer(kind=MPI_ADDRESS_KIND) :: bound, universe
   integer(kind=MPI_OFFSET_KIND) :: bytes, place
   logical :: there
   character(len=MPI_MAX_OBJECT_NAME) :: name
   character(len=16) :: what

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
