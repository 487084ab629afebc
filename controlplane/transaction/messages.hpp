// Messages between the coordinator and a switch, in the coordinator's own types. Their form on a
// channel belongs to southbound.
//
// Plain data.
#pragma once

#include "controlplane/transaction/permissions.hpp"
#include "controlplane/transaction/subject.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tributary::transaction {

/// The contents of one Prepare.
struct Changes {
  std::vector<std::pair<Subject, ContentPtr>> contents; ///< null: remove it
  std::vector<GuardedPermission> permit;
  std::vector<Permission> revoke;

  [[nodiscard]] std::size_t size() const { return contents.size() + permit.size() + revoke.size(); }
};

/// To a switch.
struct Message {
  enum class Verb : std::uint8_t {
    prepare, ///< check these, and keep them aside
    commit,  ///< apply what was prepared under this number
    abort,   ///< forget it
  };
  Verb verb = Verb::prepare;
  std::uint64_t number = 0;
  Changes changes; ///< for a Prepare
};

/// From a switch, about one number.
struct Answer {
  enum class Verb : std::uint8_t { prepared, refused, committed };
  Verb verb = Verb::prepared;
  std::uint64_t number = 0;
  std::string reason{}; ///< of a refusal, for a person
  bool no_room = false; ///< of a refusal: a smaller request may fit
};

/// The state that a switch reports when its channel begins.
struct Hello {
  std::uint32_t ports = 0; ///< 0 to ports - 1
  /// By kind: its table has room for numbers below this; kinds that it lacks are missing.
  std::map<KindNumber, std::uint32_t> capacity;
  std::vector<std::pair<Subject, ContentPtr>> in_force; ///< installed by managers
  std::vector<Subject> own;                             ///< from its own file: must not be changed
  std::vector<GuardedPermission> permissions;
};

} // namespace tributary::transaction
