#include "endpoint/library/group.hpp"

#include "endpoint/library/host.hpp"
#include "lib/link/link_error.hpp"
#include "lib/net/steady_clock.hpp"

#include <cerrno>

using tributary::TimeNs;
namespace wire = tributary::wire;

tributary_request::tributary_request(tributary_group& in,
                                     const tributary::collective::VectorTask& task)
    : group(&in), operation(task, in.member.parameters().payload) {}

tributary_group::tributary_group(tributary_host& on,
                                 const tributary::collective::GroupParameters& parameters)
    : host(&on), member(parameters), pipeline(member), moved_at(tributary::net::steady_now()) {}

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
  if (named && named->hurried != long_since) {
    named->hurried = long_since;
    host->agent().hurry(named->ticket, long_since);
  }
}

void tributary_group::send(tributary::engine::Outlet& outlet) {
  auto& outbox = member.outbox();
  while (!outbox.empty()) {
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
