// The expected decision of one worker of a switch for every frame, and the expected state of its
// engines: the rules of docs/protocol/engine.md, implemented again in the simplest way, without the
// core's code. The fabric checks each decision of the core against it; a difference is a violation.
//
//   1. begin_tables(tables) before the core adopts them; then `emitted` for each partial result the
//      core made of it; then end_tables(core)
//   2. judge(...) for each frame and what the core decided
//   3. after the core's expire: `emitted` for each partial result; then expired(now, ...)
//   4. compare(core, now): descriptors against what engines must hold, and until when;
//      audit(core): the core's counters, by port and by tree, against the events
//
// Each describes the differences. After a difference the account adopts the core's state, so that
// one fault is reported once.
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "tests/fabric/frame_reader.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric {

class SwitchAccount {
public:
  using Notify = std::function<void(const std::string&)>;

  SwitchAccount(const core::SwitchSettings& settings, Notify notify);

  void begin_tables(std::shared_ptr<const core::Tables> tables);
  void end_tables();

  /// What was known of some trees, on its way to another core's account.
  class Given;
  /// The core gave out, or took in, the engines of these trees.
  [[nodiscard]] std::unique_ptr<Given> give_out(std::span<const TreeNumber> trees);
  void take_in(Given& given);

  /// The port whose worker must process this frame.
  [[nodiscard]] PortNumber engine_port(PortNumber in, std::span<const std::byte> frame) const;
  /// `before` is the received frame, `after` the frame to be sent.
  void judge(PortNumber in, std::span<const std::byte> before, TrafficClass c,
             const core::Decision& decision, std::span<const std::byte> after, TimeNs now);
  /// A partial result that leaves through `port`.
  void emitted(PortNumber port, std::span<const std::byte> frame, TimeNs now);
  /// The core was notified of the change.
  void port_changed(PortNumber port, bool up) { (up ? up_.insert(port) : up_.erase(port)); }
  void stuck_changed(TrafficClass c, PortSet ports) { stuck_[c.value] = ports; }
  /// Dropped outside the core's decisions, but counted in its counters.
  void dropped_by_shell(PortNumber at, core::DropReason reason) { ++drops_[{at.value, reason}]; }
  /// A timer's emission found no buffer.
  void delayed(PortNumber port) { ++engines_[port.value].emission_delayed; }
  /// The core has checked its timers. `lack_of_buffers`: some of its emissions may have to wait.
  void expired(TimeNs now, bool lack_of_buffers);

  /// Descriptors that could not be emitted for lack of a buffer may be late by `slack_ns`; a switch
  /// that was silent until `answers_since` could not check its timers.
  void compare(const core::SwitchCore& core, TimeNs now, TimeNs answers_since,
               std::uint64_t slack_ns) const;
  void audit(const core::SwitchCore& core) const;

private:
  /// The group and the sequence that a frame or a descriptor belongs to.
  struct Sequence {
    Vni vni;
    Cookie cookie;
    unsigned number = 0;
    [[nodiscard]] bool same_group(const Sequence& other) const {
      return vni == other.vni && cookie == other.cookie;
    }
    friend bool operator==(const Sequence&, const Sequence&) = default;
  };
  /// One tree as configured at the switch.
  struct Tree {
    bool installed = false;
    PortNumber parent = no_port;
    PortSet children;
    ContributionCount wait_count = 0;
    /// With wide frames: reductions in flight, and bytes of the longest payload.
    unsigned slots = 0;
    std::uint64_t payload = 0;
    bool half_floats = false;
    bool in_switch = false; ///< the root's port is the parent, and results are sent from here
    [[nodiscard]] PortSet all_ports() const {
      PortSet all = children;
      all.insert(parent);
      return all;
    }
  };
  /// State of a reduction id of a tree with in-switch results.
  struct InSwitch {
    std::array<std::byte, FrameReader::rank_end> header{}; ///< of the last arm
    TrafficClass c;                                        ///< likewise
    bool armed_itself = false;   ///< a result armed it since its timer was started
    bool replay_waits = false;   ///< for the next check of the timers
    std::vector<std::byte> kept; ///< the last result, as it was last sent; empty: none
  };
  /// One reduction that is armed.
  struct Armed {
    Sequence sequence;
    Tree tree;
    TimeNs deadline;
    std::uint64_t frames = 0; ///< absorbed
    std::uint64_t contributions = 0;
    std::uint64_t signatures = 0;
    unsigned opcode = 0;            ///< of the first contribution
    unsigned form = 0;              ///< likewise
    std::uint64_t total_length = 0; ///< likewise
    unsigned result_code = 0;       ///< the worst of all contributions
    std::array<std::byte, FrameReader::rank_end> header{};
  };
  /// Counters by engine, as the core has them.
  struct Engine {
    std::uint64_t arms = 0, rearms = 0, arm_failures = 0, disarms = 0, contributions = 0, full = 0,
                  partial = 0, expired_empty = 0, op_mismatches = 0, overflows = 0, discarded = 0,
                  emission_delayed = 0, in_switch = 0, replayed = 0;
  };
  struct TreeCounts {
    std::uint64_t full = 0, partial = 0, passed_through = 0, late = 0, stale = 0;
  };
  struct Answer {
    core::Action action = core::Action::drop;
    core::Event event = core::Event::none;
    core::DropReason reason{};
    PortNumber port = no_port;
    PortSet ports{};
  };

