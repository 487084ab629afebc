#include "tests/fabric/virtual_switch.hpp"

#include "dataplane/core/dispatch.hpp"
#include "dataplane/placement/frame_owner.hpp"
#include "tests/fabric/describe.hpp"
#include "tributary/wire/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::fabric {

namespace {
constexpr std::size_t burst_size = 32;
/// Time until a worker retries when a timer's emission found no buffer.
constexpr std::uint64_t retry_emission_ns = 20'000;
} // namespace

VirtualSwitch::VirtualSwitch(SwitchIndex index, std::size_t port_count,
                             const SwitchOptions& options, SwitchSurroundings& surroundings)
    : index_(index), options_(options), surroundings_(surroundings), workers_(options.workers),
      ports_(port_count) {
  for (std::size_t p = 0; p < port_count; ++p) {
    const PortNumber port{static_cast<std::uint8_t>(p)};
    workers_[owner_of(port)].ports.insert(port);
    ports_[p].edge = surroundings.link_at(index, port).edge;
    ports_[p].received.resize(options_.placed && !ports_[p].edge ? workers_.size() : 1);
  }
  start_cores();
}

void VirtualSwitch::start_cores() {
  at_nic_ = placement::Placement(workers_.size());
  moving_.reset();
  for (auto& worker : workers_) {
    worker.core = std::make_unique<core::SwitchCore>(
        options_.settings, options_.placed ? PortSet::first(max_ports) : worker.ports);
    worker.account = std::make_unique<SwitchAccount>(
        options_.settings, [this](const std::string& what) { expect(false, what); });
    worker.ingress = std::make_unique<egress::IngressAccounts>(options_.pause_limits);
    worker.ingress_account = std::make_unique<IngressAccount>(options_.pause_limits);
    worker.rings.assign(workers_.size(), {});
    worker.unread.assign(workers_.size(), false);
    if (options_.placed) {
      placement::Owners& owners = worker.core->owners();
      owners = {.trees = at_nic_, .self = static_cast<std::uint8_t>(&worker - workers_.data())};
      for (std::uint8_t p = 0; p < ports_.size(); ++p) {
        owners.ports[p] = static_cast<std::uint8_t>(owner_of(PortNumber{p}));
      }
    }
    worker.up = PortSet::first(max_ports);
    worker.wanted = {};
  }
  VirtualPort::Wire& wire = *this;
  for (std::uint8_t p = 0; p < ports_.size(); ++p) {
    const Worker& worker = workers_[owner_of(PortNumber{p})];
    Port& port = ports_[p];
    port.out = std::make_unique<VirtualPort>(p, options_.queues, surroundings_.frames(), wire,
                                             worker.ingress.get(), worker.ingress_account.get());
    const std::uint32_t speed = surroundings_.link_at(index_, PortNumber{p}).speed_mbps;
    port.out->link_changed(true, speed, now_);
    port.pauses.forget();
    port.pauses.set_link_speed(speed);
    port.pushed = false;
    port.flush_at = never;
    port.given_up = {};
  }
}

void VirtualSwitch::expect(bool holds, const std::string& what) {
  if (!holds) {
    surroundings_.violation(fmt::format("switch {}: {}", index_, what));
  }
}

void VirtualSwitch::publish(std::shared_ptr<const core::Tables> tables, TimeNs now,
                            std::uint64_t skew_ns) {
  tables_ = std::move(tables);
  if (crashed_) {
    return;
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    workers_[w].next_tables = tables_;
    workers_[w].adopt_at = now + w * skew_ns;
    request_poll(w, workers_[w].adopt_at);
  }
}

void VirtualSwitch::request_poll(std::size_t w, TimeNs at) {
  Worker& worker = workers_[w];
  if (worker.poll_interval_ns > 0) {
    at = std::max(at, worker.polled_at + worker.poll_interval_ns);
  }
  if (at < worker.poll_at) {
    worker.poll_at = at;
    surroundings_.schedule_poll(index_, static_cast<std::uint32_t>(w), at);
  }
}

