// The fabric's unicast routes as a subject of transactions: what a switch holds of a set, and the
// order of updates.
//
//   old and new tables compatible    one stage; removals come last
//   otherwise                        1. every connected switch gets the intermediate tables
//                                    2. removals
//                                    3. the new tables
//
// Compatibility is not decided here: a plan was verified together with all that switches held when
// it was made, and lists it. Whether a change can be completed is decided before its first stage:
// where a switch holds content that the plan does not list, or one without a channel holds content
// that is incompatible with the new tables, nothing is changed anywhere, and a new plan is made.
//
// A switch that is not connected blocks no change: it keeps what it has, which was verified to be
// compatible, and is updated when it reconnects.
//
// Pure.
#pragma once

#include "controlplane/route_controller/plan.hpp"
#include "controlplane/route_controller/routes_content.hpp"
#include "controlplane/transaction/kind.hpp"

#include <optional>
#include <string>

namespace tributary::route_controller {

/// Requires a plan that is not refused.
[[nodiscard]] transaction::Target target_of(const Plan& plan);

class RouteKind final : public transaction::Kind {
public:
  [[nodiscard]] transaction::KindNumber number() const override { return route_kind; }
  [[nodiscard]] bool absent_may_follow() const override { return true; }
  [[nodiscard]] std::string describe(const transaction::Subject& subject) const override;
  [[nodiscard]] std::optional<std::string>
  object_to(const transaction::Target& target) const override;
  [[nodiscard]] std::optional<std::string>
  object_to(const transaction::Subject& subject, const transaction::Part& part,
            const transaction::Inventory::Switch& at) const override;
  [[nodiscard]] transaction::Order order(const transaction::Subject& subject,
                                         const transaction::Target* target,
                                         const transaction::Inventory& inventory) const override;
  /// The tables, or the intermediate ones, where all other switches hold compatible ones.
  [[nodiscard]] transaction::ContentPtr
  alone(const transaction::Subject& subject, const transaction::Part& part,
        const transaction::Inventory& inventory) const override;
};

} // namespace tributary::route_controller
