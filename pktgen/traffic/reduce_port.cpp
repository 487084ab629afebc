#include "pktgen/traffic/reduce_port.hpp"

#include "pktgen/scenario/reduce_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace tributary::pktgen::traffic {

using scenario::Reduce;
using scenario::Skew;

namespace {

/// Members served before other ports, and frames received meanwhile, have their turn.
constexpr std::size_t turn = 256;
/// Leaves whose memory is prefetched: each is served in about the time that takes.
constexpr std::uint32_t prefetch_distance = 2;
/// Frames of all reductions of a tree may wait here at the same time, each with its successor.
std::size_t work_per_tree(const Reduce& reduce) { return 2 * std::size_t{reduce.slots} + 2; }
/// Room for what one member sends in one step, and for what others left there.
std::size_t outbox_room(std::size_t most_frames_at_once) {
  return std::max(collective::Outbox::capacity,
                  std::bit_ceil(most_frames_at_once + most_frames_at_once / 2));
}
/// Bytes of the longest vector that may wait.
std::size_t longest_vector(const Reduce& reduce) {
  return scenario::has_wide_frames(reduce) ? reduce.payload : 0;
}

collective::GroupParameters parameters_of(const Reduce& reduce, const PortMembers& members,
                                          std::uint32_t tree, std::uint32_t rank) {
  collective::GroupParameters p;
  p.tree = TreeNumber{static_cast<std::uint16_t>(reduce.first_tree + tree)};
  p.vni = Vni{reduce.vni};
  p.cookie = Cookie{reduce.cookie};
  p.rank = rank;
  p.size = reduce.leaves + 1;
  p.root_rank = 0;
  p.nid = Nid{members.first_nid + rank};
  p.root_nid = Nid{members.first_nid};
  p.ethertype = members.ethertype;
  p.destination = wire::port_mac(p.nid);
  p.source = members.address;
  p.armed = reduce.armed;
  p.slots = reduce.slots;
  p.payload = reduce.payload;
  p.retry_ns = static_cast<std::uint64_t>(reduce.retry.count());
  p.result_timeout_ns =
      std::max(p.result_timeout_ns, collective::first_request_retries * p.retry_ns);
  return p;
}

} // namespace

template <typename Role>
ReducePort<Role>::ReducePort(ReduceGroup& group, const PortMembers& members, std::uint64_t seed)
    : group_(group), first_tree_(members.first_tree), tree_step_(members.tree_step),
      per_tree_(static_cast<std::uint32_t>(members.ranks.size())), root_nid_{members.first_nid},
      most_frames_at_once_(std::size_t{group.settings().slots} + 2),
      outbox_(outbox_room(most_frames_at_once_)),
      vectors_(work_per_tree(group.settings()) * group.trees(), longest_vector(group.settings())),
      in_lockstep_(!is_root && members.together && group.settings().skew == Skew::none),
      ring_(work_per_tree(group.settings()) * group.trees()), progressed_(group.trees()),
      poll_waits_(group.trees()), random_(seed),
      tampering_(is_root ? scenario::Tampering{} : group.settings().tampering, seed + 1,
                 std::size_t{per_tree_} * group.trees() * group.settings().slots) {
  const Reduce& reduce = group.settings();
  members_.reserve(std::size_t{kept_per_tree()} * (reduce.trees / tree_step_ + 1));
  for (std::uint32_t tree = first_tree_; tree < reduce.trees; tree += tree_step_) {
    for (const std::uint32_t rank : std::span(members.ranks).first(kept_per_tree())) {
      members_.emplace_back(parameters_of(reduce, members, tree, rank), outbox_, reduce.in_flight);
    }
  }
  if (!is_root) {
    leaves_.reserve(per_tree_);
    for (const std::uint32_t rank : members.ranks) {
      leaves_.emplace_back(parameters_of(reduce, members, first_tree_, rank));
    }
  }
  if (in_lockstep_) {
    step_.frames.reserve(most_frames_at_once_);
    step_.latencies.reserve(reduce.in_flight);
  }
  if (reduce.skew != Skew::none && !is_root) {
    starts_.reserve(members_.size() * reduce.in_flight);
  }
}

