// The functions of tributary.h. Each checks its arguments, calls the host, and turns exceptions
// into error codes: none crosses the C boundary.
#include "tributary/tributary.h"
#include "endpoint/collective/element_type.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/operators.hpp"
#include "endpoint/library/status_text.hpp"
#include "endpoint/transport/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

using tributary::Nid;
using tributary::TimeNs;
using tributary::collective::ElementType;
using tributary::collective::GroupParameters;
using tributary::collective::VectorOperation;
using tributary::collective::VectorTask;
using tributary::transport::TransportError;
namespace collective = tributary::collective;
namespace library = tributary::library;
namespace reduce = tributary::reduce;

namespace {

/// Where an open that failed leaves its message, as there is no host to ask.
thread_local std::string last_open_error;

int code_of(const TransportError& error) {
  switch (error.kind()) {
  case TransportError::Kind::no_interface: return TRIBUTARY_ERR_NO_INTERFACE;
  case TransportError::Kind::interface_down: return TRIBUTARY_ERR_INTERFACE_DOWN;
  case TransportError::Kind::not_permitted: return TRIBUTARY_ERR_NOT_PERMITTED;
  case TransportError::Kind::system: return TRIBUTARY_ERR_SYSTEM;
  }
  return TRIBUTARY_ERR_SYSTEM;
}

int fail(std::string& message, int code, const std::string& text) {
  message = text;
  return code;
}

/// Runs `f`, which answers a code, and leaves the message of what it throws in `message`.
template <typename F> int guarded(std::string& message, F&& f) noexcept {
  try {
    return f();
  } catch (const TransportError& error) {
    return fail(message, code_of(error), error.what());
  } catch (const std::invalid_argument& error) {
    return fail(message, TRIBUTARY_ERR_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    message.clear(); // the general text says it all, and needs no memory
    return TRIBUTARY_ERR_MEMORY;
  } catch (const std::exception& error) {
    return fail(message, TRIBUTARY_ERR_SYSTEM, error.what());
  }
}

void require(bool condition, const char* what) {
  if (!condition) {
    throw std::invalid_argument(what);
  }
}

/// The answer of a finished operation.
int conclude(const VectorOperation& operation, std::string& message, tributary_result* result) {
  const bool mismatch = operation.rc() == reduce::ResultCode::op_mismatch;
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

VectorTask reduction(const tributary_group& group, const void* in, void* out, std::size_t count,
                     int type, int op, bool keep) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is none of enum tributary_type");
  const auto opcode = library::opcode_for(op, *element_type);
  if (!opcode) {
    throw std::invalid_argument(
        fmt::format("operator {} does not reduce type {}; the table at enum tributary_op in "
                    "tributary.h says which do",
                    op, type));
  }
  if (count > 0 && (in == nullptr || (keep && out == nullptr))) {
    throw std::invalid_argument(
        fmt::format("rank {}: a buffer is NULL though there are {} elements",
                    group.member.parameters().rank, count));
  }
  return {.op = *opcode,
          .type = *element_type,
          .in = static_cast<const std::byte*>(in),
          .out = keep ? static_cast<std::byte*>(out) : nullptr,
          .elements = count};
}

/// A broadcast is a bitwise OR of bytes to which all but one contribute zeros.
VectorTask broadcast(const tributary_group& group, void* buffer, std::size_t count, int type,
                     std::uint32_t from_rank) {
  const auto element_type = library::element_type(type);
  require(element_type.has_value(), "the type is none of enum tributary_type");
  require(from_rank < group.member.parameters().size, "from_rank is not below the group's size");
  require(count == 0 || buffer != nullptr, "the buffer is NULL though there are elements");
  const bool speaks = group.member.parameters().rank == from_rank;
  return {.op = reduce::Opcode::bit_or,
          .type = ElementType::uint8,
          .in = speaks ? static_cast<const std::byte*>(buffer) : nullptr,
          .out = speaks ? nullptr : static_cast<std::byte*>(buffer),
          .elements = count * bytes_of(*element_type)};
}

bool keeps(const tributary_group& group, std::uint32_t to_rank) {
  require(to_rank < group.member.parameters().size, "to_rank is not below the group's size");
  return group.member.parameters().rank == to_rank;
}

/// Runs the task that `make_task` makes to its end.
template <typename MakeTask>
int run(tributary_group* group, MakeTask&& make_task, tributary_result* result) {
  if (group == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  std::string& message = group->host->last_error;
  return guarded(message, [&] {
    VectorOperation operation(make_task());
    group->host->throw_if_broken();
    // An operation that is linked must not go away; if the host breaks nothing touches it again.
    group->host->start(*group, operation);
    group->host->wait_through([&] { return operation.finished(); });
    return conclude(operation, message, result);
  });
}

template <typename MakeTask>
int start(tributary_group* group, MakeTask&& make_task, tributary_request** request) {
  if (request != nullptr) {
    *request = nullptr;
  }
  if (group == nullptr || request == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  return guarded(group->host->last_error, [&] {
    const VectorTask task = make_task();
    group->host->throw_if_broken();
    tributary_request& added = group->requests.emplace_back(*group, task);
    *request = &added;
    group->host->start(*group, added.operation);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

/// Concludes a finished request and frees it.
int release(tributary_request** request, tributary_result* result) {
  tributary_request* finished = *request;
  tributary_group& group = *finished->group;
  *request = nullptr;
  const int code = conclude(finished->operation, group.host->last_error, result);
  group.requests.remove_if([&](const tributary_request& each) { return &each == finished; });
  return code;
}

std::uint64_t ns(std::uint32_t usec) { return std::uint64_t{usec} * 1000; }

GroupParameters parameters_of(const tributary_host& host, const tributary_group_options& options) {
  require(options.tree < tributary::max_trees, "the tree is outside 0 to 8191");
  GroupParameters p;
  p.tree = tributary::TreeNumber{static_cast<std::uint16_t>(options.tree)};
  p.vni = tributary::Vni{options.vni};
  p.cookie = tributary::Cookie{options.cookie};
  p.rank = options.rank;
  p.size = options.size;
  p.root_rank = options.root_rank;
  p.nid = host.nid();
  if (options.root_nid != TRIBUTARY_NID_UNKNOWN) {
    p.root_nid = Nid{options.root_nid};
  }
  p.ethertype = host.ethertype();
  p.destination = tributary::wire::port_mac(host.nid());
  p.source = host.socket().address();
  p.armed = options.armed != 0;
  p.dialect = options.cxi_compatible != 0 ? collective::Dialect::cxi : collective::Dialect::native;
  p.check_contributions = options.check_contributions != 0;
  p.nan_mode = options.ieee_nan != 0 ? reduce::NanMode::ieee : reduce::NanMode::associative;
  p.retry_ns = ns(options.retry_usec);
  p.collective_timeout_ns = ns(options.collective_timeout_usec);
  p.result_timeout_ns = ns(options.result_timeout_usec);
  p.leave_timeout_ns = ns(options.leave_timeout_usec);
  p.linger_ns = ns(options.linger_usec);
  return p;
}

std::uint32_t usec(std::uint64_t ns_value) { return static_cast<std::uint32_t>(ns_value / 1000); }

} // namespace

tributary_host_options tributary_host_defaults(const char* interface) {
  return {.interface = interface,
          .ethertype = tributary::wire::default_ethertype,
          .nid = TRIBUTARY_NID_FROM_ADDRESS,
          .spin_usec = 0,
          .buffer_bytes = 1U << 20};
}

int tributary_open(const tributary_host_options* options, tributary_host** host) {
  if (host != nullptr) {
    *host = nullptr;
  }
  return guarded(last_open_error, [&] {
    require(options != nullptr && host != nullptr, "options or host is NULL");
    require(options->interface != nullptr, "the interface's name is NULL");
    *host = new tributary_host(*options);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

void tributary_close(tributary_host* host) { delete host; }

uint32_t tributary_nid(const tributary_host* host) { return host->nid().value; }

int tributary_progress(tributary_host* host) {
  if (host == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  return guarded(host->last_error, [&] {
    host->progress();
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_fd(const tributary_host* host) { return host->socket().fd(); }

int64_t tributary_timeout_usec(const tributary_host* host) {
  if (host->has_to_send()) {
    return 100; // the kernel's queue was full: look again soon
  }
  const TimeNs deadline = host->next_deadline();
  if (deadline == tributary::never) {
    return -1;
  }
  const std::uint64_t left = elapsed_ns(deadline, tributary::transport::now());
  return static_cast<int64_t>((left + 999) / 1000);
}

const char* tributary_last_error(const tributary_host* host) {
  return host == nullptr ? last_open_error.c_str() : host->last_error.c_str();
}

tributary_group_options tributary_group_defaults() {
  const GroupParameters p;
  return {.tree = 0,
          .vni = 0,
          .cookie = 0,
          .rank = 0,
          .size = 1,
          .root_rank = 0,
          .root_nid = TRIBUTARY_NID_UNKNOWN,
          .armed = 1,
          .cxi_compatible = 0,
          .check_contributions = 1,
          .ieee_nan = 0,
          .retry_usec = usec(p.retry_ns),
          .collective_timeout_usec = usec(p.collective_timeout_ns),
          .result_timeout_usec = usec(p.result_timeout_ns),
          .leave_timeout_usec = usec(p.leave_timeout_ns),
          .linger_usec = usec(p.linger_ns)};
}

int tributary_join(tributary_host* host, const tributary_group_options* options,
                   tributary_group** group) {
  if (group != nullptr) {
    *group = nullptr;
  }
  if (host == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  return guarded(host->last_error, [&] {
    require(options != nullptr && group != nullptr, "options or group is NULL");
    const GroupParameters parameters = parameters_of(*host, *options);
    if (host->group_on(parameters.tree) != nullptr) {
      return fail(host->last_error, TRIBUTARY_ERR_TREE_IN_USE,
                  fmt::format("this host is in a group on tree {} already; leave that one first, "
                              "or use another tree",
                              options->tree));
    }
    *group = &host->add(parameters);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_leave(tributary_group* group) {
  if (group == nullptr) {
    return TRIBUTARY_OK;
  }
  tributary_host& host = *group->host;
  if (!group->requests.empty() || !group->pipeline.is_idle()) {
    return fail(host.last_error, TRIBUTARY_ERR_BUSY,
                fmt::format("{} requests of the group are outstanding; wait for them first",
                            group->requests.size()));
  }
  const int code = guarded(host.last_error, [&] {
    collective::Member& member = group->member;
    const TimeNs begin = tributary::transport::now();
    member.leave(begin);
    // The member goes within its own bounds; the second beyond is for the kernel to take the last
    // frames.
    constexpr std::uint64_t to_drain_ns = 1'000'000'000;
    const GroupParameters& bounds = member.parameters();
    const bool gone =
        host.wait_until([&] { return member.left() && member.outbox().empty(); },
                        begin + (bounds.leave_timeout_ns + bounds.linger_ns + to_drain_ns));
    if (!gone || member.abandoned()) {
      return fail(host.last_error, TRIBUTARY_ERR_ABANDONED,
                  "some members did not come to leave the group in time; they may be gone, or "
                  "late, and may still miss results");
    }
    return static_cast<int>(TRIBUTARY_OK);
  });
  host.remove(*group);
  return code;
}

uint32_t tributary_rank(const tributary_group* group) { return group->member.parameters().rank; }

uint32_t tributary_size(const tributary_group* group) { return group->member.parameters().size; }

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

int tributary_broadcast(tributary_group* group, void* buffer, size_t count, int type,
                        uint32_t from_rank) {
  return run(
      group, [&] { return broadcast(*group, buffer, count, type, from_rank); }, nullptr);
}

int tributary_broadcast_start(tributary_group* group, void* buffer, size_t count, int type,
                              uint32_t from_rank, tributary_request** request) {
  return start(
      group, [&] { return broadcast(*group, buffer, count, type, from_rank); }, request);
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
  if (request == nullptr || *request == nullptr || done == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  tributary_host& host = *(*request)->group->host;
  return guarded(host.last_error, [&] {
    host.progress();
    if (!(*request)->operation.finished()) {
      return static_cast<int>(TRIBUTARY_OK);
    }
    *done = 1;
    return release(request, result);
  });
}

int tributary_wait(tributary_request** request, int64_t timeout_usec, tributary_result* result) {
  if (request == nullptr || *request == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  tributary_group& group = *(*request)->group;
  tributary_host& host = *group.host;
  return guarded(host.last_error, [&] {
    const VectorOperation& operation = (*request)->operation;
    constexpr std::int64_t longest_usec = 1'000'000'000'000'000; // thirty years
    const bool for_ever = timeout_usec < 0 || timeout_usec > longest_usec;
    const TimeNs deadline =
        for_ever ? tributary::never
                 : tributary::transport::now() + static_cast<std::uint64_t>(timeout_usec) * 1000;
    if (!host.wait_until([&] { return operation.finished(); }, deadline)) {
      return fail(host.last_error, TRIBUTARY_ERR_TIMEOUT,
                  fmt::format("not done after {} us, {} of {} pieces are; the request is still "
                              "valid\n{}",
                              timeout_usec, operation.pieces_done(), operation.pieces(),
                              library::status_text(group.member, tributary::transport::now())));
    }
    return release(request, result);
  });
}

int tributary_get_statistics(tributary_group* group, struct tributary_statistics* out) {
  if (group == nullptr || out == nullptr) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  const collective::Statistics& s = group->member.statistics();
#define TRIBUTARY_X(name, text) out->name = s.name;
  TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  out->host_frames_unknown = group->host->frames_unknown();
  out->host_kernel_drops = group->host->socket().kernel_drops();
  return TRIBUTARY_OK;
}

int tributary_status_text(const tributary_group* group, char* text, size_t size) {
  if (group == nullptr || (text == nullptr && size > 0)) {
    return TRIBUTARY_ERR_ARGUMENT;
  }
  return guarded(group->host->last_error, [&] {
    const std::string all = library::status_text(group->member, tributary::transport::now());
    if (size > 0) {
      const std::size_t copied = std::min(all.size(), size - 1);
      std::memcpy(text, all.data(), copied);
      text[copied] = '\0';
    }
    return static_cast<int>(all.size());
  });
}
