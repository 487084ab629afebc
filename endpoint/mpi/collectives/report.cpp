#include "endpoint/mpi/collectives/report.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace tributary::mpi::collectives {

void say(const std::string& text) {
  // One write for the line, for the ranks of a node share standard error.
  const std::string line = fmt::format("Tributary MPI: {}\n", text);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

} // namespace tributary::mpi::collectives
