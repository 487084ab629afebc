// The functions of tributary.h that reduce, and wait for pending operations.
#include "endpoint/library/operations.hpp"
#include "endpoint/collective/element_type.hpp"
#include "endpoint/library/boundary.hpp"
#include "endpoint/library/failure_text.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/multicast.hpp"
#include "endpoint/library/operators.hpp"
#include "endpoint/library/status_text.hpp"
#include "lib/net/steady_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

using tributary::TimeNs;
using tributary::collective::ElementType;
using tributary::collective::VectorOperation;
using tributary::collective::VectorTask;
using tributary::engine::Loop;
using tributary::library::fail;
using tributary::library::guarded;
using tributary::library::require;
namespace collective = tributary::collective;
namespace library = tributary::library;
namespace reliable_multicast = tributary::reliable_multicast;
namespace wire = tributary::wire;

namespace {

/// The return code of a finished operation.
int conclude(const VectorOperation& operation, std::string& message, tributary_result* result) {
  const bool mismatch = operation.rc() == wire::ResultCode::op_mismatch;
  if (result != nullptr) {
    *result = {.code = mismatch ? 0 : static_cast<int>(operation.rc()),
               .first_nid = operation.first_source().value,
               .offending_nid = operation.offending_source().value};
  }
  if (!mismatch) {
    return TRIBUTARY_OK;
  }
  return fail(message, TRIBUTARY_ERR_OP_MISMATCH,
              fmt::format("the members called different operators: the host with NID {:#x} called "
                          "another one than the host with NID {:#x}; all members of a group must "
                          "call the same operations in the same order",
                          operation.offending_source().value, operation.first_source().value));
}

/// The return code of an operation whose group has ended before it was done.
int answer_of_ended(const tributary_group& group, tributary_result* result) {
  if (result != nullptr) {
    *result = {};
  }
  return fail(group.host->last_error, library::failure_code(group), library::failure_text(group));
}

/// Requires that this number of elements fits into the address space.
void require_possible(std::size_t count, ElementType type) {
  constexpr auto most_bytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (count > most_bytes / bytes_of(type)) {
    throw std::invalid_argument(
        fmt::format("no buffer has {} elements of {} bytes; is the count a negative number?", count,
                    bytes_of(type)));
  }
}

/// Pieces are read after others have been written: out must be equal to in, or not overlap it.
void require_apart(const void* in, const void* out, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(in);
  const auto to = reinterpret_cast<std::uintptr_t>(out);
  require(from == to || (from < to ? to - from : from - to) >= bytes,
          "in and out overlap; give the same buffer twice, or two that do not overlap");
}

VectorTask reduction(const tributary_group& group, const void* in, void* out, std::size_t count,
                     int type, int op, bool keep) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is not in enum tributary_type");
  const auto opcode = library::opcode_for(op, *element_type, group.member.parameters().is_wide());
  if (!opcode && library::opcode_for(op, *element_type, true)) {
    throw std::invalid_argument(fmt::format(
        "{} of {} needs wide frames, and this group has none: its payload is {} bytes; {}",
        library::operator_name(op), library::type_name(*element_type),
        group.member.parameters().payload,
        group.named() != nullptr
            ? "its fabric manager's groups.payload, a switch or a member keeps it at that, "
              "and `tributaryctl fabric show groups JOB/NAME` says which"
            : "give the tree a payload in the switches' files, and all members the same"));
  }
  if (!opcode) {
    throw std::invalid_argument(
        fmt::format("operator {} does not reduce {}; the table at enum tributary_op in "
                    "tributary.h says which do",
                    library::operator_name(op), library::type_name(*element_type)));
  }
  require_possible(count, *element_type);
  if (count > 0 && (in == nullptr || (keep && out == nullptr))) {
    throw std::invalid_argument(
        fmt::format("rank {}: a buffer is NULL though there are {} elements",
                    group.member.parameters().rank, count));
  }
  if (keep) {
    require_apart(in, out, count * bytes_of(*element_type));
  }
  return {.op = *opcode,
          .type = *element_type,
          .in = static_cast<const std::byte*>(in),
          .out = keep ? static_cast<std::byte*>(out) : nullptr,
          .elements = count};
}

