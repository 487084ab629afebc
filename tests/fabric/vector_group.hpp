// A group that reduces vectors on the virtual fabric, in wide frames where its trees have slots for
// them. Its members run the product's collective protocol with its pipeline of pieces; an
// application on each starts the same operations, and compares every element of every result with
// that of all members' operands.
//
// Operands are functions of seed, operation, rank and element, and whole numbers that every type
// holds exactly, sums included: so the result does not depend on the order of additions, and any
// contribution that is lost or counted twice is detected.
#pragma once

#include "endpoint/collective/vector_pipeline.hpp"
#include "tests/fabric/fabric.hpp"
#include "tests/fabric/host_program.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

class VectorGroup;

struct VectorSetup {
  TreeNumber tree{};
  std::optional<TreeNumber> twin{};
  Vni vni{0x0400};
  Cookie cookie{};
  std::vector<HostIndex> hosts{}; ///< by rank
  std::uint32_t root_rank = 0;
  /// Elements of each operation; kinds take turns.
  std::vector<std::size_t> lengths{};
  /// How many may begin before the first one completes.
  std::size_t in_flight = 2;
  std::uint64_t seed = 1;
  /// A member that begins every operation late, by `straggles_ns` after it could.
  std::optional<std::uint32_t> straggler{};
  std::uint64_t straggles_ns = 0;
  /// Every member begins operation n at n times this at the earliest, from time 0 on.
  std::uint64_t period_ns = 0;
  /// What all members share; ranks and addresses are filled in.
  collective::GroupParameters parameters{};
  /// Whether the group may end with an error at all members instead of completing.
  bool may_end = false;
  /// Members of a context send nothing when they leave it.
  bool is_context = false;
  /// The group whose ids it has when all members of that one are done with them: it begins then.
  VectorGroup* after = nullptr;
  /// Ids that each member keeps once it has made half of the operations, the first ones; 0: all.
  std::uint32_t keeps_ids = 0;
  /// A member in whose name forged operands arrive as well, all of them zeros: results may have
  /// zeros in the place of its operand, or report that operators differ. Otherwise they are right.
  std::optional<std::uint32_t> forged_rank{};
};

/// The rank's member moves to this tree at this time.
struct Move {
  TimeNs at;
  TreeNumber tree;
};

class VectorGroup {
public:
  VectorGroup(Fabric& fabric, const VectorSetup& setup);
  ~VectorGroup();
  VectorGroup(const VectorGroup&) = delete;
  VectorGroup& operator=(const VectorGroup&) = delete;

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(setup_.hosts.size());
  }
  [[nodiscard]] const VectorSetup& setup() const { return setup_; }
  /// The program of this rank's host.
  [[nodiscard]] HostProgram& program(std::uint32_t rank);
  /// Whether all operations are done at all members with right results or reported errors, or the
  /// members have ended that may.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] bool parted() const;
  /// Whether the member has all its results, or has learned that the group ended.
  [[nodiscard]] bool is_over(std::uint32_t rank) const;
  /// Results, at any member, with a forged operand in the place of `forged_rank`'s.
  [[nodiscard]] std::uint64_t forged_results() const { return forged_results_; }
  /// Whether the member may begin: it has its ids.
  [[nodiscard]] bool has_ids() const {
    return setup_.after == nullptr || setup_.after->has_left(setup_.parameters.first_id);
  }
  /// Whether all members are done with the id.
  [[nodiscard]] bool has_left(ReductionId id) const;
  void move(std::uint32_t rank, const Move& move);
  [[nodiscard]] const collective::Member& member(std::uint32_t rank) const;
  /// When the last member had the last result; and the first one.
  [[nodiscard]] TimeNs completed_at() const;
  [[nodiscard]] TimeNs first_completed_at() const;
  [[nodiscard]] collective::Statistics statistics() const;
  [[nodiscard]] std::string describe_status() const;

private:
  class Application;

  /// Those that have their ids now begin.
  void wake_successors();

  Fabric& fabric_;
  VectorSetup setup_;
  std::vector<const VectorGroup*> successors_;             ///< that wait for ids of this one
  std::vector<std::unique_ptr<Application>> applications_; ///< by rank
  std::uint64_t forged_results_ = 0;
};

} // namespace tributary::fabric
