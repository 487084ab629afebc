/* One rank of bench/mpi: times operations of MPI_COMM_WORLD, in the manner of the OSU benchmarks.
 * The benchmark compiles it with the MPI library's wrapper; it is not part of the build.
 *
 *   operations FOLDER SECONDS allreduce:8,bcast:1024,reduce:64,barrier tries|plain [calls]
 *
 * Bytes are of floats, 4 each. Allreduces and barriers are made back to back. Between broadcasts
 * and between reductions to rank 0 is a barrier, the MPI library's own and not timed: otherwise the
 * first ranks would run ahead of the last ones.
 *
 * The first calls of each point are not timed. Where paths are tried the warm-up lasts until the
 * network has won a first experiment of long calls (docs/guide/mpi.md). Operations so long that
 * seven fill the seconds have no more calls.
 *
 * Every rank writes FOLDER/rank<number>, a line of JSON for each point: median and mean of its
 * times, and with `calls` each of them, the warm-up's first. The first and the last element of each
 * result are checked, and all elements of the last one.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum operation { allreduce, bcast, reduce, barrier, operations };
static const char* const names[operations] = {"allreduce", "bcast", "reduce", "barrier"};

struct point {
  enum operation operation;
  size_t count; /* of floats */
};

static int rank, size;
static float *in, *out;

static float expected(enum operation operation, size_t i) {
  const float pattern = (float)(i % 1000);
  return operation == bcast ? pattern + 1 : (float)(size * (size + 1) / 2) + (float)size * pattern;
}

static void fill(const struct point* at) {
  for (size_t i = 0; i < at->count; ++i) {
    in[i] = (float)(rank + 1) + (float)(i % 1000);
  }
}

static void check(const struct point* at, size_t i) {
  const float* result = at->operation == bcast ? in : out;
  if ((at->operation != reduce || rank == 0) && result[i] != expected(at->operation, i)) {
    fprintf(stderr, "rank %d: %s of %zu bytes: wrong result %g, not %g, at element %zu\n", rank,
            names[at->operation], at->count * sizeof(float), (double)result[i],
            (double)expected(at->operation, i), i);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* Returns how long it took, in microseconds. */
static double once(const struct point* at) {
  if (at->count > 0) {
    out[0] = out[at->count - 1] = 0;
    if (at->operation == bcast) {
      in[0] = (float)(rank + 1);
      in[at->count - 1] = (float)(rank + 1) + (float)((at->count - 1) % 1000);
    }
  }
  if (at->operation == bcast || at->operation == reduce) {
    PMPI_Barrier(MPI_COMM_WORLD);
  }
  const double began = MPI_Wtime();
  switch (at->operation) {
  case allreduce: MPI_Allreduce(in, out, (int)at->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
  case bcast: MPI_Bcast(in, (int)at->count, MPI_FLOAT, 0, MPI_COMM_WORLD); break;
  case reduce: MPI_Reduce(in, out, (int)at->count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); break;
  default: MPI_Barrier(MPI_COMM_WORLD); break;
  }
  const double took = (MPI_Wtime() - began) * 1e6;
  if (at->count > 0) {
    check(at, 0);
    check(at, at->count - 1);
  }
  return took;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double* array(int count) {
  double* const made = calloc((size_t)count, sizeof *made);
  if (made == NULL) {
    perror("times");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return made;
}

static void write_calls(FILE* result, const double* took, int times, const char* after) {
  for (int i = 0; i < times; ++i) {
    fprintf(result, "%.1f%s", took[i], i + 1 < times ? ", " : after);
  }
}

static int warm_up(const struct point* at, int tries) {
  enum { a_long_one = 16384, a_lengthy_one = 262144 }; /* 64 KiB, 1 MiB */
  if (at->count >= a_lengthy_one) {
    return tries ? 12 : 3;
  }
  return at->count >= a_long_one ? 6 : 60;
}

static void time_point(const struct point* at, double seconds, int tries, int with_calls,
                       FILE* result) {
  enum { least = 7, most = 100000 };
  const int warm = warm_up(at, tries);
  double* const first = array(warm + least);
  fill(at);
  double began = 0;
  for (int i = 0; i < warm + least; ++i) {
    if (i == warm) {
      began = MPI_Wtime();
    }
    first[i] = once(at);
  }
  const double wanted = seconds * least / (MPI_Wtime() - began);
  int more = wanted <= least ? 0 : wanted > most ? most : (int)wanted;
  PMPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD); /* rank 0's */
  const int before = more > 0 ? warm + least : warm;
  const int times = more > 0 ? more : least;
  double* const took = array(times);
  double sum = 0;
  for (int i = 0; i < times; ++i) {
    took[i] = more > 0 ? once(at) : first[before + i];
    sum += took[i];
  }
  for (size_t i = 0; i < at->count; ++i) {
    check(at, i);
  }
  fprintf(result, "{\"operation\": \"%s\", \"bytes\": %zu, \"times\": %d, ", names[at->operation],
          at->count * sizeof(float), times);
  if (with_calls) {
    fprintf(result, "\"calls_us\": [");
    write_calls(result, first, before, ", ");
    write_calls(result, took, times, "], ");
  }
  qsort(took, (size_t)times, sizeof *took, ascending);
  fprintf(result, "\"median_us\": %.3f, \"mean_us\": %.3f}\n", took[times / 2], sum / times);
  free(took);
  free(first);
}

/* The next point of "allreduce:8,barrier"; 0 at the end. */
static int next_point(const char** text, struct point* point) {
  for (int i = 0; i < operations; ++i) {
    const size_t length = strlen(names[i]);
    if (strncmp(*text, names[i], length) == 0 && strchr(":,", (*text)[length]) != NULL) {
      point->operation = (enum operation)i;
      point->count = 0;
      *text += length;
      if (**text == ':') {
        point->count = strtoull(*text + 1, (char**)text, 10) / sizeof(float);
      }
      *text += **text == ',';
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  const int tries = argc > 4 && strcmp(argv[4], "tries") == 0;
  if (argc < 5 || argc > 6 || (!tries && strcmp(argv[4], "plain") != 0) ||
      (argc == 6 && strcmp(argv[5], "calls") != 0)) {
    fprintf(stderr, "usage: %s FOLDER SECONDS POINTS tries|plain [calls]\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct point point;
  size_t longest = 1;
  const char* text = argv[3];
  while (next_point(&text, &point)) {
    longest = point.count > longest ? point.count : longest;
  }
  in = calloc(longest, sizeof *in);
  out = calloc(longest, sizeof *out);
  char path[4096];
  snprintf(path, sizeof path, "%s/rank%d", argv[1], rank);
  FILE* result = fopen(path, "w");
  if (*text != '\0' || in == NULL || out == NULL || result == NULL) {
    fprintf(stderr, "%s, or what is wrong is '%s'\n", path, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (text = argv[3]; next_point(&text, &point);) {
    time_point(&point, atof(argv[2]), tries, argc == 6, result);
  }
  fclose(result);
  MPI_Finalize();
  return 0;
}
