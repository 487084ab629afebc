#include "endpoint/launcher/run/daemons.hpp"

#include "endpoint/launcher/job/rank_end.hpp"
#include "endpoint/launcher/run/host_name.hpp"
#include "endpoint/launcher/start/starter.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/limit_silence.hpp"
#include "lib/net/tcp_listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <signal.h>
#include <sys/wait.h>

namespace tributary::launch::run {

namespace asio = boost::asio;
using control::NodeIndex;

namespace {

/// How long to wait for a daemon's end after its channel has ended.
constexpr std::chrono::milliseconds end_wait{500};
constexpr std::chrono::milliseconds end_look{5};

} // namespace

Daemons::Daemons(asio::io_context& io, const Options& options, const messages::Job& job,
                 std::string_view secret, Events events)
    : io_(io), options_(options), job_(job), secret_(secret), events_(std::move(events)),
      channels_(static_cast<std::size_t>(job.nodes_size())), pids_(channels_.size()),
      children_(io, SIGCHLD) {
  asio::co_spawn(io_, collect(), asio::detached);
}

void Daemons::start() {
  if (options_.reach == Reach::slurm) {
    return start_with_srun();
  }
  for (NodeIndex node = 0; node < channels_.size(); ++node) {
    const std::string& name = job_.nodes(static_cast<int>(node)).name();
    try {
      start::StartedProcess started =
          options_.reach == Reach::here ? start::start_here(name)
          : options_.reach == Reach::namespaces
              ? start::start_in_namespace(name)
              : start::start_through_ssh(options_.ssh, name, options_.remote_program);
      pids_[node] = started.pid;
      net::FramedStream::Socket socket(io_);
      socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), started.channel.release());
      channels_[node] = std::make_unique<DaemonChannel>(
          std::move(socket), [this, node](const messages::FromNode& m) { events_.heard(node, m); });
      asio::co_spawn(io_, serve(node, channels_[node].get()), asio::detached);
    } catch (const std::exception& failed) {
      events_.lost(node, failed.what());
    }
  }
}

void Daemons::start_with_srun() {
  std::vector<std::string> names;
  for (const messages::Node& node : job_.nodes()) {
    names.push_back(node.name());
  }
  try {
    listeners_ = net::listen_on_tcp(io_, net::parse_host_port("0.0.0.0:0", net::Purpose::listen));
    const std::uint16_t port = listeners_.front().local_endpoint().port();
    asio::co_spawn(io_, accept(), asio::detached);
    srun_ = start::start_through_srun(names, options_.remote_program,
                                      fmt::format("{}:{}", host_name(), port), std::string(secret_))
                .pid;
  } catch (const std::exception& failed) {
    events_.cannot_start(failed.what());
  }
}

asio::awaitable<void> Daemons::accept() {
  while (true) {
    auto [error, socket] = co_await listeners_.front().async_accept(net::as_result);
    if (error) {
      co_return;
    }
    boost::system::error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    net::limit_silence(socket.native_handle());
    asio::co_spawn(io_, greet(std::move(socket)), asio::detached);
  }
}

asio::awaitable<void> Daemons::greet(net::FramedStream::Socket socket) {
  std::optional<NodeIndex> node;
  DaemonChannel channel(std::move(socket), [&](const messages::FromNode& message) {
    if (node) {
      return events_.heard(*node, message);
    }
    const auto& nodes = job_.nodes();
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const messages::Node& each) {
      return each.name() == message.hello().node();
    });
    const auto index = static_cast<NodeIndex>(found - nodes.begin());
    if (message.hello().secret() != secret_ || found == nodes.end() || channels_[index] ||
        dialled_.contains(index)) {
      return channel.end("it does not belong to this job");
    }
    node = index;
    dialled_[index] = &channel;
    events_.heard(index, message);
  });
  const std::string why = co_await channel.run();
  if (node) {
    dialled_.erase(*node);
    events_.lost(*node, why);
  }
}

asio::awaitable<void> Daemons::serve(NodeIndex node, DaemonChannel* channel) {
  std::string why = co_await channel->run();
  // How the daemon ended is more informative than the end of its channel.
  const pid_t pid = pids_[node];
  const auto until = std::chrono::steady_clock::now() + end_wait;
  asio::steady_timer wait(io_);
  while (!ends_.contains(pid) && std::chrono::steady_clock::now() < until) {
    wait.expires_after(end_look);
    co_await wait.async_wait(net::as_result);
  }
  if (const auto end = ends_.find(pid); end != ends_.end()) {
    why = fmt::format("{} {}", options_.reach == Reach::ssh ? "ssh" : "it",
                      job::status_text(end->second));
  }
  events_.lost(node, why);
}

asio::awaitable<void> Daemons::collect() {
  while (true) {
    const auto [error, number] = co_await children_.async_wait(net::as_result);
    if (error) {
      co_return;
    }
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (std::find(pids_.begin(), pids_.end(), pid) != pids_.end()) {
        ends_[pid] = status;
      }
      if (pid == srun_) {
        srun_ = 0;
        srun_ended(status);
      }
    }
  }
}

void Daemons::srun_ended(int status) {
  for (NodeIndex node = 0; node < channels_.size(); ++node) {
    if (!dialled_.contains(node)) {
      events_.lost(node, fmt::format("srun {}", job::status_text(status)));
    }
  }
}

DaemonChannel* Daemons::channel_of(NodeIndex node) {
  const auto dialled = dialled_.find(node);
  return dialled != dialled_.end() ? dialled->second : channels_[node].get();
}

void Daemons::send(NodeIndex node, const messages::ToNode& message) {
  if (DaemonChannel* const channel = channel_of(node); channel != nullptr) {
    channel->send(message);
  }
}

void Daemons::give_up(NodeIndex node) {
  if (pids_[node] > 0) {
    ::kill(pids_[node], SIGKILL);
  } else if (srun_ > 0) {
    ::kill(srun_, SIGKILL);
  }
  if (DaemonChannel* const channel = channel_of(node); channel != nullptr) {
    channel->end("given up");
  } else {
    events_.lost(node, "given up");
  }
}

} // namespace tributary::launch::run
