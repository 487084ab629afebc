// What nodes ask of one another: fences, addresses of peers, events, standard input.
#include "launcher/control/launch.hpp"

#include <algorithm>
#include <utility>

namespace tributary::launch::control {

/// Every node that has a rank in it says its part once; then all are told the sum.
void Launch::fence(NodeIndex node, const messages::Fence& fence, TimeNs now) {
  GatheredFence& gathered = fences_[fence.name()];
  if (gathered.in.empty()) {
    if (fence.ranks().empty()) {
      for (NodeIndex each = 0; each < nodes_.size(); ++each) {
        gathered.of.insert(each);
      }
    }
    for (const std::uint32_t rank : fence.ranks()) {
      if (rank < node_of_.size()) {
        gathered.of.insert(node_of_[rank]);
      }
    }
    gathered.of.insert(node);
  }
  gathered.in.insert(node);
  gathered.data += fence.data();
  // A part that has been lost will not come: those who wait hear it now.
  const bool broken = std::any_of(gathered.of.begin(), gathered.of.end(), [&](NodeIndex each) {
    return nodes_[each].state == NodeState::gone;
  });
  if (!broken && !std::includes(gathered.in.begin(), gathered.in.end(), gathered.of.begin(),
                                gathered.of.end())) {
    return;
  }
  ++counts_.fences;
  counts_.fences_with_data += gathered.data.empty() ? 0 : 1;
  counts_.fence_bytes += gathered.data.size();
  if (counts_.fences == 1) {
    step(4, "first fence", now);
  }
  messages::ToNode message;
  message.mutable_fence_done()->set_name(fence.name());
  message.mutable_fence_done()->set_data(broken ? std::string() : gathered.data);
  message.mutable_fence_done()->set_status(broken ? messages::lost_connection : 0);
  for (const NodeIndex each : gathered.in) {
    to(each, message);
  }
  fences_.erase(fence.name());
}

void Launch::modex_wanted(NodeIndex node, const messages::Modex& modex, TimeNs now) {
  const std::uint64_t number = next_modex_++;
  const bool known = modex.rank() < node_of_.size();
  if (!known || !reachable(node_of_[modex.rank()])) {
    messages::ToNode answer;
    answer.mutable_modex_answer()->set_number(modex.number());
    answer.mutable_modex_answer()->set_status(known ? messages::lost_connection
                                                    : messages::not_found);
    return to(node, std::move(answer));
  }
  if (counts_.exchanges++ == 0) {
    step(4, "first exchange", now);
  }
  const NodeIndex asked = node_of_[modex.rank()];
  modexes_[number] = {node, modex.number(), asked};
  messages::ToNode message;
  message.mutable_modex_request()->set_number(number);
  message.mutable_modex_request()->set_rank(modex.rank());
  to(asked, std::move(message));
}

void Launch::modex_found(NodeIndex node, const messages::Modex& modex) {
  const auto found = modexes_.find(modex.number());
  if (found == modexes_.end() || found->second.asked != node) {
    return;
  }
  messages::ToNode answer;
  *answer.mutable_modex_answer() = modex;
  answer.mutable_modex_answer()->set_number(found->second.number);
  to(found->second.node, std::move(answer));
  modexes_.erase(found);
}

/// A node is lost: whoever waits for it hears so.
void Launch::release_waiting(NodeIndex node) {
  for (auto at = modexes_.begin(); at != modexes_.end();) {
    if (at->second.asked == node) {
      messages::ToNode answer;
      answer.mutable_modex_answer()->set_number(at->second.number);
      answer.mutable_modex_answer()->set_status(messages::lost_connection);
      to(at->second.node, std::move(answer));
    }
    at = at->second.asked == node || at->second.node == node ? modexes_.erase(at) : ++at;
  }
  for (auto at = fences_.begin(); at != fences_.end();) {
    if (!at->second.of.contains(node)) {
      ++at;
      continue;
    }
    messages::ToNode message;
    message.mutable_fence_done()->set_name(at->first);
    message.mutable_fence_done()->set_status(messages::lost_connection);
    for (const NodeIndex each : at->second.in) {
      to(each, message);
    }
    at = fences_.erase(at);
  }
}

/// PMIx carries an event to the ranks of its own node; here it goes to the other ones.
void Launch::notice(NodeIndex node, const messages::Notice& notice) {
  for (NodeIndex each = 0; each < nodes_.size(); ++each) {
    if (each != node) {
      messages::ToNode message;
      *message.mutable_notice() = notice;
      to(each, std::move(message));
    }
  }
}

void Launch::answer(NodeIndex node, messages::QueryAnswer answer) {
  messages::ToNode message;
  *message.mutable_query_answer() = std::move(answer);
  to(node, std::move(message));
}

void Launch::output_written(NodeIndex node, std::uint64_t bytes) {
  messages::ToNode message;
  message.set_output_taken(bytes);
  to(node, std::move(message));
}

void Launch::input(std::string data) {
  messages::ToNode message;
  message.mutable_input()->set_data(std::move(data));
  to(node_of_[0], std::move(message));
}

} // namespace tributary::launch::control
