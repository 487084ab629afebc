#include "endpoint/library/host.hpp"

#include "endpoint/library/hello_sender.hpp"
#include "endpoint/library/open_link.hpp"
#include "endpoint/library/parameters.hpp"
#include "endpoint/library/receive_room.hpp"
#include "endpoint/manager_client/environment.hpp"
#include "lib/net/steady_clock.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

using tributary::Nid;
using tributary::TimeNs;
using tributary::TreeNumber;
using tributary::collective::TreeIndex;
using tributary::library::HelloSender;
using tributary::library::OpenedLink;

namespace wire = tributary::wire;

namespace {

/// Between looks at the agent while a call of a named group waits: nothing else may wake it.
constexpr std::uint64_t news_interval_ns = 250'000'000;

Nid nid_for(const tributary_host_options& options, const OpenedLink& link) {
  const Nid nid = options.nid != TRIBUTARY_NID_FROM_ADDRESS ? Nid{options.nid}
                  : link.by_agent                           ? link.by_agent->nid
                                                            : wire::nid_of(link.port->address());
  if (!wire::is_valid_nid(nid)) {
    throw std::invalid_argument(
        fmt::format("NID {:#x} cannot stand in a frame: it has 20 bits and may not begin with nine "
                    "1 bits; give another one in the options",
                    nid.value));
  }
  return nid;
}

/// Lower values are lengths and Linux's pseudo protocols; 3 would take every frame of the
/// interface.
std::uint16_t checked_ethertype(std::uint16_t ethertype) {
  constexpr std::uint16_t lowest = 0x0600;
  if (ethertype < lowest) {
    throw std::invalid_argument(
        fmt::format("{:#06x} is not an EtherType: they begin at {:#06x}; it must be the one of the "
                    "switch port, {:#06x} unless it is configured otherwise",
                    ethertype, lowest, wire::default_ethertype));
  }
  return ethertype;
}

/// Errors in the options come before those of the interface.
OpenedLink open_checked(const tributary_host_options& options) {
  static_cast<void>(checked_ethertype(options.ethertype));
  static_cast<void>(tributary::library::progress_of(options));
  return tributary::library::open_link(options);
}

/// Default of TRIBUTARY_SPIN_AUTO: about as long as a small reduction among few hosts.
constexpr std::uint32_t spin_usec_by_default = 30;

std::uint64_t spin_ns(const tributary_host_options& options) {
  return std::uint64_t{1000} *
         (options.spin_usec == TRIBUTARY_SPIN_AUTO ? spin_usec_by_default : options.spin_usec);
}

} // namespace

// Errors in the options are reported before anything is opened.
tributary_host::tributary_host(const tributary_host_options& options)
    : tributary_host(options, tributary::library::progress_of(options), open_checked(options)) {}

tributary_host::tributary_host(const tributary_host_options& options,
                               const tributary::library::Progress& progress, OpenedLink link)
    : interface_(options.interface), ethertype_(options.ethertype),
      may_thread_(progress.may_thread), nid_(nid_for(options, link)),
      longest_packet_(link.longest_packet), by_agent_(std::move(link.by_agent)),
      loop_(std::move(link.port), ethertype_,
            {.spin_ns = spin_ns(options),
             .only_short = options.spin_usec == TRIBUTARY_SPIN_AUTO,
             .own_thread = progress.thread}),
      buffer_bytes_(options.buffer_bytes) {
  const auto lock = loop_.lock();
  loop_.engine().add(manager_news_);
}

tributary_host::~tributary_host() {
  const bool own_process = loop_.end_thread(); // it calls the groups
  if (rdma_ && own_process) {
    rdma_->say_goodbye();
  }
}

tributary::library::Rdma& tributary_host::make_rdma(tributary::engine::Loop::Lock& lock,
                                                    const tributary_rdma_options& options) {
  tributary::library::RdmaSettings settings = tributary::library::settings_of(options);
  const auto of_job = tributary::library::policy_of_job();
  drain(lock, "RDMA can begin");
  settings.buffer_bytes = std::max(settings.buffer_bytes, buffer_bytes_);
  buffer_bytes_ = settings.buffer_bytes;
  rdma_ = std::make_unique<tributary::library::Rdma>(loop_, settings, nid_, ethertype_);
  if (of_job) {
    rdma_->set_policy(of_job->vni, of_job->policy);
  }
  const auto access = manager_access();
  if (tributary::manager_client::environment_names_manager() || !access.url.empty()) {
    agent(); // announces the host: the manager listens to those that it knows
    retransmit_ = std::make_unique<tributary::library::RetransmitAgent>(
        tributary::manager_client::settings_from({}, access), nid_);
  }
  return *rdma_;
}

