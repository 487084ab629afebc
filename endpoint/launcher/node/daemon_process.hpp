// The daemon's parts: its channel, its ranks, and the bridge between PMIx and the channel.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"
#include "endpoint/launcher/node/agent_job.hpp"
#include "endpoint/launcher/node/daemon.hpp"
#include "endpoint/launcher/node/rank_process.hpp"
#include "endpoint/launcher/pmi/pmi1.hpp"
#include "endpoint/launcher/pmix/server.hpp"
#include "lib/net/framed_stream.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::launch::node {

class Daemon final : private net::FramedStreamUser, private pmix::Upcalls {
public:
  Daemon(boost::asio::io_context& io, net::FramedStream::Socket channel, DaemonSettings settings);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Returns when the channel has ended; then nothing of a rank is left.
  boost::asio::awaitable<void> run();

private:
  using Descriptor = boost::asio::posix::stream_descriptor;
  /// One of a rank's two streams.
  struct Stream {
    Stream(boost::asio::io_context& io, net::FileDescriptor fd) : descriptor(io, fd.release()) {}
    Descriptor descriptor;
    bool ended = false;
    bool waiting = false; ///< waiting until it is readable
  };
  struct Rank {
    pid_t pid = 0;
    std::unique_ptr<Stream> output, errors;
    std::unique_ptr<Descriptor> input, pmi;
    std::string to_pmi; ///< bytes that its socket has not taken
    bool connected = false;
    bool finalized = false;
  };

  // The channel.
  [[nodiscard]] std::string arrived(net::FrameReader& frames) override;
  void obey(const messages::ToNode& message);
  void set_up(const messages::Job& job);
  /// Looks up what a rank of this node put, for another node that asks under this number.
  void find(std::uint64_t number, std::uint32_t rank);
  void found(std::uint64_t number, int status, const std::string& data);
  [[nodiscard]] std::string local_resource_problem() const;
  void declare_to_agent();
  void look_at_agent();
  void start();
  [[nodiscard]] RankStart how_to_start(std::uint32_t rank);
  void started(std::uint32_t rank, RankProcess process);
  void could_not_start(std::uint32_t rank, const char* why);
  void signal(int number);
  void input_came(const std::string& data);

  // The node's interfaces.
  void watch_interfaces();
  void look_again();
  /// Sends hellos now, and at an interval from here on.
  void announce_again();
  void say_alive();

  // Ranks.
  boost::asio::awaitable<void> reap();
  void reap_all();
  void ended(std::uint32_t rank, int status);
  /// Groups and fences do not wait for it on this node; its data is kept for other nodes.
  void forget_in_pmix(std::uint32_t rank);
  void read_stream(std::uint32_t rank, bool errors);
  void read_now(std::uint32_t rank, Stream& stream, bool errors, bool to_the_end);
  void resume_reading();
  void write_input();
  void read_pmi(std::uint32_t rank);
  void pmi_said(std::uint32_t rank, const std::string& bytes);
  void write_pmi(std::uint32_t rank);
  void send_pmi_fence();
  void kill_everything();
  /// Called once: removes what is left of ranks, PMIx and files.
  void clear_up();

  // PMIx, on its own thread: each call is passed on to the daemon's.
  void connected(std::uint32_t rank, Done done) override;
  void finalized(std::uint32_t rank, Done done) override;
  void aborted(std::uint32_t rank, int status, std::string text, Done done) override;
  void gather(messages::Fence part, GatheredAnswer answer) override;
  void modex(std::uint32_t rank, DataAnswer answer) override;
  void notice(messages::Notice notice) override;
  void query(messages::Query query, QueryAnswer answer) override;

  void rank_connected(std::uint32_t rank);
  void rank_finalized(std::uint32_t rank);
  void fence_done(const messages::Fence& fence);

  boost::asio::io_context& io_;
  net::FramedStream channel_;
  DaemonSettings settings_;
  boost::asio::signal_set children_;
  messages::Hello hello_; ///< as last sent
  Descriptor interfaces_; ///< readable when they may have changed
  boost::asio::steady_timer quiet_;
  boost::asio::steady_timer announcements_;
  boost::asio::steady_timer alive_;
  messages::Job job_;
  std::optional<AgentJob> agent_job_;     ///< once the job is known
  std::optional<Nid> announced_by_agent_; ///< the host that this node's agent announces
  std::chrono::steady_clock::time_point ask_agent_at_{};
  std::string rdma_policy_; ///< for ranks' hosts; "": none was given
  bool cleared_up_ = false;
  std::string directory_; ///< for PMIx's files; removed at the end
  std::unique_ptr<pmix::Server> server_;
  std::optional<pmi::Pmi1> pmi_;
  std::map<std::uint32_t, Rank> ranks_;
  std::map<std::uint64_t, GatheredAnswer> fences_;
  std::map<std::uint64_t, DataAnswer> modexes_;
  std::map<std::uint32_t, std::pair<int, std::string>> put_by_ended_; ///< ranks; status and data
  std::map<std::uint64_t, QueryAnswer> queries_;
  std::uint64_t next_number_ = 1;
  std::uint64_t output_open_ = 0; ///< bytes that were sent and not yet written by tributary-run
  std::deque<std::string> input_; ///< for rank 0; an empty one is its end
  bool input_waits_ = false;
};

} // namespace tributary::launch::node
