// Tables for a fabric as it is now: which algorithm, and whether they are safe by themselves and
// beside what cannot be changed now.
//
// Pure.
#pragma once

#include "controlplane/route_controller/fabric.hpp"
#include "controlplane/route_controller/settings.hpp"
#include "controlplane/route_controller/union.hpp"
#include "controlplane/unicast/network.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tributary::route_controller {

struct Candidate {
  std::string algorithm{};
  std::string shape{};
  std::string why{};
  std::string refused{}; ///< "" when there are tables in which nothing can wait in a circle
  unicast::TableSet tables{};
  Walked walked{};
  TimeNs computed{};

  [[nodiscard]] bool serves_all() const { return refused.empty() && walked.lost == 0; }
  /// Whether this is to be taken rather than one that was found before it.
  [[nodiscard]] bool beats(const Candidate& other) const {
    return refused.empty() && (!other.refused.empty() || walked.lost < other.walked.lost);
  }
};

struct CandidateSearch {
  const Fabric& fabric;
  const Settings& settings;
  /// What switches hold that cannot be told anything.
  const Union& standing;
  /// What is in force is of the algorithm that was asked for by name, and serves all: another one
  /// is not tried then.
  std::function<bool()> may_stay;
  const std::function<TimeNs()>& now;
};

/// The first one that serves every pair, in the order that the settings give; or else the one that
/// loses the fewest. `why` says what was wrong with those before it.
[[nodiscard]] Candidate find_candidate(const CandidateSearch& search);

} // namespace tributary::route_controller
