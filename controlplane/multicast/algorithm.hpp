// The interface of all multicast tree algorithms.
//
//   const auto algorithm = make_algorithm("fulb", distances, seed);
//   auto tree = algorithm->route(members, loads);     the loads are unchanged
//   loads.add(*tree);
//
// An algorithm sees one group at a time and the loads of the previous ones. The same calls with the
// same seed give the same trees. It keeps references to the view and to the distances, and has its
// own scratch memory: one thread at a time.
#pragma once

#include "controlplane/multicast/distances.hpp"
#include "controlplane/multicast/loads.hpp"
#include "controlplane/multicast/root_choice.hpp"
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

  /// A tree over these switches, by current loads; nothing when they are not connected. `members`
  /// are distinct, ascending, at least one. The loads are not changed.
  [[nodiscard]] virtual std::optional<Tree> route(std::span<const SwitchId> members,
                                                  const Loads& loads) = 0;
};

/// The published algorithms work in two steps, which are measured separately.
class RootedAlgorithm : public Algorithm {
public:
  /// A switch with the smallest distance to its farthest member.
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

/// By a name of `algorithm_names()` (planner.hpp), or a variant of the published algorithms that
/// only comparisons use; null for an unknown name.
///
/// | name                                     | is                                            |
/// |------------------------------------------|-----------------------------------------------|
/// | minihop, sssp                            | as published: the first root                  |
/// | minihop_new, sssp_new, fulb              | the root with the fewest trees rooted there   |
/// | minihop_new_through, sssp_new_through,   | the root with the fewest trees through it     |
/// | fulb_through                             |                                               |
/// | fulb_rooted                              | another name of fulb                          |
/// | sssp_new_layered                         | sssp_new, searched layer by layer             |
/// | sssp_new_layered_through                 | sssp_new_through, searched layer by layer     |
/// | prism                                    | this project's                                |
///
/// `scan`: how the published algorithms search for their root; the tree is the same.
[[nodiscard]] std::unique_ptr<Algorithm> make_algorithm(std::string_view name, Distances& distances,
                                                        std::uint64_t seed,
                                                        RootScan scan = RootScan::vectorised);

} // namespace tributary::multicast
