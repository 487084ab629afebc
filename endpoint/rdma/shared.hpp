// State shared by the two halves of a node, sinks and sources: its peers and records, its memory
// regions, completions for its owner, its timers, and frames that belong to no context.
#pragma once

#include "endpoint/rdma/completion.hpp"
#include "endpoint/rdma/counters.hpp"
#include "endpoint/rdma/identifiers.hpp"
#include "endpoint/rdma/options.hpp"
#include "endpoint/rdma/peers.hpp"
#include "endpoint/rdma/records.hpp"
#include "endpoint/rdma/regions.hpp"
#include "endpoint/rdma/replies.hpp"
#include "endpoint/rdma/timer_heap.hpp"
#include "lib/rdma_policy/exceptions.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tributary::rdma {

/// Times double with each repetition, this many times.
inline constexpr unsigned most_doublings = 3;

struct Shared {
  explicit Shared(const Options& o)
      : Shared(o, o.secret ? *o.secret : Secret::of_seed(o.seed).fork(o.address.key())) {}
  Shared(const Options& o, const Secret& secret)
      : options(o), peers(o.peers), records(o.records), regions(o.regions, secret),
        completions(o.completions), arrivals(o.completions), timers(o.sinks + o.sources),
        random(o.seed), identifiers(secret.fork(1), o.incarnation) {}

  const Options options;
  rdma_policy::Policy policy; ///< policy of VNIs that have none of their own
  std::vector<std::pair<Vni, std::unique_ptr<rdma_policy::Policy>>> policies;
  Counters counters;
  Peers peers;
  Records records;
  Regions regions;
  Completions completions; ///< completions of this host's transfers
  Completions arrivals;    ///< separate, so that unread arrivals do not hold up completions
  rdma_policy::Exceptions exceptions;
  Replies replies;
  TimerHeap timers; ///< sinks first, then sources
  Random random;    ///< for back-offs and jitter
  Identifiers identifiers;
  std::uint32_t begun = 0; ///< transfers of this host, so that MSGIDs are not repeated
  TimeNs now;

  /// Payload of each frame but the last of this host's transfers.
  [[nodiscard]] std::uint32_t payload_bytes() const {
    return std::min<std::uint32_t>(options.longest_frame -
                                       static_cast<std::uint32_t>(wire::rdma_overhead_bytes),
                                   wire::longest_rdma_payload);
  }
  /// The same for a peer that takes less.
  [[nodiscard]] std::uint16_t payload_to(const Peer& peer) const {
    const auto own = static_cast<std::uint16_t>(payload_bytes());
    return peer.payload == 0 ? own : std::min(own, peer.payload);
  }
  [[nodiscard]] const Rules& rules() const { return options.rules; }
  [[nodiscard]] const rdma_policy::Policy& policy_of(Vni vni) const {
    for (const auto& [of, own] : policies) {
      if (of == vni) {
        return *own;
      }
    }
    return policy;
  }
  /// The index of a peer, which is added if unknown; nullopt if all are in use.
  [[nodiscard]] std::optional<std::uint16_t> peer_at(EndPoint address, Vni vni) {
    if (const auto known = peers.find(address, vni)) {
      return known;
    }
    const auto place = peers.find_or_add(address, vni, policy_of(vni));
    if (place) {
      peers[*place].first_message = identifiers.first_message(address, vni);
    }
    return place;
  }
  [[nodiscard]] std::uint32_t next_message(const Peer& peer) {
    return peer.first_message + begun++;
  }

