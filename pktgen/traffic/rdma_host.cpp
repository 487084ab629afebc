#include "pktgen/traffic/rdma_host.hpp"

#include "endpoint/engine/protocol.hpp"
#include "tributary/wire/crc32c.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tributary::pktgen::traffic {

namespace {

std::uint32_t digest_of(const std::byte* bytes, std::uint64_t length) {
  wire::Crc32c crc;
  crc.add(bytes, length);
  return crc.value();
}

} // namespace

RdmaHost::RdmaHost(const RdmaPlan& plan, RdmaData& data, std::uint32_t number)
    : plan_(plan), data_(data), number_(number),
      reads_(plan.begins(number) ? std::make_unique_for_overwrite<std::byte[]>(
                                       plan.settings.in_flight * plan.longest)
                                 : nullptr),
      written_(plan.is_written_to()
                   ? std::make_unique_for_overwrite<std::byte[]>(plan.slots_bytes())
                   : nullptr),
      node_(plan.options_of(plan.nid(number))), random_(Random(plan.seed).fork(number)) {
  node_.set_policy(plan.policy());
  // In this order: peers compute the keys from it.
  (void)node_.register_region(data_.block(), {.peers_write = false, .peers_read = true},
                              plan.vni());
  (void)node_.register_region({written_.get(), written_ ? plan.slots_bytes() : 0},
                              {.peers_write = true, .peers_read = false}, plan.vni());
  if (plan.begins(number)) {
    slots_.resize(plan.settings.in_flight);
    for (std::uint32_t slot = plan.settings.in_flight; slot > 0; --slot) {
      free_.push_back(slot - 1);
    }
    set_aside_.reserve(slots_.size());
  }
  remarks_.reserve(measure::Tally::most_remarks);
}

void RdmaHost::begin_measuring() {
  const std::uint64_t digest_errors = counts_.digest_errors;
  counts_ = {};
  counts_.digest_errors = digest_errors;
  before_ = node_.counters();
  write_latency_.clear();
  read_latency_.clear();
  remaining_ = limit_;
  measuring_ = true;
}

void RdmaHost::generate(link::Port& port, TimeNs now) {
  now_ = now;
  came_ = false;
  node_.poll(now);
  // Ahead of sending: a peer's write is compared before DONE lets it write there again.
  take_completions();
  free_set_aside();
  begin_some();
  engine::Outlet outlet(port);
  node_.send(outlet);
  counts_.sent += measure::Volume{outlet.pushed(), outlet.pushed_bytes()};
  full_ = outlet.link_full();
}

TimeNs RdmaHost::next_due() const {
  // A full port is retried after a while, not immediately.
  constexpr std::uint64_t again_ns = 20'000;
  if (came_ || (running_ && remaining_ > 0 && !free_.empty())) {
    return TimeNs{0};
  }
  if (node_.has_to_send()) {
    return full_ ? now_ + again_ns : TimeNs{0};
  }
  const TimeNs freed = set_aside_.empty() ? never : slots_[set_aside_.front()].free_at;
  return std::min(node_.next_deadline(), running_ ? freed : never);
}

void RdmaHost::begin_some() {
  while (running_ && remaining_ > 0 && !free_.empty() && begin(free_.back())) {
    free_.pop_back();
    remaining_ -= remaining_ == no_limit ? 0 : 1;
  }
}

const RdmaPlan::Peer* RdmaHost::next_peer() {
  if (!plan_.destinations) {
    return &plan_.peers.front();
  }
  const Destinations& destinations = *plan_.destinations;
  for (std::uint32_t skipped = 0; skipped < destinations.rounds(); ++skipped) {
    const std::uint32_t to = destinations.next(number_, round_, random_);
    round_ = round_ + 1 == destinations.rounds() ? 0 : round_ + 1;
    if (to != Destinations::no_destination) {
      return &plan_.peers[to];
    }
  }
  return nullptr;
}

bool RdmaHost::begin(std::uint32_t index) {
  const RdmaPlan::Peer* const peer = next_peer();
  if (peer == nullptr) {
    running_ = false;
    return false;
  }
  Slot& slot = slots_[index];
  slot.read = random_.chance(plan_.settings.read_share);
  slot.number = RdmaData::number(measuring_, number_, begun_);
  slot.length = plan_.settings.sizes[begun_ % plan_.settings.sizes.size()];
  slot.peer = peer->nid;
  slot.begun = now_;
  const rdma::Begun begun =
      slot.read ? node_.read({.peer = peer->nid,
                              .vni = plan_.vni(),
                              .memory = {&reads_[index * plan_.longest], slot.length},
                              .key = peer->data,
                              .offset = RdmaData::start_of(slot.number),
                              .user = index})
                : node_.write({.peer = peer->nid,
                               .vni = plan_.vni(),
                               .memory = data_.of(slot.number, slot.length),
                               .key = peer->slots,
                               .offset = plan_.slot_offset(number_, index),
                               .user = index,
                               .immediate = slot.number});
  if (begun.error != rdma::BeginError::none) {
    ++counts_.not_begun;
    remark(fmt::format("a transfer with NID {:#x} was not begun: {}", peer->nid.value,
                       rdma::text_of(begun.error)));
    running_ = false; // it would be refused again and again
    return false;
  }
  slot.busy = true;
  ++begun_;
  ++in_flight_;
  return true;
}

