#include "tests/fabric/switch_account.hpp"

#include "dataplane/core/engine_home.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tests/fabric/describe.hpp"
#include "tributary/wire/hello.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tributary::fabric {

using core::Action;
using core::Decision;
using core::DropReason;

namespace {

constexpr unsigned contribution_overflow = 7;
constexpr unsigned operator_mismatch = 8;
constexpr std::uint64_t signatures_are_modulo = std::uint64_t{1} << 56;

TreeNumber tree_of_key(std::uint32_t key) { return ReductionKey::from_index(key).tree(); }

bool same(core::Decision d, Action action, core::Event event, PortNumber port, PortSet ports,
          DropReason reason) {
  if (d.action != action || d.event != event) {
    return false;
  }
  switch (action) {
  case Action::drop: return d.reason == reason;
  case Action::forward:
  case Action::emit: return d.port == port;
  case Action::replicate:
  case Action::replicate_result: return d.ports == ports;
  case Action::absorb:
  case Action::deliver: return true;
  case Action::hand_over: break; // nothing to account for
  }
  return false;
}

std::string text_of(Action action, core::Event event, DropReason reason, PortNumber port,
                    PortSet ports) {
  return fmt::format("{} {}{}{}{}", name_of(action), name_of(event),
                     action == Action::drop ? fmt::format(" {}", name_of(reason)) : "",
                     action == Action::forward || action == Action::emit
                         ? fmt::format(" port {}", port.value)
                         : "",
                     core::is_copied(action) ? fmt::format(" ports {:x}", ports.bits()) : "");
}

} // namespace

std::string SwitchAccount::name_of_key(std::uint32_t key) {
  return fmt::format("tree {}/{}", tree_of_key(key).value,
                     ReductionKey::from_index(key).reduction().value);
}

SwitchAccount::SwitchAccount(const core::SwitchSettings& settings, Notify notify)
    : settings_(settings), notify_(std::move(notify)), tables_(core::TablesBuilder().build(0)) {}

SwitchAccount::Tree SwitchAccount::tree_of(TreeNumber number) const {
  const core::MulticastEntry& entry = tables_->tree(number);
  const core::SlotDemand wide = tables_->slot_place(number).demand();
  return {.installed = entry.valid,
          .parent = entry.parent,
          .children = entry.children,
          .wait_count = entry.wait_count,
          .slots = wide.any() ? wide.slots : 0,
          .payload = wide.payload_bytes,
          .half_floats = wide.half_floats,
          .in_switch = entry.in_switch};
}

std::uint64_t SwitchAccount::timer_ns(ContributionCount wait_count) const {
  std::size_t timer = 0;
  while (timer < 3 && settings_.timers.limits[timer] <= wait_count) {
    ++timer;
  }
  // Units of 1024 cycles at 850 MHz.
  return std::uint64_t{settings_.timers.units[timer]} * 1'024'000 / 850;
}

std::uint64_t SwitchAccount::in_use(PortNumber engine) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(armed_, [&](const auto& entry) {
    return entry.second.tree.parent == engine && entry.second.tree.slots == 0;
  }));
}

void SwitchAccount::begin_tables(std::shared_ptr<const core::Tables> tables) {
  const auto old = std::exchange(tables_, std::move(tables));
  const auto is_another = [&](std::uint32_t key) {
    const TreeNumber tree = tree_of_key(key);
    const auto &a = old->tree(tree), &b = tables_->tree(tree);
    return a.valid && !(b.valid && a.parent == b.parent && a.children == b.children &&
                        a.wait_count == b.wait_count && a.in_switch == b.in_switch &&
                        old->slot_place(tree).demand() == tables_->slot_place(tree).demand());
  };
  for (auto at = armed_.begin(); at != armed_.end();) {
    if (!is_another(at->first)) {
      ++at;
      continue;
    }
    if (at->second.tree.in_switch) {
      engines_[at->second.tree.parent.value].discarded += at->second.contributions;
    } else if (at->second.frames > 0) {
      owed_.insert(*at);
    }
    at = armed_.erase(at);
  }
  std::erase_if(ended_, [&](const auto& entry) { return is_another(entry.first); });
  std::erase_if(counted_, [&](const auto& entry) { return is_another(entry.first); });
  std::erase_if(in_switch_, [&](const auto& entry) { return is_another(entry.first); });
}

