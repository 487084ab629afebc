// The path of a frame through a worker. Hot path: no allocation, no exception, no lock.
#include "dataplane/worker/worker.hpp"

#include "dataplane/core/dispatch.hpp"
#include "dataplane/placement/frame_owner.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "dataplane/worker/private_frames.hpp"
#include "tributary/wire/link_hello.hpp"
#include "tributary/wire/reduction.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include <rte_mbuf.h>

namespace tributary::worker {
namespace {

void set_length(rte_mbuf* frame, std::uint32_t length) {
  frame->data_len = static_cast<std::uint16_t>(length);
  frame->pkt_len = length;
}

std::uint64_t bytes_of(rte_mbuf* const* frames, std::size_t count) {
  return std::accumulate(
      frames, frames + count, std::uint64_t{0},
      [](std::uint64_t bytes, const rte_mbuf* frame) { return bytes + frame->pkt_len; });
}

/// A view in traffic class 0. Its length and class in one store: members would take one each.
void set_view(core::FrameView& view, std::byte* data, std::uint64_t length) {
  static_assert(std::endian::native == std::endian::little &&
                offsetof(core::FrameView, length) + sizeof length == sizeof view);
  view.data = data;
  std::memcpy(reinterpret_cast<std::byte*>(&view) + offsetof(core::FrameView, length), &length,
              sizeof length);
}

/// Whether it is a link hello. These are not traced: links that are otherwise idle would push
/// everything that matters out of the ring.
bool is_a_link_hello(const core::Decision& decision, const core::FrameView& frame,
                     std::uint16_t count) {
  return count == 1 && decision.event == core::Event::hello &&
         wire::begins_link_hello(frame.data + wire::ethernet_header_bytes);
}

} // namespace

std::byte* Worker::PoolEmission::buffer(PortNumber port, std::uint32_t length, TrafficClass c) {
  if (emitted_.size() == capacity) {
    return nullptr;
  }
  rte_mbuf* frame = port::allocate(pool_);
  if (frame == nullptr) {
    return nullptr;
  }
  set_length(frame, length);
  emitted_.push_back({frame, port, c});
  return rte_pktmbuf_mtod(frame, std::byte*);
}

/// Polls all lively ports, and a share of the quiet ones; all of them if there is time.
bool Worker::receive() {
  bool received = false;
  for (std::size_t i = 0; i < lively_;) {
    received |= receive_from(inputs_[i]);
    if (inputs_[i].empty_polls < quiet_after) [[likely]] {
      ++i;
    } else {
      std::swap(inputs_[i], inputs_[--lively_]);
    }
  }
  const std::size_t quiet = inputs_.size() - lively_;
  std::size_t asked = busy_ ? (quiet + quiet_interval - 1) / quiet_interval : quiet;
  for (; asked != 0 && lively_ != inputs_.size(); --asked) {
    if (next_quiet_ < lively_ || next_quiet_ >= inputs_.size()) {
      next_quiet_ = lively_;
    }
    Input& input = inputs_[next_quiet_++];
    if (receive_from(input)) [[unlikely]] {
      received = true;
      std::swap(input, inputs_[lively_++]);
    }
  }
  return received;
}

bool Worker::receive_from(Input& input) {
  if (input.paused || input.queues == Queues::none) [[unlikely]] {
    return false;
  }
  std::array<rte_mbuf*, burst> frames;
  std::uint16_t count =
      input.queues == Queues::own
          ? input.device->receive_from(static_cast<std::uint16_t>(index_), frames.data(), burst)
          : input.device->receive(frames.data(), burst);
  const bool received = count != 0;
  if (received) {
    input.empty_polls = 0;
    look_at_clock(*input.part);
    Seen seen(pool_, frames.data(), count);
    std::uint64_t bytes = seen.bytes;
    if (seen.ready != count) [[unlikely]] {
      bytes += bytes_of(frames.data() + seen.ready, count - std::size_t{seen.ready});
    }
    core::PortCounters& port = input.part->core.counters().ports[input.number.value];
    port.rx_frames.add(count);
    port.rx_bytes.add(bytes);
    statistics_.frames.add(count);
    if (tap_ != nullptr) [[unlikely]] {
      tap(*input.part, input.number, Direction::received, frames.data(), count);
    }
    if (input.edge == nullptr && !input.impairment && input.part->decides_all) [[likely]] {
      // As in `steer`, except that the frames have been examined.
      if (input.part->links) {
        input.part->links->frames_came(input.number);
      }
      process_seen(*input.part, input.number, frames.data(), count, std::move(seen));
      return true;
    }
    if (input.edge != nullptr) [[unlikely]] {
      count = input.edge->arrive(frames.data(), count);
      input.part->waiting.insert(input.number); // a pause may have begun or ended
    }
    if (!input.impairment && input.edge == nullptr) [[likely]] {
      steer(*input.part, input.number, frames.data(), count, std::move(seen));
    } else if (!input.impairment) {
      steer(*input.part, input.number, frames.data(), count, Seen(pool_, frames.data(), count));
    } else {
      port.drops[static_cast<std::size_t>(core::DropReason::impaired)].add(
          input.impairment->admit(frames.data(), count, now_));
    }
  }
  if (input.impairment) [[unlikely]] {
    return deliver_due(input, now_) || received; // an impaired port is never quiet
  }
  if (!received) {
    ++input.empty_polls;
  }
  return received;
}

/// For injected delays, which begin when a frame arrives, not when this iteration began: a worker
/// may lose its core in between.
void Worker::look_at_clock(const Part& part) {
  if (!part.impaired.empty()) [[unlikely]] {
    now_ = clock_.at(TscClock::cycles());
  }
}

/// Processes frames that the input's impairments held back until then.
bool Worker::deliver_due(Input& input, TimeNs until) {
  if (!input.impairment) {
    return false;
  }
  bool delivered = false;
  std::array<rte_mbuf*, burst> frames;
  while (const std::uint16_t count = input.impairment->take_due(until, frames.data(), burst)) {
    steer(*input.part, input.number, frames.data(), count, Seen(pool_, frames.data(), count));
    delivered = true;
  }
  return delivered;
}

/// Hands each frame of another worker over, and processes those that stay.
void Worker::steer(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count, Seen&& seen) {
  if (part.links) {
    part.links->frames_came(in);
  }
  if (part.decides_all) [[likely]] {
    process_seen(part, in, frames, count, std::move(seen));
    return;
  }
  const std::uint16_t kept = keep_own(part, in, frames, count, seen);
  if (kept == 0) {
    return;
  }
  if (seen.ready == kept) [[likely]] {
    process_seen(part, in, frames, kept, std::move(seen));
  } else {
    process(part, in, frames, kept);
  }
}

/// For placement::Balancer. A burst in many is enough to compare buckets.
[[gnu::noinline]] void Worker::sample_work(Part& part, std::span<const core::FrameView> views,
                                           std::span<const core::Decision> decisions) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const core::FrameView& view = views[i];
    if (decisions[i].action == core::Action::hand_over) {
      continue;
    }
    const std::uint64_t lines = (view.length + line_bytes - 1) / line_bytes;
    const wire::FabricAddress dfa = view.length < placement::addressed_frame_bytes
                                        ? wire::FabricAddress{}
                                        : wire::dfa_of(view.data + wire::ethernet_header_bytes);
    (dfa.is_multicast() ? part.work[placement::bucket_of(dfa.tree()).value] : part.other_work)
        .add(lines);
  }
}

