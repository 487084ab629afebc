// One interface and the groups that use it: connects the engine's loop, the groups and the fabric
// manager's news of them.
//
//   frames in -> engine (endpoint/engine) -> group -> member -> pipeline -> outbox -> frames out
//   agent     -> news, once a round        -> group
//
// One thread at a time, besides the loop's own where the options ask for one: so everything except
// nid, ethertype, interface and last_error is used under the loop's lock. A host with named groups
// has a membership agent (membership_agent.hpp) with a thread of its own, which touches neither
// members nor frames; calls that wait for the manager, or for that thread, are made without the
// lock.
#pragma once

#include "endpoint/engine/loop.hpp"
#include "endpoint/library/early_frames.hpp"
#include "endpoint/library/group.hpp"
#include "endpoint/library/host_contexts.hpp"
#include "endpoint/library/host_environment.hpp"
#include "endpoint/library/membership_agent.hpp"
#include "endpoint/library/open_link.hpp"
#include "endpoint/library/rdma.hpp"
#include "endpoint/library/retransmit_agent.hpp"
#include "endpoint/manager_client/environment.hpp"
#include "lib/link/end_point_number.hpp"
#include "tributary/tributary.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::library {

/// Two groups of one host on one tree, whose frames could not be distinguished.
class TreeInUse : public std::runtime_error {
public:
  using runtime_error::runtime_error;
};

} // namespace tributary::library

struct tributary_host {
  explicit tributary_host(const tributary_host_options& options);
  ~tributary_host();
  tributary_host(const tributary_host&) = delete;
  tributary_host& operator=(const tributary_host&) = delete;

  [[nodiscard]] tributary::Nid nid() const { return nid_; }
  [[nodiscard]] std::uint16_t ethertype() const { return ethertype_; }
  [[nodiscard]] const std::string& interface() const { return interface_; }
  /// The longest packet that the interface can carry, though the link is set up for short frames
  /// until a group has longer ones.
  [[nodiscard]] std::uint32_t longest_packet() const { return longest_packet_; }
  [[nodiscard]] tributary::engine::Loop& loop() { return loop_; }
  [[nodiscard]] const tributary::engine::Loop& loop() const { return loop_; }
  /// What the node's host agent says of the link and its job; empty if this process opened it.
  [[nodiscard]] const std::optional<tributary::host_agent::Opened>& by_agent() const {
    return by_agent_;
  }
  /// How programs of the job reach the manager, as far as the agent knows.
  [[nodiscard]] tributary::manager_client::Otherwise manager_access() const;
  /// Frames of no group, and frames that are not reduction frames.
  [[nodiscard]] std::uint64_t frames_unknown() const;

  /// Throws TreeInUse.
  /// Makes room for the group's frames first, which waits for the link to take what is pending.
  /// A program has joined the tree. `named`: a group that the fabric manager made. `is_kept`: for
  /// other processes.
  tributary_group& add(tributary::engine::Loop::Lock& lock,
                       tributary::collective::GroupParameters parameters,
                       std::optional<tributary::library::NamedGroup> named = {},
                       bool is_kept = false);
  /// A dup's group, on the tree of the context, which the caller has taken. `times`: parameters of
  /// its protocol.
  tributary_group& add(tributary::engine::Loop::Lock& lock,
                       const tributary::contexts::Context& context,
                       const tributary::collective::GroupParameters& times);
  void remove(tributary_group& group);
  /// A group with a range of a tree's ids is left: nothing is sent, and it is gone, but a root
  /// answers requests until the ids are given out again.
  void leave_context(tributary_group& group);
  /// The group that was joined is left, and so are the trees of its dups.
  /// Returns those that are to be left at the manager.
  [[nodiscard]] std::vector<tributary::library::NamedGroup>
  remove_with_trees(tributary_group& group);
  /// Moves a group that was joined without a manager to other trees.
  void move(tributary_group& group, tributary::collective::GroupParameters parameters);
  /// Trees that an agreement wants, for the members of `like`: asked for in the background.
  void ask_for(std::span<const tributary::contexts::Outcome::Wanted> wanted,
               const tributary::library::SharedTree& like);
  /// The group has the half of its tree, and others have the rest, from now on.
  void divide(tributary_group& group);
  /// The group uses the first `ids` ids of its range from now on. Requires that no operation of it
  /// is outstanding, and as Member::resize.
  void keep_ids(tributary_group& group, std::uint32_t ids);
  /// Whether a call waits for the answer to that.
  void look_for_answers(bool looks) { looks_for_answers_ = looks; }
  /// Groups that are not left, of the same members as this one, besides it.
  [[nodiscard]] std::size_t others_of(const tributary_group& group) const;
  [[nodiscard]] tributary::library::HostContexts& contexts() { return contexts_; }
  [[nodiscard]] const tributary::library::HostContexts& contexts() const { return contexts_; }