void RdmaHost::take_completions() {
  while (const auto completion = node_.take_completion()) {
    if (completion->kind == rdma::Completion::Kind::arrival) {
      arrive(*completion);
    } else {
      finish(*completion);
    }
  }
}

void RdmaHost::finish(const rdma::Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.user);
  Slot& slot = slots_[index];
  slot.busy = false;
  --in_flight_;
  const bool counts = RdmaData::is_measured(slot.number) == measuring_;
  if (!completion.done()) {
    counts_.failed += counts ? 1 : 0;
    remark(fmt::format(
        "a {} of {} bytes, NID {:#x} and {:#x}, MSGID {}, failed: {}{}{}",
        slot.read ? "read" : "write", slot.length, plan_.nid(number_).value, slot.peer.value,
        completion.message, rdma::text_of(completion.cause),
        completion.status == wire::RdmaStatus::ok ? "" : ": ",
        completion.status == wire::RdmaStatus::ok ? "" : wire::text_of(completion.status)));
    slot.free_at = now_ + set_aside_ns;
    set_aside_.push_back(index);
    return;
  }
  free_.push_back(index);
  if (slot.read) {
    const bool right =
        compare(&reads_[index * plan_.longest], slot.number, slot.length, slot.peer, "read from");
    counts_.reads += counts && right ? 1 : 0;
    counts_.bytes += counts && right ? slot.length : 0;
  } else if (counts) {
    ++counts_.writes;
    counts_.bytes += slot.length;
    counts_.written_digest += digest_of(data_.of(slot.number, slot.length).data(), slot.length);
  }
  if (counts) {
    (slot.read ? read_latency_ : write_latency_).record(elapsed_ns(now_, slot.begun));
  }
}

void RdmaHost::arrive(const rdma::Completion& completion) {
  const TransferNumber number = completion.user;
  const std::byte* const came = written_.get() + completion.offset;
  if (RdmaData::is_measured(number)) {
    ++counts_.arrived;
    counts_.arrived_bytes += completion.length;
    counts_.arrived_digest += digest_of(came, completion.length);
  }
  compare(came, number, completion.length, completion.peer.nid, "written by");
}

bool RdmaHost::compare(const std::byte* came, TransferNumber number, std::uint64_t length, Nid peer,
                       const char* what) {
  if (length == 0) {
    return true;
  }
  if (length > data_.longest()) {
    ++counts_.digest_errors;
    remark(fmt::format("{} bytes were {} NID {:#x}, more than any transfer here has; give both "
                       "ends the same transfer_sizes",
                       length, what, peer.value));
    return false;
  }
  const std::byte* const expected = data_.of(number, length).data();
  if (std::memcmp(came, expected, length) == 0) {
    return true;
  }
  ++counts_.digest_errors;
  const auto at = std::mismatch(came, came + length, expected).first - came;
  remark(fmt::format("transfer {:#x}: byte {} of {} that were {} NID {:#x} is wrong; give both "
                     "ends the same seed, if they are two",
                     number & ~RdmaData::measured_bit, at, length, what, peer.value));
  return false;
}

void RdmaHost::free_set_aside() {
  while (!set_aside_.empty() && slots_[set_aside_.front()].free_at <= now_) {
    free_.push_back(set_aside_.front());
    set_aside_.erase(set_aside_.begin());
  }
}

rdma::Counters RdmaHost::node_counts() const {
  rdma::Counters since = node_.counters();
#define TRIBUTARY_X(name, text) since.name -= before_.name;
  TRIBUTARY_RDMA_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  return since;
}

std::size_t RdmaHost::unfinished() const {
  return static_cast<std::size_t>(std::ranges::count_if(slots_, [&](const Slot& slot) {
    return slot.busy && RdmaData::is_measured(slot.number) == measuring_;
  }));
}

std::string RdmaHost::oldest(TimeNs now) const {
  const Slot* oldest = nullptr;
  for (const Slot& slot : slots_) {
    if (slot.busy && (oldest == nullptr || slot.begun < oldest->begun)) {
      oldest = &slot;
    }
  }
  return oldest == nullptr
             ? std::string()
             : fmt::format("a {} of {} bytes, NID {:#x} and {:#x}, begun {:.1f} s ago",
                           oldest->read ? "read" : "write", oldest->length,
                           plan_.nid(number_).value, oldest->peer.value,
                           seconds_of(elapsed_ns(now, oldest->begun)));
}

void RdmaHost::remark(std::string text) {
  if (remarks_.size() < measure::Tally::most_remarks) {
    remarks_.push_back(std::move(text));
  }
}

} // namespace tributary::pktgen::traffic