/// A broadcast by reduction is a bitwise OR of bytes to which all but one contribute zeros.
library::SharedCall broadcast(const tributary_group& group, void* buffer, std::size_t count,
                              int type, std::uint32_t from_rank) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is not in enum tributary_type");
  require_possible(count, *element_type);
  require(from_rank < group.member.parameters().size, "from_rank is not below the group's size");
  require(count == 0 || buffer != nullptr, "the buffer is NULL though there are elements");
  const bool speaks = group.member.parameters().rank == from_rank;
  auto* const data = static_cast<std::byte*>(buffer);
  const std::size_t bytes = count * bytes_of(*element_type);
  return {.multicast = reliable_multicast::broadcast(from_rank, data, bytes),
          .reduction =
              [=] {
                return VectorTask{.op = wire::Opcode::bit_or,
                                  .type = ElementType::uint8,
                                  .in = speaks ? data : nullptr,
                                  .out = speaks ? nullptr : data,
                                  .elements = bytes};
              },
          .unpack = {}};
}

/// The elements of each rank, and where its block begins in out.
struct Blocks {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> offsets;
};

Blocks equal_blocks(const tributary_group& group, std::size_t count) {
  const std::uint32_t size = group.member.parameters().size;
  Blocks blocks{std::vector(size, count), std::vector<std::size_t>(size)};
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    blocks.offsets[rank] = rank * count;
  }
  return blocks;
}

Blocks given_blocks(const tributary_group& group, const std::size_t* counts,
                    const std::size_t* offsets) {
  require(counts != nullptr, "the counts are NULL; give one for each rank");
  const std::uint32_t size = group.member.parameters().size;
  Blocks blocks{{counts, counts + size}, {}};
  std::size_t next = 0;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    blocks.offsets.push_back(offsets == nullptr ? next : offsets[rank]);
    next += counts[rank];
  }
  return blocks;
}

/// Names two blocks of out that overlap, if there are some.
void require_blocks_apart(const Blocks& blocks) {
  std::vector<std::size_t> order;
  for (std::size_t rank = 0; rank < blocks.counts.size(); ++rank) {
    if (blocks.counts[rank] > 0) {
      order.push_back(rank);
    }
  }
  std::ranges::sort(order, {}, [&](std::size_t rank) { return blocks.offsets[rank]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (blocks.offsets[order[i - 1]] + blocks.counts[order[i - 1]] > blocks.offsets[order[i]]) {
      throw std::invalid_argument(
          fmt::format("the blocks of ranks {} and {} overlap in out; give offsets that are at "
                      "least as far apart as the counts",
                      order[i - 1], order[i]));
    }
  }
}

/// An allgather by reduction is a bitwise OR of all blocks, of which each member contributes one
/// and zeros. Where out has gaps it is made in memory of its own.
library::SharedCall allgather(const tributary_group& group, const void* in, void* out,
                              const Blocks& blocks, int type) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is not in enum tributary_type");
  const std::uint32_t rank = group.member.parameters().rank;
  const std::size_t width = bytes_of(*element_type);
  std::size_t elements = 0;
  std::size_t end = 0;
  bool is_packed = true; // one block after the other
  for (std::size_t r = 0; r < blocks.counts.size(); ++r) {
    require_possible(blocks.counts[r], *element_type);
    require_possible(blocks.offsets[r], *element_type);
    is_packed = is_packed && (blocks.counts[r] == 0 || blocks.offsets[r] == elements);
    elements += blocks.counts[r];
    require_possible(elements, *element_type);
    end = std::max(end, blocks.offsets[r] + blocks.counts[r]);
    require_possible(end, *element_type);
  }
  require(elements == 0 || out != nullptr, "out is NULL though there are elements");
  require(blocks.counts[rank] == 0 || in != nullptr, "in is NULL though this rank has elements");
  require_blocks_apart(blocks);
  auto* const data = static_cast<std::byte*>(out);
  const std::size_t own_bytes = blocks.counts[rank] * width;
  std::byte* const own = own_bytes == 0 ? nullptr : data + blocks.offsets[rank] * width;
  if (own_bytes > 0 && in != own) {
    const auto from = reinterpret_cast<std::uintptr_t>(in);
    const auto to = reinterpret_cast<std::uintptr_t>(out);
    require(from >= to + end * width || from + own_bytes <= to,
            "in and out overlap; give the own block of out, or two buffers that do not overlap");
    std::memcpy(own, in, own_bytes);
  }
  library::SharedCall call;
  call.multicast.shape = {.kind = reliable_multicast::Kind::allgather,
                          .root = 0,
                          .bytes = std::uint64_t{elements} * width};
  call.multicast.data = data;
  for (std::uint32_t r = 0; r < blocks.counts.size(); ++r) {
    call.multicast.blocks.push_back({.rank = r,
                                     .offset = std::uint64_t{blocks.offsets[r]} * width,
                                     .bytes = std::uint64_t{blocks.counts[r]} * width});
  }
  const auto packed = std::make_shared<std::vector<std::byte>>();
  call.reduction = [=, others = call.multicast.blocks] {
    std::byte* all = data;
    if (!is_packed) {
      packed->resize(elements * width);
      all = packed->data();
    }
    std::uint64_t at = 0;
    for (const reliable_multicast::Block& block : others) {
      if (block.rank != rank) {
        std::memset(all + at, 0, block.bytes);
      } else if (!is_packed && block.bytes > 0) {
        std::memcpy(all + at, own, block.bytes);
      }
      at += block.bytes;
    }
    return VectorTask{.op = wire::Opcode::bit_or,
                      .type = ElementType::uint8,
                      .in = all,
                      .out = all,
                      .elements = elements * width};
  };
  if (!is_packed) {
    call.unpack = [=, others = call.multicast.blocks] {
      std::uint64_t at = 0;
      for (const reliable_multicast::Block& block : others) {
        if (block.bytes > 0) {
          std::memcpy(data + block.offset, packed->data() + at, block.bytes);
        }
        at += block.bytes;
      }
    };
  }
  return call;
}

