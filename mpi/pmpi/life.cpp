// The functions of MPI at the beginning and the end: of the program, and of communicators.
#include "mpi/offload/runtime.hpp"

#include <cstdlib>

#include <mpi.h>

using tributary::mpi::offload::Runtime;

namespace {

/// Those that are no program's to free are left to the MPI library's own error.
void retire(const MPI_Comm* comm) {
  Runtime* const runtime = Runtime::get();
  if (runtime != nullptr && comm != nullptr && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF) {
    runtime->retire(*comm);
  }
}

/// Registered first, so it is called last.
[[gnu::constructor]] void look_at_the_end() {
  on_exit(
      [](int code, void*) {
        if (Runtime::was_passed_by() && code == EXIT_SUCCESS) {
          std::exit(EXIT_FAILURE); // goes on with what is left to do at the end, by another code
        }
      },
      nullptr);
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

int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  if (PMPI_Session_init == nullptr) {
    return MPI_ERR_UNSUPPORTED_OPERATION;
  }
  const int answer = PMPI_Session_init(info, handler, session);
  if (answer == MPI_SUCCESS) {
    Runtime::begin_session(*session);
  }
  return answer;
}

int MPI_Session_finalize(MPI_Session* session) {
  if (PMPI_Session_finalize == nullptr) {
    return MPI_ERR_UNSUPPORTED_OPERATION;
  }
  if (session != nullptr) {
    Runtime::end_session(*session);
  }
  return PMPI_Session_finalize(session);
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
