// A node's records of its peers' contexts that have sent requests: the last transfer each asked
// for, and its outcome. So a repeated request is answered again and executed once, and a late one
// is not taken for a new one.
//
//   live       a context here works on it
//   done       and the peer may not know
//   aborted    and why
//
// A record that is not live is kept for `finished_ns`; its place is taken by the next transfer of
// the same context, or else by a new one when that time is over. If all places are taken the
// request is answered with busy, so that no record is dropped too early.
#pragma once

#include "endpoint/rdma/hash_index.hpp"
#include "endpoint/rdma/index_list.hpp"
#include "endpoint/rdma/receive_context.hpp"
#include "endpoint/rdma/regions.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::rdma {

enum class RecordKind : std::uint8_t {
  write, ///< by a peer's source
  read,  ///< by a peer's sink
};

struct Record {
  enum class State : std::uint8_t { unused, live, done, aborted };

  TimeNs ended_at;
  std::uint32_t message = 0;
  Ticks answered_at = 0;        ///< when DONE was sent last
  std::uint32_t nonce = 0;      ///< nonce of the last request to write
  std::uint16_t peer = 0;       ///< place among the peers
  std::uint16_t theirs = 0;     ///< the peer's context; for a read its slot
  std::uint16_t context = 0;    ///< ours, while live
  std::uint16_t name = 0;       ///< name of our context on the wire, when a write is done
  std::uint16_t generation = 0; ///< generation of our context then
  RegionPlace region = 0;       ///< ours, while live
  State state = State::unused;
  RecordKind kind = RecordKind::write;
  wire::RdmaStatus status = wire::RdmaStatus::ok; ///< reason of an aborted one
};

class Records {
public:
  static constexpr std::uint32_t none = IndexList::none;

  explicit Records(std::size_t count)
      : records_(count), index_(count), ended_(count), free_(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      free_.push_back(i);
    }
  }

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] Record& operator[](std::size_t i) { return records_[i]; }
  [[nodiscard]] std::uint32_t find(std::uint16_t peer, std::uint16_t theirs,
                                   RecordKind kind) const {
    return index_.find(key_of(peer, theirs, kind));
  }
  [[nodiscard]] bool has_room() const { return !free_.empty(); }
  [[nodiscard]] std::size_t free() const { return free_.size(); }
  /// Requires room, and that this context has none yet. Not live yet.
  std::uint32_t add(std::uint16_t peer, std::uint16_t theirs, RecordKind kind) {
    const std::uint32_t i = free_.pop_front();
    records_[i] = {};
    records_[i].peer = peer;
    records_[i].theirs = theirs;
    records_[i].kind = kind;
    index_.insert(key_of(peer, theirs, kind), i);
    return i;
  }
  void begin(std::uint32_t i, std::uint32_t message, std::uint16_t context, RegionPlace region) {
    ended_.remove(i);
    records_[i].message = message;
    records_[i].context = context;
    records_[i].region = region;
    records_[i].state = Record::State::live;
  }
  void end(std::uint32_t i, Record::State state, wire::RdmaStatus status, TimeNs now) {
    records_[i].state = state;
    records_[i].status = status;
    records_[i].ended_at = now;
    ended_.remove(i);
    ended_.push_back(i);
  }
  void forget(std::uint32_t i) {
    index_.erase(i);
    ended_.remove(i);
    records_[i].state = Record::State::unused;
    free_.push_back(i);
  }
  /// The one that ended first; `none` if no record has ended.
  [[nodiscard]] std::uint32_t oldest_ended() const { return ended_.front(); }

private:
  static std::uint64_t key_of(std::uint16_t peer, std::uint16_t theirs, RecordKind kind) {
    return std::uint64_t{peer} << 17 | std::uint64_t{theirs} << 1 |
           static_cast<std::uint64_t>(kind);
  }
  std::vector<Record> records_;
  HashIndex index_;
  IndexList ended_; ///< by age
  IndexList free_;
};

} // namespace tributary::rdma
