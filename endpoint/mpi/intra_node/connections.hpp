// The connections between this process and others of its job, which carry the agreements of all its
// teams (model/agreement.hpp), and the one thread that serves them. The leader of a node connects
// to the process that coordinates a team, rank 0's; that connection is kept, and used for all teams
// that process coordinates. What a process says to itself takes the same way, without a socket.
//
//   leader     attach() a receiver; send()     -> coordinator's process
//   coordinator   coordinate() an agreement    -> the leaders' receivers
//
// A connection that ends is the end of that process for all teams on it. Strangers may connect: one
// that has not given this process's secret after ten seconds is closed, and so is the oldest of
// more than 64; they cannot send more than a secret.
//
// Sends never block: what a socket does not take waits in memory. So two processes that each
// coordinate a team of the other's never wait for each other.
#pragma once

#include "endpoint/mpi/intra_node/sockets.hpp"
#include "endpoint/mpi/model/agreement.hpp"
#include "lib/net/file_descriptor.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tributary::mpi::intra_node {

using Secret = std::array<std::byte, secret_bytes>;
/// Identifies a process of the job; random, not 0.
using ProcessNumber = std::uint64_t;

/// How to reach a process.
struct Process {
  ProcessNumber number = 0;
  Secret secret{};
  std::uint16_t port = 0; ///< 0: it does not listen
  std::string addresses;  ///< see addresses_of_node
};

/// A team's leader, as the thread sees it.
class Receiver {
public:
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  virtual ~Receiver() = default;
  virtual void receive(Message message) = 0;
  /// The coordinator's process cannot be reached any more. Nothing more is received.
  virtual void lose() = 0;
};

/// A team's agreement, in the process of rank 0.
struct Coordination {
  std::vector<ProcessNumber> leaders; ///< by node
  Agreement agreement;
  std::function<void(const std::string&)> say; ///< prints a line for people
};

class Connections {
public:
  /// Listens; the thread begins with the first team. `say` prints a line for people. Where it
  /// cannot listen, port() is 0, and connect() has the reason.
  explicit Connections(std::function<void(const std::string&)> say);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() { close(); }
  /// Ends the thread and all connections. No receiver is attached any more.
  void close();

  [[nodiscard]] ProcessNumber number() const { return number_; }
  [[nodiscard]] const Secret& secret() const { return secret_; }
  [[nodiscard]] std::uint16_t port() const { return listener_ ? listener_->port() : 0; }

  /// Connects to a coordinator's process, unless that is done. Blocks; `limit` is for each of its
  /// addresses. Throws std::runtime_error.
  void connect(const Process& coordinator, std::chrono::milliseconds limit);

  /// From now on the receiver gets the team's messages, on the thread.
  void attach(TeamKey team, ProcessNumber coordinator, Receiver& receiver);
  /// Afterwards it gets none. Not on the thread.
  void detach(TeamKey team);
  /// Sends a message of the team to its coordinator. False when that is lost.
  bool send(TeamKey team, ProcessNumber coordinator, Message message);

  /// Begins to coordinate a team, until all its leaders have left or are gone.
  void coordinate(TeamKey team, Coordination coordination);
  /// Stops: the team has ended in another way, or did not come about.
  void stop_coordinating(TeamKey team);

private:
  struct Connection {
    net::FileDescriptor socket;
    ProcessNumber process = 0; ///< at the other end; 0: a stranger
    bool to_coordinator = false;
    std::chrono::steady_clock::time_point since{};
    std::vector<std::byte> received; ///< not yet a whole message; only the thread uses it
    std::deque<std::vector<std::byte>> to_send;
    std::size_t sent = 0; ///< bytes of the first one
  };
  using Shared = std::shared_ptr<Connection>;
  struct Attached {
    ProcessNumber coordinator = 0;
    Receiver* receiver = nullptr;
  };
  /// A message of this process to itself.
  struct Local {
    bool to_coordinator;
    Message message;
  };
  using Lock = std::unique_lock<std::mutex>;

  void begin_thread(const Lock& lock);
  void wake() const;
  void run();
  /// False: the thread ends.
  [[nodiscard]] bool serve();
  void give_up(const std::string& why);
  void accept();
  void drop_late_strangers();
  /// False: the connection has ended, or sent what is no message.
  [[nodiscard]] bool receive_from(const Shared& connection);
  [[nodiscard]] bool take(const Shared& connection, Message message);
  [[nodiscard]] bool greet(const Shared& stranger, const Message& hello);
  void drop(const Shared& connection);
  void to_coordination(ProcessNumber from, Message message);
  void to_receiver(ProcessNumber from, Message message);
  void deliver(TeamKey team, Coordination& coordination, std::vector<Agreement::Sending> all);
  void look_at_clocks();
  void lose_leader(ProcessNumber process);
  void lose_coordinator(ProcessNumber process);
  static void enqueue(Connection& connection, const Message& message);
  static void flush(Connection& connection);

  const std::function<void(const std::string&)> say_;
  ProcessNumber number_;
  Secret secret_;
  net::FileDescriptor wake_;
  std::optional<Listener> listener_;
  std::string fault_; ///< why there is none

  std::mutex connecting_; ///< one connects at a time
  mutable std::mutex mutex_;
  std::condition_variable delivered_;
  bool closing_ = false;
  bool broken_ = false;               ///< the thread has given up
  std::optional<TeamKey> delivering_; ///< the team whose receiver is being called
  std::map<ProcessNumber, Shared> coordinators_;
  std::map<ProcessNumber, Shared> leaders_;
  std::deque<Shared> strangers_; ///< oldest first
  /// For leaders whose hello has not been read.
  std::map<ProcessNumber, std::vector<Message>> early_;
  std::map<TeamKey, Attached> attached_;
  std::map<TeamKey, std::shared_ptr<Coordination>> coordinations_;
  std::deque<Local> local_;
  /// After an accept that failed: when to try again.
  std::chrono::steady_clock::time_point accept_again_{};
  std::thread thread_; ///< last: it uses all the others
};

} // namespace tributary::mpi::intra_node