std::unique_ptr<SwitchAccount::Given> SwitchAccount::give_out(std::span<const TreeNumber> trees) {
  auto given = std::make_unique<Given>();
  const auto move_those = [&](auto& from, auto& to) {
    for (auto at = from.begin(); at != from.end();) {
      const auto next = std::next(at);
      if (std::ranges::find(trees, tree_of_key(at->first)) != trees.end()) {
        to.insert(from.extract(at));
      }
      at = next;
    }
  };
  move_those(armed_, given->armed);
  move_those(ended_, given->ended);
  move_those(counted_, given->counted);
  move_those(in_switch_, given->in_switch);
  return given;
}

void SwitchAccount::take_in(Given& given) {
  armed_.merge(given.armed);
  ended_.merge(given.ended);
  counted_.merge(given.counted);
  in_switch_.merge(given.in_switch);
}

void SwitchAccount::end_tables() {
  for (const auto& [key, armed] : std::exchange(owed_, {})) {
    if (!up_.contains(armed.tree.parent)) {
      ++drops_[{armed.tree.parent.value, DropReason::port_down}];
      continue;
    }
    notify_(fmt::format("{} went away, and the {} contributions its engine held with it",
                        name_of_key(key), armed.contributions));
  }
}

PortNumber SwitchAccount::engine_port(PortNumber in, std::span<const std::byte> frame) const {
  const FrameReader f(frame);
  if (f.length() < FrameReader::fabric_header_end || f.ethertype() != tables_->port(in).ethertype ||
      !f.is_multicast()) {
    return in;
  }
  const Tree tree = tree_of(f.tree());
  return tree.wait_count > 0 && (tree.parent == in || tree.children.contains(in))
             ? core::engine_home(f.tree(), tables_->tree(f.tree()),
                                 settings_.descriptors_per_engine)
             : in;
}

/// Errors of the frame itself, before its tree is looked up.
std::optional<DropReason> SwitchAccount::refused(PortNumber in, const FrameReader& f,
                                                 std::span<const std::byte> bytes,
                                                 bool& hello) const {
  const core::PortPolicy& policy = tables_->port(in);
  if (f.length() < FrameReader::fabric_header_end) {
    return DropReason::runt;
  }
  if (f.length() > policy.longest_frame) {
    return DropReason::too_long;
  }
  if (f.ethertype() != policy.ethertype) {
    return DropReason::foreign_ethertype;
  }
  if (f.version() != 0x45) {
    if (!wire::begins_hello(bytes.data() + FrameReader::fabric_header_at)) {
      return DropReason::bad_version;
    }
    hello = wire::check_hello(bytes, policy.ethertype) == wire::HelloError::none;
    return hello ? std::nullopt : std::optional(DropReason::bad_hello);
  }
  if (policy.verify_checksum && !f.checksum_is_right()) {
    return DropReason::bad_checksum;
  }
  if (policy.nid && f.source_nid() != *policy.nid) {
    return DropReason::source_guard;
  }
  if (policy.vnis && !policy.vnis->test(f.vni().value)) {
    return DropReason::vni_not_permitted;
  }
  if (f.is_multicast() && f.action() != 7) {
    return DropReason::bad_action;
  }
  return std::nullopt;
}

SwitchAccount::Answer SwitchAccount::expected(PortNumber in, const FrameReader& f,
                                              std::span<const std::byte> bytes, TrafficClass c,
                                              const Decision& decision) const {
  bool hello = false;
  if (const auto reason = refused(in, f, bytes, hello)) {
    return dropped(*reason);
  }
  if (hello) {
    return {.action = Action::deliver, .event = core::Event::hello};
  }
  const bool has_its_length =
      f.total_length() >= 20 && f.total_length() + FrameReader::fabric_header_at <= f.length();
  if (!f.is_multicast()) {
    if (!has_its_length) {
      return dropped(DropReason::bad_length);
    }
    const Nid nid{f.destination() >> 12};
    if (const core::Place place = tables_->place(nid); place.is_switch()) {
      return expected_by_table(in, place.destination(), c, decision);
    }
    const PortNumber out = tables_->route(nid);
    return out == no_port ? dropped(DropReason::no_route)
           : out == in
               ? dropped(DropReason::route_to_ingress)
               : Answer{.action = Action::forward, .event = core::Event::unicast, .port = out};
  }
  const Tree tree = tree_of(f.tree());
  if (!tree.installed) {
    return dropped(DropReason::unknown_tree);
  }
  const bool from_parent = tree.parent == in;
  if (!from_parent && !tree.children.contains(in)) {
    return dropped(DropReason::not_on_tree);
  }
  if (tree.wait_count == 0) {
    return !has_its_length ? dropped(DropReason::bad_length)
           : !from_parent  ? dropped(DropReason::not_from_parent)
                           : Answer{.action = Action::replicate,
                                    .event = core::Event::multicast,
                                    .ports = tree.children};
  }
  if (const auto reason = misshapen(f, tree)) {
    return dropped(*reason);
  }
  return !from_parent     ? expected_up(in, f, tree)
         : tree.in_switch ? expected_from_root(f, tree)
                          : expected_down(f, tree);
}

