// The state of one membership's renewal: when the next attempt is due, and what went wrong.
//
//   state       event                         next attempt
//   fine        renewed                       after a third of the lease
//   any         no answer, or a refusal       after 100 ms, then twice as long, up to a third of
//                                             the lease and 5 s; the error stays known until it
//                                             is over
//   any         forgotten (404)               immediately: join again
//   forgotten   joined again                  as renewed; if the trees are others, the group moves
//   forgotten   others are still missing      as without an answer
//   any         over (409, 410)               never: the group has ended
//   hurried     renewed                       after a tenth of the lease, or sooner: a call waits
//                                             for long, and needs to know for which members
//
// Pure: times are handed in.
#pragma once

#include "endpoint/manager_client/membership.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::library {

/// A call that waits this long asks for news of its group.
inline constexpr std::uint64_t long_wait_ns = 2'000'000'000;

class Lease {
public:
  /// `size`: members of the group.
  Lease(const manager_client::Membership& membership, std::uint32_t size, bool is_root, TimeNs now);

  [[nodiscard]] TimeNs next_attempt() const { return next_attempt_; }
  /// Whether the next attempt is to join again, not to renew.
  [[nodiscard]] bool is_forgotten() const { return forgotten_; }
  [[nodiscard]] const manager_client::Membership& membership() const { return membership_; }

  void renewed(TimeNs now);
  /// The group has ended: nothing is left to renew.
  void over();
  [[nodiscard]] bool is_over() const { return over_; }
  /// Sets whether a call waits for the group news that a renewal returns.
  void hurry(bool hurried);
  void forgotten(TimeNs now);
  /// Returns whether the group moved: other trees or other parameters.
  bool joined_again(const manager_client::Membership& membership, TimeNs now);
  void failed(const std::string& why, TimeNs now);

  /// One line for people.
  [[nodiscard]] std::string text(TimeNs now) const;

private:
  [[nodiscard]] std::uint64_t third_of_lease_ns() const;
  [[nodiscard]] std::uint64_t interval_ns() const;
  /// A second for the root, which notifies the others of missing ranks, and for members of groups
  /// of up to a thousand; in larger ones such that all members together ask a thousand times a
  /// second, but no less often than at a tenth of the lease.
  [[nodiscard]] std::uint64_t news_interval_ns() const;

  manager_client::Membership membership_;
  std::uint32_t size_;
  bool is_root_;
  TimeNs renewed_at_;
  TimeNs next_attempt_;
  std::uint64_t back_off_ns_ = 0;
  bool forgotten_ = false;
  bool over_ = false;
  bool hurried_ = false;
  std::optional<TimeNs> failing_since_;
  std::string failure_;
  std::uint64_t moves_ = 0;
};

} // namespace tributary::library
