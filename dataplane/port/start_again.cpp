#include "dataplane/port/start_again.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tributary::port {
namespace {

constexpr const char* mark = "TRIBUTARY_WITHOUT_HUGEPAGES";
constexpr const char* own_program = "/proc/self/exe";

} // namespace

void start_again_without_hugepages(const HugepagesTaken& taken, char** argv) {
  spdlog::warn("{}; starting again with ordinary pages", taken.what());
  ::setenv(mark, "1", 1);
  // By its own path, whose last part becomes the name of the process; by the link if a new version
  // has replaced the file meanwhile.
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink(own_program, error);
  if (!error) {
    ::execv(program.c_str(), argv);
  }
  ::execv(own_program, argv);
  throw PortError(fmt::format("{}, and this program cannot be started again: {}; set "
                              "hugepages = \"never\"",
                              taken.what(), std::generic_category().message(errno)));
}

bool without_hugepages() { return std::getenv(mark) != nullptr; }

} // namespace tributary::port