/// A reduce-scatter by reduction makes all blocks at all members, in memory of its own.
library::SharedCall reduce_scatter(const tributary_group& group, const void* in, void* out,
                                   std::size_t count, int type, int op) {
  const collective::GroupParameters& members = group.member.parameters();
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is not in enum tributary_type");
  require_possible(count, *element_type);
  require(count <= std::numeric_limits<std::size_t>::max() / members.size,
          "no buffer has that many elements for each member; is the count a negative number?");
  const VectorTask all = reduction(group, in, nullptr, count * members.size, type, op, false);
  require(count == 0 || out != nullptr, "out is NULL though there are elements");
  const std::size_t bytes = count * bytes_of(all.type);
  const auto from = reinterpret_cast<std::uintptr_t>(in);
  const auto to = reinterpret_cast<std::uintptr_t>(out);
  require(bytes == 0 || from >= to + bytes || from + bytes * members.size <= to,
          "in and out overlap; give two buffers that do not overlap");
  auto* const data = static_cast<std::byte*>(const_cast<void*>(in)); // it is only read
  auto* const result = static_cast<std::byte*>(out);
  library::SharedCall call;
  call.lane = library::Lane::reduction;
  const bool is_widened = wire::is_flt_sum(all.op) && bytes_of(all.type) == 2;
  call.may_have_windows = reliable_multicast::can_reduce(all.op, all.type) && !is_widened;
  call.multicast = reliable_multicast::reduce_scatter(members.size, members.rank, data, result,
                                                      bytes, all.op, all.type);
  const auto everything = std::make_shared<std::vector<std::byte>>();
  call.reduction = [=] {
    everything->resize(all.elements * bytes_of(all.type));
    VectorTask task = all;
    task.out = everything->data();
    return task;
  };
  call.unpack = [=, rank = members.rank] {
    if (bytes > 0) {
      std::memcpy(result, everything->data() + rank * bytes, bytes);
    }
  };
  return call;
}

bool keeps(const tributary_group& group, std::uint32_t to_rank) {
  require(to_rank < group.member.parameters().size, "to_rank is not below the group's size");
  return group.member.parameters().rank == to_rank;
}

/// With at most this many pieces each is awaited more or less separately; frames of longer
/// operations gather.
constexpr std::uint64_t pieces_of_a_short_one = 4;

Loop::Wait wait_for(const VectorOperation& operation, Loop& loop) {
  if (operation.pieces() <= pieces_of_a_short_one) {
    return Loop::Wait::short_one;
  }
  return operation.pieces() <= loop.port().frames_at_once() ? Loop::Wait::burst
                                                            : Loop::Wait::vector;
}

} // namespace

void library::require_ids(const tributary_group& group) {
  require(!group.tree->is_kept,
          "this group holds its tree for groups of other processes, and has no ids of it itself");
}

int library::run_task(Loop::Lock& lock, tributary_group& group, const VectorTask& task,
                      tributary_result* result) {
  require_ids(group);
  tributary_host& host = *group.host;
  VectorOperation operation(task, group.member.parameters().payload);
  host.loop().throw_if_broken();
  if (group.member.failure()) {
    return answer_of_ended(group, result);
  }
  // A linked operation must not be destroyed; if the host breaks, or the group ends, nothing
  // accesses it again.
  host.start(group, operation);
  host.loop().wait_through(
      lock, [&] { return operation.finished() || group.member.failure().has_value(); },
      wait_for(operation, host.loop()));
  if (operation.finished()) {
    return conclude(operation, host.last_error, result);
  }
  group.pipeline.abandon();
  return answer_of_ended(group, result);
}

