// The worked frames of docs/protocol/rdma.md, as fields.
#pragma once

#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_request.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::test {

struct GoldenRdmaFrame {
  std::string name; ///< as the page calls it
  wire::RdmaHeader header;
  std::vector<std::byte> payload;
};

/// Hosts 0x12345 (source) and 0x00101 (sink), VNI 0x0400: a write of 1,500 bytes in frames of
/// 1,444, and all frames that may refer to it.
inline std::vector<GoldenRdmaFrame> golden_rdma_frames() {
  static constexpr Nid source{0x12345};
  static constexpr Nid sink{0x00101};
  const auto header = [](bool to_sink, wire::RdmaKind kind) {
    wire::RdmaHeader h;
    h.source = to_sink ? source : sink;
    h.destination = to_sink ? sink : source;
    h.vni = Vni{0x0400};
    h.kind = kind;
    h.dcid = to_sink ? 0x0042 : 0x1001;
    h.scid = to_sink ? 0x1001 : 0x0042;
    h.generation = 0xBEEF;
    h.message = 0x01020304;
    return h;
  };
  std::vector<GoldenRdmaFrame> frames;

  wire::RdmaHeader rqt = header(true, wire::RdmaKind::rqt);
  rqt.dcid = 0xCAFE;       // with the
  rqt.generation = 0xF00D; // nonce
  rqt.flags = wire::rdma_flag::immediate;
  rqt.pidx = 2;
  rqt.word = 0x10000;
  rqt.value = 1500;
  std::array<std::byte, wire::rdma_request_bytes> request{};
  wire::encode(wire::RdmaRequest{.key = 0x1122334400050006,
                                 .immediate = 0x8877665544332211,
                                 .incarnation = 0x0F1E2D3C4B5A6978,
                                 .proof = 0,
                                 .length_high = 0,
                                 .credit = 0,
                                 .payload = 1444,
                                 .slot = 0},
               request);
  frames.push_back({"RQT", rqt, {request.begin(), request.end()}});

  wire::RdmaHeader rsp = header(false, wire::RdmaKind::rsp);
  rsp.value = 1025;
  rsp.word = std::uint64_t{0xF00DCAFE} << 32;
  frames.push_back({"RSP", rsp, {}});

  wire::RdmaHeader busy = header(false, wire::RdmaKind::rsp);
  busy.scid = 0xCAFE;
  busy.generation = 0xF00D;
  busy.flags = wire::rdma_flag::busy;
  busy.word = std::uint64_t{250} << 32 | static_cast<std::uint64_t>(wire::RdmaStatus::busy);
  frames.push_back({"RSP, busy", busy, {}});

  wire::RdmaHeader unproven = busy;
  unproven.flags = 0;
  unproven.word = static_cast<std::uint64_t>(wire::RdmaStatus::unproven);
  unproven.pidx = 0x8BADF00D;
  unproven.value = 0xDEADC0DE;
  frames.push_back({"RSP, unproven", unproven, {}});

  wire::RdmaHeader wr = header(true, wire::RdmaKind::wr);
  wr.pidx = 1;
  wr.flags = wire::rdma_flag::last | wire::rdma_flag::resent;
  wr.word = 0x0000000123456789;
  std::vector<std::byte> data;
  for (unsigned i = 0; i < 56; ++i) {
    data.push_back(static_cast<std::byte>(i * 3 + 1));
  }
  frames.push_back({"WR", wr, data});

  wire::RdmaHeader resend = header(false, wire::RdmaKind::resend);
  resend.pidx = 0;
  resend.value = 1025;
  std::vector<std::byte> bitmap(8);
  wire::store_le<std::uint64_t>(bitmap.data(), 0x3);
  frames.push_back({"RESEND", resend, bitmap});

  wire::RdmaHeader done = header(false, wire::RdmaKind::done);
  done.pidx = 2;
  done.word = 0x0000000123456789;
  frames.push_back({"DONE", done, {}});
  return frames;
}

inline std::vector<std::byte> encoded(const GoldenRdmaFrame& golden) {
  std::vector<std::byte> frame(wire::rdma_frame_bytes(golden.payload.size()));
  wire::encode(golden.header,
               {.source_mac = wire::host_mac(golden.header.source.nid),
                .destination_mac = wire::host_mac(golden.header.destination.nid)},
               golden.payload, frame.data());
  return frame;
}

} // namespace tributary::test
