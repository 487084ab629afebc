/* Two ranks: half round trips, and the rate of messages in one direction.
 *
 *     exchange SECONDS BYTES[,BYTES...]
 *
 * Rank 0 prints a line of JSON for each length: {"bytes", "half_round_trip_us" (the median),
 * "bytes_a_second"}. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_samples = 1 << 20, window = 16, warm_up = 20, tag = 1, last = 2 };

static int rank;

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Rank 0 says after each round whether another one follows. */
static int is_next(double until) {
  int more = MPI_Wtime() < until;
  MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more;
}

static double half_round_trip_us(char* bytes, int length, double seconds, double* samples) {
  int count = 0;
  for (int i = 0; i < warm_up; ++i) {
    if (rank == 0) {
      MPI_Send(bytes, length, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
      MPI_Recv(bytes, length, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(bytes, length, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(bytes, length, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    }
  }
  if (rank != 0) { /* answers until the message has the other tag */
    for (MPI_Status status;;) {
      MPI_Recv(bytes, length, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Send(bytes, length, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
      if (status.MPI_TAG == last) {
        return 0;
      }
    }
  }
  const double until = MPI_Wtime() + seconds;
  for (int ends = 0; !ends;) {
    const double start = MPI_Wtime();
    ends = start >= until || count == most_samples - 1;
    MPI_Send(bytes, length, MPI_BYTE, 1, ends ? last : tag, MPI_COMM_WORLD);
    MPI_Recv(bytes, length, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    samples[count++] = (MPI_Wtime() - start) / 2 * 1e6;
  }
  qsort(samples, (size_t)count, sizeof(double), by_size);
  return samples[count / 2];
}

static double bytes_a_second(char* bytes, int length, double seconds) {
  MPI_Request requests[window];
  const double start = MPI_Wtime();
  double sent = 0;
  do {
    for (int i = 0; i < window; ++i) {
      if (rank == 0) {
        MPI_Isend(bytes, length, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Irecv(bytes, length, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    sent += (double)window * length;
  } while (is_next(start + seconds));
  MPI_Barrier(MPI_COMM_WORLD); /* all has arrived */
  return sent / (MPI_Wtime() - start);
}

int main(int argc, char** argv) {
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3 || ranks != 2) {
    fprintf(stderr, "exchange SECONDS BYTES[,BYTES...], with two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const double seconds = atof(argv[1]);
  double* samples = malloc(most_samples * sizeof(double));
  for (char* at = argv[2]; *at != 0;) {
    const int length = (int)strtol(at, &at, 10);
    at += *at == ',' ? 1 : 0;
    char* bytes = calloc(1, (size_t)length + 1);
    const double us = half_round_trip_us(bytes, length, seconds, samples);
    MPI_Barrier(MPI_COMM_WORLD);
    const double rate = bytes_a_second(bytes, length, seconds);
    if (rank == 0) {
      printf("{\"bytes\": %d, \"half_round_trip_us\": %.3f, \"bytes_a_second\": %.0f}\n", length,
             us, rate);
      fflush(stdout);
    }
    free(bytes);
  }
  free(samples);
  MPI_Finalize();
  return 0;
}
