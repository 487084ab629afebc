#include "endpoint/launcher/node/daemon.hpp"

#include "endpoint/agent/messages.hpp"
#include "endpoint/launcher/descendants/descendants.hpp"
#include "endpoint/launcher/inventory/interface_watch.hpp"
#include "endpoint/launcher/inventory/inventory.hpp"
#include "endpoint/launcher/job/rank_environment.hpp"
#include "endpoint/launcher/node/announcement.hpp"
#include "endpoint/launcher/node/daemon_process.hpp"
#include "endpoint/launcher/node/keeper.hpp"
#include "endpoint/launcher/node/pipe_bridge.hpp"
#include "lib/link/interface.hpp"
#include "lib/net/address.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/limit_silence.hpp"
#include "lib/rdma_policy/policy_text.hpp"
#include "lib/service/socket_file.hpp"
#include "lib/service/version.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tributary::launch::node {

namespace asio = boost::asio;

namespace {

/// Time to kill ranks and to clear up; then the kernel ends the daemon, and ranks with it.
constexpr unsigned clear_up_seconds = 10;

/// A link that changes state usually does so several times.
constexpr std::chrono::milliseconds interfaces_are_quiet{200};
/// tributary-run names a node that is silent for four seconds.
constexpr std::chrono::seconds alive_interval{1};

/// A TCP port that nothing listens on here, for rank 0's rendezvous; 0: none was found.
std::uint32_t free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  const net::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  return socket && ::bind(socket.get(), generic, size) == 0 &&
                 ::getsockname(socket.get(), generic, &size) == 0
             ? ntohs(address.sin_port)
             : 0;
}

messages::Hello hello_from(const DaemonSettings& settings) {
  messages::Hello hello;
  hello.set_protocol(messages::launch_protocol);
  hello.set_version(service::program_version);
  hello.set_node(settings.name);
  hello.set_secret(settings.secret);
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) == 0) {
    hello.set_host(host.c_str());
  }
  hello.set_free_port(free_port());
  *hello.mutable_machine() = inventory::machine();
  for (messages::Interface& interface : inventory::interfaces()) {
    *hello.add_interfaces() = std::move(interface);
  }
  return hello;
}

/// In the form that ranks' hosts read; "" where the manager gave none. Throws std::invalid_argument
/// for one that this version cannot carry out.
std::string rdma_policy_of(const messages::Job& job) {
  for (const messages::Value& value : job.allocation()) {
    if (value.use() == messages::Value::LOCAL_RESOURCE && value.name() == "fm.rdma.policy") {
      try {
        if (!value.has_text()) {
          throw std::invalid_argument("it is not text");
        }
        return rdma_policy::text_of(rdma_policy::policy_from(value.text()));
      } catch (const std::invalid_argument& wrong) {
        throw std::invalid_argument(fmt::format(
            "the fabric manager's RDMA policy for this job (fm.rdma.policy): {}; change it with "
            "tributaryctl rdma set policy, or install the same version as the manager's",
            wrong.what()));
      }
    }
  }
  return {};
}

std::string new_directory() {
  const char* const chosen = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/tributary-run.XXXXXX",
                                 chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen);
  if (::mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error(fmt::format("no directory can be made as {}: {}; TMPDIR says where",
                                         path, std::strerror(errno)));
  }
  return path;
}

} // namespace

Daemon::Daemon(asio::io_context& io, net::FramedStream::Socket channel, DaemonSettings settings)
    : io_(io), channel_(std::move(channel), {.other_end = "tributary-run"}),
      settings_(std::move(settings)), children_(io, SIGCHLD), interfaces_(io), quiet_(io),
      announcements_(io), alive_(io) {}

Daemon::~Daemon() = default;

asio::awaitable<void> Daemon::run() {
  watch_interfaces(); // first, so that no later change is missed
  hello_ = hello_from(settings_);
  announce_again(); // before the manager is asked where this node is
  messages::FromNode greeting;
  *greeting.mutable_hello() = hello_;
  channel_.send(greeting);
  say_alive();
  asio::co_spawn(io_, reap(), asio::detached);
  const std::string why = co_await channel_.run(*this);
  clear_up();
  children_.cancel();
  io_.stop();
}

void Daemon::watch_interfaces() {
  if (!interfaces_.is_open()) {
    const int descriptor = inventory::watch_interfaces();
    if (descriptor < 0) {
      return; // the job runs without them
    }
    interfaces_.assign(descriptor);
  }
  interfaces_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) {
      return;
    }
    inventory::clear_watch(interfaces_.native_handle());
    quiet_.expires_after(interfaces_are_quiet);
    quiet_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) {
        look_again();
      }
    });
    watch_interfaces();
  });
}

