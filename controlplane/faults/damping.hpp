// Flap damping of links, in the terms of RFC 2439 (route flap damping).
//
//   figure of merit   of a link: every time it goes down adds `penalty`; halves every `half_life`
//   cut-off           above it the link is suppressed: up or not, no path uses it
//   reuse             below it, the link is used again
//   ceiling           reuse * 2^(longest / half_life): the upper limit of the figure, so that no
//                     link is suppressed for more than `longest` after it last went down
//
// Only coming up is held back, never going down: a suppressed link counts as down.
//
//   Damping damping(settings);
//   damping.down(link, now)                 true: it is suppressed from now on
//   damping.is_suppressed(link)
//   for (auto link : damping.release(now))  used again; not later than next_release()
//
// Pure. Keys are the caller's: numbers of links.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tributary::faults {

struct DampingSettings {
  bool enabled = true;
  double penalty = 1000; ///< for each time down
  double cut_off = 2500;
  double reuse = 750; ///< below the cut-off
  std::uint64_t half_life_ns = 5 * ns_per_second;
  std::uint64_t longest_ns = 60 * ns_per_second;
  friend bool operator==(const DampingSettings&, const DampingSettings&) = default;
};

class Damping {
public:
  using Key = std::uint32_t;

  explicit Damping(const DampingSettings& settings) : settings_(settings) {}

  /// Whether this suppresses it; false when it was suppressed before.
  bool down(Key link, TimeNs now);
  [[nodiscard]] bool is_suppressed(Key link) const;
  /// Links that are released, ascending.
  [[nodiscard]] std::vector<Key> release(TimeNs now);
  /// When the next link is released; `never` when none is suppressed.
  [[nodiscard]] TimeNs next_release() const;
  [[nodiscard]] std::vector<Key> suppressed() const;
  [[nodiscard]] double figure(Key link, TimeNs now) const;
  /// How often it went down since its figure was last near zero.
  [[nodiscard]] std::uint32_t flaps(Key link) const;
  /// When a suppressed link is released, if it does not go down before.
  [[nodiscard]] TimeNs reused_at(Key link) const;
  /// Number of links that are tracked.
  [[nodiscard]] std::size_t size() const { return links_.size(); }
  /// Suppressed links stay suppressed by their figures; all are released when damping is off.
  void reconfigure(const DampingSettings& settings, TimeNs now);

private:
  struct Merit {
    double figure = 0;
    TimeNs at{}; ///< time of the figure
    std::uint32_t flaps = 0;
    bool suppressed = false;
  };
  [[nodiscard]] double decayed(const Merit& merit, TimeNs now) const;
  /// When the figure falls below a limit.
  [[nodiscard]] TimeNs below(const Merit& merit, double limit) const;

  DampingSettings settings_;
  std::map<Key, Merit> links_;
};

} // namespace tributary::faults
