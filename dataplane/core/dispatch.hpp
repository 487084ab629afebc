// Executes decisions on their frames: one implementation for every shell that has frames, the
// worker, the generator's in-process loop and the virtual switch.
//
//     struct Shell {
//       bool release(std::size_t first, std::size_t count); these frames are not needed any more
//       bool deliver(std::size_t frame);                    the agent gets a copy; then released
//       std::size_t send(std::size_t first, std::size_t count, PortNumber,
//                        std::uint8_t traffic_class);       returns how many of the first ones left
//       std::size_t send_results(std::size_t first, std::size_t count, PortNumber,
//                                std::uint16_t length, std::uint8_t traffic_class);
//                                                           the same, with the first bytes of each
//       bool replicate(std::size_t first, std::size_t count, PortSet, std::uint8_t traffic_class);
//                                                         each of them out of each port
//       bool replicate_result(std::size_t frame, PortSet, PortNumber root, std::uint16_t length,
//                             std::uint8_t traffic_class);  its first bytes out of each port, the
//                                                           root's before the others
//       std::size_t hand_over(std::size_t first, std::size_t count, std::size_t worker);
//                                                           as `send`; only a shell with several
//                                                           workers has it
//     };
//
//     const std::size_t done = dispatch(decisions, shell);
//     const std::size_t done = dispatch(decisions, shell, outcome.others);   if known
//
// Frames are identified by their index in the burst; the shell knows what they are. Frames with the
// same treatment are handed over together. Sent ones are given away. A shell that returns false, or
// sends fewer than asked, has no room: it is asked again about the remaining ones, when the rest of
// the decisions, from `done` on, is dispatched later. A shell that always has room pays nothing for
// the check.
#pragma once

#include "dataplane/core/decision.hpp"
#include "dataplane/core/places.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::core {

/// The two words of a decision: comparing member by member takes twice the instructions per frame.
inline std::array<std::uint64_t, 2> words_of(const Decision& d) {
  std::array<std::uint64_t, 2> words;
  static_assert(sizeof words == sizeof d && offsetof(Decision, action) == sizeof words[0]);
  std::memcpy(words.data(), &d, sizeof d);
  return words;
}

/// Number of leading decisions that copy frames to the same ports. Those that differ otherwise, in
/// the event for example, are copied separately, at no extra cost.
inline std::size_t replicated_together(std::span<const Decision> decisions) {
  const auto first = words_of(decisions.front());
  const Decision* d = decisions.data() + 1;
  for (const Decision* const end = decisions.data() + decisions.size(); d != end; ++d) {
    const auto words = words_of(*d);
    if (((words[0] ^ first[0]) | (words[1] ^ first[1])) != 0) {
      break;
    }
  }
  return static_cast<std::size_t>(d - decisions.data());
}

/// Number of leading decisions that send frames to the same port, in the same class and, for
/// results, with the same length: the second word has all of these. Four at a time, as long as all
/// are alike: a loop over single ones ends where no processor predicts it, and costs as much as it
/// saves.
inline std::size_t sent_together(std::span<const Decision> decisions) {
  const std::uint64_t first = words_of(decisions.front())[1];
  const auto differs = [first](const Decision& d) { return words_of(d)[1] ^ first; };
  const Decision* d = decisions.data();
  const Decision* const end = decisions.data() + decisions.size();
  while (end - d >= 4 && (differs(d[0]) | differs(d[1]) | differs(d[2]) | differs(d[3])) == 0) {
    d += 4;
  }
  while (d != end && differs(*d) == 0) {
    ++d;
  }
  return static_cast<std::size_t>(d - decisions.data());
}

/// Number of leading decisions that release their frames.
inline std::size_t released_together(std::span<const Decision> decisions) {
  std::size_t count = 1;
  while (count < decisions.size() && is_released(decisions[count].action)) {
    ++count;
  }
  return count;
}

/// Carries the decisions out in order; returns how many: all, unless the shell had no room.
/// Decisions outside `others` release their frames.
template <typename Shell>
std::size_t dispatch(std::span<const Decision> decisions, Shell&& shell,
                     Places others = Places::all()) {
  for (std::size_t i = 0, next; i < decisions.size(); i = next) {
    next = others.next(i, decisions.size());
    if (next != i) {
      if (!shell.release(i, next - i)) [[unlikely]] {
        return i;
      }
      continue;
    }
    const Decision& d = decisions[i];
    next = i + 1;
    bool done = true;
    switch (d.action) {
    case Action::drop:
    case Action::absorb:
      next = i + released_together(decisions.subspan(i));
      done = shell.release(i, next - i);
      break;
    case Action::deliver: done = shell.deliver(i) && shell.release(i, 1); break;
    case Action::forward:
    case Action::emit: {
      const std::size_t count = sent_together(decisions.subspan(i));
      const std::size_t sent =
          d.action == Action::forward
              ? shell.send(i, count, d.port, d.traffic_class)
              : shell.send_results(i, count, d.port, d.length, d.traffic_class);
      if (sent != count) [[unlikely]] {
        return i + sent;
      }
      next = i + count;
      break;
    }
    case Action::hand_over:
      if constexpr (requires { shell.hand_over(i, next, next); }) {
        const std::size_t count = sent_together(decisions.subspan(i));
        const std::size_t sent = shell.hand_over(i, count, d.port.value);
        if (sent != count) [[unlikely]] {
          return i + sent;
        }
        next = i + count;
      }
      break;
    case Action::replicate:
      next = i + replicated_together(decisions.subspan(i));
      done = shell.replicate(i, next - i, d.ports, d.traffic_class);
      break;
    case Action::replicate_result:
      done = shell.replicate_result(i, d.ports, d.port, d.length, d.traffic_class);
      break;
    }
    if (!done) [[unlikely]] {
      return i;
    }
  }
  return decisions.size();
}

} // namespace tributary::core
