#include "endpoint/library/host.hpp"

#include "endpoint/library/announcer.hpp"
#include "endpoint/library/parameters.hpp"
#include "link/wait.hpp"
#include "tributary/wire/hello.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

using tributary::Nid;
using tributary::TimeNs;
using tributary::TreeNumber;
using tributary::collective::TreeIndex;
using tributary::library::Announcer;
using tributary::link::LinkError;
using tributary::link::RawSocket;
namespace wire = tributary::wire;

namespace {

/// A call that waits longer than this wants to know from the manager whether all are there.
constexpr std::uint64_t long_wait_ns = 2'000'000'000;
/// Between looks at the keeper while a call of a named group waits: nothing else may wake it.
constexpr std::uint64_t news_interval_ns = 250'000'000;

Nid nid_for(const tributary_host_options& options, const wire::MacAddress& address) {
  const Nid nid =
      options.nid == TRIBUTARY_NID_FROM_ADDRESS ? wire::nid_of(address) : Nid{options.nid};
  if (!wire::is_valid_nid(nid)) {
    throw std::invalid_argument(
        fmt::format("NID {:#x} cannot stand in a frame: it has 20 bits and may not begin with nine "
                    "1 bits; give another one in the options",
                    nid.value));
  }
  return nid;
}

/// Below these are lengths and Linux's pseudo protocols; 3 would take every frame of the interface.
std::uint16_t checked_ethertype(std::uint16_t ethertype) {
  constexpr std::uint16_t lowest = 0x0600;
  if (ethertype < lowest) {
    throw std::invalid_argument(
        fmt::format("{:#06x} is no EtherType: they begin at {:#06x}; it must be the one of the "
                    "switch port, {:#06x} unless that was told otherwise",
                    ethertype, lowest, wire::default_ethertype));
  }
  return ethertype;
}

/// Frames wait in the interface's queue as any host's do, and are short: the longest that is read
/// is a reduction frame with a trailer.
RawSocket::Options port_options(const tributary_host_options& options) {
  return {.bypass_queueing = false,
          .hears = true,
          .receive_buffer_bytes = options.buffer_bytes,
          .longest_frame = 128,
          .frames_at_once = RawSocket::longest_burst};
}
static_assert(wire::reduction_frame_bytes < 128);

} // namespace

tributary_host::tributary_host(const tributary_host_options& options)
    : ethertype_(checked_ethertype(options.ethertype)),
      port_(options.interface, ethertype_, port_options(options)),
      nid_(nid_for(options, port_.address())), spin_ns_(std::uint64_t{options.spin_usec} * 1000) {}

tributary_group* tributary_host::group_on(TreeNumber tree) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const auto& group) {
    const auto& parameters = group->member.parameters();
    return parameters.tree == tree || parameters.twin == tree;
  });
  return found == groups_.end() ? nullptr : found->get();
}

void tributary_host::throw_if_in_use(const tributary::collective::GroupParameters& parameters,
                                     const tributary_group* except) const {
  for (TreeIndex i = 0; i < parameters.tree_count(); ++i) {
    const TreeNumber tree = parameters.tree_at(i);
    const tributary_group* holder = group_on(tree);
    if (holder != nullptr && holder != except) {
      throw tributary::library::TreeInUse(
          fmt::format("this host is in a group on tree {} already; leave that one first, or use "
                      "another tree",
                      tree.value));
    }
  }
}

tributary::library::Keeper& tributary_host::keeper() {
  if (!keeper_) {
    keeper_ = std::make_unique<tributary::library::Keeper>(std::make_unique<Announcer>(
        port_.interface(), ethertype_, nid_, tributary::library::machine_name()));
  }
  return *keeper_;
}

void tributary_host::follow_moves(TimeNs now) {
  if (!keeper_ || keeper_->moves() == moves_seen_) {
    return;
  }
  moves_seen_ = keeper_->moves();
  for (const auto& [ticket, membership] : keeper_->take_moves()) {
    for (const auto& group : groups_) {
      if (!group->named || group->named->ticket != ticket) {
        continue;
      }
      tributary::library::NamedGroup& named = *group->named;
      try {
        const auto parameters = tributary::library::parameters_of(
            *this, tributary::library::options_of(named, membership));
        throw_if_in_use(parameters, group.get());
        group->member.move_to(parameters, now);
        named.membership = membership;
        named.trouble.clear();
      } catch (const std::exception& error) {
        named.trouble = error.what();
      }
    }
  }
}

void tributary_host::follow_news(TimeNs now) {
  if (!keeper_ || keeper_->news() == news_seen_) {
    return;
  }
  news_seen_ = keeper_->news();
  for (const auto& [ticket, news] : keeper_->take_news()) {
    for (const auto& group : groups_) {
      if (group->named && group->named->ticket == ticket) {
        take_news(*group, news, now);
      }
    }
  }
}

void tributary_host::take_news(tributary_group& group,
                               const tributary::manager_client::GroupNews& news, TimeNs now) {
  using tributary::collective::Failure;
  group.named->news = news;
  Failure failure{.reason = Failure::Reason::ended, .missing = {}, .one = {}, .other = {}};
  const auto gone = [&](const auto& absent) {
    return absent.gone && absent.rank != group.member.parameters().rank;
  };
  const bool one_died = std::ranges::any_of(
      news.absent, [&](const auto& absent) { return gone(absent) && !absent.left; });
  for (const auto& absent : news.absent) {
    // Whoever leaves while this member does is no reason to give up; nor is who left because
    // another one died.
    if (gone(absent) && !(absent.left && (group.leaving || one_died))) {
      failure.missing.add(absent.rank);
    }
  }
  if (news.lease_ended) {
    failure.missing.add(group.member.parameters().rank); // and a root tells its leaves so
  }
  if (!news.over_because.empty() || !failure.missing.empty()) {
    group.member.fail(failure, now);
  }
}

