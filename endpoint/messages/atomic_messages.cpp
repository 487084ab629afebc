// Messengers: atomics that leave, those of peers, and their results.
#include "endpoint/messages/messenger.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::messages {

namespace flag = wire::segment_flag;
using wire::Segment;
using wire::SegmentKind;

namespace {

struct What {
  wire::AtomicOperation operation{};
  wire::AtomicType type{};
  std::size_t count = 0;
};

constexpr std::uint64_t packed(const Atomic& a) {
  return static_cast<std::uint64_t>(a.operation) | static_cast<std::uint64_t>(a.type) << 8 |
         std::uint64_t{a.count} << 16;
}

/// Empty if it has no meaning.
constexpr std::optional<What> what_of(std::uint64_t packed) {
  const std::uint64_t operation = packed & 0xFF;
  const std::uint64_t type = packed >> 8 & 0xFF;
  const std::uint64_t count = packed >> 16;
  if (operation >= wire::atomic_operations || type >= wire::atomic_types || count > atomic_bytes) {
    return std::nullopt;
  }
  const What what{.operation = static_cast<wire::AtomicOperation>(operation),
                  .type = static_cast<wire::AtomicType>(type),
                  .count = static_cast<std::size_t>(count)};
  const bool is_good = wire::is_atomic(what.operation, what.type) &&
                       (what.count > 0 || what.operation == wire::AtomicOperation::write) &&
                       what.count * wire::atomic_width(what.type) <= atomic_bytes;
  return is_good ? std::optional(what) : std::nullopt;
}

} // namespace

BeginError Messenger::atomic(const Atomic& atomic) {
  return begin_there(atomic, Operation::Kind::atomic, std::nullopt);
}

BeginError Messenger::put(const Transfer& transfer) {
  return begin_there({.peer = transfer.peer,
                      .vni = transfer.vni,
                      .operation = wire::AtomicOperation::write,
                      .type = wire::AtomicType::uint8,
                      .count = transfer.memory.size(),
                      .operand = transfer.memory,
                      .key = transfer.key,
                      .offset = transfer.offset,
                      .silent = transfer.silent,
                      .user = transfer.user},
                     Operation::Kind::put, transfer.data);
}

BeginError Messenger::begin_there(const Atomic& atomic, Operation::Kind kind,
                                  std::optional<std::uint64_t> data) {
  if (const BeginError error = reach(atomic.peer); error != BeginError::none) {
    return error;
  }
  if (!what_of(packed(atomic))) {
    return BeginError::too_long;
  }
  if (!can_begin()) {
    return BeginError::again;
  }
  const auto s = streams_.open(atomic.peer, atomic.vni);
  if (!s) {
    return BeginError::no_session;
  }
  Segment segment{.kind = SegmentKind::atomic,
                  .flags = static_cast<std::uint8_t>((atomic.old.empty() ? 0 : flag::fetches) |
                                                     (data ? flag::data : 0)),
                  .tag = atomic.offset,
                  .data = data.value_or(0),
                  .total = packed(atomic),
                  .key = atomic.key.value};
  if (wire::header_bytes(segment.kind, segment.flags) + atomic.operand.size() +
          atomic.compare.size() >
      streams_[*s].payload) {
    return BeginError::too_long;
  }
  Conversation& c = conversations_[*s];
  if (c.atomics == most_atomics || c.first != Operations::none) {
    return BeginError::again;
  }
  const std::uint32_t op = begin(kind);
  Operation& o = operations_[op];
  o.state = Operation::State::waiting;
  o.session = *s;
  o.epoch = c.epoch;
  o.silent = atomic.silent;
  o.memory = atomic.old.data();
  o.size = atomic.old.size();
  o.total = atomic.count * wire::atomic_width(atomic.type);
  o.user = atomic.user;
  o.source = source_of(atomic.peer, atomic.vni);
  segment.number = operations_.number_of(op);
  // The operands are the caller's after this call.
  if (!write_segment(*s, segment, atomic.operand, atomic.compare)) {
    --reserved_;
    operations_.give_back(op);
    return BeginError::again;
  }
  ++c.atomics;
  return BeginError::none;
}

