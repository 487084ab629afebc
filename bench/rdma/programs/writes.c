/* One host of `bench/rdma --live`, through libtributary: one that is written to, or a writer.
 *
 *   rdma-writes serve INTERFACE FOLDER BYTES SLOTS
 *   rdma-writes write INTERFACE FOLDER BYTES SLOTS SECONDS
 *
 * `serve` registers SLOTS x BYTES of memory, leaves its region in FOLDER/region, and ends when its
 * standard input does; exit code 1 unless the memory then equals what was written, byte for byte.
 * `write` keeps SLOTS writes in progress, each to a slot of its own, for SECONDS after a warm-up,
 * and prints its measurements as JSON. */
#include <tributary/rdma.h>
#include <tributary/tributary.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VNI = 0x400, MOST_SLOTS = 256, MOST_SAMPLES = 1 << 20 };
static const double warm_up_seconds = 0.2;

struct setting {
  const char* interface;
  const char* folder;
  size_t bytes;
  size_t slots;
  double seconds;
};

static double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int failed(struct tributary_host* host, const char* what) {
  fprintf(stderr, "rdma-writes: %s: %s\n", what, tributary_last_error(host));
  return 1;
}

/* The same at both ends, another one in each slot. */
static void fill(unsigned char* memory, size_t bytes, size_t slot) {
  uint64_t state = 0x9E3779B97F4A7C15U * (slot + 1);
  for (size_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    memory[i] = (unsigned char)(state >> 56);
  }
}

static uint64_t counter(struct tributary_host* host, const char* name) {
  struct tributary_rdma_counter c;
  for (size_t i = 0; tributary_rdma_get_counter(host, i, &c) == TRIBUTARY_OK; ++i) {
    if (strcmp(c.name, name) == 0) {
      return c.value;
    }
  }
  return 0;
}

static int serve(struct tributary_host* host, const struct setting* s) {
  unsigned char* memory = calloc(s->slots, s->bytes);
  unsigned char* expected = malloc(s->bytes);
  struct tributary_rdma_region region;
  if (memory == NULL || expected == NULL ||
      tributary_rdma_register(host, memory, s->slots * s->bytes, TRIBUTARY_RDMA_PEERS_WRITE, VNI,
                              &region) != TRIBUTARY_OK) {
    return failed(host, "region");
  }
  char path[4096];
  char made[4096];
  snprintf(path, sizeof path, "%s/region", s->folder);
  snprintf(made, sizeof made, "%s/region.new", s->folder);
  FILE* out = fopen(made, "wb");
  if (out == NULL || fwrite(&region, sizeof region, 1, out) != 1 || fclose(out) != 0 ||
      rename(made, path) != 0) {
    perror(path);
    return 1;
  }
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  int wrong = 0;
  for (size_t slot = 0; slot < s->slots; ++slot) {
    fill(expected, s->bytes, slot);
    if (memcmp(expected, memory + slot * s->bytes, s->bytes) != 0) {
      fprintf(stderr, "rdma-writes: slot %zu is not what was written\n", slot);
      wrong = 1;
    }
  }
  printf("{\"control_sent\": %llu, \"late_arrived\": %llu, \"duplicates\": %llu, "
         "\"processor_seconds\": %.6f}\n",
         (unsigned long long)counter(host, "control_sent"),
         (unsigned long long)counter(host, "late_arrived"),
         (unsigned long long)counter(host, "duplicates"), processor_seconds());
  return wrong;
}

static int ascending(const void* a, const void* b) {
  const float x = *(const float*)a;
  const float y = *(const float*)b;
  return (x > y) - (x < y);
}

static int begin(struct tributary_host* host, const struct tributary_rdma_region* region,
                 unsigned char* memory, const struct setting* s, size_t slot) {
  uint64_t transfer;
  const struct tributary_rdma_work work = {.region = region,
                                           .offset = slot * s->bytes,
                                           .memory = memory + slot * s->bytes,
                                           .length = s->bytes,
                                           .user = slot};
  return tributary_rdma_write_start(host, &work, &transfer);
}

