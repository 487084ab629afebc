#include "endpoint/launcher/job/mpi_library.hpp"

namespace tributary::launch::job {

MpiLibrary mpi_library_of(std::string_view program) {
  if (!program.starts_with("\x7F"
                           "ELF")) {
    return MpiLibrary::none;
  }
  // The string table of the dynamic section holds names of needed libraries in plain text.
  constexpr std::string_view mpich("libmpich.so.");
  constexpr std::string_view open_mpi("libmpi.so.40");
  if (program.find(mpich) != std::string_view::npos) {
    return MpiLibrary::mpich;
  }
  return program.find(open_mpi) != std::string_view::npos ? MpiLibrary::open_mpi : MpiLibrary::none;
}

} // namespace tributary::launch::job
