// Exchanges between nodes: fences, addresses of peers, events, standard input.
#include "endpoint/launcher/control/launch.hpp"

#include <utility>

namespace tributary::launch::control {

void Launch::fence(NodeIndex node, const messages::Fence& fence, TimeNs now) {
  const Gatherings::Answers answers = gatherings_.contribute(node, fence, now);
  if (!answers.empty() && answers[0].fence.status() == messages::success) {
    const messages::Fence& done = answers[0].fence;
    if (done.kind() == messages::Fence::CONSTRUCT) {
      ++counts_.groups;
    } else if (done.kind() == messages::Fence::FENCE) {
      ++counts_.fences;
      counts_.fences_with_data += done.data().empty() ? 0 : 1;
      counts_.fence_bytes += done.data().size();
      if (counts_.fences == 1) {
        step(4, "first fence", now);
      }
    }
  }
  answer_fences(answers);
}

void Launch::answer_fences(Gatherings::Answers answers) {
  for (Gatherings::Answer& answer : answers) {
    messages::ToNode message;
    *message.mutable_fence_done() = std::move(answer.fence);
    to(answer.node, std::move(message));
  }
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

/// A node is lost: notifies all that wait for it.
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
  answer_fences(gatherings_.node_lost(node));
}

/// PMIx delivers an event to the ranks of its own node; here it goes to the other nodes.
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