template <typename Role> bool ReducePort<Role>::put(const Work& work) {
  if (waiting_ == ring_.size()) {
    return false;
  }
  ring_[(first_ + waiting_++) % ring_.size()] = work;
  return true;
}

template <typename Role>
void ReducePort<Role>::receive(std::uint32_t tree, const collective::ReceivedFrame& frame,
                               TimeNs now) {
  progressed_[tree] = now;
  if (!is_root && frame.frame.source_nid != root_nid_) {
    count_foreign(frame.frame.source_nid);
    return;
  }
  if (is_root && waiting_ == 0 && has_room()) {
    // The usual case at the root, and no copy.
    Member& member = *first_member(tree);
    member.role().receive(frame.frame, now, frame.vector);
    ReduceGroup::Arrived none;
    go_on(member, tree, none, now, now);
    return;
  }
  std::optional<collective::WideView> vector;
  if (waiting_ != ring_.size()) {
    vector = frame.vector.is_wide() ? vectors_.keep(frame.vector) : collective::WideView{};
  }
  if (!vector) {
    ++group_.accounts().overruns;
    return;
  }
  put({Work::Kind::frame, tree, 0, now, {}, first_member(tree), frame.frame, {*vector}});
}

template <typename Role> void ReducePort<Role>::count_foreign(Nid source) {
  const bool is_back = std::ranges::any_of(leaves_, [&](const LeafIdentity& leaf) {
    return root_nid_.value + leaf.rank == source.value;
  });
  foreign_.frames_received += per_tree_;
  foreign_.misdirected += is_back ? 1 : 0;
  foreign_.foreign += per_tree_ - (is_back ? 1 : 0);
}

template <typename Role> void ReducePort<Role>::prompt(std::uint32_t tree, TimeNs now) {
  if (has(tree)) {
    // Without room, the members check on their own when they are served next.
    put({Work::Kind::prompt, tree, 0, now, {}, first_member(tree), {}, {}});
  }
}

template <typename Role> void ReducePort<Role>::poll(TimeNs now) {
  const auto quiet_ns = static_cast<std::uint64_t>(group_.settings().retry.count()) / 2;
  for (std::uint32_t tree = first_tree_; tree < group_.trees(); tree += tree_step_) {
    bool due = false;
    if constexpr (is_root) {
      due = first_member(tree)->role().next_deadline() <= now;
    } else {
      // Thousands of timers are costly to check, and may be late: they are for lost frames, and
      // then their tree makes no progress.
      due = elapsed_ns(now, progressed_[tree]) >= quiet_ns;
    }
    if (due && poll_waits_[tree] == 0 &&
        put({Work::Kind::poll, tree, 0, now, {}, first_member(tree), {}, {}})) {
      poll_waits_[tree] = 1;
    }
  }
}

template <typename Role> bool ReducePort<Role>::has_room() const {
  return outbox_.room() >= most_frames_at_once_;
}

template <typename Role> void ReducePort<Role>::work(link::Port& port, TimeNs now) {
  if (!drain(port, now)) {
    return;
  }
  take_starts(now);
  for (std::size_t served = 0; waiting_ != 0 && served < turn;) {
    if (!has_room() && !drain(port, now)) {
      return;
    }
    Work& work = ring_[first_];
    const std::uint32_t before = work.next;
    if (!in_lockstep_) {
      serve(work, now);
    } else if (!serve_together(work, port, turn - served, now)) {
      return;
    }
    served += work.next - before;
    if (work.next == per_tree_) {
      pop_work();
    }
  }
  drain(port, now);
}

template <typename Role> void ReducePort<Role>::pop_work() {
  const Work& work = ring_[first_];
  poll_waits_[work.tree] = work.kind == Work::Kind::poll ? 0 : poll_waits_[work.tree];
  if (work.arrived.vector.is_wide()) {
    vectors_.release();
  }
  first_ = first_ + 1 == ring_.size() ? 0 : first_ + 1;
  --waiting_;
}

