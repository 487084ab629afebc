#include "endpoint/hostd/host_process.hpp"

#include "endpoint/agent/messages.hpp"
#include "endpoint/hostd/fabric_socket.hpp"
#include "lib/link/link_error.hpp"
#include "lib/net/as_result.hpp"
#include "lib/net/steady_clock.hpp"
#include "lib/net/stop_signal.hpp"
#include "lib/service/descriptor_limit.hpp"
#include "lib/service/log.hpp"
#include "lib/service/notify.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <stdexcept>
#include <utility>
#include <variant>

namespace tributary::hostd {

namespace asio = boost::asio;
namespace json = boost::json;

using host_agent::AgentError;
using host_agent::Allowance;
using host_agent::Job;
using host_agent::Mark;
using host_agent::Peer;
using host_agent::Reason;
using host_agent::Registry;
using net::as_result;

namespace {

constexpr std::chrono::seconds socket_look_interval{10};
constexpr std::uint64_t user_count_interval_ns = ns_per_second;

Mark prefix_of(const Config& config) {
  return host_agent::Marks(config.agent.mark_prefix, 0).prefix();
}

Guardian::Settings guardian_settings(const Config& config) {
  return {.interface = config.agent.interface,
          .ethertype = config.agent.ethertype,
          .nid = config.agent.nid,
          .prefix = prefix_of(config)};
}

Allowance allowance_of(const Job& job) { return {.mark = job.mark, .vni = job.vni}; }

json::object json_of(const host_agent::GuardCounts& counts) {
  json::object out;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out[name_of(static_cast<host_agent::GuardCounter>(i))] = {{"packets", counts[i].packets},
                                                              {"bytes", counts[i].bytes}};
  }
  return out;
}

json::object json_of(const host_agent::RegistryCounts& counts) {
  json::object refused;
  for (std::size_t i = 0; i < counts.refused.size(); ++i) {
    refused[name_of(static_cast<Reason>(i))] = counts.refused[i];
  }
  return {{"sockets_opened", counts.sockets_opened},
          {"jobs_added", counts.jobs_added},
          {"jobs_ended", counts.jobs_ended},
          {"refused", std::move(refused)}};
}

} // namespace

HostProcess::HostProcess(const Config& config, bool keeps_log_level)
    : config_(config), keeps_log_level_(keeps_log_level),
      signals_(context_, SIGTERM, SIGINT, SIGHUP), deadline_(context_),
      record_(config.agent.record), guardian_(guardian_settings(config), Nft(config.agent.nft)) {
  // One for each connection; and the kernel counts sockets that wait in connections of programs
  // against the same limit, for all users together.
  service::raise_descriptor_limit();
  service::SocketFile::check_free(config.agent.socket);
  // First, so that no change after the first look is missed.
  watch_ = std::make_unique<KernelWatch>(context_, [this] { reconcile(); });
  adopt();
  socket_ =
      std::make_unique<service::SocketFile>(config.agent.socket, service::SocketFile::every_user);
  server_ = std::make_unique<AgentServer>(context_, socket_->release_descriptor(),
                                          static_cast<AgentService&>(*this));
}

HostProcess::~HostProcess() = default;

/// Takes over what the last agent of this node left: its marks may be in use.
void HostProcess::adopt() {
  std::optional<host_agent::Record> record;
  try {
    record = record_.read();
  } catch (const std::runtime_error& error) {
    spdlog::error(
        "the jobs of the time before the restart are lost, and their programs cannot send any "
        "more: {}",
        error.what());
  }
  std::optional<Mark> highest;
  try {
    highest = guardian_.highest_in_force();
  } catch (const NftError& error) {
    spdlog::error("{}", error.what()); // programs that ask for sockets get it, too
  }
  std::uint32_t first = std::random_device{}();
  if (highest) {
    first = highest->value;
  } else if (record) {
    first = record->highest_mark;
  }
  registry_.emplace(registry_settings(config_), first);
  if (record) {
    const auto alive = packet_sockets();
    const auto is_foreign = [&](Mark mark) {
      return (mark.value & host_agent::Marks::prefix_mask) != prefix_of(config_).value;
    };
    for (const host_agent::Socket& socket : record->sockets) {
      if (is_foreign(socket.mark) && alive.contains(socket.inode)) {
        throw std::runtime_error(
            fmt::format("`agent.mark_prefix` was {} when programs got the sockets that they still "
                        "have; set it back, or end them first: the new rules would let them send "
                        "anything",
                        socket.mark.value >> host_agent::Marks::serial_bits));
      }
    }
    std::erase_if(record->jobs, [&](const Job& job) { return is_foreign(job.mark); });
    registry_->adopt(*record, net::steady_now());
    registry_->keep_only(alive);
    for (const auto& [id, job] : registry_->jobs()) {
      guardian_.expect(allowance_of(job));
    }
  }
  expire();
  reconcile();
}

