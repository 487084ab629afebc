// One interface for all ways to make a tree.
//
//   const auto algorithm = make_algorithm("fulb", view, distances, seed);
//   auto tree = algorithm->route(members, loads);     nothing is booked yet
//   loads.add(*tree);
//
// An algorithm sees one group at a time and the loads of those before it. The same calls with the
// same seed give the same trees. It keeps references to the view and to the distances, and scratch
// memory of its own: one thread at a time.
#pragma once

#include "controlplane/multicast/distances.hpp"
#include "controlplane/multicast/loads.hpp"
#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace tributary::multicast {

class Algorithm {
public:
  Algorithm() = default;
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  /// A tree over these switches, by loads so far; nothing when they are not connected. `members`
  /// are distinct, ascending, at least one. The loads are not changed.
  [[nodiscard]] virtual std::optional<Tree> route(std::span<const SwitchId> members,
                                                  const Loads& loads) = 0;
};

/// The published algorithms work in two steps, which are timed apart.
class RootedAlgorithm : public Algorithm {
public:
  /// A switch from which the farthest member is as near as from any.
  [[nodiscard]] virtual std::optional<SwitchId> choose_root(std::span<const SwitchId> members,
                                                            const Loads& loads) = 0;
  /// Requires that the root reaches all members.
  [[nodiscard]] virtual Tree grow(SwitchId root, std::span<const SwitchId> members,
                                  const Loads& loads) = 0;

  [[nodiscard]] std::optional<Tree> route(std::span<const SwitchId> members,
                                          const Loads& loads) final {
    const auto root = choose_root(members, loads);
    return root ? std::optional(grow(*root, members, loads)) : std::nullopt;
  }
};

/// By a name of `algorithm_names()` (planner.hpp); null when there is none of that name.
[[nodiscard]] std::unique_ptr<Algorithm> make_algorithm(std::string_view name,
                                                        const RoutingView& view,
                                                        Distances& distances, std::uint64_t seed);

} // namespace tributary::multicast
