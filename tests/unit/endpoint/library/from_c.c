/* Programs written in C: they show that tributary.h and rdma.h are C. */
#include "tributary/rdma.h"
#include "tributary/tributary.h"

#include <string.h>

int exercise_from_c(const char* interface, uint32_t rank, double* sum);

int exercise_from_c(const char* interface, uint32_t rank, double* sum) {
  const struct tributary_host_options on = tributary_host_defaults(interface);
  struct tributary_group_options who = tributary_group_defaults();
  struct tributary_result result = {0, 0, 0};
  struct tributary_host* host = NULL;
  struct tributary_group* group = NULL;
  const double own = rank + 1;
  int code = tributary_open(&on, &host);
  who.tree = 12;
  who.rank = rank;
  who.size = 2;
  who.member_timeout_usec = 20000000; /* where the other one failed, this one ends, too */
  if (code == TRIBUTARY_OK) {
    code = tributary_join(host, &who, &group);
  }
  if (code == TRIBUTARY_OK) {
    code = tributary_allreduce(group, &own, sum, 1, TRIBUTARY_DOUBLE, TRIBUTARY_SUM, &result);
  }
  if (code == TRIBUTARY_OK && result.code != TRIBUTARY_EXACT) {
    code = TRIBUTARY_ERR_SYSTEM;
  }
  if (code == TRIBUTARY_OK) {
    code = tributary_leave(group);
  }
  tributary_close(host);
  return code;
}

int exercise_rdma_from_c(struct tributary_host* passive, struct tributary_host* active);

/* 0, or the line that found an error. */
int exercise_rdma_from_c(struct tributary_host* passive, struct tributary_host* active) {
  static char there[3000];
  char here[3000];
  char back[3000];
  struct tributary_rdma_region region;
  struct tributary_rdma_work work = {&region, 0, here, sizeof here, 5, 6, TRIBUTARY_RDMA_IMMEDIATE};
  struct tributary_rdma_completion completion;
  uint64_t transfer = 0;
  size_t count = 0;
  const int rights = TRIBUTARY_RDMA_PEERS_WRITE | TRIBUTARY_RDMA_PEERS_READ;
  memset(here, 'x', sizeof here);
  if (tributary_rdma_register(passive, there, sizeof there, rights, 9, &region) != TRIBUTARY_OK) {
    return __LINE__;
  }
  if (tributary_rdma_write_start(active, &work, &transfer) != TRIBUTARY_OK) {
    return __LINE__;
  }
  if (tributary_rdma_wait(active, transfer, 30000000, &completion) != TRIBUTARY_OK ||
      completion.user != 5) {
    return __LINE__;
  }
  if (tributary_rdma_wait_any(passive, &completion, 1, 30000000, &count) != TRIBUTARY_OK ||
      completion.immediate != 6 || memcmp(here, there, sizeof here) != 0) {
    return __LINE__;
  }
  if (tributary_rdma_read(active, &region, 0, back, sizeof back) != TRIBUTARY_OK ||
      memcmp(here, back, sizeof back) != 0) {
    return __LINE__;
  }
  return tributary_rdma_deregister(passive, &region) == TRIBUTARY_OK ? 0 : __LINE__;
}
