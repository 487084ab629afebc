#include "tests/fabric/group.hpp"

#include "tests/fabric/member_parameters.hpp"
#include "tests/fabric/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tributary::fabric {

using collective::Completion;
using collective::PieceNumber;
using collective::reduction_of;

/// One member and the application above it.
class Group::Application {
public:
  Application(Group& group, const collective::GroupParameters& parameters)
      : group_(group), member_(parameters),
        random_(Random(group.setup_.seed).fork(parameters.rank)),
        next_injection_(group.setup_.start + random_.below(group.setup_.gap_ns + 1)) {}

  void receive(std::span<const std::byte> frame, TimeNs now, HostPort& port) {
    member_.receive(frame, now);
    proceed(now, port);
  }

  void wake(TimeNs now, HostPort& port) {
    member_.poll(now);
    proceed(now, port);
  }

  [[nodiscard]] TimeNs next_wake() const {
    const bool may_inject = has_work() && member_.can_inject();
    return std::min(member_.next_deadline(), may_inject ? injection_time() : never);
  }

  [[nodiscard]] const collective::Member& member() const { return member_; }
  [[nodiscard]] std::uint64_t completed() const { return completed_; }
  [[nodiscard]] std::uint64_t longest_ns() const { return longest_ns_; }

private:
  [[nodiscard]] bool has_work() const {
    return member_.next_piece() < group_.workload_.pieces() && !leaving_;
  }
  [[nodiscard]] TimeNs injection_time() const {
    const Misbehaviour* m = misbehaviour();
    return m != nullptr && m->not_before ? std::max(*m->not_before, next_injection_)
                                         : next_injection_;
  }
  [[nodiscard]] const Misbehaviour* misbehaviour() const {
    const auto found =
        group_.misbehaviours_.find({member_.parameters().rank, member_.next_piece()});
    return found == group_.misbehaviours_.end() ? nullptr : &found->second;
  }

  /// Does all that can be done now: an injection may complete immediately, and make room for the
  /// next.
  void proceed(TimeNs now, HostPort& port) {
    for (bool progress = true; progress;) {
      progress = false;
      send_all(port);
      while (const auto completion = member_.take_completion()) {
        ++completed_;
        longest_ns_ = std::max(
            longest_ns_, elapsed_ns(now, injected_at_[reduction_of(completion->piece).value]));
        group_.on_completion(member_.parameters().rank, *completion);
        progress = true;
      }
      if (has_work() && member_.can_inject() && now >= injection_time()) {
        inject(now);
        progress = true;
      }
    }
    if ((completed_ == group_.workload_.pieces() || member_.failure()) && !leaving_) {
      leaving_ = true;
      member_.leave(now);
      send_all(port);
    }
  }

  void inject(TimeNs now) {
    const Misbehaviour* m = misbehaviour();
    if (m != nullptr && m->not_before) {
      group_.fabric_.count(Fault::late_member);
    }
    if (m != nullptr && m->opcode) {
      group_.fabric_.count(Fault::wrong_opcode);
    }
    injected_at_[reduction_of(member_.next_piece()).value] = now;
    const std::uint32_t elements =
        m != nullptr && m->elements ? *m->elements : group_.setup_.elements;
    member_.inject(group_.operand(member_.next_piece(), member_.parameters().rank), now,
                   collective::mark_of({.elements = elements}));
    next_injection_ = now + random_.below(group_.setup_.gap_ns + 1);
  }

  void send_all(HostPort& port) {
    for (auto& outbox = member_.outbox(); !outbox.empty(); outbox.pop()) {
      port.send(outbox.front(), group_.setup_.traffic_class);
    }
  }

  Group& group_;
  collective::Member member_;
  Random random_;
  TimeNs next_injection_;
  std::array<TimeNs, reductions_per_tree> injected_at_{};
  std::uint64_t longest_ns_ = 0;
  std::uint64_t completed_ = 0;
  bool leaving_ = false;
};

Group::Group(Fabric& fabric, const GroupSetup& setup)
    : fabric_(fabric), setup_(setup),
      workload_(setup.seed, setup.pieces, static_cast<std::uint32_t>(setup.hosts.size()),
                setup.only) {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    applications_.push_back(std::make_unique<Application>(*this, member_parameters(setup, rank)));
  }
}

Group::~Group() = default;

void Group::misbehave(std::uint32_t rank, PieceNumber piece, const Misbehaviour& how) {
  misbehaviours_[{rank, piece}] = how;
}

void Group::misbehave_always(std::uint32_t rank, const Misbehaviour& how) {
  for (PieceNumber piece = 0; piece < workload_.pieces(); ++piece) {
    misbehave(rank, piece, how);
  }
}

collective::Operand Group::operand(PieceNumber piece, std::uint32_t rank) const {
  collective::Operand operand = workload_.operand(piece, rank);
  if (const auto m = misbehaviours_.find({rank, piece});
      m != misbehaviours_.end() && m->second.opcode) {
    operand.op = *m->second.opcode;
  }
  return operand;
}

