#include "controlplane/retransmit/suspects.hpp"

#include <algorithm>
#include <iterator>

namespace tributary::retransmit {

using Kind = SuspectChange::Kind;

void Suspects::update(const std::map<std::string, Behind>& behind, TimeNs now) {
  behind_ = behind;
  for (auto it = suspects_.begin(); it != suspects_.end();) {
    const auto found = behind.find(it->first);
    const Behind there = found == behind.end() ? Behind{} : found->second;
    if (there.quarantined >= settings_.peers) {
      it->second.behind = there;
      ++it;
      continue;
    }
    changes_.push_back({Kind::cleared, it->first, there});
    it = suspects_.erase(it);
  }
  for (const auto& [at, there] : behind) {
    if (there.quarantined < settings_.peers) {
      continue;
    }
    const auto [suspect, is_new] = suspects_.try_emplace(at);
    if (is_new) {
      suspect->second.behind = there;
      suspect->second.since = now;
      changes_.push_back({Kind::suspected, at, there});
    }
    if (there.others == 0 && suspect->second.until == never) {
      avoid(at, suspect->second, now);
    } else if (there.others != 0 && suspect->second.avoided) {
      // A host is there that would be cut off.
      suspect->second.avoided = false;
      suspect->second.until = never;
      changes_.push_back({Kind::tried_again, at, there});
    }
  }
}

void Suspects::avoid(const std::string& at, Suspect& suspect, TimeNs now) {
  suspect.hold_ns = suspect.hold_ns == 0 ? settings_.hold_ns
                                         : std::min(2 * suspect.hold_ns, settings_.longest_hold_ns);
  suspect.avoided = true;
  suspect.until = now + suspect.hold_ns;
  changes_.push_back({Kind::avoided, at, suspect.behind});
}

void Suspects::poll(TimeNs now) {
  for (auto& [at, suspect] : suspects_) {
    if (suspect.until > now) {
      continue;
    }
    if (suspect.avoided) {
      suspect.avoided = false;
      suspect.until = now + settings_.trial_ns;
      changes_.push_back({Kind::tried_again, at, suspect.behind});
    } else if (suspect.behind.others == 0) {
      avoid(at, suspect, now);
    } else {
      suspect.until = never;
    }
  }
}

TimeNs Suspects::next_deadline() const {
  TimeNs next = never;
  for (const auto& [at, suspect] : suspects_) {
    next = std::min(next, suspect.until);
  }
  return next;
}

void Suspects::reconfigure(const SuspectSettings& settings, TimeNs now) {
  if (settings != settings_) {
    settings_ = settings;
    update(std::map(behind_), now);
  }
}

std::set<std::string> Suspects::avoided() const {
  std::set<std::string> names;
  for (const auto& [at, suspect] : suspects_) {
    if (suspect.avoided) {
      names.insert(at);
    }
  }
  return names;
}

} // namespace tributary::retransmit