std::optional<DropReason> SwitchAccount::misshapen(const FrameReader& f, const Tree& tree) {
  if (f.is_wide()) {
    const std::uint64_t payload = f.total_length() - 48; // wraps where it is less
    if (payload > tree.payload || payload < 40 || payload % 8 != 0) {
      return DropReason::bad_length;
    }
    if (f.length() < FrameReader::wide_headers_end + payload) {
      return DropReason::truncated;
    }
    if (f.request_length() != (17 + payload) % 4096) {
      return DropReason::bad_request;
    }
    if (f.form() < 1 || f.form() > 7) {
      return DropReason::bad_form;
    }
  } else if (f.length() < FrameReader::reduction_end) {
    return DropReason::truncated;
  } else if (f.request_length() != 49) {
    return DropReason::bad_request;
  }
  if (tree.slots > reductions_per_tree && f.slot().value >= tree.slots) {
    return DropReason::bad_reduction_id;
  }
  return std::nullopt;
}

bool SwitchAccount::knows_operator(const FrameReader& f) {
  const auto code = static_cast<std::uint8_t>(f.opcode());
  return wire::is_supported(code) &&
         (!f.is_wide() ||
          wire::carries(static_cast<wire::Form>(f.form()), static_cast<wire::Opcode>(code)));
}

bool SwitchAccount::can_reduce(const FrameReader& f, const Tree& tree) {
  if (!knows_operator(f) || !f.is_wide()) {
    return knows_operator(f);
  }
  const auto form = static_cast<wire::Form>(f.form());
  const bool widened = wire::is_flt_sum(static_cast<wire::Opcode>(f.opcode())) &&
                       (form == wire::Form::bits16 || form == wire::Form::bfloat16);
  return !widened || tree.half_floats || 2 * (f.total_length() - 48) <= tree.payload;
}

bool SwitchAccount::matches(const Armed& armed, const FrameReader& f) {
  return armed.opcode == f.opcode() && armed.total_length == f.total_length() &&
         (!f.is_wide() || armed.form == f.form());
}

SwitchAccount::Answer SwitchAccount::expected_by_table(PortNumber in, std::uint32_t destination,
                                                       TrafficClass c,
                                                       const Decision& decision) const {
  const forwarding_table::Routes& routes = *tables_->routes();
  const forwarding_table::SwitchTable& table = routes.table;
  const unsigned vc = routes.leads_to_switch(in.value) ? c.value : 0U;
  if (vc >= table.vcs) {
    return dropped(DropReason::no_vc);
  }
  if (destination == table.self) {
    return dropped(DropReason::no_route); // and no port is known of the host
  }
  const auto vc_in = static_cast<std::uint8_t>(vc);
  const unsigned next = vc + table.action(in.value, vc_in, destination).step;
  const std::array<std::uint64_t, 1> up{up_.bits()};
  const std::array<std::uint64_t, 1> free{up_.bits() &
                                          ~(next < traffic_classes ? stuck_[next].bits() : 0)};
  auto found = forwarding_table::candidates(table, in.value, vc_in, destination, free);
  auto used = free;
  if (found.outcome != forwarding_table::Outcome::forward) {
    found = forwarding_table::candidates(table, in.value, vc_in, destination, up);
    used = up;
  }
  switch (found.outcome) {
  case forwarding_table::Outcome::dest_dead: return dropped(DropReason::dest_dead);
  case forwarding_table::Outcome::no_vc: return dropped(DropReason::no_vc);
  case forwarding_table::Outcome::no_route:
  case forwarding_table::Outcome::deliver: return dropped(DropReason::no_route);
  case forwarding_table::Outcome::forward: break;
  }
  Answer answer{.action = Action::forward,
                .event = found.spare ? core::Event::detoured : core::Event::unicast};
  bool uncarried = false;
  found.for_each(used, [&](forwarding_table::Port p) {
    const PortNumber port{static_cast<std::uint8_t>(p)};
    const unsigned highest = tables_->port(port).carries_classes ? found.highest_vc : 0U;
    uncarried |= found.lowest_vc > highest;
    if (answer.port == no_port ||
        (port == decision.port && decision.traffic_class >= found.lowest_vc &&
         decision.traffic_class <= highest)) {
      answer.port = port;
    }
  });
  if (uncarried && decision.action == Action::drop) {
    return dropped(DropReason::no_vc);
  }
  if (decision.traffic_class < found.lowest_vc || decision.traffic_class > found.highest_vc) {
    notify_(fmt::format("a frame leaves in virtual channel {} where {} to {} will do",
                        decision.traffic_class, found.lowest_vc, found.highest_vc));
  }
  return answer;
}

