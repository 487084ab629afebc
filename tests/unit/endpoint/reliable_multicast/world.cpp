#include "world.hpp"

#include "endpoint/collective/sequence.hpp"

#include <algorithm>
#include <stdexcept>

namespace tributary::reliable_multicast::test {

using collective::is_newer;
using collective::no_sequence;
using collective::successor;

Parameters member_of(std::uint32_t size, std::uint32_t rank) {
  Parameters p;
  p.group.tree = TreeNumber{0xABC};
  p.group.vni = Vni{0x400};
  p.group.cookie = Cookie{0x5EED0001};
  p.group.size = size;
  p.group.rank = rank;
  p.group.nid = nid_of_rank(rank);
  p.group.root_nid = nid_of_rank(0);
  p.group.destination = wire::port_mac(p.group.nid);
  p.group.source = wire::host_mac(p.group.nid);
  p.group.slots = 4;
  p.group.first_id = ReductionId{8};
  p.group.tree_slots = 16;
  p.chunk_bytes = 40;
  p.window_chunks = 8;
  p.eager_bytes = 160;
  return p;
}

void Reducer::arm(Id& id, SequenceNumber sequence) {
  id.armed = true;
  id.sequence = sequence;
  id.counted.clear();
}

std::optional<Reducer::Out> Reducer::from_root(const wire::ReductionFrame& frame) {
  Id& id = ids_[frame.reduction.value];
  const wire::ReductionWord& word = frame.word;
  if (group_.in_switch && !word.arm && word.count > 0 && word.resno == word.seqno) {
    return id.armed && id.sequence == word.seqno ? add(id, frame) : std::nullopt;
  }
  if (word.seqno == pre_arm_sequence) {
    id.armed = false;
    return Out{.frame = frame, .to_leaves = true};
  }
  if (id.kept && (word.resno == no_sequence || is_newer(id.kept->word.resno, word.resno))) {
    const SequenceNumber newer =
        id.armed && is_newer(id.sequence, word.seqno) ? id.sequence : word.seqno;
    arm(id, successor(newer));
    Out out{.frame = *id.kept, .to_root = true, .to_leaves = true};
    out.frame.word.seqno = id.sequence;
    out.frame.word.pad = wire::pad_retry;
    return out;
  }
  if (id.kept && is_newer(word.resno, id.kept->word.resno)) {
    id.kept.reset();
  }
  id.armed = false;
  if (word.arm) {
    arm(id, word.seqno);
  }
  return Out{.frame = frame, .to_leaves = true};
}

std::optional<Reducer::Out> Reducer::from_leaf(const wire::ReductionFrame& frame) {
  Id& id = ids_[frame.reduction.value];
  if (frame.word.count > 0 && id.armed && frame.word.seqno == id.sequence) {
    return add(id, frame);
  }
  if (frame.word.count > 0 && id.armed && is_newer(id.sequence, frame.word.seqno)) {
    return std::nullopt;
  }
  return Out{.frame = frame, .to_root = true};
}

std::optional<Reducer::Out> Reducer::add(Id& id, const wire::ReductionFrame& frame) {
  for (std::size_t i = 0; i < frame.payload.size(); ++i) {
    id.bits[i] = id.counted.empty() ? frame.payload[i] : id.bits[i] & frame.payload[i];
  }
  id.signatures = id.counted.empty() ? frame.signature : id.signatures + frame.signature;
  if (!id.counted.insert(frame.rank).second) {
    id.signatures -= frame.signature; // counted once
    return std::nullopt;
  }
  const std::size_t wait = group_.in_switch ? group_.size : group_.size - 1;
  if (id.counted.size() < wait) {
    return std::nullopt;
  }
  Out out{.frame = frame, .to_root = true, .to_leaves = group_.in_switch};
  out.frame.payload = id.bits;
  out.frame.signature = id.signatures & wire::signature_mask;
  out.frame.word.count = static_cast<ContributionCount>(wait);
  out.frame.word.resno = id.sequence;
  if (group_.in_switch) {
    arm(id, successor(id.sequence));
    out.frame.word.arm = true;
    out.frame.source_nid = *group_.root_nid;
    out.frame.rank = group_.root_rank;
    id.kept = out.frame;
  } else {
    id.armed = false;
  }
  out.frame.word.seqno = id.sequence;
  return out;
}

World::World(std::uint32_t size, const Change& change, std::uint64_t seed)
    : reducer_([&] {
        Parameters p = member_of(size, 0);
        if (change) {
          change(p);
        }
        return p.group;
      }()),
      random_(seed) {
  nodes_.resize(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    Parameters p = member_of(size, rank);
    if (change) {
      change(p);
    }
    nodes_[rank].member = std::make_unique<Member>(p);
  }
  timeline_.advance(TimeNs{second});
}

std::byte World::pattern(std::size_t call, std::uint32_t rank, std::uint64_t at) {
  return static_cast<std::byte>((call * 131 + rank * 29 + at * 7 + at / 251) & 0xFF);
}

void World::call(std::uint32_t rank, const Call& call, std::uint64_t delay_ns, bool waits) {
  Node& node = nodes_[rank];
  const std::size_t index = node.calls.size();
  const Parameters& p = node.member->parameters();
  Made& made = node.calls.emplace_back(
      Made{.call = call, .delay_ns = delay_ns, .waits = waits, .data = {}, .operation = nullptr});
  std::uint64_t all = 0;
  Task task{.shape = {.kind = call.kind, .root = call.root, .bytes = 0}, .data = {}, .blocks = {}};
  for (std::uint32_t i = 0; i < call.sizes.size(); ++i) {
    const std::uint32_t owner = call.kind == Kind::broadcast ? call.root : i;
    task.blocks.push_back({.rank = owner, .offset = all, .bytes = call.sizes[i]});
    all += call.sizes[i];
  }
  made.data.assign(all, std::byte{0xEE});
  for (const Block& block : task.blocks) {
    for (std::uint64_t at = 0; block.rank == rank && at < block.bytes; ++at) {
      made.data[block.offset + at] = pattern(index, rank, at);
    }
  }
  task.shape.bytes = all;
  task.data = made.data.data();
  made.operation = std::make_unique<Operation>(std::move(task), p.chunk_bytes, p.window_chunks);
  begin(rank);
}

void World::call_everywhere(const Call& each) {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    call(rank, each);
  }
}

