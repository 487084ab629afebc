// What one Prepare says, in the coordinator's own types.
//
// Plain data.
#pragma once

#include "controlplane/install/target.hpp"
#include "tributary/control.pb.h"

#include <optional>
#include <utility>
#include <vector>

namespace tributary::install {

struct Changes {
  std::vector<std::pair<TreeNumber, std::optional<Entry>>> trees; ///< none: remove it
  std::vector<GuardedPermission> permit;
  std::vector<Permission> revoke;

  [[nodiscard]] std::size_t size() const { return trees.size() + permit.size() + revoke.size(); }
};

[[nodiscard]] control::ManagerMessage prepare_message(std::uint64_t transaction,
                                                      const Changes& changes);
[[nodiscard]] control::ManagerMessage commit_message(std::uint64_t transaction);
[[nodiscard]] control::ManagerMessage abort_message(std::uint64_t transaction);

/// The part of a tree at one switch, as its table holds it. Requires ports below 64.
[[nodiscard]] Entry entry_of(const multicast::TreePart& part);
[[nodiscard]] Entry entry_of(const control::Tree& tree);

} // namespace tributary::install