/// Carries out the decisions of a burst; see core/dispatch.hpp. Released frames are collected at
/// the front of `frames`, which dispatching has always passed already, and freed together.
class Worker::Performing {
public:
  /// `seen`: all of them, if their bytes are known.
  Performing(Worker& worker, Part& part, PortNumber in, rte_mbuf** frames, const Seen& seen)
      : worker_(worker), part_(part), in_(in), tagged_(part.tagged.contains(in)), frames_(frames),
        seen_(seen) {}

  bool release(std::size_t first, std::size_t count) {
    if (first != released_) { // otherwise they are at the front already
      std::copy_n(frames_ + first, count, frames_ + released_);
    }
    released_ = static_cast<std::uint16_t>(released_ + count);
    return true;
  }
  bool deliver(std::size_t i) {
    worker_.deliver(part_, in_, seen_.views[i]);
    return true;
  }
  std::size_t send(std::size_t first, std::size_t count, PortNumber port,
                   std::uint8_t traffic_class) {
    return send_run(first, count, bytes_of_run(count), port, traffic_class);
  }
  std::size_t send_results(std::size_t first, std::size_t count, PortNumber port,
                           std::uint16_t length, std::uint8_t traffic_class) {
    std::for_each_n(frames_ + first, count,
                    [length](rte_mbuf* frame) { set_length(frame, length); });
    return send_run(first, count, std::uint64_t{length} * count, port, traffic_class);
  }
  std::size_t hand_over(std::size_t first, std::size_t count, std::size_t to) {
    for (std::size_t i = first; i != first + count; ++i) {
      worker_.hand_over(to, {.frame = frames_[i],
                             .switch_index = static_cast<std::uint8_t>(part_.switch_index),
                             .port = in_,
                             .purpose = HandoffPurpose::process,
                             .leaving = {}});
    }
    return count;
  }
  bool replicate(std::size_t first, std::size_t count, PortSet ports, std::uint8_t traffic_class) {
    worker_.replicate(part_, in_, frames_ + first, static_cast<std::uint16_t>(count),
                      bytes_of_run(count), ports, TrafficClass{traffic_class});
    return true;
  }
  bool replicate_result(std::size_t i, PortSet ports, PortNumber root, std::uint16_t length,
                        std::uint8_t traffic_class) {
    worker_.flush_first(part_, root);
    set_length(frames_[i], length);
    if (ports.empty()) {
      free_frames(worker_.pool_, frames_ + i, 1);
      return true;
    }
    rte_mbuf_refcnt_update(frames_[i], static_cast<std::int16_t>(ports.size() - 1));
    const auto send_by = [&](PortNumber port) {
      worker_.send(part_, frames_ + i, 1, length, port, TrafficClass{traffic_class},
                   {in_, TrafficClass{seen_.views[i].traffic_class}});
    };
    if (ports.contains(root)) { // first, for when it is one frame more than is collected
      send_by(root);
      ports.erase(root);
    }
    ports.for_each(send_by);
    return true;
  }
  void free_released() {
    if (released_ == 0) {
      return;
    }
    if (seen_.own) [[likely]] {
      put_back(worker_.pool_, frames_, released_); // released frames have no other references
    } else {
      free_frames(worker_.pool_, frames_, released_);
    }
  }

private:
  /// A burst is mostly one run, whose bytes are known.
  [[nodiscard]] std::uint64_t bytes_of_run(std::size_t count) const {
    return count == seen_.ready ? seen_.bytes : not_added_up;
  }
  std::size_t send_run(std::size_t first, std::size_t count, std::uint64_t bytes, PortNumber port,
                       std::uint8_t traffic_class) {
    for (std::size_t i = first, next; i != first + count; i = next) {
      next = tagged_ ? end_of_class(i, first + count) : first + count;
      worker_.send(part_, frames_ + i, static_cast<std::uint16_t>(next - i),
                   next - i == count ? bytes : not_added_up, port, TrafficClass{traffic_class},
                   {in_, TrafficClass{seen_.views[i].traffic_class}});
    }
    return count;
  }
  /// End of the run of frames that arrived in the same class.
  [[nodiscard]] std::size_t end_of_class(std::size_t i, std::size_t end) const {
    const std::uint8_t c = seen_.views[i].traffic_class;
    do {
      ++i;
    } while (i != end && seen_.views[i].traffic_class == c);
    return i;
  }

