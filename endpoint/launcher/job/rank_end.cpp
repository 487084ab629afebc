#include "endpoint/launcher/job/rank_end.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tributary::launch::job {

namespace {

// As wait(2) defines it on Linux; its macros are in a header that a pure room does not include.
constexpr int signal_bits(int status) { return status & 0x7F; }
constexpr int exit_bits(int status) { return status >> 8 & 0xFF; }

constexpr std::array<std::pair<int, std::string_view>, 16> signal_names{
    {{1, "Hangup"},
     {2, "Interrupt"},
     {3, "Quit"},
     {4, "Illegal instruction"},
     {5, "Trace/breakpoint trap"},
     {6, "Aborted"},
     {7, "Bus error"},
     {8, "Floating point exception"},
     {9, "Killed"},
     {10, "User defined signal 1"},
     {11, "Segmentation fault"},
     {12, "User defined signal 2"},
     {13, "Broken pipe"},
     {14, "Alarm clock"},
     {15, "Terminated"},
     {24, "CPU time limit exceeded"}}};

} // namespace

std::string status_text(int status) {
  const int signal = signal_bits(status);
  if (signal == 0) {
    return fmt::format("ended with exit code {}", exit_bits(status));
  }
  for (const auto& [number, name] : signal_names) {
    if (number == signal) {
      return fmt::format("was killed by signal {} ({})", signal, name);
    }
  }
  return fmt::format("was killed by signal {}", signal);
}

bool failed(const RankEnd& end) { return end.status != 0 || (end.connected && !end.finalized); }

int exit_code_of(const RankEnd& end) {
  if (end.status == 0) {
    return failed(end) ? 1 : 0;
  }
  const int signal = signal_bits(end.status);
  return signal == 0 ? exit_bits(end.status) : 128 + signal;
}

std::string text_of(const RankEnd& end) {
  return fmt::format("rank {} on {} (process {}) {}{}", end.rank, end.node, end.pid,
                     status_text(end.status),
                     end.status == 0 && failed(end) ? " without MPI_Finalize" : "");
}

} // namespace tributary::launch::job
