! A Fortran program that knows `use mpi_f08` alone. tests/hosts/test_mpi.py runs it with the library preloaded. Exit
! code 1: a result is wrong.
program f08
  use mpi_f08
  implicit none
  integer :: rank, ranks, total, later, wrong
  integer, allocatable :: counts(:), each(:)
  type(MPI_Comm) :: copy
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  wrong = 0
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, copy)
  if (total /= ranks * (ranks - 1) / 2) wrong = wrong + 1
  call MPI_Iallreduce(rank, later, 1, MPI_INTEGER, MPI_SUM, copy, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (later /= total) wrong = wrong + 1
  allocate(counts(ranks), each(ranks))
  counts = 1
  each = rank
  later = -1
  call MPI_Reduce_scatter(each, later, counts, MPI_INTEGER, MPI_SUM, copy)
  if (later /= total) wrong = wrong + 1
  call MPI_Barrier(copy)
  call MPI_Comm_free(copy)
  call MPI_Finalize()
  if (wrong /= 0) stop 1
end program