template <typename Role> void ReducePort<Role>::serve(Work& work, TimeNs now) {
  work.begun = work.next == 0 ? now : work.begun;
  Member& member = work.members[work.next++];
  if constexpr (!is_root) {
    if (work.kind == Work::Kind::frame && work.next + prefetch_distance < kept_per_tree()) {
      (&member + prefetch_distance + 1)->prefetch(work.frame.reduction);
    }
  }
  switch (work.kind) {
  case Work::Kind::frame: member.role().receive(work.frame, work.at, work.arrived.vector); break;
  case Work::Kind::poll: member.role().poll(work.begun); break;
  case Work::Kind::prompt: break;
  }
  go_on(member, work.tree, work.arrived, work.at, work.begun);
}

template <typename Role>
bool ReducePort<Role>::serve_together(Work& work, link::Port& port, std::size_t most, TimeNs now) {
  if (!step_.begun) {
    lead(work, now);
  }
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(per_tree_, work.next + most));
  const std::uint32_t first = work.next;
  const bool sent = tampering_.is_active() ? send_through_outbox(work, port, end, now)
                                           : send_alike(work, port, end, now);
  // The leader's own were counted when it did them.
  account_alike(work.next - std::min(work.next, std::max(first, 1U)));
  if (work.next == per_tree_) {
    step_.clear();
  }
  return sent;
}

/// The first member performs the work; its frames are kept for all.
template <typename Role> void ReducePort<Role>::lead(Work& work, TimeNs now) {
  if constexpr (!is_root) {
    Member& leader = *work.members;
    step_.begun = true;
    step_.oldest = leader.oldest();
    step_.statistics = leader.role().channel().statistics;
    const std::size_t before = outbox_.size(); // altered frames of members that were served before
    serve(work, now);
    work.next = 0;
    for (std::size_t i = before; i < outbox_.size(); ++i) {
      const collective::Outbox::Frame& frame = outbox_[i];
      const ReductionId id = wire::dfa_of(frame.data() + wire::ethernet_header_bytes).slot();
      const std::uint32_t row = group_.operands().place_of(leader.role().newest_piece(id)).row;
      step_.frames.emplace_back(frame, leaves_.front(), group_.operands(), row);
    }
    outbox_.pop_newest(outbox_.size() - before);
  }
}

template <typename Role>
bool ReducePort<Role>::send_alike(Work& work, link::Port& port, std::uint32_t end, TimeNs) {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  bool has_room = true;
  const auto send = [&](const FrameTemplate& frame, const LeafIdentity& leaf) {
    std::byte* const room = port.room();
    if (room == nullptr) {
      return false;
    }
    std::size_t length = wire::reduction_frame_bytes;
    if (frame.is_whole()) {
      frame.write(leaf, room);
    } else {
      collective::Outbox::Frame header;
      frame.write(leaf, header.data());
      length = collective::Outbox::write(header, room);
    }
    port.push(static_cast<std::uint32_t>(length));
    ++frames;
    bytes += length;
    return true;
  };
  for (; work.next < end && has_room; work.next += has_room ? 1 : 0) {
    for (; step_.next_frame < step_.frames.size() && has_room;
         step_.next_frame += has_room ? 1 : 0) {
      has_room = send(step_.frames[step_.next_frame], leaves_[work.next]);
    }
    step_.next_frame = has_room ? 0 : step_.next_frame;
  }
  if (group_.is_counting()) {
    ReduceAccounts& accounts = group_.accounts();
    accounts.sent += {frames, bytes};
    accounts.contributions += {frames, bytes};
  }
  return has_room;
}

template <typename Role>
bool ReducePort<Role>::send_through_outbox(Work& work, link::Port& port, std::uint32_t end,
                                           TimeNs now) {
  for (; work.next < end; ++work.next) {
    if (!has_room() && !drain(port, now)) {
      return false;
    }
    for (const FrameTemplate& frame : step_.frames) {
      frame.write(leaves_[work.next], outbox_.add()->data());
    }
  }
  return true;
}

