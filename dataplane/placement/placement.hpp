// Which worker has the engines of which trees, and what moves when the load is uneven.
//
//   Placement                          by bucket, its worker
//   Balancer::plan(load, now)          up to four moves, once a second; none if nothing is wrong
//   Balancer::moved / refused          what became of a move
//
// A bucket moves from the busiest worker to the idlest one, by these rules:
//
//   1  the busiest worker is busy for 70 % of its time at least, and for a fifth more than the
//      idlest
//   2  with the bucket the idlest stays a tenth below what the busiest has now; of those buckets
//      the largest moves
//   3  a bucket that is more than half of the busiest worker's load stays, and others leave: so a
//      hot tree gets a worker to itself, and its frames are not disturbed
//   4  a bucket that moved, or could not, stays for ten seconds
//
// Each move lowers the sum of the squares of the workers' loads, so with a load that does not
// change moves end.
//
// Pure: deterministic, no clock. Used by the control thread; it allocates.
#pragma once

#include "dataplane/placement/buckets.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::placement {

class Placement {
public:
  /// Deals the buckets out in turn: bucket b to worker b modulo `workers`. Requires 1 to 255.
  explicit Placement(std::size_t workers = 1);

  [[nodiscard]] std::size_t worker_of(Bucket b) const { return workers_[b.value]; }
  [[nodiscard]] std::size_t worker_of(TreeNumber tree) const { return worker_of(bucket_of(tree)); }
  void set(Bucket b, std::size_t worker) { workers_[b.value] = static_cast<std::uint8_t>(worker); }
  friend bool operator==(const Placement&, const Placement&) = default;

private:
  std::array<std::uint8_t, bucket_count> workers_{};
};

/// What a switch's workers did in the interval before a plan.
struct Load {
  /// By bucket: its work, in any unit, such as lines of 64 bytes received.
  std::array<std::uint64_t, bucket_count> buckets{};
  /// By worker: work that no bucket has, such as unicast frames, in the same unit.
  std::vector<std::uint64_t> others;
  /// By worker: share of its time in which it had work, 0 to 1.
  std::vector<double> busy;
};

struct Move {
  Bucket bucket;
  std::size_t from = 0;
  std::size_t to = 0;
  friend bool operator==(const Move&, const Move&) = default;
};

class Balancer {
public:
  static constexpr std::size_t most_moves = 4;             ///< in a plan
  static constexpr std::uint64_t rest_ns = 10'000'000'000; ///< between moves of a bucket

  explicit Balancer(std::size_t workers);

  [[nodiscard]] const Placement& placement() const { return placement_; }
  /// The moves to carry out now, in this order. Requires a load with an entry for each worker.
  [[nodiscard]] std::vector<Move> plan(const Load& load, TimeNs now) const;
  /// The move was carried out.
  void moved(const Move& move, TimeNs now);
  /// The move was given up, and the bucket is where it was.
  void refused(const Move& move, TimeNs now) { rests_until_[move.bucket.value] = now + rest_ns; }

private:
  std::size_t workers_;
  Placement placement_;
  std::array<TimeNs, bucket_count> rests_until_{};
};

} // namespace tributary::placement
