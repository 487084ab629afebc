// Frames on their way to the engine of another worker, singly or combined (core/subtotal.hpp). Hot
// path: no allocation, no exception, no lock.
//
// Buffers of a subtotal all belong to the pool and have no other references, so that they return to
// it without being touched. They do so at their ingress worker, once the subtotal has come back:
// none of their lines crosses except one of the first frame, if it begins a reduction. A result
// leaves in a buffer of the engine's worker.
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
  return static_cast<rte_mbuf*>(subtotal.frame(i));
}

} // namespace

void give_back(const Handoff& item) {
  if (item.purpose != HandoffPurpose::subtotal) {
    port::give_back(item.frame);
    return;
  }
  for (std::size_t i = 0; i < item.subtotal->size(); ++i) {
    port::give_back(frame_of(*item.subtotal, i));
  }
}

/// The shell of the table of subtotals.
class Worker::Crossing {
public:
  Crossing(Worker& worker, Part& part) : worker_(worker), part_(part) {}

  void cross(void* frame, PortNumber in, std::uint32_t owner) {
    worker_.hand_over(owner, {.frame = static_cast<rte_mbuf*>(frame),
                              .switch_index = static_cast<std::uint8_t>(part_.switch_index),
                              .port = in,
                              .purpose = HandoffPurpose::process,
                              .leaving = {}});
  }
  void cross(const core::OpenSubtotal& open, std::uint32_t owner) {
    SubtotalStore& store = worker_.shared_.subtotal_store(worker_.index_, owner);
    core::Subtotal* const subtotal = store.take();
    if (subtotal == nullptr || !subtotal->set(open)) [[unlikely]] {
      if (subtotal != nullptr) {
        store.keep(subtotal);
      }
      for (std::size_t i = 0; i < open.size; ++i) {
        cross(open.frames[i], open.in[i], owner);
      }
      return;
    }
    worker_.statistics_.subtotals.add();
    worker_.statistics_.added_up.add(open.size);
    worker_.hand_over(
        owner, {.subtotal = subtotal,
                .switch_index = static_cast<std::uint8_t>(part_.switch_index),
                .port = open.last_in(),
                .purpose = HandoffPurpose::subtotal,
                .tables_version = static_cast<std::uint32_t>(part_.core.tables().version())});
  }

private:
  Worker& worker_;
  Part& part_;
};

/// Hands over the frames of a burst whose engines are elsewhere; moves the others to the front, and
/// returns how many. `seen` is updated for those that stay.
std::uint16_t Worker::keep_own(Part& part, PortNumber in, rte_mbuf** frames, std::uint16_t count,
                               Seen& seen) {
  static_assert(burst <= core::most_grouped && sizeof(rte_mbuf*) == sizeof(void*));
  const auto owner_of = [&](const core::FrameView& view) {
    return std::uint32_t{part.owner[part.core.engine_port(in, view).value % max_ports]};
  };
  const bool all_own = seen.own;
  const bool all_seen = seen.ready == count;
  if (!all_seen) [[unlikely]] {
    for (std::uint16_t i = seen.ready; i < count; ++i) {
      seen.views[i] = view_of(frames[i]);
    }
  }
  fetch(seen.views.first(count));
  core::Steering steering{.views = seen.views.first(count),
                          .frames = reinterpret_cast<std::byte*>(frames),
                          .owners = part.owner.data(),
                          .self = index_};
  if (part.subtotals->adds_up()) [[likely]] {
    steering.may_add = ~std::uint32_t{0};
    if (!all_seen || !all_own) [[unlikely]] {
      steering.may_add = 0;
      for (std::uint16_t i = 0; i < count; ++i) {
        steering.may_add |= (is_of(pool_, frames[i]) ? 1U : 0U) << i;
      }
    }
    if (part.tagged.contains(in)) [[unlikely]] {
      for (std::uint16_t i = 0; i < count; ++i) {
        seen.views[i].traffic_class = traffic_class_of(frames[i]);
      }
    }
    std::size_t i = 0;
    while ((i = part.core.steer(in, steering, *part.subtotals, i)) < count) {
      const std::uint32_t owner = owner_of(seen.views[i]);
      if (owner == index_) {
        steering.keep(i);
      } else {
        cross(part, in, frames[i], seen.views[i], owner);
      }
      ++i;
    }
  } else {
    Crossing crossing(*this, part);
    for (std::uint16_t i = 0; i < count; ++i) {
      const std::uint32_t owner = owner_of(seen.views[i]);
      if (owner == index_) {
        steering.keep(i);
      } else {
        crossing.cross(frames[i], in, owner);
      }
    }
  }
  const auto kept = static_cast<std::uint16_t>(steering.kept);
  if (kept != count) {
    seen.ready = all_seen ? kept : std::uint16_t{0};
    seen.own = all_seen && all_own;
    seen.bytes = not_added_up;
  }
  return kept;
}