template <typename Role> void ReducePort<Role>::account_alike(std::uint64_t members) {
  ReduceAccounts& accounts = group_.accounts();
  accounts.results_checked += members * step_.results;
  accounts.payload_bytes_at_leaves += members * step_.payload_bytes;
  accounts.operations_at_leaves += members * step_.latencies.size();
  for (const std::uint64_t latency : step_.latencies) {
    accounts.at_leaves.record(latency, members);
  }
}

template <typename Role>
void ReducePort<Role>::go_on(Member& member, std::uint32_t tree, ReduceGroup::Arrived& arrived,
                             TimeNs at, TimeNs now) {
  do {
    gather(member, tree, arrived, at);
    begin_operations(member, tree, at, now);
    // A root that all others have been waiting for completes its injection immediately.
  } while (is_root && member.has_completions());
}

template <typename Role>
void ReducePort<Role>::gather(Member& member, std::uint32_t tree, ReduceGroup::Arrived& arrived,
                              TimeNs at) {
  ReduceAccounts& accounts = group_.accounts();
  member.take_completions(
      group_.operands(),
      [&](const ReduceOperands::Place& place, const collective::Completion& completion) {
        const bool is_measured = group_.is_measured(tree, place.operation);
        const std::uint32_t bytes = group_.operands().element_bytes_of(place.row);
        if constexpr (is_root) {
          ReduceGroup::Arrived own{member.role().last_vector(
              collective::reduction_of(completion.piece, group_.settings().slots))};
          group_.check(tree, member.rank(), place, completion, own);
          if (is_measured) {
            accounts.add_piece(completion, bytes);
          }
        } else {
          group_.check(tree, member.rank(), place, completion, arrived);
          accounts.payload_bytes_at_leaves += is_measured ? bytes : 0;
          if (in_lockstep_) {
            check_alike(tree, place, completion, arrived);
            step_.payload_bytes += is_measured ? bytes : 0;
          }
        }
      },
      [&](std::uint64_t operation, TimeNs intended) {
        if (!group_.is_measured(tree, operation)) {
          return;
        }
        const std::uint64_t latency = elapsed_ns(at, intended);
        (is_root ? accounts.at_root : accounts.at_leaves).record(latency);
        ++(is_root ? accounts.operations : accounts.operations_at_leaves);
        if (in_lockstep_) {
          step_.latencies.push_back(latency);
        }
      });
}

/// The leader's result has been checked; all others got the same one.
template <typename Role>
void ReducePort<Role>::check_alike(std::uint32_t tree, const ReduceOperands::Place& place,
                                   const collective::Completion& completion,
                                   ReduceGroup::Arrived& arrived) {
  if (ReduceGroup::is_known_right(place, completion, arrived)) {
    step_.results += group_.is_measured(tree, place.operation) ? 1 : 0;
    return;
  }
  for (std::size_t i = 1; i < leaves_.size(); ++i) {
    group_.check(tree, leaves_[i].rank, place, completion, arrived);
  }
}

template <typename Role>
void ReducePort<Role>::begin_operations(Member& member, std::uint32_t tree, TimeNs at, TimeNs now) {
  while (member.may_schedule(group_.limit(tree))) {
    const std::uint64_t operation = member.scheduled();
    const TimeNs meant = group_.is_open_loop() ? group_.intended(tree, operation) : at;
    const TimeNs start = with_skew(meant, member, operation);
    member.schedule(start, group_.operands().pieces_of(operation));
    if (start <= now) {
      member.release(operation);
    } else {
      starts_.push_back({start, static_cast<std::uint32_t>(&member - members_.data()), operation});
      std::push_heap(starts_.begin(), starts_.end());
    }
  }
  member.inject(group_.operands(), now);
}

