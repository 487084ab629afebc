#include "endpoint/hostd/guardian.hpp"

#include "lib/link/interface.hpp"
#include "lib/link/link_error.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <net/if.h>

namespace tributary::hostd {

using host_agent::Allowance;
using host_agent::Guarded;
using host_agent::GuardState;
using host_agent::Mark;

namespace {

std::vector<std::string> interface_names() {
  std::vector<std::string> names;
  const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> all(
      ::if_nameindex(), &::if_freenameindex);
  for (const struct if_nameindex* one = all.get(); one != nullptr && one->if_index != 0; ++one) {
    names.emplace_back(one->if_name);
  }
  return names;
}

} // namespace

Guardian::Guardian(Settings settings, Nft nft)
    : settings_(std::move(settings)), nft_(std::move(nft)) {}

std::optional<GuardState> Guardian::in_force() const {
  const auto text = nft_.list_table(std::string(host_agent::guard_table));
  return text ? host_agent::guard_state(*text) : std::nullopt;
}

std::optional<Mark> Guardian::highest_in_force() {
  const auto state = in_force();
  if (!state) {
    return std::nullopt;
  }
  last_counts_ = state->counts;
  return state->highest;
}

Guarded Guardian::interfaces_now() {
  Guarded now{.ethertype = settings_.ethertype, .prefix = settings_.prefix};
  for (const std::string& name : interface_names()) {
    if (!host_agent::can_guard(name)) {
      throw NftError(fmt::format("interface \"{}\" has a name that no rule can carry, so the guard "
                                 "cannot cover it; rename it with `ip link set`",
                                 name));
    }
    if (name != settings_.interface) {
      now.others.push_back(name);
      continue;
    }
    const auto facts = link::interface_facts(name, "guarding it");
    now.interface = name;
    now.address = facts.address;
    now.nid = settings_.nid ? Nid{*settings_.nid} : wire::nid_of(facts.address);
    if (!wire::is_valid_nid(now.nid)) {
      throw NftError(fmt::format("the address of interface '{}' makes the NID {:#x}, which cannot "
                                 "stand in a frame; give `agent.nid`",
                                 name, now.nid.value));
    }
  }
  return now;
}

bool Guardian::is_as_wanted(const GuardState& state, Mark highest) const {
  const std::size_t interfaces = guarded_.others.size() + (guarded_.interface.empty() ? 0 : 1);
  return is_current_ && state.highest == highest && state.allowed == allowed_.size() &&
         state.chains == interfaces;
}

bool Guardian::reconcile(Mark highest) {
  try {
    // The host is known by its interface, also while no rule can be put in force.
    Guarded wanted = interfaces_now();
    is_current_ = is_current_ && wanted == guarded_;
    guarded_ = std::move(wanted);
    const auto state = in_force();
    if (state) {
      last_counts_ = state->counts;
    }
    const bool replaces = !state || !is_as_wanted(*state, highest);
    if (replaces) {
      is_current_ = false;
      replace(highest);
      is_current_ = true;
    }
    error_ =
        guarded_.interface.empty()
            ? fmt::format("interface '{}' does not exist; look for its driver and its cable, or "
                          "name another one in `agent.interface`",
                          settings_.interface)
            : std::string();
    return replaces;
  } catch (const std::exception& error) { // also of an interface that has just gone
    error_ = error.what();
    is_current_ = false;
    return false;
  }
}

void Guardian::replace(Mark highest) {
  std::vector<Allowance> allowances;
  for (const auto& [mark, vni] : allowed_) {
    allowances.push_back({mark, vni});
  }
  nft_.apply(host_agent::guard_text(guarded_, allowances, highest, last_counts_));
  highest_ = highest;
}

void Guardian::expect(const Allowance& allowance) {
  allowed_.insert_or_assign(allowance.mark, allowance.vni);
}

void Guardian::allow(const Allowance& allowance, Mark highest) {
  nft_.apply(host_agent::allow_text(allowance, highest_, highest));
  highest_ = highest;
  expect(allowance);
}

void Guardian::forbid(std::span<const Allowance> allowances, Mark highest) {
  std::vector<Allowance> known;
  for (const Allowance& each : allowances) {
    if (allowed_.erase(each.mark) != 0) {
      known.push_back(each);
    }
  }
  if (known.empty()) {
    return;
  }
  try {
    nft_.apply(host_agent::forbid_text(known));
  } catch (const NftError&) {
    reconcile(highest); // the table is gone, or not as it was
  }
}

host_agent::GuardCounts Guardian::counts() {
  try {
    if (const auto state = in_force()) {
      last_counts_ = state->counts;
    }
  } catch (const NftError&) {
    // `error` says so.
  }
  return last_counts_;
}

} // namespace tributary::hostd
