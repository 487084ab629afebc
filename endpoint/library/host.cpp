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
using tributary::ReductionId;
using tributary::TimeNs;
using tributary::TreeNumber;
using tributary::collective::TreeIndex;
using tributary::library::HelloSender;
using tributary::library::OpenedLink;

namespace wire = tributary::wire;

namespace {

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

/// Between looks at the agent while a call waits for a tree: nothing else may wake it.
constexpr std::uint64_t answers_interval_ns = 2'000'000;
/// No link is asked for more.
constexpr std::size_t most_buffer_bytes = std::size_t{1} << 30;

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
    : interface_(std::move(link.interface)), ethertype_(options.ethertype),
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
  require_frames("RDMA");
  drain(lock, "RDMA can begin");
  settings.buffer_bytes = std::max(settings.buffer_bytes, buffer_bytes_);
  buffer_bytes_ = settings.buffer_bytes;
  if (!by_agent_ && !end_point_) {
    end_point_.emplace(interface_);
  }
  const tributary::EndPoint address(nid_, by_agent_ ? by_agent_->end_point : end_point_->value());
  rdma_ = std::make_unique<tributary::library::Rdma>(loop_, settings, address, ethertype_);
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
  for (const auto& [tree, early] : early_) {
    frames += early.count();
  }
  return frames;
}

void tributary_host::throw_if_in_use(const tributary::collective::GroupParameters& parameters,
                                     const tributary_group* except) const {
  for (TreeIndex i = 0; i < parameters.tree_count(); ++i) {
    const TreeNumber tree = parameters.tree_at(i);
    for (std::uint32_t n = 0; n < parameters.slots; ++n) {
      const ReductionId id{static_cast<std::uint8_t>(parameters.first_id.value + n)};
      const auto* holder = loop_.engine().holder_of(tree, id);
      if (holder != nullptr && holder != except) {
        throw tributary::library::TreeInUse(fmt::format(
            "this host is in a group on tree {} already{}; leave that one first, or use another "
            "tree",
            tree.value,
            parameters.slots < parameters.ids_of_tree() ? fmt::format(", with id {}", id.value)
                                                        : ""));
      }
    }
  }
}

void tributary_host::claim(tributary_group& group) {
  if (group.tree->is_kept) {
    return;
  }
  const auto& parameters = group.member.parameters();
  tributary::engine::Engine& engine = loop_.engine();
  const std::uint32_t ids = group.member.kept_ids();
  for (TreeIndex i = 0; i < parameters.tree_count(); ++i) {
    const TreeNumber tree = parameters.tree_at(i);
    if (ids == parameters.ids_of_tree() && engine.holder_of(tree) == nullptr) {
      engine.claim(group, tree);
    } else {
      engine.claim(group, tree, parameters.first_id, ids, parameters.ids_of_tree());
    }
  }
  engine.wake(group);
}

void tributary_host::free_ids(const tributary::collective::GroupParameters& parameters) {
  const auto shares_ids = [&](const tributary::collective::GroupParameters& other,
                              std::uint32_t ids) {
    return other.tree == parameters.tree &&
           other.first_id.value < parameters.first_id.value + parameters.slots &&
           parameters.first_id.value < other.first_id.value + ids;
  };
  for (TreeIndex tree = 0; tree < parameters.tree_count(); ++tree) {
    if (const auto early = early_.find(parameters.tree_at(tree)); early != early_.end()) {
      loop_.engine().release(early->second, early->first, parameters.first_id, parameters.slots,
                             parameters.ids_of_tree());
    }
  }
  for (std::size_t i = 0; i < groups_.size();) {
    tributary_group& other = *groups_[i];
    const auto& p = other.member.parameters();
    if (other.is_left && shares_ids(p, p.slots)) {
      remove(other);
      continue;
    }
    if (!shares_ids(p, p.slots) && shares_ids(p, other.member.kept_ids())) {
      for (TreeIndex tree = 0; tree < p.tree_count(); ++tree) {
        loop_.engine().release(other, p.tree_at(tree), parameters.first_id, parameters.slots,
                               p.ids_of_tree());
      }
    }
    ++i;
  }
}

void tributary_host::listen(tributary::library::SharedTree& tree) {
  const auto& parameters = tree.parameters;
  if (tree.listens || parameters.is_root()) {
    return;
  }
  tree.listens = true;
  for (TreeIndex i = 0; i < parameters.tree_count(); ++i) {
    tributary::library::EarlyFrames& early = early_[parameters.tree_at(i)];
    if (early.users++ == 0) {
      loop_.engine().add(early);
    }
  }
  listen_to_rest(parameters);
}

