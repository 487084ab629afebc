// Frames on their way to the engine of another worker, by themselves or added up
// (core/subtotal.hpp). Hot path: no allocation, no exception, no lock.
//
// Buffers of a subtotal are all of the pool and nobody else's, so that who takes it gives them back
// without a look at them: none of their lines crosses but those of the first and the last frame.
#include "dataplane/worker/worker.hpp"

#include "dataplane/core/dispatch.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "dataplane/worker/private_frames.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::worker {
namespace {

rte_mbuf* frame_of(const core::Subtotal& subtotal, std::size_t i) {
  return static_cast<rte_mbuf*>(subtotal.parts[i].frame);
}

} // namespace

void give_back(const Handoff& item) {
  if (item.purpose != HandoffPurpose::subtotal) {
    port::give_back(item.frame);
    return;
  }
  for (std::size_t i = 0; i < item.subtotal->size; ++i) {
    port::give_back(frame_of(*item.subtotal, i));
  }
}

/// What the table of subtotals lets go.
class Worker::Crossing {
public:
  Crossing(Worker& worker, Part& part) : worker_(worker), part_(part) {}

  void cross(void* frame, PortNumber in, std::uint32_t owner) {
    worker_.hand_over(owner, {.frame = static_cast<rte_mbuf*>(frame),
                              .switch_index = static_cast<std::uint8_t>(part_.switch_index),
                              .port = in,
                              .purpose = HandoffPurpose::process});
  }
  void cross(const core::Subtotal& subtotal, std::uint32_t owner) {
    core::Subtotal* const copy = worker_.shared_.subtotal_store(worker_.index_, owner).take();
    if (copy == nullptr) {
      for (std::size_t i = 0; i < subtotal.size; ++i) {
        cross(subtotal.parts[i].frame, subtotal.parts[i].in, owner);
      }
      return;
    }
    copy->copy(subtotal);
    worker_.statistics_.subtotals.add();
    worker_.statistics_.added_up.add(subtotal.size);
    worker_.hand_over(owner, {.subtotal = copy,
                              .switch_index = static_cast<std::uint8_t>(part_.switch_index),
                              .port = subtotal.parts[0].in,
                              .purpose = HandoffPurpose::subtotal});
  }

private:
  Worker& worker_;
  Part& part_;
};

/// Has those frames of a burst cross whose engines are elsewhere; the others are the first ones
/// then, and it says how many.
std::uint16_t Worker::keep_own(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count) {
  static_assert(burst <= core::most_grouped && sizeof(rte_mbuf*) == sizeof(void*));
  const auto owner_of = [&](const core::FrameView& view) {
    return std::uint32_t{part.owner[part.core.engine_port(in, view).value % max_ports]};
  };
  if (!part.subtotals->adds_up()) {
    Crossing crossing(*this, part);
    std::uint16_t kept = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
      const std::uint32_t owner = owner_of(view_of(frames[i]));
      if (owner == index_) {
        frames[kept++] = frames[i];
      } else {
        crossing.cross(frames[i], in, owner);
      }
    }
    return kept;
  }
  std::array<void*, burst> handles;
  core::Steering steering{.owners = part.owner.data(), .self = index_};
  const bool tagged = part.tagged.contains(in);
  for (std::uint16_t i = 0; i < count; ++i) {
    handles[i] = frames[i];
    views_[i] = view_of(frames[i]);
    if (tagged) [[unlikely]] {
      views_[i].traffic_class = traffic_class_of(frames[i]);
    }
    steering.may_add |= (is_of(pool_, frames[i]) ? 1U : 0U) << i;
  }
  steering.views = std::span(views_).first(count);
  steering.frames = handles.data();
  std::size_t i = 0;
  while ((i = part.core.steer(in, steering, *part.subtotals, i)) < count) {
    const std::uint32_t owner = owner_of(views_[i]);
    if (owner == index_) {
      steering.kept[steering.kept_count++] = static_cast<std::uint8_t>(i);
    } else {
      cross(part, in, frames[i], owner);
    }
    ++i;
  }
  for (std::size_t k = 0; k < steering.kept_count; ++k) {
    frames[k] = static_cast<rte_mbuf*>(handles[steering.kept[k]]);
  }
  return static_cast<std::uint16_t>(steering.kept_count);
}

