// The background jobs of a host with named groups: it announces the host on its link, and renews
// its leases at the fabric manager. One instance per host, with one thread, from the host's first
// tributary_join_named until the host is closed.
//
//   host's thread                            agent's thread
//   add(request, membership) --------------> renews at a third of each lease (lease.hpp)
//   moves() rose: take_moves() <------------ joined again, and the manager gave other trees
//   news() rose: take_news() <-------------- absent members, or that the group is over
//   hurry(ticket, yes) --------------------> renews more often: a call waits for the news
//   text(ticket) for people  <-------------- failures
//   ask(id, request) ----------------------> joins, for as long as it takes, at most the limit
//   answers() rose: take_answers() <-------- joined, and renews; or why not
//   withdraw(id), leave_later(ticket) -----> leaves
//   remove(ticket) ------------------------> leaves it alone; waits for a call in progress
//
// The thread holds no lock while it talks to the manager, and its calls are short, so that the
// announcements continue. It never touches a member or a frame.
//
// After fork() the child has no such thread. There the destructor touches nothing, for a lock might
// be held and a connection is the parent's; the memory stays until the child ends.
#pragma once

#include "endpoint/library/lease.hpp"
#include "endpoint/manager_client/manager_client.hpp"
#include "endpoint/manager_client/membership.hpp"
#include "lib/net/of_this_process.hpp"
#include "tributary/types.hpp"

#include <atomic>
#include <chrono>
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

  /// Announces the host immediately, and from then on.
  explicit MembershipAgent(std::unique_ptr<HelloSender> hello_sender);
  /// Ends calls in progress, notifies the switch, and joins the thread.
  ~MembershipAgent();
  MembershipAgent(const MembershipAgent&) = delete;
  MembershipAgent& operator=(const MembershipAgent&) = delete;

  /// The announced name.
  [[nodiscard]] const std::string& host_name() const;

  Ticket add(const manager_client::ClientSettings& settings,
             const manager_client::JoinRequest& request,
             const manager_client::Membership& membership);
  /// After it returns nothing is renewed for the ticket.
  void remove(Ticket ticket);

  /// How a group that was asked for was joined, or not.
  struct Answer {
    std::uint64_t id = 0;
    Ticket ticket = 0; ///< 0: it was not
    manager_client::Membership membership;
    std::string error; ///< why not
  };
  /// Joins a group in the background; `request.job` must be given. `limit`: for all members to join
  /// it, and for an unreachable manager. `id` is the caller's.
  void ask(std::uint64_t id, const manager_client::ClientSettings& settings,
           const manager_client::JoinRequest& request, std::chrono::milliseconds limit);
  /// How many answers there were so far. Cheap.
  [[nodiscard]] std::uint64_t answers() const;
  /// Answers since the last call.
  [[nodiscard]] std::vector<Answer> take_answers();
  /// The group is not wanted any more: there is no answer, and it is left if need be.
  void withdraw(std::uint64_t id);
  /// Leaves a group in the background; the ticket is not renewed any more.
  void leave_later(Ticket ticket);

  /// How often any group was moved to other trees. Cheap.
  [[nodiscard]] std::uint64_t moves() const;
  /// Moves since the last call.
  [[nodiscard]] std::vector<std::pair<Ticket, manager_client::Membership>> take_moves();
  /// How often the manager had news of any group. Cheap.
  [[nodiscard]] std::uint64_t news() const;
  /// The newest news of each ticket that had some since the last call.
  [[nodiscard]] std::vector<std::pair<Ticket, manager_client::GroupNews>> take_news();
  /// Sets whether a call of the group waits for long, so that its news are wanted soon.
  void hurry(Ticket ticket, bool hurried);
  [[nodiscard]] manager_client::Membership membership(Ticket ticket) const;
  /// State of the lease, and problems of the link or the manager, for people.
  [[nodiscard]] std::string text(Ticket ticket) const;

private:
  struct State;
  net::OfThisProcess<State> state_;
};

} // namespace tributary::library
