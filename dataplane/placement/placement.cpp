#include "dataplane/placement/placement.hpp"

#include <algorithm>
#include <optional>

namespace tributary::placement {
namespace {

constexpr double busy_enough = 0.7;
constexpr double uneven = 1.2;       ///< the busiest over the idlest
constexpr double clearly_less = 0.9; ///< of the load before
constexpr double most_of_it = 0.5;   ///< share of a worker's load above which a bucket stays

/// By bucket: its share of the time of its worker.
std::array<double, bucket_count> shares(const Placement& placement, const Load& load) {
  std::vector<std::uint64_t> total = load.others;
  for_each_bucket([&](Bucket b) { total[placement.worker_of(b)] += load.buckets[b.value]; });
  std::array<double, bucket_count> shares{};
  for_each_bucket([&](Bucket b) {
    const std::size_t worker = placement.worker_of(b);
    if (total[worker] != 0) {
      shares[b.value] = load.busy[worker] * static_cast<double>(load.buckets[b.value]) /
                        static_cast<double>(total[worker]);
    }
  });
  return shares;
}

} // namespace

Placement::Placement(std::size_t workers) {
  for_each_bucket([&](Bucket b) { set(b, b.value % workers); });
}

Balancer::Balancer(std::size_t workers) : workers_(workers), placement_(workers) {}

std::vector<Move> Balancer::plan(const Load& load, TimeNs now) const {
  std::vector<Move> moves;
  Placement planned = placement_;
  std::vector<double> busy = load.busy;
  const std::array<double, bucket_count> share = shares(placement_, load);
  std::array<bool, bucket_count> stays{};
  for_each_bucket([&](Bucket b) { stays[b.value] = now < rests_until_[b.value]; });
  while (moves.size() < most_moves && workers_ > 1) {
    const auto from = static_cast<std::size_t>(std::ranges::max_element(busy) - busy.begin());
    const auto to = static_cast<std::size_t>(std::ranges::min_element(busy) - busy.begin());
    if (busy[from] < busy_enough || busy[from] < uneven * busy[to]) {
      break;
    }
    std::optional<Bucket> largest;
    for_each_bucket([&](Bucket b) {
      const double one = share[b.value];
      if (planned.worker_of(b) != from || stays[b.value] || one <= 0 ||
          one > most_of_it * busy[from]) {
        return;
      }
      if (busy[to] + one <= clearly_less * busy[from] &&
          (!largest || one > share[largest->value])) {
        largest = b;
      }
    });
    if (!largest) {
      break;
    }
    moves.push_back({*largest, from, to});
    planned.set(*largest, to);
    stays[largest->value] = true;
    busy[from] -= share[largest->value];
    busy[to] += share[largest->value];
  }
  return moves;
}

void Balancer::moved(const Move& move, TimeNs now) {
  placement_.set(move.bucket, move.to);
  rests_until_[move.bucket.value] = now + rest_ns;
}

} // namespace tributary::placement
