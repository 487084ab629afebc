#include "tests/messages/campaign.hpp"

#include "endpoint/messages/messenger.hpp"
#include "tests/rdma/network.hpp"
#include "tributary/random.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

namespace tributary::messages::test {

namespace {

constexpr Vni vni{0x0400};
constexpr std::size_t programs = 4;
constexpr std::uint32_t longest_frame = 270; // 200 bytes of payload
constexpr std::size_t eager_bytes = 600;
constexpr std::size_t longest_message = 6'000;
constexpr std::byte untouched{0xC5};
constexpr std::size_t most_violations = 10;
constexpr std::uint64_t timeout_ns = 20'000'000'000;
constexpr Pattern anything{.ignored = ~std::uint64_t{0}, .tagged = true};

/// Two hosts with two programs each.
EndPoint address_of(std::size_t program) {
  return {Nid{static_cast<std::uint32_t>(1 + program / 2)},
          static_cast<std::uint16_t>(program % 2 == 0 ? 0 : 256)};
}

rdma_policy::Policy quick_policy() {
  rdma_policy::Policy p;
  p.window = 128;
  p.initial_timeout_ns = 20'000;
  p.least_timeout_ns = 8'000;
  p.most_timeout_ns = 1'000'000;
  p.initial_reordering_ns = 1'000;
  p.most_reordering_ns = 50'000;
  p.busy_unit_ns = 2'000;
  p.finished_ns = 20'000'000; // longer than any frame is in flight or repeated
  return p;
}

/// A message that was sent: what it must be when it arrives.
struct Sent {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint64_t number = 0; ///< among those of its pair
  std::uint64_t tag = 0;
  std::vector<std::byte> bytes;
  bool over = false;
};

/// An addition of one to a counter of another program.
struct Added {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint64_t old = 0;
  bool over = false;
  bool done = false;
};
/// In the `user` of an atomic; the rest is its place.
constexpr std::uint64_t of_atomic = std::uint64_t{1} << 63U;

struct Posted {
  Pattern pattern;
  std::vector<std::byte> memory;
  std::uint64_t order = 0;
  bool over = false;
  const Sent* got = nullptr;
};

class Campaign {
public:
  explicit Campaign(const CampaignRun& run)
      : run_(run), random_(run.seed), network_(settings(run), run.seed ^ 0x4D45'5353) {
    for (std::size_t p = 0; p < programs; ++p) {
      programs_[p] = make(p);
      network_.add(*programs_[p], address_of(p), longest_frame);
    }
  }

  CampaignReport go() {
    const TimeNs end{timeout_ns};
    TimeNs next_restart{restart_interval};
    std::uint64_t idle = 0;
    while (network_.now() < end && (begun_ < run_.messages || !is_quiet())) {
      if (begun_ < run_.messages && random_.chance(0.3)) {
        begin_send();
      }
      if (random_.chance(0.3)) {
        begin_receive();
      }
      if (begun_ < run_.messages && random_.chance(0.1)) {
        begin_atomic();
      }
      if (begun_ == run_.messages && random_.chance(0.2)) {
        receive_anything();
      }
      if (run_.scene == Scene::restarts && network_.now() >= next_restart &&
          begun_ < run_.messages) {
        restart(random_.below(programs));
        next_restart = network_.now() + restart_interval;
      }
      network_.pump();
      idle = network_.step() ? 0 : idle + 1;
      if (idle > 10'000) {
        break; // nothing will ever happen
      }
      for (std::size_t p = 0; p < programs; ++p) {
        drain(p);
      }
    }
    conclude();
    return report_;
  }

private:
  static constexpr std::uint64_t restart_interval = 300'000;
  static constexpr std::size_t most_operations_of_sends = 32;
  static constexpr std::size_t most_waiting = 20; ///< receives

