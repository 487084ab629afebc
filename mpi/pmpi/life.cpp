// The functions of MPI at the beginning and the end: of the program, and of communicators.
#include "mpi/offload/runtime.hpp"

#include <mpi.h>

using tributary::mpi::offload::Runtime;

namespace {

void retire(const MPI_Comm* comm) {
  if (Runtime* const runtime = Runtime::get(); runtime != nullptr && *comm != MPI_COMM_NULL) {
    runtime->retire(*comm);
  }
}

} // namespace

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  const int answer = PMPI_Init(argc, argv);
  if (answer == MPI_SUCCESS) {
    Runtime::start();
  }
  return answer;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int answer = PMPI_Init_thread(argc, argv, required, provided);
  if (answer == MPI_SUCCESS) {
    Runtime::start();
  }
  return answer;
}

int MPI_Finalize(void) {
  Runtime::end();
  return PMPI_Finalize();
}

int MPI_Comm_free(MPI_Comm* comm) {
  retire(comm);
  return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  retire(comm);
  return PMPI_Comm_disconnect(comm);
}

} // extern "C"
