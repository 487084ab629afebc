#include "launcher/run/controller.hpp"

#include "endpoint/manager/environment.hpp"
#include "launcher/descendants/descendants.hpp"
#include "launcher/job/ending.hpp"
#include "launcher/job/placement.hpp"
#include "launcher/run/answers.hpp"
#include "launcher/run/daemon_channel.hpp"
#include "launcher/run/event_thread.hpp"
#include "launcher/run/fabric_thread.hpp"
#include "launcher/run/offload_library.hpp"
#include "launcher/run/output_writer.hpp"
#include "launcher/run/report.hpp"
#include "launcher/run/standard_input.hpp"
#include "launcher/start/starter.hpp"
#include "net/as_result.hpp"
#include "net/steady_clock.hpp"
#include "net/tcp_listener.hpp"
#include "service/version.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tributary::launch::run {

namespace asio = boost::asio;
using control::NodeIndex;

namespace {

/// After a channel has ended, its daemon is about to.
constexpr std::chrono::milliseconds end_wait{500};
constexpr std::chrono::milliseconds end_look{5};
constexpr std::chrono::seconds srun_wait{5};

std::string random_hex(std::size_t bytes) {
  std::random_device device;
  std::string text;
  for (std::size_t at = 0; at < bytes; at += 4) {
    text += fmt::format("{:08x}", device());
  }
  return text;
}

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) {
    return "localhost";
  }
  return name.c_str();
}

messages::Job job_of(const Options& options) {
  std::vector<job::NodeSlots> nodes = options.nodes;
  if (options.reach == Reach::here) {
    nodes = {{host_name(), options.per_node.value_or(options.ranks.value_or(1))}};
  }
  messages::Job made;
  made.set_id(fmt::format("tributary-run-{}-{}", ::getpid(), random_hex(4)));
  for (const job::PlacedNode& placed : job::place(nodes, {options.ranks, options.per_node})) {
    messages::Node& node = *made.add_nodes();
    node.set_name(placed.name);
    for (std::uint32_t rank = 0; rank < placed.ranks; ++rank) {
      node.add_ranks(placed.first_rank + rank);
    }
    made.set_ranks(placed.first_rank + placed.ranks);
  }
  made.mutable_command()->Add(options.command.begin(), options.command.end());
  made.set_directory(options.directory);
  for (const auto& [name, value] : options.variables) {
    messages::Variable& variable = *made.add_variables();
    variable.set_name(name);
    variable.set_value(value);
  }
  return made;
}

class Controller {
public:
  explicit Controller(const Options& options)
      : options_(options), spared_(descendants::children()),
        secret_(options.reach == Reach::slurm ? random_hex(32) : ""),
        launch_(job_of(options),
                {.grace = options.grace,
                 .start_limit = options.start_limit,
                 .version = service::program_version,
                 .secret = secret_},
                net::steady_now()),
        channels_(static_cast<std::size_t>(launch_.job().nodes_size())), pids_(channels_.size()),
        signals_(io_), children_(io_, SIGCHLD), timer_(io_), input_(io_, [this](std::string data) {
          launch_.input(std::move(data));
          pump();
        }) {}

  int run() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::signal(SIGPIPE, SIG_IGN);
    output_ = std::make_unique<OutputWriter>(
        options_.tag_output,
        [this](NodeIndex node, std::uint64_t bytes) {
          asio::post(io_, [this, node, bytes] {
            launch_.output_written(node, bytes);
            pump();
          });
        },
        [this] {
          asio::post(io_, [this] {
            launch_.signalled(SIGTERM, net::steady_now());
            pump();
          });
        });
    add_signals();
    take_signals();
    asio::co_spawn(io_, collect(), asio::detached);
    start_daemons();
    pump();
    io_.run();
    input_.stop();
    output_.reset();
    descendants::kill_descendants(spared_);
    // Nothing is left to be ended in order: an interrupt now ends this process.
    signals_.clear();
    events_.reset();
    fabric_.reset();
    tell_about_it();
    return launch_.exit_code();
  }

