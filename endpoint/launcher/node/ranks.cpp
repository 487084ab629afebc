// The daemon's ranks: start, input, output and end.
#include "endpoint/launcher/job/rank_environment.hpp"
#include "endpoint/launcher/node/daemon_process.hpp"
#include "lib/net/as_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tributary::launch::node {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t read_bytes = 64 * 1024;
/// The connection of a rank that has ended is closed before the process is reaped.
constexpr std::chrono::milliseconds library_sees_end{100};
/// A node's output in flight to tributary-run; beyond it ranks wait in write(2).
constexpr std::uint64_t output_window = 1 << 20;

std::uint32_t processors_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0
             ? static_cast<std::uint32_t>(CPU_COUNT(&set))
             : 0;
}

job::Variables own_environment() {
  job::Variables variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals != 0 &&
        !job::is_of_another_launcher(text.substr(0, equals)) &&
        text.substr(0, equals) != "TRIBUTARY_RUN_SECRET") {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

} // namespace

void Daemon::start() {
  if (!server_ || !ranks_.empty()) {
    return;
  }
  const auto& own = job_.nodes(static_cast<int>(job_.own_node())).ranks();
  // Ranks that have begun and wait for the others take processors from those still starting.
  std::vector<std::pair<std::uint32_t, StartingRank>> starting;
  for (const std::uint32_t rank : own) {
    try {
      starting.emplace_back(rank, StartingRank(how_to_start(rank)));
    } catch (const std::exception& error) {
      could_not_start(rank, error.what());
    }
  }
  for (auto& [rank, process] : starting) {
    try {
      started(rank, process.wait());
    } catch (const std::exception& error) {
      could_not_start(rank, error.what());
    }
  }
}

RankStart Daemon::how_to_start(std::uint32_t rank) {
  const messages::Node& own = job_.nodes(static_cast<int>(job_.own_node()));
  job::Variables variables = own_environment();
  for (const auto& [name, value] :
       job::for_open_mpi({static_cast<std::uint32_t>(own.ranks_size()), processors_here()})) {
    job::set_variable(variables, name, value);
  }
  for (const messages::Value& value : job_.allocation()) {
    if (value.use() == messages::Value::ENVIRONMENT) {
      job::set_variable(variables, value.name(), value.text());
    }
  }
  for (const messages::Value& value : own.values()) {
    if (value.use() == messages::Value::ENVIRONMENT) {
      job::set_variable(variables, value.name(), value.text());
    }
  }
  if (!rdma_policy_.empty()) {
    job::set_variable(variables, "TRIBUTARY_RDMA_POLICY", rdma_policy_);
  }
  const auto own_number = std::find(own.ranks().begin(), own.ranks().end(), rank);
  for (const auto& [name, value] :
       job::for_torch({.rank = rank,
       .ranks = job_.ranks(),
       .local_rank = static_cast<std::uint32_t>(own_number - own.ranks().begin()),
       .local_ranks = static_cast<std::uint32_t>(own.ranks_size()),
       .master_address = job_.master_address(),
       .master_port = job_.master_port()})) {
    job::set_variable(variables, name, value);
  }
  // The user's variables are set last, so that they take precedence.
  for (const messages::Variable& variable : job_.variables()) {
    job::set_variable(variables, variable.name(), variable.value());
  }
  job::set_variable(variables, "PMI_RANK", fmt::format("{}", rank));
  job::set_variable(variables, "PMI_SIZE", fmt::format("{}", job_.ranks()));
  for (const std::string& variable : server_->environment(rank)) {
    const std::size_t equals = variable.find('=');
    job::set_variable(variables, variable.substr(0, equals), variable.substr(equals + 1));
  }
  RankStart how;
  how.command.assign(job_.command().begin(), job_.command().end());
  how.directory = job_.directory();
  how.input = rank == 0;
  for (const auto& [name, value] : variables) {
    how.environment.push_back(fmt::format("{}={}", name, value));
  }
  return how;
}

void Daemon::started(std::uint32_t rank, RankProcess process) {
  Rank& state = ranks_[rank];
  state.pid = process.pid;
  state.output = std::make_unique<Stream>(io_, std::move(process.output));
  state.errors = std::make_unique<Stream>(io_, std::move(process.errors));
  state.pmi = std::make_unique<Descriptor>(io_, process.pmi.release());
  if (process.input) {
    state.input = std::make_unique<Descriptor>(io_, process.input.release());
    write_input();
  }
  messages::FromNode message;
  message.mutable_started()->set_rank(rank);
  message.mutable_started()->set_pid(static_cast<std::uint32_t>(process.pid));
  channel_.send(message);
  read_stream(rank, false);
  read_stream(rank, true);
  read_pmi(rank);
}

void Daemon::could_not_start(std::uint32_t rank, const char* why) {
  messages::FromNode message;
  message.mutable_started()->set_rank(rank);
  message.mutable_started()->set_error(why);
  channel_.send(message);
}

