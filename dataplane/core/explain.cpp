#include "dataplane/core/explain.hpp"

#include "dataplane/core/decide.hpp"

#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"

#include <fmt/format.h>

#include <bit>
#include <span>

namespace tributary::core {
namespace {

std::string list(PortSet ports) {
  std::string text = ports.size() == 1 ? "port" : "ports";
  ports.for_each([&](PortNumber p) { text += fmt::format(" {}", p.value); });
  return text;
}

/// Why a frame with this event was handled as it was.
std::string_view reason_of(Event event) {
  switch (event) {
  case Event::unicast: return "its route";
  case Event::detoured: return "a spare: the first ports of its route are down, or paused too long";
  case Event::multicast: return "an ordinary multicast";
  case Event::armed: return "it arms a free descriptor";
  case Event::rearmed:
    return "it moves the descriptor to its sequence, and the held data is discarded";
  case Event::arm_failed: return "no descriptor is free to arm: contributions will pass unreduced";
  case Event::disarmed: return "it releases the descriptor";
  case Event::disarm_no_match: return "no descriptor is armed for it to release";
  case Event::passed_not_armed: return "nothing is armed";
  case Event::passed_late: return "its reduction has ended";
  case Event::passed_foreign: return "its VNI or cookie is not the armed one";
  case Event::passed_newer: return "its sequence is newer than the armed one";
  case Event::passed_reserved: return "its opcode is reserved, or not one for its form and slot";
  case Event::passed_empty: return "it counts no contribution";
  case Event::completed_in_switch: return "the result is multicast by this switch";
  case Event::replayed: return "the root has missed the last result, which goes to all again";
  case Event::kept_released: return "the root refuses the last result, which is kept no longer";
  case Event::handed_over: return "another worker has its tree, or watches its port";
  case Event::foreign: return "it is not of the fabric, and the two ports are joined for those";
  case Event::none:
  case Event::contributed:
  case Event::completed_full:
  case Event::emitted_partial:
  case Event::hello:
  case Event::lldp:
  case Event::trimmed: break;
  }
  return name_of(event);
}

/// The sentences about one frame, in the order of its checks.
class Notes {
public:
  Notes(const SwitchCore& core, PortNumber in, FrameView frame)
      : core_(core), in_(in), frame_(frame),
        portals_(frame.length < shortest_frame_bytes ? nullptr
                                                     : frame.data + wire::ethernet_header_bytes) {
    note("{} bytes came in on port {}", frame_.length, in_.value);
    if (portals_ != nullptr) {
      describe_header(core_.tables().port(in_));
    }
  }

