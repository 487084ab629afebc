#include "controlplane/southbound/protocol/messages.hpp"

#include "controlplane/route_controller/routes_content.hpp"
#include "controlplane/trees/tree_kind.hpp"
#include "dataplane/forwarding_table/messages/codec.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tributary::southbound::protocol {
namespace {

using transaction::Answer;
using transaction::Content;
using transaction::Message;
using transaction::Subject;

// ---- trees ----

void write_tree(const Subject& subject, const Content* content, control::Change& change) {
  const auto number = static_cast<std::uint32_t>(subject.number);
  if (content == nullptr) {
    change.set_remove_tree(number);
    return;
  }
  const multicast::TreePart& part = trees::part_of(*content);
  PortSet children;
  for (const topology::Port port : part.children) {
    children.insert(PortNumber{static_cast<std::uint8_t>(port)});
  }
  control::Tree& tree = *change.mutable_set_tree();
  tree.set_number(number);
  tree.set_wait_count(part.wait_count);
  tree.set_parent(part.parent);
  tree.set_children(children.bits());
  if (const records::WideFrames& frames = trees::frames_of(*content); frames.any()) {
    tree.set_slots(frames.slots);
    tree.set_payload(frames.payload);
    tree.set_half_floats(frames.half_floats);
  }
  tree.set_in_switch_results(trees::frames_of(*content).in_switch);
  tree.set_shared(trees::frames_of(*content).shared);
}

transaction::ContentPtr read_tree(const control::Tree& tree) {
  multicast::TreePart part{
      .at = {},
      .parent = static_cast<topology::Port>(std::min<std::uint32_t>(tree.parent(), no_port.value)),
      .children = {},
      .wait_count = tree.wait_count()};
  PortSet(tree.children()).for_each([&](PortNumber port) { part.children.push_back(port.value); });
  return std::make_shared<trees::TreeContent>(std::move(part), frames_of(tree));
}

// ---- routes ----

void write_routes(const Subject& subject, const Content* content, control::Change& change) {
  if (subject != route_controller::route_subject()) {
    throw std::invalid_argument(
        fmt::format("control.proto has one set of routes, number 0, not {}", subject.number));
  }
  if (content == nullptr) {
    change.mutable_remove_routes();
    return;
  }
  const forwarding_table::Routes* part = route_controller::routes_of(*content).routes();
  if (part == nullptr) {
    throw std::invalid_argument("routes that a switch has reported cannot be sent to one");
  }
  *change.mutable_set_routes() = forwarding_table::messages::encode(*part);
}

void write_content(const Subject& subject, const Content* content, control::Change& change) {
  if (subject.kind == trees::tree_kind) {
    write_tree(subject, content, change);
  } else if (subject.kind == route_controller::route_kind) {
    write_routes(subject, content, change);
  } else {
    throw std::invalid_argument(
        fmt::format("control.proto has no subjects of kind {}", subject.kind.value));
  }
}

// ---- permissions ----

void write(const transaction::Permission& permission, control::Permission& message) {
  message.set_port(permission.port.value);
  message.set_vni(permission.vni.value);
}

transaction::GuardedPermission read(const control::Permission& message) {
  return {{PortNumber{static_cast<std::uint8_t>(message.port())},
           Vni{static_cast<std::uint16_t>(message.vni())}},
          message.has_nid() ? std::optional(Nid{message.nid()}) : std::nullopt,
          message.closes()};
}

void write(const Message& message, control::Prepare& prepare) {
  prepare.set_transaction(message.number);
  for (const auto& [subject, content] : message.changes.contents) {
    write_content(subject, content.get(), *prepare.add_changes());
  }
  for (const transaction::GuardedPermission& given : message.changes.permit) {
    control::Permission& permit = *prepare.add_changes()->mutable_permit();
    write(given.permission, permit);
    if (given.nid) {
      permit.set_nid(given.nid->value);
    }
    permit.set_closes(given.closes);
  }
  for (const transaction::Permission& permission : message.changes.revoke) {
    write(permission, *prepare.add_changes()->mutable_revoke());
  }
}

} // namespace

control::ManagerMessage message_of(const Message& message) {
  control::ManagerMessage result;
  switch (message.verb) {
  case Message::Verb::prepare: write(message, *result.mutable_prepare()); break;
  case Message::Verb::commit: result.mutable_commit()->set_transaction(message.number); break;
  case Message::Verb::abort: result.mutable_abort()->set_transaction(message.number); break;
  }
  return result;
}

std::optional<Answer> answer_of(const control::SwitchMessage& message) {
  switch (message.kind_case()) {
  case control::SwitchMessage::kPrepared:
    return Answer{Answer::Verb::prepared, message.prepared().transaction()};
  case control::SwitchMessage::kRefused:
    return Answer{Answer::Verb::refused, message.refused().transaction(),
                  message.refused().reason(), message.refused().no_room()};
  case control::SwitchMessage::kCommitted:
    return Answer{Answer::Verb::committed, message.committed().transaction()};
  default: return std::nullopt;
  }
}

std::optional<std::string> unprintable_text(const control::SwitchMessage& message) {
  std::optional<std::string> found;
  const auto check = [&found](std::string_view what, const std::string& text) {
    if (!found && !is_printable(text)) {
      found = fmt::format("its {} is not UTF-8, or holds control characters", what);
    }
  };
  const auto check_ports = [&check](const auto& ports) {
    for (const control::Port& port : ports) {
      check("port's name", port.name());
      check("neighbour's name", port.neighbour().name());
      check("neighbour's port", port.neighbour().port_name());
    }
  };
  switch (message.kind_case()) {
  case control::SwitchMessage::kHello:
    check("name", message.hello().name());
    check("version", message.hello().software());
    check_ports(message.hello().ports());
    break;
  case control::SwitchMessage::kPorts: check_ports(message.ports().ports()); break;
  case control::SwitchMessage::kRefused: check("reason", message.refused().reason()); break;
  case control::SwitchMessage::kStatistics:
    for (const control::PortStatistics& port : message.statistics().ports()) {
      for (const auto& [reason, count] : port.drops()) {
        check("reason of drops", reason);
      }
    }
    break;
  default: break;
  }
  return found;
}

records::WideFrames frames_of(const control::Tree& tree) {
  records::WideFrames frames{
      .slots = tree.slots(), .payload = tree.payload(), .half_floats = tree.half_floats()};
  frames = frames.any() ? frames : records::WideFrames{};
  frames.in_switch = tree.in_switch_results();
  frames.shared = tree.shared();
  return frames;
}

transaction::Hello hello_of(const control::SwitchHello& hello) {
  transaction::Hello result;
  result.ports = hello.limits().ports();
  result.capacity.emplace(trees::tree_kind, hello.limits().trees());
  if (hello.in_force().has_routes()) {
    const control::RoutesInForce& held = hello.in_force().routes();
    result.in_force.emplace_back(
        route_controller::route_subject(),
        std::make_shared<route_controller::RoutesContent>(held.epoch(), held.digest()));
  }
  for (const control::Tree& tree : hello.in_force().trees()) {
    if (tree.number() >= max_trees) {
      continue;
    }
    const Subject subject =
        trees::subject_of(TreeNumber{static_cast<std::uint16_t>(tree.number())});
    if (tree.from_file()) {
      result.own.push_back(subject);
    } else {
      result.in_force.emplace_back(subject, read_tree(tree));
    }
  }
  for (const control::Permission& permission : hello.in_force().permissions()) {
    result.permissions.push_back(read(permission));
  }
  return result;
}

} // namespace tributary::southbound::protocol
