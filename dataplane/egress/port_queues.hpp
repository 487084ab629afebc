// The queues of one port: frames that are to leave by it wait here by traffic class until the
// device takes them. Pure: the caller brings time and frames, and the queues call back for what
// must be done with a frame.
//
// How to use it:
//
//   1. Describe a frame: a handle that is copied around, and its length, which does not change
//      while the frame is here. E.g.
//
//        struct Mbufs {
//          using Handle = rte_mbuf*;
//          std::uint32_t length(rte_mbuf* frame) const { return frame->pkt_len; }
//        };
//        PortQueues<Mbufs> queues(settings, &accounts);
//
//      `accounts` are the worker's (ingress_accounts.hpp), required if a class is lossless. If
//      classes trim, it also has, for frames that find no room, or have to wait:
//
//        // Trims it to its headers; `length` is theirs from then on; false: it cannot be trimmed.
//        bool trim(rte_mbuf* frame) const;
//        // Whether it was trimmed, here or on its path.
//        bool was_trimmed(rte_mbuf* frame) const;
//   2. Describe the device, in an object that is passed to each call that may need it:
//
//        struct Device {
//          // Sends the first frames, and returns their number. The others are unchanged.
//          std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count, TrafficClass c);
//          // Frees the frames; they have been counted.
//          void drop(rte_mbuf** frames, std::uint16_t count, TrafficClass c, DropReason why);
//          // Optional: this many frames were sent, of this many bytes in all.
//          void sent(std::uint16_t count, std::uint64_t bytes);
//          // Optional: this frame was trimmed, and will leave.
//          void trimmed(rte_mbuf* frame, TrafficClass c);
//        };
//
//      None of them may call the queues.
//
//   3. For each frame, or for a run of frames from one port:
//        queues.push(frames, count, traffic_class, ingress, now, device);
//      or, if their bytes are known,
//        queues.push(frames, count, bytes, traffic_class, ingress, now, device);
//      The frames belong to the queues now. Pushed frames are collected, and sent when a burst of
//      their class is complete and more arrive ...
//   4. ... and at the end of the iteration:
//        bool again = queues.flush(now, device);
//      While it returns true, call it in each iteration, whether or not anything was pushed: the
//      device did not take everything, or a class is paused. Otherwise the next event is at
//      next_deadline().
//   5. A pause frame arrived at this port (wire/pause_frame.hpp):  queues.pause(pause, now);
//      its link went down:  queues.link_down(DropReason::port_down, now, device);
//      its link came up:    queues.set_link_speed(mbps);
//   6. Before the end: link_down() again. Destroying queues leaks the frames in them.
//
// Ownership. All methods belong to the port's worker, except `snapshot`, which any thread may call.
// A handle belongs to the queues from `push` until `transmit` took it or `drop` got it.
//
// Bounds. The bounds of a class apply to the frames that the device did not take: frames of one
// burst and iteration are offered to it first. Frames without room are then dropped, newest first,
// as `queue_full`. In a class that trims, RDMA data is trimmed to its headers instead; these, and
// those that a previous switch has trimmed, wait in a queue of their own with its own bound, beyond
// which they are dropped as `trimmed_full`, and leave before whole frames of the class
// (trimmed_queue.hpp). A lossless class also accounts for each frame at its ingress port, in the
// class it arrived in, and drops as `headroom_full` what arrives long after that port's senders had
// to pause that class; frames without an ingress port (`no_port`), because the switch made them,
// have no account.
//
// Order. Frames of one class leave in the order they were pushed, except trimmed ones. Between
// classes: strict ones first, higher numbers before lower ones, then weighted ones in turns
// (deficit_round_robin.hpp). A class that its neighbour pauses waits; one that is paused too long
// is given up and dropped (pause_watchdog.hpp).
//
// Cost. If nothing waits and no class is paused, frames of one lossy class are copied into an array
// of handles and leave from there: a push is that copy, and a flush one sum of lengths and one call
// of `transmit`. Only frames that the device did not take, frames of another class than those
// before them, and lossless classes go through the queues. No allocation after construction, no
// exception, no lock.
#pragma once

