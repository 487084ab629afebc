/* One host of bench/compare/allreduce, and of vector, through libtributary. */
#include "timed_loop.h"

#include <tributary/tributary.h>

static int run(void* library, const double* in, double* out, size_t count) {
  struct tributary_group* group = library;
  return count == 0
             ? tributary_barrier(group)
             : tributary_allreduce(group, in, out, count, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, NULL);
}

int main(int argc, char** argv) {
  if (argc < 9 || argc > 13) {
    fprintf(stderr,
            "usage: %s FOLDER INTERFACE SECONDS RANK SIZE ARMED TREE COOKIE [SLOTS PAYLOAD [COUNTS "
            "[IN_SWITCH_RESULTS]]]\n",
            argv[0]);
    return 2;
  }
  struct timed_loop loop = {.run = run,
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
  who.leave_grace_usec = 100000; /* no fabric here loses frames for longer */
  struct tributary_group* group;
  if (tributary_join(host, &who, &group) != TRIBUTARY_OK) {
    fprintf(stderr, "rank %d: %s\n", loop.rank, tributary_last_error(host));
    return 1;
  }
  loop.library = group;
  timed_loop_run(&loop, argv[1], argc > 11 && argv[11][0] != '\0' ? argv[11] : NULL);
  const int left = tributary_leave(group);
  tributary_close(host);
  return left == TRIBUTARY_OK ? 0 : 1;
}