void World::begin(std::uint32_t rank) {
  Node& node = nodes_[rank];
  if (node.is_starting || node.begun == node.calls.size() || node.member->failure()) {
    return;
  }
  const Made& next = node.calls[node.begun];
  if (next.waits && node.begun > 0 && !node.calls[node.begun - 1].operation->finished()) {
    return;
  }
  node.is_starting = true;
  timeline_.schedule(now() + next.delay_ns, [this, rank] {
    Node& me = nodes_[rank];
    me.is_starting = false;
    if (!me.is_dead && !me.member->failure()) {
      me.member->start(*me.calls[me.begun++].operation, now());
      attend(rank);
    }
  });
}

void World::attend(std::uint32_t rank) {
  Node& node = nodes_[rank];
  if (node.is_dead) {
    return;
  }
  begin(rank);
  transmit(rank);
  const TimeNs due = node.member->next_deadline();
  if (due < node.wakes_at) {
    node.wakes_at = due;
    timeline_.schedule(due, [this, rank, due] {
      Node& me = nodes_[rank];
      if (me.wakes_at != due || me.is_dead) {
        return;
      }
      me.wakes_at = never;
      me.member->poll(now());
      attend(rank);
    });
  }
}

void World::transmit(std::uint32_t rank) {
  Node& node = nodes_[rank];
  if (node.is_sending || !node.member->has_to_send()) {
    return;
  }
  Bytes frame(node.member->next_frame_bytes());
  const Member::Begun begun = node.member->take_frame(frame.data());
  frame.resize(begun.bytes);
  frame.insert(frame.end(), begun.rest.begin(), begun.rest.end());
  shared_sent_ += wire::is_shared(wire::dfa_of(frame.data() + wire::ethernet_header_bytes)) ? 1 : 0;
  node.is_sending = true;
  const TimeNs sent = now() + time_of(frame.size());
  send(rank, frame);
  timeline_.schedule(sent, [this, rank] {
    nodes_[rank].is_sending = false;
    attend(rank);
  });
}

int World::copies(std::uint32_t from, std::uint32_t to, std::span<const std::byte> frame) {
  if (script_) {
    if (const auto count = script_(from, to, frame)) {
      return *count;
    }
  }
  return random_.chance(faults_.loss) ? 0 : random_.chance(faults_.duplicate) ? 2 : 1;
}

void World::send(std::uint32_t rank, const Bytes& frame) {
  if (random_.chance(faults_.loss)) {
    return;
  }
  timeline_.schedule(now() + time_of(frame.size()) + latency_ns_,
                     [this, rank, frame] { at_switch(rank, frame); });
}