#include "dataplane/egress/class_queue.hpp"
#include "dataplane/egress/deficit_round_robin.hpp"
#include "dataplane/egress/drop_reason.hpp"
#include "dataplane/egress/frame_access.hpp"
#include "dataplane/egress/ingress_accounts.hpp"
#include "dataplane/egress/pause_receiver.hpp"
#include "dataplane/egress/pause_watchdog.hpp"
#include "dataplane/egress/queue_counters.hpp"
#include "dataplane/egress/queue_settings.hpp"
#include "dataplane/egress/queue_snapshot.hpp"
#include "dataplane/egress/trimmed_queue.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tributary::egress {

/// `burst`: number of frames of a class that are collected before they are sent.
template <FrameAccess Frames, std::uint16_t burst = 32> class PortQueues {
public:
  using Handle = typename Frames::Handle;

  /// Allocates all memory. Throws std::invalid_argument if `problem_with` the settings finds a
  /// problem, or if a class is lossless and there are no accounts.
  explicit PortQueues(const PortSettings& settings, IngressAccounts* accounts = nullptr,
                      Frames frames = {})
      : frames_(std::move(frames)), accounts_(accounts), turns_(settings),
        pauses_(obeying(settings)), watchdog_(settings.watchdog) {
    if (const std::string problem = problem_with(settings); !problem.empty()) {
      throw std::invalid_argument(problem);
    }
    for (std::uint8_t c = 0; c < traffic_classes; ++c) {
      const ClassSettings& of_class = settings.classes[c];
      if (of_class.lossless() && accounts == nullptr) {
        throw std::invalid_argument("class " + std::to_string(c) +
                                    " is lossless, which needs accounts of what came in where");
      }
      queues_[c].allocate(of_class);
      trimmed_[c].allocate(TrimsFrames<Frames> && of_class.trims() ? of_class.trimmed_frames : 0);
      if (of_class.service == Service::strict) {
        strict_.insert(TrafficClass{c});
      }
    }
  }
  PortQueues(const PortQueues&) = delete;
  PortQueues& operator=(const PortQueues&) = delete;

  /// Takes frames of one class, from one ingress port and class, in order.
  template <DeviceFor<Handle> Device>
  void push(const Handle* handles, std::uint32_t count, TrafficClass c, Ingress ingress, TimeNs now,
            Device& device) {
    if (count_ + count > room_[c.value % traffic_classes]) [[unlikely]] {
      push_other(handles, count, c, ingress, now, device);
      return;
    }
    if (count == 1) { // as with replicated frames
      collected_[count_] = *handles;
    } else {
      std::copy_n(handles, count, collected_.begin() + count_);
    }
    count_ += count;
  }
  /// The same with the known sum of their bytes, which need not be computed when the frames leave.
  template <DeviceFor<Handle> Device>
  void push(const Handle* handles, std::uint32_t count, std::uint64_t bytes, TrafficClass c,
            Ingress ingress, TimeNs now, Device& device) {
    if (count_ + count <= room_[c.value % traffic_classes]) [[likely]] {
      added_up_ += count;
      bytes_ += bytes;
    }
    push(handles, count, c, ingress, now, device);
  }
  template <DeviceFor<Handle> Device>
  void push(Handle handle, TrafficClass c, Ingress ingress, TimeNs now, Device& device) {
    if (count_ >= room_[c.value % traffic_classes]) [[unlikely]] {
      push_other_one(handle, c, ingress, now, device);
      return;
    }
    collected_[count_++] = handle;
  }
  /// They leave in the class they arrived in.
  template <DeviceFor<Handle> Device>
  void push(const Handle* handles, std::uint32_t count, TrafficClass c, PortNumber ingress,
            TimeNs now, Device& device) {
    push(handles, count, c, Ingress{ingress, c}, now, device);
  }
  template <DeviceFor<Handle> Device>
  void push(Handle handle, TrafficClass c, PortNumber ingress, TimeNs now, Device& device) {
    push(handle, c, Ingress{ingress, c}, now, device);
  }

  /// Sends what is allowed to leave and the device takes. True: call it again in the next
  /// iteration.
  template <DeviceFor<Handle> Device> bool flush(TimeNs now, Device& device) {
    if ((occupied_ | held_).empty()) [[likely]] {
      return count_ != 0 && send_collected(device);
    }
    return flush_queues(now, device);
  }

  /// A pause frame from the neighbour.
  void pause(const wire::PauseFrame& pause, TimeNs now) {
    pauses_.receive(pause, now);
    hold(now);
  }
  /// Drops all frames, and resets the neighbour's pauses and the classes given up.
  template <DeviceFor<Handle> Device> void link_down(DropReason why, TimeNs now, Device& device) {
    if (count_ != 0) {
      drop(collected_.data(), static_cast<std::uint16_t>(count_), collecting_, why, device);
      restart_collecting();
    }
    room_[collecting_.value] = burst;
    occupied_.for_each([&](TrafficClass c) { discard(c, why, device); });
    pauses_.forget(now);
    watchdog_.forget();
    held_ = {};
  }
  /// Speed of the link, which gives the length of a pause quantum; 0: unknown.
  void set_link_speed(std::uint32_t mbps) { pauses_.set_link_speed(mbps); }

  [[nodiscard]] bool empty() const { return count_ == 0 && occupied_.empty(); }
  /// Classes that were paused too long, as of the last flush.
  [[nodiscard]] ClassSet given_up() const { return watchdog_.given_up(); }
  /// After a flush: the time of the next one, if nothing else calls for an earlier one. The
  /// beginning of time if the device had no room, `never` if there is no work.
  [[nodiscard]] TimeNs next_deadline() const {
    const ClassSet waits = pauses_.paused() - watchdog_.given_up();
    if (count_ != 0 || !(occupied_ - waits).empty()) {
      return {};
    }
    TimeNs due = watchdog_.next_deadline(pauses_);
    pauses_.paused().for_each([&](TrafficClass c) { due = std::min(due, pauses_.until(c)); });
    return due;
  }

  /// Any thread.
  [[nodiscard]] QueueSnapshot snapshot(TrafficClass c) const {
    const Counters& counters = counters_[c.value % traffic_classes];
    const PauseReceiver::ClassCounters& pauses = pauses_.counters(c);
    QueueSnapshot s = counters.snapshot();
    s.traffic_class = c;
    s.limit = queues_[c.value % traffic_classes].limit();
    s.trimmed_limit = trimmed_[c.value % traffic_classes].limit();
    s.pauses_received = pauses.received.read();
    s.pauses_ignored = pauses.ignored.read();
    s.paused_ns = pauses.paused_ns.read();
    s.given_up_times = watchdog_.times(c);
    s.paused = pauses_.paused_now().contains(c);
    s.given_up = watchdog_.given_up_now().contains(c);
    return s;
  }

private:
  using Queue = ClassQueue<Handle, burst>;
  using Trimmed = TrimmedQueue<Handle>;
  using Counters = QueueCounters;
  static constexpr std::uint64_t all_of_it = ~std::uint64_t{0};
  static constexpr std::uint8_t no_class = traffic_classes;

  static ClassSet obeying(const PortSettings& settings) {
    ClassSet classes;
    for (std::uint8_t c = 0; c < traffic_classes; ++c) {
      if (settings.classes[c].obeys()) {
        classes.insert(TrafficClass{c});
      }
    }
    return classes;
  }
  [[nodiscard]] Queue& queue_of(TrafficClass c) { return queues_[c.value % traffic_classes]; }
  [[nodiscard]] Trimmed& trimmed_of(TrafficClass c) { return trimmed_[c.value % traffic_classes]; }
  [[nodiscard]] Counters& counters_of(TrafficClass c) {
    return counters_[c.value % traffic_classes];
  }

  /// The common case: the collected frames are all there are, and may leave. As `flush`.
  template <typename Device> bool send_collected(Device& device) {
    const auto count = static_cast<std::uint16_t>(count_);
    std::uint64_t bytes = added_up_ == count_ ? bytes_ : bytes_collected();
    const std::uint16_t sent = device.transmit(collected_.data(), count, collecting_);
    if (sent != count) [[unlikely]] {
      bytes -= keep(sent, device);
    }
    restart_collecting();
    count_sent(collecting_, sent, bytes, device);
    return !occupied_.empty();
  }

  [[nodiscard]] std::uint64_t bytes_collected() const {
    std::uint64_t bytes = 0;
    std::uint32_t i = 0;
    for (; i + 4 <= count_; i += 4) { // unrolled, or the loop would cost as much as the sum
      bytes += std::uint64_t{frames_.length(collected_[i])} + frames_.length(collected_[i + 1]) +
               frames_.length(collected_[i + 2]) + frames_.length(collected_[i + 3]);
    }
    for (; i < count_; ++i) {
      bytes += frames_.length(collected_[i]);
    }
    return bytes;
  }
  void restart_collecting() {
    count_ = 0;
    added_up_ = 0;
    bytes_ = 0;
  }

  /// Makes collected frames that the device did not take wait; returns their bytes.
  template <typename Device>
  [[gnu::noinline]] std::uint64_t keep(std::uint32_t sent, Device& device) {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = sent; i < count_; ++i) {
      bytes += frames_.length(collected_[i]);
    }
    queue_of(collecting_).collect(collected_.data() + sent, count_ - sent, {});
    occupied_.insert(collecting_);
    admit_collected(collecting_, device);
    return bytes;
  }

  /// Frames that complete a burst, that are of another class than the last ones, or of a lossless
  /// one.
  template <typename Device>
  [[gnu::noinline]] void push_other(const Handle* handles, std::uint32_t count, TrafficClass c,
                                    Ingress ingress, TimeNs now, Device& device) {
    c = TrafficClass{static_cast<std::uint8_t>(c.value % traffic_classes)};
    Queue& queue = queue_of(c);
    if (queue.lossless()) {
      while (count != 0) {
        if (queue.collected() == burst) {
          flush(now, device);
        }
        const std::uint32_t taken = std::min(count, burst - queue.collected());
        queue.collect(handles, taken, ingress);
        occupied_.insert(c);
        handles += taken;
        count -= taken;
      }
      return;
    }
    if (c != collecting_) {
      stage();
      room_[collecting_.value] = 0;
      collecting_ = c;
      room_[c.value] = burst - queue.collected();
    }
    while (count != 0) {
      if (count_ == room_[c.value]) {
        flush(now, device);
      }
      const std::uint32_t taken = std::min(count, room_[c.value] - count_);
      std::copy_n(handles, taken, collected_.begin() + count_);
      count_ += taken;
      handles += taken;
      count -= taken;
    }
  }

  /// The same for one frame, whose address the common case then need not take.
  template <typename Device>
  [[gnu::noinline]] void push_other_one(Handle handle, TrafficClass c, Ingress ingress, TimeNs now,
                                        Device& device) {
    push_other(&handle, 1, c, ingress, now, device);
  }

  /// Moves the collected frames into the queue of their class, where they compete with the others.
  void stage() {
    if (count_ != 0) {
      queue_of(collecting_).collect(collected_.data(), count_, {});
      occupied_.insert(collecting_);
      restart_collecting();
    }
  }

  /// All other cases: frames wait, a class is paused or given up, or several classes compete.
  template <typename Device> [[gnu::noinline]] bool flush_queues(TimeNs now, Device& device) {
    stage();
    room_[collecting_.value] = burst;
    if (!held_.empty()) {
      pauses_.update(now);
      hold(now);
      (occupied_ & watchdog_.given_up()).for_each([&](TrafficClass c) {
        discard(c, DropReason::paused_too_long, device);
      });
    }
    const ClassSet offered = occupied_;
    serve(device);
    offered.for_each([&](TrafficClass c) { admit_collected(c, device); });
    return !(occupied_ | held_).empty();
  }

  void hold(TimeNs now) {
    const ClassSet held = pauses_.paused() | watchdog_.update(pauses_, now);
    (held - held_).for_each([&](TrafficClass c) { turns_.leave(c); });
    held_ = held;
  }

  template <typename Device> void serve(Device& device) {
    for (ClassSet rest = (occupied_ & strict_) - held_; !rest.empty(); rest.erase(rest.highest())) {
      if (!send(rest.highest(), all_of_it, false, device)) {
        return;
      }
    }
    for (;;) {
      const ClassSet ready = occupied_ - strict_ - held_;
      if (ready.empty()) {
        return;
      }
      if (ready.has_one()) {
        send(ready.lowest(), all_of_it, false, device);
        return;
      }
      const TrafficClass c = turns_.next(ready);
      if (!send(c, turns_.left(c), true, device)) {
        return;
      }
      if (occupied_.contains(c)) {
        turns_.end();
      }
    }
  }

  /// Sends from the front of a class, in whole frames, up to this many bytes. False: the device has
  /// no more room.
  template <typename Device>
  bool send(TrafficClass c, std::uint64_t budget, bool in_turn, Device& device) {
    Queue& queue = queue_of(c);
    Trimmed& trimmed = trimmed_of(c);
    std::array<std::uint32_t, burst> lengths;
    while (!queue.empty() || !trimmed.empty()) {
      if (queue.empty()) {
        trimmed.forgive();
      }
      const bool both = !queue.empty() && !trimmed.empty();
      const bool cut = trimmed.goes_first();
      Handle* frames = cut ? trimmed.front() : queue.front();
      std::uint32_t run = std::min<std::uint32_t>(cut ? trimmed.run() : queue.run(), burst);
      if (both) [[unlikely]] {
        run = frames_for(frames, run, trimmed.turn_bytes());
      }
      std::uint16_t count = 0;
      std::uint64_t bytes = 0;
      for (; count < run; ++count) {
        lengths[count] = frames_.length(frames[count]);
        if (bytes + lengths[count] > budget) {
          break;
        }
        bytes += lengths[count];
      }
      if (count == 0) {
        return true;
      }
      const std::uint16_t sent = device.transmit(frames, count, c);
      for (std::uint16_t i = sent; i < count; ++i) {
        bytes -= lengths[i];
      }
      if (cut) {
        if (both) {
          trimmed.went_ahead(bytes);
        }
        trimmed.remove_front(sent);
        counters_of(c).trimmed_waiting.set(trimmed.size());
      } else {
        if (both) {
          trimmed.stood_back(bytes);
        }
        remove_front(c, lengths.data(), sent);
      }
      count_sent(c, sent, bytes, device);
      if (in_turn) {
        budget -= bytes;
        turns_.spend(c, bytes);
      }
      leave_if_empty(c);
      if (sent != count) {
        return false;
      }
    }
    return true;
  }

  /// Number of these frames needed to reach this many bytes.
  [[gnu::noinline]] std::uint32_t frames_for(const Handle* frames, std::uint32_t count,
                                             std::uint64_t bytes) const {
    std::uint32_t n = 0;
    for (std::uint64_t sum = 0; n < count && sum < bytes; ++n) {
      sum += frames_.length(frames[n]);
    }
    return n;
  }

  void leave_if_empty(TrafficClass c) {
    if (queue_of(c).empty() && trimmed_of(c).empty()) {
      occupied_.erase(c);
      turns_.leave(c);
    }
  }

  void remove_front(TrafficClass c, const std::uint32_t* lengths, std::uint32_t count) {
    queue_of(c).remove_front(lengths, count, [&](Ingress ingress, std::uint32_t bytes) {
      if (ingress.port != no_port) {
        accounts_->leave(ingress.port, ingress.traffic_class, bytes);
      }
    });
  }

  /// Makes frames that were collected and not sent wait, as far as there is room.
  template <typename Device> void admit_collected(TrafficClass c, Device& device) {
    Queue& queue = queue_of(c);
    Counters& counters = counters_of(c);
    queue.admit_collected(
        [&](Handle handle, Ingress ingress, Depth before) -> std::optional<std::uint32_t> {
          const std::uint32_t bytes = frames_.length(handle);
          const Depth limit = queue.limit();
          if constexpr (TrimsFrames<Frames>) {
            if (trimmed_of(c).limit() != 0 && frames_.was_trimmed(handle)) {
              go_ahead(handle, 0, c, device);
              return std::nullopt;
            }
          }
          if (before.frames >= limit.frames || std::uint64_t{before.bytes} + bytes > limit.bytes) {
            find_no_room(handle, bytes, c, device);
            return std::nullopt;
          }
          if (ingress.port != no_port &&
              !accounts_->enter(ingress.port, ingress.traffic_class, bytes)) {
            drop(&handle, 1, c, DropReason::headroom_full, device);
            return std::nullopt;
          }
          return bytes;
        });
    leave_if_empty(c);
    show_depth(c);
    counters.raise_most(queue.waiting());
  }

  /// Handles a frame whose queue is full.
  template <typename Device>
  void find_no_room(Handle handle, std::uint32_t bytes, TrafficClass c, Device& device) {
    if constexpr (TrimsFrames<Frames>) {
      if (trimmed_of(c).limit() != 0 && frames_.trim(handle)) {
        go_ahead(handle, bytes - frames_.length(handle), c, device);
        return;
      }
    }
    drop(&handle, 1, c, DropReason::queue_full, device);
  }

  /// Queues a trimmed frame; `bytes_cut` is 0 if a previous switch trimmed it.
  template <typename Device>
  void go_ahead(Handle handle, std::uint32_t bytes_cut, TrafficClass c, Device& device) {
    Trimmed& trimmed = trimmed_of(c);
    if (trimmed.full()) {
      drop(&handle, 1, c, DropReason::trimmed_full, device);
      return;
    }
    trimmed.push(handle);
    Counters& counters = counters_of(c);
    counters.trimmed_waiting.set(trimmed.size());
    if (bytes_cut != 0) {
      counters.trimmed.add();
      counters.trimmed_bytes.add(bytes_cut);
      if constexpr (requires { device.trimmed(handle, c); }) {
        device.trimmed(handle, c);
      }
    }
  }

  template <typename Device> void discard(TrafficClass c, DropReason why, Device& device) {
    Trimmed& trimmed = trimmed_of(c);
    while (!trimmed.empty()) {
      drop(trimmed.front(), 1, c, why, device);
      trimmed.remove_front(1);
    }
    counters_of(c).trimmed_waiting.set(0);
    Queue& queue = queue_of(c);
    while (!queue.empty()) {
      Handle handle = *queue.front();
      const std::uint32_t bytes = frames_.length(handle);
      remove_front(c, &bytes, 1);
      drop(&handle, 1, c, why, device);
    }
    occupied_.erase(c);
    turns_.leave(c);
    show_depth(c);
  }

  template <typename Device>
  void drop(Handle* handles, std::uint16_t count, TrafficClass c, DropReason why, Device& device) {
    counters_of(c).drops[queue_drop_index(why)].add(count);
    device.drop(handles, count, c, why);
  }

  template <typename Device>
  void count_sent(TrafficClass c, std::uint16_t count, std::uint64_t bytes, Device& device) {
    Counters& counters = counters_of(c);
    counters.frames.add(count);
    counters.bytes.add(bytes);
    if constexpr (requires { device.sent(count, bytes); }) {
      device.sent(count, bytes);
    }
  }

  void show_depth(TrafficClass c) { counters_of(c).show(queue_of(c).waiting()); }

  // For the common case: an array of handles, of the lossy class pushed last.
  std::uint32_t count_ = 0;
  std::uint32_t added_up_ = 0; ///< how many of them `bytes_` includes; valid if all
  std::uint64_t bytes_ = 0;
  /// By class: how many more may be collected. 0 except for `collecting_`, and less than a burst
  /// for it while its queue holds a part of one.
  std::array<std::uint32_t, traffic_classes + 1> room_{};
  TrafficClass collecting_{no_class};
  ClassSet occupied_; ///< classes with frames in their queue
  ClassSet held_;     ///< classes that are paused or given up
  ClassSet strict_;
  [[no_unique_address]] Frames frames_;
  std::array<Handle, burst> collected_{};

  std::array<Queue, traffic_classes> queues_;
  std::array<Trimmed, traffic_classes> trimmed_;
  std::array<Counters, traffic_classes> counters_;
  IngressAccounts* accounts_;
  DeficitRoundRobin turns_;
  PauseReceiver pauses_;
  PauseWatchdog watchdog_;
};

} // namespace tributary::egress
