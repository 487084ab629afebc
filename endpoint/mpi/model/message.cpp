#include "endpoint/mpi/model/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>

namespace tributary::mpi {

namespace {

constexpr std::uint32_t magic = 0x49504d54; // "TMPI"
constexpr std::uint16_t version = 2;

template <typename T> void put(Header& header, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    header[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}
template <typename T> T get(std::span<const std::byte, header_bytes> header, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<std::uint64_t>(header[at + i]) << (8 * i);
  }
  return static_cast<T>(value);
}

} // namespace

std::string Message::text() const {
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

Message text_message(MessageType type, StepNumber step, const std::string& text) {
  Message message;
  message.type = type;
  message.step = step;
  const auto bytes =
      std::as_bytes(std::span(text).first(std::min(text.size(), most_payload_bytes)));
  message.payload.assign(bytes.begin(), bytes.end());
  return message;
}

Header encode_header(const Message& message) {
  Header header{};
  put(header, 0, magic);
  put(header, 4, version);
  put(header, 6, static_cast<std::uint16_t>(message.type));
  put(header, 8, message.step);
  put(header, 16, message.call);
  put(header, 24, static_cast<std::uint32_t>(message.frame_type));
  put(header, 28, static_cast<std::uint32_t>(message.op));
  put(header, 32, message.elements);
  put(header, 40, static_cast<std::uint64_t>(message.payload.size()));
  put(header, 48, message.team);
  return header;
}

Message decode_header(std::span<const std::byte, header_bytes> header, std::size_t& payload_bytes) {
  if (get<std::uint32_t>(header, 0) != magic) {
    throw std::runtime_error("another program than Tributary's MPI library uses this port");
  }
  if (const auto theirs = get<std::uint16_t>(header, 4); theirs != version) {
    throw std::runtime_error(fmt::format("another version of Tributary's MPI library uses this "
                                         "port: its messages have version {}, ours {}",
                                         theirs, version));
  }
  const auto type = get<std::uint16_t>(header, 6);
  const auto bytes = get<std::uint64_t>(header, 40);
  if (type == 0 || type > last_message_type || bytes > most_payload_bytes) {
    throw std::runtime_error(
        fmt::format("a damaged message of type {} with {} bytes arrived", type, bytes));
  }
  payload_bytes = static_cast<std::size_t>(bytes);
  Message message;
  message.type = static_cast<MessageType>(type);
  message.step = get<std::uint64_t>(header, 8);
  message.call = get<std::uint64_t>(header, 16);
  message.frame_type = get<std::int32_t>(header, 24);
  message.op = get<std::int32_t>(header, 28);
  message.elements = get<std::uint64_t>(header, 32);
  message.team = get<std::uint64_t>(header, 48);
  return message;
}

} // namespace tributary::mpi
