// The switch's own frames: those a worker delivers to the control thread, and sends for it.
#include "dataplane/port/mbuf_ownership.hpp"
#include "dataplane/worker/worker.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstring>
#include <span>

#include <rte_mbuf.h>

namespace tributary::worker {

void Worker::deliver(Part& part, PortNumber in, const core::FrameView& frame) {
  ++delivered_;
  const bool is_lldp = wire::ethertype_of(frame.data) == wire::lldp_ethertype;
  if (!is_lldp && heard_hello(part, in, frame)) {
    return;
  }
  ControlRings& rings = *shared_.control[index_];
  const std::span<const std::byte> bytes(frame.data, frame.length);
  if (!(is_lldp ? rings.lldp_delivered.push(LldpFrame(part.switch_index, in, bytes))
                : rings.delivered.push(ControlFrame(part.switch_index, in, bytes)))) {
    part.core.counters().drop(in, core::DropReason::delivery_full);
  }
  shared_.wake_up.signal();
}

[[gnu::noinline]] bool Worker::send_frames_asked_for() {
  ControlRings& rings = *shared_.control[index_];
  std::size_t sent = rings.to_send.consume_all([&](const ControlFrame& asked) {
    send_control_frame(*part_by_switch_[asked.switch_index], asked.port, asked.view());
  });
  sent += rings.lldp_to_send.consume_all([&](const LldpFrame& asked) {
    Part& part = *part_by_switch_[asked.switch_index];
    OutputPort& output = *part.outputs[asked.port.value];
    if (!output.has_edge()) {
      send_control_frame(part, asked.port, asked.view());
    } else if (rte_mbuf* frame = made_frame(part, asked.port, asked.view());
               frame != nullptr && !output.send_untagged(frame)) {
      port::give_back(frame); // as if lost on the link; the next one follows
    }
  });
  return sent != 0;
}

/// Sends a frame of the switch's own out of a port that is here.
void Worker::send_control_frame(Part& part, PortNumber port, std::span<const std::byte> bytes) {
  if (rte_mbuf* frame = made_frame(part, port, bytes); frame != nullptr) {
    send(part, frame, port, part.outputs[port.value]->control_class(), {});
  }
}

/// Null if there was no buffer, which is counted.
rte_mbuf* Worker::made_frame(Part& part, PortNumber port, std::span<const std::byte> bytes) {
  rte_mbuf* frame = port::allocate(pool_);
  if (frame == nullptr) {
    part.core.counters().drop(port, core::DropReason::no_buffer);
    return nullptr;
  }
  std::memcpy(rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())), bytes.data(),
              bytes.size());
  return frame;
}

} // namespace tributary::worker