void Group::on_completion(std::uint32_t rank, const Completion& finished) {
  Completion completion = finished;
  completion.frames = 0; // only the root knows its origin
  completion.largest_frame = 0;
  const auto violation = [&](const std::string& what) {
    fabric_.violation(fmt::format("tree {} rank {} piece {} ({}): {}", setup_.tree.value, rank,
                                  completion.piece, name_of(completion.op), what));
  };
  if (completion.piece >= workload_.pieces()) {
    violation("completed a piece that was never injected");
    return;
  }
  const auto [known, first] = results_.emplace(completion.piece, completion);
  if (!first) {
    if (known->second != completion) {
      violation("members disagree about the result");
    }
    return;
  }
  if (const std::string fault = fault_of(completion); !fault.empty()) {
    violation(fault);
  }
}

std::string Group::fault_of(const Completion& completion) const {
  std::vector<collective::Operand> contributions;
  bool mixed = false;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    contributions.push_back(operand(completion.piece, rank));
    mixed = mixed || contributions.back().op != contributions.front().op;
  }
  if (!mixed) {
    return fault_of_result(contributions, completion);
  }
  // A mismatch names two members with different operators.
  if (completion.rc != wire::ResultCode::op_mismatch) {
    return fmt::format("two operators, but result code {}", name_of(completion.rc));
  }
  if (completion.count != size()) {
    return fmt::format("counts {} contributions instead of {}", completion.count, size());
  }
  const auto operator_of = [&](std::uint32_t address) -> std::optional<wire::Opcode> {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      if (wire::FabricAddress::unicast(Topology::nid(host(rank))).value == address) {
        return contributions[rank].op;
      }
    }
    return std::nullopt;
  };
  const auto one = operator_of(static_cast<std::uint32_t>(completion.payload[0] >> 32));
  const auto other = operator_of(static_cast<std::uint32_t>(completion.payload[0]));
  if (!one || !other || *one == *other) {
    return fmt::format("the mismatch names {:016x}, which are not two members that differ",
                       completion.payload[0]);
  }
  return {};
}

bool Group::complete() const {
  return std::ranges::all_of(applications_, [&](const auto& a) {
    return a->completed() == workload_.pieces() || (setup_.may_end && a->member().failure());
  });
}

bool Group::parted() const {
  return std::ranges::all_of(applications_, [](const auto& a) { return a->member().left(); });
}

std::uint64_t Group::completed_pieces(std::uint32_t rank) const {
  return applications_[rank]->completed();
}

std::uint64_t Group::longest_ns() const {
  std::uint64_t longest = 0;
  for (const auto& a : applications_) {
    longest = std::max(longest, a->longest_ns());
  }
  return longest;
}

std::uint64_t Group::pieces_complete_everywhere() const {
  std::uint64_t least = workload_.pieces();
  for (const auto& a : applications_) {
    least = std::min(least, a->completed());
  }
  return least;
}

const collective::Member& Group::member(std::uint32_t rank) const {
  return applications_[rank]->member();
}

collective::Statistics Group::statistics() const {
  collective::Statistics sum;
  for (const auto& a : applications_) {
    const collective::Statistics& s = a->member().statistics();
#define TRIBUTARY_X(name, text) sum.name += s.name;
    TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return sum;
}

std::optional<Completion> Group::result(PieceNumber piece) const {
  const auto found = results_.find(piece);
  return found == results_.end() ? std::nullopt : std::optional(found->second);
}

std::string Group::describe_status() const {
  std::string text;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const auto& application = *applications_[rank];
    if (application.completed() == workload_.pieces() && application.member().left()) {
      continue;
    }
    text += fmt::format("\n    tree {} rank {} (host {}{}): {} of {} pieces", setup_.tree.value,
                        rank, host(rank), application.member().is_root() ? ", root" : "",
                        application.completed(), workload_.pieces());
    for (const auto& s : application.member().status()) {
      if (s.waiting == collective::Waiting::idle) {
        continue;
      }
      text += fmt::format("; piece {} {}, sequence {}, {} of {}, {} retries", s.piece,
                          name_of(s.waiting), s.sequence ? s.sequence->value() : 1023, s.count,
                          s.size, s.retries);
      if (s.missing_rank) {
        text += fmt::format(", rank {} is missing", *s.missing_rank);
      }
    }
  }
  return text;
}

void GroupHost::receive(std::span<const std::byte> frame, TrafficClass /*of*/, TimeNs now,
                        HostPort& port) {
  for (const Part& part : parts_) {
    part.group->applications_[part.rank]->receive(frame, now, port);
  }
}

void GroupHost::wake(TimeNs now, HostPort& port) {
  for (const Part& part : parts_) {
    part.group->applications_[part.rank]->wake(now, port);
  }
}

TimeNs GroupHost::next_wake() const {
  TimeNs wake = never;
  for (const Part& part : parts_) {
    wake = std::min(wake, part.group->applications_[part.rank]->next_wake());
  }
  return wake;
}

} // namespace tributary::fabric
