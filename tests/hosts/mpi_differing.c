/* A program whose ranks make different calls: which is an error and must not give a result.
 *
 *   mpi_differing WHAT    `count`: rank 3 has twice as many elements as all others. `node`: so have
 *                         all odd ranks. `operator`, `type`, `root`, `kind`, `barrier`, `counts`
 *                         (of as many elements), `complex`: that of the odd ranks is another one */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { most = 8 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const what = argc > 1 ? argv[1] : "";
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int odd = rank % 2;
  double in[most] = {1, 2, 3, 4, 5, 6, 7, 8};
  double out[most] = {0};
  MPI_Allreduce(in, out, most, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const int is_count = strcmp(what, "count") == 0
                           ? rank == 3
                           : strcmp(what, "complex") == 0 || (strcmp(what, "node") == 0 && odd);
  if (strcmp(what, "root") == 0) {
    MPI_Bcast(in, 4, MPI_DOUBLE, odd, MPI_COMM_WORLD);
  } else if (strcmp(what, "kind") == 0 && odd) {
    MPI_Reduce(in, out, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  } else if (strcmp(what, "barrier") == 0 && odd) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(what, "counts") == 0) {
    const int equal[] = {2, 2, 2, 2};
    const int other[] = {4, 0, 2, 2};
    MPI_Reduce_scatter(in, out, odd ? other : equal, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(what, "complex") == 0 && !odd) {
    MPI_Allreduce(in, out, 4, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  } else {
    MPI_Allreduce(in, out, is_count ? 8 : 4,
                  strcmp(what, "type") == 0 && odd ? MPI_INT64_T : MPI_DOUBLE,
                  strcmp(what, "operator") == 0 && odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  }
  printf("rank %d: success\n", rank);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
