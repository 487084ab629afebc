#include "tests/fabric/vector_group.hpp"

#include "tests/fabric/member_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

namespace tributary::fabric {

namespace {

using collective::ElementType;
using wire::Opcode;

struct VectorKind {
  Opcode op;
  ElementType type;
};
constexpr std::array vector_kinds = {
    VectorKind{Opcode::int_sum, ElementType::int32},
    VectorKind{Opcode::flt_sum_nearest, ElementType::float32},
    VectorKind{Opcode::bit_xor, ElementType::uint64},
    VectorKind{Opcode::int_max, ElementType::uint32},
    VectorKind{Opcode::flt_repsum, ElementType::float64},
    VectorKind{Opcode::flt_sum_upward, ElementType::float64},
};

/// A whole number below 2^16; sums of a hundred of them are exact in a binary32.
std::uint32_t value_of(std::uint64_t seed, std::size_t operation, std::uint32_t rank,
                       std::size_t element) {
  std::uint64_t x = seed + operation * 0x9E3779B97F4A7C15 + rank * 0xBF58476D1CE4E5B9 +
                    element * 0x94D049BB133111EB;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return static_cast<std::uint32_t>((x ^ x >> 31) & 0xFFFF);
}

/// Kinds take turns: those that the group has.
VectorKind kind_of(std::size_t operation, const collective::GroupParameters& group) {
  std::array<VectorKind, vector_kinds.size()> kinds{};
  std::size_t count = 0;
  for (const VectorKind& kind : vector_kinds) {
    if (reduces_in(group.is_wide(), kind.op, kind.type)) {
      kinds[count++] = kind;
    }
  }
  return kinds[operation % count];
}

/// The value whose bits in a frame are zeros: the extremes of unsigned numbers travel as those of
/// signed ones.
constexpr std::uint64_t zeros_of(const VectorKind& kind) {
  return kind.op == Opcode::int_max && kind.type == ElementType::uint32 ? 0x8000'0000 : 0;
}

template <typename T> void put(std::vector<std::byte>& at, std::size_t element, T value) {
  std::memcpy(at.data() + element * sizeof value, &value, sizeof value);
}

/// As the type has it.
void put_value(std::vector<std::byte>& at, std::size_t element, ElementType type,
               std::uint64_t value) {
  switch (type) {
  case ElementType::float32: put(at, element, static_cast<float>(value)); break;
  case ElementType::float64: put(at, element, static_cast<double>(value)); break;
  case ElementType::uint64: put(at, element, value); break;
  default: put(at, element, static_cast<std::uint32_t>(value)); break;
  }
}

std::uint64_t combined(Opcode op, std::uint64_t a, std::uint64_t b) {
  return op == Opcode::bit_xor ? a ^ b : op == Opcode::int_max ? std::max(a, b) : a + b;
}

} // namespace

/// One member and the program above it.
class VectorGroup::Application final : public HostProgram {
public:
  Application(VectorGroup& group, const collective::GroupParameters& parameters)
      : group_(group), member_(parameters), pipeline_(member_) {}

  void receive(std::span<const std::byte> frame, TrafficClass, TimeNs now,
               HostPort& port) override {
    member_.receive(frame, now);
    proceed(now, port);
  }
  void wake(TimeNs now, HostPort& port) override {
    if (now >= member_.next_deadline()) {
      member_.poll(now);
    }
    if (now >= move_.at) {
      collective::GroupParameters parameters = member_.parameters();
      parameters.tree = move_.tree;
      move_.at = never;
      member_.move_to(parameters, now);
    }
    proceed(now, port);
  }
  [[nodiscard]] TimeNs next_wake() const override {
    return std::min({member_.next_deadline(), may_begin() ? begin_at_ : never, move_.at});
  }
  void move(const Move& move) { move_ = move; }

  [[nodiscard]] const collective::Member& member() const { return member_; }
  [[nodiscard]] bool done() const { return done_ == group_.setup_.lengths.size(); }
  [[nodiscard]] std::size_t operations_done() const { return done_; }
  [[nodiscard]] TimeNs done_at() const { return done_at_; }
  [[nodiscard]] TimeNs first_done_at() const { return first_done_at_; }

private:
  struct Pending {
    Pending(std::size_t n, const collective::VectorTask& task, std::size_t payload)
        : number(n), operation(task, payload) {}
    std::size_t number;
    std::vector<std::byte> in;
    std::vector<std::byte> out;
    collective::VectorOperation operation;
  };