void HostProcess::run() {
  asio::co_spawn(context_, wait_for_signals(), asio::detached);
  asio::co_spawn(context_, send_hellos(), asio::detached);
  asio::co_spawn(context_, look_for_closed_sockets(), asio::detached);
  arm_deadline();
  const std::string text =
      fmt::format("ready: interface {}, {} jobs, {} sockets, asked on {}", config_.agent.interface,
                  registry_->jobs().size(), registry_->socket_count(), config_.agent.socket);
  spdlog::info("{}", text);
  if (!service::notify_service_manager(fmt::format("READY=1\nSTATUS={}", text))) {
    spdlog::warn("the service manager's NOTIFY_SOCKET does not take messages");
  }
  context_.run();
}

void HostProcess::reconcile() {
  if (guardian_.reconcile(registry_->highest_mark())) {
    spdlog::info("the guard's rules are in force: {} marks, {} interfaces",
                 registry_->jobs().size(), guardian_.guarded().others.size() + 1);
  }
  if (guardian_.error().empty()) {
    said_.forget("guard");
  } else if (said_.is_new("guard", guardian_.error())) {
    spdlog::error("no socket can be handed out: {}", guardian_.error());
  }
}

// ---- requests ----

Reply HostProcess::answer(const Peer& peer, Connection connection, std::string_view line) {
  try {
    expire();
    const host_agent::Request request = host_agent::parse_request(line);
    return std::visit([&](const auto& each) { return handle(peer, connection, each); }, request);
  } catch (const AgentError& error) {
    if (error.reason() == Reason::bad_request) {
      registry_->count(error.reason());
    }
    spdlog::debug("process {} of user {} is refused: {}", peer.pid, peer.uid, error.what());
    return {.line = host_agent::refusal(error)};
  } catch (const std::exception& error) {
    registry_->count(Reason::unavailable);
    spdlog::warn("process {} of user {} is refused: {}", peer.pid, peer.uid, error.what());
    return {.line = host_agent::refusal(AgentError(Reason::unavailable, error.what()))};
  }
}

std::string HostProcess::refuse(const std::string& why) {
  registry_->count(Reason::limit);
  return host_agent::refusal(AgentError(Reason::limit, why));
}

Reply HostProcess::handle(const Peer& peer, Connection, const host_agent::OpenRequest& request) {
  if (!guardian_.error().empty()) {
    reconcile();
  }
  if (!guardian_.error().empty()) {
    throw std::runtime_error(guardian_.error());
  }
  const auto wrong = [&](const std::string& message) {
    return AgentError(Reason::bad_request, message);
  };
  if (!request.interface.empty() && request.interface != config_.agent.interface) {
    throw wrong(fmt::format("the fabric's interface on this node is '{}', not '{}'; name that one",
                            config_.agent.interface, request.interface));
  }
  if (request.ethertype.value_or(config_.agent.ethertype) != config_.agent.ethertype) {
    throw wrong(fmt::format("the fabric's EtherType on this node is {:#06x}, not {:#06x}; leave it "
                            "out, or give that one",
                            config_.agent.ethertype, *request.ethertype));
  }
  const Job& job = registry_->choose(peer, request, net::steady_now());
  if (registry_->is_at_socket_limit(peer) || !registry_->has_end_point() ||
      registry_->overhearing(job) != nullptr) {
    forget_closed_sockets();
  }
  if (const host_agent::Socket* const by = registry_->overhearing(job)) {
    registry_->count(Reason::unavailable);
    throw registry_->overheard_error(job, *by);
  }
  if (registry_->is_at_socket_limit(peer)) {
    registry_->count(Reason::limit);
    throw registry_->socket_limit_error(peer);
  }
  const std::size_t most = std::size_t{config_.limits.receive_buffer_mib} << 20U;
  const std::size_t wanted = request.receive_buffer_bytes.value_or(most);
  const std::uint16_t end_point = wanted > 0 ? registry_->new_end_point() : std::uint16_t{0};
  FabricSocket socket =
      open_fabric_socket(config_.agent.interface, {.ethertype = config_.agent.ethertype,
                                                   .vni = job.vni,
                                                   .mark = job.mark,
                                                   .end_point = end_point,
                                                   .receive_buffer_bytes = std::min(wanted, most)});
  if (socket.interface.address != guardian_.guarded().address) {
    reconcile(); // the address was changed a moment ago
  }
  registry_->opened({.inode = socket.inode,
                     .uid = peer.uid,
                     .mark = job.mark,
                     .vni = job.vni,
                     .end_point = end_point});
  store();
  spdlog::debug("process {} of user {} has a socket of job \"{}\"", peer.pid, peer.uid, job.id);
  const host_agent::Opened opened{.job = job.id,
                                  .vni = job.vni,
                                  .mark = job.mark,
                                  .nid = guardian_.guarded().nid,
                                  .end_point = end_point,
                                  .host = host_name(),
                                  .interface = config_.agent.interface,
                                  .ethertype = config_.agent.ethertype,
                                  .address = socket.interface.address,
                                  .mtu = socket.interface.mtu,
                                  .manager = job.manager};
  Reply reply{.line = host_agent::acceptance(host_agent::json_of(opened))};
  reply.descriptors.push_back(std::move(socket.descriptor));
  return reply;
}