SwitchAccount::Answer SwitchAccount::expected_down(const FrameReader& f, const Tree& tree) const {
  const auto found = armed_.find(key_of(f));
  const auto replicated = [&](core::Event event) {
    return Answer{.action = Action::replicate, .event = event, .ports = tree.children};
  };
  if (!f.arm()) {
    const bool ours = found != armed_.end() && found->second.sequence.same_group(sequence_of(f));
    return replicated(ours ? core::Event::disarmed : core::Event::disarm_no_match);
  }
  if (found != armed_.end()) {
    return replicated(core::Event::rearmed);
  }
  // A tree with slots has one for each of its reductions.
  const bool one_is_free =
      tree.slots != 0 || in_use(tree.parent) < settings_.descriptors_per_engine;
  return replicated(one_is_free ? core::Event::armed : core::Event::arm_failed);
}

bool SwitchAccount::one_endpoint_behind(PortNumber in, const Tree& tree) const {
  return tables_->port(in).nid ||
         tree.wait_count == static_cast<ContributionCount>(tree.children.size() + tree.in_switch);
}

SwitchAccount::Answer SwitchAccount::expected_up(PortNumber in, const FrameReader& f,
                                                 const Tree& tree) const {
  const auto passed = [&](core::Event event) {
    return Answer{.action = Action::forward, .event = event, .port = tree.parent};
  };
  if (f.arm()) {
    return dropped(DropReason::arm_from_child);
  }
  if (f.count() == 0) {
    return f.retry() ? passed(core::Event::passed_empty) : dropped(DropReason::result_from_child);
  }
  const std::uint32_t key = key_of(f);
  const auto found = armed_.find(key);
  if (one_endpoint_behind(in, tree)) {
    if (f.count() > 1) {
      return dropped(DropReason::counts_others);
    }
    const auto counted = counted_.find(key);
    const bool of_armed_group =
        found == armed_.end() || found->second.sequence.same_group(sequence_of(f));
    if (knows_operator(f) && counted != counted_.end() && of_armed_group) {
      const Sequence& opened = counted->second.of;
      if (opened == sequence_of(f)) {
        if (counted->second.ports.contains(in)) {
          return dropped(DropReason::counted_twice);
        }
      } else {
        const bool older = (f.sequence() + 1024 - opened.number) % 1024 >= 512;
        return dropped(opened.same_group(sequence_of(f)) && older ? DropReason::stale_sequence
                                                                  : DropReason::not_opened);
      }
    }
  }
  if (found == armed_.end()) {
    const auto ended = ended_.find(key);
    return passed(ended != ended_.end() && ended->second == f.sequence()
                      ? core::Event::passed_late
                      : core::Event::passed_not_armed);
  }
  const Armed& armed = found->second;
  if (!armed.sequence.same_group(sequence_of(f))) {
    return settings_.drop_foreign ? dropped(DropReason::foreign_cookie)
                                  : passed(core::Event::passed_foreign);
  }
  const unsigned ahead = (f.sequence() + 1024 - armed.sequence.number) % 1024;
  if (ahead >= 512) {
    return dropped(DropReason::stale_sequence);
  }
  if (ahead > 0) {
    return passed(core::Event::passed_newer);
  }
  if (!can_reduce(f, tree)) {
    return passed(core::Event::passed_reserved);
  }
  if (armed.contributions + f.count() < tree.wait_count) {
    return {.action = Action::absorb, .event = core::Event::contributed};
  }
  if (tree.in_switch) {
    const auto counted = counted_.find(key);
    if (counted == counted_.end() || !counted->second.ports.contains(tree.parent)) {
      return {.action = Action::absorb, .event = core::Event::contributed}; // and everything is
                                                                            // dropped
    }
    return {.action = Action::replicate_result,
            .event = core::Event::completed_in_switch,
            .ports = tree.all_ports()};
  }
  return {.action = Action::emit, .event = core::Event::completed_full, .port = tree.parent};
}

