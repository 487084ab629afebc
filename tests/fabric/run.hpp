// One run of one scenario: a fabric, its groups, and the checks at their end.
//
//   Run run(options, two_level(4, 16), fabric_options);
//   Group& group = run.add_group({.hosts = ..., .pieces = 30});
//   run.start();
//   ... faults: run.fabric().at(...), aim(...), set_faults(...)
//   run.finish();      faults stop; all must complete, leave, and leave no state behind
//   return run.report();
#pragma once

#include "tests/fabric/fabric.hpp"
#include "tests/fabric/group.hpp"
#include "tests/fabric/multicast_group.hpp"
#include "tests/fabric/shared_host.hpp"
#include "tests/fabric/vector_group.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fabric {

struct RunOptions {
  std::uint64_t seed = 1;
  std::FILE* trace = nullptr;
};

struct RunReport {
  std::uint64_t seed = 0;
  std::uint64_t digest = 0;
  std::uint64_t events = 0;
  std::uint64_t virtual_ns = 0;
  std::uint64_t switches = 0;
  std::uint64_t hosts = 0;
  std::uint64_t largest_group = 0;
  std::uint64_t pieces = 0; ///< that all members of their group completed
  std::uint64_t full = 0;   ///< by engines
  std::uint64_t partial = 0;
  FaultCounts faults;
  std::array<std::uint64_t, core::drop_reason_count> drops{}; ///< by all switches
  WireAccounting accounting;
  collective::Statistics members;
  std::vector<std::string> violations;

  [[nodiscard]] std::uint64_t dropped(core::DropReason reason) const {
    return drops[static_cast<std::size_t>(reason)];
  }
};

constexpr std::uint64_t microseconds(std::uint64_t n) { return n * 1'000; }
constexpr std::uint64_t milliseconds(std::uint64_t n) { return n * 1'000'000; }
constexpr std::uint64_t seconds(std::uint64_t n) { return n * 1'000'000'000; }

class Run {
public:
  Run(const RunOptions& options, Topology topology, FabricOptions fabric_options = {});

  [[nodiscard]] Fabric& fabric() { return fabric_; }
  /// The random stream for a scenario's own choices.
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  /// `count` different hosts, chosen at random.
  std::vector<HostIndex> choose_hosts(std::size_t count);
  /// All hosts in order.
  [[nodiscard]] std::vector<HostIndex> all_hosts() const;

  /// The program of a host for its groups; null without a member.
  [[nodiscard]] HostProgram* program_of(HostIndex host) { return hosts_[host].get(); }

  /// Computes and installs the group's tree and puts its members on their hosts. Tree number,
  /// cookie and seed are chosen where the setup leaves them at their defaults.
  Group& add_group(GroupSetup setup);
  /// A group on two trees, each of which avoids the switches that are named for it.
  Group& add_twins(GroupSetup setup, std::span<const SwitchIndex> first_without,
                   std::span<const SwitchIndex> second_without);
  /// A group that reduces vectors, with slots in its trees' switches according to its parameters:
  /// on one tree, or on two. Its hosts have no other groups.
  VectorGroup& add_vectors(VectorSetup setup, bool twins = false);
  /// The same for groups that share a tree, each with a range of its ids and a cookie of its own:
  /// on the tree of `on`, or on a new one with null. `setup.parameters.slots`: of the tree. Their
  /// hosts have no other groups.
  struct Context {
    ReductionId first;
    std::uint32_t ids = 0;
  };
  VectorGroup& add_context(const VectorGroup* on, VectorSetup setup, const Context& context);
  /// Another tree for them, which they move to.
  [[nodiscard]] TreeNumber add_tree_like(const VectorGroup& group);
  /// A group that multicasts, which acknowledges in a range of the ids of a shared tree: of that of
  /// `on`, or with null of a new one, or of two. `setup.parameters.slots`: of the tree. Its hosts
  /// have no groups but contexts.
  MulticastGroup& add_multicasts(const VectorGroup* on, MulticastSetup setup,
                                 const Context& context, bool twins = false);
  [[nodiscard]] TreeNumber add_tree_like(const MulticastGroup& group);
  /// The switches' parts in the tree of a group that has one of its own; of two, in the first one.
  [[nodiscard]] const std::vector<TreePart>& tree_of(const MulticastGroup& group) const;
  /// The only one, or the first of two.
  [[nodiscard]] const std::vector<TreePart>& tree_of(const Group& group) const;
  [[nodiscard]] std::vector<std::unique_ptr<Group>>& groups() { return groups_; }

  /// Publishes all tables and waits until they are in force; virtual time begins for the members.
  void start();
  /// Reports which scenario violated which of its expectations.
  void expect(bool holds, std::string_view what);
  /// Runs until all pieces have completed everywhere; a violation if they have not by then.
  void complete_within(std::uint64_t ns);
  /// Ends all random faults, and checks the final state: every group completes and leaves in
  /// bounded time, no descriptor stays occupied, accounting and counters agree. Without faults,
  /// leaving itself has to free every descriptor; otherwise timers may do it.
  void finish(std::uint64_t limit_ns = seconds(60));
  /// After a fault-free `finish`: every link carried exactly the frames that the protocol needs,
  /// and no member sent a second request. `merged`: every engine had a descriptor for every
  /// reduction; or none had one.
  void expect_no_waste(bool merged = true);

  [[nodiscard]] RunReport report() const;

private:
  Group& add(const GroupSetup& setup);
  /// `Setup` has the group's hosts, root rank and shared parameters.
  template <typename Setup>
  std::vector<TreePart> install_with_slots(TreeNumber tree, const Setup& setup);
  SharedHost& shared_host(HostIndex host);
  [[nodiscard]] bool fault_free() const;

  std::uint64_t seed_;
  Random random_;
  Fabric fabric_;
  std::vector<std::unique_ptr<GroupHost>> hosts_; ///< by host; null without a member
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<VectorGroup>> vectors_;
  std::vector<std::unique_ptr<MulticastGroup>> multicasts_;
  std::vector<std::vector<TreePart>> multicast_trees_; ///< by group; empty on the tree of another
  std::vector<std::unique_ptr<SharedHost>> shared_;    ///< by host; null without contexts
  std::uint16_t further_trees_ = 0;
  std::vector<std::vector<std::vector<TreePart>>> trees_; ///< by group, one or two of each
};

} // namespace tributary::fabric
