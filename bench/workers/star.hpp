// A switch with its workers between ring ports, whose far ends belong to this program: port 0 is
// the parent of all trees, all other ports are their leaves. Everything is stepped by the caller;
// the switch has no thread of its own.
#pragma once

#include "dataplane/port/eal.hpp"
#include "dataplane/port/port_device.hpp"
#include "dataplane/worker/worker_group.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tributary::bench {

/// The dimensions of a switch.
struct Shape {
  std::size_t ports = 16; ///< the parent's and those of the leaves
  std::size_t trees = 64;
  std::uint32_t workers = 1;
};

/// The traffic of its hosts.
struct Traffic {
  wire::Opcode op = wire::Opcode::int_sum;
  bool skewed = false; ///< each leaf sends its reductions in an order of its own
  bool traced = false; ///< by the switch, as it is by default
  /// Each worker has its own transmit queue at each port.
  bool own_queues = true;
  /// Each worker has its own receive queue at each port, and frames come to their tree's worker.
  bool sorted = true;
  /// Trees are placed on workers even if it does not: then ports hand over by tree.
  bool placed = false;
  std::uint64_t seed = 1;
};

/// DPDK, started once for switches of up to this many ports and workers.
class Machine {
public:
  Machine(std::size_t ports, std::uint32_t workers);
  [[nodiscard]] port::Eal& eal() { return *eal_; }

private:
  std::unique_ptr<port::Eal> eal_;
};

class Star {
public:
  Star(Machine& machine, const Shape& shape, const Traffic& traffic);

  [[nodiscard]] worker::WorkerGroup& group() { return *group_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t leaves() const { return shape_.ports - 1; }
  /// Reductions in flight at the same time: eight of each tree.
  [[nodiscard]] std::size_t reductions() const { return shape_.trees * reductions_per_tree; }
  [[nodiscard]] std::size_t contributions() const { return reductions() * leaves(); }

  /// The next reduction of each id.
  void begin();
  /// Puts an arm of each reduction that this worker receives where it receives it: into the
  /// caller's cache, as a NIC puts frames into the cache of the processor that polls the queue.
  void send_arms(std::size_t worker);
  /// The same with the contribution of each leaf to each reduction.
  void send_contributions(std::size_t worker);
  /// Takes the frames that this worker sent out of the leaves' ports, and returns their number. The
  /// first one takes what all sent where ports have one transmit queue.
  std::size_t take_copies(std::size_t worker);
  /// The same with those sent out of the root's port.
  struct Results {
    std::size_t frames = 0;
    std::size_t whole = 0; ///< those of all leaves, with the right sums
  };
  Results take_results(std::size_t worker);

  /// Over all workers.
  [[nodiscard]] std::uint64_t handed_over() const; ///< frames
  [[nodiscard]] std::uint64_t crossings() const;   ///< the same, partial aggregates counted as one
  [[nodiscard]] std::uint64_t subtotals() const;   ///< number of these that were combined
  [[nodiscard]] std::uint64_t drops(core::DropReason reason) const;
  [[nodiscard]] std::uint64_t drops() const;
  [[nodiscard]] std::uint64_t received() const; ///< by ports, not from other workers
  /// Whether everything that ports received and workers handed over was processed.
  [[nodiscard]] bool idle() const;

private:
  [[nodiscard]] wire::ReductionFrame frame(std::size_t reduction) const;
  void put(port::PortDevice& device, const std::vector<wire::ReductionFrame>& frames);
  /// The worker that receives a tree's frames of a port, and in which queue.
  [[nodiscard]] std::size_t receiver_of(PortNumber port, TreeNumber tree) const;
  [[nodiscard]] std::uint16_t queue_of(TreeNumber tree) const;

  Machine& machine_;
  Shape shape_;
  Traffic traffic_;
  std::vector<std::unique_ptr<port::PortDevice>> devices_;
  std::vector<std::unique_ptr<port::PortDevice>> hosts_;
  std::unique_ptr<worker::WorkerGroup> group_;
  std::uint32_t sequence_ = 0;
  std::atomic<std::uint64_t> sent_{0};           ///< frames that hosts put into rings
  std::vector<std::vector<std::size_t>> orders_; ///< of reductions, by port of a leaf
  std::mt19937_64 random_;
};

} // namespace tributary::bench
