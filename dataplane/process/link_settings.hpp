// How the links of a process's switches are watched, from its configuration.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/liveness/link.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tributary::dataplane {

/// Links are unwatched without a manager, or without the hellos by which switches find each other.
inline liveness::Settings link_settings(const config::Config& configuration) {
  const auto& manager = configuration.manager;
  if (!manager || manager->hello_interval.count() == 0) {
    return {};
  }
  const auto ns = [](std::chrono::nanoseconds interval) {
    return static_cast<std::uint64_t>(interval.count());
  };
  return {.interval_ns = ns(manager->link_hello_interval),
          .misses = manager->link_down_after,
          .good = manager->link_up_after,
          .idle_interval_ns = ns(std::max(manager->hello_interval, manager->link_hello_interval))};
}

} // namespace tributary::dataplane
