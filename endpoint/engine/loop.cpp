#include "endpoint/engine/loop.hpp"

#include "link/wait.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tributary::engine {

using link::LinkError;

namespace {

constexpr std::uint64_t look_again_ns = 50'000;

} // namespace

Loop::Loop(std::unique_ptr<link::Port> port, std::uint16_t ethertype, std::uint64_t spin_ns)
    : port_(std::move(port)), engine_(*port_, ethertype), spin_ns_(spin_ns) {}

void Loop::throw_if_broken() const {
  if (broken_) {
    throw LinkError(*broken_);
  }
}

void Loop::progress() {
  throw_if_broken();
  try {
    while (engine_.round(net::steady_now()).again) {
    }
  } catch (const LinkError& error) {
    if (error.kind() != LinkError::Kind::interface_down) {
      broken_ = error;
    }
    throw;
  }
}

void Loop::send(Protocol& protocol) {
  try {
    engine_.send(protocol);
  } catch (const LinkError&) {
    // The frames stay, so the next round meets the same error.
  }
}

void Loop::pause(TimeNs deadline) {
  const TimeNs begin = net::steady_now();
  TimeNs due = std::min(deadline, engine_.next_deadline());
  if (port_->fd() < 0) {
    due = std::min(due, begin + look_again_ns); // there is nothing to wait on
  }
  if (spin_ns_ > 0) {
    const TimeNs spin_end = std::min(begin + spin_ns_, due);
    do {
      if (link::readable(port_->fd())) {
        return;
      }
    } while (net::steady_now() < spin_end);
  }
  link::wait(port_->fd(), elapsed_ns(due, net::steady_now()), engine_.has_to_send());
}

void Loop::ride_out(const LinkError& error) {
  if (error.kind() != LinkError::Kind::interface_down) {
    throw LinkError(error);
  }
  constexpr useconds_t between_looks = 10'000;
  ::usleep(between_looks);
}

} // namespace tributary::engine
