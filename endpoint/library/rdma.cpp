#include "endpoint/library/rdma.hpp"

#include "lib/link/link_error.hpp"
#include "tributary/wire/ethernet.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace tributary::library {

namespace {

/// Returns the longest frame after enlarging.
std::uint32_t enlarged(link::Port& port, const RdmaSettings& settings) {
  constexpr auto header = static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  const std::uint32_t wanted = settings.frame_bytes == 0 ? std::numeric_limits<std::uint32_t>::max()
                                                         : settings.frame_bytes + header;
  port.enlarge(wanted, settings.buffer_bytes);
  return std::min(port.longest_frame(), wanted);
}

} // namespace

Rdma::Rdma(engine::Loop& loop, const RdmaSettings& settings, EndPoint address,
           std::uint16_t ethertype)
    : loop_(&loop), receive_room_(0),
      node_(node_options(settings, address, ethertype, enlarged(loop.port(), settings))),
      transfers_(settings.transfers) {
  loop.port().filter_end_point(address.number);
  receive_room_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(loop.port().receive_room(), std::numeric_limits<std::uint32_t>::max()));
  set_policy(policy_of(settings));
  loop.engine().add(node_);
  loop.engine().claim_unicast(node_);
}

Rdma::~Rdma() { loop_->engine().remove(node_); }

rdma_policy::Policy Rdma::fitted(rdma_policy::Policy policy) const {
  // An eighth is for requests, and for retransmissions.
  const std::uint32_t room = std::max(receive_room_ - receive_room_ / 8, 16U);
  policy.sink_credit = policy.sink_credit == 0 ? room : std::min(policy.sink_credit, room);
  policy.window = std::min(policy.window, node_.options().widest_window);
  return policy;
}

void Rdma::follow() {
  while (const auto ended = node_.take_ended()) {
    if ((ended->user & 0xFFFFFFFF) == 0) {
      probes_.push_back(*ended);
    } else {
      transfers_.end(*ended);
    }
  }
}

void Rdma::say_goodbye() {
  std::vector<rdma::TransferId> ids;
  transfers_.for_each_in_progress([&](const Transfer& each) { ids.push_back(each.id); });
  for (const rdma::TransferId& id : ids) {
    node_.cancel(id);
  }
  node_.deregister_all();
  loop_->send(node_);
}

} // namespace tributary::library