bool VirtualSwitch::receive(PortNumber in, FrameIndex frame, TimeNs now) {
  auto& queues = ports_[in.value].received;
  const std::size_t number = queues.size() == 1 ? 0 : queue_for(in, frame);
  if (queues[number].size() >= options_.receive_frames) {
    return false;
  }
  ++accounting_.received;
  ++accounting_.waiting;
  queues[number].push_back(frame);
  request_poll(queues.size() == 1 ? owner_of(in) : number, now + options_.poll_delay_ns);
  return true;
}

/// Trees by the NIC's rules, all other frames by their source address.
std::size_t VirtualSwitch::queue_for(PortNumber in, FrameIndex frame) const {
  constexpr std::size_t last_of_source = 11;
  const auto bytes = surroundings_.frames()[frame].bytes();
  const std::size_t by_source =
      bytes.size() > last_of_source
          ? std::to_integer<std::size_t>(bytes[last_of_source]) % workers_.size()
          : owner_of(in);
  return placement::worker_of(bytes.data(), bytes.size(), at_nic_, by_source, by_source);
}

bool VirtualSwitch::move(TreeNumber tree, std::uint64_t step_ns, TimeNs now) {
  const bool adopting = std::ranges::any_of(
      workers_, [](const Worker& worker) { return worker.next_tables != nullptr; });
  if (moving_ || adopting || !answers()) {
    return false;
  }
  const placement::Bucket bucket = placement::bucket_of(tree);
  const std::size_t from = at_nic_.worker_of(bucket);
  moving_ =
      Moving{.move = {bucket, from, (from + 1) % workers_.size()}, .step_ns = step_ns, .due = now};
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (w != moving_->move.from && w != moving_->move.to) {
      moving_->others.push_back(w);
    }
  }
  request_poll(mover(), now);
  return true;
}

/// The worker that does the next step; for the last one any.
std::size_t VirtualSwitch::mover() const {
  constexpr std::size_t first_of_others = 3;
  const std::size_t step = moving_->step;
  if (step == 1) {
    return moving_->move.from;
  }
  return step >= first_of_others && step - first_of_others < moving_->others.size()
             ? moving_->others[step - first_of_others]
             : moving_->move.to;
}

void VirtualSwitch::continue_move(std::size_t w, TimeNs now) {
  if (!moving_ || moving_->due > now || mover() != w) {
    return;
  }
  Worker& worker = workers_[w];
  const placement::Move& move = moving_->move;
  constexpr std::size_t first_of_others = 3;
  std::vector<TreeNumber> trees;
  for (std::size_t t = move.bucket.value; t < max_trees; t += placement::bucket_count) {
    trees.emplace_back(static_cast<std::uint16_t>(t));
  }
  switch (moving_->step) {
  case 0: worker.unread[move.from] = true; break;
  case 1:
    moving_->state = worker.core->give_out(trees);
    moving_->account = worker.account->give_out(trees);
    worker.core->owners().trees.set(move.bucket, move.to);
    break;
  case 2:
    worker.core->take_in(moving_->state);
    worker.account->take_in(*moving_->account);
    worker.core->owners().trees.set(move.bucket, move.to);
    worker.unread[move.from] = false;
    worker.account->compare(*worker.core, now, now, 0);
    break;
  default:
    if (moving_->step - first_of_others < moving_->others.size()) {
      worker.core->owners().trees.set(move.bucket, move.to);
      break;
    }
    at_nic_.set(move.bucket, move.to);
    moving_.reset();
    ++moves_;
    for (std::size_t each = 0; each < workers_.size(); ++each) {
      request_poll(each, now + options_.poll_delay_ns); // new tables may have waited
    }
    return;
  }
  ++moving_->step;
  moving_->due = now + moving_->step_ns;
  request_poll(mover(), moving_->due);
}

void VirtualSwitch::link_changed(PortNumber port, bool up, TimeNs now) {
  if (up) {
    links_up_.insert(port);
  } else {
    links_up_.erase(port);
  }
  if (!crashed_) {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      request_poll(w, now + options_.poll_delay_ns);
    }
  }
}

