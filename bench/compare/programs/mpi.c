/* One rank of bench/compare/allreduce, vector and collectives, through an MPI library. The
 * comparison compiles it with the wrapper of each library; it is not part of the build. */
#include "timed_loop.h"

#include <mpi.h>

/* From wait_when_idle.c, which is preloaded. */
extern int longest_wait_ms __attribute__((weak));

static void wait_when_idle(int milliseconds) {
  if (&longest_wait_ms != NULL) {
    longest_wait_ms = milliseconds;
  }
}

static int allreduce(void* library, const double* in, double* out, size_t count) {
  (void)library;
  return MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int run(void* library, const double* in, double* out, size_t count) {
  static int root = 0;
  const struct timed_loop* loop = library;
  const int elements = (int)count;
  switch (loop->call) {
  case timed_broadcast:
    if (root == loop->rank) {
      memcpy(out, in, count * sizeof *out);
    }
    root = (root + 1) % loop->size;
    return MPI_Bcast(out, elements, MPI_DOUBLE, (root + loop->size - 1) % loop->size,
                     MPI_COMM_WORLD);
  case timed_allgather:
    return MPI_Allgather(in, elements, MPI_DOUBLE, out, elements, MPI_DOUBLE, MPI_COMM_WORLD);
  case timed_reduce_scatter:
    return MPI_Reduce_scatter_block(in, out, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  case timed_allreduce: break;
  }
  return count == 0 ? MPI_Barrier(MPI_COMM_WORLD)
                    : MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const int call = argc > 5 ? timed_call_named(argv[5]) : timed_allreduce;
  if (argc < 4 || argc > 6 || call < 0) {
    fprintf(stderr, "usage: %s FOLDER INTERFACE SECONDS [COUNTS [CALL]]\n", argv[0]);
    return 2;
  }
  struct timed_loop loop = {.run = run,
                            .agree = allreduce,
                            .call = (enum timed_call)call,
                            .interface = argv[2],
                            .seconds = atof(argv[3])};
  loop.library = &loop;
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