  Worker& worker_;
  Part& part_;
  PortNumber in_;
  bool tagged_; ///< otherwise all of them arrived in one class
  rte_mbuf** frames_;
  const Seen& seen_;
  std::uint16_t released_ = 0;
};

/// Carries out decisions about the worker's own buffers.
void Worker::carry_out(Part& part, PortNumber in, rte_mbuf** frames, const Seen& seen) {
  Performing performing(*this, part, in, frames, seen);
  core::dispatch(seen.ready_decisions(), performing);
  performing.free_released();
}

Worker::Seen::Seen(const rte_mempool* pool, rte_mbuf** frames, std::size_t count) {
  Ownership ownership(pool);
  std::uint64_t total = 0;
  const auto look = [&](std::size_t i) {
    const rte_mbuf* frame = frames[i];
    const Rearm rearm(frame);
    ownership.add(frame, rearm);
    const std::uint64_t length = frame->data_len;
    total += length;
    set_view(views[i], static_cast<std::byte*>(frame->buf_addr) + rearm.data_off(), length);
  };
#pragma GCC unroll 4 // otherwise the loop would be a fifth of the cost
  for (std::size_t i = 0; i != count; ++i) {
    look(i);
  }
  if (ownership.is_private()) [[likely]] {
    ready = static_cast<std::uint16_t>(count);
    own = ownership.is_of_pool();
    bytes = total;
    return;
  }
  const auto end = std::find_if_not(frames, frames + count, is_private);
  ready = static_cast<std::uint16_t>(end - frames);
  own = false;
  bytes = bytes_of(frames, ready);
}

