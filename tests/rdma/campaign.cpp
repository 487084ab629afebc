#include "tests/rdma/campaign.hpp"

#include "endpoint/rdma/node.hpp"
#include "tributary/random.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace tributary::rdma::test {

namespace {

constexpr Vni vni{0x0400};
constexpr std::size_t writers = 12;
constexpr std::size_t readers = 2;
constexpr std::size_t slots = writers + readers;
constexpr std::uint32_t longest_frame = 270;  // 200 bytes of payload
constexpr std::size_t slot_bytes = 200 * 160; // more than a window of 128
constexpr std::size_t canary_bytes = 64;
constexpr std::size_t stride = slot_bytes + 2 * canary_bytes;
constexpr std::size_t most_violations = 10;

constexpr Nid source_nid{1};
constexpr Nid sink_nid{2};
constexpr Nid hostile_nid{9};

/// A host at an unguarded port: it sends in any name, knows the addresses, the VNI and the key of a
/// region that it may use, and sees frames sent to itself. It guesses numbers of others as if they
/// counted from 0, or from a known start.
class Hostile {
public:
  Hostile(std::uint64_t seed, RegionKey key) : random_(seed), key_(key) {}

  void see(const wire::RdmaHeader& h) {
    const bool unproven = h.kind == wire::RdmaKind::rsp && (h.word & 0xFF) == 13;
    proof_ = unproven ? wire::rdma_proof_in(h) : proof_;
  }
  std::vector<std::byte> frame(std::uint64_t begun) {
    wire::RdmaHeader h;
    h.vni = vni;
    const bool to_sink = random_.chance(0.5);
    h.destination = to_sink ? sink_nid : source_nid;
    const Nid other = to_sink ? source_nid : sink_nid;
    const bool own_name = random_.chance(0.3);
    h.source = own_name ? hostile_nid : other;
    h.kind = static_cast<wire::RdmaKind>(1 + random_.below(wire::rdma_kinds - 1));
    h.flags = static_cast<std::uint8_t>(random_.next() & 0x7E);
    h.dcid = static_cast<std::uint16_t>(random_.below(12));
    h.scid = static_cast<std::uint16_t>(random_.below(12));
    h.generation = static_cast<std::uint16_t>(random_.next());
    h.message = static_cast<std::uint32_t>(1 + random_.below(2)) * 0x9E3779B9U +
                static_cast<std::uint32_t>(begun - std::min(begun, random_.below(20)));
    h.pidx = static_cast<std::uint32_t>(random_.below(160));
    h.word = random_.below(14);
    h.value = random_.chance(0.5) ? 0xFFFFFFFF : static_cast<std::uint32_t>(random_.below(160));
    std::vector<std::byte> payload;
    if (h.kind == wire::RdmaKind::rqt || h.kind == wire::RdmaKind::rd_rqt) {
      h.flags &= static_cast<std::uint8_t>(~wire::rdma_flag::immediate);
      h.value = static_cast<std::uint32_t>(random_.below(slot_bytes + 1));
      h.pidx = static_cast<std::uint32_t>(wire::rdma_frames_of(h.value, 200));
      h.word = 0;
      payload.resize(wire::rdma_request_bytes);
      wire::encode(wire::RdmaRequest{.key = random_.chance(0.5) ? key_.value : random_.next(),
                                     .incarnation = random_.chance(0.9) ? 7 : random_.below(5),
                                     .proof = own_name ? proof_ : random_.next(),
                                     .credit = 0xFFFFFFFF,
                                     .payload = 200,
                                     .slot = h.scid},
                   std::span<std::byte, wire::rdma_request_bytes>(payload));
    } else if (h.kind == wire::RdmaKind::wr) {
      payload.assign(200, std::byte{0x66});
    } else if (h.kind == wire::RdmaKind::resend) {
      payload.assign(8 * random_.below(4), std::byte{0xFF});
    }
    std::vector<std::byte> frame(wire::rdma_frame_bytes(payload.size()));
    wire::encode(h, {}, payload, frame.data());
    return frame;
  }

private:
  Random random_;
  RegionKey key_;
  std::uint64_t proof_ = 0;
};

/// Memory of a host: slots with canaries between them.
using Memory = std::vector<std::byte>;

std::span<std::byte> slot_of(Memory& memory, std::size_t slot) {
  return std::span(memory).subspan(slot * stride + canary_bytes, slot_bytes);
}
std::span<std::byte> slot_with_canaries(Memory& memory, std::size_t slot) {
  return std::span(memory).subspan(slot * stride, stride);
}

class Campaign {
public:
  explicit Campaign(const CampaignRun& run)
      : run_(run), random_(run.seed), network_(settings(run), run.seed ^ 0x4E45'5457),
        local_(slots * stride, std::byte{0xC5}), remote_(slots * stride, std::byte{0xC5}),
        shadow_(remote_), expected_(slots * stride, std::byte{0xC5}) {
    source_ = make(source_nid, 12, 4);
    sink_ = make(sink_nid, 3, 3);
    network_.add(*source_);
    network_.add(*sink_);
    register_all();
    if (run.scene == Scene::hostile) {
      begin_hostility();
    }
  }

  CampaignReport go() {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      begin(slot);
    }
    network_.pump();
    const TimeNs end{(run_.transfers + 100) * run_.timeout_ns};
    plan_next_trouble();
    while (ended_ < begun_ || begun_ < run_.transfers) {
      const bool alive = network_.step();
      if (network_.now() > end || (!alive && !dead_)) {
        break;
      }
      if (!alive || network_.now() >= trouble_at_) {
        make_trouble();
      }
      drain();
      if (hostile_ && random_.chance(0.3)) {
        network_.inject(hostile_->frame(begun_), random_.below(2'000));
        ++report_.forged;
      }
    }
    finish();
    return report_;
  }

private:
  struct Slot {
    bool busy = false;
    bool reading = false;
    bool whole = true; ///< the next write covers all: the content is unknown
    std::uint64_t user = 0;
    std::size_t offset = 0;
    std::size_t length = 0;
    bool immediate = false;
    RegionKey key{};
  };

  static NetworkSettings settings(const CampaignRun& run) {
    NetworkSettings s;
    s.delay_ns = 1000;
    s.jitter_ns = 500;
    s.faults = {
        .loss = 0.02, .duplicate = 0.02, .corrupt = 0.005, .late = 0.002, .late_ns = 800'000};
    if (run.scene == Scene::queue) {
      s.bits_per_second = 40'000'000'000;
      s.queue_bits_per_second = 10'000'000'000;
      s.queue_frames = 40;
      s.trims = run.seed % 2 == 0;
    }
    return s;
  }
  std::unique_ptr<Node> make(Nid nid, std::size_t sources, std::size_t sinks) {
    Options o;
    o.address = nid;
    o.incarnation = random_.next();
    o.seed = random_.next();
    o.longest_frame = longest_frame;
    o.sinks = nid.value == 2 ? 3 : sinks;
    o.sources = sources;
    o.works = 16;
    o.peers = 4;
    o.records = 64;
    o.regions = slots + 2;
    o.completions = 64;
    o.widest_window = 128;
    o.rules = run_.rules;
    auto node = std::make_unique<Node>(o);
    rdma_policy::Policy p;
    p.window = 128;
    p.initial_timeout_ns = 20'000;
    p.least_timeout_ns = 8'000;
    p.most_timeout_ns = 1'000'000;
    p.initial_reordering_ns = 1'000;
    p.most_reordering_ns = 50'000;
    p.busy_unit_ns = 2'000;
    p.finished_ns = 20'000'000; // longer than any frame is in flight or repeated
    p.forget_early = run_.seed % 3 == 0;
    p.sink_credit = run_.scene == Scene::queue ? 64 : 0;
    node->set_policy(p);
    return node;
  }
  void register_all() {
    for (std::size_t i = 0; i < slots; ++i) {
      slots_[i].key = *sink_->register_region(slot_of(remote_, i),
                                              {.peers_write = true, .peers_read = true}, vni);
    }
  }
  void begin_hostility() {
    const auto key =
        sink_->register_region(given_away_, {.peers_write = true, .peers_read = true}, vni);
    hostile_.emplace(run_.seed ^ 0x484F'5354, *key);
    network_.set_filter([this](auto, const wire::RdmaHeader& h) {
      if (h.destination == hostile_nid) {
        hostile_->see(h);
        return false;
      }
      return true;
    });
  }
  void violation(const std::string& what) {
    if (report_.violations.size() < most_violations) {
      report_.violations.push_back(std::to_string(network_.now().value) + " ns: " + what);
    }
  }
  /// How long a transfer is: mostly short, sometimes more than a window, sometimes nothing.
  std::size_t some_length() {
    switch (random_.below(16)) {
    case 0: return 0;
    case 1: return 200;
    case 2: return random_.below(slot_bytes) + 1;
    default: return random_.below(1600) + 1;
    }
  }

  void begin(std::size_t index) {
    if (begun_ >= run_.transfers || dead_) {
      return; // otherwise all would begin, and fail, before the path is restored
    }
    Slot& slot = slots_[index];
    slot.reading = index >= writers;
    if (!slot.whole || slot.reading) {
      check(index, "before the next transfer");
    }
    const bool all = slot.whole && !slot.reading;
    slot.length = all ? slot_bytes : some_length();
    slot.offset = all ? 0 : random_.below(slot_bytes - slot.length + 1);
    slot.user = ++users_;
    slot.immediate = !slot.reading && random_.chance(0.25);
    const auto memory = slot_of(local_, index).subspan(slot.offset, slot.length);
    fill(memory);
    Begun begun;
    if (slot.reading) {
      std::memcpy(slot_with_canaries(expected_, index).data(),
                  slot_with_canaries(local_, index).data(), stride);
      begun = source_->read({.peer = sink_nid,
                             .vni = vni,
                             .memory = memory,
                             .key = slot.key,
                             .offset = slot.offset,
                             .user = slot.user});
    } else {
      begun =
          source_->write({.peer = sink_nid,
                          .vni = vni,
                          .memory = memory,
                          .key = slot.key,
                          .offset = slot.offset,
                          .user = slot.user,
                          .immediate = slot.immediate ? std::optional(slot.user) : std::nullopt});
    }
    if (begun.error != BeginError::none) {
      violation("cannot begin: " + std::string(name_of(begun.error)));
      return;
    }
    slot.busy = true;
    ++begun_;
  }
  void fill(std::span<std::byte> memory) {
    for (std::size_t at = 0; at < memory.size(); at += 8) {
      const std::uint64_t word = random_.next();
      std::memcpy(&memory[at], &word, std::min<std::size_t>(8, memory.size() - at));
    }
  }

  /// Compares a slot of the sinks' host, and its canaries, with the expected bytes.
  void check(std::size_t index, const char* when) {
    if (std::memcmp(slot_with_canaries(remote_, index).data(),
                    slot_with_canaries(shadow_, index).data(), stride) != 0) {
      ++report_.corrupt;
      violation("slot " + std::to_string(index) + " is corrupt " + when);
      remember(index);
    }
  }
  void remember(std::size_t index) {
    std::memcpy(slot_with_canaries(shadow_, index).data(),
                slot_with_canaries(remote_, index).data(), stride);
  }

  void drain() {
    bool any = false;
    while (const auto completion = source_->take_completion()) {
      finish(*completion);
      any = true;
    }
    while (const auto arrival = sink_->take_completion()) {
      if (!arrivals_.insert(arrival->user).second) {
        ++report_.twice;
        violation("immediate data came twice");
      }
    }
    if (any) {
      network_.pump();
    }
  }

  void finish(const Completion& completion) {
    const auto at = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) {
      return s.busy && s.user == completion.user;
    });
    if (at == slots_.end()) {
      violation("completion of what is not in progress");
      return;
    }
    const auto index = static_cast<std::size_t>(at - slots_.begin());
    Slot& slot = *at;
    slot.busy = false;
    ++ended_;
    if (completion.done()) {
      ++report_.done;
      succeed(index);
    } else {
      ++report_.failed;
      ++report_.failed_by[static_cast<std::size_t>(completion.cause)];
      const bool allowed = run_.scene == Scene::dead_path || run_.scene == Scene::sink_restarts;
      if (!allowed || troubles_ == 0) {
        violation(std::string(slot.reading ? "read" : "write") +
                  " ended: " + std::string(name_of(completion.cause)) + ", " +
                  std::string(name_of(completion.status)) + ", MSGID " +
                  std::to_string(completion.message));
      }
      // The content after a failed write is unknown, and may still change: as the page says, only a
      // new key is safe.
      if (sink_->deregister_region(slot.key)) {
        slot.key = *sink_->register_region(slot_of(remote_, index),
                                           {.peers_write = true, .peers_read = true}, vni);
      }
      slot.whole = true;
      remember(index);
    }
    begin(index);
  }

  void succeed(std::size_t index) {
    Slot& slot = slots_[index];
    if (slot.reading) {
      std::memcpy(slot_of(expected_, index).data() + slot.offset,
                  slot_of(shadow_, index).data() + slot.offset, slot.length);
      if (std::memcmp(slot_with_canaries(local_, index).data(),
                      slot_with_canaries(expected_, index).data(), stride) != 0) {
        ++report_.corrupt;
        violation("read " + std::to_string(index) + " is corrupt");
      }
      return;
    }
    std::memcpy(slot_of(shadow_, index).data() + slot.offset,
                slot_of(local_, index).data() + slot.offset, slot.length);
    slot.whole = false;
    check(index, "when it is done");
    if (slot.immediate && troubles_ == 0) {
      expected_arrivals_.insert(slot.user);
    }
  }

  // Trouble.

  void plan_next_trouble() {
    const bool any = run_.scene == Scene::sink_restarts || run_.scene == Scene::source_restarts ||
                     run_.scene == Scene::dead_path;
    trouble_at_ = any ? network_.now() + random_.between(20'000, 400'000) : never;
  }
  void make_trouble() {
    if (dead_) {
      network_.set_dead(1, false);
      dead_ = false;
      for (std::size_t i = 0; i < slots; ++i) {
        if (!slots_[i].busy) {
          begin(i);
        }
      }
      network_.pump();
      plan_next_trouble();
      return;
    }
    ++troubles_;
    switch (run_.scene) {
    case Scene::sink_restarts: {
      auto reborn = make(sink_nid, 3, 3);
      network_.replace(1, reborn.get());
      sink_ = std::move(reborn);
      register_all();
      break;
    }
    case Scene::source_restarts: {
      auto reborn = make(source_nid, 12, 4);
      network_.replace(0, reborn.get());
      source_ = std::move(reborn);
      ++report_.restarts;
      for (std::size_t i = 0; i < slots; ++i) {
        if (slots_[i].busy) {
          // Half of it may have been written: the new life's first write covers all.
          slots_[i].busy = false;
          slots_[i].whole = slots_[i].whole || !slots_[i].reading;
          ++ended_;
        }
      }
      for (std::size_t i = 0; i < slots; ++i) {
        if (!slots_[i].busy) {
          begin(i);
        }
      }
      network_.pump();
      break;
    }
    default:
      network_.set_dead(1, true);
      dead_ = true;
      // The second time for longer than any time-out.
      trouble_at_ =
          network_.now() + (troubles_ == 2 ? 200 * ns_per_ms : random_.between(5'000, 200'000));
      return;
    }
    plan_next_trouble();
  }

  /// Lets everything come to rest, and checks the final state.
  void finish() {
    if (dead_) {
      network_.set_dead(1, false);
    }
    report_.begun = begun_;
    report_.hung = begun_ - ended_;
    if (report_.hung > 0) {
      violation(std::to_string(report_.hung) + " transfers hang");
    } else {
      network_.run_for(ns_per_second);
      drain();
      for (std::size_t i = 0; i < slots; ++i) {
        if (!slots_[i].whole || i >= writers) {
          check(i, "at the end");
        }
      }
      for (const std::uint64_t user : expected_arrivals_) {
        report_.lost += arrivals_.count(user) == 0 ? 1 : 0;
      }
      if (report_.lost > 0) {
        violation("immediate data was lost");
      }
      report_.left = source_->sinks_in_use() + source_->sources_in_use() + sink_->sinks_in_use() +
                     sink_->sources_in_use();
      if (report_.left > 0) {
        violation(std::to_string(report_.left) + " contexts are still in use");
      }
    }
    report_.frames = network_.frames();
    report_.faults = network_.counts();
    report_.source = source_->counters();
    report_.sink = sink_->counters();
  }

  CampaignRun run_;
  Random random_;
  Network network_;
  std::unique_ptr<Node> source_;
  std::unique_ptr<Node> sink_;
  Memory local_;                           ///< of the sources' host
  Memory remote_;                          ///< of the sinks' host
  Memory shadow_;                          ///< expected content of `remote_`
  Memory expected_;                        ///< expected content of `local_` after a read
  Memory given_away_ = Memory(slot_bytes); ///< to the hostile host
  std::optional<Hostile> hostile_;
  std::array<Slot, slots> slots_{};
  std::set<std::uint64_t> arrivals_;
  std::set<std::uint64_t> expected_arrivals_;
  std::uint64_t users_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t troubles_ = 0;
  bool dead_ = false;
  TimeNs trouble_at_ = never;
  CampaignReport report_;
};

void add_counters(Counters& to, const Counters& from) {
#define TRIBUTARY_X(name, text) to.name += from.name;
  TRIBUTARY_RDMA_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
}

} // namespace

void CampaignReport::add(const CampaignReport& other) {
  begun += other.begun;
  done += other.done;
  failed += other.failed;
  for (std::size_t cause = 0; cause < causes; ++cause) {
    failed_by[cause] += other.failed_by[cause];
  }
  hung += other.hung;
  corrupt += other.corrupt;
  twice += other.twice;
  lost += other.lost;
  left += other.left;
  restarts += other.restarts;
  frames += other.frames;
  forged += other.forged;
  for (std::size_t kind = 0; kind < faults.size(); ++kind) {
    for (std::size_t fault = 0; fault < fault_count; ++fault) {
      faults[kind][fault] += other.faults[kind][fault];
    }
  }
  add_counters(source, other.source);
  add_counters(sink, other.sink);
  for (const std::string& violation : other.violations) {
    if (violations.size() < most_violations) {
      violations.push_back(violation);
    }
  }
}

CampaignReport run_campaign(const CampaignRun& run) {
  // Too large for a stack under a sanitizer.
  return std::make_unique<Campaign>(run)->go();
}

} // namespace tributary::rdma::test