/// Each core is notified of all ports; the owner of a port notifies its queues.
void VirtualSwitch::notice_links(std::size_t w, TimeNs now) {
  Worker& worker = workers_[w];
  const PortSet changed(worker.up.bits() ^ links_up_.bits());
  worker.up = links_up_;
  changed.for_each([&](PortNumber p) {
    const bool up = links_up_.contains(p);
    worker.core->port_changed(p, up);
    worker.account->port_changed(p, up);
    if (owner_of(p) != w) {
      return;
    }
    const std::uint32_t speed = surroundings_.link_at(index_, p).speed_mbps;
    ports_[p.value].out->link_changed(up, speed, now);
    ports_[p.value].pauses.forget();
    ports_[p.value].pauses.set_link_speed(speed);
  });
}

void VirtualSwitch::poll(std::uint32_t w, TimeNs now) {
  Worker& worker = workers_[w];
  if (worker.poll_at != now || !answers()) {
    return; // An earlier poll has replaced this one, or the switch is down.
  }
  now_ = now;
  worker.poll_at = never;
  worker.polled_at = now;
  notice_links(w, now);
  continue_move(w, now);
  // As the control thread publishes tables and moves trees one after the other.
  if (worker.next_tables && worker.adopt_at <= now && !moving_) {
    adopting_ = true;
    worker.account->begin_tables(worker.next_tables);
    worker.core->adopt(std::exchange(worker.next_tables, nullptr), now, *this);
    adopting_ = false;
    send_emissions(w, now);
    worker.account->end_tables();
    worker.account->compare(*worker.core, now, now, 0);
  }
  drain_rings(w, now);
  for (std::uint8_t p = 0; p < ports_.size(); ++p) {
    drain_port(w, PortNumber{p}, now);
  }
  expiring_ = w;
  worker.core->expire(now, *this);
  send_emissions(w, now);
  worker.account->expired(now, options_.no_buffer > 0);
  flush(w, now);

  if (worker.next_tables && !moving_) {
    request_poll(w, std::max(worker.adopt_at, now));
  }
  if (moving_ && mover() == w) {
    request_poll(w, std::max(moving_->due, now + 1));
  }
  const TimeNs due = worker.core->next_deadline();
  if (due != never) {
    request_poll(w, due > now ? due : now + retry_emission_ns);
  }
}

/// Sends what the queues may send now, and the pauses that result from the rest.
void VirtualSwitch::flush(std::size_t w, TimeNs now) {
  Worker& worker = workers_[w];
  send_pauses(w, now); // A link that is always busy has room for them before the queues fill it.
  worker.ports.for_each([&](PortNumber p) {
    Port& port = ports_[p.value];
    if (port.pushed || port.out->held() > 0 || port.flush_at <= now) {
      port.pushed = false;
      port.flush_at = port.out->flush(now);
      report_stuck(p);
    }
    if (port.flush_at != never) {
      request_poll(w, std::max(port.flush_at, now + 1));
    }
  });
  const std::string differs = worker.ingress_account->compare(*worker.ingress);
  expect(differs.empty(), differs);
  report_wanted(w, now);
  send_pauses(w, now);
}

void VirtualSwitch::report_stuck(PortNumber p) {
  const ClassSet now = ports_[p.value].out->given_up();
  if (std::exchange(ports_[p.value].given_up, now) == now) {
    return;
  }
  for (std::uint8_t c = 0; c < traffic_classes; ++c) {
    PortSet stuck;
    for (std::uint8_t i = 0; i < ports_.size(); ++i) {
      if (ports_[i].given_up.contains(TrafficClass{c})) {
        stuck.insert(PortNumber{i});
      }
    }
    for (Worker& worker : workers_) {
      worker.core->stuck_changed(TrafficClass{c}, stuck);
      worker.account->stuck_changed(TrafficClass{c}, stuck);
    }
  }
}

void VirtualSwitch::report_wanted(std::size_t w, TimeNs now) {
  Worker& worker = workers_[w];
  for (std::uint8_t p = 0; p < ports_.size(); ++p) {
    const ClassSet wanted = worker.ingress->wanted(PortNumber{p});
    if (std::exchange(worker.wanted[p], wanted) != wanted && owner_of(PortNumber{p}) != w) {
      request_poll(owner_of(PortNumber{p}), now + options_.poll_delay_ns);
    }
  }
}

