#include "tests/fabric/multicast_group.hpp"

#include "tests/fabric/member_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

namespace tributary::fabric {

namespace {

using collective::ElementType;
using reliable_multicast::Block;
using reliable_multicast::Kind;
using reliable_multicast::Task;

/// Frames that a program has in its port's queue at most: the rest waits in the member, which sends
/// acknowledgements first.
constexpr std::uint32_t most_waiting = 32;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

/// A number of a call and a rank, equal at every member.
std::uint64_t number_of(std::uint64_t seed, std::size_t call, std::uint64_t rank) {
  return mixed(seed + call * 0x9E3779B97F4A7C15 + rank * 0xD1B54A32D192ED03);
}

/// Byte `at` of what a rank sends, whose number is `base`.
std::byte byte_of(std::uint64_t base, std::uint64_t at) {
  return static_cast<std::byte>(mixed(base + at / 8) >> at % 8 * 8);
}

/// What a reduction does with two elements. Unsigned ones, so that some are converted for frames.
struct Reduces {
  wire::Opcode op;
  std::uint32_t (*two)(std::uint32_t, std::uint32_t);
};
Reduces reduction_of(const MulticastSetup& setup, std::size_t call) {
  switch (number_of(setup.seed, call, setup.hosts.size() + 1) % 3) {
  case 0: return {wire::Opcode::int_sum, [](std::uint32_t a, std::uint32_t b) { return a + b; }};
  case 1:
    return {wire::Opcode::int_max, [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); }};
  default: return {wire::Opcode::bit_xor, [](std::uint32_t a, std::uint32_t b) { return a ^ b; }};
  }
}
constexpr std::uint64_t element_bytes = 4;

/// Element `at` of what a rank contributes, whose number is `base`.
std::uint32_t element_of(std::uint64_t base, std::uint64_t at) {
  return static_cast<std::uint32_t>(mixed(base + at));
}

/// A reduction, but for its memory.
Task reduction_task(const MulticastSetup& setup, std::size_t call, std::uint32_t rank) {
  const auto size = static_cast<std::uint32_t>(setup.hosts.size());
  const std::uint64_t elements = setup.lengths[call] / element_bytes;
  const wire::Opcode op = reduction_of(setup, call).op;
  if (number_of(setup.seed, call, size) % 2 == 0) {
    const auto root = static_cast<std::uint32_t>(number_of(setup.seed, call, size + 2) % size);
    return reliable_multicast::reduce(root, nullptr, nullptr, elements * element_bytes, op,
                                      ElementType::uint32);
  }
  return reliable_multicast::reduce_scatter(
      size, rank, nullptr, nullptr, elements / size * element_bytes, op, ElementType::uint32);
}

/// A call, but for its memory.
Task task_of(const MulticastSetup& setup, std::size_t call) {
  const auto size = static_cast<std::uint32_t>(setup.hosts.size());
  const std::uint64_t length = setup.lengths[call];
  const Kind kind = setup.only.value_or(
      number_of(setup.seed, call, size) % 2 == 0 ? Kind::broadcast : Kind::allgather);
  if (kind == Kind::broadcast) {
    const auto root = static_cast<std::uint32_t>(number_of(setup.seed, call, size + 1) % size);
    return reliable_multicast::broadcast(root, nullptr, length);
  }
  if (setup.only) {
    return reliable_multicast::allgather(size, nullptr, length / size);
  }
  Task task{.shape = {.kind = Kind::allgather, .root = 0, .bytes = 0}, .data = {}, .blocks = {}};
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    // Some send nothing.
    const std::uint64_t share = number_of(setup.seed, call, size + 2 + rank);
    const std::uint64_t bytes = share % 4 == 0 ? 0 : share / 4 % (2 * length / size + 1);
    task.blocks.push_back({.rank = rank, .offset = task.shape.bytes, .bytes = bytes});
    task.shape.bytes += bytes;
  }
  return task;
}

reliable_multicast::Parameters parameters_of(const MulticastSetup& setup, std::uint32_t rank) {
  reliable_multicast::Parameters p;
  p.group = member_parameters(setup, rank);
  p.chunk_bytes = setup.chunk_bytes;
  p.window_chunks = setup.window_chunks;
  p.eager_bytes = setup.eager_bytes;
  p.gap_ns = setup.gap_ns;
  p.reduces = setup.reduces;
  p.first_piece = ReductionId{
      static_cast<std::uint8_t>(setup.parameters.first_id.value + setup.parameters.slots)};
  if (setup.knows_nids) {
    for (const HostIndex host : setup.hosts) {
      p.nids.push_back(Topology::nid(host));
    }
  }
  return p;
}

} // namespace

/// One member and the program above it.
class MulticastGroup::Application final : public HostProgram {
public:
  Application(MulticastGroup& group, const reliable_multicast::Parameters& parameters)
      : group_(group), member_(parameters) {}

