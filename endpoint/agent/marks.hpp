// Gives out marks for packet sockets: a prefix of eight bits, by which the guard recognises sockets
// of the agent, and a serial number of 24 bits, one for each job.
//
// A mark is not given again as long as it is in use: a socket of a job that has ended may live, and
// must not become one of the next job. Pure.
#pragma once

#include "endpoint/agent/job.hpp"

#include <cstdint>
#include <optional>

namespace tributary::host_agent {

class Marks {
public:
  static constexpr unsigned serial_bits = 24;
  static constexpr std::uint32_t serial_mask = (1U << serial_bits) - 1;
  static constexpr std::uint32_t prefix_mask = ~serial_mask;

  /// `highest` is the mark given last; only its serial number counts.
  Marks(std::uint8_t prefix, std::uint32_t highest)
      : prefix_(std::uint32_t{prefix} << serial_bits), serial_(highest & serial_mask) {}

  /// The next mark for which `in_use` is false; empty if all are in use.
  template <typename InUse> [[nodiscard]] std::optional<Mark> next(const InUse& in_use) {
    for (std::uint32_t tried = 0; tried < serial_mask; ++tried) {
      serial_ = serial_ == serial_mask ? 1 : serial_ + 1;
      const Mark mark{prefix_ | serial_};
      if (!in_use(mark)) {
        return mark;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] Mark highest() const { return Mark{prefix_ | serial_}; }
  /// The common part of all marks.
  [[nodiscard]] Mark prefix() const { return Mark{prefix_}; }

private:
  std::uint32_t prefix_;
  std::uint32_t serial_;
};

} // namespace tributary::host_agent