void VirtualSwitch::send_pauses(std::size_t w, TimeNs now) {
  workers_[w].ports.for_each([&](PortNumber p) {
    Port& port = ports_[p.value];
    ClassSet wanted;
    for (const Worker& worker : workers_) {
      wanted = wanted | worker.ingress->wanted(p);
    }
    if (const auto pause = links_up_.contains(p) ? port.pauses.due(wanted, now) : std::nullopt) {
      std::array<std::byte, wire::pause_frame_bytes> bytes;
      wire::encode(*pause, wire::port_mac(Nid{index_}), bytes);
      const FrameIndex frame = surroundings_.frames().take(bytes);
      if (surroundings_.transmit(index_, p, frame, now)) {
        ++accounting_.pauses_sent;
        port.pauses.sent(*pause, now);
      } else { // until the link is free
        surroundings_.frames().release(frame);
      }
    }
    if (const TimeNs due = port.pauses.next_deadline(); due > now && due != never) {
      request_poll(w, due);
    }
  });
}

bool VirtualSwitch::hand_over(std::size_t from, std::size_t to, const Handoff& item,
                              PortNumber counted_at, TimeNs now) {
  auto& ring = workers_[to].rings[from];
  if (ring.size() >= options_.handoff_frames) {
    drop(from, counted_at, core::DropReason::handoff_full, item.frame);
    return false;
  }
  ring.push_back(item);
  request_poll(to, now + options_.poll_delay_ns);
  return true;
}

bool VirtualSwitch::keep_or_hand_over(std::size_t w, const Arrived& arrived, TimeNs now) {
  if (options_.placed) {
    return true; // the core decides that
  }
  const auto bytes = surroundings_.frames()[arrived.frame].bytes();
  const PortNumber engine = workers_[w].core->engine_port(
      arrived.in, {bytes.data(), static_cast<std::uint32_t>(bytes.size())});
  if (engine.value >= ports_.size() ||
      engine != workers_[w].account->engine_port(arrived.in, bytes)) {
    expect(false,
           fmt::format("engine_port() named port {}, which has not the engine", engine.value));
  }
  if (owner_of(engine) == w) {
    return true;
  }
  hand_over_to_process(w, owner_of(engine), arrived, now);
  return false;
}

void VirtualSwitch::hand_over_to_process(std::size_t from, std::size_t to, const Arrived& arrived,
                                         TimeNs now) {
  if (!hand_over(from, to, {arrived.frame, arrived.in}, arrived.in, now)) {
    ++accounting_.handoff_full;
    --accounting_.waiting;
  }
}

void VirtualSwitch::drain_rings(std::size_t w, TimeNs now) {
  for (std::size_t from = 0; from < workers_.size(); ++from) {
    if (workers_[w].unread[from]) {
      continue;
    }
    auto& ring = workers_[w].rings[from];
    // Only frames that are there now: one that this worker's tables send elsewhere goes back.
    for (std::size_t n = ring.size(); n > 0; --n) {
      const Handoff item = ring.front();
      ring.pop_front();
      if (item.out != no_port) {
        --accounting_.crossing;
        push(w, item.in, item.out, item.frame, now);
      } else if (keep_or_hand_over(w, {item.in, item.frame}, now)) {
        process(w, item.in, {&item.frame, 1}, now);
      }
    }
  }
}

bool VirtualSwitch::enter_port(std::size_t w, PortNumber p, FrameIndex index, TimeNs now) {
  Port& port = ports_[p.value];
  WireFrame& frame = surroundings_.frames()[index];
  const auto bytes = frame.bytes();
  std::optional<core::DropReason> refused;
  if (bytes.size() >= wire::ethernet_header_bytes && wire::is_mac_control(bytes.data())) {
    wire::PauseFrame pause;
    if (wire::decode(bytes, pause) == wire::PauseError::none) {
      port.out->pause(pause, now);
      port.pushed = true;
      ++accounting_.paused;
      --accounting_.waiting;
      surroundings_.frames().release(index);
      return false;
    }
    refused = core::DropReason::bad_pause;
  } else if (port.edge) {
    refused = frame.arrive(*port.edge);
  } else {
    frame.traffic_class = {};
  }
  if (refused) {
    drop(w, p, *refused, index);
    ++accounting_.refused;
    --accounting_.waiting;
    return false;
  }
  return keep_or_hand_over(w, {p, index}, now);
}