  void tree(ReductionKey key, const MulticastEntry& entry) {
    note("tree {}: parent port {}, child {}, {}{}", key.tree().value, entry.parent.value,
         list(entry.children),
         entry.wait_count == 0 ? std::string("ordinary multicast")
                               : fmt::format("wait count {}{}", entry.wait_count,
                                             entry.in_switch ? ", multicast by this switch" : ""),
         entry.has_place() ? fmt::format(", {} slots of {} bytes", entry.slots(),
                                         core_.tables().slot_place(key.tree()).payload_bytes)
                           : std::string());
  }
  void direction(Direction direction) {
    const bool up = direction == Direction::up;
    note("port {} is {} of the tree: the frame travels {}", in_.value,
         up ? "a child" : "the parent", up ? "up" : "down");
  }
  void reduction(ReductionKey key, const MulticastEntry& entry) {
    const wire::ReductionWord word = wire::load_word(portals_);
    if (wire::total_length_of(portals_) != wire::reduction_packet_bytes) {
      const WideShape shape = WideShape::of(portals_);
      note("a wide frame: {} bytes of elements of form {} {}", shape.payload_bytes(),
           static_cast<unsigned>(shape.form()), name_of(shape.form()));
    }
    note("reduction header: cookie 0x{:08x}, sequence {}, arm {}, opcode 0x{:02x} {}, count {}, "
         "result of sequence {}, code {} {}",
         wire::cookie_of(portals_).value, word.seqno.value(), word.arm ? 1 : 0, word.op,
         wire::is_supported(word.op) ? wire::name_of(word.opcode()) : "RESERVED", word.count,
         word.resno.value(), word.rc, name_of(static_cast<wire::ResultCode>(word.rc)));
    const PortNumber engine = core_.engine_port(in_, frame_);
    if (!core_.owned_ports().contains(engine)) {
      note("the engine belongs to the worker of port {}, another one: what follows holds for this "
           "worker's own state only",
           engine.value);
    }
    describe_descriptor(key, entry);
  }
  void one_endpoint() { note("one endpoint is behind port {}: it may count one, once", in_.value); }
  void mismatch() {
    note("its opcode, form or length is not that of the first contribution: the result becomes "
         "op_mismatch");
  }
  /// The contribution is accepted, as number `total`.
  void taken(ContributionCount total, const MulticastEntry& entry) {
    total_ = total;
    wait_count_ = entry.wait_count;
  }
  void report() { note("its code says op_mismatch, and a vector is not a report: it becomes one"); }
  void complete(bool too_many) {
    note("it completes the reduction with {} of {} contributions{}", total_, wait_count_,
         too_many ? ", too many (contr_overflow)" : "");
  }
  void replay(SequenceNumber result, SequenceNumber opens) {
    note("the result of sequence {} is kept, and goes out again with the arm of sequence {}",
         result.value(), opens.value());
  }
  /// The ports counted so far.
  void count(PortSet ports) { counted_ = ports; }
  [[nodiscard]] PortSet counted() const { return counted_; }
  void lacks_root() {
    note(
        "the count is full and the root is not in it: a member was counted twice, and all of it is "
        "dropped");
  }
  void port_down(PortNumber port, Event event) {
    note("it would leave by port {} ({}): {}", port.value, name_of(event), reason_of(event));
  }
  void place(Place place) {
    if (place.is_switch()) {
      note("its host is attached to switch {} (routes of epoch {}; this is switch {})",
           place.destination(), core_.tables().routes()->epoch,
           core_.tables().routes()->table.self);
    } else if (place.is_local()) {
      note("its host is attached to port {} of this switch", place.port().value);
    } else if (place.is_by_file()) {
      note("a route of the switch's own file leads to port {}", place.port().value);
    }
  }
  void routed(std::uint8_t vc, const forwarding_table::Decision& d, bool sprayed,
              std::uint8_t out_vc) {
    const forwarding_table::Routes& routes = *core_.tables().routes();
    note("it comes from a {}, in virtual channel {} of {}",
         routes.leads_to_switch(in_.value) ? "switch" : "host", vc, routes.table.vcs);
    if (d.outcome == forwarding_table::Outcome::deliver) {
      note("that is this switch, and no port is known of the host");
    } else if (d.outcome == forwarding_table::Outcome::forward) {
      note("{}; it leaves in virtual channel {}{}",
           sprayed ? "its DSCP lets frames overtake each other, so they are spread one by one"
                   : "its flow stays on one of the ports that will do",
           out_vc,
           d.highest_vc > d.lowest_vc
               ? fmt::format(", of {} to {} that will do", d.lowest_vc, d.highest_vc)
               : std::string());
    }
  }
  void foreign_vc(std::uint8_t vc, std::uint8_t vcs) {
    note("it comes from a switch in class {}, and the routes have {} virtual channels", vc, vcs);
  }
  void uncarried(PortNumber port, std::uint8_t vc) {
    note("it would leave by port {} in virtual channel {}, and frames carry none there: the port "
         "has no tags",
         port.value, vc);
  }
  void left_out(PortSet down) {
    note("of those it is copied to, {} {} down and left out", list(down),
         down.size() == 1 ? "is" : "are");
  }

