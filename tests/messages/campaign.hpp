// Programs on two hosts that send each other messages of every length, with few tags and receives
// of every kind, on a network with all faults. Invariants:
//
//   nothing corrupt   every byte of a received message is its sender's, and none beyond it changes
//   nothing twice     and nothing lost: each message that was sent is received once
//   nothing hung      every operation ends; without a restart none fails
//   nothing overtakes of two messages of one sender that a receive matches, it gets the one that
//                     was sent first
//   each atomic once  of a counter that all add to, every add returns another value, and in the end
//                     it has all of them
//   nothing left      in the end no frame, operation or message is kept
#pragma once

#include "endpoint/messages/counters.hpp"
#include "endpoint/streams/counters.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::messages::test {

enum class Scene : std::uint8_t {
  faults,   ///< every kind of frame lost, repeated, damaged, very late
  spraying, ///< frames out of order, and few faults
  narrow,   ///< little room for messages without a receive, and for everything else
  restarts, ///< and programs that end and come back
};
inline constexpr std::size_t scenes = 4;
inline constexpr std::array<const char*, scenes> scene_names = {"faults", "spraying", "narrow",
                                                                "restarts"};

struct CampaignRun {
  Scene scene = Scene::faults;
  std::uint64_t seed = 1;
  std::uint64_t messages = 1000;
};

struct CampaignReport {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t truncated = 0;
  std::uint64_t long_ones = 0;
  std::uint64_t failed = 0; ///< operations, where the scene allows it
  std::uint64_t restarts = 0;
  std::uint64_t frames = 0;
  std::uint64_t resent = 0;
  std::uint64_t blocked = 0;
  std::uint64_t atomics = 0;
  std::vector<std::string> violations; ///< the first ones

  [[nodiscard]] bool good() const { return violations.empty(); }
  void add(const CampaignReport& other);
};

[[nodiscard]] CampaignReport run_campaign(const CampaignRun& run);

} // namespace tributary::messages::test