/// The queues of the port that this worker polls.
void VirtualSwitch::drain_port(std::size_t w, PortNumber port, TimeNs now) {
  if (ports_[port.value].received.size() > 1) {
    drain_queue(w, port, w, now);
  } else if (owner_of(port) == w) {
    drain_queue(w, port, 0, now);
  }
}

void VirtualSwitch::drain_queue(std::size_t w, PortNumber port, std::size_t number, TimeNs now) {
  auto& queue = ports_[port.value].received[number];
  std::vector<FrameIndex> burst;
  while (!queue.empty()) {
    burst.clear();
    while (!queue.empty() && burst.size() < burst_size) {
      const FrameIndex frame = queue.front();
      queue.pop_front();
      if (enter_port(w, port, frame, now)) {
        burst.push_back(frame);
      }
    }
    process(w, port, burst, now);
  }
}

/// One decision carried out, and entered in the accounting; see core/dispatch.hpp.
class VirtualSwitch::Performing {
public:
  Performing(VirtualSwitch& at, std::size_t worker, PortNumber in, FrameIndex frame,
             const core::Decision& decision, const WireFrame& original, TimeNs now)
      : at_(at), worker_(worker), frames_(at.surroundings_.frames()), in_(in), frame_(frame),
        decision_(decision), original_(original), now_(now) {}

  bool release(std::size_t, std::size_t) {
    ++(decision_.action == core::Action::drop     ? at_.accounting_.dropped
       : decision_.action == core::Action::absorb ? at_.accounting_.absorbed
                                                  : at_.accounting_.delivered);
    if (decision_.action == core::Action::drop) {
      at_.surroundings_.lost(at_.index_, frame_, name_of(decision_.reason));
    }
    frames_.release(frame_);
    return true;
  }
  bool deliver(std::size_t) {
    expect_unchanged("delivered");
    at_.surroundings_.deliver(at_.index_, in_, original_.bytes(), now_);
    return true;
  }
  std::size_t send(std::size_t, std::size_t count, PortNumber port, std::uint8_t traffic_class) {
    at_.expect(count == 1, "dispatched one decision, and was given more frames than one");
    ++at_.accounting_.forwarded;
    expect_unchanged("forwarded");
    frames_[frame_].traffic_class = TrafficClass{traffic_class};
    at_.send(worker_, in_, port, frame_, now_);
    return count;
  }
  std::size_t send_results(std::size_t, std::size_t count, PortNumber port, std::uint16_t length,
                           std::uint8_t traffic_class) {
    at_.expect(count == 1, "dispatched one decision, and was given more results than one");
    ++at_.accounting_.completed;
    const auto result = frames_[frame_].bytes();
    at_.expect(result.size() >= length, "emitted a frame that is too short");
    const FrameIndex emitted =
        frames_.take(result.first(std::min<std::size_t>(result.size(), length)));
    frames_[emitted].traffic_class = TrafficClass{traffic_class};
    frames_[emitted].arrived_class = original_.traffic_class;
    frames_.release(frame_);
    at_.send(worker_, in_, port, emitted, now_);
    return count;
  }
  std::size_t hand_over(std::size_t, std::size_t count, std::size_t to) {
    expect_unchanged("handed over");
    at_.expect(to < at_.workers_.size() && to != worker_, "handed a frame over to nobody else");
    ++at_.accounting_.waiting; // still
    at_.hand_over_to_process(worker_, to, {in_, frame_}, now_);
    return count;
  }
  bool replicate(std::size_t, std::size_t, PortSet ports, std::uint8_t) {
    ++at_.accounting_.replicated;
    expect_unchanged("replicated");
    at_.expect(!ports.contains(in_), "replicated a frame to the port it came in on");
    ports.for_each([&](PortNumber port) {
      ++at_.accounting_.copies_sent;
      at_.send(worker_, in_, port, frames_.copy(frame_), now_);
    });
    frames_.release(frame_);
    return true;
  }