  static Answer dropped(core::DropReason reason) { return {.reason = reason}; }
  [[nodiscard]] static std::string name_of_key(std::uint32_t key);
  [[nodiscard]] std::uint32_t key_of(const FrameReader& f) const {
    const bool seven_bits = tables_->tree(f.tree()).slots() > reductions_per_tree;
    return ReductionKey(f.tree(), seven_bits ? f.slot() : f.reduction()).index();
  }
  /// Whether the frame has the form and length of its tree.
  [[nodiscard]] static std::optional<core::DropReason> misshapen(const FrameReader& f,
                                                                 const Tree& tree);
  /// Whether the opcode is one that the frame's form has: only then is it a contribution.
  [[nodiscard]] static bool knows_operator(const FrameReader& f);
  /// The same, and one that the tree's slots have room for.
  [[nodiscard]] static bool can_reduce(const FrameReader& f, const Tree& tree);
  [[nodiscard]] static bool matches(const Armed& armed, const FrameReader& f);
  static Sequence sequence_of(const FrameReader& f) { return {f.vni(), f.cookie(), f.sequence()}; }
  [[nodiscard]] Tree tree_of(TreeNumber number) const;
  [[nodiscard]] std::uint64_t timer_ns(ContributionCount wait_count) const;
  [[nodiscard]] std::uint64_t in_use(PortNumber engine) const;

  [[nodiscard]] Answer expected(PortNumber in, const FrameReader& f,
                                std::span<const std::byte> bytes, TrafficClass c,
                                const core::Decision& decision) const;
  /// By the manager's routes. The core chooses among several ports.
  [[nodiscard]] Answer expected_by_table(PortNumber in, std::uint32_t destination, TrafficClass c,
                                         const core::Decision& decision) const;
  [[nodiscard]] std::optional<core::DropReason>
  refused(PortNumber in, const FrameReader& f, std::span<const std::byte> bytes, bool& hello) const;
  [[nodiscard]] Answer expected_down(const FrameReader& f, const Tree& tree) const;
  [[nodiscard]] Answer expected_up(PortNumber in, const FrameReader& f, const Tree& tree) const;
  /// Such a port counts one, once per reduction.
  [[nodiscard]] bool one_endpoint_behind(PortNumber in, const Tree& tree) const;

  void open(std::uint32_t key, const FrameReader& f);
  void enter(PortNumber in, const FrameReader& f, std::span<const std::byte> bytes,
             const core::Decision& decision, bool may_come_again, TimeNs now);
  void add(Armed& armed, const FrameReader& f, std::span<const std::byte> bytes);
  void check_result(const Armed& armed, std::span<const std::byte> frame) const;

  // switch_account_in_switch.cpp
  [[nodiscard]] bool is_missed(const InSwitch& in_switch, const FrameReader& f) const;
  [[nodiscard]] Answer expected_from_root(const FrameReader& f, const Tree& tree) const;
  void enter_from_root(const FrameReader& f, std::span<const std::byte> before, TrafficClass c,
                       const core::Decision& decision, std::span<const std::byte> after,
                       TimeNs now);
  void enter_replay(const FrameReader& f, const core::Decision& decision,
                    std::span<const std::byte> after, TimeNs now);
  void in_switch_round(std::uint32_t key, const core::Decision& decision,
                       std::span<const std::byte> result);
  void emitted_replay(std::uint32_t key, PortNumber port, std::span<const std::byte> frame) const;
  /// Whether the timer continues.
  bool timer_continues(std::uint32_t key, Armed& armed, TimeNs now);

  core::SwitchSettings settings_;
  Notify notify_;
  std::shared_ptr<const core::Tables> tables_;
  PortSet up_ = PortSet::first(max_ports);
  std::array<PortSet, traffic_classes> stuck_{};
  std::map<std::uint32_t, Armed> armed_;    ///< by reduction key
  std::map<std::uint32_t, unsigned> ended_; ///< the sequence that ended last, by reduction key
  std::map<std::uint32_t, Armed> owed_;     ///< held for removed trees: to be emitted immediately
  /// The ports with one endpoint behind them that have contributed to the reduction that a frame
  /// from the parent opened last, or, before the first such frame, to the one that passed through
  /// first.
  struct Counted {
    Sequence of;
    PortSet ports;
    bool opened = true; ///< by a frame from the parent
  };
  std::map<std::uint32_t, Counted> counted_;    ///< by reduction key
  std::map<std::uint32_t, InSwitch> in_switch_; ///< likewise
  std::array<Engine, max_ports> engines_{};
  std::map<std::uint16_t, TreeCounts> trees_;
  std::map<std::pair<std::uint8_t, core::DropReason>, std::uint64_t> drops_; ///< by ingress port
};

class SwitchAccount::Given {
public:
  std::map<std::uint32_t, Armed> armed;
  std::map<std::uint32_t, unsigned> ended;
  std::map<std::uint32_t, Counted> counted;
  std::map<std::uint32_t, InSwitch> in_switch;
};

} // namespace tributary::fabric
