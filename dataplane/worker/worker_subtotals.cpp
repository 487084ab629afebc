// Frames on their way to the engine of another worker, by themselves or added up
// (core/subtotal.hpp). Hot path: no allocation, no exception, no lock.
//
// Buffers of a subtotal are all of the pool and nobody else's, so that they go back to it without a
// look at them. They do so where they came in, once the subtotal has come back: none of their lines
// crosses but one of the first frame, where it begins a reduction. A result leaves in a buffer of
// the worker that has the engine.
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
                              .port = subtotal.last_in(),
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
  const Seen all = seen;
  const bool all_seen = seen.ready == count;
  if (!all_seen) [[unlikely]] {
    for (std::uint16_t i = seen.ready; i < count; ++i) {
      views_[i] = view_of(frames[i]);
    }
  }
  for (std::uint16_t i = 0; i < count; ++i) { // both lines of a contribution
    rte_prefetch0(views_[i].data);
    rte_prefetch0(views_[i].data + line_bytes);
  }
  core::Steering steering{.views = std::span(views_).first(count),
                          .frames = reinterpret_cast<std::byte*>(frames),
                          .owners = part.owner.data(),
                          .self = index_};
  if (part.subtotals->adds_up()) [[likely]] {
    steering.may_add = ~std::uint32_t{0};
    if (!all_seen || !seen.own) [[unlikely]] {
      steering.may_add = 0;
      for (std::uint16_t i = 0; i < count; ++i) {
        steering.may_add |= (is_of(pool_, frames[i]) ? 1U : 0U) << i;
      }
    }
    if (part.tagged.contains(in)) [[unlikely]] {
      for (std::uint16_t i = 0; i < count; ++i) {
        views_[i].traffic_class = traffic_class_of(frames[i]);
      }
    }
    std::size_t i = 0;
    while ((i = part.core.steer(in, steering, *part.subtotals, i)) < count) {
      const std::uint32_t owner = owner_of(views_[i]);
      if (owner == index_) {
        steering.keep(i);
      } else {
        cross(part, in, frames[i], views_[i], owner);
      }
      ++i;
    }
  } else {
    Crossing crossing(*this, part);
    for (std::uint16_t i = 0; i < count; ++i) {
      const std::uint32_t owner = owner_of(views_[i]);
      if (owner == index_) {
        steering.keep(i);
      } else {
        crossing.cross(frames[i], in, owner);
      }
    }
  }
  const auto kept = static_cast<std::uint16_t>(steering.kept);
  if (kept != count) {
    seen = {all_seen ? kept : std::uint16_t{0}, all_seen && all.own, not_added_up};
  }
  return kept;
}

/// A frame whose engine another worker has.
void Worker::cross(Part& part, PortNumber in, rte_mbuf* frame, const core::FrameView& view,
                   std::uint32_t owner) {
  Crossing crossing(*this, part);
  core::Summand summand;
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

/// One that another worker made: as a whole, or frame by frame. Says how many of its frames remain
/// that worker's: all, or none.
std::size_t Worker::take_subtotal(Part& part, const core::Subtotal& subtotal) {
  const std::size_t size = subtotal.size;
  const PortNumber last_in = subtotal.last_in();
  if (results_.count != 0 && (results_.count == burst || results_.part != &part ||
                              results_.last_in != last_in)) [[unlikely]] {
    send_results();
  }
  const std::size_t i = results_.count;
  if (results_.frames[i] == nullptr && (results_.frames[i] = made_result()) == nullptr)
      [[unlikely]] {
    take_one_by_one(part, subtotal);
    return 0;
  }
  core::FrameView& result = views_[i];
  result = {rte_pktmbuf_mtod(results_.frames[i], std::byte*), wire::reduction_frame_bytes,
            subtotal.last_class};
  core::Decision& decision = decisions_[i];
  if (!part.core.take_subtotal(subtotal, result, decision)) [[unlikely]] {
    take_one_by_one(part, subtotal);
    return 0;
  }
  if (tracing_ == core::Tracing::everything) [[unlikely]] {
    trace_subtotal(part, subtotal, decision, result);
  }
  if (decision.action != core::Action::absorb) {
    results_.part = &part;
    results_.last_in = last_in;
    ++results_.count;
  }
  return size;
}

void Worker::take_one_by_one(Part& part, const core::Subtotal& subtotal) {
  send_results();
  const std::size_t size = subtotal.size;
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
}

/// Null when there is none; then frames are taken one by one, and no result needs another buffer.
rte_mbuf* Worker::made_result() {
  rte_mbuf* frame = port::allocate(pool_);
  if (frame != nullptr) {
    frame->data_len = wire::reduction_frame_bytes;
    frame->pkt_len = wire::reduction_frame_bytes;
  }
  return frame;
}

/// What subtotals completed: what was decided, as about a burst from the port of their last frames.
void Worker::send_results() {
  const auto count = static_cast<std::uint16_t>(std::exchange(results_.count, 0));
  if (count == 0) {
    return;
  }
  Part& part = *results_.part;
  const PortNumber in = results_.last_in;
  if (tap_ != nullptr && tap_->only_drops()) [[unlikely]] {
    tap_drops(part, in, results_.frames.data(), count);
  }
  if (tracing_ == core::Tracing::notable) {
    trace_burst(part, in, count, core::Places::first(count));
  }
  carry_out(part, in, results_.frames.data(), count);
  // One may be left that nothing came of.
  results_.frames[0] = count < burst ? results_.frames[count] : nullptr;
  std::fill_n(results_.frames.begin() + 1, count, nullptr);
}

/// As if its frames had come one by one: all before the last one were absorbed. `result`: what
/// the last one became, if anything.
void Worker::trace_subtotal(const Part& part, const core::Subtotal& subtotal,
                            const core::Decision& of_last, const core::FrameView& result) {
  core::Decision absorbed{};
  absorbed.set(core::absorbed());
  const std::size_t last = subtotal.size - std::size_t{1};
  for (std::size_t i = 0; i <= last; ++i) {
    const bool is_result = i == last && of_last.action != core::Action::absorb;
    const core::FrameView view = is_result ? result : view_of(frame_of(subtotal, i));
    trace_.add(now_, static_cast<std::uint8_t>(part.switch_index), subtotal.in[i],
               std::span(i == last ? &of_last : &absorbed, 1), std::span(&view, 1));
  }
  trace_.commit();
}

} // namespace tributary::worker
