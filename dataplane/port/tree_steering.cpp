#include "dataplane/port/tree_steering.hpp"

#include "dataplane/placement/tree_hash.hpp"
#include "tributary/wire/byte_order.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <fmt/format.h>

namespace tributary::port {
namespace {

using placement::Bucket;
using placement::Steering;

/// Offset of the destination address in the fabric header, as in IPv4's.
constexpr std::int32_t address_offset = 16;

/// The frames of a bucket, as a driver takes it: by the IPv4 destination if the EtherType makes
/// NICs read the fabric header as IPv4, else by four bytes at their place.
class Pattern {
public:
  Pattern(Bucket bucket, std::uint16_t ethertype) {
    const placement::AddressMatch match = placement::match_of(bucket);
    wire::store_be<std::uint32_t>(reinterpret_cast<std::byte*>(value_.data()), match.value);
    wire::store_be<std::uint32_t>(reinterpret_cast<std::byte*>(mask_.data()), match.mask);
    eth_.type = rte_cpu_to_be_16(ethertype);
    eth_mask_.type = 0xFFFF;
    items_[0] = {
        .type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth_, .last = nullptr, .mask = &eth_mask_};
    if (ethertype == placement::ipv4_ethertype) {
      ipv4_.hdr.dst_addr = rte_cpu_to_be_32(match.value);
      ipv4_mask_.hdr.dst_addr = rte_cpu_to_be_32(match.mask);
      items_[1] = {
          .type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ipv4_, .last = nullptr, .mask = &ipv4_mask_};
    } else {
      raw_.relative = 1;
      raw_.offset = address_offset;
      raw_.length = static_cast<std::uint16_t>(value_.size());
      raw_.pattern = value_.data();
      raw_mask_.relative = 1;
      raw_mask_.search = 1;
      raw_mask_.offset = -1;
      raw_mask_.limit = 0xFFFF;
      raw_mask_.length = 0xFFFF;
      raw_mask_.pattern = mask_.data();
      items_[1] = {
          .type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &raw_, .last = nullptr, .mask = &raw_mask_};
    }
    items_[2] = {.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr};
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  [[nodiscard]] const rte_flow_item* items() const { return items_.data(); }

private:
  std::array<std::uint8_t, 4> value_{};
  std::array<std::uint8_t, 4> mask_{};
  rte_flow_item_eth eth_{};
  rte_flow_item_eth eth_mask_{};
  rte_flow_item_ipv4 ipv4_{};
  rte_flow_item_ipv4 ipv4_mask_{};
  rte_flow_item_raw raw_{};
  rte_flow_item_raw raw_mask_{};
  std::array<rte_flow_item, 3> items_{};
};

/// To a receive queue.
class Actions {
public:
  explicit Actions(std::size_t queue) {
    to_.index = static_cast<std::uint16_t>(queue);
    list_[0] = {.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to_};
    list_[1] = {.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr};
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  [[nodiscard]] const rte_flow_action* list() const { return list_.data(); }

private:
  rte_flow_action_queue to_{};
  std::array<rte_flow_action, 2> list_{};
};

const rte_flow_attr for_received = [] {
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  return attributes;
}();

std::string words_of(const rte_flow_error& error, int number) {
  return error.message != nullptr ? error.message : rte_strerror(number < 0 ? -number : number);
}

} // namespace

TreeSteering::TreeSteering(std::uint16_t port_id, Steering how, std::uint16_t ethertype,
                           std::size_t table_entries)
    : port_id_(port_id), how_(how), ethertype_(ethertype), table_entries_(table_entries) {}

TreeSteering::~TreeSteering() {
  for (rte_flow* const rule : rules_) {
    rte_flow_error error{};
    if (rule != nullptr) {
      rte_flow_destroy(port_id_, rule, &error);
    }
  }
}

bool TreeSteering::driver_has_rules(std::uint16_t port_id) {
  const Pattern pattern(Bucket{0}, placement::ipv4_ethertype);
  const Actions actions(0);
  rte_flow_error error{};
  return rte_flow_validate(port_id, &for_received, pattern.items(), actions.list(), &error) !=
         -ENOSYS;
}

void TreeSteering::place(const placement::Placement& placement) {
  if (how_ == Steering::hash) {
    set_table(placement);
  } else {
    placement::for_each_bucket([&](Bucket b) {
      if (!is_set_[b.value] || placed_.worker_of(b) != placement.worker_of(b)) {
        set_rule(b, placement.worker_of(b));
      }
    });
  }
  placed_ = placement;
}

void TreeSteering::set_rule(Bucket bucket, std::size_t queue) {
  const std::string why =
      kernel_rules_ ? kernel_rules_->set(bucket, queue) : set_in_driver(bucket, queue);
  is_set_[bucket.value] = why.empty();
  if (!why.empty()) {
    why_refused_ = why;
  }
}

std::string TreeSteering::set_in_driver(Bucket bucket, std::size_t queue) {
  rte_flow_error error{};
  // Drivers refuse a second rule for the same frames, so there is none for a moment.
  if (rte_flow*& old = rules_[bucket.value]; old != nullptr) {
    rte_flow_destroy(port_id_, old, &error);
    old = nullptr;
    error = {};
  }
  const Pattern pattern(bucket, ethertype_);
  const Actions actions(queue);
  rules_[bucket.value] =
      rte_flow_create(port_id_, &for_received, pattern.items(), actions.list(), &error);
  return rules_[bucket.value] != nullptr ? std::string() : words_of(error, rte_errno);
}

void TreeSteering::set_table(const placement::Placement& placement) {
  std::vector<rte_eth_rss_reta_entry64> groups((table_entries_ + RTE_ETH_RETA_GROUP_SIZE - 1) /
                                               RTE_ETH_RETA_GROUP_SIZE);
  for (std::size_t i = 0; i < table_entries_; ++i) {
    rte_eth_rss_reta_entry64& group = groups[i / RTE_ETH_RETA_GROUP_SIZE];
    group.mask |= std::uint64_t{1} << i % RTE_ETH_RETA_GROUP_SIZE;
    group.reta[i % RTE_ETH_RETA_GROUP_SIZE] =
        static_cast<std::uint16_t>(placement.worker_of(placement::bucket_of_entry(i)));
  }
  const int error = rte_eth_dev_rss_reta_update(port_id_, groups.data(),
                                                static_cast<std::uint16_t>(table_entries_));
  is_set_.fill(error == 0);
  if (error != 0) {
    why_refused_ = rte_strerror(-error);
  }
}

std::size_t TreeSteering::refused() const {
  return static_cast<std::size_t>(std::ranges::count(is_set_, false));
}

std::string TreeSteering::refused_buckets() const {
  std::string text;
  for (std::size_t first = 0; first < is_set_.size();) {
    if (is_set_[first]) {
      ++first;
      continue;
    }
    std::size_t end = first;
    while (end < is_set_.size() && !is_set_[end]) {
      ++end;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    text += end - first == 1 ? "" : fmt::format(" to {}", end - 1);
    first = end;
  }
  return text;
}

} // namespace tributary::port
