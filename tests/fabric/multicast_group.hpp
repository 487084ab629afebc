// A group that multicasts on the virtual fabric: broadcasts and allgathers in shared frames, whose
// acknowledgements are reductions in a range of the tree's ids; or one that reduces, to one rank or
// to each its block, in further ids of that range. Its members run the product's
// protocol; an application on each makes the same calls, and compares every byte that a call gives
// it with what the byte's owner sent.
//
// What a rank sends is a function of seed, call, rank and place: a chunk that is lost, from another
// call or of another rank is found.
#pragma once

#include "endpoint/reliable_multicast/member.hpp"
#include "tests/fabric/fabric.hpp"
#include "tests/fabric/host_program.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

struct MulticastSetup {
  TreeNumber tree{};
  std::optional<TreeNumber> twin{};
  Vni vni{0x0400};
  Cookie cookie{};
  std::vector<HostIndex> hosts{}; ///< by rank
  std::uint32_t root_rank = 0;
  /// Bytes of each call, of all ranks together in an allgather.
  std::vector<std::uint64_t> lengths{};
  /// What all calls are; nullopt: kinds take turns, and blocks of an allgather differ in length.
  std::optional<reliable_multicast::Kind> only{};
  /// How many may begin before the first one completes.
  std::size_t in_flight = 2;
  std::uint64_t seed = 1;
  /// A member that begins every call late, by `straggles_ns` after it could.
  std::optional<std::uint32_t> straggler{};
  std::uint64_t straggles_ns = 0;
  /// What all members share; ranks and addresses are filled in.
  collective::GroupParameters parameters{};
  /// Calls are reductions of 32-bit integers.
  bool reduces = false;
  /// Windows in flight; 0: as many as the range has ids. The rest of it is for pieces.
  std::uint32_t windows = 0;
  std::uint32_t chunk_bytes = 1024;
  std::uint32_t window_chunks = 64;
  std::uint64_t eager_bytes = 64U << 10U;
  std::uint64_t gap_ns = 10'000'000;
  /// Whether members know the NID of each rank from the beginning.
  bool knows_nids = true;
  /// Whether the group may end with an error at all members instead of completing.
  bool may_end = false;
};

class MulticastGroup {
public:
  MulticastGroup(Fabric& fabric, const MulticastSetup& setup);
  ~MulticastGroup();
  MulticastGroup(const MulticastGroup&) = delete;
  MulticastGroup& operator=(const MulticastGroup&) = delete;

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(setup_.hosts.size());
  }
  [[nodiscard]] const MulticastSetup& setup() const { return setup_; }
  /// The program of this rank's host.
  [[nodiscard]] HostProgram& program(std::uint32_t rank);
  /// Whether all calls are done at all members, and no member waits for any acknowledgement; or the
  /// members have ended that may.
  [[nodiscard]] bool complete() const;
  /// Whether the member has made all its calls, or has learned that the group ended.
  [[nodiscard]] bool is_over(std::uint32_t rank) const;
  /// The rank's member moves to this tree at this time.
  void move(std::uint32_t rank, TimeNs at, TreeNumber tree);
  [[nodiscard]] const reliable_multicast::Member& member(std::uint32_t rank) const;
  /// When the last member had finished its last call; and the first one.
  [[nodiscard]] TimeNs completed_at() const;
  [[nodiscard]] TimeNs first_completed_at() const;
  [[nodiscard]] reliable_multicast::Statistics statistics() const;
  [[nodiscard]] std::string describe_status() const;

private:
  class Application;

  Fabric& fabric_;
  MulticastSetup setup_;
  std::vector<std::unique_ptr<Application>> applications_; ///< by rank
};

} // namespace tributary::fabric
