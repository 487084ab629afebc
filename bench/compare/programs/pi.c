/* An MPI program that knows nothing of Tributary: pi by counting random points in a circle. After
 * every round all ranks sum their counts (four doubles), take the point farthest out, and meet in a
 * barrier. All sums are whole numbers, so that every MPI library has the same bits.
 *
 *     pi ROUNDS SEED
 *
 * Rank 0 prints one line of JSON: pi, a check sum of all results, and median times of the calls.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { points = 200 };

static uint64_t state;

static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 32) / 4294967296.0;
}

static void mix(uint64_t* sum, const double* values, int count) {
  for (int i = 0; i < count; ++i) {
    uint64_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    *sum = (*sum ^ bits) * 1099511628211u;
  }
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 1000003u + (uint64_t)rank;
  double* reduced = malloc(sizeof(double) * (size_t)rounds);
  double* met = malloc(sizeof(double) * (size_t)rounds);
  double counted[4] = {0, 0, 0, 0}, all[4], farthest = 0, farthest_of_all;
  uint64_t sum = 14695981039346656037u;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < points; ++i) {
      const double x = uniform(), y = uniform(), far = x * x + y * y;
      counted[0] += far < 1;
      counted[1] += 1;
      counted[2] += x < y;
      counted[3] += far < 0.25;
      farthest = far > farthest ? far : farthest;
    }
    const double start = MPI_Wtime();
    MPI_Allreduce(counted, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double middle = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    met[round] = MPI_Wtime() - middle;
    reduced[round] = middle - start;
    MPI_Allreduce(&farthest, &farthest_of_all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    mix(&sum, all, 4);
    mix(&sum, &farthest_of_all, 1);
  }
  qsort(reduced, (size_t)rounds, sizeof *reduced, by_size);
  qsort(met, (size_t)rounds, sizeof *met, by_size);
  if (rank == 0) {
    printf("{\"ranks\": %d, \"pi\": %.9f, \"check_sum\": \"%016llx\", \"allreduce_us\": %.1f, "
           "\"barrier_us\": %.1f}\n",
           ranks, 4 * all[0] / all[1], (unsigned long long)sum, 1e6 * reduced[rounds / 2],
           1e6 * met[rounds / 2]);
  }
  free(reduced);
  free(met);
  MPI_Finalize();
  return 0;
}
