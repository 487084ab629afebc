// Nodes, or other protocols of unicast frames, joined by a network in virtual time that may lose,
// duplicate, damage a frame, delay it by hundreds of round trips, or drop or trim it at a full
// queue. From a seed.
//
//   host --- uplink, its rate ---> delay, faults ---> queue, the sink's rate ---> host
//
//   Network network({.delay_ns = 1000}, seed);
//   network.add(node);                          any number; not owned
//   network.run_until(deadline, [&] { return done; });
#pragma once

#include "endpoint/engine/protocol.hpp"
#include "endpoint/rdma/node.hpp"
#include "lib/link/port.hpp"
#include "lib/virtual_time/timeline.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tributary::rdma::test {

struct Faults {
  double loss = 0; ///< of all frames, these are probabilities
  double duplicate = 0;
  double corrupt = 0; ///< one bit, anywhere
  double late = 0;
  std::uint64_t late_ns = 0; ///< at most this much
};

struct NetworkSettings {
  std::uint64_t delay_ns = 1000;     ///< one way
  std::uint64_t jitter_ns = 0;       ///< and up to this much more, uniform
  bool jitter_of_data_alone = false; ///< as where data frames are sprayed, and others are not
  Faults faults{};
  /// Rate of uplinks and of queues; 0: frames take no time, and queues have no limit.
  std::uint64_t bits_per_second = 0;
  std::uint64_t queue_bits_per_second = 0; ///< of queues, if different
  std::size_t queue_frames = 0;            ///< 0: no limit
  bool trims = false;                      ///< a frame that finds its queue full is trimmed, and
                                           ///< overtakes it
};

enum class Fault : std::uint8_t { lost, duplicated, corrupted, delayed, queue_full, trimmed };
inline constexpr std::size_t fault_count = 6;
inline constexpr std::array<const char*, fault_count> fault_names = {
    "lost", "duplicated", "corrupted", "delayed", "queue_full", "trimmed"};

class Network {
public:
  using Bytes = std::span<std::byte>;
  /// Called for each frame as it is sent; false loses it. May change it.
  using Filter = std::function<bool(Bytes frame, const wire::RdmaHeader& header)>;
  /// Number of frames by kind and fault.
  using Counts = std::array<std::array<std::uint64_t, fault_count>, wire::rdma_kinds>;

  Network(const NetworkSettings& settings, std::uint64_t seed);
  ~Network();

  std::size_t add(Node& node) {
    return add(node, node.options().address, node.options().longest_frame);
  }
  std::size_t add(engine::Protocol& protocol, EndPoint address, std::uint32_t longest_frame);
  /// The same program after a restart, or none for now: frames for it are lost.
  void replace(std::size_t host, engine::Protocol* protocol);
  /// No frame reaches or leaves this host.
  void set_dead(std::size_t host, bool dead);
  void set_faults(const Faults& faults) { settings_.faults = faults; }
  void set_filter(Filter filter) { filter_ = std::move(filter); }
  /// Delivers a frame unchanged.
  void inject(std::span<const std::byte> frame, std::uint64_t after_ns = 0);

  [[nodiscard]] TimeNs now() const { return timeline_.now(); }
  /// Runs the next event; false without any.
  bool step();
  /// Gives each node the time, and sends its frames; call it after the owner has begun a transfer.
  void pump();
  /// True if it held before this time.
  template <typename Done> bool run_until(TimeNs deadline, const Done& done) {
    pump();
    while (!done()) {
      if (now() > deadline || !step()) {
        return done();
      }
    }
    return true;
  }
  void run_for(std::uint64_t ns) {
    const TimeNs end = now() + ns;
    run_until(end, [this, end] { return now() >= end; });
    timeline_.advance(end);
    pump();
  }

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

private:
  class HostPort;
  enum class EventKind : std::uint8_t { queue, deliver, deliver_trimmed };
  struct Event {
    EventKind kind;
    std::uint32_t buffer;
    std::uint32_t length;
  };
  struct Host {
    engine::Protocol* protocol = nullptr;
    EndPoint address;
    std::unique_ptr<HostPort> port;
    bool dead = false;
    TimeNs uplink_free;
    TimeNs again = never; ///< when a full uplink has room
    TimeNs queue_free;
    std::size_t queued = 0;
  };

  void transmit(std::size_t host, Bytes frame);
  void travel(Bytes frame, TimeNs from, wire::RdmaKind kind);
  void schedule(TimeNs at, EventKind kind, std::span<const std::byte> frame);
  void arrive(const Event& event);
  void enter_queue(const Event& event);
  void pump(Host& host);
  /// Frames that wait in an uplink, beyond which its port takes no more.
  static constexpr std::uint64_t uplink_frames = 32;
  [[nodiscard]] bool uplink_full(const Host& host) const;
  [[nodiscard]] Host* destination_of(const std::byte* frame);
  [[nodiscard]] static std::uint64_t time_of(std::size_t bytes, std::uint64_t bits_per_second);
  void count(wire::RdmaKind kind, Fault fault) {
    ++counts_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(fault)];
  }

  NetworkSettings settings_;
  Random random_;
  Filter filter_;
  std::vector<Host> hosts_;
  virtual_time::Timeline<Event> timeline_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<std::uint32_t> free_buffers_;
  Counts counts_{};
  std::uint64_t frames_ = 0;
};

} // namespace tributary::rdma::test
