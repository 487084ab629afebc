#include "tests/fabric/virtual_switch.hpp"

#include "tests/fabric/describe.hpp"
#include "tributary/wire/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::fabric {

namespace {
constexpr std::size_t burst_size = 32;
/// How soon a worker looks again when a timer's emission found no buffer.
constexpr std::uint64_t retry_emission_ns = 20'000;
} // namespace

VirtualSwitch::VirtualSwitch(SwitchIndex index, std::size_t port_count,
                             const SwitchOptions& options, SwitchSurroundings& surroundings)
    : index_(index), options_(options), surroundings_(surroundings), workers_(options.workers),
      receive_queues_(port_count) {
  for (std::size_t p = 0; p < port_count; ++p) {
    const PortNumber port{static_cast<std::uint8_t>(p)};
    workers_[owner_of(port)].ports.insert(port);
  }
  start_cores();
}

void VirtualSwitch::start_cores() {
  for (auto& worker : workers_) {
    worker.core = std::make_unique<core::SwitchCore>(options_.settings, worker.ports);
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

void VirtualSwitch::request_poll(std::size_t worker, TimeNs at) {
  if (at < workers_[worker].poll_at) {
    workers_[worker].poll_at = at;
    surroundings_.schedule_poll(index_, static_cast<std::uint32_t>(worker), at);
  }
}

void VirtualSwitch::receive(PortNumber in, FrameIndex frame, TimeNs now) {
  ++books_.received;
  ++books_.waiting;
  receive_queues_[in.value].push_back(frame);
  request_poll(owner_of(in), now + options_.poll_delay_ns);
}

void VirtualSwitch::poll(std::uint32_t w, TimeNs now) {
  Worker& worker = workers_[w];
  if (worker.poll_at != now || !answers()) {
    return; // An earlier poll has taken this one's place, or nobody is at home.
  }
  worker.poll_at = never;
  if (worker.next_tables && worker.adopt_at <= now) {
    adopting_ = true;
    worker.core->adopt(std::exchange(worker.next_tables, nullptr), now, *this);
    adopting_ = false;
    send_emissions(w, now);
    check_ledger(worker);
  }
  drain_ring(w, now);
  worker.ports.for_each([&](PortNumber port) { drain_port(w, port, now); });
  worker.core->expire(now, *this);
  send_emissions(w, now);

  if (worker.next_tables) {
    request_poll(w, worker.adopt_at);
  }
  const TimeNs due = worker.core->next_deadline();
  if (due != never) {
    request_poll(w, due > now ? due : now + retry_emission_ns);
  }
}

bool VirtualSwitch::keep_or_hand_over(std::size_t w, const Arrived& arrived, TimeNs now) {
  const auto bytes = surroundings_.frames()[arrived.frame].bytes();
  const PortNumber engine = workers_[w].core->engine_port(
      arrived.in, {bytes.data(), static_cast<std::uint32_t>(bytes.size())});
  expect(engine.value < receive_queues_.size(),
         fmt::format("engine_port() named port {}, which does not exist", engine.value));
  const std::size_t owner = owner_of(engine);
  if (owner == w) {
    return true;
  }
  workers_[owner].ring.push_back(arrived);
  request_poll(owner, now + options_.poll_delay_ns);
  return false;
}

void VirtualSwitch::drain_ring(std::size_t w, TimeNs now) {
  // Only what lies in the ring now: a frame that this worker's tables send elsewhere goes back.
  for (std::size_t n = workers_[w].ring.size(); n > 0; --n) {
    const Arrived arrived = workers_[w].ring.front();
    workers_[w].ring.pop_front();
    if (keep_or_hand_over(w, arrived, now)) {
      process(w, arrived.in, {&arrived.frame, 1}, now);
    }
  }
}

void VirtualSwitch::drain_port(std::size_t w, PortNumber port, TimeNs now) {
  auto& queue = receive_queues_[port.value];
  std::vector<FrameIndex> burst;
  while (!queue.empty()) {
    burst.clear();
    while (!queue.empty() && burst.size() < burst_size) {
      if (keep_or_hand_over(w, {port, queue.front()}, now)) {
        burst.push_back(queue.front());
      }
      queue.pop_front();
    }
    process(w, port, burst, now);
  }
}

void VirtualSwitch::process(std::size_t w, PortNumber in, std::span<const FrameIndex> burst,
                            TimeNs now) {
  std::vector<core::FrameView> views;
  std::vector<WireFrame> originals;
  for (const FrameIndex frame : burst) {
    const auto bytes = surroundings_.frames()[frame].bytes();
    views.push_back({bytes.data(), static_cast<std::uint32_t>(bytes.size())});
    originals.push_back(surroundings_.frames()[frame]);
  }
  std::vector<core::Decision> decisions(burst.size());
  if (burst.size() == 1) {
    decisions[0] = workers_[w].core->process(in, views[0], now);
  } else {
    workers_[w].core->process_burst(in, views, now, decisions);
  }
  books_.waiting -= burst.size();
  for (std::size_t i = 0; i < burst.size(); ++i) {
    surroundings_.note(index_, in, decisions[i], originals[i].bytes(), now);
    perform(w, in, burst[i], decisions[i], originals[i], now);
  }
}

void VirtualSwitch::perform(std::size_t w, PortNumber in, FrameIndex frame,
                            const core::Decision& decision, const WireFrame& original, TimeNs now) {
  FramePool& frames = surroundings_.frames();
  const auto unchanged = [&] {
    return std::ranges::equal(frames[frame].bytes(), original.bytes());
  };
  expect(decision.action == core::Action::drop || !original.header_damaged,
         "believed a frame whose header was damaged: " + describe(original.bytes()));
  const std::string fault =
      workers_[w].ledger.enter(decision.event, original.bytes(), frames[frame].bytes());
  expect(fault.empty(), fault);
  switch (decision.action) {
  case core::Action::drop:
    ++books_.dropped;
    frames.release(frame);
    return;
  case core::Action::absorb:
    ++books_.absorbed;
    frames.release(frame);
    return;
  case core::Action::forward:
    ++books_.forwarded;
    expect(unchanged(), "forwarded a frame and changed it: " + describe(original.bytes()));
    send(decision.port, frame, now);
    return;
  case core::Action::emit: {
    ++books_.completed;
    const auto result = frames[frame].bytes();
    expect(result.size() >= wire::reduction_frame_bytes, "emitted a frame that is too short");
    const FrameIndex emitted =
        frames.take(result.first(std::min(result.size(), wire::reduction_frame_bytes)));
    frames.release(frame);
    send(decision.port, emitted, now);
    return;
  }
  case core::Action::replicate:
    ++books_.replicated;
    expect(unchanged(), "replicated a frame and changed it: " + describe(original.bytes()));
    expect(!decision.ports.contains(in), "replicated a frame to the port it came in on");
    decision.ports.for_each([&](PortNumber port) {
      ++books_.copies_sent;
      send(port, frames.copy(frame), now);
    });
    frames.release(frame);
    return;
  case core::Action::deliver:
    ++books_.delivered;
    expect(unchanged(), "delivered a frame and changed it: " + describe(original.bytes()));
    surroundings_.deliver(index_, in, original.bytes(), now);
    frames.release(frame);
    return;
  }
}

void VirtualSwitch::send_from_agent(PortNumber port, std::span<const std::byte> bytes, TimeNs now) {
  if (!answers()) {
    return;
  }
  ++books_.agent_sent;
  send(port, surroundings_.frames().take(bytes), now);
}

void VirtualSwitch::send(PortNumber port, FrameIndex frame, TimeNs now) {
  ++books_.sent;
  if (port.value >= receive_queues_.size()) {
    expect(false, fmt::format("sent a frame out of port {}, which does not exist", port.value));
    surroundings_.frames().release(frame);
    return;
  }
  surroundings_.transmit(index_, port, frame, now);
}

std::byte* VirtualSwitch::buffer(PortNumber port) {
  // When tables change there is no second chance, so trouble with buffers is a matter of timers.
  if (!adopting_ && !surroundings_.buffer_is_free(options_.no_buffer)) {
    return nullptr;
  }
  constexpr std::array<std::byte, wire::reduction_frame_bytes> blank{};
  const FrameIndex frame = surroundings_.frames().take(blank);
  emissions_.push_back({port, frame});
  return surroundings_.frames()[frame].bytes().data();
}

void VirtualSwitch::send_emissions(std::size_t w, TimeNs now) {
  for (const Arrived& emission : std::exchange(emissions_, {})) {
    ++books_.partials_sent;
    const core::Decision decision{
        .action = core::Action::emit, .event = core::Event::emitted_partial, .port = emission.in};
    const auto bytes = surroundings_.frames()[emission.frame].bytes();
    const std::string fault = workers_[w].ledger.enter(decision.event, bytes, bytes);
    expect(fault.empty(), fault);
    surroundings_.note(index_, no_port, decision, bytes, now);
    send(emission.in, emission.frame, now);
  }
}

void VirtualSwitch::crash() {
  audit();
  crashed_ = true;
  const auto lose = [&](FrameIndex frame) {
    surroundings_.frames().release(frame);
    --books_.waiting;
    ++books_.lost_in_crash;
  };
  for (auto& queue : receive_queues_) {
    std::ranges::for_each(std::exchange(queue, {}), lose);
  }
  for (auto& worker : workers_) {
    for (const Arrived& arrived : std::exchange(worker.ring, {})) {
      lose(arrived.frame);
    }
    worker.next_tables = nullptr;
    worker.poll_at = never;
    worker.ledger.clear();
  }
}

void VirtualSwitch::restart(TimeNs now) {
  crashed_ = false;
  books_ = {};
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

void VirtualSwitch::check_ledger(const Worker& worker) {
  const std::string fault = worker.ledger.compare(*worker.core);
  expect(fault.empty(), fault);
}

void VirtualSwitch::check_descriptors(TimeNs now, std::uint64_t slack_ns) {
  if (!answers()) {
    return;
  }
  const std::uint64_t slack = slack_ns + (options_.no_buffer > 0 ? 50 * retry_emission_ns : 0);
  for (const auto& worker : workers_) {
    check_ledger(worker);
    worker.core->for_each_descriptor([&](const core::DescriptorView& d) {
      const std::uint64_t late_ns = elapsed_ns(now, std::max(d.deadline, answers_since_));
      expect(late_ns <= slack,
             fmt::format("the descriptor of tree {}/{} has been occupied {} ns past its timer",
                         d.key.tree().value, d.key.reduction().value, late_ns));
    });
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
    return; // The crash audited what it ended.
  }
  const auto agree = [&](std::string_view what, std::uint64_t counted, std::uint64_t expected) {
    expect(counted == expected, fmt::format("{}: {} instead of {}", what, counted, expected));
  };
  const SwitchBooks& b = books_;
  agree("frames that came in and went somewhere",
        b.dropped + b.absorbed + b.forwarded + b.completed + b.replicated + b.delivered + b.waiting,
        b.received);
  agree("frames sent", b.forwarded + b.completed + b.copies_sent + b.partials_sent + b.agent_sent,
        b.sent);

  std::uint64_t dropped = 0;
  for (std::size_t r = 0; r < core::drop_reason_count; ++r) {
    const auto reason = static_cast<core::DropReason>(r);
    // Contributions lost for want of a buffer are not frames any more.
    dropped += reason == core::DropReason::no_buffer ? 0 : drops(reason);
  }
  agree("drops counted by reason", dropped, b.dropped);
  agree("contributions counted by engines", engines(&core::EngineCounters::contributions),
        b.absorbed + b.completed);
  agree("reductions counted full by engines", engines(&core::EngineCounters::full), b.completed);
  agree("reductions counted full by trees", trees(&core::TreeCounters::full), b.completed);
  agree("reductions counted partial by engines", engines(&core::EngineCounters::partial),
        b.partials_sent);
  agree("reductions counted partial by trees", trees(&core::TreeCounters::partial),
        b.partials_sent);
}

} // namespace tributary::fabric