void Worker::process(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count) {
  process_seen(part, in, frames, count, Seen(pool_, frames, count));
}

void Worker::process_seen(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count,
                          Seen&& seen) {
  if (seen.ready != count) [[unlikely]] {
    make_private(part, in, frames, seen, count);
  }
  const std::uint16_t ready = seen.ready;
  if (part.tagged.contains(in)) [[unlikely]] {
    for (std::size_t i = 0; i < ready; ++i) {
      seen.views[i].traffic_class = traffic_class_of(frames[i]);
    }
  }
  const core::BurstOutcome outcome =
      part.core.process_burst(in, seen.views.first(ready), now_, seen.decisions.first(ready));
  if (tap_ != nullptr && tap_->only_drops()) [[unlikely]] {
    tap_drops(part, in, frames, seen.ready_decisions());
  }
  if (tracing_ >= (outcome.notable.empty() ? core::Tracing::everything : core::Tracing::notable) &&
      !is_a_link_hello(seen.decisions[0], seen.views[0], ready)) {
    trace_burst(part, in, seen, outcome.notable);
  }

  constexpr std::uint32_t one_in = 16;
  if (part.placed && ++part.bursts % one_in == 0) [[unlikely]] {
    sample_work(part, seen.views.first(ready), seen.ready_decisions());
  }
  Performing performing(*this, part, in, frames, seen);
  core::dispatch(seen.ready_decisions(), performing, outcome.others);
  performing.free_released();
}

/// Makes views of the others, and copies if necessary.
[[gnu::noinline]] void Worker::make_private(Part& part, PortNumber in, rte_mbuf** frames,
                                            Seen& seen, std::uint16_t count) {
  std::uint16_t ready = seen.ready;
  for (std::uint16_t i = ready; i < count; ++i) {
    rte_mbuf* frame = frames[i];
    if (!is_private(frame)) {
      frame = made_private(part, in, frame);
      if (frame == nullptr) {
        continue;
      }
    }
    frames[ready] = frame;
    seen.views[ready++] = view_of(frame);
  }
  seen.ready = ready;
  seen.own = false;
  seen.bytes = not_added_up;
}