  void receive(std::span<const std::byte> frame, TrafficClass, TimeNs now,
               HostPort& port) override {
    member_.receive(frame, now);
    proceed(now, port);
  }
  void wake(TimeNs now, HostPort& port) override {
    if (now >= member_.next_deadline()) {
      member_.poll(now);
    }
    if (now >= move_at_) {
      collective::GroupParameters parameters = member_.parameters().group;
      parameters.tree = move_to_;
      move_at_ = never;
      member_.move_to(parameters, now);
    }
    proceed(now, port);
  }
  void drained(TimeNs now, HostPort& port) override { proceed(now, port); }
  [[nodiscard]] TimeNs next_wake() const override {
    return std::min({member_.next_deadline(), may_begin() ? begin_at_ : never, move_at_});
  }
  void move(TimeNs at, TreeNumber tree) {
    move_at_ = at;
    move_to_ = tree;
  }

  [[nodiscard]] const reliable_multicast::Member& member() const { return member_; }
  [[nodiscard]] bool done() const { return done_ == group_.setup_.lengths.size(); }
  [[nodiscard]] std::size_t calls_done() const { return done_; }
  [[nodiscard]] TimeNs done_at() const { return done_at_; }
  [[nodiscard]] TimeNs first_done_at() const { return first_done_at_; }

private:
  struct Call {
    std::size_t number = 0;
    std::vector<Block> blocks;
    std::vector<std::byte> data;
    std::vector<std::byte> result; ///< of a reduction
    std::unique_ptr<reliable_multicast::Operation> operation;
  };

  [[nodiscard]] std::uint32_t rank() const { return member_.parameters().group.rank; }
  [[nodiscard]] bool may_begin() const {
    return begun_ < group_.setup_.lengths.size() && calls_.size() < group_.setup_.in_flight &&
           !member_.failure();
  }
  void proceed(TimeNs now, HostPort& port) {
    for (bool moved = true; moved;) {
      moved = send_some(port);
      while (!calls_.empty() && calls_.front().operation->finished()) {
        check(calls_.front());
        calls_.pop_front(); // with its memory: no code may access it any more
        first_done_at_ = done_ == 0 ? now : first_done_at_;
        ++done_;
        done_at_ = now;
        if (group_.setup_.straggler == rank()) {
          begin_at_ = now + group_.setup_.straggles_ns;
        }
        moved = true;
      }
      if (member_.failure()) {
        calls_.clear();
      }
      if (may_begin() && now >= begin_at_) {
        begin(now);
        moved = true;
      }
    }
  }
  void begin(TimeNs now) {
    const std::size_t number = begun_++;
    const MulticastSetup& setup = group_.setup_;
    Task task = setup.reduces ? reduction_task(setup, number, rank()) : task_of(setup, number);
    Call& call = calls_.emplace_back();
    call.number = number;
    call.blocks = task.blocks;
    call.data.assign(task.shape.bytes, std::byte{0xEE});
    if (setup.reduces) {
      fill_operands(call);
      for (const Block& block : call.blocks) {
        call.result.resize(block.rank == rank() ? block.bytes : call.result.size());
      }
      task.data = call.data.data();
      task.result = call.result.data();
      start(call, std::move(task), now);
      return;
    }
    for (const Block& block : call.blocks) {
      if (block.rank == rank()) {
        const std::uint64_t base = number_of(group_.setup_.seed, number, block.rank);
        for (std::uint64_t at = 0; at < block.bytes; ++at) {
          call.data[block.offset + at] = byte_of(base, at);
        }
      }
    }
    task.data = call.data.data();
    start(call, std::move(task), now);
  }
  void start(Call& call, Task task, TimeNs now) {
    const MulticastSetup& setup = group_.setup_;
    call.operation = std::make_unique<reliable_multicast::Operation>(
        std::move(task), setup.chunk_bytes, setup.window_chunks);
    member_.start(*call.operation, now);
  }
  void fill_operands(Call& call) const {
    const std::uint64_t base = number_of(group_.setup_.seed, call.number, rank());
    for (std::uint64_t at = 0; at < call.data.size() / element_bytes; ++at) {
      const std::uint32_t element = element_of(base, at);
      std::memcpy(call.data.data() + at * element_bytes, &element, element_bytes);
    }
  }
  void check_result(const Call& call) {
    const Reduces reduces = reduction_of(group_.setup_, call.number);
    for (const Block& block : call.blocks) {
      const std::uint64_t first = block.offset / element_bytes;
      for (std::uint64_t at = 0; block.rank == rank() && at < block.bytes / element_bytes; ++at) {
        std::uint32_t expected = 0;
        for (std::uint32_t r = 0; r < group_.size(); ++r) {
          const std::uint32_t element =
              element_of(number_of(group_.setup_.seed, call.number, r), first + at);
          expected = r == 0 ? element : reduces.two(expected, element);
        }
        std::uint32_t is = 0;
        std::memcpy(&is, call.result.data() + at * element_bytes, element_bytes);
        if (is != expected) {
          group_.fabric_.violation(
              fmt::format("tree {} rank {} call {} of {} bytes: element {} of its result is wrong",
                          group_.setup_.tree.value, rank(), call.number, call.data.size(), at));
          return;
        }
      }
    }
  }
  void check(const Call& call) {
    if (group_.setup_.reduces) {
      check_result(call);
      return;
    }
    for (const Block& block : call.blocks) {
      const std::uint64_t base = number_of(group_.setup_.seed, call.number, block.rank);
      for (std::uint64_t at = 0; at < block.bytes; ++at) {
        if (call.data[block.offset + at] != byte_of(base, at)) {
          group_.fabric_.violation(fmt::format(
              "tree {} rank {} call {} of {} bytes: byte {} of rank {} is wrong",
              group_.setup_.tree.value, rank(), call.number, call.data.size(), at, block.rank));
          return;
        }
      }
    }
  }
  /// Whether it sent any.
  bool send_some(HostPort& port) {
    bool sent = false;
    while (member_.has_to_send() && port.waiting(TrafficClass{}) < most_waiting) {
      frame_.resize(member_.next_frame_bytes());
      const reliable_multicast::Member::Begun begun = member_.take_frame(frame_.data());
      frame_.resize(begun.bytes);
      frame_.insert(frame_.end(), begun.rest.begin(), begun.rest.end());
      port.send(frame_);
      sent = true;
    }
    return sent;
  }

