#include "controlplane/etcd/protocol/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::etcd::protocol {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t none = 64;

constexpr std::array<std::uint8_t, 256> values_of_digits() {
  std::array<std::uint8_t, 256> values{};
  values.fill(none);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> values = values_of_digits();

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
}

} // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t bits =
        byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    const std::size_t left = bytes.size() - i;
    text += digits[bits >> 18U];
    text += digits[bits >> 12U & 63U];
    text += left > 1 ? digits[bits >> 6U & 63U] : '=';
    text += left > 2 ? digits[bits & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') {
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t bits = 0;
    for (std::size_t k = i; k < i + 4; ++k) {
      const bool is_padding = k >= text.size() - padding;
      const std::uint8_t value = is_padding ? 0 : values[static_cast<unsigned char>(text[k])];
      if (value == none) {
        return std::nullopt;
      }
      bits = bits << 6U | value;
    }
    bytes += static_cast<char>(bits >> 16U & 255U);
    bytes += static_cast<char>(bits >> 8U & 255U);
    bytes += static_cast<char>(bits & 255U);
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

} // namespace tributary::etcd::protocol