  bool replicate_result(std::size_t, PortSet ports, PortNumber, std::uint16_t length,
                        std::uint8_t traffic_class) {
    ++at_.accounting_.replicated;
    const auto result = frames_[frame_].bytes();
    at_.expect(result.size() >= length,
               "the frame is too short for the result that is to be replicated");
    const FrameIndex result_frame =
        frames_.take(result.first(std::min<std::size_t>(result.size(), length)));
    frames_[result_frame].traffic_class = TrafficClass{traffic_class};
    frames_[result_frame].arrived_class = original_.traffic_class;
    frames_.release(frame_);
    ports.for_each([&](PortNumber port) {
      ++at_.accounting_.copies_sent;
      at_.send(worker_, in_, port, frames_.copy(result_frame), now_);
    });
    frames_.release(result_frame);
    return true;
  }

private:
  void expect_unchanged(const char* how) {
    if (!std::ranges::equal(frames_[frame_].bytes(), original_.bytes())) {
      at_.expect(false,
                 std::string(how) + " a frame and changed it: " + describe(original_.bytes()));
    }
  }

  VirtualSwitch& at_;
  std::size_t worker_;
  FramePool& frames_;
  PortNumber in_;
  FrameIndex frame_;
  const core::Decision& decision_;
  const WireFrame& original_;
  TimeNs now_;
};

void VirtualSwitch::process(std::size_t w, PortNumber in, std::span<const FrameIndex> burst,
                            TimeNs now) {
  std::vector<core::FrameView> views;
  std::vector<WireFrame> originals;
  for (const FrameIndex frame : burst) {
    const auto bytes = surroundings_.frames()[frame].bytes();
    views.push_back({bytes.data(), static_cast<std::uint32_t>(bytes.size()),
                     surroundings_.frames()[frame].traffic_class.value});
    surroundings_.frames()[frame].arrived_class = surroundings_.frames()[frame].traffic_class;
    originals.push_back(surroundings_.frames()[frame]);
  }
  std::vector<core::Decision> decisions(burst.size());
  if (burst.size() == 1) {
    decisions[0] = workers_[w].core->process(in, views[0], now);
  } else {
    workers_[w].core->process_burst(in, views, now, decisions);
  }
  accounting_.waiting -= burst.size();
  for (std::size_t i = 0; i < burst.size(); ++i) {
    const WireFrame& original = originals[i];
    surroundings_.note(index_, in, decisions[i], original.bytes(), now);
    const core::Decision& decision = decisions[i];
    if (decision.action != core::Action::drop && original.header_damaged) {
      expect(false, "believed a frame whose header was damaged: " + describe(original.bytes()));
    }
    const bool leaves = decision.action == core::Action::forward ||
                        decision.action == core::Action::replicate ||
                        decision.action == core::Action::emit;
    const bool routed = decision.event == core::Event::unicast ||
                        decision.event == core::Event::detoured; // the account checks those
    if (leaves && !routed && decision.traffic_class != original.traffic_class.value) {
      expect(false, fmt::format("a frame of class {} leaves in class {}",
                                original.traffic_class.value, decision.traffic_class));
    }
    std::span<const std::byte> after = surroundings_.frames()[burst[i]].bytes();
    if (decision.action == core::Action::emit ||
        decision.action == core::Action::replicate_result) {
      after = after.first(std::min<std::size_t>(after.size(), decision.length));
    }
    if (decision.action == core::Action::hand_over) {
      check_hand_over(w, in, original.bytes(), decision);
    } else {
      workers_[w].account->judge(in, original.bytes(), original.traffic_class, decisions[i], after,
                                 now);
    }
    core::dispatch(std::span(&decisions[i], 1),
                   Performing(*this, w, in, burst[i], decisions[i], original, now));
  }
}

/// By the frame's bytes alone, as a NIC would place it.
void VirtualSwitch::check_hand_over(std::size_t w, PortNumber in, std::span<const std::byte> bytes,
                                    const core::Decision& decision) {
  const std::size_t owner = placement::worker_of(bytes.data(), bytes.size(),
                                                 workers_[w].core->owners().trees, w, owner_of(in));
  expect(options_.placed && decision.port.value == owner,
         fmt::format("a frame of worker {} was handed over to {}", owner, decision.port.value));
}