void SwitchAccount::judge(PortNumber in, std::span<const std::byte> before, TrafficClass c,
                          const Decision& decision, std::span<const std::byte> after, TimeNs now) {
  const FrameReader f(before);
  const Answer meant = expected(in, f, before, c, decision);
  // A frame that cannot leave is dropped at its egress port, and has had its effect.
  const bool leaves_by_one = meant.action == Action::forward || meant.action == Action::emit;
  const bool blocked = leaves_by_one && !up_.contains(meant.port);
  Answer answer = blocked ? dropped(DropReason::port_down) : meant;
  answer.ports = PortSet(meant.ports.bits() & up_.bits());
  if (!same(decision, answer.action, answer.event, answer.port, answer.ports, answer.reason)) {
    notify_(fmt::format(
        "{} where the rules say {}, from port {}: {}",
        text_of(decision.action, decision.event, decision.reason, decision.port, decision.ports),
        text_of(answer.action, answer.event, answer.reason, answer.port, answer.ports), in.value,
        describe(before)));
  }
  Decision effect = decision;
  if (blocked && decision.action == Action::drop && decision.reason == DropReason::port_down) {
    effect.action = meant.action;
    effect.event = meant.event;
    ++drops_[{meant.port.value, DropReason::port_down}];
  }
  if (core::is_copied(decision.action)) {
    PortSet(meant.ports.bits() & ~up_.bits()).for_each([&](PortNumber down) {
      ++drops_[{down.value, DropReason::port_down}];
    });
  }
  // A contribution that could not be forwarded may arrive again.
  const bool may_come_again = blocked && meant.action == Action::forward;
  enter(in, f, before, effect, may_come_again, now);
  if (f.is_multicast() && decision.action != Action::drop) {
    if (const Tree tree = tree_of(f.tree()); tree.in_switch && tree.parent == in) {
      enter_from_root(f, before, c, decision, after, now);
    }
  }
  if (decision.event == core::Event::completed_in_switch) {
    in_switch_round(key_of(f), decision, after);
  }
  if (effect.action == Action::emit) {
    const std::uint32_t key = key_of(f);
    if (const auto found = armed_.find(key); found != armed_.end()) {
      check_result(found->second, after);
      ended_[key] = found->second.sequence.number;
      armed_.erase(found);
    }
  }
}

/// A frame from the parent opened its sequence. Contributions that passed before the first one stay
/// counted, also when it repeats the sequence unarmed.
void SwitchAccount::open(std::uint32_t key, const FrameReader& f) {
  Counted& counted = counted_[key];
  const bool stays = counted.of == sequence_of(f) && (!f.arm() || !counted.opened);
  counted = {sequence_of(f), stays ? counted.ports : PortSet(), true};
}

