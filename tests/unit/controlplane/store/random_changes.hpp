// Batches of changes over few records, so that they interact. As in the registry, a group's id is
// not used again, and a tree's number is another group's only once its group is erased.
#pragma once

#include "controlplane/records/records.hpp"
#include "tests/unit/controlplane/store/records.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <map>
#include <string>
#include <vector>

namespace tributary::test {

class RandomChanges {
public:
  explicit RandomChanges(std::uint64_t seed) : random_(seed) {}

  std::vector<records::Change> next() {
    std::vector<records::Change> changes;
    for (std::uint64_t left = 1 + below(20); left > 0; --left) {
      one(changes);
    }
    return changes;
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::uint32_t small(std::uint64_t n) { return static_cast<std::uint32_t>(below(n)); }
  records::GroupId some_group() { return records::GroupId{newest_ - std::min(newest_, below(6))}; }

  void one(std::vector<records::Change>& changes) {
    switch (below(13)) {
    case 0:
    case 1: {
      const TreeNumber number{static_cast<std::uint16_t>(below(8))};
      auto whole = whole_group(++newest_, small(5), 2);
      if (owner_.emplace(number, records::GroupId{newest_}).second) {
        std::get<records::TreeRecord>(whole.back()).number = number;
      } else {
        whole.pop_back();
      }
      changes.insert(changes.end(), whole.begin(), whole.end());
      break;
    }
    case 2: {
      const auto erased = some_group();
      std::erase_if(owner_, [&](const auto& o) { return o.second == erased; });
      changes.emplace_back(records::EraseGroup{erased});
      break;
    }
    case 3:
      changes.emplace_back(
          records::MemberRecord{.group = some_group(),
                                .rank = small(5),
                                .nid = Nid{small(max_nid)},
                                .host = std::to_string(random_()),
                                .state = static_cast<records::MemberState>(below(3))});
      break;
    case 4: changes.emplace_back(records::EraseMember{some_group(), small(5)}); break;
    case 5:
      for (const auto& [number, group] : owner_) {
        changes.emplace_back(records::TreeRecord{number, group, 0, some_form(small(4))});
      }
      break;
    case 6:
      changes.emplace_back(records::JobRecord{
          "job" + std::to_string(below(3)), small(9), std::to_string(random_()),
          below(2) == 0 ? std::nullopt : std::optional(Vni{static_cast<std::uint16_t>(below(9))}),
          below(2) == 0,
          below(2) == 0 ? std::nullopt : std::optional(std::vector{Nid{1}, Nid{small(max_nid)}}),
          below(2) == 0 ? std::nullopt : std::optional(std::vector{Vni{65535}}),
          below(2) == 0 ? std::nullopt
                        : std::optional(records::Allocation{
                              .cookie = std::string(32, 'a'),
                              .nodes = {{"n" + std::to_string(small(9)), Nid{small(max_nid)}}},
                              .has_made_job = below(2) == 0,
                              .lease_ms = small(9),
                              .restarts_unheard = small(3)})});
      break;
    case 7: changes.emplace_back(records::EraseJob{"job" + std::to_string(below(3))}); break;
    case 8:
      changes.emplace_back(records::AddressRecord{below(2) == 0 ? "trees" : "vnis", small(99)});
      break;
    case 9: {
      const std::string at = "leaf" + std::to_string(below(4));
      if (below(2) == 0) {
        changes.emplace_back(records::DrainRecord{at});
      } else {
        changes.emplace_back(records::EraseDrain{at});
      }
      break;
    }
    case 10: {
      const auto vni =
          below(2) == 0 ? std::nullopt : std::optional(Vni{static_cast<std::uint16_t>(below(3))});
      const std::string field = below(2) == 0 ? "window" : "restarts";
      if (below(2) == 0) {
        changes.emplace_back(records::RdmaSettingRecord{vni, field, below(1'000'000'000'000)});
      } else {
        changes.emplace_back(records::EraseRdmaSetting{vni, field});
      }
      break;
    }
    case 11: {
      const Vni vni{static_cast<std::uint16_t>(below(3))};
      const Nid nid{small(4)};
      if (below(2) == 0) {
        changes.emplace_back(records::RdmaQuarantineRecord{vni, nid});
      } else {
        changes.emplace_back(records::EraseRdmaQuarantine{vni, nid});
      }
      break;
    }
    case 12:
      changes.emplace_back(records::AdoptionRecord{1 + below(4), small(100)});
      changes.emplace_back(records::LeadRecord{0, small(3)});
      changes.emplace_back(records::VniReleaseRecord{Vni{static_cast<std::uint16_t>(below(9))},
                                                     below(1'000'000'000'000), below(2) == 0});
      break;
    default: one_of_topology(changes);
    }
  }

  void one_of_topology(std::vector<records::Change>& changes) {
    const auto flag = [&] { return below(2) == 0; };
    const auto port = [&] {
      return records::NumberedPort{small(9), static_cast<std::uint16_t>(below(64))};
    };
    switch (below(16)) {
    case 0: changes.emplace_back(records::EraseTopology{}); break;
    case 1:
    case 2:
    case 3: changes.emplace_back(records::EraseHost{Nid{small(5)}}); break;
    case 4:
    case 5:
    case 6:
    case 7:
      changes.emplace_back(
          records::HostRecord{Nid{small(5)}, std::to_string(random_()), port(), flag(), flag()});
      break;
    case 8:
    case 9:
    case 10:
    case 11:
      changes.emplace_back(
          records::LinkRecord{small(5), port(), port(), small(400'000), flag(), flag()});
      break;
    default:
      changes.emplace_back(records::SwitchRecord{small(5), std::to_string(random_()), random_(),
                                                 static_cast<std::uint16_t>(below(64)), flag()});
    }
  }

  Random random_;
  std::uint64_t newest_ = 0;
  std::map<TreeNumber, records::GroupId> owner_;
};

} // namespace tributary::test
