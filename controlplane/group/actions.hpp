// What the registry asks of the manager. Actions name the group; its Group says the rest.
#pragma once

#include "controlplane/group/group.hpp"

#include <string>
#include <variant>

namespace tributary::group {

/// All members are there: answer with routes_ready or routes_failed.
struct ComputeRoutes {
  GroupId group;
};
/// `routes` are new or changed: answer with installed or install_failed.
struct Install {
  GroupId group;
};
/// Take its trees out of all switches: answer with removed. Follows Install at any distance.
struct Remove {
  GroupId group;
};
/// The state changed, or a member came or went, or an error: for those who wait, and the event
/// stream.
struct Changed {
  GroupId group;
};
/// Nothing is left of it; `group.end_reason` says why. A copy: the registry has forgotten it.
struct Gone {
  Group group;
};

using Action = std::variant<ComputeRoutes, Install, Remove, Changed, Gone>;

} // namespace tributary::group
