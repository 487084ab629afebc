#include "dataplane/worker/worker.hpp"

#include "dataplane/port/mbuf_ownership.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <sched.h>
#include <sys/prctl.h>

namespace tributary::worker {
namespace {

/// How long the shutdown waits for devices that take nothing, and for those that take a little.
constexpr std::uint64_t drain_timeout_ns = 100'000'000;
constexpr std::uint64_t longest_drain_ns = 1'000'000'000;

/// The snapshot's ports without any tree or route.
std::shared_ptr<const core::Tables> without_trees(const core::Tables& tables) {
  core::TablesBuilder builder;
  for (std::size_t port = 0; port < tables.port_count(); ++port) {
    std::ignore = builder.add_port(tables.port(PortNumber{static_cast<std::uint8_t>(port)}));
  }
  return builder.build(tables.version() + 1);
}

} // namespace

Worker::Part::Part(std::size_t index, const core::SwitchSettings& settings, PortSet engine_ports,
                   rte_mempool* pool)
    : switch_index(index), core(settings, engine_ports), emission(pool) {}

Worker::Worker(std::size_t index, const config::Process& process, const TscClock& clock,
               TablePublisher& publisher, WorkerShared& shared, rte_mempool* pool)
    : index_(index), clock_(clock), publisher_(publisher), shared_(shared), pool_(pool),
      backoff_(process), staged_(shared.worker_count), unread_(shared.worker_count) {}

Worker::~Worker() {
  // Frames that another worker handed over after this one had ended.
  for (std::size_t from = 0; from < shared_.worker_count; ++from) {
    shared_.ring(from, index_).consume_all(give_back);
    take_back(from);
  }
  std::for_each_n(result_buffers_.begin(), result_buffer_count_, port::give_back);
}

void Worker::add_switch(std::size_t switch_index, const core::SwitchSettings& settings,
                        const std::vector<std::size_t>& owners, PortSet tagged,
                        const placement::Placement* placement) {
  PortSet owned;
  for (std::size_t port = 0; port < owners.size(); ++port) {
    if (owners[port] == index_) {
      owned.insert(PortNumber{static_cast<std::uint8_t>(port)});
    }
  }
  auto part = std::make_unique<Part>(
      switch_index, settings, placement != nullptr ? PortSet::first(max_ports) : owned, pool_);
  part->owned = owned;
  part->tagged = tagged;
  std::ranges::transform(owners, part->owner.begin(),
                         [](std::size_t w) { return static_cast<std::uint8_t>(w); });
  part->placed = placement != nullptr;
  if (part->placed) {
    part->core.owners() = {
        .trees = *placement, .ports = part->owner, .self = static_cast<std::uint8_t>(index_)};
  }
  part->decides_all = part->placed || static_cast<std::size_t>(owned.size()) == owners.size();
  if (!part->decides_all) {
    part->subtotals = std::make_unique<core::SubtotalTable>();
  }
  shared_.counters[switch_index][index_] = &part->core.counters();
  part_by_switch_.resize(std::max(part_by_switch_.size(), switch_index + 1));
  part_by_switch_[switch_index] = part.get();
  parts_.push_back(std::move(part));
}

OutputPort& Worker::make_output(Part& part, PortNumber number, port::PortDevice& device) {
  const auto& accounts = shared_.accounts[part.switch_index];
  const auto queue =
      static_cast<std::uint16_t>(device.transmit_queues() > 1 ? index_ : std::size_t{0});
  return *(part.outputs[number.value] = std::make_unique<OutputPort>(
               device, queue, part.core.counters().ports[number.value],
               accounts.empty() ? nullptr : accounts[index_].get(), pool_, now_,
               CutTrace{.ring = trace_,
                        .tracing = tracing_,
                        .switch_index = static_cast<std::uint8_t>(part.switch_index),
                        .port = number}));
}

void Worker::add_port(std::size_t switch_index, PortNumber number, port::PortDevice& device) {
  Part& part = *part_by_switch_.at(switch_index);
  OutputPort& output = make_output(part, number, device);
  part.senders[number.value] = &output;
  if (output.has_edge()) {
    part.edges.insert(number);
  }
  inputs_.push_back(
      {&device, &part, number, nullptr, output.has_edge() ? &output : nullptr, !device.is_open()});
  lively_ = inputs_.size();
  if (part.placed && device.steered()) {
    part.polled_elsewhere.insert(number);
  }
}

void Worker::add_input(std::size_t switch_index, PortNumber number, port::PortDevice& device) {
  inputs_.push_back({&device, part_by_switch_.at(switch_index), number, nullptr, nullptr,
                     !device.is_open(), Queues::none});
  lively_ = inputs_.size();
}

void Worker::add_output(std::size_t switch_index, PortNumber number, port::PortDevice& device) {
  make_output(*part_by_switch_.at(switch_index), number, device);
}

void Worker::send_directly(std::size_t switch_index, PortNumber number, bool directly) {
  Part* const part = part_of(switch_index);
  if (part == nullptr || part->owned.contains(number)) {
    return;
  }
  // Frames in its queues still leave by them.
  part->senders[number.value] = directly ? part->outputs[number.value].get() : nullptr;
}

void Worker::poll_directly(std::size_t switch_index, PortNumber number, bool directly) {
  Part* const part = part_of(switch_index);
  for (Input& input : inputs_) {
    if (input.part == part && input.number == number) {
      input.queues = directly                       ? Queues::own
                     : part->owned.contains(number) ? Queues::all
                                                    : Queues::none;
    }
  }
}

core::EngineState Worker::give_out(std::size_t switch_index, placement::Bucket bucket,
                                   std::size_t to) {
  Part& part = *part_of(switch_index);
  std::vector<TreeNumber> trees;
  for (std::size_t t = bucket.value; t < max_trees; t += placement::bucket_count) {
    trees.emplace_back(static_cast<std::uint16_t>(t));
  }
  core::EngineState state = part.core.give_out(trees);
  part.core.owners().trees.set(bucket, to);
  return state;
}

void Worker::take_in(std::size_t switch_index, placement::Bucket bucket,
                     const core::EngineState& state) {
  Part& part = *part_of(switch_index);
  part.core.take_in(state);
  part.core.owners().trees.set(bucket, index_);
}

void Worker::run() {
  // Sleeps as short as requested, instead of the kernel's 50 us of slack.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  publisher_.enter(index_);
  iteration_began_ = TscClock::cycles();
  now_ = clock_.at(iteration_began_);
  mailbox_.open(); // first: until then a task runs on its caller, and may change the same state
  for (auto& part : parts_) {
    adopt_published(*part);
  }
  while (!shared_.stop.load(std::memory_order_relaxed)) {
    back_off(iterate(true));
  }
  drain();
  mailbox_.close();
  publisher_.leave(index_);
}

bool Worker::iterate(bool receiving) {
  publisher_.quiescent(index_);
  for (auto& part : parts_) {
    adopt_published(*part);
    adopt_links(*part);
  }
  mailbox_.poll();
  tracing_ = shared_.trace.load(std::memory_order_relaxed);
  const std::uint64_t frames_before = statistics_.frames.read();
  delivered_ = 0;
  bool did_something = receiving && receive();
  if (shared_.worker_count > 1) {
    did_something |= take_handoffs();
  }
  if (delivered_ != 0 && delivered_ == statistics_.frames.read() - frames_before) {
    did_something = false; // or the hellos of many links would keep it awake
  }
  for (auto& part : parts_) {
    if (part->links && receiving) {
      look_after_links(*part);
    }
  }
  did_something |= take_frames_to_send();
  for (auto& part : parts_) {
    part->core.expire(now_, part->emission);
    if (!part->emission.emitted().empty()) [[unlikely]] {
      send_emitted(*part, core::Event::emitted_partial);
      did_something = true;
    }
  }
  did_something |= flush();
  return did_something;
}

void Worker::adopt_published(Part& part) {
  const TablePublisher::Record& record = publisher_.current(part.switch_index);
  if (record.number != part.adopted) [[unlikely]] {
    part.adopted = record.number;
    part.core.adopt(record.tables, now_, part.emission);
    send_emitted(part, core::Event::emitted_partial);
    if (part.links) {
      report_guards(part);
    }
  }
}

void Worker::adopt_links(Part& part) {
  const std::uint64_t carriers =
      shared_.ports_up[part.switch_index].load(std::memory_order_relaxed);
  if (part.links && carriers != part.carriers.bits()) [[unlikely]] {
    report_carriers(part, PortSet(carriers));
  }
  const std::uint64_t up =
      carriers & ~shared_.links_failed[part.switch_index].load(std::memory_order_relaxed);
  if (up != part.ports_up) [[unlikely]] {
    const PortSet changed(up ^ part.ports_up);
    part.ports_up = up;
    changed.for_each(
        [&](PortNumber port) { part.core.port_changed(port, PortSet(up).contains(port)); });
  }
  const WorkerShared::Stuck& stuck = shared_.stuck[part.switch_index];
  const std::uint64_t changes = stuck.changes.load(std::memory_order_acquire);
  if (changes != part.stuck_changes) [[unlikely]] {
    part.stuck_changes = changes;
    for (std::uint8_t c = 0; c < traffic_classes; ++c) {
      part.core.stuck_changed(TrafficClass{c},
                              PortSet(stuck.ports[c].load(std::memory_order_relaxed)));
    }
  }
}

void Worker::back_off(bool did_something) {
  const std::uint64_t cycles = TscClock::cycles();
  statistics_.iterations.add();
  busy_ = did_something;
  if (did_something) {
    statistics_.busy_iterations.add();
    statistics_.busy_cycles.add(cycles - iteration_began_);
    backoff_.busy();
  } else if (backoff_.adaptive()) {
    give_way(backoff_.sleep_ns(clock_.at(cycles), next_due()), cycles);
    return;
  }
  iteration_began_ = cycles;
  now_ = clock_.at(cycles);
}

/// Sleeps; or offers its processor to waiting threads: mostly these are the hosts to which the last
/// frames went.
void Worker::give_way(std::uint64_t sleep_ns, std::uint64_t cycles) {
  if (sleep_ns == 0) {
    ::sched_yield();
  } else {
    const timespec duration{.tv_sec = static_cast<time_t>(sleep_ns / 1'000'000'000),
                            .tv_nsec = static_cast<long>(sleep_ns % 1'000'000'000)};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
  }
  iteration_began_ = TscClock::cycles();
  now_ = clock_.at(iteration_began_);
  const std::uint64_t gone_ns = elapsed_ns(now_, clock_.at(cycles));
  if (sleep_ns == 0) {
    backoff_.offered(gone_ns);
  } else {
    statistics_.sleeps.add();
    statistics_.slept_ns.add(gone_ns);
  }
}

TimeNs Worker::next_due() const {
  TimeNs due = never;
  for (const auto& part : parts_) {
    due = std::min(due, part->core.next_deadline());
    due = part->links ? std::min(due, part->links->next_deadline()) : due;
  }
  for (const auto& input : inputs_) {
    due = input.impairment ? std::min(due, input.impairment->next_due()) : due;
  }
  for (const auto& part : parts_) {
    PortSet(part->waiting.bits() | part->edges.bits()).for_each([&](PortNumber port) {
      due = std::min(due, part->outputs[port.value]->next_due());
    });
  }
  return due;
}

/// Ends in three phases. Each begins when all workers have completed the previous one, so that a
/// frame on its way between workers is not lost:
///
///   1  receiving has ended; frames that impairments held back are processed
///   2  everything handed over was processed; data held by the engines is sent as partial results
///   3  everything to be sent is sent, or dropped if a device does not take it
void Worker::drain() {
  for (auto& input : inputs_) {
    deliver_due(input, never);
  }
  iterate(false);
  pass_phase(1);
  release_held();
  pass_phase(2);
  drain_outputs();
  pass_phase(3);
}

/// Sends waiting frames, as long as a device takes any of them now and then.
void Worker::drain_outputs() {
  const auto for_each_output = [&](auto&& f) {
    for (auto& part : parts_) {
      for (auto& output : part->outputs) {
        if (output) {
          f(*output);
        }
      }
    }
  };
  for_each_output([](OutputPort& output) { output.hold_nothing(); });
  const TimeNs begun = clock_.now();
  TimeNs progress = begun;
  for (;;) {
    now_ = clock_.now();
    if (flush()) {
      progress = now_;
    }
    bool waits = false;
    for_each_output([&](OutputPort& output) { waits |= !output.empty(); });
    if (!waits || elapsed_ns(now_, progress) > drain_timeout_ns ||
        elapsed_ns(now_, begun) > longest_drain_ns) {
      break;
    }
    if (progress != now_) { // the thread that must make room may need this core
      constexpr timespec moment{.tv_sec = 0, .tv_nsec = 50'000};
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
    }
  }
  for_each_output([](OutputPort& output) { output.drop_all(); });
}

/// Announces that this worker reached the phase, and continues to work until all have. Everything
/// that others handed over before they reached it has been processed when this returns.
void Worker::pass_phase(unsigned phase) {
  shared_.phases[index_].reached.store(phase, std::memory_order_release);
  const auto reached = [phase](const Phase& p) {
    return p.reached.load(std::memory_order_acquire) >= phase;
  };
  while (!std::ranges::all_of(shared_.phases, reached)) {
    back_off(iterate(false));
  }
  iterate(false);
}

void Worker::release_held() {
  for (auto& part : parts_) {
    part->core.adopt(without_trees(part->core.tables()), now_, part->emission);
    send_emitted(*part, core::Event::emitted_partial);
  }
  flush();
}

void Worker::pause_port(std::size_t switch_index, PortNumber number, bool paused) {
  for (auto& input : inputs_) {
    if (input.part->switch_index == switch_index && input.number == number) {
      input.paused = paused;
    }
  }
  Part* const part = part_of(switch_index);
  if (part == nullptr || !part->outputs[number.value]) {
    return;
  }
  part->outputs[number.value]->pause(paused);
}

std::unique_ptr<port::ImpairmentStage>
Worker::exchange_impairment(std::size_t switch_index, PortNumber number,
                            impairment::Direction direction,
                            std::unique_ptr<port::ImpairmentStage> stage) {
  Part& part = *part_of(switch_index);
  OutputPort& output = *part.outputs[number.value];
  const auto input = std::ranges::find_if(
      inputs_, [&](const Input& one) { return one.part == &part && one.number == number; });
  if (direction == impairment::Direction::sent) {
    stage = output.exchange_impairment(std::move(stage));
    part.waiting.insert(number);
  } else {
    if (stage && input->impairment) {
      part.core.counters()
          .ports[number.value]
          .drops[static_cast<std::size_t>(core::DropReason::impaired)]
          .add(stage->take_over(*input->impairment));
    }
    deliver_due(*input, never);
    std::swap(input->impairment, stage);
    // An impaired port is never quiet.
    std::ranges::for_each(inputs_, [](Input& one) { one.empty_polls = 0; });
  }
  if (input->impairment || output.impaired()) {
    part.impaired.insert(number);
  } else {
    part.impaired.erase(number);
  }
  lively_ = inputs_.size();
  return stage;
}

std::size_t Worker::impaired_held(std::size_t switch_index, PortNumber number,
                                  impairment::Direction direction) const {
  const Part* part = part_of(switch_index);
  if (direction == impairment::Direction::sent) {
    return part->outputs[number.value]->impaired_held();
  }
  const auto input = std::ranges::find_if(
      inputs_, [&](const Input& one) { return one.part == part && one.number == number; });
  return input->impairment ? input->impairment->held() : 0;
}

const core::Counters* Worker::counters(std::size_t switch_index) const {
  const Part* part = part_of(switch_index);
  return part != nullptr ? &part->core.counters() : nullptr;
}

} // namespace tributary::worker
