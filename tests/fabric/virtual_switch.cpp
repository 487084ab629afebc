#include "tests/fabric/virtual_switch.hpp"

#include "dataplane/core/dispatch.hpp"
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
    worker.account = std::make_unique<SwitchAccount>(
        options_.settings, [this](const std::string& what) { expect(false, what); });
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
    worker.account->begin_tables(worker.next_tables);
    worker.core->adopt(std::exchange(worker.next_tables, nullptr), now, *this);
    adopting_ = false;
    send_emissions(w, now);
    worker.account->end_tables();
    worker.account->compare(*worker.core, now, now, 0);
  }
  drain_ring(w, now);
  worker.ports.for_each([&](PortNumber port) { drain_port(w, port, now); });
  worker.core->expire(now, *this);
  send_emissions(w, now);
  worker.account->expired(now, options_.no_buffer > 0);

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
  expect(engine == workers_[w].account->engine_port(arrived.in, bytes),
         fmt::format("engine_port() named port {}, which has not the engine", engine.value));
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

/// One decision carried out, and entered in the books; see core/dispatch.hpp.
class VirtualSwitch::Performing {
public:
  Performing(VirtualSwitch& at, PortNumber in, FrameIndex frame, const core::Decision& decision,
             const WireFrame& original, TimeNs now)
      : at_(at), frames_(at.surroundings_.frames()), in_(in), frame_(frame), decision_(decision),
        original_(original), now_(now) {}

  bool release(std::size_t) {
    ++(decision_.action == core::Action::drop     ? at_.books_.dropped
       : decision_.action == core::Action::absorb ? at_.books_.absorbed
                                                  : at_.books_.delivered);
    frames_.release(frame_);
    return true;
  }
  bool deliver(std::size_t) {
    expect_unchanged("delivered");
    at_.surroundings_.deliver(at_.index_, in_, original_.bytes(), now_);
    return true;
  }
  bool send(std::size_t, PortNumber port, std::uint8_t) {
    ++at_.books_.forwarded;
    expect_unchanged("forwarded");
    at_.send(port, frame_, now_);
    return true;
  }
  bool send_result(std::size_t, PortNumber port, std::uint16_t length, std::uint8_t) {
    ++at_.books_.completed;
    const auto result = frames_[frame_].bytes();
    at_.expect(result.size() >= length, "emitted a frame that is too short");
    const FrameIndex emitted =
        frames_.take(result.first(std::min<std::size_t>(result.size(), length)));
    frames_.release(frame_);
    at_.send(port, emitted, now_);
    return true;
  }
  bool replicate(std::size_t, std::size_t, PortSet ports, std::uint8_t) {
    ++at_.books_.replicated;
    expect_unchanged("replicated");
    at_.expect(!ports.contains(in_), "replicated a frame to the port it came in on");
    ports.for_each([&](PortNumber port) {
      ++at_.books_.copies_sent;
      at_.send(port, frames_.copy(frame_), now_);
    });
    frames_.release(frame_);
    return true;
  }

private:
  void expect_unchanged(const std::string& how) {
    at_.expect(std::ranges::equal(frames_[frame_].bytes(), original_.bytes()),
               how + " a frame and changed it: " + describe(original_.bytes()));
  }

  VirtualSwitch& at_;
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
    const WireFrame& original = originals[i];
    surroundings_.note(index_, in, decisions[i], original.bytes(), now);
    expect(decisions[i].action == core::Action::drop || !original.header_damaged,
           "believed a frame whose header was damaged: " + describe(original.bytes()));
    workers_[w].account->judge(in, original.bytes(), decisions[i],
                               surroundings_.frames()[burst[i]].bytes(), now);
    core::dispatch(std::span(&decisions[i], 1),
                   Performing(*this, in, burst[i], decisions[i], original, now));
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

std::byte* VirtualSwitch::buffer(PortNumber port, std::uint32_t length) {
  // When tables change there is no second chance, so trouble with buffers is a matter of timers.
  if (!adopting_ && !surroundings_.buffer_is_free(options_.no_buffer)) {
    workers_[owner_of(port)].account->delayed(port);
    return nullptr;
  }
  const std::vector<std::byte> blank(length);
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
    workers_[w].account->emitted(emission.in, bytes, now);
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

void VirtualSwitch::check_descriptors(TimeNs now, std::uint64_t slack_ns) {
  if (!answers()) {
    return;
  }
  const std::uint64_t slack = slack_ns + (options_.no_buffer > 0 ? 50 * retry_emission_ns : 0);
  for (const auto& worker : workers_) {
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

  for (const auto& worker : workers_) {
    worker.account->audit(*worker.core);
  }
}

} // namespace tributary::fabric
