// The trees that this process keeps for the communicators of its node, and its part of the table in
// which the processes of a node know them (node/shared_table.hpp).
//
//   asked     a thread joins the named group, with all other nodes     -> ready, refused
//   ready     looked at ten times a second: moves and the end go to the table
//   left      when the process ends, or when a limit of groups needs the place: the one that was
//             not used for longest
//
// Each tree that is kept has a host of the C API, without a thread for frames: joining blocks, and
// two nodes may join two trees in different orders. Contexts use this process's FabricHost.
//
// Where a keeper has died, the next process that looks joins in its place: to the fabric manager
// the node has been a member throughout.
#pragma once

#include "endpoint/contexts/agreement.hpp"
#include "endpoint/contexts/node_table.hpp"
#include "endpoint/mpi/intra_node/fabric_host.hpp"
#include "endpoint/mpi/node/shared_table.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace tributary::mpi::intra_node {

/// What a process needs to be a member of groups.
struct MemberSettings {
  std::string interface; ///< the one connected to the switch; "": the host agent's
  std::chrono::milliseconds join_limit{};
  /// Asks for in-switch results, or refuses them; nullopt: as the manager's file says.
  std::optional<bool> in_switch_results{};
};

/// Uses a part of a tree, and moves with it.
class TreeUser {
public:
  /// The table has changed. Called on a thread of its own; false: to be called again.
  [[nodiscard]] virtual bool look() = 0;

protected:
  ~TreeUser() = default;
};

class Trees {
public:
  explicit Trees(MemberSettings settings) : settings_(std::move(settings)) {}
  Trees(const Trees&) = delete;
  Trees& operator=(const Trees&) = delete;
  ~Trees();

  /// Before the first use of table(): the node's memory. Without it the process is alone.
  void use(node::SharedTable table);
  /// Why there is no such memory: open() throws it, for another process's table would differ.
  void has_no_table(const std::string& why) { no_table_ = why; }

  /// Opens the interface, once. Throws NoGroup, and std::runtime_error without memory for the
  /// table.
  void open(contexts::ProcessId self, std::uint32_t spin_usec);
  /// After open().
  [[nodiscard]] const node::SharedTable& table() const { return *table_; }
  [[nodiscard]] FabricHost& host() const { return *host_; }

  /// Trees that an agreement of this process wants: joined in the background.
  void want(std::span<const contexts::Outcome::Wanted> wanted, const node::SetPlace& place,
            contexts::NodeSet nodes);
  /// Waits until the tree, which this process wants, is ready. Throws NoGroup if it is refused.
  void wait_for(contexts::TreeName name);
  /// Why the tree that this process asked for last was refused; nullopt if it was not.
  [[nodiscard]] std::optional<NoGroup> last_refusal();
  /// From now on its look() is called after changes, also while its program computes.
  void add(TreeUser& user);
  /// It is not called any more afterwards.
  void remove(TreeUser& user);
  /// Where the last agreement of these nodes ended: where the next one's search begins.
  [[nodiscard]] std::uint16_t page_of(contexts::NodeSet nodes);
  void learn_page(contexts::NodeSet nodes, std::uint16_t page);
  /// The program ends: a tree that is refused from now on is not asked for again in the place of
  /// one that no communicator uses any more, for other nodes would not.
  void make_no_room();
  /// Leaves all groups, and ends the threads. Blocks. No process of any node uses a context any
  /// more. Others can be wanted afterwards.
  void leave_all();

private:
  struct Kept {
    contexts::TreeName name;
    node::SetPlace place;
    enum class State : std::uint8_t { joining, ready, refused } state = State::joining;
    tributary_host* host = nullptr;
    tributary_group* group = nullptr;
    std::uint32_t moves = 0;
    std::thread thread{};
  };
  using Lock = std::unique_lock<std::mutex>;

  void begin(contexts::TreeName name, const node::SetPlace& place, const Lock& lock);
  void join(Kept& kept);
  /// Throws NoGroup.
  void join_once(Kept& kept);
  /// Leaves the tree that was not used for longest; false without any.
  [[nodiscard]] bool make_room();
  /// `seen`: the version of the table that all users know.
  void watch(std::uint64_t seen);
  /// Tells the users of a version that is not `seen`.
  void follow(std::uint64_t& seen);
  /// Whether it has ended.
  [[nodiscard]] bool look_at(Kept& kept);
  void adopt(const Lock& lock);
  static void leave(Kept& kept);
  /// Ends the threads of those, and leaves them. Without the lock, for it takes long.
  static void leave(std::list<Kept> gone);

  MemberSettings settings_;
  std::string no_table_;
  std::optional<node::SharedTable> table_;
  std::unique_ptr<FabricHost> host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Kept> kept_;
  /// The last ones, for those that wait for them.
  std::deque<std::pair<contexts::TreeName, NoGroup>> refused_;
  std::optional<NoGroup> last_refusal_;
  std::map<contexts::NodeSet, std::uint16_t> pages_;
  std::mutex users_mutex_; ///< never taken in a turn of the host
  std::set<TreeUser*> users_;
  bool ending_ = false;
  bool makes_no_room_ = false;
  std::thread watcher_;
};

} // namespace tributary::mpi::intra_node
