// Groups on the managed virtual fabric: hosts join by name through the manager, get a tree, reduce
// with the product's protocol, and leave.
//
//   ManagedGroups groups(managed, random);
//   ManagedGroup& demo = groups.join("demo", hosts, pieces);     announces, joins, runs when ready
//   managed.run_until([&] { return demo.over(); }, seconds(60));
#pragma once

#include "tests/fabric/group.hpp"
#include "tests/fabric/managed/managed_fabric.hpp"
#include "tributary/random.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

struct ManagedGroup {
  std::string name;
  std::vector<HostIndex> hosts; ///< by rank
  std::uint32_t trees = 1;
  std::uint64_t pieces = 0;
  std::uint64_t gap_ns = 0;  ///< its members inject after random gaps of up to this length
  std::vector<bool> joined;  ///< by rank: knows its membership
  std::vector<bool> leaving; ///< by rank: has notified the manager
  boost::json::object membership;
  std::unique_ptr<Group> group; ///< once all have joined
  std::string error;            ///< of the first member that was refused

  [[nodiscard]] bool ready() const { return group != nullptr; }
  [[nodiscard]] bool over() const { return group != nullptr && group->parted(); }
};

class ManagedGroups {
public:
  ManagedGroups(ManagedFabric& managed, std::uint64_t seed);
  ~ManagedGroups();
  ManagedGroups(const ManagedGroups&) = delete;
  ManagedGroups& operator=(const ManagedGroups&) = delete;

  /// Every host sends a request, and repeats it while the manager is down.
  ManagedGroup& join(const std::string& name, const std::vector<HostIndex>& hosts,
                     std::uint64_t pieces, std::uint32_t trees = 1, std::uint64_t gap_ns = 20'000);
  /// From now on the first member of each group requests in-switch results; before, it refuses
  /// them.
  void ask_for_in_switch() { asks_for_in_switch_ = true; }
  /// From now on all members request this rank as the root.
  void ask_for_root(std::uint32_t rank) { asks_for_root_ = rank; }
  /// Every host of a refused group repeats its request.
  void ask_again(ManagedGroup& group);
  /// Notifies the manager of every member that has left; call it periodically.
  void report_departures();
  [[nodiscard]] std::vector<std::unique_ptr<ManagedGroup>>& all() { return groups_; }

private:
  void ask(ManagedGroup& group, std::uint32_t rank);
  void answered(ManagedGroup& group, std::uint32_t rank, const api::Answer& answer);
  void begin(ManagedGroup& group);

  ManagedFabric& managed_;
  bool asks_for_in_switch_ = false;
  std::optional<std::uint32_t> asks_for_root_;
  Random random_;
  std::vector<std::unique_ptr<GroupHost>> hosts_;
  std::vector<std::unique_ptr<ManagedGroup>> groups_;
};

} // namespace tributary::fabric
