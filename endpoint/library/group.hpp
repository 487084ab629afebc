// The objects behind the C API's handles for groups and requests: a member of a reduction group as
// a protocol of the engine.
#pragma once

#include "endpoint/collective/vector_pipeline.hpp"
#include "endpoint/engine/protocol.hpp"
#include "endpoint/library/named_group.hpp"
#include "endpoint/library/owned_list.hpp"
#include "tributary/tributary.h"

#include <cstdint>
#include <optional>

struct tributary_request {
  tributary_request(tributary_group& in, const tributary::collective::VectorTask& task);
  tributary::library::OwnedList<tributary_request>::Link& link() { return link_; }

  tributary_group* group;
  tributary::collective::VectorOperation operation;

private:
  tributary::library::OwnedList<tributary_request>::Link link_;
};

struct tributary_group final : tributary::engine::Protocol {
  tributary_group(tributary_host& on, const tributary::collective::GroupParameters& parameters);

  void receive(std::span<const tributary::FrameView> frames, tributary::TimeNs now) override;
  void poll(tributary::TimeNs now) override;
  [[nodiscard]] tributary::TimeNs next_deadline() const override { return member.next_deadline(); }
  [[nodiscard]] bool has_to_send() const override { return !member.outbox().empty(); }
  /// Throws LinkError where the link does not support frames of that length.
  void send(tributary::engine::Outlet& outlet) override;

  tributary_host* host;
  tributary::collective::Member member;
  tributary::collective::VectorPipeline pipeline;
  tributary::library::OwnedList<tributary_request> requests;
  std::optional<tributary::library::NamedGroup> named; ///< one that the fabric manager made
  bool leaving = false;
  /// When it last completed something or had nothing to wait for.
  tributary::TimeNs moved_at;
  std::uint64_t frames_unknown = 0; ///< frames on the claimed tree that are not reduction frames

private:
  /// Requests news of the group while a call of it waits for long.
  void watch(tributary::TimeNs now);

  std::uint64_t completed_ = 0; ///< completed pieces when it last moved
};
