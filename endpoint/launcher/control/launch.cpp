#include "endpoint/launcher/control/launch.hpp"

#include "endpoint/launcher/job/rank_end.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tributary::launch::control {

namespace {

// Linux signal numbers: a pure room does not include signal.h.
constexpr int hangup = 1;
constexpr int interrupt = 2;
constexpr int quit = 3;
constexpr int kill = 9;
constexpr int terminate = 15;

constexpr std::chrono::milliseconds look_interval{500};

TimeNs after(TimeNs now, std::chrono::milliseconds span) {
  return now + static_cast<std::uint64_t>(span.count()) * ns_per_ms;
}

/// "rank 3", "ranks 0, 1, 2 and 13 more"
std::string list_of(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t most = 8;
  const std::size_t named = std::min(ranks.size(), most);
  std::string text = fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                                 fmt::join(std::span(ranks).first(named), ", "));
  return ranks.size() > named ? fmt::format("{} and {} more", text, ranks.size() - named) : text;
}

} // namespace

Launch::Launch(messages::Job job, LaunchSettings settings, TimeNs now)
    : job_(std::move(job)), settings_(std::move(settings)), node_of_(job_.ranks()),
      nodes_(static_cast<std::size_t>(job_.nodes_size())), gatherings_({}, {}),
      start_by_(after(now, settings_.start_limit)) {
  for (int node = 0; node < job_.nodes_size(); ++node) {
    for (const std::uint32_t rank : job_.nodes(node).ranks()) {
      node_of_.at(rank) = static_cast<NodeIndex>(node);
      nodes_[static_cast<std::size_t>(node)].to_come.insert(rank);
    }
  }
  gatherings_ = Gatherings(node_of_, {});
  step(0, "begun", now);
}

void Launch::step(int phase, std::string what, TimeNs now) {
  steps_.push_back({phase, std::move(what), now});
}

void Launch::mark(const std::string& what, TimeNs now) {
  constexpr std::size_t most = 256;
  const bool known = std::any_of(steps_.begin(), steps_.end(),
                                 [&](const Step& step) { return step.what == what; });
  if (!known && steps_.size() < most) {
    step(4, what, now);
  }
}

void Launch::to(NodeIndex node, messages::ToNode message) {
  if (reachable(node)) {
    orders_.push_back({node, std::move(message)});
  }
}

bool Launch::has(NodeIndex node, std::uint32_t rank) const {
  return rank < node_of_.size() && node_of_[rank] == node;
}

bool Launch::reachable(NodeIndex node) const {
  return nodes_[node].state != NodeState::gone && nodes_[node].state != NodeState::starting;
}

bool Launch::greeted() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.state != NodeState::starting; });
}

bool Launch::wants_input() const {
  return started_ && end_phase_ == EndPhase::no && running_.contains(0);
}

bool Launch::over() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.state == NodeState::gone; });
}

void Launch::said(NodeIndex node, const messages::FromNode& message, TimeNs now) {
  using Kind = messages::FromNode::KindCase;
  if (nodes_[node].state == NodeState::gone) {
    return;
  }
  if (nodes_[node].state == NodeState::starting && message.kind_case() != Kind::kHello) {
    return begin_end(fmt::format("the daemon of {} does not begin with hello",
                                 job_.nodes(static_cast<int>(node)).name()),
                     1, {}, now);
  }
  heard(node, now);
  switch (message.kind_case()) {
  case Kind::kHello: return greeted_by(node, message.hello(), now);
  case Kind::kReady: return ready_is(node, message.ready(), now);
  case Kind::kStarted: return started(node, message.started(), now);
  case Kind::kConnected:
    connected(node, message.connected().rank());
    begins_again(node, message.connected().rank());
    return count_rank(connected_, message.connected().rank(), "connected", now);
  case Kind::kFinalized:
    return count_rank(finalized_, message.finalized().rank(), "finalized", now);
  case Kind::kEnded: return ended(node, message.ended(), now);
  case Kind::kFence: return fence(node, message.fence(), now);
  case Kind::kModexWanted: return modex_wanted(node, message.modex_wanted(), now);
  case Kind::kModexFound: return modex_found(node, message.modex_found());
  case Kind::kNotice: return notice(node, message.notice());
  case Kind::kQuery: questions_.push_back({node, message.query()}); return;
  case Kind::kOutput:
    output_.push_back(
        {node, message.output().rank(), message.output().errors(), message.output().data()});
    return;
  case Kind::kAbort: return aborted(message.abort(), now);
  case Kind::kChanged:
    nodes_[node].hello = message.changed();
    changed_.insert(node);
    return;
  case Kind::kAlive:
  case Kind::kInputTaken:
  case Kind::KIND_NOT_SET: return;
  }
}

