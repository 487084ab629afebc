#include "dataplane/core/explain.hpp"

#include "dataplane/core/classify.hpp"

#include "tributary/wire/hello.hpp"

#include <fmt/format.h>

#include <span>

namespace tributary::core {
namespace {

std::string list(PortSet ports) {
  std::string text = ports.size() == 1 ? "port" : "ports";
  ports.for_each([&](PortNumber p) { text += fmt::format(" {}", p.value); });
  return text;
}

/// One walk through the same questions that the hot path asks.
class Walk {
public:
  Walk(const SwitchCore& core, PortNumber in, FrameView frame)
      : core_(core), in_(in), frame_(frame),
        portals_(frame.length < shortest_frame_bytes ? nullptr
                                                     : frame.data + wire::ethernet_header_bytes) {}

  Explanation run() {
    note("{} bytes came in on port {}", frame_.length, in_.value);
    const PortPolicy& policy = core_.tables().port(in_);
    const Classified what = IngressCheck(policy).classify(frame_);
    if (frame_.length >= shortest_frame_bytes) {
      describe_header(policy);
    }
    switch (what.kind()) {
    case FrameKind::refused: drop(what.reason()); break;
    case FrameKind::unicast: unicast(what.destination()); break;
    case FrameKind::hello:
      verdict({.action = Action::deliver, .event = Event::hello},
              "delivered to the switch's agent: hellos are never forwarded");
      break;
    case FrameKind::multicast:
    case FrameKind::reduction: multicast(what.key()); break;
    }
    return std::move(explanation_);
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
         !policy.verify_checksum                     ? "not verified on this port"
         : wire::fabric_header_checksum_ok(portals_) ? "right"
                                                     : "wrong");
    const Nid source = wire::sfa_of(portals_).nid();
    if (policy.nid) {
      note("source NID {}; this edge port only takes {}", source.value, policy.nid->value);
    } else {
      note("source NID {}; this port has no source guard", source.value);
    }
    if (policy.vnis) {
      note("VNI {} is {}on this port's permission list", wire::vni_of(portals_).value,
           (*policy.vnis)[wire::vni_of(portals_).value] ? "" : "not ");
    }
    const wire::FabricAddress dfa = wire::dfa_of(portals_);
    if (dfa.is_multicast()) {
      note("destination 0x{:08x}: multicast, tree {}, reduction {}, action {}", dfa.value,
           dfa.tree().value, dfa.reduction().value, dfa.action());
    } else {
      note("destination 0x{:08x}: unicast, NID {}", dfa.value, dfa.nid().value);
    }
  }

  void describe_hello(const PortPolicy& policy) {
    wire::Hello hello;
    const wire::HelloError error =
        wire::decode(std::span(frame_.data, frame_.length), policy.ethertype, hello);
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

  void multicast(ReductionKey key) {
    const MulticastEntry& entry = core_.tables().tree(key.tree());
    if (!entry.valid) {
      return drop(DropReason::unknown_tree);
    }
    note("tree {}: parent port {}, child {}, {}", key.tree().value, entry.parent.value,
         list(entry.children),
         entry.wait_count == 0 ? std::string("ordinary multicast")
                               : fmt::format("wait count {}", entry.wait_count));
    const bool from_child = entry.children.contains(in_);
    if (!from_child && entry.parent != in_) {
      return drop(DropReason::not_on_tree);
    }
    note("port {} is {} of the tree: the frame travels {}", in_.value,
         from_child ? "a child" : "the parent", from_child ? "up" : "down");
    if (const auto refusal = refusal_on(entry, frame_)) {
      return drop(*refusal);
    }
    if (entry.wait_count == 0) {
      return from_child ? drop(DropReason::not_from_parent)
                        : replicate(entry, Event::multicast, "an ordinary multicast");
    }
    reduction(key, entry, from_child);
  }

  void reduction(ReductionKey key, const MulticastEntry& entry, bool from_child) {
    const wire::ReductionWord word = wire::load_word(portals_);
    const MatchWord carried(wire::cookie_of(portals_), wire::vni_of(portals_), wire::pack(word));
    note("reduction header: cookie 0x{:08x}, sequence {}, arm {}, opcode 0x{:02x} {}, count {}, "
         "result of sequence {}, code {} {}",
         carried.cookie().value, word.seqno.value(), word.arm ? 1 : 0, word.op,
         wire::is_supported(word.op) ? wire::name_of(word.opcode()) : "RESERVED", word.count,
         word.resno.value(), word.rc, name_of(static_cast<wire::ResultCode>(word.rc)));
    const PortNumber engine = core_.engine_port(in_, frame_);
    if (!core_.owned_ports().contains(engine)) {
      note("the engine of port {} belongs to another worker: what follows holds for this worker's "
           "own state only",
           engine.value);
    }
    describe_descriptor(key, entry);
    if (from_child) {
      upward(key, entry, word, carried);
    } else {
      downward(key, entry, word, carried);
    }
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
         d.have_data ? fmt::format(", opcode {}, code {}", name_of(d.op), name_of(d.rc))
                     : std::string());
  }

