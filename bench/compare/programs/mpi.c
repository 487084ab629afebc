/* One rank of bench/compare/allreduce, and of vector, through an MPI library. The comparison
 * compiles it with the wrapper of each library; it is not part of the build. */
#include "timed_loop.h"

#include <mpi.h>

/* From wait_when_idle.c, which is preloaded. */
extern int longest_wait_ms __attribute__((weak));

static void wait_when_idle(int milliseconds) {
  if (&longest_wait_ms != NULL) {
    longest_wait_ms = milliseconds;
  }
}

static int run(void* library, const double* in, double* out, size_t count) {
  (void)library;
  return count == 0 ? MPI_Barrier(MPI_COMM_WORLD)
                    : MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    fprintf(stderr, "usage: %s FOLDER INTERFACE SECONDS [COUNTS]\n", argv[0]);
    return 2;
  }
  struct timed_loop loop = {.run = run, .interface = argv[2], .seconds = atof(argv[3])};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &loop.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &loop.size);
  MPI_Barrier(MPI_COMM_WORLD);
  wait_when_idle(1);
  timed_loop_run(&loop, argv[1], argc > 4 ? argv[4] : NULL);
  wait_when_idle(0); /* the end is made of polls that find nothing, as the beginning was */
  MPI_Finalize();
  return 0;
}
