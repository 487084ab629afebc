#include "dataplane/port/kernel_rules.hpp"

#include "lib/link/interface.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <linux/ethtool.h>

#include <fmt/format.h>

namespace tributary::port {
namespace {

using placement::Bucket;

/// A listing is tried again if rules were added between it and their count.
constexpr int most_listings = 8;

ethtool_rx_flow_spec rule_for(Bucket bucket, std::size_t queue) {
  const placement::AddressMatch match = placement::match_of(bucket);
  ethtool_rx_flow_spec rule{};
  rule.flow_type = IP_USER_FLOW;
  rule.h_u.usr_ip4_spec.ip4dst = htonl(match.value);
  rule.h_u.usr_ip4_spec.ip_ver = ETH_RX_NFC_IP4;
  rule.m_u.usr_ip4_spec.ip4dst = htonl(match.mask);
  rule.ring_cookie = queue;
  return rule;
}

/// Whether a switch has set it: the same as for some bucket, to whichever queue.
bool is_of_a_switch(const ethtool_rx_flow_spec& rule) {
  const ethtool_usrip4_spec& value = rule.h_u.usr_ip4_spec;
  const ethtool_usrip4_spec& mask = rule.m_u.usr_ip4_spec;
  if (rule.flow_type != IP_USER_FLOW || rule.ring_cookie == RX_CLS_FLOW_DISC || mask.ip4src != 0 ||
      mask.l4_4_bytes != 0 || mask.tos != 0 || mask.proto != 0) {
    return false;
  }
  bool is = false;
  placement::for_each_bucket([&](Bucket b) {
    const placement::AddressMatch match = placement::match_of(b);
    is |= value.ip4dst == htonl(match.value) && mask.ip4dst == htonl(match.mask);
  });
  return is;
}

std::string words_of(int error) {
  const std::string words = std::generic_category().message(error);
  return error == EOPNOTSUPP
             ? words + "; if its driver has rules, `ethtool -K` with \"ntuple on\" turns them on"
             : words;
}

} // namespace

KernelRules::KernelRules(Ask ask) : ask_(std::move(ask)) { look_around(); }

KernelRules::KernelRules(const std::string& interface)
    : KernelRules(
          [interface](ethtool_rxnfc& command) { return link::ask_ethtool(interface, &command); }) {}

KernelRules::~KernelRules() {
  for (const std::optional<Place>& place : places_) {
    if (place) {
      remove(*place);
    }
  }
}

void KernelRules::look_around() {
  int error = EMSGSIZE;
  for (int listing = 0; error == EMSGSIZE && listing < most_listings; ++listing) {
    ethtool_rxnfc count{};
    count.cmd = ETHTOOL_GRXCLSRLCNT;
    error = ask_(count);
    if (error != 0) {
      break;
    }
    driver_places_ = (count.data & RX_CLS_LOC_SPECIAL) != 0;
    std::vector<std::byte> room(sizeof(ethtool_rxnfc) + count.rule_cnt * sizeof(Place));
    auto* const list = new (room.data()) ethtool_rxnfc{};
    list->cmd = ETHTOOL_GRXCLSRLALL;
    list->rule_cnt = count.rule_cnt;
    error = ask_(*list);
    if (error == 0) {
      size_ = static_cast<std::uint32_t>(list->data);
      const std::byte* at = room.data() + offsetof(ethtool_rxnfc, rule_locs);
      for (auto left = std::min(list->rule_cnt, count.rule_cnt); left != 0; --left) {
        Place place = 0;
        std::memcpy(&place, at, sizeof place);
        taken_.insert(place);
        at += sizeof place;
      }
    }
  }
  if (error != 0) {
    unavailable_ = words_of(error);
    return;
  }
  const std::set<Place> all = taken_;
  for (const Place place : all) {
    ethtool_rxnfc one{};
    one.cmd = ETHTOOL_GRXCLSRULE;
    one.fs.location = place;
    if (ask_(one) == 0 && is_of_a_switch(one.fs) && remove(place) == 0) {
      ++left_behind_;
    }
  }
}

int KernelRules::insert(Bucket bucket, std::size_t queue, Place& place) {
  ethtool_rxnfc command{};
  command.cmd = ETHTOOL_SRXCLSRLINS;
  command.fs = rule_for(bucket, queue);
  command.fs.location = place;
  const int error = ask_(command);
  if (error == 0) {
    place = command.fs.location;
    taken_.insert(place);
  }
  return error;
}

int KernelRules::remove(Place place) {
  ethtool_rxnfc command{};
  command.cmd = ETHTOOL_SRXCLSRLDEL;
  command.fs.location = place;
  const int error = ask_(command);
  if (error == 0 || error == ENOENT) {
    taken_.erase(place);
  }
  return error;
}

/// The last one, as `ethtool` picks it: earlier rules have precedence in most NICs, and those are
/// the operator's.
std::optional<KernelRules::Place> KernelRules::free_place() const {
  for (Place place = size_; place-- != 0;) {
    if (!taken_.contains(place)) {
      return place;
    }
  }
  return std::nullopt;
}

std::string KernelRules::set(Bucket bucket, std::size_t queue) {
  if (!unavailable_.empty()) {
    return unavailable_;
  }
  std::optional<Place>& place = places_[bucket.value];
  if (place) {
    // Most drivers replace a rule, so that the bucket always has one.
    if (insert(bucket, queue, *place) == 0) {
      return {};
    }
    remove(*place);
    place.reset();
  }
  Place where = RX_CLS_LOC_ANY;
  if (!driver_places_) {
    const std::optional<Place> free = free_place();
    if (!free) {
      return fmt::format("its table of {} rules is full", size_);
    }
    where = *free;
  }
  if (const int error = insert(bucket, queue, where); error != 0) {
    return words_of(error);
  }
  place = where;
  return {};
}

} // namespace tributary::port