  static rdma::test::NetworkSettings settings(const CampaignRun& run) {
    rdma::test::NetworkSettings s;
    s.delay_ns = 1000;
    s.jitter_ns = run.scene == Scene::spraying ? 20'000 : 500;
    const double share = run.scene == Scene::spraying ? 0.1 : 1;
    s.faults = {.loss = 0.02 * share,
                .duplicate = 0.02 * share,
                .corrupt = 0.005 * share,
                .late = 0.002 * share,
                .late_ns = 800'000};
    return s;
  }
  std::unique_ptr<Messenger> make(std::size_t p) {
    Options o;
    const bool narrow = run_.scene == Scene::narrow;
    o.rdma.address = o.streams.address = address_of(p);
    o.rdma.incarnation = random_.next();
    o.rdma.seed = o.streams.seed = random_.next();
    o.rdma.longest_frame = o.streams.longest_frame = longest_frame;
    o.rdma.sinks = o.rdma.sources = o.rdma.works = narrow ? 4 : 64;
    o.rdma.peers = 16;
    o.rdma.records = 256;
    o.rdma.regions = narrow ? 2 : 64;
    o.rdma.completions = 64;
    o.rdma.widest_window = 128;
    o.streams.sessions = 8;
    o.streams.window = 64;
    o.streams.send_frames = narrow ? 16 : 256;
    o.streams.hold_frames = narrow ? 16 : 256;
    o.streams.receive_room = narrow ? 32 : 256;
    o.streams.ack_delay_ns = 5'000;
    o.streams.keepalive_ns = 10'000'000;
    o.streams.policy = quick_policy();
    o.operations = narrow ? 64 : 1024;
    o.completions = 2048;
    o.unexpected_messages = narrow ? 8 : 4096;
    o.unexpected_bytes = narrow ? 8'000 : 1'000'000;
    o.eager_bytes = eager_bytes;
    auto messenger = std::make_unique<Messenger>(o);
    messenger->node().set_policy(quick_policy());
    keys_[p] = *messenger->register_region(std::as_writable_bytes(std::span(&counters_[p], 1)),
                                           {.peers_write = true, .peers_read = true}, vni);
    return messenger;
  }
  void violation(const std::string& what) {
    if (report_.violations.size() < most_violations) {
      report_.violations.push_back(std::to_string(network_.now().value) + " ns: " + what);
    }
  }
  [[nodiscard]] bool tolerates_failures() const { return run_.scene == Scene::restarts; }

  std::size_t some_length() {
    switch (random_.below(8)) {
    case 0: return 0;
    case 1: return random_.below(longest_message + 1);
    case 2: return 100 + random_.below(600);
    default: return random_.below(60);
    }
  }

  void begin_send() {
    const std::size_t from = random_.below(programs);
    if (programs_[from]->operations_in_use() > most_operations_of_sends) {
      return; // some are for receives
    }
    // Programs of the same host have no network between them.
    const std::size_t to = (from / 2 == 0 ? 2 : 0) + random_.below(2);
    auto sent = std::make_unique<Sent>();
    sent->from = from;
    sent->to = to;
    sent->tag = random_.below(4);
    sent->bytes.resize(some_length());
    for (std::byte& each : sent->bytes) {
      each = static_cast<std::byte>(random_.next());
    }
    const std::uint64_t user = sends_.size() + 1;
    const bool inject =
        sent->bytes.size() <= programs_[from]->inject_bytes() && random_.chance(0.2);
    const BeginError error = programs_[from]->send({.peer = address_of(to),
                                                    .vni = vni,
                                                    .memory = sent->bytes,
                                                    .tag = sent->tag,
                                                    .tagged = true,
                                                    .data = user,
                                                    .inject = inject,
                                                    .wants_done = !inject && random_.chance(0.1),
                                                    .silent = inject,
                                                    .user = user});
    if (error == BeginError::again) {
      return;
    }
    if (error != BeginError::none) {
      violation("cannot send: " + std::string(text_of(error)));
      return;
    }
    sent->number = numbers_[{from, to}]++;
    sent->over = inject;
    report_.long_ones += sent->bytes.size() > eager_bytes ? 1 : 0;
    unreceived_[to].insert(user);
    sends_.push_back(std::move(sent));
    ++begun_;
  }

  void begin_atomic() {
    const std::size_t from = random_.below(programs);
    const std::size_t to = (from / 2 == 0 ? 2 : 0) + random_.below(2);
    auto added = std::make_unique<Added>(Added{.from = from, .to = to});
    const std::uint64_t one = 1;
    const BeginError error =
        programs_[from]->atomic({.peer = address_of(to),
                                 .vni = vni,
                                 .operation = wire::AtomicOperation::sum,
                                 .type = wire::AtomicType::uint64,
                                 .count = 1,
                                 .operand = std::as_bytes(std::span(&one, 1)),
                                 .old = std::as_writable_bytes(std::span(&added->old, 1)),
                                 .key = keys_[to],
                                 .user = of_atomic | adds_.size()});
    if (error == BeginError::none) {
      adds_.push_back(std::move(added));
    } else if (error != BeginError::again) {
      violation("cannot add: " + std::string(text_of(error)));
    }
  }
  void take_added(const Completion& c) {
    Added& added = *adds_[c.user & ~of_atomic];
    if (added.over) {
      violation("an atomic completes twice");
    }
    added.over = true;
    added.done = c.done();
    if (!c.done()) {
      ++report_.failed;
      if (!tolerates_failures()) {
        violation("an atomic fails: " + std::string(text_of(c.failure)));
      }
    }
  }
  void check_counters() {
    for (std::size_t p = 0; p < programs; ++p) {
      std::set<std::uint64_t> seen;
      std::size_t done = 0;
      for (const auto& added : adds_) {
        if (added->to == p && added->done) {
          ++done;
          seen.insert(added->old);
        }
      }
      report_.atomics += done;
      // A program that has ended may have added without knowing of it.
      if (seen.size() != done || counters_[p] < done ||
          (!tolerates_failures() && counters_[p] != done)) {
        violation("a counter has " + std::to_string(counters_[p]) + " after " +
                  std::to_string(done) + " additions, which saw " + std::to_string(seen.size()) +
                  " values");
      }
    }
  }

  void post(std::size_t p, const Pattern& pattern, std::size_t bytes) {
    auto posted = std::make_unique<Posted>();
    posted->pattern = pattern;
    posted->memory.assign(bytes + 1, untouched);
    posted->order = receives_[p].size();
    const BeginError error =
        programs_[p]->receive({.pattern = pattern,
                               .memory = std::span(posted->memory).first(bytes),
                               .user = receives_[p].size() + 1});
    if (error == BeginError::none) {
      receives_[p].push_back(std::move(posted));
      ++waiting_[p];
    }
  }
  void begin_receive() {
    const std::size_t p = random_.below(programs);
    if (waiting_[p] > most_waiting) {
      if (programs_[p]->unexpected() > 0) {
        post(p, anything, longest_message); // what others wait for may be behind it
      }
      return;
    }
    Pattern pattern{.tag = random_.below(4), .tagged = true};
    if (random_.chance(0.6)) {
      pattern.source = source_of(address_of((p / 2 == 0 ? 2 : 0) + random_.below(2)), vni);
    }
    pattern.ignored = random_.chance(0.3) ? 3 : random_.chance(0.2) ? 1 : 0;
    post(p, pattern, random_.chance(0.1) ? random_.below(300) : longest_message);
  }
  /// Nothing else is sent: what waits is received by receives of everything.
  void receive_anything() {
    const std::size_t p = random_.below(programs);
    if (!unreceived_[p].empty() && programs_[p]->unexpected() + waiting_[p] < 1'000) {
      post(p, anything, longest_message);
    }
  }

  void drain(std::size_t p) {
    while (const auto c = programs_[p]->take_completion()) {
      if (c->kind == Completion::Kind::fetch) {
        take_added(*c);
      } else if (c->kind == Completion::Kind::send) {
        Sent& sent = *sends_[c->user - 1];
        if (sent.over) {
          violation("a send completes twice");
        }
        sent.over = true;
        if (!c->done()) {
          ++report_.failed;
          if (!tolerates_failures()) {
            violation("a send fails: " + std::string(text_of(c->failure)));
          }
        }
      } else {
        take_received(p, *c);
      }
    }
  }
  void take_received(std::size_t p, const Completion& c) {
    Posted& posted = *receives_[p][c.user - 1];
    if (posted.over) {
      violation("a receive completes twice");
      return;
    }
    posted.over = true;
    --waiting_[p];
    if (c.failure != Failure::none && c.failure != Failure::truncated) {
      ++report_.failed;
      if (!tolerates_failures() && c.failure != Failure::cancelled) {
        violation("a receive fails: " + std::string(text_of(c.failure)));
      }
      return;
    }
    if (!c.has_data || c.data == 0 || c.data > sends_.size()) {
      violation("a message that was never sent");
      return;
    }
    const Sent& sent = *sends_[c.data - 1];
    posted.got = &sent;
    if (unreceived_[p].erase(c.data) == 0) {
      violation("a message is received twice, or by another program");
    }
    ++report_.received;
    const std::size_t room = posted.memory.size() - 1;
    const std::size_t length = std::min(room, sent.bytes.size());
    report_.truncated += c.failure == Failure::truncated ? 1 : 0;
    if ((c.failure == Failure::truncated) != (sent.bytes.size() > room) || c.length != length ||
        c.total != sent.bytes.size() || c.tag != sent.tag || c.peer != address_of(sent.from)) {
      violation("a message's envelope is wrong");
    }
    if (!std::equal(sent.bytes.begin(), sent.bytes.begin() + static_cast<std::ptrdiff_t>(length),
                    posted.memory.begin())) {
      violation("a message's bytes are wrong");
    }
    if (posted.memory[room] != untouched) {
      violation("memory beyond a receive was written");
    }
  }

  /// Receives that are still posted count for nothing: they are cancelled in the end.
  [[nodiscard]] bool is_quiet() const {
    return std::ranges::all_of(sends_, [](const auto& each) { return each->over; }) &&
           std::ranges::all_of(adds_, [](const auto& each) { return each->over; }) &&
           (tolerates_failures() ||
            std::ranges::all_of(unreceived_, [](const auto& each) { return each.empty(); }));
  }

  void restart(std::size_t p) {
    ++report_.restarts;
    for (const auto& sent : sends_) {
      sent->over = sent->over || sent->from == p; // its program does not care any more
    }
    for (const auto& added : adds_) {
      added->over = added->over || added->from == p;
    }
    for (const auto& posted : receives_[p]) {
      posted->over = true;
    }
    receives_[p].clear();
    waiting_[p] = 0;
    programs_[p] = make(p);
    network_.replace(p, programs_[p].get());
  }

  void conclude() {
    if (!is_quiet()) {
      const auto open = std::ranges::count_if(sends_, [](const auto& each) { return !each->over; });
      violation(std::to_string(open) + " sends hang, and " + std::to_string(unreceived_[0].size()) +
                ", " + std::to_string(unreceived_[1].size()) + ", " +
                std::to_string(unreceived_[2].size()) + ", " +
                std::to_string(unreceived_[3].size()) + " messages were not received");
    }
    for (std::size_t p = 0; p < programs; ++p) {
      for (std::uint64_t user = 1; user <= receives_[p].size(); ++user) {
        if (!receives_[p][user - 1]->over) {
          programs_[p]->cancel(user);
        }
      }
      drain(p);
      if (tolerates_failures()) {
        programs_[p]->say_goodbye();
      }
    }
    network_.run_for(100'000'000);
    check_counters();
    for (std::size_t p = 0; p < programs; ++p) {
      drain(p);
      check_order(p);
      const Messenger& m = *programs_[p];
      report_.resent += m.streams().counters().resent;
      report_.blocked += m.counters().blocked;
      if (!tolerates_failures() &&
          (m.operations_in_use() != 0 || m.unexpected() != 0 || m.streams().frames_in_use() != 0)) {
        violation(std::to_string(m.operations_in_use()) + " operations, " +
                  std::to_string(m.unexpected()) + " messages and " +
                  std::to_string(m.streams().frames_in_use()) + " frames are left");
      }
    }
    report_.sent = begun_;
    report_.frames = network_.frames();
  }
  void check_order(std::size_t p) {
    for (const auto& earlier : receives_[p]) {
      for (const auto& later : receives_[p]) {
        if (earlier->order >= later->order || earlier->got == nullptr || later->got == nullptr ||
            earlier->got->from != later->got->from || earlier->got->number <= later->got->number) {
          continue;
        }
        const Envelope passed_over{.source = source_of(address_of(later->got->from), vni),
                                   .tag = later->got->tag,
                                   .tagged = true};
        if (earlier->pattern.matches(passed_over)) {
          violation("a message has overtaken another one");
        }
      }
    }
  }

  CampaignRun run_;
  Random random_;
  rdma::test::Network network_;
  std::array<std::uint64_t, programs> counters_{}; ///< of the programs; they outlive them
  std::array<rdma::RegionKey, programs> keys_{};
  std::array<std::unique_ptr<Messenger>, programs> programs_;
  std::vector<std::unique_ptr<Added>> adds_;
  std::vector<std::unique_ptr<Sent>> sends_;
  std::array<std::vector<std::unique_ptr<Posted>>, programs> receives_;
  std::array<std::size_t, programs> waiting_{};
  std::array<std::set<std::uint64_t>, programs> unreceived_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> numbers_;
  std::uint64_t begun_ = 0;
  CampaignReport report_;
};

} // namespace

void CampaignReport::add(const CampaignReport& other) {
  sent += other.sent;
  received += other.received;
  truncated += other.truncated;
  long_ones += other.long_ones;
  failed += other.failed;
  restarts += other.restarts;
  frames += other.frames;
  resent += other.resent;
  blocked += other.blocked;
  atomics += other.atomics;
  for (const std::string& each : other.violations) {
    if (violations.size() < most_violations) {
      violations.push_back(each);
    }
  }
}

CampaignReport run_campaign(const CampaignRun& run) { return Campaign(run).go(); }

} // namespace tributary::messages::test
