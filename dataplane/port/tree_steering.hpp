// A device's part in steering: its rules (rte_flow, or the kernel's), or the indirection table of
// its hash, which bring the frames of a tree's bucket to the receive queue of the bucket's worker.
//
//   TreeSteering steering(port, how, ethertype, table_entries);   of a started device
//   TreeSteering steering(std::make_unique<KernelRules>(...));    of an interface
//   steering.place(placement)                                     at the start, and for each move
//
// Queue n is worker n's. Whatever is refused here costs a hand-over between workers and loses
// nothing (dataplane/placement/frame_owner.hpp). Control thread only.
#pragma once

#include "dataplane/placement/placement.hpp"
#include "dataplane/placement/port_steering.hpp"
#include "dataplane/port/kernel_rules.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

struct rte_flow;

namespace tributary::port {

class TreeSteering {
public:
  /// `how`: `rules` or `hash`. `table_entries`: of the indirection table.
  TreeSteering(std::uint16_t port_id, placement::Steering how, std::uint16_t ethertype,
               std::size_t table_entries);
  explicit TreeSteering(std::unique_ptr<KernelRules> rules) : kernel_rules_(std::move(rules)) {}
  /// Removes the rules; the device must still exist.
  ~TreeSteering();
  TreeSteering(const TreeSteering&) = delete;
  TreeSteering& operator=(const TreeSteering&) = delete;

  /// Whether the driver has rules at all; the device need not be configured. If it has none, a
  /// start with more queues than will be used can be saved.
  [[nodiscard]] static bool driver_has_rules(std::uint16_t port_id);

  /// Steers all buckets as placed; changes only what differs from the last call.
  void place(const placement::Placement& placement);

  /// Buckets whose rule or entry the device refused at the last call.
  [[nodiscard]] std::size_t refused() const;
  [[nodiscard]] bool refuses(placement::Bucket b) const { return !is_set_[b.value]; }
  /// The driver's words about the last one that it refused; empty: it refused none so far.
  [[nodiscard]] const std::string& why_refused() const { return why_refused_; }
  /// Refused buckets for a message, such as "96 to 127".
  [[nodiscard]] std::string refused_buckets() const;

private:
  void set_rule(placement::Bucket bucket, std::size_t queue);
  /// Why not; empty: it is set.
  [[nodiscard]] std::string set_in_driver(placement::Bucket bucket, std::size_t queue);
  void set_table(const placement::Placement& placement);

  std::uint16_t port_id_ = 0;
  placement::Steering how_ = placement::Steering::rules;
  std::uint16_t ethertype_ = 0;
  std::size_t table_entries_ = 0;
  std::unique_ptr<KernelRules> kernel_rules_; ///< null: rte_flow's
  placement::Placement placed_;
  std::array<bool, placement::bucket_count> is_set_{};
  std::array<rte_flow*, placement::bucket_count> rules_{};
  std::string why_refused_;
};

} // namespace tributary::port
