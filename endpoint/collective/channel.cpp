#include "endpoint/collective/channel.hpp"

#include "tributary/wire/opcode.hpp"
#include "tributary/wire/result_code.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tributary::collective {

namespace {

/// For few reductions in flight the default capacity; else room for one frame per reduction and
/// tree, and as much again.
std::size_t outbox_room(const GroupParameters& p) {
  const std::size_t frames = p.in_switch ? 2 : 1; // the root contributes, too
  return std::max(Outbox::capacity, 2 * frames * p.slots * std::bit_ceil(p.tree_count()));
}

} // namespace

Channel::Channel(const GroupParameters& p, Outbox* shared)
    : parameters(p),
      own_outbox(shared == nullptr ? std::make_unique<Outbox>(outbox_room(p)) : nullptr),
      outbox(shared == nullptr ? *own_outbox : *shared), completions(p.slots),
      flight(p.ids_of_tree() > reductions_per_tree
                 ? std::make_unique<Flight>(p.slots, p.window, retry_backoff_limit * p.retry_ns)
                 : nullptr),
      kept_ids(p.slots) {
  prepare_headers();
}

void Channel::move_to(const GroupParameters& p) {
  parameters = p;
  prepare_headers();
}

void Channel::resize(std::uint32_t ids) {
  parameters.slots = ids;
  parameters.window = std::min(parameters.window, ids);
  completions.resize(ids);
  if (flight != nullptr) {
    flight->resize(ids);
  }
}

void Channel::prepare_headers() {
  for (TreeIndex tree = 0; tree < tree_count(); ++tree) {
    Outbox::Frame whole;
    wire::encode(header<wire::ReductionFrame>(tree, ReductionId{}, {}, 0), whole);
    std::memcpy(headers_[tree].data(), whole.data(), headers_[tree].size());
  }
}

template <typename Frame>
Frame Channel::header(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
                      std::uint64_t signature) const {
  Frame frame;
  frame.ethertype = parameters.ethertype;
  frame.destination = parameters.destination;
  frame.source = parameters.source;
  frame.dscp = parameters.is_root() ? wire::dscp_root : wire::dscp_leaf;
  frame.vni = parameters.vni;
  frame.source_nid = parameters.nid;
  frame.tree = parameters.tree_at(tree);
  frame.signature = signature;
  frame.rank = parameters.rank;
  frame.cookie = parameters.cookie_of(id);
  frame.word = word;
  return frame;
}

void Channel::send(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
                   const wire::Payload& payload, std::uint64_t signature) {
  Outbox::Frame* const frame = outbox.add();
  if (frame == nullptr) {
    ++statistics.outbox_full;
    return;
  }
  ++statistics.frames_sent;
  std::memcpy(frame->data(), headers_[tree].data(), headers_[tree].size());
  std::byte* const portals = frame->data() + wire::ethernet_header_bytes;
  wire::store_be<std::uint32_t>(portals + wire::portals_offset::dfa,
                                wire::FabricAddress::multicast(parameters.tree_at(tree), id).value);
  wire::write_fabric_header_checksum(portals);
  wire::store_signature(portals, signature);
  if (parameters.dialect == Dialect::cxi) {
    wire::store_be<std::uint32_t>(portals + wire::reduction_offset::cookie,
                                  parameters.cookie_of(id).value);
  }
  wire::store_word(portals, word);
  wire::store_payload(portals, payload);
}

void Channel::send(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
                   const WideOperand& vector, std::uint64_t signature) {
  auto frame = header<wire::WideFrame>(tree, id, word, signature);
  frame.slot = id;
  frame.form = vector.form;
  frame.payload_bytes = vector.payload_bytes;
  ++(outbox.push(frame, vector) ? statistics.frames_sent : statistics.outbox_full);
}

void Channel::send_on_all(ReductionId id, const wire::ReductionWord& word,
                          const wire::Payload& payload, std::uint64_t signature) {
  for (TreeIndex tree = 0; tree < tree_count(); ++tree) {
    send(tree, id, word, payload, signature);
  }
}

void Channel::send_on_all(ReductionId id, const wire::ReductionWord& word,
                          const WideOperand& vector, std::uint64_t signature) {
  for (TreeIndex tree = 0; tree < tree_count(); ++tree) {
    send(tree, id, word, vector, signature);
  }
}

std::optional<TreeIndex> Channel::admit(const wire::ReductionFrame& frame, bool in_switch) {
  ++statistics.frames_received;
  const TreeIndex tree = frame.tree == parameters.tree ? 0 : 1;
  if (tree >= tree_count() || frame.tree != parameters.tree_at(tree) ||
      frame.vni != parameters.vni || frame.cookie != parameters.cookie_of(frame.reduction)) {
    ++statistics.foreign;
    return std::nullopt;
  }
  if (frame.source_nid == parameters.nid && !(in_switch && frame.word.arm)) {
    ++statistics.misdirected;
    return std::nullopt;
  }
  if (!wire::is_supported(frame.word.op) ||
      frame.word.rc > static_cast<std::uint8_t>(wire::ResultCode::op_mismatch) ||
      frame.reduction.value >= parameters.ids_of_tree()) {
    ++statistics.malformed;
    return std::nullopt;
  }
  if (place_of(frame.reduction) >= kept_ids) { // below the range it wraps
    ++statistics.foreign;
    return std::nullopt;
  }
  return tree;
}

void Channel::complete(const Completion& completion) {
  ++statistics.completed;
  completions.push(completion);
}

} // namespace tributary::collective
