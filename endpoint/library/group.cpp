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
    : group(&in), by(&in),
      operation(std::in_place_type<Reduction>, task, in.member.parameters().payload) {}

tributary_request::tributary_request(tributary_group& in, tributary_group& user,
                                     tributary::reliable_multicast::Task task)
    : group(&in), by(&user), operation(std::in_place_type<Multicast>, std::move(task),
                                       user.multicast->parameters().chunk_bytes,
                                       user.multicast->parameters().window_chunks) {}

bool tributary_request::finished() const {
  return std::visit([](const auto& each) { return each.finished(); }, operation);
}

bool tributary_request::is_over() const { return finished() || by->has_failed(); }

namespace {

/// Between looks at the agent while a call of a named group waits: nothing else may wake it.
constexpr std::uint64_t news_interval_ns = 250'000'000;

} // namespace

tributary_group::tributary_group(tributary_host& on,
                                 const tributary::collective::GroupParameters& parameters,
                                 std::shared_ptr<tributary::library::SharedTree> on_tree)
    : host(&on), member(parameters), pipeline(member), tree(std::move(on_tree)),
      moved_at(tributary::net::steady_now()) {}

void tributary_group::begin_lane(tributary::library::Lane of) {
  lane = of;
  multicast.emplace(*tributary::library::lane_parameters(member.parameters(), of));
}

void tributary_group::move_multicasts(TimeNs now) {
  if (!multicast) {
    return;
  }
  if (const auto p = tributary::library::lane_parameters(member.parameters(), lane)) {
    multicast->move_to(p->group, now);
  } else { // the new trees cannot do it
    using tributary::reliable_multicast::Verdict;
    multicast->fail({.what = Verdict::What::ended, .missing = {}}, now);
  }
}

void tributary_group::fail(const tributary::collective::Failure& failure, TimeNs now) {
  using tributary::reliable_multicast::Verdict;
  member.fail(failure, now);
  if (multicast) {
    multicast->fail({.what = Verdict::What::ended, .missing = failure.missing}, now);
  }
}

TimeNs tributary_group::next_deadline() const {
  const TimeNs due = multicast ? std::min(member.next_deadline(), multicast->next_deadline())
                               : member.next_deadline();
  return named() != nullptr && waits()
             ? std::min(due, tributary::net::steady_now() + news_interval_ns)
             : due;
}

void tributary_group::receive(std::span<const tributary::FrameView> frames, TimeNs now) {
  if (multicast) {
    for (const tributary::FrameView& each : frames) {
      frames_unknown += multicast->receive({each.data, each.length}, now) ? 0 : 1;
    }
    return;
  }
  for (const tributary::FrameView& each : frames) {
    frames_unknown += member.receive({each.data, each.length}, now) ? 0 : 1;
  }
}

void tributary_group::poll(TimeNs now) {
  if (now >= member.next_deadline()) {
    member.poll(now);
  }
  if (multicast && now >= multicast->next_deadline()) {
    multicast->poll(now);
  }
  pipeline.pump(now);
  if (member.failure()) {
    pipeline.abandon();
  }
  watch(now);
}

void tributary_group::watch(TimeNs now) {
  const std::uint64_t completed =
      member.statistics().completed + (multicast ? multicast->windows() : 0);
  if (completed != completed_ || !waits()) {
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
  if (multicast) { // the member then has nothing but notices of its end
    while (multicast->has_to_send()) {
      if (outlet.longest_frame() < multicast->next_frame_bytes()) {
        throw tributary::link::link_error(EMSGSIZE, host->interface(), "sending");
      }
      std::byte* const room = outlet.room();
      if (room == nullptr) {
        return;
      }
      const auto begun = multicast->take_frame(room);
      outlet.push(static_cast<std::uint32_t>(begun.bytes), begun.rest);
    }
  }
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
