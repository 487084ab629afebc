// Tables for the current fabric: the choice of an algorithm, and whether its tables are safe alone
// and together with tables that cannot be changed now.
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
  std::string refused{}; ///< "" when the tables cannot deadlock
  unicast::TableSet tables{};
  Walked walked{};
  TimeNs computed{};

  [[nodiscard]] bool serves_all() const { return refused.empty() && walked.lost == 0; }
  /// Whether this is better than an earlier one.
  [[nodiscard]] bool beats(const Candidate& other) const {
    return refused.empty() && (!other.refused.empty() || walked.lost < other.walked.lost);
  }
};

struct CandidateSearch {
  const Fabric& fabric;
  const Settings& settings;
  /// What unreachable switches hold.
  const Union& standing;
  /// The set in force is of the algorithm requested by name, and serves all: no other algorithm is
  /// tried then.
  std::function<bool()> may_stay;
  const std::function<TimeNs()>& now;
};

/// The first set that serves every pair, in the order of the settings; otherwise the one that loses
/// the fewest. `why` says what was wrong with earlier ones.
[[nodiscard]] Candidate find_candidate(const CandidateSearch& search);

} // namespace tributary::route_controller
