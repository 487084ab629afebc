// A group that the fabric manager knows by name: what the host stores of it besides the member, and
// its requests to the manager.
#pragma once

#include "endpoint/library/membership_agent.hpp"
#include "endpoint/manager_client/manager_client.hpp"
#include "endpoint/manager_client/membership.hpp"
#include "tributary/tributary.h"

#include <string>

namespace tributary::library {

struct NamedGroup {
  manager_client::ClientSettings settings;
  manager_client::JoinRequest request;
  MembershipAgent::Ticket ticket = 0;
  /// The manager's answer for the trees in use.
  manager_client::Membership membership;
  tributary_group_options protocol{};
  /// The manager's last news of missing members.
  manager_client::GroupNews news;
  std::string error; ///< why the last move could not be followed
};

/// The options of a group with the manager's part filled in.
[[nodiscard]] tributary_group_options options_of(const NamedGroup& named,
                                                 const manager_client::Membership& membership);

/// Leaves at the manager; the group itself is gone already. Returns a code of the C API.
[[nodiscard]] int leave_at_manager(tributary_host& host, const NamedGroup& named);

/// State of the lease, for people.
[[nodiscard]] std::string lease_text(tributary_host& host, const NamedGroup& named);

} // namespace tributary::library