/// A contiguous buffer that the core may read and write, in exchange for this one; null if there is
/// none, and the frame was dropped.
rte_mbuf* Worker::made_private(Part& part, PortNumber in, rte_mbuf* frame) {
  const bool contiguous = frame->nb_segs == 1;
  if (contiguous && part.core.only_reads(in, view_of(frame))) {
    return frame;
  }
  rte_mbuf* copy = rte_pktmbuf_copy(frame, pool_, 0, UINT32_MAX);
  if (copy != nullptr) {
    port::takes_ownership(copy);
  }
  port::give_back(frame);
  if (copy == nullptr) {
    part.core.counters().drop(in, core::DropReason::no_buffer);
    return nullptr;
  }
  if (copy->nb_segs == 1) {
    return copy;
  }
  port::give_back(copy);
  part.core.counters().drop(in, core::DropReason::too_long);
  return nullptr;
}

/// Sends each of the frames out of each of the ports: by reference, not by copy.
void Worker::replicate(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count,
                       std::uint64_t bytes, PortSet ports, TrafficClass c) {
  const int copies = ports.size();
  if (copies == 0) [[unlikely]] {
    free_frames(pool_, frames, count);
    return;
  }
  if (copies > 1) {
    for (std::uint16_t i = 0; i < count; ++i) {
      rte_mbuf_refcnt_update(frames[i], static_cast<std::int16_t>(copies - 1));
    }
  }
  ports.for_each([&](PortNumber port) { send(part, frames, count, bytes, port, c, {in, c}); });
}

void Worker::send(Part& part, rte_mbuf** frames, std::uint16_t count, std::uint64_t bytes,
                  PortNumber port, TrafficClass c, egress::Ingress ingress) {
  OutputPort* const output = part.senders[port.value];
  if (output == nullptr) [[unlikely]] {
    hand_over_to_send(part, frames, count, port, c, ingress);
    return;
  }
  if (tap_ != nullptr) [[unlikely]] {
    tap(part, port, Direction::transmitted, frames, count);
  }
  if (bytes != not_added_up) {
    output->push(frames, count, bytes, c, ingress);
  } else {
    output->push(frames, count, c, ingress);
  }
  part.collecting.insert(port);
}

/// To a port of another worker, which sends the frames.
[[gnu::noinline]] void Worker::hand_over_to_send(Part& part, rte_mbuf** frames, std::uint16_t count,
                                                 PortNumber port, TrafficClass c,
                                                 egress::Ingress ingress) {
  for (std::uint16_t i = 0; i < count; ++i) {
    hand_over(part.owner[port.value], {.frame = frames[i],
                                       .switch_index = static_cast<std::uint8_t>(part.switch_index),
                                       .port = port,
                                       .purpose = HandoffPurpose::transmit,
                                       .leaving = {.ingress = ingress, .traffic_class = c}});
  }
}

void Worker::send(Part& part, rte_mbuf* frame, PortNumber port, TrafficClass c,
                  egress::Ingress ingress) {
  send(part, &frame, 1, not_added_up, port, c, ingress);
}

/// Sends the frames that the core filled. `event` is their event in the trace.
void Worker::send_emitted(Part& part, core::Event event) {
  for (const Emitted& emitted : part.emission.emitted()) {
    if (tracing_ != core::Tracing::off) {
      const core::Decision decision{
          .action = core::Action::emit, .event = event, .port = emitted.port};
      const core::FrameView frame = view_of(emitted.frame);
      trace_.add(now_, static_cast<std::uint8_t>(part.switch_index), emitted.port,
                 std::span(&decision, 1), std::span(&frame, 1));
    }
    send(part, emitted.frame, emitted.port, emitted.traffic_class, {});
  }
  part.emission.emitted().clear();
  trace_.commit();
}

