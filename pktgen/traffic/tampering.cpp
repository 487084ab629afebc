#include "pktgen/traffic/tampering.hpp"

#include "tributary/wire/form.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tributary::pktgen::traffic {
namespace {

constexpr std::uint64_t flipped_cookie_bits = 0x5A5A5A5A;
constexpr std::uint16_t flipped_vni_bits = 0x0101;

std::byte* portals_of(Tamperer::Frame& frame) { return frame.data() + wire::ethernet_header_bytes; }
const std::byte* portals_of(const Tamperer::Frame& frame) {
  return frame.data() + wire::ethernet_header_bytes;
}

/// Another operator of the same form, which is wrong for any group. The same one if the form has
/// only one.
std::uint8_t other_opcode(std::uint8_t op, std::uint8_t form) {
  for (const wire::Opcode other : wire::all_opcodes) {
    if (other != wire::Opcode::barrier && static_cast<std::uint8_t>(other) != op &&
        wire::carries(static_cast<wire::Form>(form), other)) {
      return static_cast<std::uint8_t>(other);
    }
  }
  return op;
}

} // namespace

Tamperer::Tamperer(const scenario::Tampering& tampering, std::uint64_t seed, std::size_t most_late)
    : active_(tampering.any()), late_ns_(static_cast<std::uint64_t>(tampering.late_by.count())),
      random_(seed), held_(tampering.late > 0 ? std::max<std::size_t>(most_late, 1) : 1) {
  const std::array<double, tamper_count> shares = {0,
                                                   tampering.absent,
                                                   tampering.late,
                                                   tampering.wrong_cookie,
                                                   tampering.wrong_vni,
                                                   tampering.stale,
                                                   tampering.wrong_opcode};
  double sum = 0;
  for (std::size_t i = 1; i < tamper_count; ++i) {
    sum = std::min(1.0, sum + shares[i]);
    bounds_[i] = sum >= 1 ? std::numeric_limits<std::uint64_t>::max()
                          : static_cast<std::uint64_t>(std::ldexp(sum, 64));
  }
}

Tamper Tamperer::draw(const Frame& frame) {
  const wire::ReductionWord word = wire::load_word(portals_of(frame));
  if (word.count != 1 || word.arm) {
    return Tamper::none;
  }
  const std::uint64_t drawn = random_.next();
  for (std::size_t i = 1; i < tamper_count; ++i) {
    if (drawn < bounds_[i]) {
      return static_cast<Tamper>(i);
    }
  }
  return Tamper::none;
}

void Tamperer::alter(Tamper how, const Frame& contribution, Frame& altered) {
  altered = contribution;
  std::byte* p = portals_of(altered);
  wire::ReductionWord word = wire::load_word(p);
  switch (how) {
  case Tamper::wrong_cookie:
    wire::store_be<std::uint32_t>(
        p + wire::reduction_offset::cookie,
        static_cast<std::uint32_t>(wire::cookie_of(p).value ^ flipped_cookie_bits));
    break;
  case Tamper::wrong_vni:
    wire::store_be<std::uint16_t>(
        p + wire::portals_offset::vni,
        static_cast<std::uint16_t>(wire::vni_of(p).value ^ flipped_vni_bits));
    wire::write_fabric_header_checksum(p);
    break;
  case Tamper::stale:
    word.seqno = SequenceNumber{word.seqno.value() + SequenceNumber::modulus - 1U};
    word.resno = word.seqno;
    wire::store_word(p, word);
    break;
  case Tamper::wrong_opcode:
    word.op = other_opcode(word.op, wire::form_byte_of(p));
    wire::store_word(p, word);
    break;
  case Tamper::none:
  case Tamper::absent:
  case Tamper::late: break;
  }
}

bool Tamperer::hold(const Frame& frame, TimeNs now) {
  if (holding_ == held_.size()) {
    return false;
  }
  held_[(first_ + holding_++) % held_.size()] = {now + late_ns_, frame};
  return true;
}

const Tamperer::Frame* Tamperer::due(TimeNs now) const {
  return holding_ != 0 && held_[first_].at <= now ? &held_[first_].frame : nullptr;
}

} // namespace tributary::pktgen::traffic
