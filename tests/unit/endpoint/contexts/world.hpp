// Nodes with processes and threads that dup, free, move and shrink communicators, step by step in
// the order of a seeded scheduler: reductions that are lost and made again, trees that come late or
// not at all, groups that end, processes that die at any point. Every step is checked.
//
// The program is a list of operations in one order. Each communicator has a thread at each node; a
// thread makes its operations in the order of the list, so the program never blocks itself, and two
// nodes make operations of different communicators in any order that MPI allows.
#pragma once

#include "endpoint/contexts/agreement.hpp"
#include "tests/unit/endpoint/contexts/oracle.hpp"
#include "tributary/random.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::test {

class World {
public:
  struct Faults {
    bool losses = true;
    bool deaths = false;
    bool ended_groups = false;
  };
  struct Seen {
    std::uint64_t agreements = 0; ///< at all nodes together, as all others
    std::uint64_t contexts = 0;
    std::uint64_t in_one_reduction = 0;
    std::uint64_t repeated = 0; ///< took more than four reductions
    std::uint64_t used_up = 0;
    std::uint64_t unowned = 0;
    std::uint64_t abandoned = 0;
    std::uint64_t moves = 0;
    std::uint64_t shrunk = 0;
    std::uint64_t freed_in_flight = 0;
    std::uint64_t reused = 0; ///< ids that another context had before
    std::uint64_t losses = 0;
    std::uint64_t deaths = 0;
    std::uint64_t trees = 0;
    std::uint64_t refused = 0;
    std::uint64_t ended = 0;
    std::uint64_t retired = 0;
    std::uint64_t adopted = 0;
  };

  World(std::uint64_t seed, const Faults& faults);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() = default;

  /// Runs the program to its end. What went wrong first, or "".
  [[nodiscard]] std::string run();
  [[nodiscard]] const Seen& seen() const { return seen_; }

private:
  enum class Kind : std::uint8_t { dup, free, move, shrink, call };
  /// A context at a node, also after its communicator has another one.
  struct Held {
    int communicator;
    std::size_t node;
    contexts::ProcessId process;
    contexts::Context context;
    contexts::Lifetime lifetime;
    bool released = false;
  };
  struct AtNode {
    std::size_t thread = 0; ///< of the node
    bool gone = false;      ///< this node has given up
    std::optional<contexts::Parent> parent;
    std::shared_ptr<Held> held;
  };
  struct Communicator {
    std::size_t set = 0;
    bool short_calls = false;
    Cookie cookie; ///< without a context
    bool failed = false;
    std::vector<AtNode> at; ///< by node
  };
  struct Operation {
    Kind kind;
    int communicator;
    int child = -1;
    std::optional<contexts::Outcome> expected; ///< of the first node that is done
  };
  struct Process {
    contexts::ProcessId id;
    bool alive = true;
    bool noticed = false; ///< the node knows that it is dead
  };
  struct Thread {
    std::size_t process = 0; ///< of the node
    std::deque<std::size_t> operations;
    std::optional<contexts::Agreement> agreement; ///< of the first one
  };
  struct Node {
    std::unique_ptr<contexts::NodeTable> table = std::make_unique<contexts::NodeTable>();
    std::vector<Process> processes;
    std::vector<Thread> threads;
  };
  /// Key of an operation's step, or of a call.
  using Key = std::pair<std::size_t, std::uint32_t>;
  struct Reduction {
    std::vector<std::optional<contexts::OfferWords>> given; ///< by node
    std::size_t missing = 0;
    contexts::OfferWords result{};
  };
  struct Call {
    Key key;
    std::size_t node;
    std::shared_ptr<Held> held; ///< none: without a context
  };
  enum class News : std::uint8_t { ready, refused, ended };
  struct Tree {
    std::size_t set = 0;
    std::set<std::size_t> joined;
    bool decided = false;
    bool refused = false;
    bool ended = false;
  };
  struct Notice {
    contexts::TreeName tree;
    std::size_t node;
    News news;
  };

  void make_program();
  void fail(const std::string& what);
  [[nodiscard]] std::size_t below(std::size_t n) { return random_.below(n); }
  [[nodiscard]] bool is_broken(int communicator) const;
  [[nodiscard]] bool is_member(int communicator, std::size_t node) const;
  [[nodiscard]] Process& process_of(int communicator, std::size_t node);
  [[nodiscard]] bool is_over() const;

  void step();
  void run_thread(std::size_t node, Thread& thread);
  void start(std::size_t node, Thread& thread, std::size_t operation);
  void child_without_context(int communicator, std::size_t node, std::uint16_t page);
  void give(std::size_t operation, std::uint32_t number, std::size_t node,
            const contexts::OfferWords& words);
  void deliver();
  void take_result(const Key& key, std::size_t node);
  void finish(std::size_t node, Thread& thread);
  void hold(int communicator, std::size_t node, const contexts::Context& context);
  void let_go(const std::shared_ptr<Held>& held);
  void release(Held& held);
  void end_call(std::size_t index);
  void give_up(int communicator, std::size_t node);
  void stop_waiting(std::size_t node, Thread& thread);

  void want(contexts::TreeName name, std::size_t set, std::size_t node);
  void decide(contexts::TreeName name, Tree& tree, bool refuse);
  void manage();
  void notify();
  void kill();
  void notice_deaths();
  void retire();
  void clean_up();

  tributary::Random random_;
  Faults faults_;
  Seen seen_;
  std::string fault_;
  std::vector<Node> nodes_;
  std::vector<std::set<std::size_t>> sets_; ///< of nodes
  std::vector<Communicator> communicators_;
  std::vector<Operation> operations_;
  std::map<Key, Reduction> reductions_;
  std::vector<std::pair<Key, std::size_t>> deliveries_;
  std::vector<Call> calls_;
  std::map<contexts::TreeName, Tree> trees_;
  std::vector<Notice> notices_;
  std::map<std::pair<contexts::TreeName, std::uint8_t>, std::set<Cookie>> had_; ///< by first id
  std::uint32_t slots_;
  std::size_t most_trees_;
  Oracle oracle_;
};

} // namespace tributary::test
