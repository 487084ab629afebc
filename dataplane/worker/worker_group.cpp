#include "dataplane/worker/worker_group.hpp"

#include "dataplane/port/transmit_queues.hpp"

#include <algorithm>
#include <exception>
#include <future>
#include <iterator>
#include <utility>

#include <pthread.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tributary::worker {
namespace {

std::vector<std::shared_ptr<const core::Tables>>
tables_of(const std::vector<SwitchPlan>& switches) {
  std::vector<std::shared_ptr<const core::Tables>> tables;
  std::ranges::transform(switches, std::back_inserter(tables), &SwitchPlan::tables);
  return tables;
}

/// Time until a busy worker has processed a burst of each port.
constexpr std::uint64_t reaction_ns = 20'000;

/// The ports whose frames bring a traffic class.
PortSet tagged_ports(const SwitchPlan& plan) {
  PortSet tagged;
  for (std::size_t port = 0; port < plan.ports.size(); ++port) {
    if (plan.ports[port]->configuration().tags) {
      tagged.insert(PortNumber{static_cast<std::uint8_t>(port)});
    }
  }
  return tagged;
}

/// Accounts of one worker's queues; null if no class of any port is lossless.
std::unique_ptr<egress::IngressAccounts> accounts_for(const SwitchPlan& plan) {
  std::unique_ptr<egress::IngressAccounts> accounts;
  for (const port::PortDevice* device : plan.ports) {
    for (std::uint8_t c = 0; c < traffic_classes; ++c) {
      if (!accounts && device->configuration().classes.lossless(TrafficClass{c})) {
        accounts = std::make_unique<egress::IngressAccounts>();
      }
    }
  }
  for (std::size_t port = 0; accounts && port < plan.ports.size(); ++port) {
    for (std::uint8_t c = 0; c < traffic_classes; ++c) {
      accounts->set_limits(PortNumber{static_cast<std::uint8_t>(port)}, TrafficClass{c},
                           plan.ports[port]->configuration().classes.pauses[c]);
    }
  }
  return accounts;
}

void pin_to(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (const int error = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set); error != 0) {
    throw port::PortError(fmt::format("cannot pin a worker to CPU {}: {}; see `nproc` and the "
                                      "process's cpuset for those there are",
                                      cpu, rte_strerror(error)));
  }
}

} // namespace

WorkerGroup::WorkerGroup(const config::Process& process, port::Eal& eal,
                         std::vector<SwitchPlan> switches)
    : process_(process), eal_(eal), switches_(std::move(switches)),
      publisher_(process.workers, tables_of(switches_)),
      measured_(switches_.size(), Measured(process.workers)), busy_cycles_(process.workers),
      shared_(process.workers, switches_.size()) {
  distribute();
  for (std::size_t s = 0; s < switches_.size(); ++s) {
    for (std::size_t index = 0; index < process_.workers; ++index) {
      if (auto accounts = accounts_for(switches_[s])) {
        shared_.accounts[s].push_back(std::move(accounts));
      }
    }
  }
  for (std::size_t index = 0; index < process_.workers; ++index) {
    auto worker =
        std::make_unique<Worker>(index, process_, clock_, publisher_, shared_, pool_of(index));
    for (std::size_t s = 0; s < switches_.size(); ++s) {
      if (placement(s) == nullptr && std::ranges::find(owners_[s], index) == owners_[s].end()) {
        continue;
      }
      worker->add_switch(s, switches_[s].settings, owners_[s], tagged_ports(switches_[s]),
                         placement(s));
      worker->watch_links(s, switches_[s].links, switches_[s].guid, switches_[s].ethertype);
      for (std::size_t port = 0; port < owners_[s].size(); ++port) {
        const PortNumber number{static_cast<std::uint8_t>(port)};
        port::PortDevice& device = *switches_[s].ports[port];
        if (owners_[s][port] == index) {
          worker->add_port(s, number, device);
          continue;
        }
        if (device.transmit_queues() >= process_.workers) {
          worker->add_output(s, number, device);
        }
        if (placement(s) != nullptr && device.steered()) {
          worker->add_input(s, number, device);
        }
      }
    }
    workers_.push_back(std::move(worker));
  }
  impairments_.resize(switches_.size());
  for (std::size_t s = 0; s < switches_.size(); ++s) {
    for (std::size_t port = 0; port < switches_[s].ports.size(); ++port) {
      const config::Port& wanted = switches_[s].ports[port]->configuration();
      const PortNumber number{static_cast<std::uint8_t>(port)};
      send_directly(s, number, true);
      poll_directly(s, number, true);
      impair(s, number, impairment::Direction::received, wanted.impaired_received);
      impair(s, number, impairment::Direction::sent, wanted.impaired_sent);
    }
  }
}