  MulticastGroup& group_;
  reliable_multicast::Member member_;
  std::deque<Call> calls_;
  std::vector<std::byte> frame_;
  std::size_t begun_ = 0;
  std::size_t done_ = 0;
  TimeNs done_at_;
  TimeNs first_done_at_;
  TimeNs begin_at_;
  TimeNs move_at_ = never;
  TreeNumber move_to_;
};

MulticastGroup::MulticastGroup(Fabric& fabric, const MulticastSetup& setup)
    : fabric_(fabric), setup_(setup) {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    applications_.push_back(std::make_unique<Application>(*this, parameters_of(setup, rank)));
  }
}

MulticastGroup::~MulticastGroup() = default;

HostProgram& MulticastGroup::program(std::uint32_t rank) { return *applications_[rank]; }

bool MulticastGroup::complete() const {
  return std::ranges::all_of(applications_, [&](const auto& a) {
    return (a->done() && a->member().is_complete()) || (setup_.may_end && a->member().failure());
  });
}

bool MulticastGroup::is_over(std::uint32_t rank) const {
  return applications_[rank]->done() || applications_[rank]->member().failure().has_value();
}

void MulticastGroup::move(std::uint32_t rank, TimeNs at, TreeNumber tree) {
  applications_[rank]->move(at, tree);
}

const reliable_multicast::Member& MulticastGroup::member(std::uint32_t rank) const {
  return applications_[rank]->member();
}

TimeNs MulticastGroup::completed_at() const {
  TimeNs latest{};
  for (const auto& a : applications_) {
    latest = std::max(latest, a->done_at());
  }
  return latest;
}

TimeNs MulticastGroup::first_completed_at() const {
  TimeNs latest{};
  for (const auto& a : applications_) {
    latest = std::max(latest, a->first_done_at());
  }
  return latest;
}

reliable_multicast::Statistics MulticastGroup::statistics() const {
  reliable_multicast::Statistics sum;
  for (const auto& a : applications_) {
    const reliable_multicast::Statistics s = a->member().statistics();
#define TRIBUTARY_X(name, text) sum.name += s.name;
    TRIBUTARY_MULTICAST_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return sum;
}

std::string MulticastGroup::describe_status() const {
  std::string text;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const Application& a = *applications_[rank];
    const reliable_multicast::Status s = a.member().status();
    if (a.done() && a.member().is_complete()) {
      continue;
    }
    text += fmt::format("\n    tree {} rank {} (host {}{}): {} of {} calls", setup_.tree.value,
                        rank, setup_.hosts[rank], a.member().is_root() ? ", root" : "",
                        a.calls_done(), setup_.lengths.size());
    if (a.member().failure()) {
      text += "; ended";
    } else if (s.state != reliable_multicast::WindowState::absent) {
      text +=
          fmt::format("; window {} lacks {} chunks, the first of rank {}{}, {} retries", s.window,
                      s.missing, s.owner, s.is_armed ? "" : ", and is not armed", s.retries);
    }
  }
  return text;
}

} // namespace tributary::fabric