  [[nodiscard]] bool may_begin() const {
    return begun_ < group_.setup_.lengths.size() && pending_.size() < group_.setup_.in_flight &&
           group_.has_ids() && !member_.failure() && (!shrinks_before_next() || pending_.empty());
  }
  [[nodiscard]] bool shrinks_before_next() const {
    return group_.setup_.keeps_ids != 0 && begun_ == group_.setup_.lengths.size() / 2;
  }
  void proceed(TimeNs now, HostPort& port) {
    for (bool moved = true; moved;) {
      moved = false;
      pipeline_.pump(now);
      send_all(port);
      while (!pending_.empty() && pending_.front()->operation.finished()) {
        check(*pending_.front());
        pending_.pop_front(); // with its memory: no code may access it any more
        first_done_at_ = done_ == 0 ? now : first_done_at_;
        ++done_;
        done_at_ = now;
        const auto& setup = group_.setup_;
        begin_at_ = TimeNs{done_ * setup.period_ns};
        if (setup.straggler == member_.parameters().rank) {
          begin_at_ = now + setup.straggles_ns;
        }
        moved = true;
      }
      if (may_begin() && now >= begin_at_) {
        begin(now);
        moved = true;
      }
    }
    if ((done() || member_.failure()) && !leaving_ && !group_.setup_.is_context) {
      leaving_ = true;
      member_.leave(now);
    }
    send_all(port);
    group_.wake_successors();
  }
  void begin(TimeNs now) {
    if (shrinks_before_next()) {
      member_.resize(group_.setup_.keeps_ids);
    }
    const std::size_t number = begun_++;
    const VectorKind kind = kind_of(number, member_.parameters());
    const std::size_t elements = group_.setup_.lengths[number];
    std::vector<std::byte> in(elements * bytes_of(kind.type));
    for (std::size_t i = 0; i < elements; ++i) {
      put_value(in, i, kind.type,
                value_of(group_.setup_.seed, number, member_.parameters().rank, i));
    }
    std::vector<std::byte> out(in.size());
    pending_.push_back(std::make_unique<Pending>(number,
                                                 collective::VectorTask{.op = kind.op,
                                                                        .type = kind.type,
                                                                        .in = in.data(),
                                                                        .out = out.data(),
                                                                        .elements = elements},
                                                 member_.parameters().payload));
    pending_.back()->in = std::move(in);
    pending_.back()->out = std::move(out);
    pipeline_.start(pending_.back()->operation, now);
  }
  void check(const Pending& pending) {
    const VectorKind kind = kind_of(pending.number, member_.parameters());
    const auto violation = [&](const std::string& what) {
      group_.fabric_.violation(fmt::format("tree {} rank {} operation {} ({} of {} elements): {}",
                                           group_.setup_.tree.value, member_.parameters().rank,
                                           pending.number, name_of(kind.op),
                                           pending.operation.task().elements, what));
    };
    const wire::ResultCode rc = pending.operation.rc();
    if (group_.setup_.forged_rank && rc == wire::ResultCode::op_mismatch) {
      ++group_.forged_results_;
      return;
    }
    if (rc != wire::ResultCode::success) {
      violation(fmt::format("result code {}", name_of(rc)));
      return;
    }
    const std::vector<std::byte> expected = result_of(pending, kind, std::nullopt);
    if (pending.out == expected) {
      return;
    }
    if (group_.setup_.forged_rank &&
        is_mixed(pending.out, expected, result_of(pending, kind, group_.setup_.forged_rank),
                 bytes_of(kind.type))) {
      ++group_.forged_results_;
      return;
    }
    const auto at = static_cast<std::size_t>(
        std::mismatch(pending.out.begin(), pending.out.end(), expected.begin()).first -
        pending.out.begin());
    const std::size_t begin = at - at % bytes_of(kind.type);
    std::string is;
    std::string should_be;
    for (std::size_t i = begin; i < begin + bytes_of(kind.type); ++i) {
      is += fmt::format("{:02x}", std::to_integer<unsigned>(pending.out[i]));
      should_be += fmt::format("{:02x}", std::to_integer<unsigned>(expected[i]));
    }
    violation(fmt::format("wrong from byte {} of {} on: {} instead of {}", at, pending.out.size(),
                          is, should_be));
  }
  /// Over the operands of all members, one of which may be zeros in its frames.
  [[nodiscard]] std::vector<std::byte> result_of(const Pending& pending, const VectorKind& kind,
                                                 std::optional<std::uint32_t> forged) const {
    std::vector<std::byte> result(pending.out.size());
    for (std::size_t i = 0; i < pending.operation.task().elements; ++i) {
      std::uint64_t value = 0;
      for (std::uint32_t rank = 0; rank < group_.size(); ++rank) {
        value = combined(kind.op, value,
                         rank == forged ? zeros_of(kind)
                                        : value_of(group_.setup_.seed, pending.number, rank, i));
      }
      put_value(result, i, kind.type, value);
    }
    return result;
  }
  /// Whether each element of `bytes` bytes is that of one or of the other: pieces differ in that.
  [[nodiscard]] static bool is_mixed(const std::vector<std::byte>& result,
                                     const std::vector<std::byte>& one,
                                     const std::vector<std::byte>& other, std::size_t bytes) {
    for (std::size_t at = 0; at < result.size(); at += bytes) {
      if (std::memcmp(&result[at], &one[at], bytes) != 0 &&
          std::memcmp(&result[at], &other[at], bytes) != 0) {
        return false;
      }
    }
    return true;
  }
  void send_all(HostPort& port) {
    auto& outbox = member_.outbox();
    for (; !outbox.empty(); outbox.pop()) {
      frame_.resize(outbox.front_bytes());
      outbox.write_front(frame_.data());
      port.send(frame_);
    }
  }

