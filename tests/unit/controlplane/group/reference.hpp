// The rules of docs/protocol/groups.md implemented again, as simply as possible: no tables, no
// queues, every query scans everything. For groups of one tree in one job.
#pragma once

#include "tributary/types.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::test {

class Reference {
public:
  struct Member {
    std::uint32_t nid = 0;
    bool in = true;
    TimeNs lease{};
  };
  struct Group {
    std::uint32_t size = 0;
    char state = 'R'; ///< R receiving joins, C computing, Y ready, L receiving leaves, D destroying
    std::map<std::uint32_t, Member> members;
    TimeNs limit = never;
    std::optional<std::uint32_t> root; ///< a NID
    bool routed = false;
    std::uint64_t born =
        0; ///< of two that complete at the same time the older one chooses its root first

    [[nodiscard]] std::size_t in() const {
      return static_cast<std::size_t>(
          std::ranges::count_if(members, [](const auto& m) { return m.second.in; }));
    }
  };

  Reference(std::size_t quota, std::uint64_t limit, std::uint64_t lease)
      : quota_(quota), limit_(limit), lease_(lease) {}

  // Each returns the status that the caller should get.

  unsigned join(const std::string& name, std::uint32_t size, std::uint32_t rank, std::uint32_t nid,
                TimeNs now) {
    if (!groups.contains(name)) {
      if (rank >= size) {
        return 400;
      }
      if (groups.size() >= quota_) {
        return 507;
      }
      groups[name].size = size;
      groups[name].limit = now + limit_;
      groups[name].born = ++births_;
    }
    Group& g = groups[name];
    if (g.state == 'D' || size != g.size) {
      return 409;
    }
    if (rank >= size) {
      return 400;
    }
    for (auto& [r, m] : g.members) {
      if ((r == rank) != (m.nid == nid)) { // another in this rank, or this one in another
        return 409;
      }
    }
    if (g.members.contains(rank)) {
      if (!g.members[rank].in) {
        return 409;
      }
    } else {
      g.members[rank] = {nid, true, {}};
    }
    g.members[rank].lease = now + lease_;
    complete(name);
    return 200;
  }

  unsigned leave(const std::string& name, std::uint32_t rank, TimeNs now) {
    if (!knows(name, rank)) {
      return 404;
    }
    depart(name, rank, now);
    return 200;
  }

  unsigned renew(const std::string& name, std::uint32_t rank, TimeNs now) {
    if (!knows(name, rank)) {
      return 404;
    }
    Member& m = groups[name].members[rank];
    if (groups[name].state == 'D' || !m.in) {
      return 409;
    }
    m.lease = now + lease_;
    return 200;
  }

  unsigned destroy(const std::string& name) {
    if (!groups.contains(name)) {
      return 404;
    }
    end(name);
    return 200;
  }

  void locate(std::uint32_t nid) {
    located.insert(nid);
    complete_all();
  }
  void lose(std::uint32_t nid) { located.erase(nid); }

  bool routes_ready(const std::string& name) {
    if (!groups.contains(name) || groups[name].state == 'R' || groups[name].state == 'D') {
      return false;
    }
    groups[name].routed = true;
    return true;
  }
  void failed(const std::string& name) {
    if (groups.contains(name) && groups[name].state == 'C') {
      end(name);
    }
  }
  void installed(const std::string& name, TimeNs now) {
    if (groups.contains(name) && groups[name].state == 'C') {
      Group& g = groups[name];
      const bool all = g.in() == g.size;
      g.state = all ? 'Y' : 'L';
      g.limit = all ? never : now + limit_;
    }
  }
  void removed(const std::string& name) {
    if (groups.contains(name) && groups[name].state == 'D') {
      groups.erase(name);
    }
  }

  void pass_to(TimeNs now) {
    for (const std::string& name : names()) {
      for (std::uint32_t rank = 0; rank < 64; ++rank) {
        if (knows(name, rank) && groups[name].state != 'D' && groups[name].members[rank].in &&
            groups[name].members[rank].lease <= now) {
          depart(name, rank, now);
        }
      }
      if (groups.contains(name) && groups[name].limit <= now) {
        end(name);
      }
    }
  }

  void restart(TimeNs now) {
    located.clear();
    for (const std::string& name : names()) {
      Group& g = groups[name];
      if (g.state == 'C' && !g.routed) {
        g.state = 'R';
        g.root.reset();
        std::erase_if(g.members, [](const auto& m) { return !m.second.in; });
      }
      for (auto& [rank, m] : g.members) {
        m.lease = now + lease_;
      }
      g.limit = g.state == 'R' || g.state == 'L' ? now + limit_ : never;
    }
  }

  std::map<std::string, Group> groups;
  std::set<std::uint32_t> located;

private:
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, g] : groups) {
      all.push_back(name);
    }
    return all;
  }
  [[nodiscard]] bool knows(const std::string& name, std::uint32_t rank) const {
    const auto it = groups.find(name);
    return it != groups.end() && it->second.members.contains(rank);
  }

  void depart(const std::string& name, std::uint32_t rank, TimeNs now) {
    Group& g = groups[name];
    if (g.state == 'R') {
      g.members.erase(rank);
      if (g.members.empty()) {
        groups.erase(name);
      }
      return;
    }
    g.members[rank].in = false;
    if (g.state == 'Y') {
      g.state = 'L';
      g.limit = now + limit_;
    }
    if (g.in() == 0) {
      end(name);
    }
  }

  void end(const std::string& name) {
    Group& g = groups[name];
    if (!g.routed) {
      groups.erase(name);
      return;
    }
    g.state = 'D';
    g.limit = never;
  }

  /// Gives it a root once its routes can be computed: the member that is the root of the fewest
  /// groups.
  void complete(const std::string& name) {
    Group& g = groups[name];
    const bool heard = std::ranges::all_of(
        g.members, [&](const auto& m) { return located.contains(m.second.nid); });
    if (g.state != 'R' || g.members.size() < g.size || !heard) {
      return;
    }
    const auto roots_at = [&](std::uint32_t nid) {
      return std::ranges::count_if(groups,
                                   [nid](const auto& other) { return other.second.root == nid; });
    };
    std::uint32_t best = g.members.begin()->second.nid;
    for (const auto& [rank, m] : g.members) {
      best = roots_at(m.nid) < roots_at(best) ? m.nid : best;
    }
    g.root = best;
    g.state = 'C';
    g.limit = never;
  }
  void complete_all() {
    std::vector<std::string> by_age = names();
    std::ranges::sort(by_age, {}, [&](const std::string& name) { return groups[name].born; });
    for (const std::string& name : by_age) {
      complete(name);
    }
  }

  std::size_t quota_;
  std::uint64_t limit_;
  std::uint64_t lease_;
  std::uint64_t births_ = 0;
};

} // namespace tributary::test
