#include "endpoint/library/group.hpp"

#include "endpoint/library/host.hpp"
#include "link/link_error.hpp"
#include "net/steady_clock.hpp"

#include <cerrno>
#include <cstring>

using tributary::TimeNs;
namespace wire = tributary::wire;

namespace {

/// A call that waits longer than this wants to know from the manager whether all are there.
constexpr std::uint64_t long_wait_ns = 2'000'000'000;

} // namespace

tributary_group::tributary_group(tributary_host& on,
                                 const tributary::collective::GroupParameters& parameters)
    : host(&on), member(parameters), pipeline(member), moved_at(tributary::net::steady_now()) {}

void tributary_group::receive(std::span<const tributary::FrameView> frames, TimeNs now) {
  for (const tributary::FrameView& each : frames) {
    wire::ReductionFrame frame;
    if (wire::decode({each.data, each.length}, host->ethertype(), frame) ==
        wire::DecodeError::none) {
      member.receive(frame, now);
    } else {
      ++frames_unknown;
    }
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
  const bool long_since = elapsed_ns(now, moved_at) >= long_wait_ns;
  if (named && named->hurried != long_since) {
    named->hurried = long_since;
    host->agent().hurry(named->ticket, long_since);
  }
}

void tributary_group::send(tributary::engine::Outlet& outlet) {
  auto& outbox = member.outbox();
  if (!outbox.empty() && outlet.longest_frame() < wire::reduction_frame_bytes) {
    throw tributary::link::link_error(EMSGSIZE, host->interface(), "sending");
  }
  while (!outbox.empty()) {
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return;
    }
    const auto& frame = outbox.front();
    std::memcpy(room, frame.data(), frame.size());
    outbox.pop(); // it is the link's, whatever push meets
    outlet.push(static_cast<std::uint32_t>(wire::reduction_frame_bytes));
  }
}
