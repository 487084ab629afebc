/* The loop that bench/compare/allreduce, vector and collectives time, the same for every library:
 * warm-up, then operations back to back, each timed by the monotonic clock; operands are written
 * before that, and results checked after it.
 *
 * Every rank writes one line of JSON for each operation: the median and the 99th percentile of its
 * latencies, operations a second, the bytes its interface received meanwhile, and per operation the
 * processor time and how often the rank yielded or lost its processor.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { most_points = 32 };

/* One call. Returns 0 on success. `count` doubles are those of a block:
 *
 *   call              in                  out
 *   allreduce         one block           one: the sum of all; with no elements a barrier
 *   broadcast         one block           one: that of the root, and roots take turns
 *   allgather         one block           those of all ranks
 *   reduce-scatter    one for each rank   one: the sum of all ranks' of this number
 */
typedef int (*collective)(void* library, const double* in, double* out, size_t count);

enum timed_call { timed_allreduce, timed_broadcast, timed_allgather, timed_reduce_scatter };

/* -1 if there is no such call. */
static inline int timed_call_named(const char* name) {
  static const char* const names[] = {"allreduce", "broadcast", "allgather", "reduce-scatter"};
  for (int i = 0; i < 4; ++i) {
    if (strcmp(name, names[i]) == 0) {
      return i;
    }
  }
  return -1;
}

struct timed_loop {
  collective run;
  collective agree; /* an allreduce */
  enum timed_call call;
  void* library;
  int rank;
  int size;
  const char* interface;
  double seconds; /* approximate time per operation */
  /* As long as the longest operation: */
  double* in;
  double* out;
  double* operand;  /* the content of `in` before every operation, */
  double* expected; /* and of `out` after it. Made once: where hosts share processors, computing
                     * between two operations would delay the others' next */
};

static inline size_t blocks_in(const struct timed_loop* loop) {
  return loop->call == timed_reduce_scatter ? (size_t)loop->size : 1;
}
static inline size_t blocks_out(const struct timed_loop* loop) {
  return loop->call == timed_allgather ? (size_t)loop->size : 1;
}

static inline double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline long long counted(const char* interface, const char* what) {
  char path[256];
  snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", interface, what);
  FILE* file = fopen(path, "r");
  long long value = -1;
  if (file == NULL || fscanf(file, "%lld", &value) != 1) {
    perror(path);
    exit(1);
  }
  fclose(file);
  return value;
}

struct usage {
  double processor_us;
  double waits; /* it yielded the processor */
  double preempted;
};

