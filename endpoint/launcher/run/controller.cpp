#include "endpoint/launcher/run/controller.hpp"

#include "endpoint/launcher/descendants/descendants.hpp"
#include "endpoint/launcher/job/placement.hpp"
#include "endpoint/launcher/run/daemons.hpp"
#include "endpoint/launcher/run/fabric_side.hpp"
#include "endpoint/launcher/run/host_name.hpp"
#include "endpoint/launcher/run/output_writer.hpp"
#include "endpoint/launcher/run/report.hpp"
#include "endpoint/launcher/run/standard_input.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/service/version.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace tributary::launch::run {

namespace asio = boost::asio;
using control::NodeIndex;

namespace {

constexpr std::chrono::seconds srun_wait{5};

std::string random_hex(std::size_t bytes) {
  std::random_device device;
  std::string text;
  for (std::size_t at = 0; at < bytes; at += 4) {
    text += fmt::format("{:08x}", device());
  }
  return text;
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
                 .secret = secret_,
                 .nodes_have_names = options.reach != Reach::namespaces},
                net::steady_now()),
        daemons_(
            io_, options, launch_.job(), secret_,
            {.heard = [this](NodeIndex node,
                             const messages::FromNode& message) { heard(node, message); },
             .lost = [this](NodeIndex node, const std::string& why) { lost(node, why); },
             .cannot_start =
                 [this](const std::string& why) { launch_.cannot_start(why, net::steady_now()); }}),
        fabric_(io_, options, launch_, [this] { pump(); }), signals_(io_), timer_(io_),
        input_(io_, [this](std::string data) {
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
    daemons_.start();
    pump();
    io_.run();
    input_.stop();
    output_.reset();
    descendants::kill_descendants(spared_);
    // Nothing is left to end in order: an interrupt now ends this process.
    signals_.clear();
    fabric_.end();
    report_it();
    return launch_.exit_code();
  }

private:
  /// Adds the signals that the parent has not set to be ignored, as nohup does, and shells for jobs
  /// in the background.
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

  // Clean-up for every outcome.

  void pump() {
    if (pumping_) {
      return; // the loop below runs again
    }
    pumping_ = true;
    bool more = true;
    while (more) {
      more = false;
      for (const std::string& line : launch_.take_errors()) {
        fmt::print(stderr, "tributary-run: {}\n", line);
      }
      for (control::Order& order : launch_.take_orders()) {
        if (order.give_up) {
          daemons_.give_up(order.node);
        } else {
          daemons_.send(order.node, order.message);
        }
        more = true;
      }
      for (control::Chunk& chunk : launch_.take_output()) {
        output_->write(std::move(chunk));
      }
      for (const control::Question& question : launch_.take_questions()) {
        fabric_.answer(question);
        more = true;
      }
      for (const NodeIndex node : launch_.take_changed()) {
        fabric_.report(node);
      }
      if (launch_.greeted() && !asked_) {
        asked_ = true;
        fabric_.ask_for_allocation();
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

  /// srun reports the end of its step to Slurm; killed, it would leave the node busy for a while.
  void end() {
    if (!daemons_.has_srun()) {
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

  /// Acts only when all daemons that are lost together have been reported, as those of one srun.
  void lost(NodeIndex node, const std::string& why) {
    remove_directory(node);
    launch_.lost(node, why, net::steady_now());
    asio::post(io_, [this] { pump(); });
  }

  /// Removes the files of a daemon on this machine that did not end in good order.
  void remove_directory(NodeIndex node) const {
    const std::filesystem::path directory = launch_.directory(node);
    if ((options_.reach == Reach::here || options_.reach == Reach::namespaces) &&
        directory.filename().string().starts_with("tributary-run.")) {
      std::error_code ignored;
      std::filesystem::remove_all(directory, ignored);
    }
  }

  void heard(NodeIndex node, const messages::FromNode& message) {
    if (message.kind_case() == messages::FromNode::kInputTaken) {
      input_.taken(message.input_taken());
    } else {
      launch_.said(node, message, net::steady_now());
    }
    pump();
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

  void report_it() const {
    if (options_.timing) {
      fmt::print(stderr, "{}", timing_text(launch_));
    }
    if (!options_.report.empty()) {
      write_report(options_.report, launch_, fabric_.has_allocation());
    }
  }

  const Options& options_;
  std::set<pid_t> spared_; ///< children that existed before
  std::string secret_;
  asio::io_context io_{1};
  control::Launch launch_;
  Daemons daemons_;
  FabricSide fabric_;
  bool waits_for_srun_ = false;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  StandardInput input_;
  std::unique_ptr<OutputWriter> output_;
  bool asked_ = false;
  bool pumping_ = false;
  std::size_t logged_ = 0;
};

} // namespace

int run_job(const Options& options) {
  Controller controller(options);
  return controller.run();
}

} // namespace tributary::launch::run