  Explanation verdict(const Decision& d) {
    switch (d.action) {
    case Action::drop:
      note("dropped as {}: {}", name_of(d.reason), description_of(d.reason));
      break;
    case Action::absorb:
      if (d.event == Event::replayed || d.event == Event::kept_released) {
        note("it ends here ({}): {}", name_of(d.event), reason_of(d.event));
        break;
      }
      note("the engine takes it: {} of {} contributions", total_, wait_count_);
      break;
    case Action::forward:
      note("forwarded through port {} ({}): {}", d.port.value, name_of(d.event),
           reason_of(d.event));
      break;
    case Action::replicate:
      note("copied to {} ({}): {}", list(d.ports), name_of(d.event), reason_of(d.event));
      break;
    case Action::emit:
      note("the result of {} contributions leaves through port {}", total_, d.port.value);
      break;
    case Action::replicate_result:
      if (d.event == Event::replayed) {
        note("in its place the last result leaves through {} ({}): {}", list(d.ports),
             name_of(d.event), reason_of(d.event));
      } else {
        note("the result of {} contributions leaves through {} ({}): {}", total_, list(d.ports),
             name_of(d.event), reason_of(d.event));
      }
      break;
    case Action::hand_over:
      note("handed over to worker {}: {}", d.port.value, reason_of(d.event));
      break;
    case Action::deliver:
      note("delivered to the switch's {}: such frames are never forwarded",
           d.event == Event::lldp ? "LLDP station" : "agent");
      break;
    }
    return {.decision = d, .steps = std::move(steps_)};
  }

private:
  void describe_header(const PortPolicy& policy) {
    const std::uint16_t ethertype = wire::ethertype_of(frame_.data);
    note("EtherType 0x{:04x}; the port takes 0x{:04x}", ethertype, policy.ethertype);
    if (ethertype != policy.ethertype) {
      return;
    }
    if (wire::begins_hello(portals_)) {
      return describe_hello(policy);
    }
    note("fabric header: first byte 0x{:02x}, total length {}, VNI {}, checksum {}",
         std::to_integer<unsigned>(portals_[wire::portals_offset::version_ihl]),
         wire::total_length_of(portals_), wire::vni_of(portals_).value,
         !policy.verify_checksum               ? "not verified on this port"
         : IngressCheck::checksum_ok(portals_) ? "right"
                                               : "wrong");
    const Nid source = wire::sfa_of(portals_).nid();
    if (policy.nid) {
      note("source NID {}; this edge port only takes {}{}", source.value, policy.nid->value,
           core_.check(in_).source_permitted(portals_) ? "" : ": refused");
    } else {
      note("source NID {}; this port has no source guard", source.value);
    }
    if (policy.vnis) {
      note("VNI {} is {}on this port's permission list", wire::vni_of(portals_).value,
           core_.check(in_).vni_permitted(portals_) ? "" : "not ");
    }
    const wire::FabricAddress dfa = wire::dfa_of(portals_);
    if (dfa.is_multicast()) {
      const MulticastEntry& entry = core_.tables().tree(dfa.tree());
      note("destination 0x{:08x}: multicast, tree {}, reduction {}, action {}", dfa.value,
           dfa.tree().value, (entry.has_upper_ids() ? dfa.slot() : dfa.reduction()).value,
           dfa.action());
    } else {
      note("destination 0x{:08x}: unicast, NID {}", dfa.value, dfa.nid().value);
    }
  }

  void describe_hello(const PortPolicy& policy) {
    const std::span<const std::byte> bytes(frame_.data, frame_.length);
    if (wire::begins_link_hello(portals_)) {
      return describe_link_hello(bytes, policy);
    }
    wire::Hello hello;
    const wire::HelloError error = wire::decode(bytes, policy.ethertype, hello);
    if (error != wire::HelloError::none) {
      note("a hello that cannot be read: {}", name_of(error));
    } else if (hello.kind == wire::HelloKind::host) {
      note("a hello of host \"{}\", NID {}, each {} ms", hello.name, hello.nid.value,
           hello.interval_ms);
    } else {
      note("a hello of switch \"{}\", guid {:#018x}, port {} \"{}\", each {} ms", hello.name,
           hello.guid, hello.port.value, hello.port_name, hello.interval_ms);
    }
  }

