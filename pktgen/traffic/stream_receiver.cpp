#include "pktgen/traffic/stream_receiver.hpp"

#include "tributary/wire/portals.hpp"

#include <fmt/format.h>

namespace tributary::pktgen::traffic {

StreamReceiver::StreamReceiver(const StreamPlan& plan)
    : plan_(plan), senders_are_here_(plan.sends()),
      checker_(plan.flows.receptions(),
               senders_are_here_ ? FlowChecker::Begin::at_start : FlowChecker::Begin::where_seen) {
  if (senders_are_here_) {
    run_ = plan.run;
  }
}

void StreamReceiver::begin_measuring(TimeNs begin) {
  begin_ = begin;
  counts_ = {};
  latency_.clear();
  incident_count_ = 0;
  checker_.begin_again();
}

void StreamReceiver::stop() {
  if (!senders_are_here_) {
    checker_.end();
  }
}

bool StreamReceiver::is_ours(const Stamp& stamp, Stamped what, const std::byte* frame) {
  if (!run_ && what == Stamped::good &&
      wire::dfa_of(frame + wire::ethernet_header_bytes).is_multicast() == plan_.is_multicast()) {
    run_ = stamp.run;
  }
  return run_ == stamp.run;
}

bool StreamReceiver::has_right_header(const FrameView& frame, std::uint32_t flow) const {
  const std::byte* const fabric = frame.data + wire::ethernet_header_bytes;
  return wire::fabric_header_checksum_ok(fabric) &&
         wire::dfa_of(fabric) == plan_.destination_address(flow) &&
         wire::total_length_of(fabric) + wire::ethernet_header_bytes == frame.length;
}

bool StreamReceiver::receive(scenario::PortIndex port, const FrameView& frame, TimeNs now) {
  Stamp stamp;
  const Stamped what = read_stamp(frame.data, frame.length, stamp);
  if (what == Stamped::foreign || !is_ours(stamp, what, frame.data)) {
    return false;
  }
  if (what == Stamped::damaged) {
    ++counts_.damaged;
    note(Incident::Kind::bad_header, port, stamp);
    return true;
  }
  if (!plan_.flows.has(stamp.flow)) {
    ++counts_.misdelivered;
    note(Incident::Kind::unknown_flow, port, stamp);
    return true;
  }
  if (!has_right_header(frame, stamp.flow)) {
    ++counts_.damaged;
    note(Incident::Kind::bad_header, port, stamp);
    return true;
  }
  if (!plan_.is_expected_at(stamp.flow, port)) {
    ++counts_.misdelivered;
    note(Incident::Kind::wrong_port, port, stamp);
    return true;
  }
  const FlowChecker::Arrival arrival =
      checker_.arrived(plan_.flows.reception(stamp.flow, port), stamp.sequence);
  if (arrival.order == Order::absurd) {
    ++counts_.damaged;
    note(Incident::Kind::bad_header, port, stamp);
    return true;
  }
  const bool first_copy = arrival.order == Order::in_order || arrival.order == Order::reordered;
  last_came_ = now;
  came_ += first_copy ? 1 : 0;
  if (!arrival.counts || (senders_are_here_ && stamp.intended < begin_)) {
    return true;
  }
  counts_.frames.add(frame.length);
  counts_.distinct += first_copy ? 1 : 0;
  counts_.reordered += arrival.order == Order::reordered ? 1 : 0;
  counts_.duplicated += arrival.order == Order::duplicate ? 1 : 0;
  counts_.too_old += arrival.order == Order::too_old ? 1 : 0;
  if (first_copy && senders_are_here_) {
    latency_.record(elapsed_ns(now, stamp.intended));
  }
  if (frame.length > stamped_frame_bytes &&
      !payload_is_right({frame.data + stamped_frame_bytes, frame.length - stamped_frame_bytes},
                        stamp.flow, stamp.sequence, plan_.payload_check)) {
    ++counts_.damaged;
    note(Incident::Kind::bad_payload, port, stamp);
  }
  return true;
}

void StreamReceiver::note(Incident::Kind kind, scenario::PortIndex port, const Stamp& stamp) {
  if (incident_count_ < incidents_.size()) {
    incidents_[incident_count_++] = {kind, port, stamp};
  }
}

std::vector<std::string> StreamReceiver::remarks() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < incident_count_; ++i) {
    all.push_back(words(incidents_[i]));
  }
  return all;
}

std::string StreamReceiver::words(const Incident& incident) const {
  const Stamp& stamp = incident.stamp;
  const std::string where = fmt::format("port {}", incident.port);
  const std::string which =
      plan_.is_multicast()
          ? fmt::format("frame {} of tree {}", stamp.sequence, plan_.stream.first_tree + stamp.flow)
          : fmt::format("frame {} of flow {} to node {}", stamp.sequence, stamp.flow,
                        plan_.flows.destination(stamp.flow));
  switch (incident.kind) {
  case Incident::Kind::bad_header: return where + ": a frame arrived with damaged headers or stamp";
  case Incident::Kind::bad_payload: return where + ": " + which + " arrived with a damaged payload";
  case Incident::Kind::wrong_port:
    return plan_.is_multicast()
               ? fmt::format("{}: {} came back to its sender", where, which)
               : fmt::format("{}: {} came here instead of port {}", where, which,
                             plan_.flows.home(plan_.flows.destination(stamp.flow)));
  case Incident::Kind::unknown_flow:
    return fmt::format(
        "{}: a frame of the unknown flow {} arrived: do both sides have the same nodes and trees?",
        where, stamp.flow);
  }
  return {};
}

} // namespace tributary::pktgen::traffic