  void downward(ReductionKey key, const MulticastEntry& entry, const wire::ReductionWord& word,
                MatchWord carried) {
    const ReductionEngines& engines = core_.engines();
    const MatchWord match = engines.descriptor(key).match;
    if (!word.arm) {
      return match.armed() && match.same_group(carried)
                 ? replicate(entry, Event::disarmed, "it releases the descriptor")
                 : replicate(entry, Event::disarm_no_match, "there is nothing for it to release");
    }
    if (match.armed()) {
      return replicate(entry, Event::rearmed,
                       "it moves the descriptor on, and what that holds is thrown away");
    }
    return engines.in_use(entry.parent) < engines.descriptors_per_engine()
               ? replicate(entry, Event::armed, "it arms a free descriptor")
               : replicate(entry, Event::arm_failed,
                           "no descriptor is free to arm: contributions will pass unreduced");
  }

  void upward(ReductionKey key, const MulticastEntry& entry, const wire::ReductionWord& word,
              MatchWord carried) {
    if (word.arm) {
      return drop(DropReason::arm_from_child);
    }
    if (word.count == 0) {
      return forward(entry.parent, Event::passed_empty, "it counts no contribution");
    }
    if (entry.one_behind_each || core_.tables().port(in_).nid) {
      note("one endpoint is behind port {}: it may count one, once", in_.value);
      if (word.count > 1) {
        return drop(DropReason::counts_others);
      }
      if (wire::is_supported(word.op) && core_.engines().has_counted(key, carried, in_)) {
        return drop(DropReason::counted_twice);
      }
    }
    switch (core_.engines().standing(key, carried)) {
    case Standing::not_armed:
      return forward(entry.parent, Event::passed_not_armed, "nothing is armed");
    case Standing::late:
      return forward(entry.parent, Event::passed_late, "its reduction has ended");
    case Standing::foreign:
      return core_.settings().drop_foreign ? drop(DropReason::foreign_cookie)
                                           : forward(entry.parent, Event::passed_foreign,
                                                     "its VNI or cookie is not the armed one");
    case Standing::older: return drop(DropReason::stale_sequence);
    case Standing::newer:
      return forward(entry.parent, Event::passed_newer, "its sequence is newer than the armed one");
    case Standing::match: break;
    }
    if (!wire::is_supported(word.op)) {
      return forward(entry.parent, Event::passed_reserved, "its opcode is reserved");
    }
    const reduce::Accumulator& held = core_.engines().descriptor(key).accumulator;
    if (core_.engines().descriptor(key).match.has_data() && held.op != word.opcode()) {
      note("its opcode is not that of the first contribution: the result becomes op_mismatch");
    }
    const ContributionCount total = held.contributions + word.count;
    if (total < entry.wait_count) {
      verdict({.action = Action::absorb, .event = Event::contributed},
              fmt::format("the engine takes it: {} of {} contributions", total, entry.wait_count));
      return;
    }
    if (!core_.ports_up().contains(entry.parent)) {
      note("it completes the reduction with {} of {} contributions", total, entry.wait_count);
      return drop(DropReason::port_down);
    }
    verdict({.action = Action::emit,
             .event = Event::completed_full,
             .port = entry.parent,
             .length = wire::reduction_frame_bytes,
             .traffic_class = frame_.traffic_class},
            fmt::format("it completes the reduction with {} of {} contributions{}: the result "
                        "leaves through port {}",
                        total, entry.wait_count,
                        total > entry.wait_count ? ", too many (contr_overflow)" : "",
                        entry.parent.value));
  }

  void unicast(Nid destination) {
    const PortNumber out = core_.tables().route(destination);
    if (out == no_port) {
      return drop(DropReason::no_route);
    }
    if (out == in_) {
      return drop(DropReason::route_to_ingress);
    }
    forward(out, Event::unicast, "its route");
  }

  void drop(DropReason reason) {
    verdict({.action = Action::drop, .reason = reason},
            fmt::format("dropped as {}: {}", name_of(reason), description_of(reason)));
  }
  void forward(PortNumber port, Event event, std::string_view why) {
    if (!core_.ports_up().contains(port)) {
      note("it would leave by port {} ({}): {}", port.value, name_of(event), why);
      return drop(DropReason::port_down);
    }
    verdict({.action = Action::forward,
             .event = event,
             .port = port,
             .traffic_class = frame_.traffic_class},
            fmt::format("forwarded through port {} ({}): {}", port.value, name_of(event), why));
  }
  void replicate(const MulticastEntry& entry, Event event, std::string_view why) {
    const PortSet ports(entry.children.bits() & core_.ports_up().bits());
    if (ports != entry.children) {
      note("of {}, those that are down are left out", list(entry.children));
    }
    verdict({.ports = ports,
             .action = Action::replicate,
             .event = event,
             .traffic_class = frame_.traffic_class},
            fmt::format("copied to {} ({}): {}", list(ports), name_of(event), why));
  }
  void verdict(const Decision& decision, std::string text) {
    explanation_.decision = decision;
    explanation_.steps.push_back(std::move(text));
  }
  template <typename... Args> void note(fmt::format_string<Args...> format, Args&&... args) {
    explanation_.steps.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const SwitchCore& core_;
  PortNumber in_;
  FrameView frame_;
  const std::byte* portals_; ///< null in a runt
  Explanation explanation_;
};

} // namespace

Explanation explain(const SwitchCore& core, PortNumber in, FrameView frame) {
  return Walk(core, in, frame).run();
}

} // namespace tributary::core
