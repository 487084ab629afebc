// Why recent groups ended, by job and name: for members that missed the notification and renew
// their lease. In memory: after a restart an ended group is unknown.
#pragma once

#include "controlplane/group/group.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace tributary::manager {

class Endings {
public:
  static constexpr std::size_t remembered = 1024;

  void add(const group::Group& group) {
    const Name name{group.job, group.name};
    if (group.multicast) {
      return; // its members do not renew
    }
    if (reasons_.insert_or_assign(name, group.end_reason.message).second) {
      in_order_.push_back(name);
    }
    if (in_order_.size() > remembered) {
      reasons_.erase(in_order_.front());
      in_order_.pop_front();
    }
  }
  /// nullptr when no such group is known to have ended.
  [[nodiscard]] const std::string* of(const std::string& job, const std::string& name) const {
    const auto found = reasons_.find({job, name});
    return found == reasons_.end() ? nullptr : &found->second;
  }

private:
  using Name = std::pair<std::string, std::string>;
  std::map<Name, std::string> reasons_;
  std::deque<Name> in_order_;
};

} // namespace tributary::manager