Messenger::Outcome Messenger::take_atomic(std::uint32_t s, const Segment& segment,
                                          std::span<const std::byte> data) {
  Conversation& c = conversations_[s];
  const auto what = what_of(segment.total);
  // No peer has more in progress than there is room for.
  if (!what || c.results == most_atomics) {
    return Outcome::malformed;
  }
  const std::size_t length = what->count * wire::atomic_width(what->type);
  if (data.size() != wire::atomic_operands(what->operation) * length) {
    return Outcome::malformed;
  }
  const bool arrives = segment.has(flag::data);
  if (arrives && reserved_ + completed_ == completions_.size()) {
    return Outcome::not_now;
  }
  const bool fetches = segment.has(flag::fetches);
  const bool writes = what->operation != wire::AtomicOperation::read;
  const auto find = [&](bool write) {
    return node_.find_memory(rdma::RegionKey{segment.key}, streams_[s].vni, write, segment.tag,
                             length);
  };
  rdma::Regions::Found found = find(writes);
  if (found.status == wire::RdmaStatus::ok && writes && fetches) {
    found = find(false); // it reads, too
  }
  Result& result = result_of(s, std::uint32_t{c.first_result} + c.results);
  ++c.results;
  result.number = segment.number;
  result.status = found.status;
  result.length = 0;
  if (found.status == wire::RdmaStatus::ok) {
    result.length = fetches ? static_cast<std::uint16_t>(length) : std::uint16_t{0};
    apply({.operation = what->operation,
           .type = what->type,
           .count = what->count,
           .memory = found.memory,
           .operand = data.empty() ? nullptr : data.data(),
           .compare = data.size() > length ? data.data() + length : nullptr,
           .old = fetches ? result.old.data() : nullptr});
    ++counters_.atomics;
    if (arrives) {
      push({.kind = Completion::Kind::arrival,
            .has_data = true,
            .peer = streams_[s].peer,
            .vni = streams_[s].vni,
            .data = segment.data,
            .length = length,
            .total = length});
    }
  }
  static_cast<void>(write_results(s));
  return Outcome::taken;
}

bool Messenger::write_results(std::uint32_t s) {
  Conversation& c = conversations_[s];
  while (c.results > 0) {
    const Result& result = result_of(s, c.first_result);
    const Segment segment{.kind = SegmentKind::result,
                          .number = result.number,
                          .tag = static_cast<std::uint64_t>(result.status)};
    if (!write_segment(s, segment, std::span(result.old).first(result.length))) {
      return false;
    }
    c.first_result = static_cast<std::uint16_t>((c.first_result + 1U) % most_atomics);
    --c.results;
  }
  return true;
}

Messenger::Outcome Messenger::take_result(std::uint32_t s, const Segment& segment,
                                          std::span<const std::byte> data) {
  Conversation& c = conversations_[s];
  const std::uint32_t op = operations_.find(segment.number);
  Operation* const waiting = op == Operations::none ? nullptr : &operations_[op];
  if (waiting == nullptr ||
      (waiting->kind != Operation::Kind::atomic && waiting->kind != Operation::Kind::put) ||
      waiting->session != s || waiting->epoch != c.epoch) {
    ++counters_.stray_done;
    return Outcome::taken;
  }
  Operation& o = *waiting;
  const auto status = static_cast<wire::RdmaStatus>(segment.tag & 0xFF);
  if (data.size() != (status == wire::RdmaStatus::ok ? o.size : 0)) {
    return Outcome::malformed;
  }
  --c.atomics;
  if (status == wire::RdmaStatus::ok) {
    if (!data.empty()) {
      std::memcpy(o.memory, data.data(), data.size());
    }
    o.moved = o.total;
    complete(op, Failure::none);
  } else {
    Completion completion = completion_of(o, Failure::transfer);
    completion.transfer = rdma::Cause::refused;
    completion.status = status;
    --reserved_;
    push(completion);
  }
  finish(op);
  return Outcome::taken;
}

} // namespace tributary::messages
