// Unicast routes as a subject of transactions: what a switch holds of them.
//
// A fabric has one set of routes, and so one subject. A part is identified by its digest: a switch
// reports only that, and the number of the set.
//
// Compatibility is not decided here: a set was walked together with all that switches held when it
// was made (plan.hpp), and a part lists that: `Meets`.
//
// Pure.
#pragma once

#include "controlplane/transaction/subject.hpp"
#include "dataplane/forwarding_table/routes.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace tributary::route_controller {

inline constexpr transaction::KindNumber route_kind{2};

[[nodiscard]] constexpr transaction::Subject route_subject() { return {route_kind, 0}; }

/// Number of a set, or of intermediate tables: rises with every one that is made.
using Epoch = std::uint64_t;

/// What a set was verified with: what other switches may hold while a switch has its part of it.
struct Meets {
  std::set<Epoch> sets;                                 ///< at any switch
  std::set<std::pair<topology::SwitchId, Epoch>> parts; ///< at that switch
  /// The set's own parts, by switch: they are valid under any epoch.
  std::vector<std::uint64_t> digests;
};
using MeetsPtr = std::shared_ptr<const Meets>;

/// One switch's part of a set of routes.
class RoutesContent final : public transaction::Content {
public:
  /// For installation. Not null.
  explicit RoutesContent(std::shared_ptr<const forwarding_table::Routes> routes)
      : routes_(std::move(routes)), epoch_(routes_->epoch),
        digest_(forwarding_table::digest(*routes_)) {}
  /// The same content, with what it is compatible with: `meets`, and parts of its own epoch;
  /// `between`, if not null, is installed first.
  RoutesContent(const RoutesContent& content, MeetsPtr meets,
                std::shared_ptr<const RoutesContent> between)
      : routes_(content.routes_), epoch_(content.epoch_), digest_(content.digest_),
        meets_(std::move(meets)), between_(std::move(between)) {}
  /// As reported by a switch.
  RoutesContent(Epoch epoch, std::uint64_t digest) : epoch_(epoch), digest_(digest) {}

  /// Null for reported content.
  [[nodiscard]] const forwarding_table::Routes* routes() const { return routes_.get(); }
  [[nodiscard]] const std::shared_ptr<const forwarding_table::Routes>& shared() const {
    return routes_;
  }
  /// Epoch of the set that the part was made in; later sets may contain the same part.
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  [[nodiscard]] const std::shared_ptr<const RoutesContent>& between() const { return between_; }
  /// Whether it is compatible with this content at another switch, `at`.
  [[nodiscard]] bool may_meet(topology::SwitchId at, const RoutesContent& other) const {
    return other.epoch_ == epoch_ ||
           (meets_ &&
            (meets_->sets.contains(other.epoch_) || meets_->parts.contains({at, other.epoch_}) ||
             (at.value < meets_->digests.size() && meets_->digests[at.value] == other.digest_)));
  }
  /// By digest, whatever the epoch: a switch is not sent again what it has.
  [[nodiscard]] bool same_as(const transaction::Content& other) const override;

private:
  std::shared_ptr<const forwarding_table::Routes> routes_;
  Epoch epoch_;
  std::uint64_t digest_;
  MeetsPtr meets_;
  std::shared_ptr<const RoutesContent> between_;
};

/// Requires content of routes.
[[nodiscard]] const RoutesContent& routes_of(const transaction::Content& content);

} // namespace tributary::route_controller
