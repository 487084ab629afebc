// A switch with its workers between ring ports, and hosts on the far ends of the rings, all in this
// process: no privilege and no network needed.
#pragma once

#include "dataplane/port/eal.hpp"
#include "dataplane/port/port_device.hpp"
#include "dataplane/worker/worker_group.hpp"
#include "tests/support/eventually.hpp"
#include "tributary/wire/reduction.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::worker::test {

/// DPDK starts once per process; every test uses this one.
port::Eal& eal();

using tributary::test::eventually;

using Frame = std::vector<std::byte>;

inline constexpr TreeNumber tree{7};
inline constexpr Cookie cookie{0x1234};
inline constexpr std::uint64_t switch_guid = 0x5EED;

/// An arm, as a root sends it.
wire::ReductionFrame arm_frame(std::uint32_t sequence, TreeNumber t = tree);
/// A contribution of one INT_SUM operand.
wire::ReductionFrame contribution(std::uint32_t sequence, std::uint64_t value, TreeNumber t = tree);
Frame bytes_of(const wire::ReductionFrame& frame);

/// The far end of one switch port.
class Host {
public:
  /// `lanes`: receive queues of the switch's port, if it has several.
  explicit Host(const std::string& ring, std::uint16_t lanes = 1);
  /// Sends one frame of these bytes to a receive queue of the switch's port.
  void send(const Frame& frame, std::uint16_t lane = 0);
  void send(const wire::ReductionFrame& frame, std::uint16_t lane = 0) {
    send(bytes_of(frame), lane);
  }
  /// Sends this buffer, which may be shared.
  void send(rte_mbuf* frame, std::uint16_t lane = 0);
  /// The next frame that has arrived, or nothing.
  std::optional<Frame> receive();
  /// Waits for the next frame.
  std::optional<wire::ReductionFrame> expect_reduction();
  std::size_t receive_all();

private:
  port::PortDevice device_;
};

/// Descriptors are counted by parent port, so that engines belong to the parent ports' workers.
core::SwitchSettings engines_at_parents();

struct Options {
  std::size_t ports = 4;
  std::uint32_t workers = 1;
  bool own_queues = false;                      ///< each worker has a transmit queue of each port
  PortSet sorted{};                             ///< ports with a receive queue for each worker
  bool stepped = false;                         ///< no threads: the test calls `WorkerGroup::step`
  std::shared_ptr<const core::Tables> tables{}; ///< null: `star_tables`
  config::Poll poll = config::Poll::adaptive;
  core::SwitchSettings settings{};
  liveness::Settings links{};
  /// By port; missing ones are not impaired.
  std::vector<config::Impairment> impairments{};
  /// Further settings of a port; may be empty.
  std::function<void(std::size_t number, config::Port&)> configure{};
};

/// Tables with `ports` ports and a tree whose parent is port 0 and whose children are all others.
std::shared_ptr<const core::Tables> star_tables(std::size_t ports, std::uint64_t version = 1,
                                                ContributionCount wait_count = 0);

/// One switch, started unless it is stepped; every port leads to a host.
class Fabric {
public:
  explicit Fabric(const Options& options = {});

  [[nodiscard]] Host& host(std::size_t port) { return *hosts_[port]; }
  [[nodiscard]] Host& root() { return host(0); }
  [[nodiscard]] WorkerGroup& workers() { return *workers_; }
  [[nodiscard]] port::PortDevice& device(std::size_t port) { return *devices_[port]; }
  /// Sends the arm and waits until every leaf has it.
  void arm(std::uint32_t sequence);
  /// A drop counter of a port, over all workers.
  [[nodiscard]] std::uint64_t drops(std::size_t port, core::DropReason reason) const;
  [[nodiscard]] std::uint64_t
  sum(const std::function<std::uint64_t(const core::Counters&)>& f) const;
  void stop();

private:
  std::vector<std::unique_ptr<port::PortDevice>> devices_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::unique_ptr<WorkerGroup> workers_;
};

} // namespace tributary::worker::test