bool Worker::take_handoffs() {
  bool took = false;
  std::array<Handoff, burst>& items = taken_;
  std::array<rte_mbuf*, burst> frames;
  for (std::size_t from = 0; from < shared_.worker_count; ++from) {
    if (from == index_ || unread_[from]) [[unlikely]] {
      continue;
    }
    take_back(from);
    HandoffRing& ring = shared_.ring(from, index_);
    // The current contents, but no more than one full ring: own ports must not starve.
    for (std::size_t left = handoff_ring_frames; left != 0;) {
      const std::size_t count = ring.pop(items.data(), std::min<std::size_t>(burst, left));
      if (count == 0) {
        break;
      }
      left -= count;
      took = true;
      for (std::size_t i = 0; i < count; ++i) {
        if (items[i].purpose == HandoffPurpose::subtotal) {
          rte_prefetch0(items[i].subtotal); // mostly the only line read
        } else {
          rte_prefetch0(items[i].frame);
        }
      }
      // Runs of frames from the same port are processed together.
      for (std::size_t i = 0; i < count;) {
        const Handoff& first = items[i];
        if (first.purpose == HandoffPurpose::subtotal) {
          i += take_subtotals(from, std::span(items).first(count).subspan(i));
          continue;
        }
        Part& part = *part_by_switch_[first.switch_index];
        look_at_clock(part);
        std::uint16_t run = 0;
        if (first.purpose == HandoffPurpose::transmit) {
          do {
            frames[run++] = items[i++].frame;
          } while (i < count && items[i].leaves_as(first));
          statistics_.frames.add(run);
          send(part, frames.data(), run, not_added_up, first.port, first.leaving.traffic_class,
               first.leaving.ingress);
          continue;
        }
        while (i < count && items[i].purpose == HandoffPurpose::process &&
               items[i].switch_index == first.switch_index && items[i].port == first.port) {
          frames[run++] = items[i++].frame;
        }
        statistics_.frames.add(run);
        process(part, first.port, frames.data(), run);
      }
    }
  }
  return took;
}

/// Sends the frames that the control thread has queued.
bool Worker::take_frames_to_send() {
  const std::uint64_t asked =
      shared_.control[index_]->asked_to_send.load(std::memory_order_acquire);
  if (asked == asked_to_send_) [[likely]] {
    return false;
  }
  asked_to_send_ = asked;
  return send_frames_asked_for();
}

void Worker::hand_over(std::size_t to, const Handoff& item) {
  Staged& staged = staged_[to];
  staged.frames[staged.count] = item.frames();
  staged.items[staged.count++] = item;
  if (staged.count == burst) {
    flush_handoffs(to);
  }
}

void Worker::flush_handoffs(std::size_t to) {
  Staged& staged = staged_[to];
  const std::size_t taken = shared_.ring(index_, to).push(staged.items.data(), staged.count);
  // By the counts noted before: taken subtotals belong to another worker.
  statistics_.handed_over.add(
      std::accumulate(staged.frames.begin(), staged.frames.begin() + taken, std::uint64_t{0}));
  for (std::size_t i = taken; i < staged.count; ++i) {
    drop_handoff(to, staged.items[i]);
  }
  staged.count = 0;
}

/// Sends pauses for the ports here, whichever worker's queues their senders fill.
void Worker::send_pauses(Part& part) {
  part.edges.for_each([&](PortNumber port) {
    ClassSet wanted;
    for (const auto& accounts : shared_.accounts[part.switch_index]) {
      wanted = wanted | accounts->wanted(port);
    }
    part.outputs[port.value]->send_pauses(wanted);
  });
}