void Launch::greeted_by(NodeIndex node, const messages::Hello& hello, TimeNs now) {
  const std::string& name = job_.nodes(static_cast<int>(node)).name();
  if (hello.protocol() != messages::launch_protocol || hello.version() != settings_.version) {
    return begin_end(
        fmt::format("{} has tributary-run {} (launch protocol {}), and this is {} ({}); install "
                    "the same version on all nodes",
                    name, hello.version(), hello.protocol(), settings_.version,
                    messages::launch_protocol),
        1, {}, now);
  }
  if (hello.secret() != settings_.secret) {
    return begin_end(
        fmt::format("the daemon that says it is {}'s was not started by this tributary-run", name),
        1, {}, now);
  }
  Node& state = nodes_[node];
  if (state.state != NodeState::starting) {
    return;
  }
  state.state = NodeState::greeted;
  state.hello = hello;
  if (greeted() && end_phase_ == EndPhase::no) {
    step(0, "nodes greeted", now);
  }
}

void Launch::allocated(std::vector<messages::Value> values, std::vector<messages::Node> nodes,
                       TimeNs now) {
  if (end_phase_ != EndPhase::no || !greeted()) {
    return;
  }
  for (messages::Value& value : values) {
    *job_.add_allocation() = std::move(value);
  }
  for (std::size_t node = 0; node < nodes.size() && node < nodes_.size(); ++node) {
    messages::Node& own = *job_.mutable_nodes(static_cast<int>(node));
    own.set_fabric_address(nodes[node].fabric_address());
    own.set_interface(nodes[node].interface());
    own.mutable_end_points()->Swap(nodes[node].mutable_end_points());
    own.mutable_values()->Swap(nodes[node].mutable_values());
  }
  set_master();
  allocated_ = true;
  step(2, "allocated", now);
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    messages::ToNode message;
    *message.mutable_job() = job_;
    message.mutable_job()->set_own_node(node);
    to(node, std::move(message));
  }
}

void Launch::set_master() {
  const NodeIndex first = node_of_.front();
  const messages::Hello& hello = nodes_[first].hello;
  const std::string& name = job_.nodes(static_cast<int>(first)).name();
  std::string address = "127.0.0.1";
  if (nodes_.size() > 1) {
    // ssh's user@host is not part of the name.
    address = settings_.nodes_have_names ? name.substr(name.find('@') + 1) : "";
    for (const messages::Interface& each : hello.interfaces()) {
      if (address.empty() && each.up()) {
        address = each.ip();
      }
    }
  }
  if (!address.empty() && hello.free_port() != 0) {
    job_.set_master_address(address);
    job_.set_master_port(hello.free_port());
  }
}

void Launch::cannot_start(const std::string& why, TimeNs now) { begin_end(why, 1, {}, now); }

void Launch::ready_is(NodeIndex node, const messages::Ready& ready, TimeNs now) {
  nodes_[node].directory = ready.directory();
  if (!ready.error().empty()) {
    return begin_end(fmt::format("{} cannot take part: {}",
                                 job_.nodes(static_cast<int>(node)).name(), ready.error()),
                     1, {}, now);
  }
  nodes_[node].state = NodeState::ready;
  if (end_phase_ != EndPhase::no || started_ ||
      !std::all_of(nodes_.begin(), nodes_.end(),
                   [](const Node& each) { return each.state == NodeState::ready; })) {
    return;
  }
  step(3, "nodes ready", now);
  started_ = true;
  start_by_ = never;
  for (NodeIndex each = 0; each < nodes_.size(); ++each) {
    messages::ToNode message;
    message.mutable_start();
    to(each, std::move(message));
  }
}

