#include "endpoint/collective/channel.hpp"

#include "tributary/reduce/opcode.hpp"
#include "tributary/reduce/result_code.hpp"

namespace tributary::collective {

void Channel::send(ReductionId id, const wire::ReductionWord& word, const wire::Payload& payload,
                   std::uint64_t signature) {
  wire::ReductionFrame frame;
  frame.ethertype = parameters.ethertype;
  frame.destination = parameters.destination;
  frame.source = parameters.source;
  frame.dscp = parameters.is_root() ? wire::dscp_root : wire::dscp_leaf;
  frame.vni = parameters.vni;
  frame.source_nid = parameters.nid;
  frame.tree = parameters.tree;
  frame.reduction = id;
  frame.signature = signature;
  frame.rank = parameters.rank;
  frame.cookie = parameters.cookie_of(id);
  frame.word = word;
  frame.payload = payload;
  ++(outbox.push(frame) ? statistics.frames_sent : statistics.outbox_full);
}

bool Channel::admits(const wire::ReductionFrame& frame) {
  ++statistics.frames_received;
  if (frame.tree != parameters.tree || frame.vni != parameters.vni ||
      frame.cookie != parameters.cookie_of(frame.reduction)) {
    ++statistics.foreign;
    return false;
  }
  if (frame.source_nid == parameters.nid) {
    ++statistics.misdirected;
    return false;
  }
  if (!reduce::is_supported(frame.word.op) ||
      frame.word.rc > static_cast<std::uint8_t>(reduce::ResultCode::op_mismatch)) {
    ++statistics.malformed;
    return false;
  }
  return true;
}

void Channel::complete(const Completion& completion) {
  ++statistics.completed;
  completions.push(completion);
}

} // namespace tributary::collective
