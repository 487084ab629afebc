// The life of one job in tributary-run: messages of node daemons go in, messages to them come out.
// Pure; the caller has the channels, the time and the terminal.
//
// Phases, as they are logged:
//   0  inventory   every node daemon has sent its hello, with processors, memory and interfaces
//   2  allocation  the fabric manager has answered, or the job has none
//   3  set-up      every node has set up its local resources and registered all ranks of the job
//   4  run         ranks have been started; connected; finalized; ended
// No rank is started before every node is ready.
//
// A node that is silent for a few seconds is named, with its ranks. Nothing else is done: it may
// recover, and its channel shows when it is lost.
//
// How it ends. The first failure is the reason of the end: a rank that fails, a node that is lost,
// a rank that aborts. All other ranks are notified (PMIX_ERR_PROC_ABORTED, with the ranks) and have
// `grace` to end on their own; then ranks get SIGTERM, a second later SIGKILL, and a daemon that
// does not obey for `daemon_limit` is given up. An interrupt is passed on to ranks, and begins the
// same countdown; a second one skips it.
//
//   exit code 0            all ranks ended with 0
//   exit code of a rank    of the first one that failed; 128 + its signal
//   1                      a node was lost, the job could not be started, or no rank called
//                          MPI_Init where one had to
#pragma once

#include "endpoint/launcher/control/gathering.hpp"
#include "endpoint/launcher/messages/protocol.hpp"
#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::launch::control {

