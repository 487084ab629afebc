#include "endpoint/collective/channel.hpp"

#include "tributary/wire/opcode.hpp"
#include "tributary/wire/result_code.hpp"

namespace tributary::collective {

void Channel::send(TreeIndex tree, ReductionId id, const wire::ReductionWord& word,
                   const wire::Payload& payload, std::uint64_t signature) {
  wire::ReductionFrame frame;
  frame.ethertype = parameters.ethertype;
  frame.destination = parameters.destination;
  frame.source = parameters.source;
  frame.dscp = parameters.is_root() ? wire::dscp_root : wire::dscp_leaf;
  frame.vni = parameters.vni;
  frame.source_nid = parameters.nid;
  frame.tree = parameters.tree_at(tree);
  frame.reduction = id;
  frame.signature = signature;
  frame.rank = parameters.rank;
  frame.cookie = parameters.cookie_of(id);
  frame.word = word;
  frame.payload = payload;
  ++(outbox.push(frame) ? statistics.frames_sent : statistics.outbox_full);
}

void Channel::send_on_all(ReductionId id, const wire::ReductionWord& word,
                          const wire::Payload& payload, std::uint64_t signature) {
  for (TreeIndex tree = 0; tree < tree_count(); ++tree) {
    send(tree, id, word, payload, signature);
  }
}

std::optional<TreeIndex> Channel::admit(const wire::ReductionFrame& frame) {
  ++statistics.frames_received;
  const TreeIndex tree = frame.tree == parameters.tree ? 0 : 1;
  if (tree >= tree_count() || frame.tree != parameters.tree_at(tree) ||
      frame.vni != parameters.vni || frame.cookie != parameters.cookie_of(frame.reduction)) {
    ++statistics.foreign;
    return std::nullopt;
  }
  if (frame.source_nid == parameters.nid) {
    ++statistics.misdirected;
    return std::nullopt;
  }
  if (!wire::is_supported(frame.word.op) ||
      frame.word.rc > static_cast<std::uint8_t>(wire::ResultCode::op_mismatch)) {
    ++statistics.malformed;
    return std::nullopt;
  }
  return tree;
}

void Channel::complete(const Completion& completion) {
  ++statistics.completed;
  completions.push(completion);
}

} // namespace tributary::collective
