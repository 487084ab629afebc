#include "endpoint/collective/member.hpp"

#include "endpoint/collective/received_frame.hpp"

#include <bit>
#include <cassert>
#include <stdexcept>

namespace tributary::collective {

namespace {

std::variant<Root, Leaf> make_role(const GroupParameters& parameters) {
  if (const std::string fault = fault_of(parameters); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  if (parameters.is_root()) {
    return std::variant<Root, Leaf>(std::in_place_type<Root>, parameters);
  }
  return std::variant<Root, Leaf>(std::in_place_type<Leaf>, parameters);
}

Channel& channel_of(std::variant<Root, Leaf>& role) {
  return std::visit([](auto& r) -> Channel& { return r.channel(); }, role);
}
const Channel& channel_of(const std::variant<Root, Leaf>& role) {
  return std::visit([](const auto& r) -> const Channel& { return r.channel(); }, role);
}

} // namespace

Member::Member(const GroupParameters& parameters) : role_(make_role(parameters)) {}

bool Member::can_inject() const {
  return std::visit([](const auto& role) { return role.can_inject(); }, role_);
}

bool Member::is_idle() const {
  return std::visit([](const auto& role) { return role.is_idle(); }, role_);
}

PieceNumber Member::inject(const Operand& operand, TimeNs now, CallMark mark) {
  assert(can_inject());
  return std::visit([&](auto& role) { return role.inject(operand, now, mark); }, role_);
}

PieceNumber Member::inject(const WideOperand& vector, TimeNs now, CallMark mark) {
  assert(can_inject() && vector.payload_bytes <= parameters().payload &&
         wire::is_wide_payload(vector.payload_bytes) && wire::carries(vector.form, vector.op));
  return std::visit([&](auto& role) { return role.inject(vector, now, mark); }, role_);
}

PieceNumber Member::next_piece() const { return channel_of(role_).next_piece; }

std::optional<Completion> Member::take_completion() { return channel_of(role_).completions.take(); }

bool Member::receive(std::span<const std::byte> bytes, TimeNs now) {
  const GroupParameters& group = parameters();
  if (ReceivedFrame read;
      read_frame(bytes, group.ethertype, group.ids_of_tree(), group.payload, read)) {
    std::visit([&](auto& role) { role.receive(read.frame, now, read.vector); }, role_);
    return true;
  }
  Statistics& statistics = channel_of(role_).statistics;
  ++statistics.frames_received;
  ++statistics.malformed;
  return false;
}

void Member::receive(const wire::ReductionFrame& frame, TimeNs now) {
  std::visit([&](auto& role) { role.receive(frame, now); }, role_);
}

void Member::poll(TimeNs now) {
  std::visit([&](auto& role) { role.poll(now); }, role_);
}

TimeNs Member::next_deadline() const {
  return std::visit([](const auto& role) { return role.next_deadline(); }, role_);
}

Outbox& Member::outbox() { return channel_of(role_).outbox; }
const Outbox& Member::outbox() const { return channel_of(role_).outbox; }

void Member::move_to(const GroupParameters& p, TimeNs now) {
  if (const std::string fault = fault_of(p); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  const GroupParameters& before = parameters();
  if (p.rank != before.rank || p.size != before.size || p.root_rank != before.root_rank ||
      p.nid != before.nid || p.dialect != before.dialect || p.slots != before.slots ||
      p.first_id != before.first_id || p.ids_of_tree() != before.ids_of_tree() ||
      p.payload != before.payload) {
    throw std::invalid_argument("a group moves with its members and its root, or not at all");
  }
  std::visit([&](auto& role) { role.move_to(p, now); }, role_);
}

void Member::resize(std::uint32_t ids) {
  assert(is_idle() && std::has_single_bit(ids) && ids <= parameters().slots);
  channel_of(role_).resize(ids);
  if (!is_root()) {
    channel_of(role_).kept_ids = ids; // no member asks it
  }
}

std::uint32_t Member::kept_ids() const { return channel_of(role_).kept_ids; }

const std::optional<Failure>& Member::failure() const {
  return std::visit(
      [](const auto& role) -> const std::optional<Failure>& { return role.failure(); }, role_);
}

void Member::fail(const Failure& failure, TimeNs now) {
  if (Root* root = std::get_if<Root>(&role_)) {
    root->fail(failure, now);
  } else {
    std::get<Leaf>(role_).fail(failure);
  }
}

void Member::leave(TimeNs now) {
  std::visit([&](auto& role) { role.leave(now); }, role_);
}

bool Member::left() const {
  return std::visit([](const auto& role) { return role.left(); }, role_);
}

bool Member::abandoned() const {
  return std::visit([](const auto& role) { return role.abandoned(); }, role_);
}

const GroupParameters& Member::parameters() const { return channel_of(role_).parameters; }

const Statistics& Member::statistics() const { return channel_of(role_).statistics; }

Status Member::status() const {
  return std::visit([](const auto& role) { return role.status(); }, role_);
}

} // namespace tributary::collective