asio::awaitable<void> Daemon::reap() {
  while (true) {
    const auto [error, number] = co_await children_.async_wait(net::as_result);
    if (error) {
      co_return;
    }
    reap_all();
  }
}

/// Reaps ranks and their orphans.
void Daemon::reap_all() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(),
                                   [&](const auto& each) { return each.second.pid == pid; });
    if (rank != ranks_.end()) {
      ended(rank->first, status);
    }
  }
}

void Daemon::ended(std::uint32_t rank, int status) {
  Rank& state = ranks_.at(rank);
  // Its output is read first; a process that it left and that still has the pipe is not waited for.
  read_now(rank, *state.output, false, true);
  read_now(rank, *state.errors, true, true);
  messages::FromNode message;
  messages::Ended& end = *message.mutable_ended();
  end.set_rank(rank);
  end.set_pid(static_cast<std::uint32_t>(state.pid));
  end.set_status(status);
  end.set_connected(state.connected);
  end.set_finalized(state.finalized);
  // The group may survive as background processes of a shell: they end with the job.
  ::kill(-state.pid, SIGKILL);
  state.pid = 0;
  state.input.reset();
  state.pmi.reset();
  channel_.send(message);
  if (pmi_->forget(rank)) {
    send_pmi_fence(); // a fence with an ended rank fails
  }
  forget_in_pmix(rank);
}

void Daemon::forget_in_pmix(std::uint32_t rank) {
  server_->fetch(rank, [this, rank](int status, std::string data) {
    asio::post(io_, [this, rank, status, data = std::move(data)]() mutable {
      put_by_ended_[rank] = {status, std::move(data)};
    });
  });
  const auto timer = std::make_shared<asio::steady_timer>(io_, library_sees_end);
  timer->async_wait([this, rank, timer](const error_code& error) {
    if (!error && server_) {
      put_by_ended_.try_emplace(rank, messages::not_found, std::string());
      server_->forget(rank);
    }
  });
}

void Daemon::read_stream(std::uint32_t rank, bool errors) {
  Rank& state = ranks_.at(rank);
  Stream& stream = errors ? *state.errors : *state.output;
  if (stream.ended || stream.waiting || output_open_ > output_window) {
    return;
  }
  stream.waiting = true;
  stream.descriptor.async_wait(Descriptor::wait_read,
                               [this, rank, errors, &stream](const error_code& error) {
                                 stream.waiting = false;
                                 if (!error && !stream.ended) {
                                   read_now(rank, stream, errors, false);
                                   read_stream(rank, errors);
                                 }
                               });
}

void Daemon::read_now(std::uint32_t rank, Stream& stream, bool errors, bool to_the_end) {
  std::array<char, read_bytes> buffer;
  while (!stream.ended) {
    const ssize_t size = ::read(stream.descriptor.native_handle(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0 && errno == EAGAIN && !to_the_end) {
      return;
    }
    messages::FromNode message;
    messages::Output& output = *message.mutable_output();
    output.set_rank(rank);
    output.set_errors(errors);
    if (size > 0) {
      output.set_data(buffer.data(), static_cast<std::size_t>(size));
      output_open_ += static_cast<std::uint64_t>(size);
    } else {
      stream.ended = true;
      error_code ignored;
      stream.descriptor.close(ignored);
    }
    channel_.send(message);
    if (!to_the_end) {
      return;
    }
  }
}

void Daemon::resume_reading() {
  for (const auto& [rank, state] : ranks_) {
    if (state.pid != 0) {
      read_stream(rank, false);
      read_stream(rank, true);
    }
  }
}

void Daemon::input_came(const std::string& data) {
  input_.push_back(data);
  write_input();
}

void Daemon::write_input() {
  const auto first = ranks_.find(0);
  if (first == ranks_.end()) {
    return;
  }
  std::unique_ptr<Descriptor>& input = first->second.input;
  while (!input_.empty() && !input_waits_) {
    std::string& next = input_.front();
    if (next.empty()) {
      input.reset(); // its end
      input_.clear();
      return;
    }
    const ssize_t size = input ? ::write(input->native_handle(), next.data(), next.size()) : -1;
    if (size < 0 && input && errno == EAGAIN) {
      input_waits_ = true;
      input->async_wait(Descriptor::wait_write, [this](const error_code& error) {
        input_waits_ = false;
        if (!error) {
          write_input();
        }
      });
      return;
    }
    // A rank that has closed it, or ended, takes everything.
    const std::size_t taken = size > 0 ? static_cast<std::size_t>(size) : next.size();
    messages::FromNode message;
    message.set_input_taken(taken);
    channel_.send(message);
    next.erase(0, taken);
    if (next.empty()) {
      input_.pop_front();
    }
  }
}

} // namespace tributary::launch::node
