#include "dataplane/worker/worker.hpp"

#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"

#include <memory>
#include <span>
#include <utility>

namespace tributary::worker {

void Worker::watch_links(std::size_t switch_index, const liveness::Settings& settings,
                         std::uint64_t guid, std::uint16_t ethertype) {
  if (settings.interval_ns == 0) {
    return;
  }
  Part& part = *part_of(switch_index);
  part.ethertype = ethertype;
  // The guid suffices as a seed: two ports must not send in step for long.
  part.links = std::make_unique<liveness::Links>(settings, guid, part.owned, guid);
}

/// The ports that have a source guard, and so a host behind them.
void Worker::report_guards(Part& part) {
  PortSet guarded;
  part.owned.for_each([&](PortNumber port) {
    if (part.core.check(port).guarded()) {
      guarded.insert(port);
    }
  });
  part.links->hosts_are_at(guarded, now_);
  report_links(part);
}

void Worker::report_carriers(Part& part, PortSet carriers) {
  const PortSet changed((carriers.bits() ^ part.carriers.bits()) & part.owned.bits());
  part.carriers = carriers;
  changed.for_each(
      [&](PortNumber port) { part.links->carrier_changed(port, carriers.contains(port), now_); });
  report_links(part);
}

/// Whether it was a link hello, which is consumed here.
bool Worker::heard_hello(Part& part, PortNumber in, const core::FrameView& frame) {
  const std::span<const std::byte> bytes(frame.data, frame.length);
  const bool of_link = wire::begins_link_hello(frame.data + wire::ethernet_header_bytes);
  if (part.links && of_link) {
    wire::LinkHello hello;
    if (wire::decode(bytes, part.ethertype, hello) == wire::HelloError::none) {
      part.links->link_hello(in, hello, now_);
    }
  } else if (part.links) {
    wire::Hello hello;
    if (wire::decode(bytes, part.ethertype, hello) == wire::HelloError::none) {
      part.links->hello(in, hello, now_);
    }
  }
  return of_link;
}

/// A neighbour whose frames come to other workers is alive, too.
void Worker::see_frames_elsewhere(Part& part) {
  part.polled_elsewhere.for_each([&](PortNumber port) {
    std::uint64_t sum = 0;
    for (const core::Counters* counters : shared_.counters[part.switch_index]) {
      if (counters != nullptr && counters != &part.core.counters()) {
        sum += counters->ports[port.value].rx_frames.read();
      }
    }
    if (std::exchange(part.received_elsewhere[port.value], sum) != sum) {
      part.links->frames_came(port);
    }
  });
}

/// Polls the links, and sends the hellos that are due.
void Worker::look_after_links(Part& part) {
  if (now_ >= part.links->next_deadline()) {
    see_frames_elsewhere(part);
    part.links->poll(now_);
    if (!shared_.leaving.load(std::memory_order_relaxed)) {
      part.links->take_hellos(now_, [&](PortNumber port, const wire::LinkHello& hello) {
        send_control_frame(part, port, wire::encode(hello, part.ethertype));
      });
    }
  }
  report_links(part);
}

/// Notifies the other workers, the core and the control thread of changes.
void Worker::report_links(Part& part) {
  if (!part.links->changed()) [[likely]] {
    return;
  }
  std::atomic<std::uint64_t>& failed = shared_.links_failed[part.switch_index];
  part.links->take_changes([&](const liveness::Change& change) {
    PortSet one;
    one.insert(change.port);
    if (change.usable) {
      failed.fetch_and(~one.bits(), std::memory_order_relaxed);
    } else {
      failed.fetch_or(one.bits(), std::memory_order_relaxed);
    }
    // An event that does not fit is not logged; `failed` has the state.
    static_cast<void>(shared_.control[index_]->link_events.push(
        {static_cast<std::uint8_t>(part.switch_index), change}));
  });
  shared_.wake_up.signal();
  adopt_links(part);
}

} // namespace tributary::worker
