// What an engine asks of a protocol: frames and times in, frames out. A protocol knows neither the
// port nor the clock, so a pure room can implement this.
//
// The engine calls, in this order and on one thread at a time:
//
//   receive(frames, now)   when frames arrived that the protocol claimed; at most once a burst
//   poll(now)              in every round, whether something is due or not
//   send(outlet)           in every round while the link takes frames
//   next_deadline()        before it sleeps
//
//   may_rest()             when it has no deadline: whether it need not be called for now
//
// Each is a virtual call per round and none per frame. A protocol may add, remove and claim at the
// engine inside receive and poll, and throws in neither; send lets the link's errors through.
#pragma once

#include "lib/link/port.hpp"
#include "tributary/frame_view.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::engine {

/// Where a protocol writes its frames: the link, for one turn.
///
///   while (has_frames()) {
///     std::byte* const room = outlet.room();
///     if (room == nullptr) return;                 keep the rest, in order, for the next turn
///     ...write the oldest frame and forget it...   from here on it is the link's
///     outlet.push(length);
///   }
///
/// The end of a frame may be elsewhere in memory: `rest` must stay unchanged until the engine's
/// round, or its `send`, is over.
class Outlet {
public:
  /// Frames of one turn; after them the other protocols have theirs.
  static constexpr std::size_t turn = link::Port::longest_burst;

  explicit Outlet(link::Port& port) : port_(&port) {}
  /// Null when the link takes no more, or the turn is over. Throws when the link is down or gone.
  [[nodiscard]] std::byte* room() {
    if (pushed_ == turn) {
      turn_over_ = true;
      return nullptr;
    }
    std::byte* const room = port_->room();
    link_full_ = room == nullptr;
    return room;
  }
  /// Commits the frame last written to `room()`. It is sent even when this throws because the link
  /// is down or gone.
  void push(std::uint32_t length) {
    ++pushed_;
    pushed_bytes_ += length;
    port_->push(length);
  }
  /// The same for a frame that continues with `rest` after the bytes in the room.
  void push(std::uint32_t length, std::span<const std::byte> rest) {
    ++pushed_;
    pushed_bytes_ += length + rest.size();
    port_->push(length, rest);
  }
  [[nodiscard]] std::uint32_t longest_frame() const { return port_->longest_frame(); }

  [[nodiscard]] std::size_t pushed() const { return pushed_; }
  /// Bytes of these frames, FCS not included.
  [[nodiscard]] std::uint64_t pushed_bytes() const { return pushed_bytes_; }
  /// Whether room was requested, and the link had none.
  [[nodiscard]] bool link_full() const { return link_full_; }
  /// Whether room was requested after the end of the turn.
  [[nodiscard]] bool turn_over() const { return turn_over_; }

private:
  link::Port* port_;
  std::size_t pushed_ = 0;
  std::uint64_t pushed_bytes_ = 0;
  bool link_full_ = false;
  bool turn_over_ = false;
};

class Protocol {
public:
  virtual ~Protocol() = default;
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

  /// Frames of one burst, in order of arrival; valid during the call.
  virtual void receive(std::span<const FrameView> frames, TimeNs now) = 0;
  /// Does what is due.
  virtual void poll(TimeNs now) = 0;
  /// When `poll` has something to do though no frame arrived; `never` when nothing is due.
  [[nodiscard]] virtual TimeNs next_deadline() const = 0;
  /// Whether frames arrive in such numbers, and each with so little content, that it is better to
  /// let some gather than to be woken by each.
  [[nodiscard]] virtual bool is_flooded() const { return false; }
  /// Whether only frames of its claims, or its owner (Engine::wake), can give it something to do.
  /// Asked when nothing is due and nothing is to be sent.
  [[nodiscard]] virtual bool may_rest() const { return false; }
  /// Whether `send` would write frames.
  [[nodiscard]] virtual bool has_to_send() const = 0;
  /// Writes the oldest frames, until the outlet has no room.
  virtual void send(Outlet& outlet) = 0;

protected:
  Protocol() = default;

private:
  friend class Engine;
  std::uint16_t slot_ = 0xFFFF; ///< its place in the engine
};

} // namespace tributary::engine