static inline struct usage usage_so_far(void) {
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  const struct usage usage = {
      (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
          (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec),
      (double)r.ru_nvcsw,
      (double)r.ru_nivcsw,
  };
  return usage;
}

static inline int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static inline void wrong(const struct timed_loop* loop, size_t count) {
  size_t i = 0;
  count *= blocks_out(loop);
  while (i + 1 < count && loop->out[i] == loop->expected[i]) {
    ++i;
  }
  fprintf(stderr, "rank %d: wrong result %g, not %g, at element %zu\n", loop->rank, loop->out[i],
          loop->expected[i], i);
  exit(1);
}

/* Returns how long it took. */
static inline double once(const struct timed_loop* loop, size_t count) {
  const size_t out_bytes = count * blocks_out(loop) * sizeof *loop->out;
  memcpy(loop->in, loop->operand, count * blocks_in(loop) * sizeof *loop->in);
  memset(loop->out, 0, out_bytes);
  const double began = now_us();
  if (loop->run(loop->library, loop->in, loop->out, count) != 0) {
    fprintf(stderr, "rank %d: the operation failed\n", loop->rank);
    exit(1);
  }
  const double took = now_us() - began;
  if (memcmp(loop->out, loop->expected, out_bytes) != 0) {
    wrong(loop, count);
  }
  return took;
}

/* How many operations fill the time, the same at all ranks: rank 0 decides, after a warm-up. */
static inline size_t agreed_iterations(const struct timed_loop* loop, size_t count) {
  enum { most = 100000, long_one = 32768 };
  const int least = count > long_one ? 3 : 20;
  for (int i = 0; i < least; ++i) {
    once(loop, count);
  }
  const double began = now_us();
  for (int i = 0; i < least; ++i) {
    once(loop, count);
  }
  double wanted = loop->seconds * 1e6 * least / (now_us() - began);
  wanted = wanted < least ? least : wanted > most ? most : wanted;
  const double mine = loop->rank == 0 ? (double)(long)wanted : 0;
  double agreed = 0;
  if (loop->agree(loop->library, &mine, &agreed, 1) != 0) {
    fprintf(stderr, "rank %d: the operation failed\n", loop->rank);
    exit(1);
  }
  return (size_t)agreed;
}

/* What goes in, and what has to come out, with blocks of `count`. */
static inline void prepare(const struct timed_loop* loop, size_t count) {
  const size_t size = (size_t)loop->size;
  const size_t rank = (size_t)loop->rank;
  const double sum = loop->size * (loop->size + 1) / 2.0;
  for (size_t i = 0; i < count * blocks_in(loop); ++i) {
    const double of_rank = loop->call == timed_broadcast ? 1 : (double)(rank + 1);
    loop->operand[i] = of_rank + (double)(i % 1000);
  }
  for (size_t i = 0; i < count * blocks_out(loop); ++i) {
    switch (loop->call) {
    case timed_allreduce: loop->expected[i] = sum + (double)size * (double)(i % 1000); break;
    case timed_broadcast: loop->expected[i] = 1 + (double)(i % 1000); break;
    case timed_allgather:
      loop->expected[i] = (double)(i / count + 1) + (double)(i % count % 1000);
      break;
    case timed_reduce_scatter:
      loop->expected[i] = sum + (double)size * (double)((rank * count + i) % 1000);
      break;
    }
  }
}

static inline void time_operation(const struct timed_loop* loop, size_t count, FILE* result) {
  prepare(loop, count);
  const size_t iterations = agreed_iterations(loop, count);
  double* latencies = calloc(iterations, sizeof *latencies);
  if (latencies == NULL) {
    perror("latencies");
    exit(1);
  }
  const long long bytes = counted(loop->interface, "rx_bytes");
  const long long frames = counted(loop->interface, "rx_packets");
  const long long sent = counted(loop->interface, "tx_bytes");
  const struct usage before = usage_so_far();
  const double began = now_us();
  for (size_t i = 0; i < iterations; ++i) {
    latencies[i] = once(loop, count);
  }
  const double ended = now_us();
  const struct usage after = usage_so_far();
  const double n = (double)iterations;
  const double bytes_each = (double)(counted(loop->interface, "rx_bytes") - bytes) / n;
  const double frames_each = (double)(counted(loop->interface, "rx_packets") - frames) / n;
  const double sent_each = (double)(counted(loop->interface, "tx_bytes") - sent) / n;
  qsort(latencies, iterations, sizeof *latencies, ascending);
  fprintf(result,
          "{\"bytes\": %zu, \"iterations\": %zu, \"median_us\": %.3f, \"p99_us\": %.3f, "
          "\"per_second\": %.1f, \"received_bytes\": %.1f, \"received_frames\": %.2f, "
          "\"sent_bytes\": %.1f, \"processor_us\": %.2f, \"waits\": %.2f, \"preempted\": %.2f}\n",
          count * sizeof(double), iterations, latencies[iterations / 2],
          latencies[iterations * 99 / 100], n / (ended - began) * 1e6, bytes_each, frames_each,
          sent_each, (after.processor_us - before.processor_us) / n,
          (after.waits - before.waits) / n, (after.preempted - before.preempted) / n);
  free(latencies);
}

/* Operations of the numbers of elements in `wanted`, "0,1,4,128" if it is NULL: barrier, 8 bytes,
 * 32 bytes, 1 KiB. The results go to `folder`/rank<number>, which appears when it is complete. */
static inline void timed_loop_run(struct timed_loop* loop, const char* folder, const char* wanted) {
  size_t counts[most_points];
  size_t points = 0;
  size_t longest = 1;
  for (const char* at = wanted == NULL ? "0,1,4,128" : wanted;
       *at != '\0' && points < most_points;) {
    char* end;
    counts[points] = strtoull(at, &end, 10);
    longest = counts[points] > longest ? counts[points] : longest;
    ++points;
    at = *end == ',' ? end + 1 : end + strlen(end);
  }
  loop->in = calloc(longest * blocks_in(loop), sizeof *loop->in);
  loop->out = calloc(longest * blocks_out(loop), sizeof *loop->out);
  loop->operand = calloc(longest * blocks_in(loop), sizeof *loop->operand);
  loop->expected = calloc(longest * blocks_out(loop), sizeof *loop->expected);
  if (loop->in == NULL || loop->out == NULL || loop->operand == NULL || loop->expected == NULL) {
    perror("operands");
    exit(1);
  }
  char path[4096];
  char whole[4096];
  snprintf(path, sizeof path, "%s/part%d", folder, loop->rank);
  snprintf(whole, sizeof whole, "%s/rank%d", folder, loop->rank);
  FILE* result = fopen(path, "w");
  if (result == NULL) {
    perror(path);
    exit(1);
  }
  for (size_t i = 0; i < points; ++i) {
    time_operation(loop, counts[i], result);
  }
  if (fclose(result) != 0 || rename(path, whole) != 0) {
    perror(whole);
    exit(1);
  }
  free(loop->in);
  free(loop->out);
  free(loop->operand);
  free(loop->expected);
}
