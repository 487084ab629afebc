// The node daemons of a job: starts them as the options say, here, in namespaces, through ssh or by
// srun, exchanges messages with them, and kills them when they are given up.
//
// With srun they dial in, each with the job's secret and the name of its node; the others have one
// end of a pair of sockets each.
#pragma once

#include "endpoint/launcher/run/daemon_channel.hpp"
#include "endpoint/launcher/run/options.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace tributary::launch::run {

class Daemons {
public:
  struct Events {
    std::function<void(control::NodeIndex, const messages::FromNode&)> heard;
    /// A daemon could not be started, or its channel has ended; and why.
    std::function<void(control::NodeIndex, const std::string& why)> lost;
    /// None of them can be started; called before `start` returns.
    std::function<void(const std::string& why)> cannot_start;
  };

  /// The arguments must outlive this object, unchanged. `secret`: for daemons that dial in.
  Daemons(boost::asio::io_context& io, const Options& options, const messages::Job& job,
          std::string_view secret, Events events);

  /// Starts one daemon for each node of the job. Events may arrive before this returns.
  void start();
  /// Does nothing where the node has no channel.
  void send(control::NodeIndex node, const messages::ToNode& message);
  /// Kills it; it is lost then.
  void give_up(control::NodeIndex node);
  /// Whether an srun is running.
  [[nodiscard]] bool has_srun() const { return srun_ != 0; }

private:
  void start_with_srun();
  boost::asio::awaitable<void> accept();
  /// A connection counts as a daemon only after it has sent the secret and its node's name.
  boost::asio::awaitable<void> greet(net::FramedStream::Socket socket);
  boost::asio::awaitable<void> serve(control::NodeIndex node, DaemonChannel* channel);
  /// Reaps the processes that were started here.
  boost::asio::awaitable<void> collect();
  void srun_ended(int status);
  /// Null where the node has none.
  [[nodiscard]] DaemonChannel* channel_of(control::NodeIndex node);

  boost::asio::io_context& io_;
  const Options& options_;
  const messages::Job& job_;
  std::string_view secret_;
  Events events_;
  std::vector<std::unique_ptr<DaemonChannel>> channels_; ///< daemons started from here
  std::map<control::NodeIndex, DaemonChannel*> dialled_; ///< with srun
  std::vector<pid_t> pids_;                              ///< 0 with srun
  std::map<pid_t, int> ends_;
  pid_t srun_ = 0;
  std::vector<boost::asio::ip::tcp::acceptor> listeners_;
  boost::asio::signal_set children_;
};

} // namespace tributary::launch::run
