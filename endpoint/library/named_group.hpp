// A group that the fabric manager knows by name: what the host has to remember of it beside the
// member, and what is done about it at the manager.
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
  /// What the manager gave when frames began to travel where they do.
  manager_client::Membership membership;
  tributary_group_options protocol{};
  /// What the manager said last of members that are not there.
  manager_client::GroupNews news;
  bool hurried = false; ///< the agent was asked to renew often
  std::string error;    ///< why the last move could not be followed
};

/// The options of a group with the manager's part filled in.
[[nodiscard]] tributary_group_options options_of(const NamedGroup& named,
                                                 const manager_client::Membership& membership);

/// Tells the manager; the group itself is gone already. Answers a code of the C API.
[[nodiscard]] int leave_at_manager(tributary_host& host, const NamedGroup& named);

/// How the lease stands, for a person.
[[nodiscard]] std::string lease_text(tributary_host& host, const NamedGroup& named);

} // namespace tributary::library
