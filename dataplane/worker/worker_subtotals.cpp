// Frames on their way to the engine of another worker, by themselves or added up
// (core/subtotal.hpp). Hot path: no allocation, no exception, no lock.
//
// Buffers of a subtotal are all of the pool and nobody else's, so that they go back to it without a
// look at them. They do so where they came in, once the subtotal has come back: none of their lines
// crosses but those of the first and the last frame.
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
  return static_cast<rte_mbuf*>(subtotal.frames[i]);
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
        cross(subtotal.frames[i], subtotal.in[i], owner);
      }
      return;
    }
    copy->copy(subtotal);
    worker_.statistics_.subtotals.add();
    worker_.statistics_.added_up.add(subtotal.size);
    worker_.hand_over(owner, {.subtotal = copy,
                              .switch_index = static_cast<std::uint8_t>(part_.switch_index),
                              .port = subtotal.last_in,
                              .purpose = HandoffPurpose::subtotal});
  }

private:
  Worker& worker_;
  Part& part_;
};

/// Has those frames of a burst cross whose engines are elsewhere; the others are the first ones
/// then, and it says how many. `seen`: what `look_at` said of them, and says of those that stay.
std::uint16_t Worker::keep_own(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count,
                               Seen& seen) {
  static_assert(burst <= core::most_grouped && sizeof(rte_mbuf*) == sizeof(void*));
  const auto owner_of = [&](const core::FrameView& view) {
    return std::uint32_t{part.owner[part.core.engine_port(in, view).value % max_ports]};
  };
  const bool all_seen = seen.ready == count;
  seen = {0, not_added_up};
  const auto prefetch = [](const core::FrameView& view) { // both lines of a contribution
    rte_prefetch0(view.data);
    rte_prefetch0(view.data + line_bytes);
  };
  if (!part.subtotals->adds_up()) {
    Crossing crossing(*this, part);
    std::uint16_t kept = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
      prefetch(view_of(frames[i]));
    }
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
  core::Steering steering{.frames = reinterpret_cast<const std::byte*>(frames),
                          .owners = part.owner.data(),
                          .self = index_};
  if (all_seen) [[likely]] {
    for (std::uint16_t i = 0; i < count; ++i) {
      prefetch(views_[i]);
      steering.may_add |= (is_direct_of(pool_, frames[i]) ? 1U : 0U) << i;
    }
  } else {
    for (std::uint16_t i = 0; i < count; ++i) {
      views_[i] = view_of(frames[i]);
      prefetch(views_[i]);
      steering.may_add |= (is_of(pool_, frames[i]) ? 1U : 0U) << i;
    }
  }
  if (part.tagged.contains(in)) [[unlikely]] {
    for (std::uint16_t i = 0; i < count; ++i) {
      views_[i].traffic_class = traffic_class_of(frames[i]);
    }
  }
  steering.views = std::span(views_).first(count);
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
  const auto kept = static_cast<std::uint16_t>(steering.kept_count);
  if (kept != count) {
    for (std::size_t k = 0; k < kept; ++k) {
      const std::size_t from = steering.kept[k];
      frames[k] = frames[from];
      // Member by member: they may have been written a moment ago.
      views_[k].data = views_[from].data;
      views_[k].length = views_[from].length;
      views_[k].traffic_class = views_[from].traffic_class;
    }
  }
  seen.ready = all_seen ? kept : std::uint16_t{0};
  return kept;
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
      counters.drop(item.subtotal->in[i], core::DropReason::handoff_full);
    }
  } else {
    counters.drop(item.port, core::DropReason::handoff_full);
  }
  give_back(item);
  if (item.purpose == HandoffPurpose::subtotal) {
    shared_.subtotal_store(index_, to).keep(item.subtotal);
  }
}

/// Frees the frames of subtotals that came back from a worker.
void Worker::take_back(std::size_t from) {
  shared_.subtotal_store(index_, from).take_back([&](void* const* frames, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      port::gives_ownership(static_cast<rte_mbuf*>(frames[i]));
    }
    if (count != 0) {
      rte_mempool_put_bulk(pool_, frames, static_cast<unsigned>(count));
    }
  });
}

/// One that another worker made: as a whole, or frame by frame. Says how many of its first frames
/// remain that worker's.
std::size_t Worker::take_subtotal(Part& part, const core::Subtotal& subtotal) {
  const std::size_t size = subtotal.size;
  core::Decision& decision = decisions_.front();
  if (!part.core.take_subtotal(subtotal, decision)) [[unlikely]] {
    std::array<rte_mbuf*, core::most_grouped> buffers;
    for (std::size_t i = 0; i < size; ++i) {
      buffers[i] = frame_of(subtotal, i);
    }
    for (std::size_t i = 0, next; i < size; i = next) {
      const PortNumber in = subtotal.in[i];
      for (next = i + 1; next < size && subtotal.in[next] == in;) {
        ++next;
      }
      process(part, in, &buffers[i], static_cast<std::uint16_t>(next - i));
    }
    return 0;
  }
  const bool notable = core::is_notable(decision.action, decision.event);
  if (tracing_ >= (notable ? core::Tracing::notable : core::Tracing::everything)) {
    trace_subtotal(part, subtotal, decision);
  }
  if (decision.action == core::Action::absorb) {
    return size;
  }
  auto* frame = static_cast<rte_mbuf*>(subtotal.last_frame);
  views_.front() = subtotal.last;
  if (tap_ != nullptr && tap_->only_drops()) [[unlikely]] {
    tap_drops(part, subtotal.last_in, &frame, 1);
  }
  carry_out(part, subtotal.last_in, frame);
  return size - 1;
}

/// As if its frames had come one by one: all before the last one were absorbed.
void Worker::trace_subtotal(const Part& part, const core::Subtotal& subtotal,
                            const core::Decision& of_last) {
  core::Decision absorbed{};
  absorbed.set(core::absorbed());
  const std::size_t last = subtotal.size - std::size_t{1};
  for (std::size_t i = tracing_ == core::Tracing::everything ? 0 : last; i <= last; ++i) {
    const core::FrameView view = view_of(frame_of(subtotal, i));
    trace_.add(now_, static_cast<std::uint8_t>(part.switch_index), subtotal.in[i],
               std::span(i == last ? &of_last : &absorbed, 1), std::span(&view, 1));
  }
  trace_.commit();
}

} // namespace tributary::worker
