#include "endpoint/mpi/intra_node/fabric_group.hpp"

#include <fmt/format.h>

#include <array>
#include <thread>

namespace tributary::mpi::intra_node {

namespace {

/// A hint besides the library's message.
std::string advice(int code) {
  switch (code) {
  case TRIBUTARY_ERR_NOT_PERMITTED:
    return "; tributary-hostd on each compute node gives programs of a job their sockets, so that "
           "they need no privilege";
  case TRIBUTARY_ERR_NO_INTERFACE:
    return "; TRIBUTARY_MPI_INTERFACE names the interface that leads to the switch";
  case TRIBUTARY_ERR_MANAGER_UNREACHABLE:
    return "; TRIBUTARY_FABRIC_MANAGER_URL says where the fabric manager is";
  case TRIBUTARY_ERR_MANAGER_REFUSED:
    return "; TRIBUTARY_FABRIC_MANAGER_TOKEN is the token of the job, and 'tributaryctl fabric "
           "show "
           "groups' says who holds groups and trees";
  default: return "";
  }
}

Refusal cause_of(int code) {
  switch (code) {
  case TRIBUTARY_ERR_MANAGER_UNREACHABLE: return Refusal::manager_unreachable;
  case TRIBUTARY_ERR_MANAGER_REFUSED: return Refusal::manager_refused;
  case TRIBUTARY_ERR_NOT_READY: return Refusal::not_ready;
  case TRIBUTARY_ERR_NOT_PERMITTED:
  case TRIBUTARY_ERR_NO_INTERFACE:
  case TRIBUTARY_ERR_INTERFACE_DOWN: return Refusal::no_interface;
  default: return Refusal::other;
  }
}

} // namespace

FabricGroup::FabricGroup(const std::string& interface, std::uint32_t spin_usec) {
  tributary_host_options on = tributary_host_defaults(interface.c_str());
  on.spin_usec = spin_usec;
  // A root has to answer the others while its program computes.
  on.progress = TRIBUTARY_PROGRESS_THREAD;
  if (const int code = tributary_open(&on, &host_); code != TRIBUTARY_OK) {
    host_ = nullptr;
    throw NoGroup(Refusal::no_interface, fmt::format("interface {} cannot be used: {}{}", interface,
                                                     tributary_last_error(nullptr), advice(code)));
  }
}

FabricGroup::~FabricGroup() { close(); }

void FabricGroup::refuse(const std::string& what, int code) {
  throw NoGroup(cause_of(code),
                fmt::format("{}: {}{}", what, tributary_last_error(host_), advice(code)));
}

void FabricGroup::join(const GroupSettings& settings) {
  tributary_named_group_options who = tributary_named_group_defaults(settings.name.c_str());
  who.rank = settings.node;
  who.size = settings.nodes;
  who.wait_usec = std::chrono::microseconds(settings.join_limit).count();
  // Leaders leave when they know that all have their results (pmpi): no need to wait for others.
  constexpr std::uint32_t leave_usec = 1'000'000;
  constexpr std::uint32_t leave_grace_usec = 50'000;
  who.protocol.leave_timeout_usec = leave_usec;
  who.protocol.leave_grace_usec = leave_grace_usec;
  if (settings.in_switch_results) {
    who.protocol.in_switch_results = *settings.in_switch_results ? 1 : 0;
  }
  if (const int code = tributary_join_named(host_, &who, &group_); code != TRIBUTARY_OK) {
    group_ = nullptr;
    refuse(fmt::format("no group of {} nodes", settings.nodes), code);
  }
}

bool FabricGroup::has_wide_frames() const {
  constexpr std::uint32_t narrow = 32;
  tributary_membership membership;
  return tributary_get_membership(group_, &membership) == TRIBUTARY_OK &&
         membership.payload > narrow;
}

FabricGroup::Outcome FabricGroup::begun(int code) {
  if (code == TRIBUTARY_OK) {
    return Outcome::not_yet;
  }
  request_ = nullptr;
  return ended(code);
}

FabricGroup::Outcome FabricGroup::ended(int code) {
  error_ = tributary_last_error(host_);
  return code == TRIBUTARY_ERR_COUNT_MISMATCH || code == TRIBUTARY_ERR_OP_MISMATCH
             ? Outcome::differs
             : Outcome::failed;
}

FabricGroup::Outcome FabricGroup::begin_reduction(const Plan& plan, const std::byte* in,
                                                  std::byte* out, std::size_t elements) {
  return begun(tributary_allreduce_start(group_, in, out, elements, plan.type, plan.op, &request_));
}

FabricGroup::Outcome FabricGroup::begin_broadcast(std::byte* buffer, std::size_t bytes,
                                                  std::uint32_t from_node) {
  return begun(
      tributary_broadcast_start(group_, buffer, bytes, TRIBUTARY_UINT8, from_node, &request_));
}

FabricGroup::Outcome FabricGroup::begin_barrier() {
  return begun(tributary_barrier_start(group_, &request_));
}

FabricGroup::Outcome FabricGroup::wait(std::chrono::milliseconds limit) {
  const int code = tributary_wait(&request_, std::chrono::microseconds(limit).count(), nullptr);
  if (code == TRIBUTARY_OK) {
    return Outcome::done;
  }
  if (code == TRIBUTARY_ERR_TIMEOUT) {
    return Outcome::not_yet;
  }
  if (code == TRIBUTARY_ERR_INTERFACE_DOWN && request_ != nullptr) {
    std::this_thread::sleep_for(limit); // nothing is lost; the link may come up again
    return Outcome::not_yet;
  }
  return ended(code);
}

std::uint64_t FabricGroup::pieces() const {
  tributary_statistics statistics;
  return tributary_get_statistics(group_, &statistics) == TRIBUTARY_OK ? statistics.completed : 0;
}

std::string FabricGroup::state() const {
  std::array<char, 1024> text{};
  if (tributary_status_text(group_, text.data(), text.size()) < 0) {
    return "";
  }
  std::string line;
  for (const char* at = text.data(); *at != '\0'; ++at) {
    if (*at != '\n') {
      line += *at;
    } else if (at[1] != '\0') {
      line += ';';
    }
  }
  return line;
}

void FabricGroup::leave() {
  if (group_ != nullptr && request_ == nullptr) {
    tributary_leave(group_); // if this fails its lease expires
    group_ = nullptr;
  }
  close();
}

void FabricGroup::close() {
  tributary_close(host_);
  host_ = nullptr;
  group_ = nullptr;
  request_ = nullptr;
}

} // namespace tributary::mpi::intra_node