/// A frame whose engine another worker has.
void Worker::cross(Part& part, PortNumber in, rte_mbuf* frame, std::uint32_t owner) {
  Crossing crossing(*this, part);
  core::Summand summand;
  core::FrameView view = view_of(frame);
  if (part.tagged.contains(in)) [[unlikely]] {
    view.traffic_class = traffic_class_of(frame);
  }
  if (is_of(pool_, frame) && part.core.summand(in, view, summand)) {
    summand.frame = frame;
    part.subtotals->add(part.core, summand, owner, crossing);
    return;
  }
  const wire::FabricAddress dfa = wire::dfa_of(view.data + wire::ethernet_header_bytes);
  part.subtotals->close(ReductionKey(dfa.tree(), dfa.reduction()), crossing);
  crossing.cross(frame, in, owner);
}

void Worker::close_subtotals() {
  for (auto& part : parts_) {
    if (part->subtotals && !part->subtotals->empty()) {
      part->subtotals->close_all(Crossing(*this, *part));
    }
  }
}

/// What the ring to that worker had no room for.
void Worker::drop_handoff(std::size_t to, const Handoff& item) {
  core::Counters& counters = part_by_switch_[item.switch_index]->core.counters();
  if (item.purpose == HandoffPurpose::subtotal) {
    for (std::size_t i = 0; i < item.subtotal->size; ++i) {
      counters.drop(item.subtotal->parts[i].in, core::DropReason::handoff_full);
    }
  } else {
    counters.drop(item.port, core::DropReason::handoff_full);
  }
  give_back(item);
  if (item.purpose == HandoffPurpose::subtotal) {
    shared_.subtotal_store(index_, to).keep(item.subtotal);
  }
}

/// One that another worker made: as a whole, or frame by frame.
void Worker::take_subtotal(Part& part, const core::Subtotal& subtotal) {
  std::array<rte_mbuf*, core::most_grouped> buffers;
  const std::size_t size = subtotal.size;
  for (std::size_t i = 0; i < size; ++i) {
    buffers[i] = frame_of(subtotal, i);
  }
  core::Decision& decision = decisions_.front();
  if (!part.core.take_subtotal(subtotal, decision)) [[unlikely]] {
    for (std::size_t i = 0, next; i < size; i = next) {
      const PortNumber in = subtotal.parts[i].in;
      for (next = i + 1; next < size && subtotal.parts[next].in == in;) {
        ++next;
      }
      process(part, in, &buffers[i], static_cast<std::uint16_t>(next - i));
    }
    return;
  }
  const bool notable = core::is_notable(decision.action, decision.event);
  if (tracing_ >= (notable ? core::Tracing::notable : core::Tracing::everything)) {
    trace_subtotal(part, subtotal, decision);
  }
  // An absorbed frame needs no look: it is private and of the pool.
  const std::size_t released = decision.action == core::Action::absorb ? size : size - 1;
  for (std::size_t i = 0; i < released; ++i) {
    port::gives_ownership(buffers[i]);
  }
  rte_mempool_put_bulk(pool_, reinterpret_cast<void* const*>(buffers.data()),
                       static_cast<unsigned>(released));
  if (released != size) {
    const PortNumber in = subtotal.parts[size - 1].in;
    views_.front() = subtotal.last;
    if (tap_ != nullptr && tap_->only_drops()) [[unlikely]] {
      tap_drops(part, in, &buffers[size - 1], 1);
    }
    carry_out(part, in, buffers[size - 1]);
  }
}

/// As if its frames had come one by one: all before the last one were absorbed.
void Worker::trace_subtotal(const Part& part, const core::Subtotal& subtotal,
                            const core::Decision& of_last) {
  core::Decision absorbed{};
  absorbed.set(core::absorbed());
  const std::size_t last = subtotal.size - std::size_t{1};
  for (std::size_t i = tracing_ == core::Tracing::everything ? 0 : last; i <= last; ++i) {
    const core::Subtotal::Part& one = subtotal.parts[i];
    trace_.add_reduced(now_, static_cast<std::uint8_t>(part.switch_index), one.in,
                       i == last ? of_last : absorbed, subtotal.destination, one.word);
  }
  trace_.commit();
}

} // namespace tributary::worker
