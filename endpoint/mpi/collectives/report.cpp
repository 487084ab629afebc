#include "endpoint/mpi/collectives/report.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace tributary::mpi::collectives {

void say(const std::string& text) {
  // In one write, for the ranks of a node share it.
  const std::string line = fmt::format("Tributary MPI: {}\n", text);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

} // namespace tributary::mpi::collectives