/// Notifies all workers of the switch, including this one, when a port was given up or restored.
void Worker::report_stuck(Part& part, PortNumber port) {
  const ClassSet now = part.outputs[port.value]->given_up();
  const ClassSet before = std::exchange(part.given_up[port.value], now);
  if (now == before) [[likely]] {
    return;
  }
  PortSet one;
  one.insert(port);
  WorkerShared::Stuck& stuck = shared_.stuck[part.switch_index];
  (now - before).for_each([&](TrafficClass c) {
    stuck.ports[c.value].fetch_or(one.bits(), std::memory_order_relaxed);
  });
  (before - now).for_each([&](TrafficClass c) {
    stuck.ports[c.value].fetch_and(~one.bits(), std::memory_order_relaxed);
  });
  stuck.changes.fetch_add(1, std::memory_order_release);
}

/// Results that wait for the next flush leave by this port before they leave by others. A switch
/// that ends in between leaves no member with a result that the root has not got, and could not get
/// any more.
void Worker::flush_first(Part& part, PortNumber root) {
  if (part.first != root && part.first != no_port) [[unlikely]] {
    flush(part);
  }
  part.first = root;
}

/// Sends collected and waiting frames; true if a waiting frame left.
bool Worker::flush(Part& part) {
  bool sent = false;
  const PortSet waiting = std::exchange(part.waiting, {});
  const PortNumber first = std::exchange(part.first, no_port);
  PortSet ports(std::exchange(part.collecting, {}).bits() | waiting.bits());
  const auto flush_one = [&](PortNumber port) {
    const core::Counter& frames = part.core.counters().ports[port.value].tx_frames;
    const bool waited = waiting.contains(port);
    const std::uint64_t before = waited ? frames.read() : 0;
    if (part.outputs[port.value]->flush()) [[unlikely]] {
      part.waiting.insert(port);
    }
    if (part.edges.contains(port)) [[unlikely]] {
      report_stuck(part, port);
    }
    sent |= waited && frames.read() != before;
  };
  if (ports.contains(first)) {
    flush_one(first);
    ports.erase(first);
  }
  ports.for_each(flush_one);
  return sent;
}

bool Worker::flush() {
  bool sent = false;
  if (shared_.worker_count > 1) {
    close_subtotals();
  }
  for (auto& part : parts_) {
    if (!part->edges.empty()) [[unlikely]] {
      send_pauses(*part);
    }
    sent |= flush(*part);
  }
  for (std::size_t to = 0; to < staged_.size(); ++to) {
    if (staged_[to].count != 0) {
      flush_handoffs(to);
    }
  }
  return sent;
}

[[gnu::noinline]] void Worker::tap(const Part& part, PortNumber port, Direction direction,
                                   rte_mbuf* const* frames, std::uint16_t count) {
  if (tap_->only_drops()) {
    return;
  }
  std::for_each_n(frames, count, [&](const rte_mbuf* frame) {
    tap_->offer(now_, part.switch_index, port, direction, rte_pktmbuf_mtod(frame, const std::byte*),
                frame->data_len, frame->pkt_len);
  });
}

/// Offers the frames that `process` has just decided to drop.
[[gnu::noinline]] void Worker::tap_drops(const Part& part, PortNumber in, rte_mbuf* const* frames,
                                         std::span<const core::Decision> decisions) {
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i].action == core::Action::drop) {
      tap_->offer(now_, part.switch_index, in, Direction::received,
                  rte_pktmbuf_mtod(frames[i], const std::byte*), frames[i]->data_len,
                  frames[i]->pkt_len);
    }
  }
}

/// Traces the decisions of `process`.
void Worker::trace_burst(const Part& part, PortNumber in, const Seen& seen, core::Places notable) {
  const auto index = static_cast<std::uint8_t>(part.switch_index);
  if (tracing_ == core::Tracing::everything) {
    trace_.add(now_, index, in, seen.ready_decisions(), seen.ready_views());
  } else {
    trace_.add(now_, index, in, seen.ready_decisions(), seen.ready_views(), notable);
  }
  trace_.commit();
}

} // namespace tributary::worker
