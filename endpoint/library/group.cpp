#include "endpoint/library/group.hpp"

#include "endpoint/library/host.hpp"
#include "lib/link/link_error.hpp"
#include "lib/net/steady_clock.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

using tributary::TimeNs;
namespace wire = tributary::wire;

tributary_request::tributary_request(tributary_group& in,
                                     const tributary::collective::VectorTask& task)
    : group(&in), operation(task, in.member.parameters().payload) {}

namespace {

/// Between looks at the agent while a call of a named group waits: nothing else may wake it.
constexpr std::uint64_t news_interval_ns = 250'000'000;

} // namespace

tributary_group::tributary_group(tributary_host& on,
                                 const tributary::collective::GroupParameters& parameters,
                                 std::shared_ptr<tributary::library::SharedTree> on_tree)
    : host(&on), member(parameters), pipeline(member), tree(std::move(on_tree)),
      moved_at(tributary::net::steady_now()) {}

TimeNs tributary_group::next_deadline() const {
  const TimeNs due = member.next_deadline();
  return named() != nullptr && waits()
             ? std::min(due, tributary::net::steady_now() + news_interval_ns)
             : due;
}

void tributary_group::receive(std::span<const tributary::FrameView> frames, TimeNs now) {
  for (const tributary::FrameView& each : frames) {
    frames_unknown += member.receive({each.data, each.length}, now) ? 0 : 1;
  }
}

void tributary_group::poll(TimeNs now) {
  if (now >= member.next_deadline()) {
    member.poll(now);
  }
  pipeline.pump(now);
  if (member.failure()) {
    pipeline.abandon();
  }
  watch(now);
}

void tributary_group::watch(TimeNs now) {
  const std::uint64_t completed = member.statistics().completed;
  if (completed != completed_ || (pipeline.is_idle() && !leaving)) {
    completed_ = completed;
    moved_at = now;
  }
  const bool long_since = elapsed_ns(now, moved_at) >= tributary::library::long_wait_ns;
  if (named() != nullptr && waits_long_ != long_since) {
    waits_long_ = long_since;
    tree->waiting_long = long_since ? tree->waiting_long + 1 : tree->waiting_long - 1;
    if (tree->waiting_long == (long_since ? 1U : 0U)) {
      host->agent().hurry(named()->ticket, long_since);
    }
  }
}

void tributary_group::end_watch() {
  if (std::exchange(waits_long_, false) && --tree->waiting_long == 0) {
    host->agent().hurry(named()->ticket, false);
  }
}

void tributary_group::send(tributary::engine::Outlet& outlet) {
  auto& outbox = member.outbox();
  while (has_to_send()) {
    if (outlet.longest_frame() < outbox.front_bytes()) {
      throw tributary::link::link_error(EMSGSIZE, host->interface(), "sending");
    }
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return;
    }
    const auto begun = outbox.begin_front(room);
    outbox.pop(); // it is the link's, even if push throws
    outlet.push(static_cast<std::uint32_t>(begun.bytes), begun.rest);
  }
}