  /// The header of a frame to a peer; the rest is for the caller to fill in.
  [[nodiscard]] wire::RdmaHeader header_to(EndPoint to, Vni vni, wire::RdmaKind kind) const {
    wire::RdmaHeader h;
    h.source = options.address;
    h.destination = to;
    h.vni = vni;
    h.kind = kind;
    return h;
  }
  [[nodiscard]] wire::RdmaHeader header_to(const Peer& peer, wire::RdmaKind kind) const {
    return header_to(peer.address, peer.vni, kind);
  }
  /// The same for an answer: contexts are swapped, the transfer's identity is kept.
  [[nodiscard]] wire::RdmaHeader answer_to(const wire::RdmaHeader& h, wire::RdmaKind kind) const {
    wire::RdmaHeader answer = header_to(h.source, h.vni, kind);
    answer.dcid = h.scid;
    answer.scid = h.dcid;
    answer.generation = h.generation;
    answer.message = h.message;
    return answer;
  }
  /// The answer to a request that is not granted.
  [[nodiscard]] wire::RdmaHeader answer_to_request(const wire::RdmaHeader& h,
                                                   wire::RdmaStatus status) const {
    wire::RdmaHeader answer = answer_to(h, wire::RdmaKind::rsp);
    answer.flags = static_cast<std::uint8_t>(
        (h.kind == wire::RdmaKind::rd_rqt ? wire::rdma_flag::to_sink : 0) |
        (status == wire::RdmaStatus::busy ? wire::rdma_flag::busy : 0));
    answer.word = static_cast<std::uint64_t>(status);
    return answer;
  }
  /// Appends a frame that belongs to no context.
  void reply(const wire::RdmaHeader& h, std::uint16_t single = Reply::no_single) {
    counters.replies_full += replies.push({h, single}) ? 0 : 1;
  }
  /// Writes a frame; returns its length.
  std::size_t write(const wire::RdmaHeader& h, std::span<const std::byte> payload,
                    std::uint8_t dscp, std::byte* room) {
    counters.control_sent += h.kind == wire::RdmaKind::wr ? 0 : 1;
    return wire::encode(h,
                        {.source_mac = wire::host_mac(options.address.nid),
                         .destination_mac = wire::host_mac(h.destination.nid),
                         .ethertype = options.ethertype,
                         .dscp = dscp},
                        payload, room);
  }

  void raise(rdma_policy::Exception::Kind kind, const Peer& peer, std::uint32_t message,
             std::uint32_t times) {
    const bool taken = exceptions.push({kind, peer.address.nid, peer.vni, message, times, now});
    counters.exceptions_lost += taken ? 0 : 1;
  }

  /// The counter of the reason why a request cannot have a record: its context has none and none is
  /// free, or the peer has its share. Null if it can.
  [[nodiscard]] std::uint64_t* lacks_record(std::uint16_t peer, std::uint32_t known) {
    if (known != Records::none) {
      return nullptr;
    }
    if (!records.has_room() || !peers.has_share(peer, Held::records, records.free())) {
      forget_ended();
    }
    return !records.has_room()                                     ? &counters.busy_records
           : !peers.has_share(peer, Held::records, records.free()) ? &counters.busy_shares
                                                                   : nullptr;
  }
  /// The record of a peer's context, which may exist already. Requires that none is lacking.
  std::uint32_t record_of(std::uint16_t peer, std::uint16_t theirs, RecordKind kind) {
    std::uint32_t i = records.find(peer, theirs, kind);
    if (i == Records::none) {
      i = records.add(peer, theirs, kind);
      peers.use(peer);
      peers.take(peer, Held::records);
    }
    return i;
  }
  /// The transfer of a record begins; its region is in use until it ends.
  void begin_transfer(std::uint32_t record, std::uint32_t message, std::uint16_t context,
                      RegionPlace region) {
    records.begin(record, message, context, region);
    regions.use(region);
  }
  void end_transfer(std::uint32_t record, Record::State state, wire::RdmaStatus status) {
    regions.release(records[record].region);
    records.end(record, state, status, now);
  }
  /// Frees the places of records that ended long ago.
  void forget_ended() {
    for (std::uint32_t i = records.oldest_ended(); i != Records::none; i = records.oldest_ended()) {
      const Record& record = records[i];
      if (elapsed_ns(now, record.ended_at) < peers[record.peer].policy->finished_ns) {
        return;
      }
      forget(i);
    }
  }
  void forget(std::uint32_t record) {
    const std::uint16_t peer = records[record].peer;
    records.forget(record);
    peers.give_back(peer, Held::records);
    peers.release(peer);
  }
};

} // namespace tributary::rdma