void VirtualSwitch::send_from_agent(PortNumber port, std::span<const std::byte> bytes, TimeNs now) {
  if (!answers()) {
    return;
  }
  now_ = now;
  ++accounting_.agent_sent;
  const std::size_t owner = owner_of(port);
  const FrameIndex frame = surroundings_.frames().take(bytes);
  surroundings_.frames()[frame].traffic_class = egress::control_class(options_.queues);
  send(owner, no_port, port, frame, now);
  request_poll(owner, now);
}

void VirtualSwitch::send(std::size_t w, PortNumber in, PortNumber out, FrameIndex frame,
                         TimeNs now) {
  ++accounting_.sent;
  if (out.value >= ports_.size()) {
    expect(false, fmt::format("sent a frame out of port {}, which does not exist", out.value));
    surroundings_.frames().release(frame);
    return;
  }
  const std::size_t owner = owner_of(out);
  if (owner == w) {
    push(w, in, out, frame, now);
  } else if (hand_over(w, owner, {frame, in, out}, out, now)) {
    ++accounting_.crossing;
  } else {
    ++accounting_.crossing_full;
  }
}

void VirtualSwitch::push(std::size_t w, PortNumber in, PortNumber out, FrameIndex frame,
                         TimeNs now) {
  if (!workers_[w].up.contains(out)) { // The deciding worker did not know yet.
    drop(w, out, core::DropReason::port_down, frame);
    ++accounting_.port_down;
    return;
  }
  ports_[out.value].pushed = true;
  const WireFrame& leaving = surroundings_.frames()[frame];
  ports_[out.value].out->push(frame, leaving.traffic_class, {in, leaving.arrived_class}, now);
}

void VirtualSwitch::drop(std::size_t w, PortNumber at, core::DropReason reason, FrameIndex frame) {
  count_drop(w, at, reason);
  surroundings_.lost(index_, frame, name_of(reason));
  surroundings_.frames().release(frame);
}

void VirtualSwitch::count_drop(std::size_t w, PortNumber at, core::DropReason reason) {
  workers_[w].core->counters().drop(at, reason);
  workers_[w].account->dropped_by_shell(at, reason);
}

bool VirtualSwitch::take(std::uint32_t port, FrameIndex frame) {
  const bool taken =
      surroundings_.transmit(index_, PortNumber{static_cast<std::uint8_t>(port)}, frame, now_);
  accounting_.left += taken ? 1 : 0;
  return taken;
}

void VirtualSwitch::dropped(std::uint32_t p, FrameIndex frame, core::DropReason why) {
  if (crashed_) {
    lose_in_crash(frame);
    return;
  }
  const PortNumber port{static_cast<std::uint8_t>(p)};
  ++accounting_.queue_drops;
  drop(owner_of(port), port, why, frame);
}

void VirtualSwitch::lose_in_crash(FrameIndex frame) {
  ++accounting_.lost_in_crash;
  surroundings_.lost(index_, frame, "crash");
  surroundings_.frames().release(frame);
}

void VirtualSwitch::violation(std::uint32_t port, const std::string& what) {
  expect(false, fmt::format("port {}, {}", port, what));
}

std::byte* VirtualSwitch::buffer(PortNumber port, std::uint32_t length, TrafficClass c) {
  // Emission is not repeated when tables change, so the lack of buffers applies only to timers.
  if (!adopting_ && !surroundings_.buffer_is_free(options_.no_buffer)) {
    workers_[expiring_].account->delayed(port);
    return nullptr;
  }
  const std::vector<std::byte> blank(length);
  const FrameIndex frame = surroundings_.frames().take(blank);
  surroundings_.frames()[frame].traffic_class = c;
  emissions_.push_back({port, frame});
  return surroundings_.frames()[frame].bytes().data();
}

void VirtualSwitch::send_emissions(std::size_t w, TimeNs now) {
  for (const Emitted& emission : std::exchange(emissions_, {})) {
    ++accounting_.partials_sent;
    const core::Decision decision{
        .action = core::Action::emit, .event = core::Event::emitted_partial, .port = emission.port};
    const auto bytes = surroundings_.frames()[emission.frame].bytes();
    workers_[w].account->emitted(emission.port, bytes, now);
    surroundings_.note(index_, no_port, decision, bytes, now);
    send(w, no_port, emission.port, emission.frame, now);
  }
}

