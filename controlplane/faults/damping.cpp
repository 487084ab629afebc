#include "controlplane/faults/damping.hpp"

#include <algorithm>
#include <cmath>

namespace tributary::faults {

double Damping::decayed(const Merit& merit, TimeNs now) const {
  const double lives =
      static_cast<double>(elapsed_ns(now, merit.at)) / static_cast<double>(settings_.half_life_ns);
  return merit.figure * std::exp2(-lives);
}

TimeNs Damping::below(const Merit& merit, double limit) const {
  if (merit.figure < limit) {
    return merit.at;
  }
  const double lives = std::log2(merit.figure / limit);
  // One more, so that the figure is below the limit and not at it.
  return merit.at +
         static_cast<std::uint64_t>(lives * static_cast<double>(settings_.half_life_ns)) + 1;
}

bool Damping::down(Key link, TimeNs now) {
  if (!settings_.enabled) {
    return false;
  }
  // Links with little penalty left make room.
  std::erase_if(links_, [&](const auto& one) {
    return !one.second.suppressed && decayed(one.second, now) < settings_.reuse / 2;
  });
  Merit& merit = links_[link];
  const double ceiling = settings_.reuse * std::exp2(static_cast<double>(settings_.longest_ns) /
                                                     static_cast<double>(settings_.half_life_ns));
  merit.figure = std::min(decayed(merit, now) + settings_.penalty, ceiling);
  merit.at = now;
  ++merit.flaps;
  if (merit.suppressed || merit.figure <= settings_.cut_off) {
    return false;
  }
  merit.suppressed = true;
  return true;
}

bool Damping::is_suppressed(Key link) const {
  const auto found = links_.find(link);
  return found != links_.end() && found->second.suppressed;
}

std::vector<Damping::Key> Damping::release(TimeNs now) {
  std::vector<Key> released;
  for (auto& [link, merit] : links_) {
    if (merit.suppressed && below(merit, settings_.reuse) <= now) {
      merit.suppressed = false;
      released.push_back(link);
    }
  }
  return released;
}

TimeNs Damping::next_release() const {
  TimeNs next = never;
  for (const auto& [link, merit] : links_) {
    if (merit.suppressed) {
      next = std::min(next, below(merit, settings_.reuse));
    }
  }
  return next;
}

std::vector<Damping::Key> Damping::suppressed() const {
  std::vector<Key> all;
  for (const auto& [link, merit] : links_) {
    if (merit.suppressed) {
      all.push_back(link);
    }
  }
  return all;
}

double Damping::figure(Key link, TimeNs now) const {
  const auto found = links_.find(link);
  return found == links_.end() ? 0 : decayed(found->second, now);
}

std::uint32_t Damping::flaps(Key link) const {
  const auto found = links_.find(link);
  return found == links_.end() ? 0 : found->second.flaps;
}

TimeNs Damping::reused_at(Key link) const {
  const auto found = links_.find(link);
  return found == links_.end() || !found->second.suppressed ? never
                                                            : below(found->second, settings_.reuse);
}

void Damping::reconfigure(const DampingSettings& settings, TimeNs now) {
  for (auto& [link, merit] : links_) {
    merit.figure = decayed(merit, now);
    merit.at = now;
    merit.suppressed = merit.suppressed && settings.enabled;
  }
  settings_ = settings;
}

} // namespace tributary::faults