template <typename Role>
TimeNs ReducePort<Role>::with_skew(TimeNs at, const Member& member, std::uint64_t operation) {
  const Reduce& reduce = group_.settings();
  const auto by = static_cast<std::uint64_t>(reduce.skew_by.count());
  if (is_root || by == 0) {
    return at;
  }
  // 53 bits, as many as a double has: 0 <= share < 1.
  const auto share = [&] { return std::ldexp(static_cast<double>(random_.next() >> 11), -53); };
  switch (reduce.skew) {
  case Skew::none: return at;
  case Skew::uniform: return at + static_cast<std::uint64_t>(share() * static_cast<double>(by));
  case Skew::exponential:
    return at + static_cast<std::uint64_t>(-std::log1p(-share()) * static_cast<double>(by));
  case Skew::straggler: return operation % reduce.leaves + 1 == member.rank() ? at + by : at;
  }
  return at;
}

template <typename Role> void ReducePort<Role>::take_starts(TimeNs now) {
  while (!starts_.empty() && starts_.front().at <= now && has_room()) {
    const Start start = starts_.front();
    std::pop_heap(starts_.begin(), starts_.end());
    starts_.pop_back();
    Member& member = members_[start.member];
    member.release(start.operation);
    member.inject(group_.operands(), now);
  }
}

template <typename Role> bool ReducePort<Role>::drain(link::Port& port, TimeNs now) {
  ReduceAccounts& accounts = group_.accounts();
  const bool counting = group_.is_counting();
  const auto send = [&](std::byte* room, const collective::Outbox::Frame& frame) {
    const auto bytes = static_cast<std::uint32_t>(collective::Outbox::write(frame, room));
    port.push(bytes);
    if (counting) {
      accounts.sent.add(bytes);
      if (!is_root) {
        accounts.contributions.add(bytes);
      }
    }
  };
  while (const collective::Outbox::Frame* late = tampering_.due(now)) {
    std::byte* room = port.room();
    if (room == nullptr) {
      return false;
    }
    send(room, *late);
    tampering_.release_due();
  }
  for (; !outbox_.empty(); outbox_.pop()) {
    const collective::Outbox::Frame& frame = outbox_.front();
    std::byte* room = port.room();
    if (room == nullptr) {
      return false;
    }
    if (!is_root && tampering_.is_active()) {
      const Tamper how = tampering_.draw(frame);
      collective::Outbox::Frame altered;
      switch (how) {
      case Tamper::none: break;
      case Tamper::absent: tampering_.count(how); continue;
      case Tamper::late:
        // More than one per operation in flight are repetitions of frames held already: sent
        // immediately, they would undo the lateness.
        tampering_.count(tampering_.hold(frame, now) ? how : Tamper::absent);
        continue;
      case Tamper::wrong_opcode: {
        Tamperer::alter(how, frame, altered);
        const wire::FabricAddress address =
            wire::dfa_of(frame.data() + wire::ethernet_header_bytes);
        group_.expect_mismatch(address.tree().value - group_.settings().first_tree,
                               group_.settings().slots > reductions_per_tree ? address.slot()
                                                                             : address.reduction());
        tampering_.count(how);
        send(room, altered);
        continue;
      }
      case Tamper::wrong_cookie:
      case Tamper::wrong_vni:
      case Tamper::stale:
        Tamperer::alter(how, frame, altered);
        tampering_.count(how);
        send(room, altered);
        room = port.room();
        if (room == nullptr) {
          return false; // the right one stays for the next time
        }
        break;
      }
    }
    send(room, frame);
  }
  return true;
}

template <typename Role> bool ReducePort<Role>::give_up(link::Port& port, TimeNs now) {
  waiting_ = 0;
  step_.clear();
  vectors_.clear();
  starts_.clear();
  if constexpr (is_root) {
    for (Member& member : members_) {
      if (!has_room() && !drain(port, now)) {
        return false;
      }
      if (!member.role().left()) {
        member.role().give_up(now);
      }
    }
    return drain(port, now);
  }
  return true;
}