  void describe_link_hello(std::span<const std::byte> bytes, const PortPolicy& policy) {
    wire::LinkHello hello;
    const wire::HelloError error = wire::decode(bytes, policy.ethertype, hello);
    if (error != wire::HelloError::none) {
      note("a link hello that cannot be read: {}", name_of(error));
      return;
    }
    note("a link hello of guid {:#018x}, port {}, sequence {}, each {} ms; it hears {}",
         hello.sender.guid, hello.sender.port.value, hello.sequence, hello.interval_ms,
         hello.heard
             ? fmt::format("guid {:#018x}, port {}", hello.heard->guid, hello.heard->port.value)
             : "no port");
  }

  void describe_descriptor(ReductionKey key, const MulticastEntry& entry) {
    const ReductionEngines& engines = core_.engines();
    if (!engines.descriptor(key).match.armed()) {
      const DescriptorRecord& record = engines.record(key);
      note("the engine of port {} holds nothing for tree {}, reduction {}{}; {} of its {} "
           "descriptors are in use",
           entry.parent.value, key.tree().value, key.reduction().value,
           record.has_ended
               ? fmt::format(" (sequence {} was the last to end)", record.ended.value())
               : std::string(),
           engines.in_use(entry.parent), engines.descriptors_per_engine());
      return;
    }
    const DescriptorView d = engines.view(key, entry);
    note("the engine of port {} is armed for it: cookie 0x{:08x}, VNI {}, sequence {}, {} of {} "
         "contributions{}",
         entry.parent.value, d.cookie.value, d.vni.value, d.seqno.value(), d.count, d.wait_count,
         d.have_data ? fmt::format(", opcode {}, form {}, {} bytes, code {}", name_of(d.op),
                                   name_of(d.form), d.payload_bytes, name_of(d.rc))
                     : std::string());
  }

  template <typename... Args> void note(fmt::format_string<Args...> format, Args&&... args) {
    steps_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const SwitchCore& core_;
  PortNumber in_;
  FrameView frame_;
  const std::byte* portals_; ///< null in a runt
  PortSet counted_{};
  ContributionCount total_ = 0;
  ContributionCount wait_count_ = 0;
  std::vector<std::string> steps_;
};

/// The effects of a dry run: none. It notes each step.
class DryRun {
public:
  DryRun(const SwitchCore& core, Notes& notes) : core_(&core), notes_(&notes) {}

  [[nodiscard]] PortSet up() const { return core_->ports_up(); }
  [[nodiscard]] bool any_stuck() const { return true; } // decides the same, and need not be fast
  [[nodiscard]] PortSet stuck(unsigned c) const {
    return core_->ports_stuck(TrafficClass{static_cast<std::uint8_t>(c % traffic_classes)});
  }
  [[nodiscard]] PortSet carrying() const { return core_->ports_carrying_classes(); }
  [[nodiscard]] std::uint64_t spray() const { return core_->next_spray(); }
  [[nodiscard]] const SwitchSettings& settings() const { return core_->settings(); }
  [[nodiscard]] const ReductionEngines& engines() const { return core_->engines(); }
  [[nodiscard]] const Tables& tables() const { return core_->tables(); }
  [[nodiscard]] const placement::Owners& owners() const { return core_->owners(); }

  void count_drop(PortNumber /*port*/, DropReason /*reason*/) const {}
  void count_foreign(PortNumber /*in*/) const {}
  void count_left_out(PortSet ports) const { notes_->left_out(ports); }
  void count(TreeNumber /*tree*/, Counter TreeCounters::* /*counter*/) const {}
  [[nodiscard]] Event arm(ReductionKey key, const MulticastEntry& entry, MatchWord /*carried*/,
                          TimeNs /*now*/) const {
    return engines().outcome_of_arm(key, entry);
  }
  [[nodiscard]] Event disarm(ReductionKey key, const MulticastEntry& /*entry*/,
                             MatchWord carried) const {
    return engines().outcome_of_disarm(key, carried);
  }
  void count_port(ReductionKey /*key*/, PortSet ports) const { notes_->count(ports); }
  void count_passing(ReductionKey /*key*/, MatchWord /*carried*/, PortNumber /*in*/) const {}