WorkerGroup::~WorkerGroup() {
  request_stop();
  join();
}

void WorkerGroup::distribute() {
  const std::size_t count = process_.workers;
  const bool whole_switches = port::runs_whole_switches(process_.workers, switches_.size());
  placement::Nodes nodes;
  for (std::size_t index = 0; index < count; ++index) {
    nodes.workers.push_back(node_of(index));
  }
  for (const SwitchPlan& plan : switches_) {
    std::ranges::transform(plan.ports, std::back_inserter(nodes.ports), &port::PortDevice::node);
  }
  const std::vector<std::size_t> dealt = placement::deal_out(nodes);
  std::size_t next = 0;
  for (std::size_t s = 0; s < switches_.size(); ++s) {
    auto& owners = owners_.emplace_back();
    for (std::size_t port = 0; port < switches_[s].ports.size(); ++port) {
      owners.push_back(whole_switches ? s % count : dealt[next++]);
    }
    const bool steered =
        switches_[s].placed || std::ranges::any_of(switches_[s].ports, &port::PortDevice::steered);
    const bool counts_by_port =
        switches_[s].settings.descriptors_per_engine < reduction_keys; // engine_home.hpp
    balancers_.push_back(steered && !whole_switches && !counts_by_port
                             ? std::make_unique<placement::Balancer>(count)
                             : nullptr);
  }
}

void WorkerGroup::start() {
  for (std::size_t s = 0; s < switches_.size(); ++s) {
    for (std::size_t port = 0; port < switches_[s].ports.size(); ++port) {
      // A ring link is up only once its second end is open.
      port_changed(s, PortNumber{static_cast<std::uint8_t>(port)},
                   switches_[s].ports[port]->refresh_link() == port::LinkState::up);
    }
  }
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    std::promise<void> ready;
    auto started = ready.get_future();
    threads_.emplace_back([this, index, promise = std::move(ready)]() mutable {
      try {
        if (!process_.cores.empty()) {
          pin_to(process_.cores[index % process_.cores.size()]);
        }
        // Gives the thread its own cache of free buffers.
        if (rte_thread_register() != 0) {
          throw port::PortError(fmt::format("DPDK does not accept worker {} as a thread: {}", index,
                                            rte_strerror(rte_errno)));
        }
      } catch (...) {
        promise.set_exception(std::current_exception());
        return;
      }
      promise.set_value();
      run(index);
    });
    try {
      started.get();
    } catch (const port::PortError&) {
      // Running workers wait for each other when they end; this one never started.
      for (std::size_t missing = index; missing < workers_.size(); ++missing) {
        shared_.phases[missing].reached.store(~0U, std::memory_order_release);
      }
      request_stop();
      join();
      throw;
    }
  }
}

void WorkerGroup::run(std::size_t index) {
  ::pthread_setname_np(::pthread_self(), fmt::format("worker-{}", index).c_str());
  workers_[index]->run();
  rte_thread_unregister();
}

void WorkerGroup::request_stop() noexcept { shared_.stop.store(true, std::memory_order_relaxed); }