Reply HostProcess::handle(const Peer& peer, Connection connection,
                          const host_agent::AddJobRequest& request) {
  const Registry::Added added = registry_->add(peer, request, net::steady_now());
  const auto accepted = [&] {
    return Reply{.line = host_agent::acceptance(
                     {{"job", added.job.id}, {"vni", added.job.vni.value}, {"new", added.is_new}})};
  };
  if (added.is_unchanged) {
    return accepted();
  }
  end(added.displaced, "an administrator declared another one in its place");
  if (added.is_new) {
    try {
      guardian_.allow(allowance_of(added.job), registry_->highest_mark());
    } catch (const NftError&) {
      guardian_.expect(allowance_of(added.job));
      reconcile();
    }
  }
  if (added.job.is_attached) {
    attached_[added.job.id].insert(connection);
  } else {
    attached_.erase(added.job.id);
  }
  store();
  arm_deadline();
  spdlog::info("job \"{}\" of user {} with VNI {} {} by user {}", added.job.id, added.job.uid,
               added.job.vni.value, added.is_new ? "is declared" : "is updated", peer.uid);
  return accepted();
}

Reply HostProcess::handle(const Peer& peer, Connection, const host_agent::EndJobRequest& request) {
  end({registry_->end(peer, request, net::steady_now())},
      fmt::format("user {} ended it", peer.uid));
  return {.line = host_agent::acceptance({{"job", request.job}})};
}

Reply HostProcess::handle(const Peer& peer, Connection, const host_agent::ShowRequest&) {
  forget_closed_sockets();
  const bool sees_all = registry_->is_administrator(peer);
  json::array jobs;
  for (const auto& [id, job] : registry_->jobs()) {
    if (sees_all || job.uid == peer.uid) {
      jobs.push_back(host_agent::json_of(job, registry_->sockets_of(job.mark), net::steady_now()));
    }
  }
  json::object result = node();
  result["jobs"] = std::move(jobs);
  if (sees_all) {
    result["counts"] = json_of(registry_->counts());
    result["sockets"] = registry_->socket_count();
  }
  // To read them a program runs, which users must not have run all the time.
  const TimeNs now = net::steady_now();
  const bool is_due = sees_all || elapsed_ns(now, counted_) >= user_count_interval_ns;
  counted_ = is_due ? now : counted_;
  result["guard"] = json_of(is_due ? guardian_.counts() : guardian_.last_counts());
  return {.line = host_agent::acceptance(result)};
}

Reply HostProcess::handle(const Peer&, Connection, const host_agent::NodeRequest&) {
  return {.line = host_agent::acceptance(node())};
}

json::object HostProcess::node() const {
  return {{"interface", config_.agent.interface},
          {"ethertype", config_.agent.ethertype},
          {"nid", guardian_.guarded().nid.value},
          {"host", host_name()},
          {"error", guardian_.error()}};
}

// ---- the life of jobs ----

void HostProcess::end(const std::vector<Job>& jobs, std::string_view why) {
  if (jobs.empty()) {
    return;
  }
  std::vector<Allowance> over;
  for (const Job& job : jobs) {
    over.push_back(allowance_of(job));
    attached_.erase(job.id);
  }
  guardian_.forbid(over, registry_->highest_mark());
  store();
  for (const Job& job : jobs) {
    spdlog::info("job \"{}\" of user {} has ended: {}", job.id, job.uid, why);
  }
}

