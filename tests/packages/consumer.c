/* A user's program with libtributary-dev: it compiles, links, and finds the library. */
#include <tributary/rdma.h>
#include <tributary/tributary.h>

#include <stdio.h>

int main(void) {
  struct tributary_host_options options = tributary_host_defaults("no-such-interface");
  struct tributary_host* host = NULL;
  const int status = tributary_open(&options, &host);
  if (status == 0) {
    puts("there is an interface of that name");
    return 1;
  }
  puts(tributary_error_string(status));
  return 0;
}