void VirtualSwitch::crash() {
  audit();
  crashed_ = true;
  const auto lose = [&](FrameIndex frame) { lose_in_crash(frame); };
  for (Port& port : ports_) {
    for (auto& queue : port.received) {
      std::ranges::for_each(std::exchange(queue, {}), lose);
    }
    port.out->link_changed(false, 0, now_);
  }
  for (auto& worker : workers_) {
    for (auto& ring : worker.rings) {
      for (const Handoff& item : std::exchange(ring, {})) {
        lose(item.frame);
      }
    }
    worker.next_tables = nullptr;
    worker.poll_at = never;
  }
  accounting_.waiting = accounting_.crossing = 0;
}

void VirtualSwitch::restart(TimeNs now) {
  now_ = now;
  if (!crashed_) { // what it holds is lost as well
    crash();
  }
  crashed_ = false;
  accounting_ = {};
  for (Worker& worker : workers_) {
    worker.poll_at = never;
  }
  start_cores();
  publish(tables_, now, 0);
}

void VirtualSwitch::end_silence(TimeNs now) {
  silent_ = false;
  answers_since_ = now;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    workers_[w].poll_at = never;
    request_poll(w, now);
  }
}

void VirtualSwitch::check_descriptors(TimeNs now, std::uint64_t slack_ns) {
  if (!answers()) {
    return;
  }
  for (const auto& worker : workers_) {
    const std::uint64_t again_ns = std::max(retry_emission_ns, worker.slowest_ns);
    const std::uint64_t slack =
        slack_ns + worker.slowest_ns + (options_.no_buffer > 0 ? 50 * again_ns : 0);
    worker.account->compare(*worker.core, now, answers_since_, slack);
  }
}

std::size_t VirtualSwitch::descriptors_in_use() const {
  std::size_t n = 0;
  for (const auto& worker : workers_) {
    worker.core->for_each_descriptor([&](const core::DescriptorView&) { ++n; });
  }
  return n;
}

std::uint64_t VirtualSwitch::drops(core::DropReason reason) const {
  std::uint64_t n = 0;
  for (const auto& worker : workers_) {
    for (const auto& port : worker.core->counters().ports) {
      n += port.drops[static_cast<std::size_t>(reason)].read();
    }
  }
  return n;
}

std::size_t VirtualSwitch::queued() const {
  std::size_t n = 0;
  for (const Port& port : ports_) {
    n += port.out->held();
  }
  return n;
}

std::uint64_t VirtualSwitch::engines(core::Counter core::EngineCounters::*counter) const {
  std::uint64_t n = 0;
  for (const auto& worker : workers_) {
    for (const auto& engine : worker.core->counters().engines) {
      n += (engine.*counter).read();
    }
  }
  return n;
}

std::uint64_t VirtualSwitch::trees(core::Counter core::TreeCounters::*counter) const {
  std::uint64_t n = 0;
  for (const auto& worker : workers_) {
    for (const auto& tree : worker.core->counters().trees) {
      n += (tree.*counter).read();
    }
  }
  return n;
}

void VirtualSwitch::audit() {
  if (crashed_) {
    return; // The crash has audited this already.
  }
  const auto agree = [&](std::string_view what, std::uint64_t counted, std::uint64_t expected) {
    expect(counted == expected, fmt::format("{}: {} instead of {}", what, counted, expected));
  };
  const SwitchAccounting& b = accounting_;
  agree("frames that came in and went somewhere",
        b.dropped + b.absorbed + b.forwarded + b.completed + b.replicated + b.delivered + b.paused +
            b.refused + b.handoff_full + b.waiting,
        b.received);
  agree("frames sent", b.forwarded + b.completed + b.copies_sent + b.partials_sent + b.agent_sent,
        b.sent);
  agree("frames sent that left, wait, or were dropped",
        b.left + b.queue_drops + b.port_down + b.crossing + b.crossing_full + queued(), b.sent);
  for (const Port& port : ports_) {
    port.out->audit();
  }

  for (const auto& worker : workers_) {
    worker.account->audit(*worker.core);
  }
}

} // namespace tributary::fabric
