// The PMIx server of a node, on libpmix 4.2 or 5.0: it answers ranks of this node out of shared
// memory, and hands what concerns other nodes to the daemon (Upcalls). The standard: PMIx 4.1,
// chapter 17 (server-specific interfaces).
//
//   Server server({.node = 0, .host = "ns1", .directory = tmp}, upcalls);     listens on 127.0.0.1
//   server.register_job(job);                   all ranks of the job, before any of them is started
//   environment = server.environment(rank, ...)  then fork
//   ...
//   ~Server                                      at most once in a process
//
// The library has a thread of its own, on which upcalls arrive; their implementation passes them on
// to its own thread and answers from there. Everything else belongs to the daemon's thread.
//
// This class adds what the library lacks: it never sets TCP_NODELAY, so events would wait up to 40
// ms; that is set for both directions it can reach, whenever a rank connects. It does not report a
// rank's death to other ranks: the daemon does, with `notify`.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::launch::pmix {

/// what() has the library's function and its answer.
class PmixError : public std::runtime_error {
public:
  PmixError(const std::string& doing, int status);
};

/// Called on the library's thread. Each `done` and `answer` is to be called once, from any other
/// thread.
class Upcalls {
public:
  using Done = std::function<void(int status)>;
  using DataAnswer = std::function<void(int status, std::string data)>;
  /// `context_id`: for a group that was to get one, else 0.
  using GatheredAnswer =
      std::function<void(int status, std::string data, std::uint32_t context_id)>;
  using QueryAnswer = std::function<void(int status, std::vector<messages::Value> values)>;

  virtual void connected(std::uint32_t rank, Done done) = 0;
  virtual void finalized(std::uint32_t rank, Done done) = 0;
  virtual void aborted(std::uint32_t rank, int status, std::string text, Done done) = 0;
  /// A fence, or the construction or destruction of a group; without number.
  virtual void gather(messages::Fence part, GatheredAnswer answer) = 0;
  virtual void modex(std::uint32_t rank, DataAnswer answer) = 0;
  /// An event of a rank of this node, for ranks elsewhere.
  virtual void notice(messages::Notice notice) = 0;
  virtual void query(messages::Query query, QueryAnswer answer) = 0;

protected:
  ~Upcalls() = default;
};

struct ServerSettings {
  std::string host; ///< name of this node, as ranks see it
  std::uint32_t node = 0;
  std::string directory; ///< directory of its files
};

class Server {
public:
  /// Throws PmixError.
  Server(const ServerSettings& settings, Upcalls& upcalls);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Throws PmixError.
  void register_job(const messages::Job& job);
  /// "NAME=VALUE" of what a rank of this node needs to find the server. Throws PmixError.
  [[nodiscard]] std::vector<std::string> environment(std::uint32_t rank);

  /// Sends the event to ranks of this node.
  void notify(const messages::Notice& notice);
  /// A rank of this node has ended: groups and fences that name it and begin later are not kept
  /// here, but are handed on. `fetch` of it is never answered from here on. The library must have
  /// seen the end of its connection, or would never see it.
  void forget(std::uint32_t rank);
  /// Fetches what a rank of this node has put and committed, once it has.
  void fetch(std::uint32_t rank, std::function<void(int status, std::string data)> found);

private:
  std::string job_;
};

} // namespace tributary::launch::pmix
