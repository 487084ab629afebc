// The functions of tributary.h about named groups.
#include "endpoint/library/named_group.hpp"

#include "endpoint/library/boundary.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/parameters.hpp"
#include "endpoint/manager_client/environment.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

using tributary::collective::GroupParameters;
using tributary::library::guarded;
using tributary::library::NamedGroup;
using tributary::library::require;
namespace library = tributary::library;
namespace manager_client = tributary::manager_client;
using std::chrono::milliseconds;

namespace {

constexpr std::int64_t default_wait_usec = 60'000'000;
/// A manager that restarts is back by then; otherwise the lease expires and the member has left.
constexpr milliseconds retry_limit_when_leaving{2000};

/// Sets the limits of the interface, unless less is asked for.
void say_what_it_takes(const tributary_host& host, const tributary_group_options& wanted,
                       manager_client::JoinRequest& request) {
  namespace wire = tributary::wire;
  constexpr auto most_slots = static_cast<std::uint32_t>(tributary::most_reductions_per_tree);
  const std::size_t carried = wire::wide_payload_limit(host.longest_packet());
  const std::size_t most =
      wanted.payload == 0 ? carried : std::min<std::size_t>(carried, wanted.payload);
  if (most >= wire::wide_payload_step) {
    request.payload = static_cast<std::uint32_t>(most - most % wire::wide_payload_step);
    request.slots = wanted.slots == 0 ? most_slots : wanted.slots;
  }
}

NamedGroup named_group(tributary_host& host, const tributary_named_group_options& options) {
  require(options.name != nullptr && *options.name != '\0', "the group has no name");
  require(options.wait_usec >= 0, "the time to wait is negative");
  require(options.trees == 1 || options.trees == 2, "a group has one tree, or two");
  require(options.protocol.slots == 0 ||
              (options.protocol.slots >= tributary::reductions_per_tree &&
               options.protocol.slots <= tributary::most_reductions_per_tree &&
               std::has_single_bit(options.protocol.slots)),
          "slots of a named group are 8, 16, 32, 64 or 128, or 0: as many as there can be");
  NamedGroup named;
  named.settings =
      manager_client::settings_from({.url = options.manager_url,
                                     .token = options.token,
                                     .certificate_authority = options.certificate_authority},
                                    host.manager_access());
  named.request.group = options.name;
  named.request.job = manager_client::job_from(options.job);
  // The agent's name of the job is the manager's if the agent has the job's token.
  if (named.request.job.empty() && host.by_agent() && !named.settings.token.empty() &&
      named.settings.token == host.by_agent()->manager.token) {
    named.request.job = host.by_agent()->job;
  }
  named.request.step = manager_client::step_of(named.request.job);
  named.request.rank = options.rank;
  named.request.size = options.size;
  named.request.trees = options.trees;
  if (options.root_rank != TRIBUTARY_RANK_ANY) {
    named.request.root_rank = options.root_rank;
  }
  named.request.nid = host.nid();
  if (options.protocol.in_switch_results != TRIBUTARY_IN_SWITCH_RESULTS_AUTO) {
    named.request.in_switch_results = options.protocol.in_switch_results != 0;
  }
  named.protocol = options.protocol;
  say_what_it_takes(host, options.protocol, named.request);
  return named;
}

/// With the largest wide frames, and in-switch results as the manager decides.
tributary_group_options protocol_of_named_groups() {
  tributary_group_options protocol = tributary_group_defaults();
  protocol.slots = 0;
  protocol.payload = 0;
  protocol.in_switch_results = TRIBUTARY_IN_SWITCH_RESULTS_AUTO;
  return protocol;
}

/// Throws if the interface is gone.
library::MembershipAgent& agent_of(tributary_host& host) {
  const auto lock = host.loop().lock();
  host.loop().throw_if_broken();
  return host.agent();
}

/// Checks a request for errors that can be found without the manager.
void check(const tributary_host& host, NamedGroup& named) {
  manager_client::Membership imagined;
  imagined.in_switch_results = named.request.in_switch_results.value_or(false);
  if (named.request.trees > 1) { // whichever trees they are
    imagined.trees = {tributary::TreeNumber{0}, tributary::TreeNumber{1}};
  }
  imagined.root_rank = named.request.root_rank.value_or(0);
  tributary_group_options options = library::options_of(named, imagined);
  options.root_nid = TRIBUTARY_NID_UNKNOWN;
  if (const std::string fault = fault_of(library::parameters_of(host, options)); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
}

} // namespace

namespace tributary::library {

tributary_group_options options_of(const NamedGroup& named,
                                   const manager_client::Membership& membership) {
  tributary_group_options options = named.protocol;
  options.tree = membership.trees.empty() ? 0 : membership.trees[0].value;
  options.twin_tree = membership.trees.size() > 1 ? membership.trees[1].value : TRIBUTARY_NO_TREE;
  options.vni = membership.vni.value;
  options.cookie = membership.cookie.value;
  options.rank = named.request.rank;
  options.size = named.request.size;
  options.root_rank = membership.root_rank;
  options.root_nid = membership.root_nid.value;
  options.cxi_compatible = 0;
  options.slots = membership.slots;
  options.payload = membership.payload;
  options.in_switch_results = membership.in_switch_results ? 1 : 0;
  options.shared = membership.shared_frames ? 1 : 0;
  options.first_id = 0;
  options.ids = 0;
  options.first_sequence = 0;
  return options;
}

int leave_at_manager(tributary_host& host, const NamedGroup& named) {
  return guarded(host.last_error, [&] {
    MembershipAgent& agent = host.agent(); // created when the group was joined
    const std::string job = agent.membership(named.ticket).job;
    agent.remove(named.ticket);
    manager_client::ClientSettings settings = named.settings;
    settings.retry_limit = retry_limit_when_leaving;
    manager_client::ManagerClient manager(settings);
    manager_client::leave(manager, named.request, job);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

std::string lease_text(tributary_host& host, const NamedGroup& named) {
  std::string text = host.agent().text(named.ticket);
  for (const auto& absent : named.news.absent) {
    text += fmt::format("  the fabric manager misses rank {} (host {}, NID {}): {}\n", absent.rank,
                        absent.host.empty() ? "unnamed" : absent.host, absent.nid, absent.why);
  }
  if (!named.membership.in_switch_note.empty()) {
    text += fmt::format("  no in-switch results: {}\n", named.membership.in_switch_note);
  }
  if (!named.error.empty()) {
    text += fmt::format("  the group was moved to other trees, but cannot continue there: {}; "
                        "leave it and join again\n",
                        named.error);
  }
  return text;
}

} // namespace tributary::library

tributary_named_group_options tributary_named_group_defaults(const char* name) {
  return {.name = name,
          .rank = 0,
          .size = 1,
          .root_rank = TRIBUTARY_RANK_ANY,
          .trees = 1,
          .wait_usec = default_wait_usec,
          .job = nullptr,
          .manager_url = nullptr,
          .token = nullptr,
          .certificate_authority = nullptr,
          .protocol = protocol_of_named_groups()};
}

int tributary_join_named(tributary_host* host, const tributary_named_group_options* options,
                         tributary_group** group) {
  if (group != nullptr) {
    *group = nullptr;
  }
  if (host == nullptr) {
    return library::no_host("the host");
  }
  return guarded(host->last_error, [&] {
    require(options != nullptr && group != nullptr, "options or group is NULL");
    NamedGroup named = named_group(*host, *options);
    const bool is_kept = options->protocol.ids == TRIBUTARY_NO_IDS;
    require(options->protocol.ids == 0 || is_kept,
            "a named group has all ids of its tree, or none: protocol.ids is 0 or "
            "TRIBUTARY_NO_IDS");
    check(*host, named);
    library::MembershipAgent& agent = agent_of(*host); // announces the host from now on
    named.request.host = agent.host_name();
    manager_client::ManagerClient manager(named.settings);
    named.membership =
        manager_client::join(manager, named.request, milliseconds(options->wait_usec / 1000));
    try {
      auto lock = host->loop().lock();
      tributary_group& added = host->add(
          lock, library::parameters_of(*host, library::options_of(named, named.membership)), named,
          is_kept);
      added.named()->ticket = agent.add(named.settings, named.request, named.membership);
      *group = &added;
    } catch (...) {
      manager_client::leave(manager, named.request, named.membership.job);
      throw;
    }
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_get_membership(const tributary_group* group, tributary_membership* out) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  if (out == nullptr) {
    return library::fail(group->host->last_error, TRIBUTARY_ERR_ARGUMENT, "the membership is NULL");
  }
  const auto lock = group->host->loop().lock();
  const GroupParameters& p = group->member.parameters();
  const library::NamedGroup* const named = group->named();
  *out = {.tree = p.tree.value,
          .twin_tree = p.twin ? p.twin->value : TRIBUTARY_NO_TREE,
          .vni = p.vni.value,
          .cookie = p.cookie.value,
          .root_rank = p.root_rank,
          .root_nid = p.root_nid ? p.root_nid->value : TRIBUTARY_NID_UNKNOWN,
          .disjoint = named != nullptr && p.twin && named->membership.disjoint ? 1 : 0,
          .lease_msec =
              named != nullptr ? static_cast<std::uint32_t>(named->membership.lease.count()) : 0,
          .slots = p.ids_of_tree(),
          .payload = p.payload,
          .in_switch_results = p.in_switch ? 1 : 0,
          .first_id = p.first_id.value,
          .ids = group->tree->is_kept ? 0 : p.slots,
          .first_sequence = p.first_sequence.value(),
          .moves = group->tree->moves,
          .shared = p.shared ? 1 : 0};
  return TRIBUTARY_OK;
}