struct LaunchSettings {
  std::chrono::milliseconds grace{2000};
  std::chrono::milliseconds kill_after{1000};     ///< SIGTERM to SIGKILL
  std::chrono::milliseconds daemon_limit{12'000}; ///< from SIGKILL of ranks to giving up the daemon
  /// Time for daemons to send their hello, and for nodes to be ready.
  std::chrono::milliseconds start_limit{60'000};
  /// A node silent for this long is named; daemons send a sign of life each second. 0: never.
  std::chrono::milliseconds silent_after{4000};
  std::string version{}; ///< version of this program; daemons have the same
  std::string secret{};  ///< secret that daemons must show; "" none
  /// Ranks reach other nodes by their names; otherwise, on stand-in nodes, by an IP address.
  bool nodes_have_names = true;
};

/// An order to the shell.
struct Order {
  NodeIndex node = 0;
  messages::ToNode message;
  bool give_up = false; ///< no message: end its daemon, and call `lost`
};
struct Chunk {
  NodeIndex node = 0; ///< the node to notify of how much has been written
  std::uint32_t rank = 0;
  bool errors = false;
  std::string data; ///< "": the end of this rank's stream
};
/// A rank asks the fabric manager, or the launcher.
struct Question {
  NodeIndex node = 0;
  messages::Query query;
};

/// Whether ranks call MPI_Init, as far as the shell knows.
enum class MpiUse : std::uint8_t {
  open,     ///< they may or may not
  unseen,   ///< nothing reduces for one that does, because its MPI library was not found
  required, ///< a job in which none does fails
};

struct Step {
  int phase = 0;
  std::string what; ///< "nodes greeted", "ranks connected"
  TimeNs at;
};

class Launch {
public:
  /// `job` without an allocation; its nodes have ranks, none is empty.
  Launch(messages::Job job, LaunchSettings settings, TimeNs now);

  void said(NodeIndex node, const messages::FromNode& message, TimeNs now);
  /// The node's channel has ended, because of `why`; does nothing for a node that had finished.
  void lost(NodeIndex node, const std::string& why, TimeNs now);
  /// The fabric manager has answered, or the job has none: sends the job to the nodes. `nodes` has
  /// their fabric interfaces, in the order of the job's.
  void allocated(std::vector<messages::Value> values, std::vector<messages::Node> nodes,
                 TimeNs now);
  /// Ends the job for a reason outside it: no allocation where one is required.
  void cannot_start(const std::string& why, TimeNs now);
  /// To be called before ranks start; MpiUse::open otherwise.
  void expect_mpi(MpiUse use) { mpi_use_ = use; }
  /// A signal for the job.
  void signalled(int signal, TimeNs now);
  void output_written(NodeIndex node, std::uint64_t bytes);
  /// Standard input for rank 0; "" is the end.
  void input(std::string data);
  void answer(NodeIndex node, messages::QueryAnswer answer);
  /// Sends an event to all ranks of the job.
  void notify(const messages::Notice& notice);
  void time_is(TimeNs now);
  /// A rank reports that it has reached something; the first report counts.
  void mark(const std::string& what, TimeNs now);

  [[nodiscard]] TimeNs deadline() const;
  /// Every node has sent its hello: the inventory is complete.
  [[nodiscard]] bool greeted() const;
  [[nodiscard]] const messages::Hello& hello(NodeIndex node) const { return nodes_[node].hello; }
  /// The directory of its daemon's files; "" before it is ready.
  [[nodiscard]] const std::string& directory(NodeIndex node) const {
    return nodes_[node].directory;
  }
  [[nodiscard]] const messages::Job& job() const { return job_; }
  [[nodiscard]] bool wants_input() const;
  [[nodiscard]] bool over() const;
  [[nodiscard]] int exit_code() const { return exit_code_; }

  [[nodiscard]] std::vector<Order> take_orders() { return std::exchange(orders_, {}); }
  [[nodiscard]] std::vector<Chunk> take_output() { return std::exchange(output_, {}); }
  [[nodiscard]] std::vector<Question> take_questions() { return std::exchange(questions_, {}); }
  /// Nodes whose `hello` has changed since the last call.
  [[nodiscard]] std::set<NodeIndex> take_changed() { return std::exchange(changed_, {}); }
  /// Lines for people.
  [[nodiscard]] std::vector<std::string> take_errors() { return std::exchange(errors_, {}); }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

  struct Counts {
    std::uint64_t fences = 0;
    std::uint64_t fences_with_data = 0;
    std::uint64_t fence_bytes = 0;
    std::uint64_t groups = 0;    ///< PMIx groups that were constructed
    std::uint64_t exchanges = 0; ///< addresses fetched from another node's server
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

private:
  enum class NodeState : std::uint8_t { starting, greeted, ready, finishing, gone };
  struct Node {
    NodeState state = NodeState::starting;
    messages::Hello hello;
    std::string directory;
    TimeNs heard;                    ///< time of the last message since its hello
    bool is_silent = false;          ///< a warning was printed
    std::uint32_t alive = 0;         ///< ranks started and not ended
    std::set<std::uint32_t> to_come; ///< ranks that have neither been started nor failed to
  };
  struct AskedModex {
    NodeIndex node = 0;
    std::uint64_t number = 0;
    NodeIndex asked = 0;
  };
  enum class EndPhase : std::uint8_t { no, grace, terminated, killed };

  void greeted_by(NodeIndex node, const messages::Hello& hello, TimeNs now);
  void ready_is(NodeIndex node, const messages::Ready& ready, TimeNs now);
  void started(NodeIndex node, const messages::Started& started, TimeNs now);
  void ended(NodeIndex node, const messages::Ended& ended, TimeNs now);
  void fence(NodeIndex node, const messages::Fence& fence, TimeNs now);
  void answer_fences(Gatherings::Answers answers);
  void modex_wanted(NodeIndex node, const messages::Modex& modex, TimeNs now);
  void modex_found(NodeIndex node, const messages::Modex& modex);
  void notice(NodeIndex node, const messages::Notice& notice);
  void aborted(const messages::Abort& abort, TimeNs now);

  void heard(NodeIndex node, TimeNs now);
  /// Names silent nodes and their ranks.
  void look_for_silent_nodes(TimeNs now);
  void begin_end(std::string why, int code, const std::vector<std::uint32_t>& dead, TimeNs now);
  void finish_if_ended(TimeNs now);
  void release_waiting(NodeIndex node);
  void kill_all(TimeNs now);
  void to(NodeIndex node, messages::ToNode message);
  void signal_all(int signal);
  void step(int phase, std::string what, TimeNs now);
  /// Sets where ranks of torch and others find rank 0.
  void set_master();
  /// Says once that nothing reduces for this rank, if so.
  void connected(NodeIndex node, std::uint32_t rank);
  /// Whether all ranks have ended, and none called MPI_Init though one had to.
  [[nodiscard]] bool lacks_mpi() const;
  /// Warns once: libpmix does not support it.
  void begins_again(NodeIndex node, std::uint32_t rank);
  void count_rank(std::set<std::uint32_t>& seen, std::uint32_t rank, const char* what, TimeNs now);
  [[nodiscard]] bool has(NodeIndex node, std::uint32_t rank) const;
  [[nodiscard]] bool reachable(NodeIndex node) const;

  messages::Job job_;
  LaunchSettings settings_;
  std::vector<NodeIndex> node_of_; ///< by rank
  std::vector<Node> nodes_;
  bool allocated_ = false;
  bool started_ = false; ///< ranks have been ordered to start
  Gatherings gatherings_;
  std::map<std::uint64_t, AskedModex> modexes_;
  std::uint64_t next_modex_ = 1;
  std::set<std::uint32_t> running_, connected_, finalized_;
  bool warned_ = false; ///< about ranks that begin again
  MpiUse mpi_use_ = MpiUse::open;
  EndPhase end_phase_ = EndPhase::no;
  bool interrupted_ = false;
  int exit_code_ = 0;
  TimeNs start_by_;
  TimeNs end_by_ = never;  ///< the next step of the countdown
  TimeNs look_at_ = never; ///< next check for silent nodes
  std::vector<Order> orders_;
  std::vector<Chunk> output_;
  std::vector<Question> questions_;
  std::set<NodeIndex> changed_;
  std::vector<std::string> errors_;
  std::vector<Step> steps_;
  Counts counts_;
};

} // namespace tributary::launch::control
