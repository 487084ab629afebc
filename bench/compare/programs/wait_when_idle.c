/* Preloaded into MPICH's ranks: a poll of the sockets that finds nothing waits, a millisecond at
 * most, until there is something.
 *
 * MPICH over UCX polls without a pause. With more ranks than CPUs each then waits for whole time
 * slices of the others: milliseconds, which say nothing about the library. This way a rank that
 * waits for a message gives its CPU away, and is woken by the message, as our own library's hosts
 * are.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program sets it once it is connected, and back for the end. 0: do not wait. */
int longest_wait_ms = 0;

int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout) {
  return (int)syscall(SYS_epoll_wait, epoll, events, most,
                      timeout == 0 ? longest_wait_ms : timeout);
}
