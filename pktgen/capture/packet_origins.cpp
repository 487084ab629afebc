#include "pktgen/capture/packet_origins.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace tributary::pktgen::capture {
namespace {

// Types of blocks and numbers of options, of draft-ietf-opsawg-pcapng.
constexpr std::uint32_t section_header = 0x0A0D0D0A; // the same in both byte orders
constexpr std::uint32_t interface_description = 1;
constexpr std::uint32_t obsolete_packet = 2;
constexpr std::uint32_t simple_packet = 3;
constexpr std::uint32_t enhanced_packet = 6;
constexpr std::uint16_t option_name = 2;  // of an interface
constexpr std::uint16_t option_flags = 2; // of a packet

constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr std::size_t smallest_block = 12; // type, length, and the length again
constexpr std::size_t largest_block = std::size_t{1} << 24;

using Bytes = std::span<const char>;

class Reader {
public:
  explicit Reader(std::istream& in) : in_(in) {}

  std::optional<PacketOrigins> read() {
    if (!next() || type_ != section_header) {
      return std::nullopt;
    }
    do {
      look();
    } while (next());
    return std::move(found_);
  }

private:
  /// The next block, without its head and tail, into `body_`.
  bool next() {
    char head[8];
    if (!in_.read(head, sizeof head)) {
      return false;
    }
    type_ = number({head, 4}, 0, 4);
    std::size_t read = 0;
    if (type_ == section_header) {
      body_.resize(4);
      if (!in_.read(body_.data(), 4)) {
        return false;
      }
      read = 4;
      big_endian_ = false;
      if (number(body_, 0, 4) != byte_order_magic) {
        big_endian_ = true;
        if (number(body_, 0, 4) != byte_order_magic) {
          return false;
        }
      }
    }
    const std::size_t length = number({head, 8}, 4, 4);
    if (length < smallest_block + read || length > largest_block || length % 4 != 0) {
      return false;
    }
    body_.resize(length - smallest_block);
    const auto rest = static_cast<std::streamsize>(body_.size() - read);
    char tail[4];
    return static_cast<bool>(in_.read(body_.data() + read, rest)) &&
           static_cast<bool>(in_.read(tail, sizeof tail));
  }

  void look() {
    switch (type_) {
    case section_header: interfaces_ = 0; break;
    case interface_description: add_interface(); break;
    case simple_packet: found_.packets.push_back({}); break;
    case obsolete_packet: add_packet(2); break;
    case enhanced_packet: add_packet(4); break;
    default: break;
    }
  }

  void add_interface() {
    found_.interfaces.resize(std::max(found_.interfaces.size(), interfaces_ + 1));
    if (const auto name = option(8, option_name)) {
      found_.interfaces[interfaces_].assign(name->begin(), name->end());
    }
    ++interfaces_;
  }

  /// The interface number has `bytes_of_interface` bytes; the data begin at 20, their length is at
  /// 12.
  void add_packet(std::size_t bytes_of_interface) {
    PacketOrigin& packet = found_.packets.emplace_back();
    if (body_.size() < 20) {
      return;
    }
    packet.interface = number(body_, 0, bytes_of_interface);
    const std::size_t captured = number(body_, 12, 4);
    const auto flags = option(20 + (captured + 3) / 4 * 4, option_flags);
    if (flags && flags->size() >= 4) {
      const std::uint32_t direction = number(*flags, 0, 4) & 3U;
      packet.direction = direction == 1   ? PacketOrigin::Direction::inbound
                         : direction == 2 ? PacketOrigin::Direction::outbound
                                          : PacketOrigin::Direction::unknown;
    }
  }

  /// The value of the first option with this number, searching the body from here on.
  [[nodiscard]] std::optional<Bytes> option(std::size_t at, std::uint16_t wanted) const {
    while (at + 4 <= body_.size()) {
      const std::uint32_t code = number(body_, at, 2);
      const std::size_t length = number(body_, at + 2, 2);
      if (code == 0 || length > body_.size() - at - 4) {
        break;
      }
      if (code == wanted) {
        return Bytes(body_).subspan(at + 4, length);
      }
      at += 4 + (length + 3) / 4 * 4;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint32_t number(Bytes from, std::size_t at, std::size_t size) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t place = big_endian_ ? size - 1 - i : i;
      value |= std::uint32_t{static_cast<unsigned char>(from[at + i])} << (8 * place);
    }
    return value;
  }

  std::istream& in_;
  bool big_endian_ = false;
  std::uint32_t type_ = 0;
  std::vector<char> body_;
  std::size_t interfaces_ = 0; ///< of this section, so far
  PacketOrigins found_;
};

} // namespace

std::optional<PacketOrigins> read_packet_origins(std::istream& in) { return Reader(in).read(); }

} // namespace tributary::pktgen::capture
