// Framing of control channel messages (control.proto) in a byte stream: each is preceded by its
// length, four bytes, most significant first.
//
//   append_frame(out, message);                  out: std::string, to be written to the stream
//
//   FrameReader reader;
//   reader.append(bytes);                        as received, in pieces of any size
//   std::string problem = take_messages<SwitchMessage>(reader, [](const SwitchMessage& message) {
//     ...
//     return true;                               false: stop
//   });
//   if (!problem.empty()) close;                 invalid, or announced too long
//
// The reader holds only bytes that have arrived and were not taken: an announced length costs
// nothing until the bytes arrive. Pure.
#pragma once

#include "tributary/wire/byte_order.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::net {

inline constexpr std::size_t frame_length_bytes = 4;
/// Upper limit of one message, without its length field.
inline constexpr std::size_t max_message_bytes = std::size_t{16} << 20U;

/// The message is longer than the channel allows.
class FrameTooLong : public std::length_error {
public:
  using std::length_error::length_error;
};

/// Appends the length and the serialised message, any protobuf message, to `out`. Throws
/// FrameTooLong, without changing `out`, if it is longer than `max_message_bytes`.
template <typename Message> void append_frame(std::string& out, const Message& message) {
  const std::size_t length = message.ByteSizeLong();
  if (length > max_message_bytes) {
    throw FrameTooLong("a control message of " + std::to_string(length) + " bytes; at most " +
                       std::to_string(max_message_bytes) + " can be sent");
  }
  std::array<std::byte, frame_length_bytes> head;
  wire::store_be(head.data(), static_cast<std::uint32_t>(length));
  out.append(reinterpret_cast<const char*>(head.data()), head.size());
  message.AppendToString(&out);
}

class FrameReader {
public:
  explicit FrameReader(std::size_t longest = max_message_bytes) : longest_(longest) {}

  /// Appends bytes from the stream. Invalidates the views that `next` returned.
  void append(std::span<const std::byte> bytes) {
    if (broken_) {
      return;
    }
    buffer_.erase(0, taken_);
    taken_ = 0;
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  /// The next whole message, if there is one.
  [[nodiscard]] std::optional<std::string_view> next() {
    const std::string_view rest = std::string_view(buffer_).substr(taken_);
    if (broken_ || rest.size() < frame_length_bytes) {
      return std::nullopt;
    }
    const auto length =
        wire::load_be<std::uint32_t>(reinterpret_cast<const std::byte*>(rest.data()));
    if (length > longest_) {
      broken_ = true;
      announced_ = length;
      return std::nullopt;
    }
    if (rest.size() - frame_length_bytes < length) {
      return std::nullopt;
    }
    taken_ += frame_length_bytes + length;
    return rest.substr(frame_length_bytes, length);
  }

  /// A message longer than allowed was announced; no more messages follow.
  [[nodiscard]] bool broken() const { return broken_; }
  /// The limit, in bytes.
  [[nodiscard]] std::size_t longest() const { return longest_; }
  /// The length that exceeded it, in bytes.
  [[nodiscard]] std::size_t announced() const { return announced_; }

private:
  std::size_t longest_;
  std::string buffer_;
  std::size_t taken_ = 0; ///< bytes of the buffer that were returned already
  std::size_t announced_ = 0;
  bool broken_ = false;
};

/// Calls `received` with every whole message, until it returns false. Returns the error of the
/// received bytes, or "".
template <typename Message, typename Received>
[[nodiscard]] std::string take_messages(FrameReader& reader, Received&& received) {
  Message message;
  while (const auto payload = reader.next()) {
    if (!message.ParseFromArray(payload->data(), static_cast<int>(payload->size()))) {
      return "it sent bytes that are not a message";
    }
    if (!received(std::as_const(message))) {
      return {};
    }
  }
  return reader.broken() ? "it announced a message of " + std::to_string(reader.announced()) +
                               " bytes; the limit is " + std::to_string(reader.longest())
                         : std::string();
}

} // namespace tributary::net
