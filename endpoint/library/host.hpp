// One interface and the groups that use it: the shell around the pure members.
//
//   frames in -> the group of their tree -> member -> pipeline -> outboxes -> frames out
//
// All of it happens in progress(), which never sleeps, and in wait_until(), which does between
// rounds. One thread at a time. A host with named groups has a keeper (keeper.hpp) with a thread of
// its own, which touches neither members nor frames.
//
// Errors of the interface are thrown as LinkError. When it is down, everything stays as it is
// and goes on later. When it is gone the host is broken: members and operations are not touched any
// more, and every further round throws the same error again.
#pragma once

#include "endpoint/collective/vector_pipeline.hpp"
#include "endpoint/library/keeper.hpp"
#include "endpoint/library/named_group.hpp"
#include "endpoint/library/owned_list.hpp"
#include "link/link_error.hpp"
#include "link/raw_socket.hpp"
#include "net/steady_clock.hpp"
#include "tributary/tributary.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::library {

/// Two groups of one host on one tree, of which nobody could tell the frames apart.
class TreeInUse : public std::runtime_error {
public:
  using runtime_error::runtime_error;
};

} // namespace tributary::library

struct tributary_request {
  tributary_request(tributary_group& in, const tributary::collective::VectorTask& task)
      : group(&in), operation(task) {}
  tributary::library::OwnedList<tributary_request>::Link& link() { return link_; }

  tributary_group* group;
  tributary::collective::VectorOperation operation;

private:
  tributary::library::OwnedList<tributary_request>::Link link_;
};

struct tributary_group {
  tributary_group(tributary_host& on, const tributary::collective::GroupParameters& parameters)
      : host(&on), member(parameters), pipeline(member) {}

  tributary_host* host;
  tributary::collective::Member member;
  tributary::collective::VectorPipeline pipeline;
  tributary::library::OwnedList<tributary_request> requests;
  std::optional<tributary::library::NamedGroup> named; ///< one that the fabric manager made
  bool leaving = false;
  /// When it last completed something or had nothing to wait for.
  tributary::TimeNs moved_at;
  std::uint64_t completed = 0; ///< pieces, by then
};

struct tributary_host {
  explicit tributary_host(const tributary_host_options& options);

  [[nodiscard]] tributary::Nid nid() const { return nid_; }
  [[nodiscard]] std::uint16_t ethertype() const { return ethertype_; }
  [[nodiscard]] tributary::link::RawSocket& port() { return port_; }
  [[nodiscard]] const tributary::link::RawSocket& port() const { return port_; }
  [[nodiscard]] std::uint64_t frames_unknown() const { return frames_unknown_; }

  [[nodiscard]] tributary_group* group_on(tributary::TreeNumber tree) const;
  /// Throws TreeInUse.
  tributary_group& add(const tributary::collective::GroupParameters& parameters);
  void remove(tributary_group& group);

  /// What keeps named groups alive; made when it is first asked for. Throws LinkError.
  tributary::library::Keeper& keeper();

  /// Throws if the interface is gone.
  void throw_if_broken() const;
  /// Puts an operation behind all others of its group. What is wrong with the interface is for the
  /// next round to say. Requires that the host is not broken.
  void start(tributary_group& group, tributary::collective::VectorOperation& operation);
  void progress();
  /// Rounds until `done()` or until `deadline`; answers whether it is done.
  template <typename Done>
  bool wait_until(const Done& done, tributary::TimeNs deadline = tributary::never) {
    for (;;) {
      progress();
      if (done()) {
        return true;
      }
      if (tributary::net::steady_now() >= deadline) {
        return false;
      }
      pause(deadline);
    }
  }
  /// The same without a deadline, waiting on while the interface is down.
  template <typename Done> void wait_through(const Done& done) {
    for (;;) {
      try {
        wait_until(done);
        return;
      } catch (const tributary::link::LinkError& error) {
        ride_out(error);
      }
    }
  }
  /// The earliest time at which a member has something to do.
  [[nodiscard]] tributary::TimeNs next_deadline() const;
  /// Whether frames wait for the kernel to take them: any, or those of this group or before them.
  [[nodiscard]] bool has_to_send() const;
  [[nodiscard]] bool has_to_send(tributary_group& group) const;

  /// What tributary_last_error answers.
  std::string last_error;

private:
  void throw_if_in_use(const tributary::collective::GroupParameters& parameters,
                       const tributary_group* except) const;
  /// Leads the groups that the manager gave other trees there.
  void follow_moves(tributary::TimeNs now);
  /// Hands on what the manager said of groups, and ends those that have lost a member.
  void follow_news(tributary::TimeNs now);
  void take_news(tributary_group& group, const tributary::manager_client::GroupNews& news,
                 tributary::TimeNs now);
  /// Wants news of a group soon while a call of it waits for long.
  void watch(tributary_group& group, tributary::TimeNs now);
  void deliver(std::span<const std::byte> bytes, tributary::TimeNs now);
  void advance(tributary_group& group, tributary::TimeNs now);
  /// Hands the port what it has room for; it leaves with the next flush.
  void hand_over(tributary::collective::Outbox& outbox);
  /// Looks for frames for the spinning time, then sleeps until something may be due.
  void pause(tributary::TimeNs deadline);
  /// Sleeps a little if the interface is only down; throws the error again otherwise.
  static void ride_out(const tributary::link::LinkError& error);

  std::uint16_t ethertype_;
  tributary::link::RawSocket port_;
  tributary::Nid nid_;
  std::uint64_t spin_ns_;
  std::uint64_t frames_unknown_ = 0;
  std::optional<tributary::link::LinkError> broken_;
  std::vector<std::unique_ptr<tributary_group>> groups_;
  std::unique_ptr<tributary::library::Keeper> keeper_;
  std::uint64_t moves_seen_ = 0;
  std::uint64_t news_seen_ = 0;
};
