! A Fortran program that knows nothing of Tributary: reductions by `use mpi`, and by `use mpi_f08` in the module.
! tests/hosts/test_mpi.py runs it with the library preloaded. Exit code 1: a result is wrong.
module by_f08
contains
  ! The sum of all ranks' numbers.
  integer function sum_of_ranks()
    use mpi_f08
    integer :: rank
    type(MPI_Comm) :: copy
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_dup(MPI_COMM_WORLD, copy)
    call MPI_Allreduce(rank, sum_of_ranks, 1, MPI_INTEGER, MPI_SUM, copy)
    call MPI_Barrier(copy)
    call MPI_Comm_free(copy)
  end function
end module

program mpi_fortran
  use mpi
  use by_f08
  implicit none
  integer :: error, rank, ranks, i, wrong
  double precision :: mine(100), sums(100), greatest
  complex(kind(1d0)) :: wide, wide_sum
  complex :: narrow, narrow_sum
  integer :: digits
  integer, allocatable :: counts(:)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  wrong = 0
  mine = [(dble(rank * 1000 + i), i = 1, 100)]
  call MPI_Allreduce(mine, sums, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  do i = 1, 100
    if (sums(i) /= 500d0 * ranks * (ranks - 1) + dble(i * ranks)) wrong = wrong + 1
  end do
  allocate(counts(ranks))
  counts = 0
  counts(ranks) = 100
  call MPI_Reduce_scatter(mine, sums, counts, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == ranks - 1 .and. sums(100) /= 500d0 * ranks * (ranks - 1) + 100d0 * ranks) wrong = wrong + 1
  call MPI_Type_create_f90_real(15, 307, digits, error)
  call MPI_Allreduce(mine, sums, 100, digits, MPI_SUM, MPI_COMM_WORLD, error)
  if (sums(1) /= 500d0 * ranks * (ranks - 1) + dble(ranks)) wrong = wrong + 1
  wide = cmplx(rank, -1, kind(1d0))
  call MPI_Allreduce(wide, wide_sum, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
  if (wide_sum /= cmplx(ranks * (ranks - 1) / 2, -ranks, kind(1d0))) wrong = wrong + 1
  narrow = cmplx(1, rank)
  call MPI_Allreduce(narrow, narrow_sum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
  if (narrow_sum /= cmplx(ranks, ranks * (ranks - 1) / 2)) wrong = wrong + 1
  greatest = rank
  call MPI_Allreduce(MPI_IN_PLACE, greatest, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD, error)
  if (greatest /= ranks - 1) wrong = wrong + 1
  if (rank == 0) then
    call MPI_Reduce(MPI_IN_PLACE, mine, 100, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (any(mine /= sums)) wrong = wrong + 1
  else
    call MPI_Reduce(mine, sums, 100, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  end if
  i = 7 * (rank + 1)
  call MPI_Bcast(i, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, error)
  if (i /= 7 * ranks) wrong = wrong + 1
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (sum_of_ranks() /= ranks * (ranks - 1) / 2) wrong = wrong + 1
  call MPI_Finalize(error)
  if (wrong /= 0) then
    print *, "rank", rank, ":", wrong, "results are wrong"
    stop 1
  end if
end program
