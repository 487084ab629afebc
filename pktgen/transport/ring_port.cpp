#include "pktgen/transport/ring_port.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

#include <rte_ring.h>

#include <fmt/format.h>

#include <utility>

namespace tributary::pktgen {

RingPort::RingPort(dataplane::Eal& eal, std::string link, const wire::MacAddress& address)
    : MbufPort(eal.pool(), dataplane::buffer_data_bytes, address), eal_(eal),
      link_(std::move(link)), end_(eal.ring_links().open(link_)) {}

RingPort::~RingPort() { eal_.ring_links().close(link_, end_); }

std::string RingPort::description() const { return fmt::format("ring {}", link_); }

std::uint16_t RingPort::send_burst(rte_mbuf** frames, std::uint16_t count) {
  for (std::uint16_t i = 0; i < count; ++i) {
    dataplane::gives_ownership(frames[i]);
  }
  return static_cast<std::uint16_t>(rte_ring_sp_enqueue_burst(
      end_.transmit, reinterpret_cast<void* const*>(frames), count, nullptr));
}

std::uint16_t RingPort::receive_burst(rte_mbuf** frames, std::uint16_t capacity) {
  const auto count = static_cast<std::uint16_t>(
      rte_ring_sc_dequeue_burst(end_.receive, reinterpret_cast<void**>(frames), capacity, nullptr));
  for (std::uint16_t i = 0; i < count; ++i) {
    dataplane::takes_ownership(frames[i]);
  }
  return count;
}

} // namespace tributary::pktgen