namespace {

/// Runs the task of `make_task` to its end.
template <typename MakeTask>
int run(tributary_group* group, MakeTask&& make_task, tributary_result* result) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  return guarded(group->host->last_error, [&] {
    auto lock = group->host->loop().lock();
    return library::run_task(lock, *group, make_task(), result);
  });
}

template <typename MakeTask>
int start(tributary_group* group, MakeTask&& make_task, tributary_request** request) {
  if (request != nullptr) {
    *request = nullptr;
  }
  if (group == nullptr) {
    return library::no_host("the group");
  }
  return guarded(group->host->last_error, [&] {
    require(request != nullptr, "no place for the request: it is NULL");
    const auto lock = group->host->loop().lock();
    library::require_ids(*group);
    const VectorTask task = make_task();
    group->host->loop().throw_if_broken();
    if (group->member.failure()) {
      return answer_of_ended(*group, nullptr);
    }
    tributary_request& added =
        group->requests.add(std::make_unique<tributary_request>(*group, task));
    *request = &added;
    group->host->start(*group, std::get<VectorOperation>(added.operation));
    return static_cast<int>(TRIBUTARY_OK);
  });
}

/// Runs, or begins, the call of `make_call`.
template <typename MakeCall>
int run_call(tributary_group* group, MakeCall&& make_call, tributary_result* result = nullptr) {
  if (group == nullptr) {
    return library::no_host("the group");
  }
  return guarded(group->host->last_error, [&] {
    auto lock = group->host->loop().lock();
    return library::run_shared(lock, *group, make_call(), result);
  });
}

template <typename MakeCall>
int start_call(tributary_group* group, MakeCall&& make_call, tributary_request** request) {
  if (request != nullptr) {
    *request = nullptr;
  }
  if (group == nullptr) {
    return library::no_host("the group");
  }
  return guarded(group->host->last_error, [&] {
    require(request != nullptr, "no place for the request: it is NULL");
    auto lock = group->host->loop().lock();
    return library::start_shared(lock, *group, make_call(), request);
  });
}

/// Concludes a request that is over and frees it.
int release(tributary_request** request, tributary_result* result) {
  tributary_request* finished = *request;
  tributary_group& group = *finished->group;
  *request = nullptr;
  const bool done = finished->finished();
  const auto* const reduction = std::get_if<VectorOperation>(&finished->operation);
  int code = TRIBUTARY_OK;
  if (reduction == nullptr) {
    if (result != nullptr) {
      *result = {};
    }
    code = done ? library::conclude_shared(
                      std::get<tributary_request::Multicast>(finished->operation), result)
                : fail(group.host->last_error, library::multicast_failure_code(*finished->by),
                       library::multicast_failure_text(*finished->by));
  } else if (done) {
    code = conclude(*reduction, group.host->last_error, result);
  } else {
    code = answer_of_ended(group, result);
    group.pipeline.abandon();
  }
  if (done && code == TRIBUTARY_OK && finished->unpack) {
    finished->unpack();
  }
  group.requests.remove(*finished);
  return code;
}

/// What of a request is done, for people.
std::string progress_text(const tributary_request& request) {
  if (const auto* reduction = std::get_if<VectorOperation>(&request.operation)) {
    return fmt::format("{} of {} pieces", reduction->pieces_done(), reduction->pieces());
  }
  const auto& multicast = std::get<tributary_request::Multicast>(request.operation);
  return fmt::format("{} of {} windows", multicast.windows_done(), multicast.windows());
}

Loop::Wait wait_for(const tributary_request& request, Loop& loop) {
  if (const auto* reduction = std::get_if<VectorOperation>(&request.operation)) {
    return wait_for(*reduction, loop);
  }
  return std::get<tributary_request::Multicast>(request.operation).windows() == 1
             ? Loop::Wait::short_one
             : Loop::Wait::vector;
}

} // namespace

int tributary_allreduce(tributary_group* group, const void* in, void* out, size_t count, int type,
                        int op, tributary_result* result) {
  return run(
      group, [&] { return reduction(*group, in, out, count, type, op, true); }, result);
}

int tributary_allreduce_start(tributary_group* group, const void* in, void* out, size_t count,
                              int type, int op, tributary_request** request) {
  return start(
      group, [&] { return reduction(*group, in, out, count, type, op, true); }, request);
}