void World::at_switch(std::uint32_t from, const Bytes& bytes) {
  if (wire::is_shared(wire::dfa_of(bytes.data() + wire::ethernet_header_bytes))) {
    for (std::uint32_t to = 0; to < size(); ++to) {
      if (to != from) {
        to_member(from, to, bytes);
      }
    }
    return;
  }
  wire::ReductionFrame frame;
  if (wire::decode(bytes, wire::default_ethertype, frame) != wire::DecodeError::none) {
    return;
  }
  frame.reduction = wire::dfa_of(bytes.data() + wire::ethernet_header_bytes).slot();
  const std::uint32_t root = nodes_[0].member->parameters().group.root_rank;
  const bool has_reducer = !nodes_[0].member->parameters().group.twin;
  std::optional<Reducer::Out> out;
  if (!has_reducer) { // two trees: each frame as it is
    out = Reducer::Out{.frame = frame, .to_root = from != root, .to_leaves = from == root};
  } else {
    out = from == root ? reducer_.from_root(frame) : reducer_.from_leaf(frame);
  }
  if (!out) {
    return;
  }
  Bytes sent(wire::reduction_frame_bytes);
  wire::encode(out->frame, std::span<std::byte, wire::reduction_frame_bytes>(sent));
  for (std::uint32_t to = 0; to < size(); ++to) {
    if (to == root ? out->to_root : out->to_leaves) {
      to_member(from, to, sent);
    }
  }
}

void World::to_member(std::uint32_t from, std::uint32_t to, const Bytes& frame) {
  Node& node = nodes_[to];
  for (int left = copies(from, to, frame); left > 0; --left) {
    node.link_free_at = std::max(node.link_free_at, now()) + time_of(frame.size());
    const std::uint64_t late = random_.chance(faults_.delay) ? faults_.delay_ns : 0;
    timeline_.schedule(node.link_free_at + latency_ns_ + late, [this, to, frame] {
      if (!nodes_[to].is_dead) {
        nodes_[to].member->receive(frame, now());
        attend(to);
      }
    });
  }
}

bool World::is_over() const {
  return std::ranges::all_of(nodes_, [](const Node& node) {
    return node.is_dead || node.member->failure() ||
           (node.begun == node.calls.size() && node.member->is_complete());
  });
}

bool World::step(TimeNs end) {
  if (timeline_.empty() || timeline_.next_time() > end) {
    timeline_.advance(end);
    return false;
  }
  steps_at_once_ = timeline_.next_time() > stepped_at_ ? 0 : steps_at_once_ + 1;
  stepped_at_ = std::max(stepped_at_, timeline_.next_time());
  if (steps_at_once_ > 100'000) {
    throw std::runtime_error("time stands still");
  }
  timeline_.pop()();
  return true;
}

bool World::run(std::uint64_t limit_ns) {
  const TimeNs end = now() + limit_ns;
  while (!is_over()) {
    if (!step(end)) {
      return is_over();
    }
  }
  return true;
}

void World::pass(std::uint64_t ns) {
  const TimeNs end = now() + ns;
  while (step(end)) {
  }
}

void World::move(const collective::GroupParameters& group) {
  reducer_.forget();
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    collective::GroupParameters mine = nodes_[rank].member->parameters().group;
    mine.tree = group.tree;
    mine.cookie = group.cookie;
    nodes_[rank].member->move_to(mine, now());
    attend(rank);
  }
}

bool World::finished(std::uint32_t rank, std::size_t index) const {
  return nodes_[rank].calls[index].operation->finished();
}

bool World::is_right(std::uint32_t rank, std::size_t index) const {
  const Made& made = nodes_[rank].calls[index];
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < made.call.sizes.size(); ++i) {
    const std::uint32_t owner = made.call.kind == Kind::broadcast ? made.call.root : i;
    for (std::uint64_t at = 0; at < made.call.sizes[i]; ++at) {
      if (made.data[offset + at] != pattern(index, owner, at)) {
        return false;
      }
    }
    offset += made.call.sizes[i];
  }
  return made.operation->finished();
}

bool World::all_right() const {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    for (std::size_t i = 0; i < nodes_[rank].calls.size(); ++i) {
      if (!nodes_[rank].is_dead && !is_right(rank, i)) {
        return false;
      }
    }
  }
  return true;
}

} // namespace tributary::reliable_multicast::test
