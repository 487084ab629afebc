#include "dataplane/egress/ingress_accounts.hpp"

#include <stdexcept>

namespace tributary::egress {

std::string problem_with(const PauseLimits& limits) {
  if (!limits.xon.within(limits.xoff) || limits.xon.frames == limits.xoff.frames ||
      limits.xon.bytes == limits.xoff.bytes) {
    return "a pause ends at " + std::to_string(limits.xon.frames) + " frames and " +
           std::to_string(limits.xon.bytes) + " bytes, which must both be less than the " +
           std::to_string(limits.xoff.frames) + " frames and " + std::to_string(limits.xoff.bytes) +
           " bytes where it begins";
  }
  return {};
}

IngressAccounts::IngressAccounts(const std::array<PauseLimits, traffic_classes>& limits)
    : accounts_(std::make_unique<Accounts>()) {
  for (std::uint8_t c = 0; c < traffic_classes; ++c) {
    for (std::uint8_t port = 0; port < max_ports; ++port) {
      set_limits(PortNumber{port}, TrafficClass{c}, limits[c]);
    }
  }
}

void IngressAccounts::set_limits(PortNumber ingress, TrafficClass c, const PauseLimits& limits) {
  if (const std::string problem = problem_with(limits); !problem.empty()) {
    throw std::invalid_argument("port " + std::to_string(ingress.value) + ", class " +
                                std::to_string(c.value) + ": " + problem);
  }
  account(ingress, c).limits = limits;
}

bool IngressAccounts::enter(PortNumber ingress, TrafficClass c, std::uint32_t bytes) {
  Account& a = account(ingress, c);
  const std::uint64_t frames_then = a.frames.read() + 1;
  const std::uint64_t bytes_then = a.bytes.read() + bytes;
  const auto beyond = [&](Depth limit) {
    return frames_then > limit.frames || bytes_then > limit.bytes;
  };
  if (beyond(a.limits.most())) {
    return false;
  }
  a.frames.set(frames_then);
  a.bytes.set(bytes_then);
  a.highest_frames.raise_to(frames_then);
  a.highest_bytes.raise_to(bytes_then);
  if (beyond(a.limits.xoff)) {
    want(ingress, wanted(ingress) | ClassSet::of(c));
  }
  return true;
}

void IngressAccounts::leave(PortNumber ingress, TrafficClass c, std::uint32_t bytes) {
  Account& a = account(ingress, c);
  a.frames.set(a.frames.read() - 1);
  a.bytes.set(a.bytes.read() - bytes);
  if (wanted(ingress).contains(c) && waiting(ingress, c).within(a.limits.xon)) {
    want(ingress, wanted(ingress) - ClassSet::of(c));
  }
}

void IngressAccounts::want(PortNumber ingress, ClassSet classes) {
  wanted_[ingress.value % max_ports].store(classes.bits(), std::memory_order_relaxed);
  PortSet ports = this->ports();
  if (classes.empty()) {
    ports.erase(ingress);
  } else {
    ports.insert(ingress);
  }
  ports_.store(ports.bits(), std::memory_order_relaxed);
}

Depth IngressAccounts::waiting(PortNumber ingress, TrafficClass c) const {
  const Account& a = account(ingress, c);
  return {static_cast<std::uint32_t>(a.frames.read()), static_cast<std::uint32_t>(a.bytes.read())};
}

Depth IngressAccounts::highest(PortNumber ingress, TrafficClass c) const {
  const Account& a = account(ingress, c);
  return {static_cast<std::uint32_t>(a.highest_frames.read()),
          static_cast<std::uint32_t>(a.highest_bytes.read())};
}

} // namespace tributary::egress