/// Applies the core's decision.
void SwitchAccount::enter(PortNumber in, const FrameReader& f, std::span<const std::byte> bytes,
                          const Decision& decision, bool may_come_again, TimeNs now) {
  if (decision.action == Action::drop) {
    ++drops_[{in.value, decision.reason}];
  }
  if (!f.is_multicast()) {
    return;
  }
  const std::uint32_t key = key_of(f);
  const Tree tree = tree_of(f.tree());
  Engine& engine = engines_[tree.parent.value % max_ports];
  TreeCounts& counts = trees_[f.tree().value];
  const auto found = armed_.find(key);
  const auto discard = [&] {
    if (found != armed_.end()) {
      engine.discarded += found->second.contributions;
    }
  };
  const bool up = tree.installed && tree.children.contains(in) && f.count() > 0 && !f.arm();
  if (up && one_endpoint_behind(in, tree) && decision.action != Action::drop && !may_come_again &&
      knows_operator(f)) {
    Counted& counted = counted_.try_emplace(key, Counted{sequence_of(f), {}, false}).first->second;
    if (counted.of == sequence_of(f)) {
      counted.ports.insert(in);
    }
  }
  switch (decision.event) {
  case core::Event::armed:
  case core::Event::rearmed:
    discard();
    ++(decision.event == core::Event::armed ? engine.arms : engine.rearms);
    armed_[key] = {
        .sequence = sequence_of(f), .tree = tree, .deadline = now + timer_ns(tree.wait_count)};
    open(key, f);
    return;
  case core::Event::arm_failed:
    ++engine.arm_failures;
    open(key, f);
    return;
  case core::Event::disarmed:
    discard();
    ++engine.disarms;
    armed_.erase(key);
    [[fallthrough]];
  case core::Event::disarm_no_match:
    if (f.sequence() != pre_arm_sequence.value() && !armed_.contains(key)) {
      open(key, f);
    }
    return;
  case core::Event::contributed:
  case core::Event::completed_in_switch:
  case core::Event::completed_full: {
    ++engine.contributions;
    if (found != armed_.end()) {
      // A report is held as four words, also of vectors: none fits it any more.
      const Armed& held = found->second;
      const bool fits = held.result_code >= operator_mismatch
                            ? !f.is_wide() && f.opcode() == held.opcode
                            : matches(held, f);
      engine.op_mismatches += found->second.frames > 0 && !fits ? 1 : 0;
      add(found->second, f, bytes);
      if (Armed& armed = found->second;
          decision.event == core::Event::contributed && armed.contributions >= tree.wait_count) {
        engine.discarded += armed.contributions; // the root is not in it
        armed = {.sequence = armed.sequence, .tree = armed.tree, .deadline = armed.deadline};
      }
      if (decision.event != core::Event::contributed) {
        engine.overflows += found->second.contributions > tree.wait_count ? 1 : 0;
      }
    }
    if (decision.event != core::Event::contributed) {
      ++engine.full;
      ++counts.full;
    }
    return;
  }
  case core::Event::passed_late: ++counts.late; return;
  case core::Event::passed_not_armed:
  case core::Event::passed_foreign:
  case core::Event::passed_newer:
  case core::Event::passed_reserved: ++counts.passed_through; return;
  case core::Event::none:
    counts.stale += decision.reason == DropReason::stale_sequence ? 1 : 0;
    return;
  default: return;
  }
}

void SwitchAccount::add(Armed& armed, const FrameReader& f, std::span<const std::byte> bytes) {
  if (armed.frames == 0) {
    armed.opcode = f.opcode();
    armed.form = f.is_wide() ? f.form() : 0;
    armed.total_length = f.total_length();
    std::copy_n(bytes.begin(), std::min(bytes.size(), armed.header.size()), armed.header.begin());
  } else if (!matches(armed, f)) {
    armed.result_code = std::max(armed.result_code, operator_mismatch);
  }
  ++armed.frames;
  armed.contributions += f.count();
  armed.signatures = (armed.signatures + f.signature()) % signatures_are_modulo;
  armed.result_code = std::max(armed.result_code, f.result_code());
}

