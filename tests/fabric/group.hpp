// A reduction group on the virtual fabric: its members run the product's collective protocol, an
// application on each injects the workload and checks every completion against the reference.
//
// What is checked, at every member, for every piece:
//   - the result is the reference over the contributions of all members, each once
//   - it is bit-identical at all members
//   - it completes once, and in the end every piece has completed everywhere
#pragma once

#include "endpoint/collective/member.hpp"
#include "tests/fabric/fabric.hpp"
#include "tests/fabric/host_program.hpp"
#include "tests/fabric/workload.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

struct GroupSetup {
  TreeNumber tree{};
  /// The second tree of a group on two trees.
  std::optional<TreeNumber> twin{};
  Vni vni{0x0400};
  Cookie cookie{};
  /// By rank.
  std::vector<HostIndex> hosts{};
  std::uint32_t root_rank = 0;
  std::uint64_t pieces = 20;
  std::optional<wire::Opcode> only{};
  std::uint64_t seed = 1;
  /// Members inject after random gaps of up to this length.
  std::uint64_t gap_ns = 20'000;
  TimeNs start{};
  /// The class in which its members send.
  TrafficClass traffic_class{};
  /// Elements of the call that the pieces carry, where `parameters.sends_marks`.
  std::uint32_t elements = 0;
  /// What all members share; ranks and addresses are filled in.
  collective::GroupParameters parameters{};
  /// Whether the group may end with an error at all members instead of completing.
  bool may_end = false;
  /// Whether the switch next to the root sends in-switch results, if that differs from what the
  /// members expect.
  std::optional<bool> switch_has_in_switch{};
};

/// Has a member treat one piece in an unusual way.
struct Misbehaviour {
  /// Inject it no earlier than this.
  std::optional<TimeNs> not_before{};
  /// Contribute with this operator.
  std::optional<wire::Opcode> opcode{};
  /// Mark it as part of a call with this many elements.
  std::optional<std::uint32_t> elements{};
};

class Group {
public:
  Group(Fabric& fabric, const GroupSetup& setup);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Call it before the member reaches the piece.
  void misbehave(std::uint32_t rank, collective::PieceNumber piece, const Misbehaviour& how);
  /// The same for every piece.
  void misbehave_always(std::uint32_t rank, const Misbehaviour& how);

  /// Whether all pieces have completed at all members, or the members have ended that may.
  [[nodiscard]] bool complete() const;
  /// All members have left as well.
  [[nodiscard]] bool parted() const;
  [[nodiscard]] std::uint64_t completed_pieces(std::uint32_t rank) const;
  /// The longest time from a member's injection of a piece to its completion there.
  [[nodiscard]] std::uint64_t longest_ns() const;
  /// Pieces that all members have completed.
  [[nodiscard]] std::uint64_t pieces_complete_everywhere() const;
  [[nodiscard]] const collective::Member& member(std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(setup_.hosts.size());
  }
  [[nodiscard]] HostIndex host(std::uint32_t rank) const { return setup_.hosts[rank]; }
  [[nodiscard]] const GroupSetup& setup() const { return setup_; }
  /// Sums of the members' counters.
  [[nodiscard]] collective::Statistics statistics() const;
  /// A description of what each member waits for.
  [[nodiscard]] std::string describe_status() const;
  /// The completion all members agree on, once one of them has it.
  [[nodiscard]] std::optional<collective::Completion> result(collective::PieceNumber piece) const;

private:
  friend class GroupHost;
  class Application;

  void on_completion(std::uint32_t rank, const collective::Completion& completion);
  [[nodiscard]] std::string fault_of(const collective::Completion& completion) const;
  [[nodiscard]] collective::Operand operand(collective::PieceNumber piece,
                                            std::uint32_t rank) const;

  Fabric& fabric_;
  GroupSetup setup_;
  Workload workload_;
  std::map<std::pair<std::uint32_t, collective::PieceNumber>, Misbehaviour> misbehaviours_;
  std::map<collective::PieceNumber, collective::Completion> results_;
  std::vector<std::unique_ptr<Application>> applications_; ///< by rank
};

/// The program of a host that takes part in any number of groups.
class GroupHost final : public HostProgram {
public:
  /// The group must outlive the host.
  void join(Group& group, std::uint32_t rank) { parts_.push_back({&group, rank}); }

  void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
               HostPort& port) override;
  void wake(TimeNs now, HostPort& port) override;
  [[nodiscard]] TimeNs next_wake() const override;

private:
  struct Part {
    Group* group = nullptr;
    std::uint32_t rank = 0;
  };
  std::vector<Part> parts_;
};

} // namespace tributary::fabric
