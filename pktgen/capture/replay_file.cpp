#include "pktgen/capture/replay_file.hpp"

#include "pktgen/capture/packet_origins.hpp"
#include "tributary/wire/ethernet.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <memory>

namespace tributary::pktgen::capture {

using scenario::Direction;

namespace {

struct ClosePcap {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};
using Pcap = std::unique_ptr<pcap_t, ClosePcap>;

Pcap open_capture(const std::string& path) {
  std::array<char, PCAP_ERRBUF_SIZE> why{};
  Pcap pcap(pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO,
                                                    why.data()));
  if (!pcap) {
    // libpcap prefixes only some of its messages with the file name.
    std::string reason = why.data();
    if (reason.starts_with(path + ": ")) {
      reason.erase(0, path.size() + 2);
    }
    throw CaptureError(fmt::format("{}: cannot be replayed: {}", path, reason));
  }
  const int link = pcap_datalink(pcap.get());
  if (link != DLT_EN10MB) {
    const char* const name = pcap_datalink_val_to_name(link);
    throw CaptureError(fmt::format(
        "{}: holds frames of link type {} ({}), and only Ethernet can be sent; capture on one "
        "interface rather than on \"any\"",
        path, name != nullptr ? name : "unknown", link));
  }
  return pcap;
}

/// Requires a capture opened with nanosecond precision.
std::uint64_t time_of(const pcap_pkthdr& header) {
  return static_cast<std::uint64_t>(header.ts.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(header.ts.tv_usec);
}

bool is_wanted(PacketOrigin::Direction direction, Direction wanted) {
  switch (direction) {
  case PacketOrigin::Direction::unknown: break;
  case PacketOrigin::Direction::inbound: return wanted != Direction::outbound;
  case PacketOrigin::Direction::outbound: return wanted != Direction::inbound;
  }
  return true;
}

} // namespace

traffic::Capture load_capture(const std::string& path, Direction direction) {
  const Pcap pcap = open_capture(path);
  std::ifstream file(path, std::ios::binary);
  const PacketOrigins origins = read_packet_origins(file).value_or(PacketOrigins{});
  traffic::Capture capture;
  capture.interfaces = origins.interfaces;
  std::size_t packets = 0;
  std::uint64_t last = 0; ///< as captured
  std::uint64_t at = 0;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int read = 0;
  while ((read = pcap_next_ex(pcap.get(), &header, &data)) == 1) {
    const PacketOrigin origin =
        packets < origins.packets.size() ? origins.packets[packets] : PacketOrigin{};
    ++packets;
    if (!is_wanted(origin.direction, direction)) {
      ++capture.other_direction;
      continue;
    }
    if (header->caplen < header->len) {
      ++capture.cut_short;
      continue;
    }
    if (header->len < wire::ethernet_header_bytes) {
      ++capture.too_short;
      continue;
    }
    const std::uint64_t time = time_of(*header);
    at += capture.frames.empty() || time < last ? 0 : time - last;
    last = time;
    capture.frames.push_back({capture.bytes.size(), header->len, at, origin.interface});
    const auto* const bytes = reinterpret_cast<const std::byte*>(data);
    capture.bytes.insert(capture.bytes.end(), bytes, bytes + header->len);
  }
  if (read != PCAP_ERROR_BREAK) {
    throw CaptureError(fmt::format("{}: cannot be read behind frame {}: {}", path, packets,
                                   pcap_geterr(pcap.get())));
  }
  if (capture.frames.empty()) {
    throw CaptureError(
        packets == 0 ? fmt::format("{}: holds no frames", path)
        : packets == capture.other_direction
            ? fmt::format("{}: holds no frame of the direction that is wanted; the {} that it has "
                          "went in the other one",
                          path, packets)
            : fmt::format("{}: holds no frame that could be sent: of {} it holds only the "
                          "beginning (capture with a larger snapshot length), {} are shorter than "
                          "an Ethernet header",
                          path, capture.cut_short, capture.too_short));
  }
  return capture;
}

std::uint32_t longest_frame_in(const std::string& path, Direction direction) {
  return std::ranges::max(load_capture(path, direction).frames, {},
                          &traffic::Capture::Frame::length)
      .length;
}

} // namespace tributary::pktgen::capture