  VectorGroup& group_;
  collective::Member member_;
  collective::VectorPipeline pipeline_;
  std::deque<std::unique_ptr<Pending>> pending_;
  std::vector<std::byte> frame_;
  std::size_t begun_ = 0;
  std::size_t done_ = 0;
  TimeNs done_at_;
  TimeNs first_done_at_;
  TimeNs begin_at_;
  bool leaving_ = false;
  Move move_{.at = never, .tree = {}};
};

VectorGroup::VectorGroup(Fabric& fabric, const VectorSetup& setup)
    : fabric_(fabric), setup_(setup) {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    applications_.push_back(std::make_unique<Application>(*this, member_parameters(setup, rank)));
  }
  if (setup.after != nullptr) {
    setup.after->successors_.push_back(this);
  }
}

VectorGroup::~VectorGroup() = default;

HostProgram& VectorGroup::program(std::uint32_t rank) { return *applications_[rank]; }

bool VectorGroup::complete() const {
  return std::ranges::all_of(applications_, [&](const auto& a) {
    return a->done() || (setup_.may_end && a->member().failure());
  });
}

bool VectorGroup::has_left(ReductionId id) const {
  return complete() || std::ranges::all_of(applications_, [id](const auto& a) {
           const collective::GroupParameters& p = a->member().parameters();
           return id.value >= p.first_id.value + p.slots;
         });
}

void VectorGroup::wake_successors() {
  std::erase_if(successors_, [&](const VectorGroup* next) {
    if (!next->has_ids()) {
      return false;
    }
    for (const HostIndex host : next->setup_.hosts) {
      fabric_.poke(host);
    }
    return true;
  });
}

bool VectorGroup::parted() const {
  return setup_.is_context ||
         std::ranges::all_of(applications_, [](const auto& a) { return a->member().left(); });
}

bool VectorGroup::is_over(std::uint32_t rank) const {
  return applications_[rank]->done() || applications_[rank]->member().failure().has_value();
}

void VectorGroup::move(std::uint32_t rank, const Move& move) { applications_[rank]->move(move); }

const collective::Member& VectorGroup::member(std::uint32_t rank) const {
  return applications_[rank]->member();
}

TimeNs VectorGroup::completed_at() const {
  TimeNs latest{};
  for (const auto& a : applications_) {
    latest = std::max(latest, a->done_at());
  }
  return latest;
}

TimeNs VectorGroup::first_completed_at() const {
  TimeNs latest{};
  for (const auto& a : applications_) {
    latest = std::max(latest, a->first_done_at());
  }
  return latest;
}

collective::Statistics VectorGroup::statistics() const {
  collective::Statistics sum;
  for (const auto& a : applications_) {
    const collective::Statistics& s = a->member().statistics();
#define TRIBUTARY_X(name, text) sum.name += s.name;
    TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return sum;
}

std::string VectorGroup::describe_status() const {
  std::string text;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const Application& a = *applications_[rank];
    if (a.done() && (a.member().left() || setup_.is_context)) {
      continue;
    }
    text += fmt::format("\n    tree {} rank {} (host {}{}): {} of {} vectors", setup_.tree.value,
                        rank, setup_.hosts[rank], a.member().is_root() ? ", root" : "",
                        a.operations_done(), setup_.lengths.size());
    for (const auto& s : a.member().status()) {
      if (s.waiting != collective::Waiting::idle) {
        text += fmt::format("; piece {} {}, {} of {}, {} retries", s.piece, name_of(s.waiting),
                            s.count, s.size, s.retries);
      }
    }
  }
  return text;
}

} // namespace tributary::fabric
