#include "endpoint/library/host.hpp"

#include "endpoint/library/parameters.hpp"
#include "endpoint/transport/announcer.hpp"
#include "tributary/wire/hello.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

using tributary::Nid;
using tributary::TimeNs;
using tributary::TreeNumber;
using tributary::collective::TreeIndex;
using tributary::transport::Announcer;
using tributary::transport::RawSocket;
using tributary::transport::TransportError;
namespace wire = tributary::wire;

namespace {

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

} // namespace

tributary_host::tributary_host(const tributary_host_options& options)
    : ethertype_(options.ethertype),
      socket_(options.interface, options.ethertype, options.buffer_bytes),
      nid_(nid_for(options, socket_.address())), spin_ns_(std::uint64_t{options.spin_usec} * 1000) {
}

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
        socket_.interface(), ethertype_, nid_, tributary::transport::machine_name()));
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

tributary_group& tributary_host::add(const tributary::collective::GroupParameters& parameters) {
  throw_if_in_use(parameters, nullptr);
  groups_.push_back(std::make_unique<tributary_group>(*this, parameters));
  return *groups_.back();
}

void tributary_host::remove(tributary_group& group) {
  std::erase_if(groups_, [&](const auto& each) { return each.get() == &group; });
}

void tributary_host::start(tributary_group& group,
                           tributary::collective::VectorOperation& operation) {
  group.pipeline.start(operation, tributary::transport::now());
  try {
    socket_.send(group.member.outbox());
  } catch (const TransportError&) {
    // The frames stay in the outbox, so the next round meets the same error.
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
      const TimeNs now = tributary::transport::now();
      follow_moves(now);
      received = socket_.receive([&](std::span<const std::byte> bytes) { deliver(bytes, now); });
      for (const auto& group : groups_) {
        advance(*group, now);
      }
    } while (received == RawSocket::batch);
  } catch (const TransportError& error) {
    if (error.kind() != TransportError::Kind::interface_down) {
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
  socket_.send(group.member.outbox());
}

TimeNs tributary_host::next_deadline() const {
  TimeNs deadline = tributary::never;
  for (const auto& group : groups_) {
    deadline = std::min(deadline, group->member.next_deadline());
  }
  return deadline;
}

bool tributary_host::has_to_send() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return !group->member.outbox().empty(); });
}

void tributary_host::pause(TimeNs deadline) {
  const TimeNs begin = tributary::transport::now();
  const TimeNs due = std::min(deadline, next_deadline());
  if (spin_ns_ > 0) {
    const TimeNs spin_end = std::min(begin + spin_ns_, due);
    do {
      if (socket_.readable()) {
        return;
      }
    } while (tributary::transport::now() < spin_end);
  }
  socket_.wait(elapsed_ns(due, tributary::transport::now()), has_to_send());
}

void tributary_host::ride_out(const TransportError& error) {
  if (error.kind() != TransportError::Kind::interface_down) {
    throw error;
  }
  constexpr useconds_t between_looks = 10'000;
  ::usleep(between_looks);
}