void tributary_host::stop_listening(tributary::library::SharedTree& tree) {
  if (!std::exchange(tree.listens, false)) {
    return;
  }
  for (TreeIndex i = 0; i < tree.parameters.tree_count(); ++i) {
    const auto early = early_.find(tree.parameters.tree_at(i));
    if (--early->second.users == 0) {
      frames_unknown_ += early->second.count();
      loop_.engine().remove(early->second);
      early_.erase(early);
    }
  }
}

void tributary_host::listen_to_rest(const tributary::collective::GroupParameters& parameters) {
  for (TreeIndex i = 0; i < parameters.tree_count(); ++i) {
    if (const auto early = early_.find(parameters.tree_at(i)); early != early_.end()) {
      loop_.engine().claim(early->second, early->first, ReductionId{0}, parameters.ids_of_tree(),
                           parameters.ids_of_tree());
    }
  }
}

void tributary_host::divide(tributary_group& group) {
  keep_ids(group, group.member.parameters().slots / 2);
  group.context = contexts_.enter(*group.tree);
  listen(*group.tree);
}

void tributary_host::keep_ids(tributary_group& group, std::uint32_t ids) {
  const std::uint32_t before = group.member.parameters().slots;
  group.member.resize(ids);
  if (group.member.is_root() || ids == before) { // the root alone answers for the other ids
    return;
  }
  const auto& p = group.member.parameters();
  const ReductionId first{static_cast<std::uint8_t>(p.first_id.value + ids)};
  for (TreeIndex i = 0; i < p.tree_count(); ++i) {
    loop_.engine().release(group, p.tree_at(i), first, before - ids, p.ids_of_tree());
  }
  listen_to_rest(p);
}

tributary::library::MembershipAgent& tributary_host::agent() {
  if (!agent_) {
    // One sender a host: two would take turns in announcing it and leaving.
    const auto announced = by_agent_ ? std::optional(by_agent_->host)
                                     : tributary::library::announced_name(interface_, nid_);
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
    if (group->named() != nullptr && moves_.contains(group->named()->ticket)) {
      loop_.engine().release(*group);
    }
  }
  std::erase_if(moves_, [&](const auto& move) { return follow(move.first, move.second, now); });
}

