// Faults and returns in any order, under unicast traffic, in fabrics of several kinds: switches die
// and start again, links go down and come up, switches lose all their links, channels break,
// switches are drained, the manager starts again. After each step the fabric has to come to rest
// within a bounded time, and then the switches' tables are walked (route_walk.hpp): every connected
// pair has a route, no frame loops or can wait in a cycle, `paths` matches the tables, and frames
// arrive.
//
// A run follows from its seed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace tributary::fabric {

struct RouteCampaignReport {
  std::uint64_t seed = 0;
  std::string fabric; ///< "ring of 8 and 4 chords, 1 virtual channel, auto"
  std::uint64_t steps = 0;
  std::uint64_t faults = 0;     ///< and returns
  std::uint64_t pairs = 0;      ///< walked, over all steps
  std::uint64_t paths = 0;      ///< compared
  std::uint64_t frames = 0;     ///< frames that arrived
  std::uint64_t remade = 0;     ///< sets that did not reach all switches
  std::uint64_t longest_ns = 0; ///< until the fabric was at rest
  std::vector<std::string> violations;
};

/// `trace`: where steps are logged as they occur; null: not logged.
[[nodiscard]] RouteCampaignReport run_route_campaign(std::uint64_t seed,
                                                     std::FILE* trace = nullptr);

/// The command line that repeats this run with a trace.
[[nodiscard]] std::string route_campaign_command(std::uint64_t seed);

} // namespace tributary::fabric