void SwitchAccount::check_result(const Armed& armed, std::span<const std::byte> frame) const {
  const FrameReader r(frame);
  const auto differ = [&](std::string_view what, std::uint64_t is, std::uint64_t should) {
    if (is != should) {
      notify_(fmt::format("a result's {} is {:x} instead of {:x}: {}", what, is, should,
                          describe(frame)));
    }
  };
  const bool report = armed.result_code >= operator_mismatch;
  const std::uint64_t total_length = report ? 80 : armed.total_length;
  if (frame.size() != FrameReader::fabric_header_at + total_length) {
    notify_(fmt::format("a result has {} bytes, and a total length of {} is due", frame.size(),
                        total_length));
    return;
  }
  differ("total length", r.total_length(), total_length);
  differ("request length", r.request_length(), (total_length - 31) % 4096);
  if (total_length != 80) {
    differ("form", r.form(), armed.form);
  }
  if (!r.checksum_is_right()) {
    notify_("a result's header checksum is wrong: " + describe(frame));
  }
  differ("count", r.count(), std::min<std::uint64_t>(armed.contributions, max_contributions));
  differ("signature", r.signature(), armed.signatures);
  const bool in_switch = armed.tree.in_switch;
  differ("sequence", r.sequence(),
         in_switch ? (armed.sequence.number + 1) % 1022 : armed.sequence.number);
  differ("result's sequence", r.result_of(), armed.sequence.number);
  differ("arm bit", r.arm() ? 1 : 0, in_switch ? 1 : 0);
  differ("pad", r.pad(), 0);
  differ("cookie", r.cookie().value, armed.sequence.cookie.value);
  differ("opcode", r.opcode(), armed.opcode);
  unsigned worst = armed.result_code;
  if (armed.contributions > armed.tree.wait_count) {
    worst = std::max(worst, contribution_overflow);
  }
  if (r.result_code() < worst) {
    notify_(fmt::format("a result's code {} hides code {}", r.result_code(), worst));
  }
  if (r.result_code() >= contribution_overflow && worst < contribution_overflow) {
    notify_(fmt::format("a result's code {} where contributions say {}", r.result_code(), worst));
  }
  const auto& header = in_switch ? in_switch_.at(key_of(r)).header : armed.header;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool signature = i >= FrameReader::signature_at && i < FrameReader::signature_at + 7;
    // A report is an 84-byte frame, whatever the first contribution was.
    const bool shape = (report || in_switch) &&
                       (i == 16 || i == 17 || i == 24 || i == 25 ||
                        (i >= FrameReader::request_length_at && i <= FrameReader::form_at));
    if (!signature && !shape && frame[i] != header[i]) {
      notify_(fmt::format("byte {} of a result is not that of the {}: {}", i,
                          in_switch ? "arm" : "first contribution", describe(frame)));
      return;
    }
  }
}

void SwitchAccount::emitted(PortNumber port, std::span<const std::byte> frame, TimeNs now) {
  const FrameReader r(frame);
  const std::uint32_t key = key_of(r);
  if (tree_of(r.tree()).in_switch) {
    emitted_replay(key, port, frame);
    return;
  }
  const bool owed = owed_.contains(key);
  auto& from = owed ? owed_ : armed_;
  const auto found = from.find(key);
  if (found == from.end() || found->second.frames == 0) {
    notify_(fmt::format("emitted a partial result of {}, which holds nothing", name_of_key(key)));
    return;
  }
  const Armed& armed = found->second;
  if (armed.tree.parent != port) {
    notify_(fmt::format("emitted a partial result of {} out of port {}, its parent is {}",
                        name_of_key(key), port.value, armed.tree.parent.value));
  }
  if (!owed && now < armed.deadline) {
    notify_(fmt::format("emitted a partial result of {} {} ns before its time was over",
                        name_of_key(key), elapsed_ns(armed.deadline, now)));
  }
  check_result(armed, frame);
  ++engines_[armed.tree.parent.value].partial;
  ++trees_[tree_of_key(key).value].partial;
  if (!owed) {
    ended_[key] = armed.sequence.number;
  }
  from.erase(found);
}

void SwitchAccount::expired(TimeNs now, bool lack_of_buffers) {
  for (auto& [key, in_switch] : in_switch_) {
    if (std::exchange(in_switch.replay_waits, false)) {
      const PortSet all = tree_of(tree_of_key(key)).all_ports();
      PortSet(all.bits() & ~up_.bits()).for_each([&](PortNumber down) {
        ++drops_[{down.value, DropReason::port_down}];
      });
    }
  }
  for (auto at = armed_.begin(); at != armed_.end();) {
    auto& [key, armed] = *at;
    if (armed.deadline > now || (armed.tree.in_switch && timer_continues(key, armed, now))) {
      ++at;
      continue;
    }
    if (armed.tree.in_switch && armed.frames > 0) {
      engines_[armed.tree.parent.value].discarded += armed.contributions;
    } else if (armed.frames == 0) {
      ++engines_[armed.tree.parent.value].expired_empty;
    } else if (!up_.contains(armed.tree.parent)) {
      ++drops_[{armed.tree.parent.value, DropReason::port_down}];
    } else if (lack_of_buffers) {
      ++at;
      continue;
    } else {
      notify_(fmt::format("{}: its time was over, and {} contributions were not emitted",
                          name_of_key(key), armed.contributions));
    }
    ended_[key] = armed.sequence.number;
    at = armed_.erase(at);
  }
}

} // namespace tributary::fabric