template <typename Role> TimeNs ReducePort<Role>::next_due() const {
  if (waiting_ != 0 || !outbox_.empty()) {
    return TimeNs{0};
  }
  const TimeNs start = starts_.empty() ? never : starts_.front().at;
  return std::min(start, tampering_.next_due());
}

template <typename Role> template <typename F> void ReducePort<Role>::for_each_tree(F&& f) const {
  std::span<const Member> rest = members_;
  for (std::uint32_t tree = first_tree_; tree < group_.trees(); tree += tree_step_) {
    f(tree, rest.first(kept_per_tree()));
    rest = rest.subspan(kept_per_tree());
  }
}

template <typename Role>
void ReducePort<Role>::raise_scheduled(std::vector<std::uint64_t>& scheduled) const {
  for_each_tree([&](std::uint32_t tree, std::span<const Member> members) {
    for (const Member& member : members) {
      scheduled[tree] = std::max(scheduled[tree], member.scheduled());
    }
  });
}

template <typename Role> bool ReducePort<Role>::is_finished() const {
  bool finished = true;
  for_each_tree([&](std::uint32_t tree, std::span<const Member> members) {
    finished = finished && oldest_of(tree, members) >= group_.limit(tree);
  });
  return finished;
}

template <typename Role>
std::uint64_t ReducePort<Role>::oldest_of(std::uint32_t tree,
                                          std::span<const Member> members) const {
  std::uint64_t oldest = is_amid_step(tree) ? step_.oldest : ReduceGroup::no_end;
  for (const Member& member : members) {
    oldest = std::min(oldest, member.oldest());
  }
  return oldest;
}

template <typename Role> std::uint64_t ReducePort<Role>::unfinished() const {
  std::uint64_t most = 0;
  for_each_tree([&](std::uint32_t tree, std::span<const Member> members) {
    const std::uint64_t limit = group_.limit(tree);
    most += limit == ReduceGroup::no_end ? 0 : limit - std::min(limit, oldest_of(tree, members));
  });
  return most;
}

template <typename Role> collective::Statistics ReducePort<Role>::statistics() const {
  collective::Statistics sum = foreign_;
  const auto add = [&](const collective::Statistics& one, std::uint64_t times) {
#define TRIBUTARY_X(name, text) sum.name += times * one.name;
    TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  };
  for_each_tree([&](std::uint32_t tree, std::span<const Member> members) {
    const std::uint64_t behind = is_amid_step(tree) ? per_tree_ - ring_[first_].next : 0;
    add(step_.statistics, behind);
    for (const Member& member : members) {
      add(member.role().channel().statistics, per_tree_ / members.size() - behind);
    }
  });
  return sum;
}

template <typename Role> std::string ReducePort<Role>::waiting_for(TimeNs now) const {
  const Member* longest = nullptr;
  collective::ReductionStatus status;
  for (const Member& member : members_) {
    for (const collective::ReductionStatus& each : member.role().status()) {
      const bool waits = each.waiting == collective::Waiting::for_contributions ||
                         each.waiting == collective::Waiting::for_arm ||
                         each.waiting == collective::Waiting::for_result;
      if (waits && (longest == nullptr || each.since < status.since)) {
        longest = &member;
        status = each;
      }
    }
  }
  if (longest == nullptr) {
    return {};
  }
  std::string text =
      fmt::format("tree {}: rank {}, piece {}, {} for {:.3f} s",
                  longest->role().channel().parameters.tree.value, longest->rank(), status.piece,
                  collective::name_of(status.waiting), seconds_of(elapsed_ns(now, status.since)));
  if (status.waiting == collective::Waiting::for_contributions) {
    text += fmt::format(" ({} of {} came", status.count, status.size);
    text += status.missing_rank ? fmt::format(", rank {} is missing)", *status.missing_rank) : ")";
  }
  return text;
}

template class ReducePort<collective::Root>;
template class ReducePort<collective::Leaf>;

} // namespace tributary::pktgen::traffic
