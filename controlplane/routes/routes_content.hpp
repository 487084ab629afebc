// Unicast routes as a subject of transactions: what a switch holds of them.
//
// There is one set of routes in a fabric, and so one subject. A part is known by its digest: a
// switch tells of what it has no more than that, and the number of the set.
//
// Pure.
#pragma once

#include "controlplane/transaction/subject.hpp"
#include "dataplane/routing/routes.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace tributary::routes {

inline constexpr transaction::KindNumber route_kind{2};

[[nodiscard]] constexpr transaction::Subject route_subject() { return {route_kind, 0}; }

/// What one switch has of a set of routes.
class RoutesContent final : public transaction::Content {
public:
  /// To be installed. Not null.
  explicit RoutesContent(std::shared_ptr<const routing::Routes> routes)
      : routes_(std::move(routes)), epoch_(routes_->epoch), digest_(routing::digest(*routes_)) {}
  /// As a switch has told.
  RoutesContent(std::uint64_t epoch, std::uint64_t digest) : epoch_(epoch), digest_(digest) {}

  /// Null for what a switch has told.
  [[nodiscard]] const routing::Routes* routes() const { return routes_.get(); }
  /// Of the set that the part was made in; in later sets it may be the same.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  /// By digest, whatever the epoch: a switch is not told again what it has.
  [[nodiscard]] bool same_as(const transaction::Content& other) const override;

private:
  std::shared_ptr<const routing::Routes> routes_;
  std::uint64_t epoch_;
  std::uint64_t digest_;
};

/// Requires content of routes.
[[nodiscard]] const RoutesContent& routes_of(const transaction::Content& content);

} // namespace tributary::routes
