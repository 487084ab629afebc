// A TCP connection that carries messages, and how leaders find each other. It blocks, and is not
// net::FramedStream, because a preloaded library brings neither Asio nor protobuf into the program.
#pragma once

#include "endpoint/mpi/model/message.hpp"
#include "lib/net/file_descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tributary::mpi::intra_node {

/// One thread may receive while others send.
class MessageStream {
public:
  MessageStream() = default;
  explicit MessageStream(net::FileDescriptor descriptor);
  MessageStream(MessageStream&& other) noexcept;
  MessageStream& operator=(MessageStream&& other) noexcept;
  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;

  /// False when the other end is gone.
  bool send(const Message& message);
  /// Blocks. nullopt when the other end is gone. Throws std::runtime_error on bytes that are not a
  /// message.
  [[nodiscard]] std::optional<Message> receive();
  /// Ends blocking calls here and at the other end; the descriptor stays open until destruction.
  void shut_down();
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

private:
  net::FileDescriptor descriptor_;
  std::mutex sending_;
};

/// The socket that leaders connect to: on all addresses of this node, at a port that the kernel
/// chooses.
class Listener {
public:
  /// Throws std::runtime_error.
  Listener();
  /// "10.0.0.1 10.1.0.1 fd00::1": this node's addresses except loopback, and then the port.
  [[nodiscard]] std::string addresses() const;
  /// nullopt after `limit`.
  [[nodiscard]] std::optional<MessageStream> accept(std::chrono::milliseconds limit);

private:
  net::FileDescriptor descriptor_;
};

/// Connects to the first of the listener's addresses that answers. Throws std::runtime_error, with
/// the error of each.
[[nodiscard]] MessageStream connect_to(const std::string& addresses,
                                       std::chrono::milliseconds limit);
/// Both ends of a connection.
struct StreamPair {
  MessageStream first;
  MessageStream second;
};
[[nodiscard]] StreamPair connected_pair();

} // namespace tributary::mpi::intra_node
