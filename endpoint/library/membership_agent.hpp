// What a host with named groups does beside reducing: it announces itself on its link, and renews
// its leases at the fabric manager. One instance per host, with one thread, from the host's first
// tributary_join_named until the host is closed.
//
//   host's thread                            agent's thread
//   add(request, membership) --------------> renews at a third of each lease (lease.hpp)
//   moves() rose: take_moves() <------------ joined again, and the manager gave other trees
//   news() rose: take_news() <-------------- who is absent, or that the group is over
//   hurry(ticket, yes) --------------------> renews more often: a call waits, and wants the news
//   text(ticket) for people  <-------------- failures
//   remove(ticket) ------------------------> leaves it alone; waits for a call in progress
//
// The thread holds no lock while it talks to the manager, and its calls are short, so that the
// announcements go on. It never touches a member or a frame.
//
// After fork() the child has no such thread. There the destructor touches nothing, for a lock might
// be held and a connection is the parent's; the memory stays until the child ends.
#pragma once

#include "endpoint/library/lease.hpp"
#include "endpoint/manager_client/manager_client.hpp"
#include "endpoint/manager_client/membership.hpp"
#include "tributary/types.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tributary::library {

class HelloSender;

class MembershipAgent {
public:
  using Ticket = std::uint64_t;

  /// Announces the host at once, and from then on.
  explicit MembershipAgent(std::unique_ptr<HelloSender> hello_sender);
  /// Ends calls in progress, tells the switch, and joins the thread.
  ~MembershipAgent();
  MembershipAgent(const MembershipAgent&) = delete;
  MembershipAgent& operator=(const MembershipAgent&) = delete;

  /// As announced.
  [[nodiscard]] const std::string& host_name() const;

  Ticket add(const manager_client::ClientSettings& settings,
             const manager_client::JoinRequest& request,
             const manager_client::Membership& membership);
  /// From its return on nothing is renewed for it.
  void remove(Ticket ticket);

  /// How often any group was given other trees. Cheap.
  [[nodiscard]] std::uint64_t moves() const;
  /// Those that were since the last call.
  [[nodiscard]] std::vector<std::pair<Ticket, manager_client::Membership>> take_moves();
  /// How often the manager said something new of any group. Cheap.
  [[nodiscard]] std::uint64_t news() const;
  /// The newest of each that had some since the last call.
  [[nodiscard]] std::vector<std::pair<Ticket, manager_client::GroupNews>> take_news();
  /// Whether a call of the group waits for long, so that news of it are wanted soon.
  void hurry(Ticket ticket, bool hurried);
  [[nodiscard]] manager_client::Membership membership(Ticket ticket) const;
  /// How the lease stands, and what is wrong with the link or the manager.
  [[nodiscard]] std::string text(Ticket ticket) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tributary::library
