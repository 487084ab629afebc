/* One rank of bench/launch: when it began, when MPI_Init was over, and when the first message from
 * its neighbour arrived, in nanoseconds of the machine's monotonic clock. The benchmark compiles it
 * with the MPI library's wrapper; it is not part of the build.
 *
 *   first_message FOLDER        writes FOLDER/rank<number>, a line of JSON
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char** argv) {
  const int64_t began = now_ns();
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  const int64_t ready = now_ns();
  int rank, size, from = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int before = (rank + size - 1) % size;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &from, 1, MPI_INT, before, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int64_t first = now_ns();
  if (from != before) {
    fprintf(stderr, "rank %d: a message of rank %d, not of %d\n", rank, from, before);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/rank%d", argv[1], rank);
  FILE* const result = fopen(path, "w");
  if (result == NULL) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fprintf(result, "{\"began\": %lld, \"ready\": %lld, \"first\": %lld}\n", (long long)began,
          (long long)ready, (long long)first);
  fclose(result);
  MPI_Finalize();
  return 0;
}