  ContributionCount combine(const Fields& operand, const MulticastEntry& entry) const {
    return taken(operand, entry);
  }
  ContributionCount start(const Fields& operand, const MulticastEntry& entry) const {
    return taken(operand, entry);
  }
  ContributionCount mismatch(const Fields& operand, const MulticastEntry& entry) const {
    if (operand.descriptor(*this).match.has_data()) {
      notes_->mismatch();
    } else {
      notes_->report();
    }
    return taken(operand, entry);
  }
  void finish(const Vector& operand, const MulticastEntry& entry) const { taken(operand, entry); }
  void emit(const Vector& /*operand*/) const {}
  template <bool wide>
  void complete(ReductionKey /*key*/, const MulticastEntry& /*entry*/, bool too_many,
                std::byte* /*frame*/) const {
    notes_->complete(too_many);
  }
  [[nodiscard]] const InSwitchRecords& in_switch() const { return core_->in_switch(); }
  void make_in_switch_result(ReductionKey /*key*/, const MulticastEntry& /*entry*/, bool too_many,
                             std::byte* /*frame*/, std::size_t /*bytes*/) const {
    notes_->complete(too_many);
  }
  [[nodiscard]] PortSet counted_now(ReductionKey key) const {
    return PortSet(engines().counted(key).ports.bits() | notes_->counted().bits());
  }
  void drop_full(ReductionKey /*key*/, const MulticastEntry& entry, ContributionCount total,
                 bool /*taken*/) const {
    notes_->taken(total, entry);
    notes_->lacks_root();
  }
  void keep_arm(ReductionKey /*key*/, const FrameView& /*frame*/) const {}
  void forget_kept(ReductionKey /*key*/) const {}
  [[nodiscard]] bool replay(ReductionKey key, const MulticastEntry& /*entry*/,
                            const FrameView& frame, SequenceNumber opens, TimeNs /*now*/) const {
    notes_->replay(in_switch()[key].kept_result(), opens);
    return in_switch()[key].kept_bytes <= frame.length;
  }

  void on_tree(ReductionKey key, const MulticastEntry& entry) const { notes_->tree(key, entry); }
  void on_direction(Direction direction) const { notes_->direction(direction); }
  void on_reduction(ReductionKey key, const MulticastEntry& entry, Direction direction) const {
    notes_->tree(key, entry);
    notes_->direction(direction);
    if (entry.wait_count != 0) {
      notes_->reduction(key, entry);
    }
  }
  void on_one_endpoint() const { notes_->one_endpoint(); }
  void on_port_down(PortNumber port, Event event) const { notes_->port_down(port, event); }
  void on_place(Place place) const { notes_->place(place); }
  void on_routed(std::uint8_t vc, const forwarding_table::Decision& d, bool sprayed,
                 std::uint8_t out_vc) const {
    notes_->routed(vc, d, sprayed, out_vc);
  }
  void on_foreign_vc(std::uint8_t vc, std::uint8_t vcs) const { notes_->foreign_vc(vc, vcs); }
  void on_uncarried(PortNumber port, std::uint8_t vc) const { notes_->uncarried(port, vc); }

private:
  /// Number of contributions there would be. A descriptor without data counts none.
  ContributionCount taken(const Fields& operand, const MulticastEntry& entry) const {
    const ContributionCount total =
        operand.descriptor(*this).accumulator.contributions + operand.count();
    notes_->taken(total, entry);
    return total;
  }

  const SwitchCore* core_;
  Notes* notes_;
};

} // namespace

Explanation explain(const SwitchCore& core, PortNumber in, FrameView frame) {
  Notes notes(core, in, frame);
  const IngressCheck& check = core.check(in);
  const PackedDecision decision = decide(DryRun(core, notes), core.tables(), in, frame,
                                         check.classify(frame), check.guarded(), TimeNs{0});
  return notes.verdict(std::bit_cast<Decision>(decision));
}

} // namespace tributary::core