void Daemon::announce_again() {
  look_at_agent();
  announce(hello_, announced_by_agent_);
  announcements_.expires_after(announcement_interval);
  announcements_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      announce_again();
    }
  });
}

void Daemon::say_alive() {
  alive_.expires_after(alive_interval);
  alive_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && !channel_.has_ended()) {
      messages::FromNode message;
      message.mutable_alive();
      channel_.send(message);
      say_alive();
    }
  });
}

void Daemon::look_again() {
  messages::Hello now = hello_;
  now.clear_interfaces();
  for (messages::Interface& interface : inventory::interfaces()) {
    *now.add_interfaces() = std::move(interface);
  }
  if (now.SerializeAsString() == hello_.SerializeAsString() || channel_.has_ended()) {
    return;
  }
  hello_ = std::move(now);
  messages::FromNode message;
  *message.mutable_changed() = hello_;
  channel_.send(message);
}

void Daemon::clear_up() {
  if (std::exchange(cleared_up_, true)) {
    return;
  }
  // From here on nothing waits for another process: at the latest the alarm ends it.
  ::alarm(clear_up_seconds);
  kill_everything();
  for (auto& [number, answer] : modexes_) {
    answer(messages::lost_connection, {});
  }
  for (auto& [number, answer] : fences_) {
    answer(messages::lost_connection, {}, 0);
  }
  if (agent_job_) {
    agent_job_->end();
  }
  server_.reset();
  if (!directory_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
}

std::string Daemon::arrived(net::FrameReader& frames) {
  return net::take_messages<messages::ToNode>(frames, [this](const messages::ToNode& message) {
    obey(message);
    return !channel_.has_ended();
  });
}

void Daemon::obey(const messages::ToNode& message) {
  using Kind = messages::ToNode::KindCase;
  switch (message.kind_case()) {
  case Kind::kJob: return set_up(message.job());
  case Kind::kStart: return start();
  case Kind::kFenceDone: return fence_done(message.fence_done());
  case Kind::kModexRequest:
    return find(message.modex_request().number(), message.modex_request().rank());
  case Kind::kModexAnswer:
    if (auto found = modexes_.extract(message.modex_answer().number())) {
      found.mapped()(message.modex_answer().status(), message.modex_answer().data());
    }
    return;
  case Kind::kNotice:
    if (server_) {
      server_->notify(message.notice());
    }
    return;
  case Kind::kQueryAnswer:
    if (auto found = queries_.extract(message.query_answer().number())) {
      found.mapped()(message.query_answer().status(), {message.query_answer().values().begin(),
                                                       message.query_answer().values().end()});
    }
    return;
  case Kind::kInput: return input_came(message.input().data());
  case Kind::kOutputTaken:
    output_open_ -= std::min(output_open_, message.output_taken());
    return resume_reading();
  case Kind::kSignal: return signal(message.signal().number());
  case Kind::kFinish:
    clear_up(); // before the channel ends, so that its end shows that this is done
    return channel_.end("finished");
  case Kind::KIND_NOT_SET: return;
  }
}

std::string Daemon::local_resource_problem() const {
  const messages::Node& own = job_.nodes(static_cast<int>(job_.own_node()));
  if (own.interface().empty()) {
    return {};
  }
  if (std::string error = link::interface_error(own.interface()); !error.empty()) {
    return fmt::format("its fabric interface {}: {}", own.interface(), error);
  }
  const std::string address = fmt::format(
      "{:02x}", fmt::join(link::interface_facts(own.interface(), "setting up").address, ":"));
  // The switch's source guard drops frames with any other source address.
  return address == own.fabric_address()
             ? std::string()
             : fmt::format("its fabric interface {} has the address {}, and the fabric manager "
                           "knows it by {}",
                           own.interface(), address, own.fabric_address());
}

void Daemon::set_up(const messages::Job& job) {
  messages::FromNode message;
  messages::Ready& ready = *message.mutable_ready();
  if (server_ || job.own_node() >= static_cast<std::uint32_t>(job.nodes_size()) ||
      job.command().empty()) {
    return channel_.end("it sent an invalid job");
  }
  job_ = job;
  const messages::Node& own = job_.nodes(static_cast<int>(job_.own_node()));
  try {
    if (!link::interface_state("lo").up) {
      throw std::runtime_error(fmt::format(
          "its loopback interface is down, where ranks reach their PMIx server; ip -n {} link set "
          "lo up",
          own.name()));
    }
    if (std::string problem = local_resource_problem(); !problem.empty()) {
      throw std::runtime_error(problem);
    }
    rdma_policy_ = rdma_policy_of(job_);
    declare_to_agent();
    directory_ = new_directory();
    server_ = std::make_unique<pmix::Server>(
        pmix::ServerSettings{own.name(), job_.own_node(), directory_},
        static_cast<pmix::Upcalls&>(*this));
    server_->register_job(job_);
    std::vector<std::uint32_t> counts;
    for (const messages::Node& node : job_.nodes()) {
      counts.push_back(static_cast<std::uint32_t>(node.ranks_size()));
    }
    pmi_.emplace(pmi::Pmi1Settings{job_.id(), job_.ranks(), pmi::process_mapping(counts)},
                 std::vector<std::uint32_t>(own.ranks().begin(), own.ranks().end()));
  } catch (const std::exception& error) {
    ready.set_error(error.what());
  }
  ready.set_directory(directory_);
  channel_.send(message);
}

/// Two announcers could give a host two names in turns. The agent is asked when it has come, and
/// has another interface than stand-in nodes on its machine.
void Daemon::look_at_agent() {
  try {
    if (!service::SocketFile::answers(host_client::agent_path())) {
      announced_by_agent_.reset();
    } else if (!announced_by_agent_ && std::chrono::steady_clock::now() >= ask_agent_at_) {
      const auto node = host_client::HostClient(host_client::agent_path(), AgentJob::call_limit)
                            .ask(host_agent::line_of(host_agent::NodeRequest{}));
      announced_by_agent_ = Nid{node.as_object().at("nid").to_number<std::uint32_t>()};
    }
  } catch (const std::exception&) {
    // It is stopped, or there is no valid path to it; waiting for it delays everything else.
    ask_agent_at_ = std::chrono::steady_clock::now() + AgentJob::pause_after_silence;
  }
}

/// A refusal is not an end: ranks that may open the interface themselves do not need the agent.
void Daemon::declare_to_agent() {
  auto request = agent_request_of(job_);
  if (!request || job_.nodes(static_cast<int>(job_.own_node())).interface().empty()) {
    return;
  }
  agent_job_.emplace(io_, std::move(*request));
  if (const std::string refusal = agent_job_->declare(); !refusal.empty()) {
    fmt::print(stderr, "tributary-run: node {}: the host agent refuses the job: {}\n",
               settings_.name, refusal);
  }
}

void Daemon::signal(int number) {
  for (const auto& [rank, process] : ranks_) {
    if (process.pid != 0) {
      ::kill(-process.pid, number);
    }
  }
}

void Daemon::kill_everything() {
  for (const auto& [rank, process] : ranks_) {
    if (process.pid != 0) {
      ::kill(-process.pid, SIGKILL);
    }
  }
  descendants::kill_descendants();
}

int run_daemon(const DaemonSettings& settings) {
  keep();
  // Orphans of ranks become children of this process, which kills them in the end.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGPIPE, SIG_IGN);
  // tributary-run passes on a terminal's interrupts.
  for (const int number : {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU, SIGTTIN}) {
    ::signal(number, SIG_IGN);
  }
  // hwloc would look for X servers on ports of the loopback interface.
  ::setenv("HWLOC_COMPONENTS", "-gl", 0);
  try {
    asio::io_context io(1);
    net::FramedStream::Socket channel(io);
    if (settings.address.empty()) {
      int domain = AF_UNIX;
      socklen_t size = sizeof(domain);
      int own = settings.channel;
      if (::getsockopt(own, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) {
        if (::isatty(own) != 0) {
          fmt::print(stderr, "tributary-run: this is a node daemon; tributary-run starts it\n");
          return 2;
        }
        own = socket_on(own, STDOUT_FILENO);
      }
      channel.assign(asio::generic::stream_protocol(domain, 0), own);
    } else {
      const net::HostPort where = net::parse_host_port(settings.address, net::Purpose::dial);
      asio::ip::tcp::resolver resolver(io);
      asio::ip::tcp::socket dialled(io);
      asio::connect(dialled, resolver.resolve(where.host, fmt::format("{}", where.port)));
      dialled.set_option(asio::ip::tcp::no_delay(true));
      net::limit_silence(dialled.native_handle());
      channel = std::move(dialled);
    }
    Daemon daemon(io, std::move(channel), settings);
    std::exception_ptr failed;
    asio::co_spawn(io, daemon.run(), [&](std::exception_ptr thrown) {
      failed = thrown;
      if (thrown) {
        ::alarm(clear_up_seconds);
      }
      io.stop();
    });
    io.run();
    if (failed) {
      std::rethrow_exception(failed);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tributary-run: node daemon of {}: {}\n", settings.name, error.what());
    descendants::kill_descendants();
    return 1;
  }
}

} // namespace tributary::launch::node