bool tributary_host::follow(tributary::library::MembershipAgent::Ticket ticket,
                            const tributary::manager_client::Membership& membership, TimeNs now) {
  tributary::library::SharedTree* const tree = contexts_.find(ticket);
  if (tree == nullptr) {
    return true;
  }
  tributary::library::NamedGroup& named = *tree->named;
  try {
    auto whole =
        tributary::library::parameters_of(*this, tributary::library::options_of(named, membership));
    if (whole.slots != tree->parameters.slots || whole.payload != tree->parameters.payload) {
      throw std::invalid_argument("a group moves with the frames that it has, or not at all");
    }
    const bool listens = tree->listens;
    stop_listening(*tree);
    if (!tree->is_kept) {
      throw_if_in_use(whole, nullptr);
    }
    ++tree->moves;
    whole.window = tree->parameters.window;
    tree->parameters = whole;
    // Those that use a part of what they used to have last: they claim what is left.
    for (const bool rest : {false, true}) {
      for (const auto& group : groups_) {
        const auto& before = group->member.parameters();
        if (group->tree.get() != tree || (group->member.kept_ids() != before.slots) != rest) {
          continue;
        }
        auto parameters = tributary::library::on_tree(before, whole);
        if (!group->is_context()) {
          parameters.cookie = whole.cookie;
        }
        group->member.move_to(parameters, now);
        claim(*group);
      }
    }
    if (listens) {
      listen(*tree);
    }
    contexts_.moved(*tree);
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

void tributary_host::move(tributary_group& group,
                          tributary::collective::GroupParameters parameters) {
  const auto& before = group.member.parameters();
  parameters.window = before.window;
  if (const std::string fault = fault_of(parameters); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  free_ids(parameters);
  throw_if_in_use(parameters, &group);
  group.member.move_to(parameters, tributary::net::steady_now());
  const bool listens = group.tree->listens;
  stop_listening(*group.tree);
  loop_.engine().release(group);
  claim(group);
  group.tree->parameters = parameters;
  if (listens) {
    listen(*group.tree);
  }
}

void tributary_host::follow_news(TimeNs now) {
  for (const auto& [ticket, news] : agent_->take_news()) {
    if (tributary::library::SharedTree* const tree = contexts_.find(ticket)) {
      take_news(*tree, news, now);
    }
  }
}

void tributary_host::take_news(tributary::library::SharedTree& tree,
                               const tributary::manager_client::GroupNews& news, TimeNs now) {
  using tributary::collective::Failure;
  tree.named->news = news;
  const std::uint32_t own_rank = tree.parameters.rank;
  Failure failure{.reason = Failure::Reason::ended, .missing = {}, .one = {}, .other = {}};
  const auto gone = [&](const auto& absent) { return absent.gone && absent.rank != own_rank; };
  const bool one_died = std::ranges::any_of(
      news.absent, [&](const auto& absent) { return gone(absent) && !absent.left; });
  for (const auto& absent : news.absent) {
    // A member that leaves at the same time is no reason to give up; nor is one that left because
    // another one died.
    if (gone(absent) && !(absent.left && (tree.leaving || one_died))) {
      failure.missing.add(absent.rank);
    }
  }
  if (news.lease_ended) {
    failure.missing.add(own_rank); // the root sends its leaves the same
  }
  if (news.over_because.empty() && failure.missing.empty()) {
    return;
  }
  for (const auto& group : groups_) {
    if (group->tree.get() == &tree) {
      group->member.fail(failure, now);
      loop_.engine().wake(*group);
    }
  }
  contexts_.ended(tree);
}

void tributary_host::take_answers() {
  for (const auto& answer : agent_->take_answers()) {
    const bool kept = contexts_.take(answer, [&](const tributary::library::NamedGroup& named) {
      return tributary::library::parameters_of(
          *this, tributary::library::options_of(named, named.membership));
    });
    if (!kept && answer.ticket != 0) {
      agent_->leave_later(answer.ticket);
    } else if (kept) {
      listen(*contexts_.find(answer.ticket));
    }
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
  if (agent->answers() != answers_seen_) {
    answers_seen_ = agent->answers();
    host_->take_answers();
  }
}

TimeNs tributary_host::ManagerNews::next_deadline() const {
  const TimeNs look = host_->retransmit_ ? host_->retransmit_->next_look() : tributary::never;
  return host_->looks_for_answers_
             ? std::min(look, tributary::net::steady_now() + answers_interval_ns)
             : look;
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

void tributary_host::require_frames(const char* what) const {
  if (buffer_bytes_ == 0) {
    throw std::invalid_argument(
        fmt::format("the host was opened with buffer_bytes 0, so it receives no frames: {} need a "
                    "host with a buffer, groups with TRIBUTARY_NO_IDS none",
                    what));
  }
}

/// Makes room for frames as long as the group's, and for the windows of all groups.
void tributary_host::make_room_for(tributary::engine::Loop::Lock& lock,
                                   tributary::collective::GroupParameters& group) {
  if (!group.is_wide()) {
    return;
  }
  const auto frame = static_cast<std::uint32_t>(wire::wide_header_bytes + group.payload);
  tributary::link::Port& port = loop_.port();
  std::size_t wanted = tributary::library::receive_bytes(group);
  for (const auto& other : groups_) {
    wanted += tributary::library::receive_bytes(other->member.parameters());
  }
  wanted = std::max<std::size_t>(std::min(wanted, most_buffer_bytes), buffer_bytes_);
  if (frame > port.longest_frame() || wanted > buffer_bytes_) {
    drain(lock, "a group with wide frames can begin");
    port.enlarge(std::max(frame, port.longest_frame()), wanted);
    buffer_bytes_ = static_cast<std::uint32_t>(wanted);
  }
  if (port.longest_frame() < frame) {
    throw std::invalid_argument(
        fmt::format("a payload of {} bytes makes packets of {}, and {} carries {}: give the "
                    "interface a greater "
                    "MTU, or all members and the trees a payload of at most {}",
                    group.payload, wire::wide_packet_header_bytes + group.payload, interface_,
                    port.mtu(), wire::wide_payload_limit(port.mtu())));
  }
  // Contexts of a tree divide its share.
  const std::size_t room =
      port.receive_room() * group.slots / (2 * group.tree_count() * group.ids_of_tree());
  group.window = static_cast<std::uint32_t>(std::clamp<std::size_t>(room, 1, group.slots));
}

tributary_group& tributary_host::add(tributary::engine::Loop::Lock& lock,
                                     tributary::collective::GroupParameters parameters,
                                     std::optional<tributary::library::NamedGroup> named,
                                     bool is_kept) {
  auto tree = std::make_shared<tributary::library::SharedTree>();
  tree->parameters = parameters;
  tree->named = std::move(named);
  tree->is_range = parameters.slots != parameters.ids_of_tree();
  tree->is_kept = is_kept;
  tributary_group& added = add(lock, parameters, tree);
  tree->parameters.window = added.member.parameters().window;
  contexts_.add(tree);
  if (tree->is_range) {
    listen(*tree);
  }
  return added;
}

tributary_group& tributary_host::add(tributary::engine::Loop::Lock& lock,
                                     const tributary::contexts::Context& context,
                                     const tributary::collective::GroupParameters& times) {
  const auto tree = contexts_.find(context.tree);
  if (tree == nullptr) { // the group has ended, and the manager's news of it has been taken
    throw std::logic_error("the tree of the new group is not known to this host");
  }
  const auto parameters =
      tributary::library::parameters_of_context(tree->parameters, context, times);
  tributary_group& added = add(lock, parameters, tree);
  added.context = context;
  added.is_dup = true;
  if (contexts_.table().is_over(context)) {
    using tributary::collective::Failure;
    added.member.fail({.reason = Failure::Reason::ended, .missing = {}, .one = {}, .other = {}},
                      tributary::net::steady_now());
  }
  return added;
}

tributary_group& tributary_host::add(tributary::engine::Loop::Lock& lock,
                                     tributary::collective::GroupParameters parameters,
                                     std::shared_ptr<tributary::library::SharedTree> tree) {
  if (const std::string fault = fault_of(parameters); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  if (!tree->is_kept) {
    require_frames("operations");
    free_ids(parameters);
    try {
      throw_if_in_use(parameters, nullptr);
      make_room_for(lock, parameters);
    } catch (...) {
      listen_to_rest(parameters);
      throw;
    }
  }
  groups_.push_back(std::make_unique<tributary_group>(*this, parameters, std::move(tree)));
  tributary_group& added = *groups_.back();
  loop_.engine().add(added);
  claim(added);
  for (TreeIndex i = 0; i < parameters.tree_count() && !added.tree->is_kept; ++i) {
    if (const auto early = early_.find(parameters.tree_at(i)); early != early_.end()) {
      early->second.take(parameters.first_id, parameters.slots,
                         [&](std::span<const std::byte> frame) {
                           added.member.receive(frame, tributary::net::steady_now());
                         });
    }
  }
  return added;
}

void tributary_host::remove(tributary_group& group) {
  frames_unknown_ += group.frames_unknown;
  group.end_watch();
  loop_.engine().remove(group);
  if (!group.is_dup) {
    stop_listening(*group.tree);
    contexts_.remove(*group.tree);
  }
  listen_to_rest(group.member.parameters());
  std::erase_if(groups_, [&](const auto& each) { return each.get() == &group; });
  if (!moves_.empty()) {
    follow_moves(tributary::net::steady_now()); // one may have waited for its trees
  }
}

void tributary_host::leave_context(tributary_group& group) {
  if (group.context) {
    contexts_.release(*group.context);
    group.context.reset();
  }
  if (group.member.is_root() && group.member.parameters().size > 1) {
    group.is_left = true;
    group.end_watch();
    return;
  }
  remove(group);
}

std::vector<tributary::library::NamedGroup>
tributary_host::remove_with_trees(tributary_group& group) {
  const tributary::contexts::NodeSet nodes = group.tree->nodes;
  for (std::size_t i = 0; i < groups_.size();) {
    if (groups_[i]->is_left && groups_[i]->tree->nodes == nodes) {
      remove(*groups_[i]);
    } else {
      ++i;
    }
  }
  if (group.context) {
    contexts_.release(*group.context);
  }
  remove(group);
  contexts_.for_each([&](tributary::library::SharedTree& tree) {
    if (tree.nodes == nodes) {
      stop_listening(tree);
    }
  });
  return contexts_.forget(nodes, agent_.get());
}

void tributary_host::ask_for(std::span<const tributary::contexts::Outcome::Wanted> wanted,
                             const tributary::library::SharedTree& like) {
  if (wanted.empty()) {
    return;
  }
  contexts_.retire_if_full();
  contexts_.for_each([&](tributary::library::SharedTree& tree) {
    if (contexts_.is_gone(tree)) {
      stop_listening(tree);
    }
  });
  for (std::size_t i = 0; i < groups_.size();) {
    if (groups_[i]->is_left && contexts_.is_gone(*groups_[i]->tree)) {
      remove(*groups_[i]);
    } else {
      ++i;
    }
  }
  contexts_.ask_for(wanted, like, agent_.get());
}

std::size_t tributary_host::others_of(const tributary_group& group) const {
  return static_cast<std::size_t>(std::ranges::count_if(groups_, [&](const auto& each) {
    return each.get() != &group && !each->is_left && each->tree->nodes == group.tree->nodes;
  }));
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