void WorkerGroup::join() {
  for (auto& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

std::size_t WorkerGroup::worker_of(std::size_t switch_index, PortNumber port) const {
  return owners_.at(switch_index).at(port.value);
}

void WorkerGroup::publish(std::span<const TablePublisher::Publication> publications) {
  for (const auto& one : publications) {
    switches_.at(one.switch_index).tables = one.tables;
  }
  publisher_.publish(publications);
}

void WorkerGroup::publish(std::size_t switch_index, std::shared_ptr<const core::Tables> tables) {
  const TablePublisher::Publication one{switch_index, std::move(tables)};
  publish(std::span(&one, 1));
}

std::vector<const core::Counters*> WorkerGroup::counters(std::size_t switch_index) const {
  std::vector<const core::Counters*> counters;
  for (const auto& worker : workers_) {
    if (const auto* one = worker->counters(switch_index)) {
      counters.push_back(one);
    }
  }
  return counters;
}

const WorkerStatistics& WorkerGroup::statistics(std::size_t worker) const {
  return workers_.at(worker)->statistics();
}

void WorkerGroup::port_changed(std::size_t switch_index, PortNumber port, bool up) {
  PortSet one;
  one.insert(port);
  auto& ports = shared_.ports_up[switch_index];
  if (up) {
    learn_speed(switch_index, port);
    ports.fetch_or(one.bits(), std::memory_order_relaxed);
  } else {
    ports.fetch_and(~one.bits(), std::memory_order_relaxed);
  }
}

/// Pauses are expressed in bit times. Warns if the headroom of a class is too small for the link.
void WorkerGroup::learn_speed(std::size_t switch_index, PortNumber port) {
  const port::PortDevice& device = *switches_[switch_index].ports[port.value];
  if (!device.configuration().has_edge()) {
    return;
  }
  const std::uint32_t mbps = device.speed_mbps();
  Worker& worker = *workers_[worker_of(switch_index, port)];
  worker.call([&] { worker.set_link_speed(switch_index, port, mbps); });
  const config::Classes& classes = device.configuration().classes;
  const std::uint64_t needed =
      egress::headroom_bytes(mbps, 2 * reaction_ns, device.longest_frame());
  for (std::uint8_t c = 0; c < traffic_classes; ++c) {
    if (mbps != 0 && classes.lossless(TrafficClass{c}) &&
        classes.pauses[c].headroom.bytes < needed) {
      spdlog::warn("switch {}: port {}, class {}: a headroom of {} bytes may be too small; at {} "
                   "Mb/s up to {} bytes come before a sender has heard that it must pause",
                   switches_[switch_index].name, device.name(), c, classes.pauses[c].headroom.bytes,
                   mbps, needed);
    }
  }
}

std::optional<liveness::Status> WorkerGroup::link_status(std::size_t switch_index,
                                                         PortNumber port) {
  std::optional<liveness::Status> status;
  Worker& worker = *workers_[worker_of(switch_index, port)];
  worker.call([&] {
    if (const liveness::Links* links = worker.links(switch_index)) {
      status = links->status(port);
    }
  });
  return status;
}

egress::QueueSnapshot WorkerGroup::queue(std::size_t switch_index, PortNumber port,
                                         TrafficClass c) const {
  const std::size_t owner = worker_of(switch_index, port);
  egress::QueueSnapshot sum = workers_[owner]->output(switch_index, port)->snapshot(c);
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    const OutputPort* const output =
        index != owner ? workers_[index]->output(switch_index, port) : nullptr;
    if (output != nullptr) {
      sum.add(output->snapshot(c));
    }
  }
  return sum;
}

/// On all workers that may use it.
void WorkerGroup::pause_port(std::size_t switch_index, PortNumber port) {
  for (auto& worker : workers_) {
    worker->call([&] { worker->pause_port(switch_index, port, true); });
  }
}

void WorkerGroup::resume_port(std::size_t switch_index, PortNumber port) {
  for (auto& worker : workers_) {
    worker->call([&] { worker->pause_port(switch_index, port, false); });
  }
}

/// Makes all workers send by their own queues of a port, if they have any; or its worker for all of
/// them.
void WorkerGroup::send_directly(std::size_t switch_index, PortNumber port, bool directly) {
  if (switches_[switch_index].ports[port.value]->transmit_queues() < process_.workers) {
    return;
  }
  for (auto& worker : workers_) {
    worker->call([&] { worker->send_directly(switch_index, port, directly); });
  }
}

bool WorkerGroup::send(std::size_t switch_index, PortNumber port,
                       std::span<const std::byte> frame) {
  return shared_.control[worker_of(switch_index, port)]->ask_to_send(
      ControlFrame(switch_index, port, frame));
}

bool WorkerGroup::send_lldp(std::size_t switch_index, PortNumber port,
                            std::span<const std::byte> frame) {
  return shared_.control[worker_of(switch_index, port)]->ask_to_send(
      LldpFrame(switch_index, port, frame));
}

void WorkerGroup::set_tracing(core::Tracing which) {
  shared_.trace.store(which, std::memory_order_relaxed);
}

core::Tracing WorkerGroup::tracing() const { return shared_.trace.load(std::memory_order_relaxed); }

std::vector<TraceEvent> WorkerGroup::trace() const {
  std::vector<TraceEvent> events;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->trace().read(static_cast<std::uint8_t>(i), events);
  }
  std::ranges::stable_sort(events, {}, &TraceEvent::time);
  return events;
}

std::unique_ptr<Capture> WorkerGroup::start_capture(const CaptureFilter& filter,
                                                    const CaptureLimits& limits) {
  if (capturing_) {
    throw port::PortError("a capture is running already; end it first");
  }
  capturing_ = true;
  std::vector<std::unique_ptr<CaptureTap>> taps;
  for (auto& worker : workers_) {
    taps.push_back(std::make_unique<CaptureTap>(filter, limits));
    worker->call([&] { worker->set_tap(taps.back().get()); });
  }
  return std::make_unique<Capture>(std::move(taps), [this] {
    for (auto& worker : workers_) {
      worker->call([&] { worker->set_tap(nullptr); });
    }
    capturing_ = false;
  });
}

} // namespace tributary::worker