void HostProcess::expire() { end(registry_->expire(net::steady_now()), "its time is over"); }

bool HostProcess::keeps(Connection connection) const {
  return std::ranges::any_of(attached_,
                             [&](const auto& each) { return each.second.contains(connection); });
}

void HostProcess::closed(Connection connection) {
  for (auto each = attached_.begin(); each != attached_.end();) {
    const auto next = std::next(each);
    if (each->second.erase(connection) != 0 && each->second.empty()) {
      registry_->detach(each->first, net::steady_now());
      attached_.erase(each);
    }
    each = next;
  }
  arm_deadline();
}

void HostProcess::forget_closed_sockets() {
  try {
    registry_->keep_only(packet_sockets());
  } catch (const std::runtime_error& error) {
    spdlog::warn("{}", error.what());
  }
}

void HostProcess::store() {
  try {
    record_.write(registry_->record());
    said_.forget("record");
  } catch (const std::runtime_error& error) {
    if (said_.is_new("record", error.what())) {
      spdlog::error("a restart would lose jobs: {}", error.what());
    }
  }
}

void HostProcess::arm_deadline() {
  const TimeNs next = registry_->next_deadline();
  if (next == never) {
    deadline_.cancel();
    return;
  }
  deadline_.expires_after(std::chrono::nanoseconds(elapsed_ns(next, net::steady_now())));
  deadline_.async_wait([this](boost::system::error_code error) {
    if (!error) {
      expire();
      arm_deadline();
    }
  });
}

asio::awaitable<void> HostProcess::look_for_closed_sockets() {
  asio::steady_timer timer(context_);
  for (;;) {
    timer.expires_after(socket_look_interval);
    const auto [error] = co_await timer.async_wait(as_result);
    if (error) {
      co_return;
    }
    const std::size_t known = registry_->socket_count();
    forget_closed_sockets();
    if (registry_->socket_count() != known) {
      store();
    }
  }
}

// ---- the host on the fabric ----

std::string HostProcess::host_name() const {
  return library::hello_name(config_.agent.name.empty() ? library::machine_name()
                                                        : config_.agent.name);
}

asio::awaitable<void> HostProcess::send_hellos() {
  asio::steady_timer timer(context_);
  for (;;) {
    std::string problem;
    try {
      const host_agent::Guarded& guarded = guardian_.guarded();
      if (guarded.interface.empty()) {
        hello_sender_.reset();
      } else if (hello_sender_ == nullptr) {
        hello_sender_ = std::make_unique<library::HelloSender>(guarded.interface, guarded.ethertype,
                                                               guarded.nid, host_name());
      }
      problem = hello_sender_ == nullptr ? std::string() : hello_sender_->send_hello();
    } catch (const link::LinkError& error) {
      problem = error.what();
    }
    if (problem.empty()) {
      said_.forget("hello");
    } else {
      hello_sender_.reset(); // the interface may be another one when it comes back
      if (said_.is_new("hello", problem)) {
        spdlog::warn("this host is not announced: {}", problem);
      }
    }
    timer.expires_after(library::HelloSender::interval);
    const auto [error] = co_await timer.async_wait(as_result);
    if (error) {
      co_return;
    }
  }
}

// ---- the process ----

void HostProcess::reload() {
  try {
    const Config wanted = parse_file(config_.file);
    host_agent::Settings settings = registry_settings(wanted);
    for (const std::string& difference : take_over(config_, wanted)) {
      spdlog::warn("SIGHUP: not changed before a restart: {}", difference);
    }
    registry_->reconfigure(std::move(settings));
    if (!keeps_log_level_) {
      service::set_log_level(config_.agent.log_level);
    }
    spdlog::info("SIGHUP: {} is read again", config_.file);
  } catch (const std::exception& error) {
    spdlog::error("SIGHUP: nothing is changed: {}", error.what());
  }
}

asio::awaitable<void> HostProcess::wait_for_signals() {
  const std::string_view signal = co_await net::stop_signal(signals_, [this] { reload(); });
  if (signal.empty()) {
    co_return;
  }
  spdlog::info("signal {}: stopping; the guard's rules stay in force, and programs keep their "
               "sockets",
               signal);
  static_cast<void>(service::notify_service_manager("STOPPING=1"));
  store();
  server_->stop();
  context_.stop();
}

} // namespace tributary::hostd
