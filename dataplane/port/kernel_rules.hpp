// The flow rules of a kernel interface (`ethtool --config-ntuple`) that bring the frames of a
// bucket to a receive queue: one on the IPv4 destination address for each bucket, all with one
// mask. For AF_XDP ports, whose NIC the kernel drives.
//
// Rules stay when the process that set them is killed. An interface has one switch at a time, as it
// has one XDP program; so a rule with exactly this mask and such a value is a killed switch's, and
// is removed at the start. All other rules are the operator's and stay. Control thread only.
#pragma once

#include "dataplane/placement/buckets.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

struct ethtool_rxnfc;

namespace tributary::port {

class KernelRules {
public:
  /// Asks the kernel about the interface, which fills in the answer: 0 or an errno. A command that
  /// lists rules has room for `rule_cnt` places behind it.
  using Ask = std::function<int(ethtool_rxnfc& command)>;

  explicit KernelRules(Ask ask);
  /// Those of an interface of this network namespace. Throws LinkError if this process cannot open
  /// more sockets.
  explicit KernelRules(const std::string& interface);
  /// Removes all that it has set.
  ~KernelRules();
  KernelRules(const KernelRules&) = delete;
  KernelRules& operator=(const KernelRules&) = delete;

  /// Number of rules of a killed switch that were there.
  [[nodiscard]] std::size_t left_behind() const { return left_behind_; }

  /// Brings a bucket to a receive queue, also if it is at another one. Why not: in the kernel's
  /// words; empty: it does. After a refusal the bucket may be without a rule.
  [[nodiscard]] std::string set(placement::Bucket bucket, std::size_t queue);

private:
  using Place = std::uint32_t;

  void look_around();
  [[nodiscard]] int insert(placement::Bucket bucket, std::size_t queue, Place& place);
  int remove(Place place);
  [[nodiscard]] std::optional<Place> free_place() const;

  Ask ask_;
  std::string unavailable_;    ///< why there are no rules at all
  std::uint32_t size_ = 0;     ///< of the table
  bool driver_places_ = false; ///< the driver picks a rule's place
  std::set<Place> taken_;
  std::size_t left_behind_ = 0;
  std::array<std::optional<Place>, placement::bucket_count> places_{};
};

} // namespace tributary::port
