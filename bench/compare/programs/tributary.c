/* One host of bench/compare/allreduce, vector and collectives, through libtributary. */
#include "timed_loop.h"

#include <tributary/tributary.h>

struct program {
  struct tributary_group* group;
  enum timed_call call;
  uint32_t size;
  uint32_t root; /* of the next broadcast */
};

static int allreduce(void* library, const double* in, double* out, size_t count) {
  const struct program* program = library;
  return tributary_allreduce(program->group, in, out, count, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, NULL);
}

static int run(void* library, const double* in, double* out, size_t count) {
  struct program* program = library;
  struct tributary_group* group = program->group;
  switch (program->call) {
  case timed_broadcast: {
    const uint32_t root = program->root;
    program->root = (root + 1) % program->size;
    if (root == tributary_rank(group)) {
      memcpy(out, in, count * sizeof *out);
    }
    return tributary_broadcast(group, out, count, TRIBUTARY_DOUBLE, root);
  }
  case timed_allgather: return tributary_allgather(group, in, out, count, TRIBUTARY_DOUBLE);
  case timed_reduce_scatter:
    return tributary_reduce_scatter(group, in, out, count, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, NULL);
  case timed_allreduce: break;
  }
  return count == 0 ? tributary_barrier(group) : allreduce(library, in, out, count);
}

int main(int argc, char** argv) {
  const int call = argc > 13 ? timed_call_named(argv[13]) : timed_allreduce;
  if (argc < 9 || argc > 14 || call < 0) {
    fprintf(stderr,
            "usage: %s FOLDER INTERFACE SECONDS RANK SIZE ARMED TREE COOKIE [SLOTS PAYLOAD [COUNTS "
            "[IN_SWITCH_RESULTS [allreduce | broadcast | allgather | reduce-scatter]]]]\n",
            argv[0]);
    return 2;
  }
  struct timed_loop loop = {.run = run,
                            .agree = allreduce,
                            .call = (enum timed_call)call,
                            .rank = atoi(argv[4]),
                            .size = atoi(argv[5]),
                            .interface = argv[2],
                            .seconds = atof(argv[3])};
  struct tributary_host_options on = tributary_host_defaults(loop.interface);
  struct tributary_host* host;
  if (tributary_open(&on, &host) != TRIBUTARY_OK) {
    fprintf(stderr, "rank %d: %s\n", loop.rank, tributary_last_error(NULL));
    return 1;
  }
  struct tributary_group_options who = tributary_group_defaults();
  who.tree = (uint32_t)atol(argv[7]);
  who.vni = 0x400;
  who.cookie = (uint32_t)atoll(argv[8]);
  who.rank = (uint32_t)loop.rank;
  who.size = (uint32_t)loop.size;
  who.armed = atoi(argv[6]);
  if (argc > 10) {
    who.slots = (uint32_t)atol(argv[9]);
    who.payload = (uint32_t)atol(argv[10]);
  }
  who.in_switch_results = argc > 12 && atoi(argv[12]) != 0;
  who.shared = call != timed_allreduce;
  who.leave_grace_usec = 100000; /* no fabric here loses frames for longer */
  struct tributary_group* group;
  if (tributary_join(host, &who, &group) != TRIBUTARY_OK) {
    fprintf(stderr, "rank %d: %s\n", loop.rank, tributary_last_error(host));
    return 1;
  }
  struct program program = {group, loop.call, (uint32_t)loop.size, 0};
  loop.library = &program;
  timed_loop_run(&loop, argv[1], argc > 11 && argv[11][0] != '\0' ? argv[11] : NULL);
  const int left = tributary_leave(group);
  tributary_close(host);
  return left == TRIBUTARY_OK ? 0 : 1;
}
