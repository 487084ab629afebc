#include "pktgen/transport/mbuf_port.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

namespace tributary::pktgen::transport {

using port::give_back;
using port::gives_ownership;

MbufPort::~MbufPort() {
  free_received();
  for (const Slot& slot : stocked()) {
    auto* frame = static_cast<rte_mbuf*>(slot.handle);
    give_back(frame);
  }
}

std::size_t MbufPort::transmit(std::span<Slot> slots) {
  std::array<rte_mbuf*, burst> frames;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto* frame = static_cast<rte_mbuf*>(slots[i].handle);
    frame->data_len = static_cast<std::uint16_t>(slots[i].length);
    frame->pkt_len = slots[i].length;
    frames[i] = frame;
  }
  return send_burst(frames.data(), static_cast<std::uint16_t>(slots.size()));
}

std::size_t MbufPort::replenish(std::span<Slot> slots) {
  std::array<rte_mbuf*, burst> frames;
  std::size_t count = slots.size();
  if (!port::allocate(pool_, std::span(frames).first(count))) {
    // Fewer are left: allocate the last ones one by one.
    for (count = 0; count < slots.size(); ++count) {
      frames[count] = port::allocate(pool_);
      if (frames[count] == nullptr) {
        break;
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    slots[i].handle = frames[i];
    slots[i].data = rte_pktmbuf_mtod(frames[i], std::byte*);
  }
  return count;
}

std::size_t MbufPort::take(std::span<FrameView> views) {
  free_received();
  received_count_ = receive_burst(received_.data(), static_cast<std::uint16_t>(views.size()));
  for (std::uint16_t i = 0; i < received_count_; ++i) {
    rte_mbuf* frame = received_[i];
    auto* data = rte_pktmbuf_mtod(frame, std::byte*);
    rte_prefetch0(data);
    views[i] = {data, frame->data_len};
  }
  return received_count_;
}

void MbufPort::free_received() {
  for (std::uint16_t i = 0; i < received_count_; ++i) {
    gives_ownership(received_[i]);
  }
  rte_pktmbuf_free_bulk(received_.data(), received_count_);
  received_count_ = 0;
}

} // namespace tributary::pktgen::transport