void Launch::started(NodeIndex node, const messages::Started& started, TimeNs now) {
  Node& state = nodes_[node];
  if (!has(node, started.rank()) || state.to_come.erase(started.rank()) == 0) {
    return;
  }
  if (!started.error().empty()) {
    begin_end(fmt::format("rank {} cannot be started on {}: {}", started.rank(),
                          job_.nodes(static_cast<int>(node)).name(), started.error()),
              127, {started.rank()}, now);
    answer_fences(gatherings_.rank_ended(started.rank()));
    return finish_if_ended(now);
  }
  ++state.alive;
  running_.insert(started.rank());
  if (running_.size() == node_of_.size()) {
    step(4, "ranks started", now);
  }
}

void Launch::count_rank(std::set<std::uint32_t>& seen, std::uint32_t rank, const char* what,
                        TimeNs now) {
  if (rank < node_of_.size() && seen.insert(rank).second && seen.size() == node_of_.size()) {
    step(4, fmt::format("ranks {}", what), now);
  }
}

void Launch::connected(NodeIndex node, std::uint32_t rank) {
  if (mpi_use_ == MpiUse::unseen) {
    mpi_use_ = MpiUse::open;
    errors_.push_back(fmt::format(
        "rank {} on {} has begun MPI, and nothing is reduced in the network: which MPI library {} "
        "uses was not found; --mpi ompi or --mpi mpich names it, --mpi none says that this is "
        "right",
        rank, job_.nodes(static_cast<int>(node)).name(), job_.command(0)));
  }
}

bool Launch::lacks_mpi() const {
  return mpi_use_ == MpiUse::required && end_phase_ == EndPhase::no && running_.empty() &&
         connected_.empty() && std::all_of(nodes_.begin(), nodes_.end(), [](const Node& each) {
           return each.to_come.empty();
         });
}

void Launch::begins_again(NodeIndex node, std::uint32_t rank) {
  const messages::Node& of_job = job_.nodes(static_cast<int>(node));
  if (finalized_.contains(rank) && of_job.ranks_size() > 1 && !std::exchange(warned_, true)) {
    errors_.push_back(fmt::format(
        "rank {} on {} has ended PMIx and begins again, as for an MPI session after the last one; "
        "libpmix loses count of ranks of a node that do this at different times (openpmix 4113), "
        "and the job may hang or crash: keep a session open until the program ends",
        rank, of_job.name()));
  }
}

void Launch::ended(NodeIndex node, const messages::Ended& ended, TimeNs now) {
  if (!has(node, ended.rank()) || running_.erase(ended.rank()) == 0) {
    return;
  }
  --nodes_[node].alive;
  answer_fences(gatherings_.rank_ended(ended.rank()));
  const std::string& name = job_.nodes(static_cast<int>(node)).name();
  const job::RankEnd end{ended.rank(),     name, ended.pid(), ended.status(), ended.connected(),
                         ended.finalized()};
  if (job::failed(end)) {
    const int code = job::exit_code_of(end);
    if (interrupted_ && end_phase_ != EndPhase::no) {
      exit_code_ = exit_code_ == 0 ? code : exit_code_;
    } else {
      begin_end(job::text_of(end), code, {ended.rank()}, now);
    }
  }
  if (lacks_mpi()) {
    begin_end(
        fmt::format("no rank has called MPI_Init of the MPI library that {} was to use, so it "
                    "reduced nothing in the network (--require-offload); --mpi none is for "
                    "programs that use the host library or PyTorch's backend",
                    job_.command(0)),
        1, {}, now);
  }
  finish_if_ended(now);
}

