// The functions of MPI that wait for requests, or test them: while requests of ours are not done
// they wait here, and notify the MPI library of those that are (collectives/pending.hpp).
#include "endpoint/mpi/collectives/pending.hpp"
#include "endpoint/mpi/collectives/persistent.hpp"

#include <mpi.h>

using tributary::mpi::collectives::Pending;
using tributary::mpi::collectives::Persistent;

namespace {

Pending& pending() { return Pending::of_process(); }
Persistent& persistent() { return Persistent::of_process(); }

/// Whether the MPI library knows all requests.
bool none_of_ours() { return !pending().any() && !persistent().any_active(); }

/// Call it before the MPI library is asked.
void notify() {
  if (pending().any()) {
    pending().notify();
  }
  persistent().start_left_over();
}

/// Asks until the answer is an error or `flag` is set.
template <typename Ask> int until(int& flag, Ask&& ask) {
  for (;;) {
    notify();
    const int answer = ask();
    if (answer != MPI_SUCCESS || flag != 0) {
      return answer;
    }
    pending().wait_a_little();
  }
}

} // namespace

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (none_of_ours()) {
    return PMPI_Wait(request, status);
  }
  int flag = 0;
  return until(flag, [&] { return persistent().test(request, &flag, status); });
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (none_of_ours()) {
    return PMPI_Waitall(count, requests, statuses);
  }
  int flag = 0;
  return until(flag, [&] { return persistent().test_all(count, requests, &flag, statuses); });
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (none_of_ours()) {
    return PMPI_Waitany(count, requests, index, status);
  }
  int flag = 0;
  return until(flag, [&] { return persistent().test_any(count, requests, index, &flag, status); });
}

int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[],
                 MPI_Status statuses[]) {
  if (none_of_ours()) {
    return PMPI_Waitsome(count, requests, done, indices, statuses);
  }
  *done = 0;
  return until(*done,
               [&] { return persistent().test_some(count, requests, done, indices, statuses); });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  notify();
  return persistent().test(request, flag, status);
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  notify();
  return persistent().test_all(count, requests, flag, statuses);
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  notify();
  return persistent().test_any(count, requests, index, flag, status);
}

int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[],
                 MPI_Status statuses[]) {
  notify();
  return persistent().test_some(count, requests, done, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  notify();
  return persistent().status_of(request, flag, status);
}

#ifndef MPI_Request_c2f // in MPICH a macro, and its Fortran calls the functions above
/// A request that goes to Fortran may be waited for by functions that are not replaced, so it is
/// completed before it is converted.
MPI_Fint MPI_Request_c2f(MPI_Request request) {
  while (pending().any() && pending().holds(request)) {
    pending().notify();
    pending().wait_a_little();
  }
  return PMPI_Request_c2f(request);
}
#endif

} // extern "C"
