/* Preloaded into MPICH's ranks: a poll of the sockets that finds nothing waits for an event, for at
 * most a millisecond.
 *
 * MPICH over UCX polls without a pause. With more ranks than CPUs each then waits for whole time
 * slices of the others: milliseconds that are not the library's. With it a rank that waits for a
 * message yields its CPU, and the message wakes it, as with our own library's hosts.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program sets it once it is connected, and resets it for the end. 0: do not wait. */
int longest_wait_ms = 0;

int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout) {
  return (int)syscall(SYS_epoll_wait, epoll, events, most,
                      timeout == 0 ? longest_wait_ms : timeout);
}
