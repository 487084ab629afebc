#include "controlplane/group/vni_table.hpp"

#include <algorithm>
#include <utility>

namespace tributary::group {

std::optional<Vni> VniTable::give_out(const std::string& job) {
  const auto number = pool_.take(pool_.last() + 1);
  if (!number) {
    return std::nullopt;
  }
  const Vni vni{static_cast<std::uint16_t>(*number)};
  held_.emplace(vni, Held{job, 1});
  return vni;
}

bool VniTable::claim(Vni vni, const std::string& job) {
  const auto [it, fresh] = held_.try_emplace(vni, Held{job, 0});
  if (it->second.job != job) {
    return false;
  }
  if (fresh) {
    pool_.take_exactly(vni.value); // so that it is not assigned to another job
  }
  ++it->second.claims;
  return true;
}

std::optional<VniTable::Release> VniTable::release(Vni vni, TimeNs now) {
  const auto it = held_.find(vni);
  if (it == held_.end() || --it->second.claims > 0) {
    return std::nullopt;
  }
  const TimeNs end = now + quarantine_ns_;
  const Release release{vni, ++releases_};
  note(vni);
  quarantine_.insert_or_assign(vni, Quarantine{std::move(it->second.job), end, release.number});
  ends_.set(vni, end);
  held_.erase(it);
  return release;
}

void VniTable::forget(const std::string& job) {
  for (auto& [vni, quarantine] : quarantine_) {
    if (quarantine.job == job) {
      note(vni);
      quarantine.job.clear();
    }
  }
}

std::string_view VniTable::holder(Vni vni) const {
  const auto it = held_.find(vni);
  return it == held_.end() ? std::string_view() : std::string_view(it->second.job);
}

std::optional<TimeNs> VniTable::quarantined(Vni vni, std::string_view job) const {
  const auto it = quarantine_.find(vni);
  const bool is_free = it == quarantine_.end() || held_.contains(vni) || it->second.job == job;
  return is_free ? std::nullopt : std::optional(it->second.end);
}

TimeNs VniTable::next_free() const {
  TimeNs first = never;
  for (const auto& [vni, quarantine] : quarantine_) {
    if (pool_.taken(vni.value) && !held_.contains(vni)) {
      first = std::min(first, quarantine.end);
    }
  }
  return first;
}

void VniTable::restore(const Release& release, bool in_quarantine, TimeNs now) {
  releases_ = std::max(releases_, release.number);
  pool_.take_exactly(release.vni.value);
  if (in_quarantine) {
    const TimeNs end = now + quarantine_ns_ + quarantine_.size(); // in sequence, as before
    quarantine_.emplace(release.vni, Quarantine{{}, end, release.number});
    ends_.set(release.vni, end);
  } else {
    pool_.give_back(release.vni.value);
  }
}

std::vector<VniTable::Release> VniTable::poll(TimeNs now) {
  std::vector<Release> over;
  while (const auto vni = ends_.take_due(now)) {
    const auto quarantine = quarantine_.extract(*vni);
    if (!held_.contains(*vni)) {
      pool_.give_back(vni->value);
    }
    over.push_back({*vni, quarantine.mapped().release});
  }
  return over;
}

void VniTable::note(Vni vni) {
  if (notes_) {
    const auto found = quarantine_.find(vni);
    before_.try_emplace(vni,
                        found == quarantine_.end() ? std::nullopt : std::optional(found->second));
  }
}

void VniTable::begin_requests(bool may_be_undone) {
  notes_ = may_be_undone;
  before_.clear();
}

void VniTable::begin_again() {
  for (auto& [vni, before] : std::exchange(before_, {})) {
    ends_.set(vni, before ? before->end : never);
    if (before) {
      quarantine_.insert_or_assign(vni, *std::move(before));
    } else {
      quarantine_.erase(vni);
    }
  }
  notes_ = false;
  held_.clear();
}

void VniTable::end_again() {
  for (std::uint32_t number = pool_.first(); number <= pool_.last(); ++number) {
    const Vni vni{static_cast<std::uint16_t>(number)};
    if (held_.contains(vni) || quarantine_.contains(vni)) {
      pool_.take_exactly(number);
    } else {
      pool_.give_back(number);
    }
  }
}

} // namespace tributary::group