tributary::manager_client::Otherwise tributary_host::manager_access() const {
  if (!by_agent_) {
    return {};
  }
  const tributary::host_agent::ManagerAccess& access = by_agent_->manager;
  return {.url = access.url,
          .token = access.token,
          .certificate_authority = access.certificate_authority};
}

void tributary_host::answer_peers() {
  if (may_thread_) {
    loop_.begin_thread();
  }
}

std::uint64_t tributary_host::frames_unknown() const {
  std::uint64_t frames = loop_.engine().frames_unclaimed() + frames_unknown_;
  for (const auto& group : groups_) {
    frames += group->frames_unknown;
  }
  return frames;
}

void tributary_host::throw_if_in_use(const tributary::collective::GroupParameters& parameters,
                                     const tributary_group* except) const {
  for (TreeIndex i = 0; i < parameters.tree_count(); ++i) {
    const TreeNumber tree = parameters.tree_at(i);
    const auto* holder = loop_.engine().holder_of(tree);
    if (holder != nullptr && holder != except) {
      throw tributary::library::TreeInUse(
          fmt::format("this host is in a group on tree {} already; leave that one first, or use "
                      "another tree",
                      tree.value));
    }
  }
}

void tributary_host::claim(tributary_group& group) {
  const auto& parameters = group.member.parameters();
  for (TreeIndex i = 0; i < parameters.tree_count(); ++i) {
    loop_.engine().claim(group, parameters.tree_at(i));
  }
}

tributary::library::MembershipAgent& tributary_host::agent() {
  if (!agent_) {
    // One sender a host: two would take turns in announcing it and leaving.
    const auto announced =
        by_agent_ ? std::optional(by_agent_->host) : tributary::library::announced_name(interface_);
    agent_ = std::make_unique<tributary::library::MembershipAgent>(
        announced ? std::make_unique<HelloSender>(*announced)
                  : std::make_unique<HelloSender>(interface_, ethertype_, nid_,
                                                  tributary::library::machine_name()));
  }
  return *agent_;
}

void tributary_host::follow_moves(TimeNs now) {
  for (const auto& [ticket, membership] : agent_->take_moves()) {
    moves_.insert_or_assign(ticket, membership);
  }
  // Trees may change hands among the groups of this host, in any order, so all that move give
  // theirs up first. The manager has given them to other groups, or to none.
  for (const auto& group : groups_) {
    if (group->named && moves_.contains(group->named->ticket)) {
      loop_.engine().release(*group);
    }
  }
  std::erase_if(moves_, [&](const auto& move) { return follow(move.first, move.second, now); });
}

bool tributary_host::follow(tributary::library::MembershipAgent::Ticket ticket,
                            const tributary::manager_client::Membership& membership, TimeNs now) {
  const auto group = std::ranges::find_if(
      groups_, [&](const auto& each) { return each->named && each->named->ticket == ticket; });
  if (group == groups_.end()) {
    return true;
  }
  tributary::library::NamedGroup& named = *(*group)->named;
  try {
    auto parameters =
        tributary::library::parameters_of(*this, tributary::library::options_of(named, membership));
    parameters.window = (*group)->member.parameters().window;
    throw_if_in_use(parameters, group->get());
    (*group)->member.move_to(parameters, now);
    claim(**group);
    named.membership = membership;
    named.error.clear();
    return true;
  } catch (const tributary::library::TreeInUse& error) {
    named.error = error.what();
    return false;
  } catch (const std::exception& error) {
    named.error = error.what();
    return true;
  }
}

void tributary_host::follow_news(TimeNs now) {
  for (const auto& [ticket, news] : agent_->take_news()) {
    for (const auto& group : groups_) {
      if (group->named && group->named->ticket == ticket) {
        take_news(*group, news, now);
      }
    }
  }
}

void tributary_host::take_news(tributary_group& group,
                               const tributary::manager_client::GroupNews& news, TimeNs now) {
  using tributary::collective::Failure;
  group.named->news = news;
  Failure failure{.reason = Failure::Reason::ended, .missing = {}, .one = {}, .other = {}};
  const auto gone = [&](const auto& absent) {
    return absent.gone && absent.rank != group.member.parameters().rank;
  };
  const bool one_died = std::ranges::any_of(
      news.absent, [&](const auto& absent) { return gone(absent) && !absent.left; });
  for (const auto& absent : news.absent) {
    // A member that leaves at the same time is no reason to give up; nor is one that left because
    // another one died.
    if (gone(absent) && !(absent.left && (group.leaving || one_died))) {
      failure.missing.add(absent.rank);
    }
  }
  if (news.lease_ended) {
    failure.missing.add(group.member.parameters().rank); // the root sends its leaves the same
  }
  if (!news.over_because.empty() || !failure.missing.empty()) {
    group.member.fail(failure, now);
  }
}

