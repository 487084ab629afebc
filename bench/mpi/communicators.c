/* The life of communicators, timed:
 *
 *   communicators FILE dup COUNT     COUNT times MPI_Comm_dup of MPI_COMM_WORLD, an allreduce and
 *                                    MPI_Comm_free
 *   communicators FILE live COUNT    COUNT duplicates, an allreduce in each; then 10 rounds of an
 *                                    allreduce in each; then they are freed
 *   communicators FILE grid COUNT    COUNT times the rows and columns of a grid two ranks wide, an
 *                                    allreduce in each, both freed
 *
 * Rank 0 writes a line of JSON to FILE: mean microseconds for one communicator, over the ranks, of
 * all of it (`us`) and of each part. Results are checked; the exit code is 1 if one was wrong. The
 * first of each is not timed: it may measure, and make connections. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 10 };

static int wrong;

static void sum(MPI_Comm comm, int64_t what) {
  int rank;
  int size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int64_t mine = what + rank;
  int64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, comm);
  if (all != size * what + (int64_t)size * (size - 1) / 2 && wrong++ == 0) {
    fprintf(stderr, "rank %d of %d: %lld\n", rank, size, (long long)all);
  }
}

/* Of this rank and part, in seconds. */
struct times {
  double make, first, use, end;
};

static double now(double* since) {
  const double before = *since;
  *since = MPI_Wtime();
  return *since - before;
}

static struct times dups(int count) {
  struct times times = {0};
  double at = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    times.make += now(&at);
    sum(comm, i);
    times.first += now(&at);
    MPI_Comm_free(&comm);
    times.end += now(&at);
  }
  return times;
}

static struct times live(int count) {
  struct times times = {0};
  MPI_Comm* const all = malloc((size_t)count * sizeof *all);
  double at = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    times.make += now(&at);
    sum(all[i], i);
    times.first += now(&at);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) {
      sum(all[i], 1000 * round + i);
    }
  }
  times.use = now(&at);
  for (int i = 0; i < count; ++i) {
    MPI_Comm_free(&all[i]);
  }
  times.end = now(&at);
  free(all);
  return times;
}

static struct times grid(int count) {
  struct times times = {0};
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double at = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    MPI_Comm row;
    MPI_Comm column;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    times.make += now(&at);
    sum(row, i);
    sum(column, i);
    times.first += now(&at);
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    times.end += now(&at);
  }
  return times;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) {
    fprintf(stderr, "communicators FILE dup|live|grid COUNT\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  struct times (*const of)(int) = strcmp(argv[2], "dup") == 0    ? dups
                                  : strcmp(argv[2], "live") == 0 ? live
                                                                 : grid;
  const int count = atoi(argv[3]);
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sum(MPI_COMM_WORLD, 1);
  of(1);
  MPI_Barrier(MPI_COMM_WORLD);
  const struct times mine = of(count);
  double each[4] = {mine.make, mine.first, mine.use, mine.end};
  double all[4];
  PMPI_Reduce(each, all, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    FILE* const file = fopen(argv[1], "w");
    if (file == NULL) {
      perror(argv[1]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const double us = 1e6 / size / count;
    fprintf(file,
            "{\"us\": %.2f, \"make_us\": %.2f, \"first_us\": %.2f, \"use_us\": %.2f, \"end_us\": "
            "%.2f}\n",
            (all[0] + all[1] + all[3]) * us, all[0] * us, all[1] * us, all[2] * us / rounds,
            all[3] * us);
    fclose(file);
  }
  int any = 0;
  PMPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return any == 0 ? 0 : 1;
}
