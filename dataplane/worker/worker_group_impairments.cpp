// Impairments of ports, changed while frames flow. A stage is made and destroyed here, on the
// control thread; the worker exchanges one for the other between two bursts.
#include "dataplane/worker/worker_group.hpp"
#include "tributary/drawn_seed.hpp"

#include <chrono>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tributary::worker {
namespace {

/// How often to check whether all frames of a cleared impairment have left, and the pause between
/// checks.
constexpr int clearing_attempts = 10;
constexpr std::chrono::microseconds clearing_pause{200};

/// Both directions of a port may have the same seed, but must draw different numbers.
std::uint64_t seed_of(const config::Impairment& impairment, impairment::Direction direction) {
  return direction == impairment::Direction::received ? impairment.seed : ~impairment.seed;
}

} // namespace

void WorkerGroup::impair(std::size_t switch_index, PortNumber port, impairment::Direction direction,
                         const config::Impairment& impairment) {
  if (!impairment.any()) {
    clear_impairment(switch_index, port, direction);
    return;
  }
  const config::Port& configured = switches_[switch_index].ports[port.value]->configuration();
  config::Impairment wanted = impairment;
  if (wanted.seed == 0) {
    std::random_device random;
    wanted.seed = drawn_seed(std::uint64_t{random()} << 32 | random());
    spdlog::info("switch {}, port {}: seed {} of the impairment of what is {}",
                 switches_[switch_index].name, configured.name, wanted.seed,
                 impairment::name_of(direction));
  }
  Worker& worker = *workers_[worker_of(switch_index, port)];
  std::unique_ptr<port::ImpairmentStage> stage;
  try {
    stage = std::make_unique<port::ImpairmentStage>(
        wanted.settings, seed_of(wanted, direction), configured.policy.ethertype,
        worker.impairment_counters(switch_index, port, direction),
        port::ImpairedMbufs(eal_.pool()));
  } catch (const std::bad_alloc&) {
    throw port::PortError(fmt::format("port {}: no memory to hold {} frames; choose fewer "
                                      "held_frames",
                                      configured.name, wanted.settings.held_frames));
  }
  if (direction == impairment::Direction::sent) {
    send_directly(switch_index, port, false); // the owner's impairment sees all frames
  } else {
    poll_directly(switch_index, port, false);
  }
  worker.call(
      [&] { stage = worker.exchange_impairment(switch_index, port, direction, std::move(stage)); });
  impairments_[switch_index][port.value][static_cast<std::size_t>(direction)] = std::move(wanted);
}

void WorkerGroup::clear_impairment(std::size_t switch_index, PortNumber port,
                                   impairment::Direction direction) {
  config::Impairment& in_force =
      impairments_[switch_index][port.value][static_cast<std::size_t>(direction)];
  if (!in_force.any()) {
    return;
  }
  in_force = {};
  Worker& worker = *workers_[worker_of(switch_index, port)];
  std::unique_ptr<port::ImpairmentStage> old;
  for (int attempt = 0; attempt < clearing_attempts && !old; ++attempt) {
    if (attempt != 0) {
      std::this_thread::sleep_for(clearing_pause);
    }
    worker.call([&] { old = worker.exchange_impairment(switch_index, port, direction, nullptr); });
  }
  if (direction == impairment::Direction::sent) {
    send_directly(switch_index, port, true);
  } else {
    poll_directly(switch_index, port, true);
  }
}

impairment::Counts WorkerGroup::impairment_counts(std::size_t switch_index, PortNumber port,
                                                  impairment::Direction direction) const {
  const Worker& worker = *workers_[worker_of(switch_index, port)];
  return read(worker.impairment_counters(switch_index, port, direction));
}

std::size_t WorkerGroup::impaired_held(std::size_t switch_index, PortNumber port,
                                       impairment::Direction direction) {
  Worker& worker = *workers_[worker_of(switch_index, port)];
  std::size_t held = 0;
  worker.call([&] { held = worker.impaired_held(switch_index, port, direction); });
  return held;
}

} // namespace tributary::worker