static int write_all(struct tributary_host* host, const struct setting* s) {
  struct tributary_rdma_region region;
  char path[4096];
  snprintf(path, sizeof path, "%s/region", s->folder);
  FILE* in = fopen(path, "rb");
  if (in == NULL || fread(&region, sizeof region, 1, in) != 1) {
    perror(path);
    return 1;
  }
  fclose(in);
  unsigned char* memory = malloc(s->slots * s->bytes);
  float* samples = malloc(MOST_SAMPLES * sizeof *samples);
  if (memory == NULL || samples == NULL) {
    perror("memory");
    return 1;
  }
  double begun[MOST_SLOTS];
  for (size_t slot = 0; slot < s->slots; ++slot) {
    fill(memory + slot * s->bytes, s->bytes, slot);
    begun[slot] = now_seconds();
    if (begin(host, &region, memory, s, slot) != TRIBUTARY_OK) {
      return failed(host, "write");
    }
  }
  const double warm = now_seconds() + warm_up_seconds;
  double start = 0;
  double start_processor = 0;
  double end = warm + s->seconds;
  double last = 0;
  uint64_t done = 0;
  size_t sampled = 0;
  size_t in_progress = s->slots;
  while (in_progress > 0) {
    struct tributary_rdma_completion completions[16];
    size_t count;
    if (tributary_rdma_wait_any(host, completions, 16, 30000000, &count) != TRIBUTARY_OK) {
      return failed(host, "wait");
    }
    const double now = now_seconds();
    for (size_t i = 0; i < count; ++i) {
      if (completions[i].error != TRIBUTARY_OK) {
        char text[512];
        tributary_rdma_completion_text(&completions[i], text, sizeof text);
        fprintf(stderr, "rdma-writes: %s\n", text);
        return 1;
      }
      const size_t slot = (size_t)completions[i].user;
      if (start > 0 && now <= end) {
        ++done;
        last = now;
        if (sampled < MOST_SAMPLES) {
          samples[sampled++] = (float)(1e6 * (now - begun[slot]));
        }
      }
      --in_progress;
      if (now < end) {
        begun[slot] = now_seconds();
        if (begin(host, &region, memory, s, slot) != TRIBUTARY_OK) {
          return failed(host, "write");
        }
        ++in_progress;
      }
    }
    if (start == 0 && now >= warm) {
      start = now;
      end = now + s->seconds;
      start_processor = processor_seconds();
    }
  }
  const double processor = processor_seconds() - start_processor;
  qsort(samples, sampled, sizeof *samples, ascending);
  const double span = last > start ? last - start : s->seconds;
  printf("{\"writes\": %llu, \"seconds\": %.6f, \"bits_per_second\": %.1f, \"median_us\": %.1f, "
         "\"p99_us\": %.1f, \"data_sent\": %llu, \"data_resent\": %llu, \"control_sent\": %llu, "
         "\"processor_seconds\": %.6f}\n",
         (unsigned long long)done, span, 8.0 * (double)(done * s->bytes) / span,
         sampled ? (double)samples[sampled / 2] : 0.0,
         sampled ? (double)samples[sampled * 99 / 100] : 0.0,
         (unsigned long long)counter(host, "data_sent"),
         (unsigned long long)counter(host, "data_resent"),
         (unsigned long long)counter(host, "control_sent"), processor);
  free(samples);
  free(memory);
  return 0;
}

int main(int argc, char** argv) {
  const int serves = argc == 6 && strcmp(argv[1], "serve") == 0;
  const int writes = argc == 7 && strcmp(argv[1], "write") == 0;
  if (!serves && !writes) {
    fprintf(stderr,
            "usage: %s serve INTERFACE FOLDER BYTES SLOTS\n"
            "       %s write INTERFACE FOLDER BYTES SLOTS SECONDS\n",
            argv[0], argv[0]);
    return 2;
  }
  const struct setting s = {.interface = argv[2],
                            .folder = argv[3],
                            .bytes = (size_t)atoll(argv[4]),
                            .slots = (size_t)atoll(argv[5]),
                            .seconds = writes ? atof(argv[6]) : 0};
  if (s.slots < 1 || s.slots > MOST_SLOTS) {
    fprintf(stderr, "%s: 1 to %d slots\n", argv[0], MOST_SLOTS);
    return 2;
  }
  const struct tributary_host_options on = tributary_host_defaults(s.interface);
  struct tributary_host* host;
  if (tributary_open(&on, &host) != TRIBUTARY_OK) {
    return failed(NULL, s.interface);
  }
  const int code = serves ? serve(host, &s) : write_all(host, &s);
  tributary_close(host);
  return code;
}