  /// Null before its first use.
  [[nodiscard]] tributary::library::Rdma* rdma() { return rdma_.get(); }
  /// Creates it. Requires that it does not exist yet. Throws LinkError when the link does not get
  /// rid of what it has, and std::invalid_argument for a faulty number in the environment.
  tributary::library::Rdma& make_rdma(tributary::engine::Loop::Lock& lock,
                                      const tributary_rdma_options& options);
  /// Peers expect answers while no call is made: begins a thread, unless the program asked for
  /// none. The lock must not be held.
  void answer_peers();

  /// The agent of named groups; created on first use. Throws LinkError.
  tributary::library::MembershipAgent& agent();

  /// Appends an operation to those of its group. Errors of the interface are reported by the next
  /// round. Requires that the loop is not broken.
  void start(tributary_group& group, tributary::collective::VectorOperation& operation);
  /// Whether frames of this group, or earlier ones, wait for the kernel to take them.
  [[nodiscard]] bool has_to_send(const tributary_group& group) const;

  /// The text of tributary_last_error.
  std::string last_error;

private:
  tributary_host(const tributary_host_options& options,
                 const tributary::library::Progress& progress, tributary::library::OpenedLink link);

  /// News of named groups from the fabric manager, polled in every round. Has no frames.
  class ManagerNews final : public tributary::engine::Protocol {
  public:
    explicit ManagerNews(tributary_host& host) : host_(&host) {}
    void receive(std::span<const tributary::FrameView>, tributary::TimeNs) override {}
    void poll(tributary::TimeNs now) override;
    [[nodiscard]] tributary::TimeNs next_deadline() const override;
    [[nodiscard]] bool has_to_send() const override { return false; }
    void send(tributary::engine::Outlet&) override {}

  private:
    tributary_host* host_;
    std::uint64_t moves_seen_ = 0;
    std::uint64_t news_seen_ = 0;
    std::uint64_t answers_seen_ = 0;
  };

  void throw_if_in_use(const tributary::collective::GroupParameters& parameters,
                       const tributary_group* except) const;
  tributary_group& add(tributary::engine::Loop::Lock& lock,
                       tributary::collective::GroupParameters parameters,
                       std::shared_ptr<tributary::library::SharedTree> tree);
  /// Claims the ids that the group has state of, except those that others have claimed.
  void claim(tributary_group& group);
  /// Keeps early frames of a tree whose ids are divided from now on, unless this host is its root.
  void listen(tributary::library::SharedTree& tree);
  void stop_listening(tributary::library::SharedTree& tree);
  /// Ids of these trees that no group has are the early frames'.
  void listen_to_rest(const tributary::collective::GroupParameters& parameters);
  /// Ids that are given out again are free here: groups that were left with them are removed, and a
  /// group that had them before it had dups gives them up.
  void free_ids(const tributary::collective::GroupParameters& parameters);
  /// Waits until nothing is pending at the link. Throws LinkError if it takes too long; `what`
  /// names the step that then fails.
  void drain(tributary::engine::Loop::Lock& lock, std::string_view what);
  /// Enlarges the link's buffers for wide frames, and sets `window` to what they hold. Throws
  /// std::invalid_argument where the link does not support frames of that length.
  void make_room_for(tributary::engine::Loop::Lock& lock,
                     tributary::collective::GroupParameters& group);
  /// Throws std::invalid_argument if the host receives no frames.
  void require_frames(const char* what) const;
  /// Moves groups to the trees that the manager gave them. A group whose new tree another group of
  /// this host still has waits until that one has moved or left.
  void follow_moves(tributary::TimeNs now);
  /// Whether the move is over: done, or without a prospect.
  bool follow(tributary::library::MembershipAgent::Ticket ticket,
              const tributary::manager_client::Membership& membership, tributary::TimeNs now);
  /// Passes on the manager's news of groups, and ends those that have lost a member.
  void follow_news(tributary::TimeNs now);
  void take_news(tributary::library::SharedTree& tree,
                 const tributary::manager_client::GroupNews& news, tributary::TimeNs now);
  void take_answers();

  std::string interface_;
  std::uint16_t ethertype_;
  bool may_thread_;
  tributary::Nid nid_;
  std::uint32_t longest_packet_;
  /// What the node's host agent says of the link, if it opened it.
  std::optional<tributary::host_agent::Opened> by_agent_;
  /// Otherwise, with RDMA: the number by which unicast frames find this program.
  std::optional<tributary::link::EndPointNumber> end_point_;
  tributary::engine::Loop loop_;
  std::uint32_t buffer_bytes_; ///< as requested from the link
  ManagerNews manager_news_{*this};
  std::uint64_t frames_unknown_ = 0; ///< unknown frames of former groups
  std::vector<std::unique_ptr<tributary_group>> groups_;
  tributary::library::HostContexts contexts_;
  std::map<tributary::TreeNumber, tributary::library::EarlyFrames> early_;
  bool looks_for_answers_ = false;
  /// Moves that are not over.
  std::map<tributary::library::MembershipAgent::Ticket, tributary::manager_client::Membership>
      moves_;
  std::unique_ptr<tributary::library::MembershipAgent> agent_;
  std::unique_ptr<tributary::library::Rdma> rdma_;
  /// Exists where the environment, or the agent, has the address of the fabric manager.
  std::unique_ptr<tributary::library::RetransmitAgent> retransmit_;
};
