// One interface and the groups that use it: puts the engine's loop, the groups and what the fabric
// manager says of them together.
//
//   frames in -> engine (endpoint/engine) -> group -> member -> pipeline -> outbox -> frames out
//   agent     -> news, once a round        -> group
//
// One thread at a time, beside the loop's own where the options ask for one: so everything but nid,
// ethertype, interface and last_error is used under the loop's lock. A host with named groups has a
// membership agent (membership_agent.hpp) with a thread of its own, which touches neither members
// nor frames; what waits for the manager, or for that thread, is done without the lock.
#pragma once

#include "endpoint/engine/loop.hpp"
#include "endpoint/library/group.hpp"
#include "endpoint/library/host_environment.hpp"
#include "endpoint/library/membership_agent.hpp"
#include "endpoint/library/rdma.hpp"
#include "endpoint/library/retransmit_agent.hpp"
#include "tributary/tributary.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::library {

/// Two groups of one host on one tree, of which nobody could tell the frames apart.
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
  /// What the interface could carry behind an Ethernet header, though the link is made for short
  /// frames until a group has longer ones.
  [[nodiscard]] std::uint32_t longest_packet() const { return longest_packet_; }
  [[nodiscard]] tributary::engine::Loop& loop() { return loop_; }
  [[nodiscard]] const tributary::engine::Loop& loop() const { return loop_; }
  /// Those of no group, and those that are no reduction frames.
  [[nodiscard]] std::uint64_t frames_unknown() const;

  /// Throws TreeInUse.
  /// Makes room for the group's frames first, which waits for the link to take what is pending.
  tributary_group& add(tributary::engine::Loop::Lock& lock,
                       tributary::collective::GroupParameters parameters);
  void remove(tributary_group& group);

  /// Null until something has used it.
  [[nodiscard]] tributary::library::Rdma* rdma() { return rdma_.get(); }
  /// Makes it. Requires that there is none. Throws LinkError when the link does not get rid of what
  /// it has, and std::invalid_argument of a number in the environment.
  tributary::library::Rdma& make_rdma(tributary::engine::Loop::Lock& lock,
                                      const tributary_rdma_options& options);
  /// Peers want to be answered though no call is made: begins a thread, unless the program asked
  /// for none. The lock must not be held.
  void answer_peers();

  /// What keeps named groups alive; made when it is first asked for. Throws LinkError.
  tributary::library::MembershipAgent& agent();

  /// Puts an operation behind all others of its group. What is wrong with the interface is for the
  /// next round to say. Requires that the loop is not broken.
  void start(tributary_group& group, tributary::collective::VectorOperation& operation);
  /// Whether frames of this group, or before them, wait for the kernel to take them.
  [[nodiscard]] bool has_to_send(const tributary_group& group) const;

  /// What tributary_last_error answers.
  std::string last_error;

private:
  tributary_host(const tributary_host_options& options,
                 const tributary::library::Progress& progress);

  /// What the fabric manager says of named groups, looked at in every round. Has no frames.
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
  };

  void throw_if_in_use(const tributary::collective::GroupParameters& parameters,
                       const tributary_group* except) const;
  void claim(tributary_group& group);
  /// Waits until nothing is pending at the link. Throws LinkError if it takes too long; `what`
  /// cannot be then.
  void drain(tributary::engine::Loop::Lock& lock, std::string_view what);
  /// Enlarges the link's buffers for wide frames, and says in `window` what they hold. Throws
  /// std::invalid_argument where the link has no frames that long.
  void make_room_for(tributary::engine::Loop::Lock& lock,
                     tributary::collective::GroupParameters& group);
  /// Leads the groups that the manager gave other trees there.
  void follow_moves(tributary::TimeNs now);
  /// Hands on what the manager said of groups, and ends those that have lost a member.
  void follow_news(tributary::TimeNs now);
  static void take_news(tributary_group& group, const tributary::manager_client::GroupNews& news,
                        tributary::TimeNs now);

  std::string interface_;
  std::uint16_t ethertype_;
  bool may_thread_;
  tributary::engine::Loop loop_;
  tributary::Nid nid_;
  std::uint32_t longest_packet_;
  std::uint32_t buffer_bytes_; ///< that the link was asked for
  ManagerNews manager_news_{*this};
  std::uint64_t frames_unknown_ = 0; ///< of groups that are gone
  std::vector<std::unique_ptr<tributary_group>> groups_;
  std::unique_ptr<tributary::library::MembershipAgent> agent_;
  std::unique_ptr<tributary::library::Rdma> rdma_;
  /// Where the environment says where the fabric manager is.
  std::unique_ptr<tributary::library::RetransmitAgent> retransmit_;
};
