// The non-blocking calls, like those of calls.hpp: true with a request when they were begun here.
#pragma once

#include <mpi.h>

namespace tributary::mpi::collectives {

/// While one exists, this thread's non-blocking calls are left to the MPI library: the code that
/// waits for them knows no others.
class LeftToLibrary {
public:
  LeftToLibrary() { ++depth; }
  LeftToLibrary(const LeftToLibrary&) = delete;
  LeftToLibrary& operator=(const LeftToLibrary&) = delete;
  ~LeftToLibrary() { --depth; }
  [[nodiscard]] static bool is_asked_for() { return depth > 0; }

private:
  static thread_local int depth;
};

[[nodiscard]] bool iallreduce(const void* in, void* out, MPI_Count count, MPI_Datatype datatype,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request);
[[nodiscard]] bool ibarrier(MPI_Comm comm, MPI_Request* request);

} // namespace tributary::mpi::collectives
