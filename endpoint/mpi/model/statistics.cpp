#include "endpoint/mpi/model/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::mpi {

namespace {

/// Calls with this reason, of all kinds.
std::uint64_t with_reason(const Statistics& all, Reason reason) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < kind_count; ++k) {
    sum += all.of(static_cast<Kind>(k), reason);
  }
  return sum;
}

} // namespace

Refusals Statistics::refusals() const {
  Refusals all{};
  std::copy_n(cells.begin() + refused_at, all.size(), all.begin());
  return all;
}

std::uint64_t calls_of(const Statistics& all) {
  std::uint64_t calls = 0;
  for (std::size_t r = 0; r < reason_count; ++r) {
    calls += with_reason(all, static_cast<Reason>(r));
  }
  return calls;
}

std::string summary_line(const Statistics& all, std::uint64_t ranks) {
  std::string why;
  for (std::size_t r = 0; r < reason_count; ++r) {
    const auto reason = static_cast<Reason>(r);
    const std::uint64_t n = with_reason(all, reason);
    if (n > 0 && reason != Reason::none) {
      why += fmt::format("{}{} because {}", why.empty() ? "; by the MPI library " : ", ", n,
                         text_of(reason));
    }
  }
  std::string line = fmt::format("{} of {} calls of {} ranks were reduced in the network, {} bytes",
                                 with_reason(all, Reason::none), calls_of(all), ranks, all.bytes());
  if (all.cells[Statistics::recovered_at] > 0) {
    line += fmt::format("; {} of them were completed beside it, for the fabric failed",
                        all.cells[Statistics::recovered_at]);
  }
  return line + why;
}

std::string summary_table(const Statistics& all) {
  std::string text;
  for (std::size_t k = 0; k < kind_count; ++k) {
    for (std::size_t r = 0; r < reason_count; ++r) {
      const auto kind = static_cast<Kind>(k);
      const auto reason = static_cast<Reason>(r);
      if (const std::uint64_t n = all.of(kind, reason); n > 0) {
        text += fmt::format("  {:26} {:>12}  {}\n", name_of(kind), n, text_of(reason));
      }
    }
  }
  return text;
}

} // namespace tributary::mpi
