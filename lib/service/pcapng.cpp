#include "lib/service/pcapng.hpp"

#include "lib/service/pcapng_format.hpp"

#include <concepts>

namespace tributary::service {
namespace {

constexpr std::uint32_t section_header_type = 0x0A0D0D0A;
constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
constexpr std::uint32_t interface_type = 1;
constexpr std::uint16_t linktype_ethernet = 1;

namespace option {
constexpr std::uint16_t end = 0;
constexpr std::uint16_t application = 4; // in a section header
constexpr std::uint16_t interface_name = 2;
constexpr std::uint16_t timestamp_resolution = 9;
constexpr std::uint16_t packet_flags = 2;
} // namespace option

} // namespace

/// A block under construction; its length is filled in when it ends.
class PcapngWriter::Block {
public:
  Block(std::vector<std::byte>& out, std::uint32_t type) : out_(out), start_(out.size()) {
    number(type);
    number(std::uint32_t{0});
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    const auto length = static_cast<std::uint32_t>(out_.size() - start_ + 4);
    number(length);
    for (std::size_t i = 0; i < 4; ++i) {
      out_[start_ + 4 + i] = static_cast<std::byte>(length >> (8 * i));
    }
  }

  template <std::unsigned_integral T> void number(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
      out_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
    }
  }
  /// The high half first, as the format requires.
  void timestamp(std::uint64_t ns) {
    number(static_cast<std::uint32_t>(ns >> 32));
    number(static_cast<std::uint32_t>(ns));
  }
  void padded(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    out_.resize(out_.size() + (4 - bytes.size() % 4) % 4);
  }
  void text_option(std::uint16_t code, std::string_view text) {
    number(code);
    number(static_cast<std::uint16_t>(text.size()));
    padded(std::as_bytes(std::span(text)));
  }
  template <std::unsigned_integral T> void number_option(std::uint16_t code, T value) {
    number(code);
    number(static_cast<std::uint16_t>(sizeof value));
    number(value);
    out_.resize(out_.size() + (4 - sizeof value % 4) % 4);
  }
  void end_of_options() {
    number(option::end);
    number(std::uint16_t{0});
  }

private:
  std::vector<std::byte>& out_;
  std::size_t start_;
};

void PcapngWriter::begin(std::string_view application, std::span<const std::string> interfaces,
                         std::uint32_t frame_bytes) {
  {
    Block block(out_, section_header_type);
    block.number(byte_order_magic);
    block.number(std::uint16_t{1}); // version 1.0
    block.number(std::uint16_t{0});
    block.number(~std::uint64_t{0}); // section length unknown
    block.text_option(option::application, application);
    block.end_of_options();
  }
  for (const std::string& name : interfaces) {
    Block block(out_, interface_type);
    block.number(linktype_ethernet);
    block.number(std::uint16_t{0});
    block.number(frame_bytes);
    block.text_option(option::interface_name, name);
    block.number_option(option::timestamp_resolution, std::uint8_t{9}); // 10^-9 s
    block.end_of_options();
  }
}

void PcapngWriter::packet(std::uint32_t interface, std::uint64_t unix_time_ns, Direction direction,
                          std::span<const std::byte> bytes, std::uint32_t original_length) {
  Block block(out_, enhanced_packet_type);
  block.number(interface);
  block.timestamp(unix_time_ns);
  block.number(static_cast<std::uint32_t>(bytes.size()));
  block.number(original_length);
  block.padded(bytes);
  block.number_option(option::packet_flags, static_cast<std::uint32_t>(direction));
  block.end_of_options();
}

void PcapngWriter::statistics(std::uint32_t interface, std::uint64_t unix_time_ns,
                              std::uint64_t missed) {
  Block block(out_, statistics_type);
  block.number(interface);
  block.timestamp(unix_time_ns);
  block.number_option(dropped_by_system, missed);
  block.end_of_options();
}

} // namespace tributary::service
