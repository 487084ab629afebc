#include "endpoint/collective/notice.hpp"

#include "endpoint/collective/sequence.hpp"

#include <algorithm>

namespace tributary::collective {

namespace {

enum class What : std::uint8_t {
  missing = 1,
  ended_missing = 2,
  unequal = 3,
  ended = 4,
  result_lost = 5
};

constexpr unsigned rank_bits = 20;
constexpr std::uint64_t rank_mask = (std::uint64_t{1} << rank_bits) - 1;
constexpr std::size_t ranks_in_a_word = 3;

What what_of(const Notice& notice) {
  if (!notice.failure) {
    return What::missing;
  }
  switch (notice.failure->reason) {
  case Failure::Reason::members_missing: return What::ended_missing;
  case Failure::Reason::unequal_counts: return What::unequal;
  case Failure::Reason::ended: return What::ended;
  case Failure::Reason::result_lost: return What::result_lost;
  }
  return What::ended;
}

void put(wire::Payload& payload, const MissingRanks& missing) {
  payload[0] |= std::uint64_t{missing.count} << 8;
  const auto named = missing.named();
  for (std::size_t i = 0; i < named.size(); ++i) {
    payload[1 + i / ranks_in_a_word] |= (named[i] & rank_mask) << rank_bits * (i % ranks_in_a_word);
  }
}

MissingRanks missing_in(const wire::Payload& payload) {
  MissingRanks missing;
  missing.count = static_cast<std::uint32_t>(payload[0] >> 8 & rank_mask);
  for (std::size_t i = 0; i < missing.named().size(); ++i) {
    missing.first[i] = static_cast<std::uint32_t>(
        payload[1 + i / ranks_in_a_word] >> rank_bits * (i % ranks_in_a_word) & rank_mask);
  }
  return missing;
}

} // namespace

wire::ReductionWord notice_word() {
  return {.seqno = pre_arm_sequence, .resno = no_sequence, .pad = wire::pad_retry};
}

wire::Payload payload_of(const Notice& notice) {
  wire::Payload payload{};
  payload[0] = static_cast<std::uint64_t>(what_of(notice)) | std::uint64_t{notice.piece} << 32;
  if (!notice.failure) {
    put(payload, notice.missing);
  } else if (notice.failure->reason == Failure::Reason::result_lost) {
    payload[0] |= std::uint64_t{notice.failure->other.rank} << 8;
  } else if (notice.failure->reason != Failure::Reason::unequal_counts) {
    put(payload, notice.failure->missing);
  } else {
    const Failure& f = *notice.failure;
    payload[0] |= std::uint64_t{f.other.rank} << 8 | std::uint64_t{f.one.leaving} << 28 |
                  std::uint64_t{f.other.leaving} << 29;
    payload[1] = f.one.elements;
    payload[2] = f.other.elements;
  }
  return payload;
}

std::optional<Notice> notice_in(const wire::ReductionFrame& frame, std::uint32_t root_rank) {
  const wire::Payload& payload = frame.payload;
  if (frame.word != notice_word()) {
    return std::nullopt;
  }
  Notice notice;
  notice.piece = static_cast<std::uint32_t>(payload[0] >> 32);
  switch (static_cast<What>(payload[0] & 0xFF)) {
  case What::missing: notice.missing = missing_in(payload); return notice;
  case What::ended_missing:
    notice.failure = {.reason = Failure::Reason::members_missing, .missing = missing_in(payload)};
    return notice;
  case What::ended:
    notice.failure = {.reason = Failure::Reason::ended, .missing = missing_in(payload)};
    return notice;
  case What::result_lost:
    notice.failure = {.reason = Failure::Reason::result_lost,
                      .one = {.rank = root_rank},
                      .other = {.rank = static_cast<std::uint32_t>(payload[0] >> 8 & rank_mask)}};
    return notice;
  case What::unequal:
    notice.failure = {
        .reason = Failure::Reason::unequal_counts,
        .one = {.rank = root_rank, .elements = payload[1], .leaving = (payload[0] >> 28 & 1U) != 0},
        .other = {.rank = static_cast<std::uint32_t>(payload[0] >> 8 & rank_mask),
                  .elements = payload[2],
                  .leaving = (payload[0] >> 29 & 1U) != 0}};
    return notice;
  }
  return std::nullopt;
}

} // namespace tributary::collective