void Launch::aborted(const messages::Abort& abort, TimeNs now) {
  if (abort.rank() >= node_of_.size()) {
    return;
  }
  const bool says_more = !abort.text().empty() && abort.text() != "N/A"; // Open MPI sends "N/A"
  begin_end(fmt::format("rank {} on {} has aborted the job with exit code {}{}{}", abort.rank(),
                        job_.nodes(static_cast<int>(node_of_[abort.rank()])).name(), abort.status(),
                        says_more ? ": " : "", says_more ? abort.text() : ""),
            (abort.status() & 0xFF) == 0 ? 1 : abort.status() & 0xFF, {abort.rank()}, now);
}

void Launch::lost(NodeIndex node, const std::string& why, TimeNs now) {
  Node& state = nodes_[node];
  const NodeState before = std::exchange(state.state, NodeState::gone);
  if (before == NodeState::gone) {
    return;
  }
  std::vector<std::uint32_t> dead;
  for (const std::uint32_t rank : job_.nodes(static_cast<int>(node)).ranks()) {
    // A rank that was ordered to start may run, though its daemon could not report it.
    if (running_.erase(rank) != 0 || (started_ && state.to_come.contains(rank))) {
      dead.push_back(rank);
    }
  }
  state.alive = 0;
  state.to_come.clear();
  if (before != NodeState::finishing) {
    const std::string& name = job_.nodes(static_cast<int>(node)).name();
    begin_end(before == NodeState::starting
                  ? fmt::format("no node daemon on {}: {}", name, why)
                  : fmt::format("the node daemon of {} is lost: {}{}{}", name, why,
                                dead.empty() ? "" : "; with it ",
                                dead.empty() ? "" : list_of(dead)),
              1, dead, now);
  }
  release_waiting(node);
  finish_if_ended(now);
}

void Launch::begin_end(std::string why, int code, const std::vector<std::uint32_t>& dead,
                       TimeNs now) {
  if (end_phase_ != EndPhase::no) {
    exit_code_ = exit_code_ == 0 ? code : exit_code_;
    return;
  }
  end_phase_ = EndPhase::grace;
  exit_code_ = code;
  start_by_ = never;
  step(4, "end begun", now);
  if (running_.empty()) {
    errors_.push_back(std::move(why));
  } else {
    const auto others = std::count_if(running_.begin(), running_.end(), [&](std::uint32_t rank) {
      return std::find(dead.begin(), dead.end(), rank) == dead.end();
    });
    errors_.push_back(others == 0
                          ? std::move(why)
                          : fmt::format("{}; the other {} notified, and ended within {} ms", why,
                                        others == 1 ? std::string("rank is")
                                                    : fmt::format("{} ranks are", others),
                                        settings_.grace.count()));
    messages::Notice notice;
    notice.set_code(messages::proc_aborted);
    for (const std::uint32_t rank : dead) {
      notice.add_affected(rank);
    }
    if (!dead.empty()) {
      notify(notice);
    }
  }
  end_by_ = after(now, settings_.grace);
  finish_if_ended(now);
}

void Launch::notify(const messages::Notice& notice) {
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    messages::ToNode message;
    *message.mutable_notice() = notice;
    to(node, std::move(message));
  }
}

void Launch::signal_all(int signal) {
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    messages::ToNode message;
    message.mutable_signal()->set_number(signal);
    to(node, std::move(message));
  }
}

void Launch::signalled(int signal, TimeNs now) {
  const bool ends =
      signal == interrupt || signal == terminate || signal == hangup || signal == quit;
  if (!ends) {
    return signal_all(signal);
  }
  if (!started_ && end_phase_ == EndPhase::no) {
    interrupted_ = true;
    return begin_end("interrupted before the job was started", 128 + signal, {}, now);
  }
  if (interrupted_) {
    return kill_all(now);
  }
  interrupted_ = true;
  signal_all(signal);
  if (end_phase_ == EndPhase::no) {
    end_phase_ = EndPhase::grace;
    step(4, "interrupted", now);
    end_by_ = after(now, settings_.grace);
  }
}

void Launch::kill_all(TimeNs now) {
  end_phase_ = EndPhase::killed;
  signal_all(kill);
  end_by_ = after(now, settings_.daemon_limit);
}