int tributary_reduce(tributary_group* group, const void* in, void* out, size_t count, int type,
                     int op, uint32_t to_rank, tributary_result* result) {
  return run(
      group, [&] { return reduction(*group, in, out, count, type, op, keeps(*group, to_rank)); },
      result);
}

int tributary_reduce_start(tributary_group* group, const void* in, void* out, size_t count,
                           int type, int op, uint32_t to_rank, tributary_request** request) {
  return start(
      group, [&] { return reduction(*group, in, out, count, type, op, keeps(*group, to_rank)); },
      request);
}

int tributary_reduce_scatter(tributary_group* group, const void* in, void* out, size_t count,
                             int type, int op, tributary_result* result) {
  return run_call(
      group, [&] { return reduce_scatter(*group, in, out, count, type, op); }, result);
}

int tributary_reduce_scatter_start(tributary_group* group, const void* in, void* out, size_t count,
                                   int type, int op, tributary_request** request) {
  return start_call(
      group, [&] { return reduce_scatter(*group, in, out, count, type, op); }, request);
}

int tributary_broadcast(tributary_group* group, void* buffer, size_t count, int type,
                        uint32_t from_rank) {
  return run_call(group, [&] { return broadcast(*group, buffer, count, type, from_rank); });
}

int tributary_broadcast_start(tributary_group* group, void* buffer, size_t count, int type,
                              uint32_t from_rank, tributary_request** request) {
  return start_call(
      group, [&] { return broadcast(*group, buffer, count, type, from_rank); }, request);
}

int tributary_allgather(tributary_group* group, const void* in, void* out, size_t count, int type) {
  return run_call(group,
                  [&] { return allgather(*group, in, out, equal_blocks(*group, count), type); });
}

int tributary_allgather_start(tributary_group* group, const void* in, void* out, size_t count,
                              int type, tributary_request** request) {
  return start_call(
      group, [&] { return allgather(*group, in, out, equal_blocks(*group, count), type); },
      request);
}

int tributary_allgatherv(tributary_group* group, const void* in, void* out, const size_t* counts,
                         const size_t* offsets, int type) {
  return run_call(group, [&] {
    return allgather(*group, in, out, given_blocks(*group, counts, offsets), type);
  });
}

int tributary_allgatherv_start(tributary_group* group, const void* in, void* out,
                               const size_t* counts, const size_t* offsets, int type,
                               tributary_request** request) {
  return start_call(
      group,
      [&] { return allgather(*group, in, out, given_blocks(*group, counts, offsets), type); },
      request);
}

int tributary_barrier(tributary_group* group) {
  return run(
      group, [] { return VectorTask{}; }, nullptr);
}

int tributary_barrier_start(tributary_group* group, tributary_request** request) {
  return start(
      group, [] { return VectorTask{}; }, request);
}

int tributary_test(tributary_request** request, int* done, tributary_result* result) {
  if (done != nullptr) {
    *done = 0;
  }
  if (request == nullptr || *request == nullptr) {
    return library::no_host("the request");
  }
  tributary_host& host = *(*request)->group->host;
  return guarded(host.last_error, [&] {
    require(done != nullptr, "done is NULL");
    const auto lock = host.loop().lock();
    host.loop().progress();
    if (!(*request)->is_over()) {
      return static_cast<int>(TRIBUTARY_OK);
    }
    *done = 1;
    return release(request, result);
  });
}

int tributary_wait(tributary_request** request, int64_t timeout_usec, tributary_result* result) {
  if (request == nullptr || *request == nullptr) {
    return library::no_host("the request");
  }
  tributary_group& group = *(*request)->group;
  tributary_host& host = *group.host;
  return guarded(host.last_error, [&] {
    auto lock = host.loop().lock();
    constexpr std::int64_t longest_usec = 1'000'000'000'000'000; // thirty years
    const bool for_ever = timeout_usec < 0 || timeout_usec > longest_usec;
    const TimeNs deadline =
        for_ever ? tributary::never
                 : tributary::net::steady_now() + static_cast<std::uint64_t>(timeout_usec) * 1000;
    if (!host.loop().wait_for_answer(
            lock, [&] { return (*request)->is_over(); }, deadline,
            wait_for(**request, host.loop()))) {
      return fail(host.last_error, TRIBUTARY_ERR_TIMEOUT,
                  fmt::format("timed out with {} done; the request is still valid, wait for it "
                              "again\n{}{}{}",
                              progress_text(**request),
                              library::status_text(group.member, tributary::net::steady_now()),
                              library::multicast_text(group, tributary::net::steady_now()),
                              library::absent_text(group)));
    }
    return release(request, result);
  });
}
