// A switch of the virtual fabric: one or several workers, each with a SwitchCore of its own, as the
// dataplane's shell has them, on virtual time.
//
//   link -> receive queue of the port -> poll of the port's worker
//             -> engine_port() is another worker's?  ring to that worker -> its poll
//             -> process_burst() -> do what each Decision says
//           each poll ends with expire(); the next one is due at next_deadline()
//
// It also watches the core: frames that are passed on must be unchanged, a damaged header must not
// be believed, every frame is entered in the books, and each decision, descriptor and counter is
// what the rules say it must be (switch_account.hpp).
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "tests/fabric/books.hpp"
#include "tests/fabric/faults.hpp"
#include "tests/fabric/switch_account.hpp"
#include "tests/fabric/wire_frame.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tributary::fabric {

/// Far shorter than a switch's defaults, so that timers run out in the middle of what is tested.
inline core::SwitchSettings impatient_settings() {
  core::SwitchSettings settings;
  using core::EngineTimers;
  settings.timers.units = {EngineTimers::units_from_us(20'000), EngineTimers::units_from_us(50'000),
                           EngineTimers::units_from_us(200'000),
                           EngineTimers::units_from_us(20'000'000)};
  return settings;
}

struct SwitchOptions {
  core::SwitchSettings settings = impatient_settings();
  /// Ports are dealt out to the workers in turn: port p belongs to worker p mod workers.
  std::uint32_t workers = 1;
  /// From a frame's arrival to the poll that takes it, so that bursts can form.
  std::uint64_t poll_delay_ns = 300;
  /// Probability that no buffer is free when a timer wants to emit.
  double no_buffer = 0;
};

/// What a switch needs of the fabric around it.
class SwitchSurroundings {
public:
  virtual ~SwitchSurroundings() = default;
  virtual FramePool& frames() = 0;
  /// Takes the frame over.
  virtual void transmit(SwitchIndex from, PortNumber port, FrameIndex frame, TimeNs now) = 0;
  virtual void schedule_poll(SwitchIndex at, std::uint32_t worker, TimeNs when) = 0;
  /// Whether a buffer is free, for a switch with this much trouble getting one.
  virtual bool buffer_is_free(double no_buffer) = 0;
  /// `frame` is what the decision was made on.
  virtual void note(SwitchIndex at, PortNumber in, const core::Decision& decision,
                    std::span<const std::byte> frame, TimeNs now) = 0;
  /// The core wants the switch's agent to have it.
  virtual void deliver(SwitchIndex at, PortNumber in, std::span<const std::byte> frame,
                       TimeNs now) = 0;
  virtual void violation(std::string what) = 0;
};

class VirtualSwitch final : core::Emission {
public:
  VirtualSwitch(SwitchIndex index, std::size_t port_count, const SwitchOptions& options,
                SwitchSurroundings& surroundings);

  /// Each worker adopts it at its next poll, `skew_ns` after the one before.
  void publish(std::shared_ptr<const core::Tables> tables, TimeNs now, std::uint64_t skew_ns);
  void receive(PortNumber in, FrameIndex frame, TimeNs now);
  void poll(std::uint32_t worker, TimeNs now);
  /// What the switch's agent has sent out of a port. Nothing leaves a switch that does not answer.
  void send_from_agent(PortNumber port, std::span<const std::byte> bytes, TimeNs now);

  /// Loses all state, and answers nothing until `restart`.
  void crash();
  /// Comes back with the tables published last and nothing else.
  void restart(TimeNs now);
  /// Loses what arrives until `end_silence`, but keeps its state.
  void begin_silence() { silent_ = true; }
  void end_silence(TimeNs now);
  [[nodiscard]] bool answers() const { return !crashed_ && !silent_; }

  void set_no_buffer(double probability) { options_.no_buffer = probability; }

  /// Descriptors hold what their engines absorbed. None is occupied past its timer, or past the end
  /// of a silence that its timer ran out in, by more than `slack_ns`, or by more than the lack of
  /// buffers explains.
  void check_descriptors(TimeNs now, std::uint64_t slack_ns);
  /// The books against themselves and against the core's counters.
  void audit();
  [[nodiscard]] std::size_t descriptors_in_use() const;
  [[nodiscard]] const SwitchBooks& books() const { return books_; }
  [[nodiscard]] SwitchIndex index() const { return index_; }
  [[nodiscard]] std::size_t worker_count() const { return workers_.size(); }
  /// The core of the worker that owns this port.
  [[nodiscard]] const core::SwitchCore& core_of(PortNumber port) const {
    return *workers_[owner_of(port)].core;
  }
  [[nodiscard]] const core::SwitchCore& core(std::size_t worker) const {
    return *workers_[worker].core;
  }
  /// Sums over the workers.
  [[nodiscard]] std::uint64_t drops(core::DropReason reason) const;
  [[nodiscard]] std::uint64_t engines(core::Counter core::EngineCounters::*counter) const;
  [[nodiscard]] std::uint64_t trees(core::Counter core::TreeCounters::*counter) const;

private:
  struct Arrived {
    PortNumber in;
    FrameIndex frame = 0;
  };
  struct Worker {
    PortSet ports;
    std::unique_ptr<core::SwitchCore> core;
    std::shared_ptr<const core::Tables> next_tables; ///< to adopt
    TimeNs adopt_at = never;
    std::deque<Arrived> ring; ///< handed over by other workers
    TimeNs poll_at = never;
    std::unique_ptr<SwitchAccount> account;
  };

  [[nodiscard]] std::size_t owner_of(PortNumber p) const { return p.value % workers_.size(); }
  void start_cores();
  void request_poll(std::size_t worker, TimeNs at);
  void drain_ring(std::size_t worker, TimeNs now);
  void drain_port(std::size_t worker, PortNumber port, TimeNs now);
  /// Whether this worker must process the frame; hands it over to the right one otherwise.
  bool keep_or_hand_over(std::size_t worker, const Arrived& arrived, TimeNs now);
  void process(std::size_t worker, PortNumber in, std::span<const FrameIndex> burst, TimeNs now);
  class Performing;
  void send(PortNumber port, FrameIndex frame, TimeNs now);
  void send_emissions(std::size_t worker, TimeNs now);
  std::byte* buffer(PortNumber port, std::uint32_t length) override;
  void expect(bool holds, const std::string& what);

  SwitchIndex index_;
  SwitchOptions options_;
  SwitchSurroundings& surroundings_;
  std::vector<Worker> workers_;
  std::vector<std::deque<FrameIndex>> receive_queues_; ///< by port
  std::shared_ptr<const core::Tables> tables_;         ///< published last
  std::vector<Arrived> emissions_;                     ///< filled by the core, not sent yet
  bool adopting_ = false;
  bool crashed_ = false;
  bool silent_ = false;
  TimeNs answers_since_; ///< the end of the last silence
  SwitchBooks books_;
};

} // namespace tributary::fabric
