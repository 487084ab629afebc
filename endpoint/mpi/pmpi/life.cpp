// MPI's functions that begin and end the program, and communicators.
#include "endpoint/mpi/collectives/newer.hpp"
#include "endpoint/mpi/collectives/report.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include <mpi.h>

using tributary::mpi::collectives::Runtime;

namespace {

/// Communicators that a program may not free are left to the MPI library's own error.
void retire(const MPI_Comm* comm) {
  Runtime* const runtime = Runtime::get();
  if (runtime != nullptr && comm != nullptr && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF) {
    runtime->retire(*comm);
  }
}

#ifdef OPEN_MPI
constexpr std::string_view family = "Open MPI";
#else
constexpr std::string_view family = "MPICH";
#endif

/// Runs before MPI is initialised. Handles and constants differ between the families of MPI
/// libraries, so with another family no function of this library could do what the program means.
void refuse_other_libraries() {
  constexpr std::size_t longest_of_all = 8192;
  std::array<char, longest_of_all + 1> text{};
  int length = 0;
  PMPI_Get_library_version(text.data(), &length);
  const std::string_view is(text.data());
  if (!is.starts_with(family)) {
    std::string said = "this is the library for ";
    said += family;
    said += ", and the program's MPI library is another, ";
    said += is.substr(0, is.find_first_of("\n,"));
    said +=
        "; preload libtributary_mpi_ompi.so with Open MPI, libtributary_mpi_mpich.so with MPICH, "
        "and none with others";
    tributary::mpi::collectives::say(said);
    std::_Exit(EXIT_FAILURE);
  }
}

/// Registered first, so called last.
[[gnu::constructor]] void look_at_the_end() {
  on_exit(
      [](int code, void*) {
        if (Runtime::was_passed_by() && code == EXIT_SUCCESS) {
          std::exit(EXIT_FAILURE); // continues with what is left to do at the end, by another code
        }
      },
      nullptr);
}

} // namespace

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  refuse_other_libraries();
  const int answer = PMPI_Init(argc, argv);
  if (answer == MPI_SUCCESS) {
    Runtime::start();
  }
  return answer;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  refuse_other_libraries();
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
  refuse_other_libraries();
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