private:
  /// Those that whoever started this has not asked it to ignore, as nohup does, and shells for what
  /// runs in the background.
  void add_signals() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      struct sigaction now {};
      ::sigaction(number, nullptr, &now);
      if (now.sa_handler != SIG_IGN) {
        signals_.add(number);
      }
    }
  }

  void take_signals() {
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
      if (!error) {
        launch_.signalled(number, net::steady_now());
        take_signals();
        pump();
      }
    });
  }

  // Daemons.

  void start_daemons() {
    if (options_.reach == Reach::slurm) {
      return start_with_srun();
    }
    for (NodeIndex node = 0; node < channels_.size(); ++node) {
      const std::string& name = launch_.job().nodes(static_cast<int>(node)).name();
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
            std::move(socket), [this, node](const messages::FromNode& m) { heard(node, m); });
        asio::co_spawn(io_, serve(node, channels_[node].get()), asio::detached);
      } catch (const std::exception& failed) {
        launch_.lost(node, failed.what(), net::steady_now());
      }
    }
  }

  void start_with_srun() {
    std::vector<std::string> names;
    for (const messages::Node& node : launch_.job().nodes()) {
      names.push_back(node.name());
    }
    try {
      listeners_ = net::listen_on_tcp(io_, net::parse_host_port("0.0.0.0:0", net::Purpose::listen));
      const std::uint16_t port = listeners_.front().local_endpoint().port();
      asio::co_spawn(io_, accept(), asio::detached);
      srun_ = start::start_through_srun(names, options_.remote_program,
                                        fmt::format("{}:{}", host_name(), port), secret_)
                  .pid;
    } catch (const std::exception& failed) {
      launch_.cannot_start(failed.what(), net::steady_now());
    }
  }

  asio::awaitable<void> accept() {
    while (true) {
      auto [error, socket] = co_await listeners_.front().async_accept(net::as_result);
      if (error) {
        co_return;
      }
      boost::system::error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      socket.set_option(asio::socket_base::keep_alive(true), ignored);
      asio::co_spawn(io_, greet(std::move(socket)), asio::detached);
    }
  }

  /// Whoever dials is nobody until it has shown the secret and said which node it is.
  asio::awaitable<void> greet(net::FramedStream::Socket socket) {
    std::optional<NodeIndex> node;
    DaemonChannel channel(std::move(socket), [&](const messages::FromNode& message) {
      if (node) {
        return heard(*node, message);
      }
      const auto& nodes = launch_.job().nodes();
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
      heard(index, message);
    });
    const std::string why = co_await channel.run();
    if (node) {
      dialled_.erase(*node);
      launch_.lost(*node, why, net::steady_now());
      pump();
    }
  }

  asio::awaitable<void> serve(NodeIndex node, DaemonChannel* channel) {
    std::string why = co_await channel->run();
    // How the daemon ended says more than that it did.
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
    remove_directory(node);
    launch_.lost(node, why, net::steady_now());
    pump();
  }

  /// What a daemon on this machine has left that did not end in good order.
  void remove_directory(NodeIndex node) const {
    const std::filesystem::path directory = launch_.directory(node);
    if (options_.reach != Reach::ssh &&
        directory.filename().string().starts_with("tributary-run.")) {
      std::error_code ignored;
      std::filesystem::remove_all(directory, ignored);
    }
  }

  asio::awaitable<void> collect() {
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

  void srun_ended(int status) {
    for (NodeIndex node = 0; node < channels_.size(); ++node) {
      if (!dialled_.contains(node)) {
        launch_.lost(node, fmt::format("srun {}", job::status_text(status)), net::steady_now());
      }
    }
    pump();
  }

  void heard(NodeIndex node, const messages::FromNode& message) {
    if (message.kind_case() == messages::FromNode::kInputTaken) {
      input_.taken(message.input_taken());
    } else {
      launch_.said(node, message, net::steady_now());
    }
    pump();
  }

  DaemonChannel* channel_of(NodeIndex node) {
    const auto dialled = dialled_.find(node);
    return dialled != dialled_.end() ? dialled->second : channels_[node].get();
  }

  // The fabric manager.

  void ask_for_allocation() {
    if (!options_.offload) {
      return launch_.allocated({}, {}, net::steady_now());
    }
    std::vector<fabric::NodeFacts> nodes;
    for (NodeIndex node = 0; node < channels_.size(); ++node) {
      const messages::Hello& hello = launch_.hello(node);
      const messages::Node& own = launch_.job().nodes(static_cast<int>(node));
      nodes.push_back({own.name(), {own.ranks().begin(), own.ranks().end()}, hello});
    }
    try {
      const auto text = [](const std::optional<std::string>& value) {
        return value ? value->c_str() : nullptr;
      };
      fabric::FabricSettings settings;
      settings.manager = manager_client::settings_from(
          {text(options_.manager), text(options_.token), text(options_.certificate_authority)});
      settings.job =
          manager_client::job_from(options_.job.empty() ? nullptr : options_.job.c_str());
      settings.new_job = launch_.job().id();
      settings.interface = options_.interface;
      settings.multicast_limit = options_.multicast_limit;
      manager_ = settings.manager;
      fabric_ = std::make_unique<FabricThread>(io_, std::move(settings));
    } catch (const std::exception& failed) {
      return allocated({}, failed.what());
    }
    fabric_->allocate(std::move(nodes), [this](fabric::Allocation allocation, std::string error) {
      allocated(std::move(allocation), error);
      pump();
    });
  }

  void allocated(fabric::Allocation allocation, const std::string& error) {
    for (const std::string& note : allocation.notes) {
      fmt::print(stderr, "tributary-run: {}\n", note);
    }
    if (error.empty()) {
      offload_ = true;
      follow_events(allocation);
      say_whether_ranks_reach_it(allocation);
      if (const std::string problem = offload(allocation); !problem.empty()) {
        return launch_.cannot_start(problem + " (--require-offload)", net::steady_now());
      }
      return launch_.allocated(std::move(allocation.values), std::move(allocation.nodes),
                               net::steady_now());
    }
    if (options_.require_offload) {
      return launch_.cannot_start(error + " (--require-offload)", net::steady_now());
    }
    fmt::print(stderr,
               "tributary-run: {}; ranks run without reductions in the network (--no-offload does "
               "not ask, --require-offload makes it an error)\n",
               error);
    fabric_.reset();
    launch_.allocated({}, {}, net::steady_now());
  }

  void follow_events(const fabric::Allocation& allocation) {
    relay_ = control::EventRelay(allocation.events_after);
    manager_.token = allocation.token;
    events_ = std::make_unique<EventThread>(
        io_, manager_, allocation.job, allocation.events_after,
        [this](const control::FabricEvent& event) {
          if (const auto notice = relay_.take(event)) {
            launch_.tell(*notice);
            pump();
          }
        },
        [](const std::string& why) {
          fmt::print(stderr, "tributary-run: ranks do not hear of the fabric's events: {}\n", why);
        });
  }

  /// A node has changed: the manager is told, and tells those whom it touches.
  void report(NodeIndex node) {
    if (fabric_) {
      fabric_->report(launch_.job().nodes(static_cast<int>(node)).name(), launch_.hello(node));
    }
  }

  void say_whether_ranks_reach_it(const fabric::Allocation& allocation) const {
    const bool elsewhere = options_.reach == Reach::ssh || options_.reach == Reach::slurm;
    for (const messages::Value& value : allocation.values) {
      if (elsewhere && value.name() == "TRIBUTARY_FABRIC_MANAGER_URL" &&
          value.text().starts_with("unix:")) {
        fmt::print(stderr,
                   "tributary-run: ranks on other machines cannot reach the fabric manager at {}; "
                   "--manager http://HOST:PORT is for all\n",
                   value.text());
      }
    }
  }

  /// MPI programs reduce in the network by a library that is preloaded. Answers why they cannot,
  /// where they must.
  std::string offload(fabric::Allocation& allocation) const {
    OffloadLibrary library = offload_library(options_.command.front());
    if (library.name.empty()) {
      return {};
    }
    if (!allocation.notes.empty()) {
      return options_.require_offload ? allocation.notes.front() : std::string();
    }
    if (!library.preload) {
      return options_.require_offload ? fmt::format("{} is neither beside tributary-run nor in {}",
                                                    library.name, TRIBUTARY_LIBRARY_FOLDER)
                                      : std::string();
    }
    allocation.values.push_back(std::move(*library.preload));
    if (options_.require_offload) {
      messages::Value& require = allocation.values.emplace_back();
      require.set_name("TRIBUTARY_MPI_REQUIRE");
      require.set_use(messages::Value::ENVIRONMENT);
      require.set_text("1");
    }
    return {};
  }

  void answer(const control::Question& question) {
    if (question.query.key() == "fm.events") {
      launch_.answer(question.node, relay_.answer(question.query));
      if (relay_.take_wish_changed() && events_) {
        events_->want(relay_.environment());
      }
      return;
    }
    messages::QueryAnswer now = answer_here(question.query, launch_, net::steady_now());
    if (now.status() != ask_the_manager) {
      return launch_.answer(question.node, std::move(now));
    }
    if (!fabric_) {
      return launch_.answer(question.node, no_manager(question.query.number()));
    }
    fabric_->request(
        request_in(question.query),
        [this, node = question.node, number = question.query.number()](const fabric::Reply& reply) {
          launch_.answer(node, answer_of(number, reply));
          pump();
        });
  }

  // What has to be done after whatever happened.

  void pump() {
    if (pumping_) {
      return; // the loop below goes round again
    }
    pumping_ = true;
    bool more = true;
    while (more) {
      more = false;
      for (const std::string& line : launch_.take_errors()) {
        fmt::print(stderr, "tributary-run: {}\n", line);
      }
      for (control::Order& order : launch_.take_orders()) {
        obey(order);
        more = true;
      }
      for (control::Chunk& chunk : launch_.take_output()) {
        output_->write(std::move(chunk));
      }
      for (const control::Question& question : launch_.take_questions()) {
        answer(question);
        more = true;
      }
      for (const NodeIndex node : launch_.take_changed()) {
        report(node);
      }
      if (launch_.greeted() && !asked_) {
        asked_ = true;
        ask_for_allocation();
        more = true;
      }
    }
    log_steps();
    if (launch_.wants_input()) {
      input_.begin();
    }
    pumping_ = false;
    if (launch_.over()) {
      return end();
    }
    set_timer();
  }

  /// srun tells Slurm of the end of its step; killed, it would leave the node busy for a while.
  void end() {
    if (srun_ == 0) {
      return io_.stop();
    }
    if (!std::exchange(waits_for_srun_, true)) {
      timer_.expires_after(srun_wait);
      timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error) {
          io_.stop();
        }
      });
    }
  }

  void obey(const control::Order& order) {
    DaemonChannel* const channel = channel_of(order.node);
    if (!order.give_up) {
      if (channel != nullptr) {
        channel->send(order.message);
      }
      return;
    }
    if (pids_[order.node] > 0) {
      ::kill(pids_[order.node], SIGKILL);
    } else if (srun_ > 0) {
      ::kill(srun_, SIGKILL);
    }
    if (channel != nullptr) {
      channel->end("given up");
    } else {
      launch_.lost(order.node, "given up", net::steady_now());
    }
  }

  void set_timer() {
    const TimeNs deadline = launch_.deadline();
    if (deadline == never) {
      timer_.cancel();
      return;
    }
    timer_.expires_at(net::time_point_of(deadline));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) {
        launch_.time_is(net::steady_now());
        pump();
      }
    });
  }

  void log_steps() {
    const std::vector<control::Step>& steps = launch_.steps();
    for (; options_.verbose && logged_ < steps.size(); ++logged_) {
      fmt::print(stderr, "tributary-run: {}\n", step_text(steps[logged_], steps.front().at));
    }
  }

  void tell_about_it() const {
    if (options_.timing) {
      fmt::print(stderr, "{}", timing_text(launch_));
    }
    if (!options_.report.empty()) {
      write_report(options_.report, launch_, offload_);
    }
  }

  const Options& options_;
  std::set<pid_t> spared_; ///< children that were there before
  std::string secret_;
  asio::io_context io_{1};
  control::Launch launch_;
  std::vector<std::unique_ptr<DaemonChannel>> channels_;
  std::map<NodeIndex, DaemonChannel*> dialled_; ///< with srun
  std::vector<pid_t> pids_;                     ///< 0 with srun
  std::map<pid_t, int> ends_;
  pid_t srun_ = 0;
  bool waits_for_srun_ = false;
  std::vector<asio::ip::tcp::acceptor> listeners_;
  asio::signal_set signals_;
  asio::signal_set children_;
  asio::steady_timer timer_;
  StandardInput input_;
  std::unique_ptr<OutputWriter> output_;
  std::unique_ptr<FabricThread> fabric_;
  manager_client::ClientSettings manager_; ///< with the job's token, once there is one
  control::EventRelay relay_;
  std::unique_ptr<EventThread> events_;
  bool asked_ = false;
  bool offload_ = false;
  bool pumping_ = false;
  std::size_t logged_ = 0;
};

} // namespace

int run_job(const Options& options) {
  Controller controller(options);
  return controller.run();
}

} // namespace tributary::launch::run
