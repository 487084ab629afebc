#include "endpoint/mpi/intra_node/fabric_host.hpp"

#include <fmt/format.h>

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

NoGroup refusal_of(const std::string& what, int code, const tributary_host* host) {
  return {cause_of(code), fmt::format("{}: {}{}", what, tributary_last_error(host), advice(code))};
}

std::string what_of_interface(const std::string& name) {
  return name.empty() ? "TRIBUTARY_MPI_INTERFACE is not set"
                      : fmt::format("interface {} cannot be used", name);
}

FabricHost::FabricHost(const std::string& interface, std::uint32_t spin_usec) {
  tributary_host_options on = tributary_host_defaults(interface.c_str());
  on.spin_usec = spin_usec;
  // A root has to answer the others while its program computes.
  on.progress = TRIBUTARY_PROGRESS_THREAD;
  if (const int code = tributary_open(&on, &host_); code != TRIBUTARY_OK) {
    host_ = nullptr;
    throw NoGroup(Refusal::no_interface,
                  refusal_of(what_of_interface(interface), code, nullptr).what());
  }
}

FabricHost::~FabricHost() { tributary_close(host_); }

FabricHost::Turn::Turn(FabricHost& host) : host_(host) {
  host_.users_.fetch_add(1);
  {
    const std::lock_guard next(host_.next_);
    host_.mutex_.lock();
  }
  host_.users_.fetch_sub(1);
}

} // namespace tributary::mpi::intra_node
