// Makes the traffic of a scenario.
#pragma once

#include "pktgen/scenario/scenario.hpp"
#include "pktgen/traffic/placement.hpp"
#include "pktgen/traffic/replay.hpp"
#include "pktgen/traffic/traffic.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace tributary::pktgen::run {

/// The scenario cannot be run; what() includes what to change.
class ScenarioError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Makes traffics of one scenario and its variants; reads each capture once.
class TrafficMaker {
public:
  /// Throws ScenarioError.
  [[nodiscard]] std::unique_ptr<traffic::Traffic> make(const scenario::Scenario& scenario,
                                                       const traffic::Placement& placement);

private:
  [[nodiscard]] std::unique_ptr<traffic::Traffic>
  make_part(const scenario::Part& part, const traffic::Placement& placement, std::uint64_t seed);
  [[nodiscard]] std::shared_ptr<const traffic::Capture> capture(const scenario::Replay& replay);

  std::map<std::pair<std::string, scenario::Direction>, std::shared_ptr<const traffic::Capture>>
      captures_;
  std::uint32_t incarnation_ = 0; ///< of the hosts of RDMA transfers; rises with every traffic
};

/// The same scenario at this many operations (reductions, frames) a second; 0: as fast as it goes.
/// Requires `has_rate`.
[[nodiscard]] scenario::Scenario at_rate(const scenario::Scenario& scenario, double rate);
/// Whether its traffic has a rate: one of reduce, multicast, unicast.
[[nodiscard]] bool has_rate(const scenario::Scenario& scenario);
/// Whether its settings give a rate, instead of as fast as possible.
[[nodiscard]] bool has_rate_of_its_own(const scenario::Part& part);
/// The rate it asks for, in operations a second; 0: as fast as it goes, or no such rate.
[[nodiscard]] double rate_of(const scenario::Scenario& scenario);
/// What a scenario must be for the generator's ceiling: nothing held back, nothing altered.
[[nodiscard]] scenario::Scenario for_ceiling(const scenario::Scenario& scenario);

/// Whether the generator can be measured against itself: it has both ends.
[[nodiscard]] bool has_ceiling(const scenario::Scenario& scenario);

/// Length of the longest frame that concerns hosts of several workers, bytes.
[[nodiscard]] std::size_t longest_reduction_frame(const scenario::Scenario& scenario);

/// Bytes of memory that its virtual hosts will take.
[[nodiscard]] std::uint64_t memory_of(const scenario::Scenario& scenario);

} // namespace tributary::pktgen::run
