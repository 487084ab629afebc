// The objects behind the C API's handles for groups and requests: a member of a reduction group as
// a protocol of the engine.
#pragma once

#include "endpoint/collective/vector_pipeline.hpp"
#include "endpoint/contexts/context.hpp"
#include "endpoint/engine/protocol.hpp"
#include "endpoint/library/multicast_parameters.hpp"
#include "endpoint/library/owned_list.hpp"
#include "endpoint/library/shared_tree.hpp"
#include "endpoint/reliable_multicast/member.hpp"
#include "tributary/tributary.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>

struct tributary_request {
  using Reduction = tributary::collective::VectorOperation;
  using Multicast = tributary::reliable_multicast::Operation;

  tributary_request(tributary_group& in, const tributary::collective::VectorTask& task);
  /// `by`: the group of the multicasts of `in`.
  tributary_request(tributary_group& in, tributary_group& by,
                    tributary::reliable_multicast::Task task);
  tributary::library::OwnedList<tributary_request>::Link& link() { return link_; }

  [[nodiscard]] bool finished() const;
  /// It cannot progress any more: it is done, or its group has ended.
  [[nodiscard]] bool is_over() const;

  tributary_group* group;
  tributary_group* by; ///< whose frames it uses: `group`, or the one of its multicasts
  std::variant<Reduction, Multicast> operation;
  /// Called when it has finished: unpacks what was gathered packed. May be empty.
  std::function<void()> unpack;

private:
  tributary::library::OwnedList<tributary_request>::Link link_;
};

struct tributary_group final : tributary::engine::Protocol {
  tributary_group(tributary_host& on, const tributary::collective::GroupParameters& parameters,
                  std::shared_ptr<tributary::library::SharedTree> on_tree);

  void receive(std::span<const tributary::FrameView> frames, tributary::TimeNs now) override;
  void poll(tributary::TimeNs now) override;
  [[nodiscard]] tributary::TimeNs next_deadline() const override;
  [[nodiscard]] bool may_rest() const override { return !waits() && !waits_long_; }
  [[nodiscard]] bool has_to_send() const override {
    return !tree->is_kept && (!member.outbox().empty() || (multicast && multicast->has_to_send()));
  }
  /// Throws LinkError where the link does not support frames of that length.
  void send(tributary::engine::Outlet& outlet) override;

  /// It is the group of another one's calls with windows from now on: its ids are for them.
  void begin_lane(tributary::library::Lane of);
  /// Follows `member` to other trees.
  void move_multicasts(tributary::TimeNs now);
  /// Ends the group.
  void fail(const tributary::collective::Failure& failure, tributary::TimeNs now);
  [[nodiscard]] bool has_failed() const {
    return multicast ? multicast->failure().has_value() : member.failure().has_value();
  }

  tributary_host* host;
  tributary::collective::Member member;
  tributary::collective::VectorPipeline pipeline;
  /// In the group of another one's multicasts, or of its reductions with results for some, which
  /// has no other operations.
  std::optional<tributary::reliable_multicast::Member> multicast;
  tributary::library::Lane lane = tributary::library::Lane::multicast; ///< which of them
  /// The group of its own calls with windows.
  struct Windowed {
    tributary_group* by = nullptr; ///< null before the first one, and where members reduce instead
    bool reduces_instead = false;  ///< the members have no ids for it
  };
  std::array<Windowed, tributary::library::lanes> windowed{}; ///< by lane
  [[nodiscard]] Windowed& windowed_in(tributary::library::Lane of) {
    return windowed[static_cast<std::size_t>(of)];
  }
  tributary::library::OwnedList<tributary_request> requests;
  std::shared_ptr<tributary::library::SharedTree> tree;
  /// Its ids in the host's table: of dups, and of a group that has dups.
  std::optional<tributary::contexts::Context> context;
  /// What its members know of its dups; made with the first one.
  std::optional<tributary::contexts::Parent> parent;
  bool is_dup = false; ///< a program made it with tributary_group_dup
  bool leaving = false;
  bool is_abandoned = false; ///< by the program
  /// The program has left it: the root answers requests until the ids are given out again.
  bool is_left = false;
  /// When it last completed something or had nothing to wait for.
  tributary::TimeNs moved_at;
  std::uint64_t frames_unknown = 0; ///< frames on the claimed tree that are not reduction frames

  /// Null for a group that the fabric manager did not make.
  [[nodiscard]] tributary::library::NamedGroup* named() const {
    return tree->named ? &*tree->named : nullptr;
  }
  /// Whether it has a range of a tree's ids that the others know: leaving it sends nothing.
  [[nodiscard]] bool is_context() const { return is_dup || tree->is_range; }
  /// Counts it no longer among those that wait for long.
  void end_watch();

private:
  [[nodiscard]] bool waits() const {
    return leaving || !pipeline.is_idle() || (multicast && !multicast->is_idle());
  }
  /// Requests news of the group while a call of it waits for long.
  void watch(tributary::TimeNs now);

  std::uint64_t completed_ = 0; ///< completed pieces when it last moved
  bool waits_long_ = false;
};
