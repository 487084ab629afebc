// The interface of all multicast tree algorithms.
//
//   Prism algorithm(view, distances, seed);
//   auto tree = algorithm.route(members, loads);      the loads are unchanged
//   loads.add(*tree);
//
// An algorithm sees one group at a time and the loads of the previous ones. The same calls with the
// same seed give the same trees. It keeps references to the view and to the distances, and has its
// own scratch memory: one thread at a time.
#pragma once

#include "controlplane/multicast/distances.hpp"
#include "controlplane/multicast/loads.hpp"
#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/tree.hpp"

#include <optional>
#include <span>

namespace tributary::multicast {

class Algorithm {
public:
  Algorithm() = default;
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  /// A tree over these switches, by current loads; nothing when they are not connected. `members`
  /// are distinct, ascending, at least one. The loads are not changed.
  [[nodiscard]] virtual std::optional<Tree> route(std::span<const SwitchId> members,
                                                  const Loads& loads) = 0;
};

} // namespace tributary::multicast
