// The fabric's unicast routes as a subject of transactions: what a switch holds of a set, and in
// which order switches are told.
//
//   old and new tables may meet      all at once; what a switch loses comes last
//   they may not                     1. every switch that is connected gets the tables in between
//                                    2. what a switch loses
//                                    3. the new ones
//
// What may meet what is not decided here: a plan was verified together with all that switches held
// when it was made, and names it. Whether a change can go all its way is decided before its first
// stage: where a switch holds what the plan does not know, or one without a channel holds what the
// new tables may not be beside, nothing is changed anywhere, and a new plan is made.
//
// A switch that is not connected stops nobody: it keeps what it has, which was verified to meet the
// new tables, and follows when it is back.
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
  /// The tables, or those in between, where all other switches hold what may be beside them.
  [[nodiscard]] transaction::ContentPtr
  alone(const transaction::Subject& subject, const transaction::Part& part,
        const transaction::Inventory& inventory) const override;
};

} // namespace tributary::route_controller
