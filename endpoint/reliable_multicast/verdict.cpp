#include "endpoint/reliable_multicast/verdict.hpp"

#include <cstddef>

namespace tributary::reliable_multicast {

namespace {

constexpr unsigned rank_bits = 20;
constexpr std::uint64_t rank_mask = (std::uint64_t{1} << rank_bits) - 1;
constexpr std::size_t ranks_in_a_word = 3;

enum class Code : std::uint8_t {
  not_acknowledging = 16,
  ended_not_acknowledging = 17,
  lacks_chunks = 18,
  ended_lacks_chunks = 19,
  calls_differ = 20,
  ended = 21,
};

Code code_of(const Verdict& verdict) {
  switch (verdict.what) {
  case Verdict::What::not_acknowledging:
    return verdict.group_ended ? Code::ended_not_acknowledging : Code::not_acknowledging;
  case Verdict::What::lacks_chunks:
    return verdict.group_ended ? Code::ended_lacks_chunks : Code::lacks_chunks;
  case Verdict::What::calls_differ: return Code::calls_differ;
  case Verdict::What::ended: return Code::ended;
  }
  return Code::ended;
}

std::uint64_t bits_of(const CallShape& call) {
  return std::uint64_t{static_cast<std::uint8_t>(call.kind)} | (call.root & rank_mask) << 8;
}
std::uint64_t operands_of(const CallShape& call) {
  return (call.bytes & (most_call_bytes - 1)) | std::uint64_t{call.op & 0x3FU} << 54 |
         std::uint64_t{call.type & 0xFU} << 60;
}
CallShape call_in(std::uint64_t bits, std::uint64_t operands) {
  return {.kind = static_cast<Kind>(bits & 0xFF),
          .root = static_cast<std::uint32_t>(bits >> 8 & rank_mask),
          .bytes = operands & (most_call_bytes - 1),
          .op = static_cast<std::uint8_t>(operands >> 54 & 0x3F),
          .type = static_cast<std::uint8_t>(operands >> 60)};
}
std::uint32_t rank_at(std::uint64_t word, unsigned bit) {
  return static_cast<std::uint32_t>(word >> bit & rank_mask);
}

} // namespace

wire::Payload payload_of(const Verdict& verdict) {
  wire::Payload payload{};
  payload[0] = static_cast<std::uint64_t>(code_of(verdict));
  switch (verdict.what) {
  case Verdict::What::not_acknowledging: {
    payload[0] |= std::uint64_t{verdict.missing.count} << 8;
    const auto named = verdict.missing.named();
    for (std::size_t i = 0; i < named.size(); ++i) {
      payload[1 + i / ranks_in_a_word] |= (named[i] & rank_mask)
                                          << rank_bits * (i % ranks_in_a_word);
    }
    break;
  }
  case Verdict::What::lacks_chunks:
    payload[0] |= (verdict.rank & rank_mask) << 8 | (verdict.owner & rank_mask) << 28 |
                  std::uint64_t{verdict.chunks & 0xFFFFU} << 48;
    break;
  case Verdict::What::calls_differ:
    payload[0] |= (verdict.rank & rank_mask) << 8;
    payload[1] = operands_of(verdict.root_call);
    payload[2] = operands_of(verdict.other_call);
    payload[3] = bits_of(verdict.root_call) | bits_of(verdict.other_call) << 28;
    break;
  case Verdict::What::ended: break;
  }
  return payload;
}

std::optional<Verdict> verdict_in(const wire::Payload& payload) {
  Verdict verdict;
  const auto code = static_cast<Code>(payload[0] & 0xFF);
  switch (code) {
  case Code::not_acknowledging:
  case Code::ended_not_acknowledging:
    verdict.what = Verdict::What::not_acknowledging;
    verdict.group_ended = code == Code::ended_not_acknowledging;
    verdict.missing.count = rank_at(payload[0], 8);
    for (std::size_t i = 0; i < verdict.missing.named().size(); ++i) {
      verdict.missing.first[i] = rank_at(payload[1 + i / ranks_in_a_word],
                                         rank_bits * static_cast<unsigned>(i % ranks_in_a_word));
    }
    return verdict;
  case Code::lacks_chunks:
  case Code::ended_lacks_chunks:
    verdict.what = Verdict::What::lacks_chunks;
    verdict.group_ended = code == Code::ended_lacks_chunks;
    verdict.rank = rank_at(payload[0], 8);
    verdict.owner = rank_at(payload[0], 28);
    verdict.chunks = static_cast<std::uint32_t>(payload[0] >> 48);
    return verdict;
  case Code::calls_differ:
    verdict.what = Verdict::What::calls_differ;
    verdict.group_ended = true;
    verdict.rank = rank_at(payload[0], 8);
    verdict.root_call = call_in(payload[3], payload[1]);
    verdict.other_call = call_in(payload[3] >> 28, payload[2]);
    return verdict;
  case Code::ended:
    verdict.what = Verdict::What::ended;
    verdict.group_ended = true;
    return verdict;
  }
  return std::nullopt;
}

} // namespace tributary::reliable_multicast
