#include "endpoint/mpi/intra_node/fabric_group.hpp"

#include <fmt/format.h>

#include <array>
#include <thread>
#include <utility>

namespace tributary::mpi::intra_node {

using contexts::TreeFacts;
using contexts::TreeState;
using std::chrono::microseconds;
using std::chrono::steady_clock;
using Turn = FabricHost::Turn;

FabricGroup::FabricGroup(Trees& trees, const contexts::Context& context,
                         std::vector<std::uint32_t> places, std::uint32_t node)
    : trees_(trees), host_(trees.host()), context_(context), places_(std::move(places)),
      node_(node) {
  std::optional<TreeFacts> facts;
  seen_ = trees_.table().version();
  {
    const auto lock = trees_.table().lock();
    if (const contexts::Tree* const tree = lock->find(context_.tree);
        tree != nullptr && tree->state != TreeState::ended) {
      facts = tree->facts;
      moves_ = tree->moves;
    }
  }
  if (!facts) {
    close();
    throw NoGroup(Refusal::other, "the group of its tree has ended");
  }
  slots_ = facts->slots;
  payload_ = facts->payload;
  const tributary_group_options who = options(*facts);
  std::optional<NoGroup> refused;
  {
    const Turn turn(host_);
    if (const int code = tributary_join(turn.host(), &who, &group_); code != TRIBUTARY_OK) {
      group_ = nullptr;
      refused = refusal_of("its ids of a tree cannot be used", code, turn.host());
    }
  }
  if (refused) {
    close();
    throw NoGroup(*refused);
  }
  trees_.add(*this);
}

FabricGroup::~FabricGroup() { close(); }

tributary_group_options FabricGroup::options(const TreeFacts& facts) const {
  tributary_group_options who = tributary_named_group_defaults("").protocol;
  who.tree = facts.tree.value;
  who.twin_tree = facts.has_twin ? facts.twin.value : TRIBUTARY_NO_TREE;
  who.vni = facts.vni.value;
  who.cookie = context_.cookie.value;
  who.rank = places_[node_];
  who.size = static_cast<std::uint32_t>(places_.size());
  who.root_rank = facts.root_rank;
  who.root_nid = facts.root_nid.value;
  who.slots = facts.slots;
  who.payload = facts.payload;
  who.in_switch_results = facts.in_switch_results ? 1 : 0;
  who.first_id = context_.ids.first.value;
  who.ids = context_.ids.count;
  who.first_sequence = context_.first_sequence().value();
  return who;
}

bool FabricGroup::has_wide_frames() const {
  constexpr std::uint32_t narrow = 32;
  return payload_ > narrow;
}

bool FabricGroup::look() {
  const Turn turn(host_);
  // What has ended is reported to the call that comes next.
  return group_ == nullptr || !follow() || seen_ == trees_.table().version();
}

bool FabricGroup::follow() {
  if (!fault_.empty()) {
    return false;
  }
  const std::uint64_t version = trees_.table().version();
  if (version == seen_) {
    return true;
  }
  std::optional<TreeFacts> facts;
  std::uint32_t moves = moves_;
  {
    const auto lock = trees_.table().lock();
    if (lock->is_over(context_)) {
      fault_ = "the group of its tree has ended, at the fabric manager or because a node is gone";
      return false;
    }
    const contexts::Tree* const tree = lock->find(context_.tree);
    moves = tree->moves;
    facts = tree->facts;
  }
  seen_ = version;
  if (moves == moves_) {
    return true;
  }
  const tributary_group_options who = options(*facts);
  if (const int code = tributary_move(group_, &who); code == TRIBUTARY_ERR_TREE_IN_USE) {
    seen_ = version - 1; // another group of this host has yet to move: look again
  } else if (code != TRIBUTARY_OK) {
    fault_ = fmt::format("the group was moved to another tree, and cannot follow (error {})", code);
    return false;
  } else {
    moves_ = moves;
  }
  return true;
}

FabricGroup::Outcome FabricGroup::begun(int code) {
  if (code == TRIBUTARY_OK) {
    return Outcome::not_yet;
  }
  request_ = nullptr;
  return ended(code);
}

FabricGroup::Outcome FabricGroup::ended(int code) {
  return code == TRIBUTARY_ERR_COUNT_MISMATCH || code == TRIBUTARY_ERR_OP_MISMATCH
             ? Outcome::differs
             : Outcome::failed;
}

FabricGroup::Outcome FabricGroup::begin_reduction(const Plan& plan, const std::byte* in,
                                                  std::byte* out, std::size_t elements) {
  const Turn turn(host_);
  if (!follow()) {
    error_ = fault_;
    return Outcome::failed;
  }
  const int code =
      tributary_allreduce_start(group_, in, out, elements, plan.type, plan.op, &request_);
  error_ = code == TRIBUTARY_OK ? "" : tributary_last_error(turn.host());
  return begun(code);
}

FabricGroup::Outcome FabricGroup::begin_broadcast(std::byte* buffer, std::size_t bytes,
                                                  std::uint32_t from_node) {
  const Turn turn(host_);
  if (!follow()) {
    error_ = fault_;
    return Outcome::failed;
  }
  const int code = tributary_broadcast_start(group_, buffer, bytes, TRIBUTARY_UINT8,
                                             places_[from_node], &request_);
  error_ = code == TRIBUTARY_OK ? "" : tributary_last_error(turn.host());
  return begun(code);
}

FabricGroup::Outcome FabricGroup::begin_barrier() {
  const Turn turn(host_);
  if (!follow()) {
    error_ = fault_;
    return Outcome::failed;
  }
  const int code = tributary_barrier_start(group_, &request_);
  error_ = code == TRIBUTARY_OK ? "" : tributary_last_error(turn.host());
  return begun(code);
}

FabricGroup::Outcome FabricGroup::wait(std::chrono::milliseconds limit) {
  const FabricHost::Waiter waiter(host_);
  const auto began = steady_clock::now();
  const microseconds most = limit;
  for (microseconds waited{0};;) {
    const microseconds slice = std::min(slice_of_wait(waited, waiter.is_alone()), most - waited);
    int code = TRIBUTARY_OK;
    {
      const Turn turn(host_);
      if (!follow()) {
        error_ = fault_;
        return Outcome::failed;
      }
      code = tributary_wait(&request_, slice.count(), nullptr);
      if (code != TRIBUTARY_OK && code != TRIBUTARY_ERR_TIMEOUT) {
        error_ = tributary_last_error(turn.host());
      }
    }
    if (code == TRIBUTARY_OK) {
      return Outcome::done;
    }
    const bool is_down = code == TRIBUTARY_ERR_INTERFACE_DOWN && request_ != nullptr;
    if (code != TRIBUTARY_ERR_TIMEOUT && !is_down) {
      return ended(code);
    }
    waited = std::chrono::duration_cast<microseconds>(steady_clock::now() - began);
    if (is_down && waited < most) { // nothing is lost; the link may come up again
      std::this_thread::sleep_for(most - waited);
      waited = most;
    }
    if (waited >= most) {
      return Outcome::not_yet;
    }
  }
}

bool FabricGroup::keep_ids(std::uint8_t ids) {
  if (group_ == nullptr) { // the fabric has failed, and nothing is given out any more
    return true;
  }
  const Turn turn(host_);
  if (tributary_keep_ids(group_, ids) != TRIBUTARY_OK) {
    error_ = tributary_last_error(turn.host());
    return false;
  }
  const node::SharedTable& table = trees_.table();
  static_cast<void>(table.lock()->shrink(table.self(), context_, ids));
  return true;
}

std::uint64_t FabricGroup::pieces() const {
  const Turn turn(host_);
  tributary_statistics statistics;
  return tributary_get_statistics(group_, &statistics) == TRIBUTARY_OK ? statistics.completed : 0;
}

std::string FabricGroup::state() const {
  std::array<char, 1024> text{};
  {
    const Turn turn(host_);
    if (tributary_status_text(group_, text.data(), text.size()) < 0) {
      return "";
    }
  }
  std::string line;
  for (const char* at = text.data(); *at != '\0'; ++at) {
    if (*at != '\n') {
      line += *at;
    } else if (at[1] != '\0') {
      line += ';';
    }
  }
  return line;
}

void FabricGroup::give_up() {
  if (has_context_) {
    static_cast<void>(trees_.table().lock()->withdraw(context_.tree));
  }
  close();
}

void FabricGroup::close() {
  trees_.remove(*this);
  if (group_ != nullptr) {
    const Turn turn(host_);
    if (request_ != nullptr) {
      tributary_abandon(group_); // from here on nothing of the step's memory is used
      tributary_wait(&request_, 0, nullptr);
    }
    tributary_leave(group_);
    group_ = nullptr;
    request_ = nullptr;
  }
  if (std::exchange(has_context_, false)) {
    static_cast<void>(trees_.table().lock()->release(trees_.table().self(), context_));
  }
}

} // namespace tributary::mpi::intra_node
