// Actions that the registry requests of the manager. Actions name the group; its Group has the
// rest.
#pragma once

#include "controlplane/group/group.hpp"

#include <string>
#include <variant>

namespace tributary::group {

/// All members have joined: answer with routes_ready or routes_failed.
struct ComputeRoutes {
  GroupId group;
};
/// `routes` are new or changed: answer with installed or install_failed.
struct Install {
  GroupId group;
};
/// Remove its trees from all switches: answer with removed. May follow Install at any time.
struct Remove {
  GroupId group;
};
/// A change of state, of the members, or an error: for waiting requests, and the event stream.
struct Changed {
  GroupId group;
};
/// The group has ended; `group.end_reason` says why. A copy: the registry no longer has it.
struct Gone {
  Group group;
};

using Action = std::variant<ComputeRoutes, Install, Remove, Changed, Gone>;

} // namespace tributary::group
