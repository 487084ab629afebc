// How messages of the control channel (control.proto) lie in a byte stream: each behind its length,
// four bytes, most significant first.
//
//   append_frame(out, message);                  out: std::string, to be written to the stream
//
//   FrameReader reader;
//   reader.append(bytes);                        as they come, in pieces of any size
//   while (auto payload = reader.next()) {       valid until the next call of append
//     message.ParseFromArray(payload->data(), ...)
//   }
//   if (reader.broken()) close;                  a message longer than allowed was announced
//
// The reader keeps no more than what has arrived and not been asked for: a length that is announced
// costs nothing until the bytes come. Pure: no I/O, no protobuf.
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

namespace tributary::control {

inline constexpr std::size_t frame_length_bytes = 4;
/// Of one message, its length not counted.
inline constexpr std::size_t max_message_bytes = std::size_t{16} << 20U;

/// The message is longer than the channel allows.
class FrameTooLong : public std::length_error {
public:
  using std::length_error::length_error;
};

/// Appends the length and the serialised message, any protobuf message, to `out`. Throws
/// FrameTooLong, and leaves `out` as it is, for one longer than `max_message_bytes`.
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

  /// Bytes that came from the stream. Ends the validity of what `next` gave.
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

  /// A message longer than allowed was announced; nothing more will come out.
  [[nodiscard]] bool broken() const { return broken_; }
  /// The length that broke it, in bytes.
  [[nodiscard]] std::size_t announced() const { return announced_; }

private:
  std::size_t longest_;
  std::string buffer_;
  std::size_t taken_ = 0; ///< of the buffer, given out already
  std::size_t announced_ = 0;
  bool broken_ = false;
};

} // namespace tributary::control