void tributary_host::watch(tributary_group& group, TimeNs now) {
  const std::uint64_t completed = group.member.statistics().completed;
  if (completed != group.completed || (group.pipeline.is_idle() && !group.leaving)) {
    group.completed = completed;
    group.moved_at = now;
  }
  const bool long_since = elapsed_ns(now, group.moved_at) >= long_wait_ns;
  if (group.named && group.named->hurried != long_since) {
    group.named->hurried = long_since;
    keeper_->hurry(group.named->ticket, long_since);
  }
}

tributary_group& tributary_host::add(const tributary::collective::GroupParameters& parameters) {
  throw_if_in_use(parameters, nullptr);
  groups_.push_back(std::make_unique<tributary_group>(*this, parameters));
  groups_.back()->moved_at = tributary::net::steady_now();
  return *groups_.back();
}

void tributary_host::remove(tributary_group& group) {
  std::erase_if(groups_, [&](const auto& each) { return each.get() == &group; });
}

void tributary_host::start(tributary_group& group,
                           tributary::collective::VectorOperation& operation) {
  const TimeNs now = tributary::net::steady_now();
  if (group.pipeline.is_idle()) {
    group.moved_at = now;
  }
  group.pipeline.start(operation, now);
  try {
    hand_over(group.member.outbox());
    port_.flush();
  } catch (const LinkError&) {
    // The frames stay, so the next round meets the same error.
  }
}

void tributary_host::throw_if_broken() const {
  if (broken_) {
    throw *broken_;
  }
}

void tributary_host::progress() {
  throw_if_broken();
  try {
    std::size_t received = 0;
    do {
      const TimeNs now = tributary::net::steady_now();
      follow_moves(now);
      follow_news(now);
      const auto frames = port_.receive();
      received = frames.size();
      for (const tributary::FrameView& frame : frames) {
        deliver({frame.data, frame.length}, now);
      }
      for (const auto& group : groups_) {
        advance(*group, now);
      }
      port_.flush();
    } while (received == port_.frames_at_once());
  } catch (const LinkError& error) {
    if (error.kind() != LinkError::Kind::interface_down) {
      broken_ = error;
    }
    throw;
  }
}

void tributary_host::deliver(std::span<const std::byte> bytes, TimeNs now) {
  if (wire::check_hello(bytes, ethertype_) == wire::HelloError::none) {
    return; // the switch's, for whom it may concern
  }
  wire::ReductionFrame frame;
  if (wire::decode(bytes, ethertype_, frame) != wire::DecodeError::none) {
    ++frames_unknown_;
    return;
  }
  tributary_group* group = group_on(frame.tree);
  if (group == nullptr) {
    ++frames_unknown_;
    return;
  }
  group->member.receive(frame, now);
}

void tributary_host::advance(tributary_group& group, TimeNs now) {
  if (now >= group.member.next_deadline()) {
    group.member.poll(now);
  }
  group.pipeline.pump(now);
  if (group.member.failure()) {
    group.pipeline.abandon();
  }
  watch(group, now);
  hand_over(group.member.outbox());
}

void tributary_host::hand_over(tributary::collective::Outbox& outbox) {
  if (!outbox.empty() && port_.longest_frame() < wire::reduction_frame_bytes) {
    throw tributary::link::link_error(EMSGSIZE, port_.interface(), "sending");
  }
  while (!outbox.empty()) {
    std::byte* const room = port_.room();
    if (room == nullptr) {
      return;
    }
    const auto& frame = outbox.front();
    std::memcpy(room, frame.data(), frame.size());
    outbox.pop(); // it is the port's, whatever push meets
    port_.push(static_cast<std::uint32_t>(wire::reduction_frame_bytes));
  }
}

TimeNs tributary_host::next_deadline() const {
  TimeNs deadline = tributary::never;
  for (const auto& group : groups_) {
    deadline = std::min(deadline, group->member.next_deadline());
    if (group->named && (group->leaving || !group->pipeline.is_idle())) {
      deadline = std::min(deadline, tributary::net::steady_now() + news_interval_ns);
    }
  }
  return deadline;
}

bool tributary_host::has_to_send() const {
  return port_.pending() > 0 || std::any_of(groups_.begin(), groups_.end(), [](const auto& group) {
           return !group->member.outbox().empty();
         });
}

bool tributary_host::has_to_send(tributary_group& group) const {
  return port_.pending() > 0 || !group.member.outbox().empty();
}

void tributary_host::pause(TimeNs deadline) {
  const TimeNs begin = tributary::net::steady_now();
  const TimeNs due = std::min(deadline, next_deadline());
  if (spin_ns_ > 0) {
    const TimeNs spin_end = std::min(begin + spin_ns_, due);
    do {
      if (tributary::link::readable(port_.fd())) {
        return;
      }
    } while (tributary::net::steady_now() < spin_end);
  }
  tributary::link::wait(port_.fd(), elapsed_ns(due, tributary::net::steady_now()), has_to_send());
}

void tributary_host::ride_out(const LinkError& error) {
  if (error.kind() != LinkError::Kind::interface_down) {
    throw error;
  }
  constexpr useconds_t between_looks = 10'000;
  ::usleep(between_looks);
}
