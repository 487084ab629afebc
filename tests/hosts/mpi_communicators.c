/* An MPI program with many communicators at the same time, each with calls of its own:
 *
 *   mpi_communicators COPIES [ROUNDS]
 *
 * COPIES duplicates of MPI_COMM_WORLD, the rows and columns of a grid two ranks wide, and their
 * duplicates. Results are compared with those of the MPI library's own function; the exit code is 0
 * when all were right. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 256 };

static int wrong;

static void check(MPI_Comm comm, int64_t what) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  const int64_t mine = what + rank;
  int64_t sum = 0;
  int64_t expected = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
  PMPI_Allreduce(&mine, &expected, 1, MPI_INT64_T, MPI_SUM, comm);
  if (sum != expected && wrong++ == 0) {
    fprintf(stderr, "rank %d: %lld, not %lld\n", rank, (long long)sum, (long long)expected);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int copies = argc > 1 ? atoi(argv[1]) : 8;
  const int rounds = argc > 2 ? atoi(argv[2]) : 5;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm all[most + 4];
  int count = 0;
  while (count < copies && count < most) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all[count++]);
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &all[count++]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &all[count++]);
  MPI_Comm_dup(all[count - 2], &all[count]);
  MPI_Comm_dup(all[count - 1], &all[count + 1]);
  count += 2;
  for (int round = 0; round < rounds; ++round) {
    check(MPI_COMM_WORLD, round);
    for (int i = 0; i < count; ++i) {
      check(all[i], 1000 * i + round);
    }
  }
  while (count > 0) {
    MPI_Comm_free(&all[--count]);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