/// Hands over a frame whose engine another worker has.
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

/// Drops what did not fit into the ring to that worker.
void Worker::drop_handoff(std::size_t to, const Handoff& item) {
  core::Counters& counters = part_by_switch_[item.switch_index]->core.counters();
  if (item.purpose == HandoffPurpose::subtotal) {
    for (std::size_t i = 0; i < item.subtotal->size(); ++i) {
      counters.drop(item.subtotal->in(i), core::DropReason::handoff_full);
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
  std::array<void*, 4 * core::most_grouped> together;
  std::size_t count = 0;
  const auto free_them = [&] {
    if (count != 0) {
      rte_mempool_put_bulk(pool_, together.data(), static_cast<unsigned>(count));
      count = 0;
    }
  };
  shared_.subtotal_store(index_, from).take_back([&](void* const* frames, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      port::gives_ownership(static_cast<rte_mbuf*>(frames[i]));
      together[count++] = frames[i];
    }
    if (count > together.size() - core::most_grouped) {
      free_them();
    }
  });
  free_them();
}

/// Frames made from consecutive subtotals of other workers, with their views and decisions. They
/// are carried out together, like a burst from the port of the subtotals' last frames: when a
/// subtotal does not fit in with them, and at the latest when this ends.
class Worker::Results {
public:
  explicit Results(Worker& worker) : worker_(worker) {}
  ~Results() { send(); }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  /// Takes a subtotal as a whole, or frame by frame. Returns how many of its frames remain the
  /// other worker's: all, or none.
  std::size_t take(Part& part, const Handoff& item) {
    const core::Subtotal& subtotal = *item.subtotal;
    if (seen_.ready != 0 && (seen_.ready == burst || part_ != &part || last_in_ != item.port))
        [[unlikely]] {
      send();
    }
    const std::size_t i = seen_.ready;
    if (!worker_.has_result_buffer(i)) [[unlikely]] {
      return take_one_by_one(part, subtotal);
    }
    const std::size_t size = subtotal.size();
    core::FrameView& result = seen_.views[i];
    result.data = rte_pktmbuf_mtod(worker_.result_buffers_[i], std::byte*);
    result.length = wire::reduction_frame_bytes;
    result.traffic_class = 0;
    if (part.tagged.contains(item.port)) [[unlikely]] {
      result.traffic_class = traffic_class_of(frame_of(subtotal, size - 1));
    }
    core::Decision& decision = seen_.decisions[i];
    if (!part.core.take_subtotal(subtotal, item.tables_version, result, decision)) [[unlikely]] {
      return take_one_by_one(part, subtotal);
    }
    if (worker_.tracing_ == core::Tracing::everything) [[unlikely]] {
      worker_.trace_subtotal(part, subtotal, decision, result);
    }
    if (decision.action != core::Action::absorb) {
      part_ = &part;
      last_in_ = item.port;
      ++seen_.ready;
    }
    return size;
  }

private:
  /// After the results of those before it.
  std::size_t take_one_by_one(Part& part, const core::Subtotal& subtotal) {
    send();
    worker_.take_one_by_one(part, subtotal);
    return 0;
  }
  void send() {
    if (seen_.ready == 0) {
      return;
    }
    auto& buffers = worker_.result_buffers_;
    if (worker_.tap_ != nullptr && worker_.tap_->only_drops()) [[unlikely]] {
      worker_.tap_drops(*part_, last_in_, buffers.data(), seen_.ready_decisions());
    }
    if (worker_.tracing_ == core::Tracing::notable) {
      worker_.trace_burst(*part_, last_in_, seen_, core::Places::first(seen_.ready));
    }
    worker_.carry_out(*part_, last_in_, buffers.data(), seen_);
    std::copy(buffers.begin() + seen_.ready, buffers.begin() + worker_.result_buffer_count_,
              buffers.begin());
    worker_.result_buffer_count_ -= seen_.ready;
    seen_.ready = 0;
  }

  Worker& worker_;
  Part* part_ = nullptr;
  PortNumber last_in_; ///< ingress port of the last frame of each subtotal
  Seen seen_;          ///< of the results, which are the worker's own
};

/// Takes the subtotals that these items of a worker begin with; returns their number.
std::size_t Worker::take_subtotals(std::size_t from, std::span<const Handoff> items) {
  Results results(*this);
  SubtotalStore& store = shared_.subtotal_store(from, index_);
  std::size_t i = 0;
  for (; i != items.size() && items[i].purpose == HandoffPurpose::subtotal; ++i) {
    Part& part = *part_by_switch_[items[i].switch_index];
    look_at_clock(part);
    statistics_.frames.add(items[i].subtotal->size());
    store.give_back(items[i].subtotal, results.take(part, items[i]));
  }
  return i;
}

void Worker::take_one_by_one(Part& part, const core::Subtotal& subtotal) {
  const std::size_t size = subtotal.size();
  std::array<rte_mbuf*, core::most_grouped> buffers;
  for (std::size_t i = 0; i < size; ++i) {
    buffers[i] = frame_of(subtotal, i);
  }
  for (std::size_t i = 0, next; i < size; i = next) {
    const PortNumber in = subtotal.in(i);
    for (next = i + 1; next < size && subtotal.in(next) == in;) {
      ++next;
    }
    process(part, in, &buffers[i], static_cast<std::uint16_t>(next - i));
  }
}

/// Whether there is a buffer for that result, after those before it; allocates some if needed.
/// Without one frames are taken one by one, and their results need no buffers.
bool Worker::has_result_buffer(std::size_t i) {
  if (i < result_buffer_count_) [[likely]] {
    return true;
  }
  constexpr std::size_t at_once = 8;
  const std::size_t count = std::min(at_once, burst - result_buffer_count_);
  const auto made = std::span(result_buffers_).subspan(result_buffer_count_, count);
  if (!port::allocate(pool_, made)) {
    return false;
  }
  for (rte_mbuf* frame : made) {
    frame->data_len = wire::reduction_frame_bytes;
    frame->pkt_len = wire::reduction_frame_bytes;
  }
  result_buffer_count_ += count;
  return true;
}

/// As if its frames had arrived one by one: all before the last one were absorbed. `result`: the
/// result made from the last one, if any.
void Worker::trace_subtotal(const Part& part, const core::Subtotal& subtotal,
                            const core::Decision& of_last, const core::FrameView& result) {
  core::Decision absorbed{};
  absorbed.set(core::absorbed());
  const std::size_t last = subtotal.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const bool is_result = i == last && of_last.action != core::Action::absorb;
    const core::FrameView view = is_result ? result : view_of(frame_of(subtotal, i));
    trace_.add(now_, static_cast<std::uint8_t>(part.switch_index), subtotal.in(i),
               std::span(i == last ? &of_last : &absorbed, 1), std::span(&view, 1));
  }
  trace_.commit();
}

} // namespace tributary::worker
