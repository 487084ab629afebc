// Batches of changes over few records, so that they meet each other. As in the registry, a group's
// id is not used again, and a tree's number is another group's only once its group is erased.
#pragma once

#include "controlplane/store/records.hpp"
#include "tests/unit/store/scratch.hpp"
#include "tests/unit/wire/seed.hpp"

#include <map>
#include <string>
#include <vector>

namespace tributary::test {

class RandomChanges {
public:
  explicit RandomChanges(std::uint64_t seed) : random_(seed) {}

  std::vector<store::Change> next() {
    std::vector<store::Change> changes;
    for (std::uint64_t left = 1 + below(20); left > 0; --left) {
      one(changes);
    }
    return changes;
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::uint32_t small(std::uint64_t n) { return static_cast<std::uint32_t>(below(n)); }
  store::GroupId some_group() { return store::GroupId{newest_ - std::min(newest_, below(6))}; }

  void one(std::vector<store::Change>& changes) {
    switch (below(10)) {
    case 0:
    case 1: {
      const TreeNumber number{static_cast<std::uint16_t>(below(8))};
      auto whole = whole_group(++newest_, small(5), 2);
      if (owner_.emplace(number, store::GroupId{newest_}).second) {
        std::get<store::TreeRecord>(whole.back()).number = number;
      } else {
        whole.pop_back();
      }
      changes.insert(changes.end(), whole.begin(), whole.end());
      break;
    }
    case 2: {
      const auto erased = some_group();
      std::erase_if(owner_, [&](const auto& o) { return o.second == erased; });
      changes.emplace_back(store::EraseGroup{erased});
      break;
    }
    case 3:
      changes.emplace_back(store::MemberRecord{.group = some_group(),
                                               .rank = small(5),
                                               .nid = Nid{small(max_nid)},
                                               .host = std::to_string(random_()),
                                               .state = static_cast<store::MemberState>(below(3))});
      break;
    case 4: changes.emplace_back(store::EraseMember{some_group(), small(5)}); break;
    case 5:
      for (const auto& [number, group] : owner_) {
        changes.emplace_back(store::TreeRecord{number, group, 0, some_form(small(4))});
      }
      break;
    case 6:
      changes.emplace_back(store::JobRecord{
          "job" + std::to_string(below(3)), small(9), std::to_string(random_()),
          below(2) == 0 ? std::nullopt : std::optional(Vni{static_cast<std::uint16_t>(below(9))}),
          below(2) == 0});
      break;
    case 7: changes.emplace_back(store::EraseJob{"job" + std::to_string(below(3))}); break;
    case 8:
      changes.emplace_back(store::AddressRecord{below(2) == 0 ? "trees" : "vnis", small(99)});
      break;
    default: changes.emplace_back(store::TopologyRecord{std::to_string(random_())});
    }
  }

  Random random_;
  std::uint64_t newest_ = 0;
  std::map<TreeNumber, store::GroupId> owner_;
};

} // namespace tributary::test
