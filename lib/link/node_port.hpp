// A port that reaches the programs of its own host as well: a frame for an end point of this host
// goes through memory that the two programs share, all others through the port behind it. (A switch
// sends no frame back to the port that it came from.)
//
//   NodePort port(std::move(wire), {nid, number}, vni, "eth1");
//
// Each sender gives each receiver a ring of its own in memory without a name, over a Unix socket
// whose kernel-given credentials say that both are of one user; so nothing of a program that ends
// is left behind, and a sender that dies in the middle of a frame harms none but itself. The socket
// also wakes a receiver that sleeps. Programs of other users, and those whose network namespace is
// another one, are not reached: their frames are dropped, and counted.
//
// A receiver that takes nothing holds its senders up for `patience_ns`; from then on frames for it
// are dropped, as a full queue of the network's does.
#pragma once

#include "lib/link/port.hpp"
#include "lib/net/file_descriptor.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tributary::link {

class NodePort final : public Port {
public:
  static constexpr std::uint64_t patience_ns = 10 * ns_per_ms;

  /// Throws LinkError. Frames of `wire` are as long as they will be.
  NodePort(std::unique_ptr<Port> wire, EndPoint own, Vni vni, const std::string& interface);
  ~NodePort() override;

  [[nodiscard]] bool may_receive() override;
  /// To be asked for before each wait: senders of this host wake only who is about to sleep.
  [[nodiscard]] int fd() const override;
  [[nodiscard]] std::uint32_t longest_frame() const override { return wire_->longest_frame(); }
  [[nodiscard]] std::size_t receive_room() const override { return wire_->receive_room(); }
  [[nodiscard]] wire::MacAddress address() const override { return wire_->address(); }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] const PortCounts& counts() override;
  [[nodiscard]] std::string error() override { return wire_->error(); }
  [[nodiscard]] std::uint32_t speed_mbps() const override { return wire_->speed_mbps(); }
  /// Frames for programs of this host that were not there, or took none for too long.
  [[nodiscard]] std::uint64_t dropped_on_host() const { return dropped_; }

private:
  class Ring;
  /// A program of this host that frames go to.
  struct Receiver {
    std::unique_ptr<Ring> ring; ///< null: not connected
    net::FileDescriptor socket;
    TimeNs retry_at; ///< when it is looked for again
    TimeNs full_since = never;
  };
  /// One that frames come from.
  struct Sender {
    std::unique_ptr<Ring> ring; ///< null: it has not sent it yet
    net::FileDescriptor socket;
  };

  std::size_t transmit(std::span<Slot> slots) override;
  std::size_t replenish(std::span<Slot> slots) override;
  std::size_t take(std::span<FrameView> views) override;

  /// To a program of this host, or to the wire; false if there is no room.
  [[nodiscard]] bool pass_on(const Slot& slot);
  /// Whether the frame has left, or was dropped: not while the receiver is full.
  [[nodiscard]] bool send_on_host(std::uint16_t number, std::span<const std::byte> frame);
  void connect(std::uint16_t number, Receiver& receiver);
  /// What the descriptors have: new senders, rings, knocks. True if the wire has frames.
  [[nodiscard]] bool look();
  void accept();
  /// False if the sender is gone.
  [[nodiscard]] bool hear(Sender& sender);
  void watch(int descriptor);
  [[nodiscard]] std::size_t take_from_rings(std::span<FrameView> views);
  [[nodiscard]] bool has_frames() const;

  std::unique_ptr<Port> wire_;
  EndPoint own_;
  std::string prefix_; ///< of the names of sockets
  std::string interface_;
  net::FileDescriptor listener_;
  net::FileDescriptor epoll_;
  net::FileDescriptor self_; ///< readable while a ring had frames when a wait was announced
  std::map<std::uint16_t, Receiver> receivers_;
  std::map<int, Sender> senders_; ///< by descriptor
  std::vector<Ring*> full_rings_; ///< whose taken frames are still in use by the owner
  std::vector<std::byte> memory_;
  std::vector<std::byte*> free_;
  unsigned rounds_ = 0;
  mutable bool announced_ = false; ///< senders have to wake this program
  std::uint64_t dropped_ = 0;
};

} // namespace tributary::link
