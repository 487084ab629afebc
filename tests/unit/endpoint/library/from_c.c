/* A member written in C: proof that tributary.h is C. */
#include "tributary/tributary.h"

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