void tributary_host::ManagerNews::poll(TimeNs now) {
  if (host_->retransmit_) {
    host_->retransmit_->look_by(*host_->rdma_, now);
  }
  const tributary::library::MembershipAgent* agent = host_->agent_.get();
  if (agent == nullptr) {
    return;
  }
  if (agent->moves() != moves_seen_) {
    moves_seen_ = agent->moves();
    host_->follow_moves(now);
  }
  if (agent->news() != news_seen_) {
    news_seen_ = agent->news();
    host_->follow_news(now);
  }
}

TimeNs tributary_host::ManagerNews::next_deadline() const {
  const bool waits = std::ranges::any_of(host_->groups_, [](const auto& group) {
    return group->named && (group->leaving || !group->pipeline.is_idle());
  });
  const TimeNs look = host_->retransmit_ ? host_->retransmit_->next_look() : tributary::never;
  return waits ? std::min(look, tributary::net::steady_now() + news_interval_ns) : look;
}

void tributary_host::drain(tributary::engine::Loop::Lock& lock, std::string_view what) {
  constexpr std::uint64_t to_drain_ns = 1'000'000'000;
  if (!loop_.wait_until(
          lock, [&] { return loop_.port().pending() == 0; },
          tributary::net::steady_now() + to_drain_ns)) {
    throw tributary::link::LinkError(
        tributary::link::LinkError::Kind::system,
        fmt::format("{} does not take the frames that were to leave before; {} once it has",
                    loop_.port().description(), what));
  }
}

/// Makes room for frames as long as the group's, and for the windows of all groups.
void tributary_host::make_room_for(tributary::engine::Loop::Lock& lock,
                                   tributary::collective::GroupParameters& group) {
  if (!group.is_wide()) {
    return;
  }
  const auto frame = static_cast<std::uint32_t>(wire::wide_header_bytes + group.payload);
  drain(lock, "a group with wide frames can begin");
  tributary::link::Port& port = loop_.port();
  std::size_t wanted = tributary::library::receive_bytes(group);
  for (const auto& other : groups_) {
    wanted += tributary::library::receive_bytes(other->member.parameters());
  }
  wanted = std::max<std::size_t>(wanted, buffer_bytes_);
  port.enlarge(std::max(frame, port.longest_frame()), wanted);
  buffer_bytes_ = static_cast<std::uint32_t>(std::min<std::size_t>(wanted, 1U << 30));
  if (port.longest_frame() < frame) {
    throw std::invalid_argument(
        fmt::format("a payload of {} bytes makes packets of {}, and {} carries {}: give the "
                    "interface a greater "
                    "MTU, or all members and the trees a payload of at most {}",
                    group.payload, wire::wide_packet_header_bytes + group.payload, interface_,
                    port.mtu(), wire::wide_payload_limit(port.mtu())));
  }
  const std::size_t room = port.receive_room() / (2 * group.tree_count());
  group.window = static_cast<std::uint32_t>(std::clamp<std::size_t>(room, 1, group.slots));
}

tributary_group& tributary_host::add(tributary::engine::Loop::Lock& lock,
                                     tributary::collective::GroupParameters parameters) {
  throw_if_in_use(parameters, nullptr);
  if (const std::string fault = fault_of(parameters); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  make_room_for(lock, parameters);
  groups_.push_back(std::make_unique<tributary_group>(*this, parameters));
  tributary_group& added = *groups_.back();
  loop_.engine().add(added);
  claim(added);
  return added;
}

void tributary_host::remove(tributary_group& group) {
  frames_unknown_ += group.frames_unknown;
  loop_.engine().remove(group);
  std::erase_if(groups_, [&](const auto& each) { return each.get() == &group; });
  if (!moves_.empty()) {
    follow_moves(tributary::net::steady_now()); // one may have waited for its trees
  }
}

void tributary_host::start(tributary_group& group,
                           tributary::collective::VectorOperation& operation) {
  const TimeNs now = tributary::net::steady_now();
  if (group.pipeline.is_idle()) {
    group.moved_at = now;
  }
  group.pipeline.start(operation, now);
  loop_.send(group);
}

bool tributary_host::has_to_send(const tributary_group& group) const {
  return loop_.port().pending() > 0 || group.has_to_send();
}
