// Compares algorithms on the same fabric and the same groups: load, time, and validity of every
// tree.
//
//   Comparison comparison("dragonfly", {}, clock);
//   for (const Row& row : comparison.run("81x27x12", prism_rows(), settings, progress)) ...
//
// Groups are routed in the order of the pattern, one at a time, each with the loads of the previous
// ones. Distances are computed before the measurement, as a manager has them. The time covers the
// choice of the root, the tree, and the update of loads, without checks.
//
// Uses the caller's clock, in seconds since any origin.
#pragma once

#include "controlplane/multicast/algorithm.hpp"
#include "controlplane/multicast/comparison/checker.hpp"
#include "controlplane/multicast/comparison/pattern.hpp"
#include "controlplane/topology/builders.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::multicast::comparison {

/// An algorithm of two steps, which are measured separately.
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

/// One line of a table: an algorithm and its label.
struct Compared {
  std::string_view name;
  std::unique_ptr<Algorithm> (*make)(Distances& distances, std::uint64_t seed);
  bool repaired = false; ///< followed by repair, within the budget; PRISM only
  /// What its trees must have where links are dead; elsewhere it is the least.
  Height height_with_dead_links = Height::least;
};

/// PRISM: "prism", one pass; "prism_repaired", followed by repair.
[[nodiscard]] std::span<const Compared> prism_rows();

/// When repair reached each load.
struct RepairStep {
  std::uint32_t max_efi = 0;
  double seconds = 0; ///< since repair began
};

struct Row {
  std::string topology;
  std::string pattern;
  std::string algorithm;
  double dead_percent = 0; ///< percentage of the links
  std::uint64_t seed = 0;
  std::uint32_t groups = 0;
  std::uint32_t max_efi = 0;
  double mean_efi = 0; ///< over usable links
  std::uint32_t lower_bound = 0;
  double root_seconds = 0; ///< choosing roots; 0 where root and tree are chosen together
  double tree_seconds = 0; ///< the rest, including repair
  double repair_seconds = 0;
  std::vector<RepairStep> repair_steps; ///< one for each load that was reached
  std::string fault;                    ///< of the first invalid tree; empty: all are valid
  [[nodiscard]] bool valid() const { return fault.empty(); }
  [[nodiscard]] double seconds() const { return root_seconds + tree_seconds; }
};

struct ComparisonSettings {
  std::uint64_t seed = 1;
  /// Each algorithm runs this often, round robin; the fastest run counts.
  unsigned runs = 1;
  /// For repair, in seconds; nothing: depends on the fabric and the pattern (`usual_budget`).
  std::optional<double> budget_seconds;
};

/// Called before each measurement with its description.
using Progress = std::function<void(std::string_view)>;

class Comparison {
public:
  using Clock = std::function<double()>;

  /// Builds the fabric, takes down `dead_percent` of its links, chosen by `seed`, and computes all
  /// distances. Throws topology::ModelError.
  Comparison(std::string_view topology, double dead_percent, std::uint64_t seed, Clock clock);

  /// One row for each algorithm. Throws PatternError.
  [[nodiscard]] std::vector<Row> run(std::string_view pattern, std::span<const Compared> compared,
                                     const ComparisonSettings& settings, const Progress& progress);

  [[nodiscard]] const topology::Model& model() const { return model_; }
  /// Time of the distance computation.
  [[nodiscard]] double distance_seconds() const { return distance_seconds_; }
  /// Clos fabrics take 20 ms. Others get 100 (dragonfly) or 250 ms (torus), 350 when members are
  /// random, and 300 when links are dead.
  [[nodiscard]] double usual_budget(std::string_view pattern) const;

private:
  struct Routed;
  [[nodiscard]] Routed route_all(const Compared& compared, std::span<const Group> groups,
                                 std::uint32_t bound, double budget, std::uint64_t seed);
  [[nodiscard]] std::string find_fault(const Routed& routed, std::span<const Group> groups,
                                       const Compared& compared);

  topology::Model model_;
  double dead_percent_;
  Clock clock_;
  double clock_seconds_; ///< time of one reading; subtracted from measurements per group
  RoutingView view_;
  Distances distances_;
  Checker checker_;
  double distance_seconds_ = 0;
};

} // namespace tributary::multicast::comparison