void Launch::finish_if_ended(TimeNs now) {
  // Waits for ranks that an order may still start, unless the countdown ends them.
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    Node& state = nodes_[node];
    const bool idle = state.alive == 0 && (state.to_come.empty() || !started_);
    const bool job_over = running_.empty() || end_phase_ != EndPhase::no;
    if (!reachable(node) || state.state == NodeState::finishing || !idle || !job_over ||
        (end_phase_ == EndPhase::no && !started_)) {
      continue;
    }
    if (end_phase_ == EndPhase::no &&
        std::any_of(nodes_.begin(), nodes_.end(),
                    [](const Node& each) { return !each.to_come.empty(); })) {
      continue;
    }
    messages::ToNode message;
    message.mutable_finish();
    to(node, std::move(message));
    state.state = NodeState::finishing;
    if (end_phase_ == EndPhase::no || end_by_ == never) {
      end_by_ = after(now, settings_.daemon_limit);
    }
  }
  if (end_phase_ != EndPhase::no) {
    // A daemon that has not yet sent its hello has nothing to clear up.
    for (NodeIndex node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].state == NodeState::starting) {
        orders_.push_back({node, {}, true});
      }
    }
  }
  if (running_.empty() && over()) {
    end_by_ = never;
  }
}

TimeNs Launch::deadline() const {
  return over() ? never : std::min({start_by_, end_by_, look_at_, gatherings_.deadline()});
}

void Launch::heard(NodeIndex node, TimeNs now) {
  Node& state = nodes_[node];
  state.heard = now;
  if (std::exchange(state.is_silent, false)) {
    errors_.push_back(fmt::format("{} is heard again", job_.nodes(static_cast<int>(node)).name()));
  }
  if (settings_.silent_after.count() > 0) {
    look_at_ = std::min(look_at_, after(now, look_interval));
  }
}

void Launch::look_for_silent_nodes(TimeNs now) {
  const TimeNs wanted = std::exchange(look_at_, after(now, look_interval));
  if (now >= after(wanted, look_interval)) {
    return; // this program was not scheduled: messages that arrived meanwhile are processed first
  }
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    Node& state = nodes_[node];
    if (!reachable(node) || state.is_silent || now < after(state.heard, settings_.silent_after)) {
      continue;
    }
    state.is_silent = true;
    const messages::Node& of_job = job_.nodes(static_cast<int>(node));
    errors_.push_back(
        fmt::format("{} with {} has been silent for {:.1f} s; it may be down, or cannot be reached",
                    of_job.name(), list_of({of_job.ranks().begin(), of_job.ranks().end()}),
                    static_cast<double>(elapsed_ns(now, state.heard)) / ns_per_second));
  }
}

void Launch::time_is(TimeNs now) {
  answer_fences(gatherings_.time_is(now));
  if (now >= look_at_) {
    look_for_silent_nodes(now);
  }
  if (now >= start_by_) {
    std::vector<std::string> missing;
    for (NodeIndex node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].state == NodeState::starting ||
          (allocated_ && nodes_[node].state != NodeState::ready)) {
        missing.push_back(job_.nodes(static_cast<int>(node)).name());
      }
    }
    begin_end(missing.empty()
                  ? std::string("the fabric manager has not answered in time")
                  : fmt::format("not ready after {} s: {}", settings_.start_limit.count() / 1000,
                                fmt::join(missing, ", ")),
              1, {}, now);
  }
  if (now < end_by_) {
    return;
  }
  switch (end_phase_) {
  case EndPhase::no: // all ranks have ended on their own, and a daemon does not
  case EndPhase::killed:
    for (NodeIndex node = 0; node < nodes_.size(); ++node) {
      if (nodes_[node].state != NodeState::gone) {
        errors_.push_back(fmt::format("the daemon of {} does not end; it is given up",
                                      job_.nodes(static_cast<int>(node)).name()));
        orders_.push_back({node, {}, true});
      }
    }
    end_by_ = after(now, settings_.daemon_limit);
    return;
  case EndPhase::grace:
    end_phase_ = EndPhase::terminated;
    signal_all(terminate);
    end_by_ = after(now, settings_.kill_after);
    return;
  case EndPhase::terminated: return kill_all(now);
  }
}

} // namespace tributary::launch::control
