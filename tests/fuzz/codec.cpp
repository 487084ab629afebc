// Any bytes through the codec, the classifier and the kernel. Two frames one after the other:
//
//   1  what decodes, encodes to something that decodes to the same
//   2  the codec and the switch's classifier agree on what a reduction frame is, of either form
//   3  packing a reduction word undoes unpacking it
//   4  a wide frame has its payload inside it, encodes to its own headers, and is not an 84-byte
//      frame
//   5  a shared frame has its chunk inside it, encodes to its own headers, and is neither of these
//   6  combining the two frames leaves no code smaller than it was (but REPSUM's, which may be
//      withdrawn), and no NaN but the canonical one where FLT_SUM made it

#include "dataplane/core/classify.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/reduce/reducer.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/shared.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <array>
#include <span>
#include <vector>

namespace tributary::fuzz {
namespace {

using wire::DecodeError;
using Bytes = std::vector<std::byte>;

void check_round_trip(const wire::ReductionFrame& f) {
  std::array<std::byte, wire::reduction_frame_bytes> encoded{};
  wire::encode(f, encoded);
  wire::ReductionFrame again;
  TRIBUTARY_REQUIRE(wire::decode(encoded, f.ethertype, again) == DecodeError::none);
  TRIBUTARY_REQUIRE(again.destination == f.destination && again.source == f.source);
  TRIBUTARY_REQUIRE(again.dscp == f.dscp && again.vni == f.vni);
  TRIBUTARY_REQUIRE(again.source_nid == f.source_nid && again.tree == f.tree);
  TRIBUTARY_REQUIRE(again.reduction == f.reduction && again.signature == f.signature);
  TRIBUTARY_REQUIRE(again.rank == f.rank && again.cookie == f.cookie);
  TRIBUTARY_REQUIRE(again.word == f.word && again.payload == f.payload);
}

void check_classifier(Bytes& bytes, DecodeError error, const wire::ReductionFrame& f) {
  const core::IngressCheck check{core::PortPolicy{}};
  const core::Classified what =
      check.classify({bytes.data(), static_cast<std::uint32_t>(bytes.size())});
  wire::WideFrame wide;
  const bool is_wide = wire::decode(bytes, wire::default_ethertype, wide) == DecodeError::none;
  if (error == DecodeError::none) {
    const ReductionId id = wire::dfa_of(bytes.data() + wire::ethernet_header_bytes).slot();
    TRIBUTARY_REQUIRE(what.kind() ==
                      (id.value < 8 ? core::FrameKind::reduction : core::FrameKind::wide));
    TRIBUTARY_REQUIRE(what.key() == ReductionKey(f.tree, id));
  } else {
    TRIBUTARY_REQUIRE((what.kind() == core::FrameKind::wide) == is_wide);
    TRIBUTARY_REQUIRE(!is_wide || what.key() == ReductionKey(wide.tree, wide.slot));
    TRIBUTARY_REQUIRE(what.kind() != core::FrameKind::reduction);
  }
  if (what.kind() == core::FrameKind::refused) {
    TRIBUTARY_REQUIRE(static_cast<std::size_t>(what.reason()) < core::drop_reason_count);
  }
}

void check_wide(const Bytes& bytes, DecodeError error_of_84_byte_form) {
  wire::WideFrame f;
  const DecodeError error = wire::decode(bytes, wire::default_ethertype, f);
  TRIBUTARY_REQUIRE(!name_of(error).empty() && name_of(error) != "unknown");
  if (error != DecodeError::none) {
    return;
  }
  TRIBUTARY_REQUIRE(error_of_84_byte_form != DecodeError::none);
  TRIBUTARY_REQUIRE(wire::is_wide_payload(f.payload_bytes) && f.slot.value < 128);
  const auto payload = wire::payload_of(bytes, f);
  TRIBUTARY_REQUIRE(payload.data() + payload.size() <= bytes.data() + bytes.size());
  Bytes encoded(bytes);
  wire::encode_header(f, std::span(encoded).first<wire::wide_header_bytes>());
  wire::WideFrame again;
  TRIBUTARY_REQUIRE(wire::decode(encoded, f.ethertype, again) == DecodeError::none);
  TRIBUTARY_REQUIRE(again.destination == f.destination && again.source == f.source);
  TRIBUTARY_REQUIRE(again.dscp == f.dscp && again.vni == f.vni);
  TRIBUTARY_REQUIRE(again.source_nid == f.source_nid && again.tree == f.tree);
  TRIBUTARY_REQUIRE(again.slot == f.slot && again.signature == f.signature);
  TRIBUTARY_REQUIRE(again.rank == f.rank && again.cookie == f.cookie && again.word == f.word);
  TRIBUTARY_REQUIRE(again.form == f.form && again.payload_bytes == f.payload_bytes);
}

void check_shared(const Bytes& bytes, DecodeError error_of_84_byte_form) {
  wire::SharedFrame f;
  const DecodeError error = wire::decode(bytes, wire::default_ethertype, f);
  TRIBUTARY_REQUIRE(!name_of(error).empty() && name_of(error) != "unknown");
  if (error != DecodeError::none) {
    return;
  }
  wire::WideFrame wide;
  TRIBUTARY_REQUIRE(error_of_84_byte_form != DecodeError::none);
  TRIBUTARY_REQUIRE(wire::decode(bytes, wire::default_ethertype, wide) != DecodeError::none);
  TRIBUTARY_REQUIRE(f.bytes > 0 && f.window <= wire::signature_mask);
  const auto chunk = wire::chunk_of(bytes, f);
  TRIBUTARY_REQUIRE(chunk.data() + chunk.size() <= bytes.data() + bytes.size());
  Bytes encoded(bytes);
  wire::encode_header(f, std::span(encoded).first<wire::shared_header_bytes>());
  wire::SharedFrame again;
  TRIBUTARY_REQUIRE(wire::decode(encoded, f.ethertype, again) == DecodeError::none);
  TRIBUTARY_REQUIRE(again.destination == f.destination && again.source == f.source);
  TRIBUTARY_REQUIRE(again.dscp == f.dscp && again.vni == f.vni);
  TRIBUTARY_REQUIRE(again.source_nid == f.source_nid && again.tree == f.tree);
  TRIBUTARY_REQUIRE(again.window == f.window && again.round == f.round);
  TRIBUTARY_REQUIRE(again.rank == f.rank && again.cookie == f.cookie);
  TRIBUTARY_REQUIRE(again.chunk == f.chunk && again.bytes == f.bytes);
}

reduce::Contribution contribution_of(const wire::ReductionFrame& f) {
  return {.payload = f.payload,
          .op = f.word.opcode(),
          .rc = static_cast<wire::ResultCode>(f.word.rc),
          .m = f.word.m,
          .overflow_id = f.word.overflow_id,
          .source = wire::FabricAddress::unicast(f.source_nid)};
}

bool is_foreign_nan(std::uint64_t bits) {
  constexpr std::uint64_t infinity = 0x7FF0000000000000;
  constexpr std::uint64_t canonical = 0x7FF8000000000000;
  return (bits & ~(std::uint64_t{1} << 63)) > infinity && bits != canonical;
}

void check_kernel(const wire::ReductionFrame& a, const wire::ReductionFrame& b) {
  if (!wire::is_supported(a.word.op) || !wire::is_supported(b.word.op)) {
    return;
  }
  for (const auto mode : {reduce::NanMode::associative, reduce::NanMode::ieee}) {
    reduce::Accumulator acc;
    reduce::start(acc, contribution_of(a));
    reduce::combine(acc, contribution_of(b), mode);
    TRIBUTARY_REQUIRE(acc.op == a.word.opcode());
    const auto rc = acc.result_code();
    if (acc.op != wire::Opcode::flt_repsum) {
      TRIBUTARY_REQUIRE(rc >= static_cast<wire::ResultCode>(a.word.rc));
      TRIBUTARY_REQUIRE(rc >= static_cast<wire::ResultCode>(b.word.rc));
    }
    if (a.word.op != b.word.op) {
      TRIBUTARY_REQUIRE(rc >= wire::ResultCode::op_mismatch);
    }
    if (wire::is_flt_sum(acc.op) && rc < wire::ResultCode::op_mismatch) {
      for (const auto lane : acc.payload) {
        TRIBUTARY_REQUIRE(!is_foreign_nan(lane));
      }
    }
  }
}

void run(Input input) {
  const std::uint64_t word = input.take<std::uint64_t>();
  TRIBUTARY_REQUIRE(wire::pack(wire::unpack(word)) == word);

  std::array<wire::ReductionFrame, 2> frames;
  std::size_t decoded = 0;
  for (wire::ReductionFrame& f : frames) {
    // The first byte of a frame selects what the target fills in: nothing, the checksum, or
    // everything that makes a frame a reduction.
    const std::uint8_t help = input.below(3);
    const std::uint8_t extra = input.take<std::uint8_t>();
    Bytes bytes = input.bytes(help == 2 ? wire::reduction_frame_bytes : extra);
    if (help == 2) {
      bytes.resize(wire::reduction_frame_bytes);
      wire::store_be<std::uint16_t>(bytes.data() + 12, wire::default_ethertype);
      std::byte* p = bytes.data() + wire::ethernet_header_bytes;
      p[0] = std::byte{wire::portals_version_ihl};
      wire::store_be<std::uint16_t>(p + wire::portals_offset::total_length,
                                    wire::reduction_packet_bytes);
      wire::store_be<std::uint32_t>(p + wire::portals_offset::dfa,
                                    wire::dfa_of(p).value | 0xFF800007U);
      wire::store_be<std::uint16_t>(p + wire::portals_offset::request_length,
                                    wire::reduction_request_length);
    }
    if (help != 0 && bytes.size() >= core::shortest_frame_bytes) {
      wire::write_fabric_header_checksum(bytes.data() + wire::ethernet_header_bytes);
    }
    const DecodeError error = wire::decode(bytes, wire::default_ethertype, f);
    TRIBUTARY_REQUIRE(!name_of(error).empty() && name_of(error) != "unknown");
    TRIBUTARY_REQUIRE(help != 2 || error == DecodeError::none);
    check_classifier(bytes, error, f);
    check_wide(bytes, error);
    check_shared(bytes, error);
    if (error == DecodeError::none) {
      check_round_trip(f);
      ++decoded;
    }
  }
  if (decoded == frames.size()) {
    check_kernel(frames[0], frames[1]);
  }
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::run({data, size});
  return 0;
}
