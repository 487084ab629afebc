// What decisions mean for the frames they are about: one meaning for every shell that has frames,
// the worker, the generator's in-process loop and the virtual switch.
//
//     struct Shell {
//       bool release(std::size_t frame);                    nothing of it is needed any more
//       bool deliver(std::size_t frame);                    the agent gets a copy; then released
//       bool send(std::size_t frame, PortNumber, std::uint8_t traffic_class);
//       bool send_result(std::size_t frame, PortNumber, std::uint16_t length,
//                        std::uint8_t traffic_class);       its first `length` bytes
//       bool replicate(std::size_t first, std::size_t count, PortSet, std::uint8_t traffic_class);
//     };                                                    each of them out of each port
//
//     const std::size_t done = dispatch(decisions, shell);
//
// Frames are known by their place in the burst; what they are is the shell's own matter. Sent ones
// are given away. A shell that answers false has no room: it is asked the same again when the rest
// of the decisions, from `done` on, is dispatched later. One that always answers true pays nothing
// for the question.
#pragma once

#include "dataplane/core/decision.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::core {

/// How many decisions from the first one on copy frames to the same ports.
inline std::size_t replicated_together(std::span<const Decision> decisions) {
  const Decision first = decisions.front();
  const auto differs = [&](const Decision& d) {
    return (d.ports.bits() ^ first.ports.bits()) |
           (static_cast<unsigned>(d.action) ^ static_cast<unsigned>(first.action)) |
           static_cast<unsigned>(d.traffic_class ^ first.traffic_class);
  };
  std::size_t count = 1;
  while (count < decisions.size() && differs(decisions[count]) == 0) {
    ++count;
  }
  return count;
}

/// Carries the decisions out in order; returns how many, all of them unless the shell had no room.
template <typename Shell> std::size_t dispatch(std::span<const Decision> decisions, Shell&& shell) {
  for (std::size_t i = 0, next; i < decisions.size(); i = next) {
    const Decision& d = decisions[i];
    next = i + 1;
    bool done = true;
    switch (d.action) {
    case Action::drop:
    case Action::absorb: done = shell.release(i); break;
    case Action::deliver: done = shell.deliver(i) && shell.release(i); break;
    case Action::forward: done = shell.send(i, d.port, d.traffic_class); break;
    case Action::emit: done = shell.send_result(i, d.port, d.length, d.traffic_class); break;
    case Action::replicate:
      next = i + replicated_together(decisions.subspan(i));
      done = shell.replicate(i, next - i, d.ports, d.traffic_class);
      break;
    }
    if (!done) [[unlikely]] {
      return i;
    }
  }
  return decisions.size();
}

} // namespace tributary::core
