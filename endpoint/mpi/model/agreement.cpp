#include "endpoint/mpi/model/agreement.hpp"

#include "endpoint/mpi/model/arithmetic.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tributary::mpi {

Agreement::Agreement(std::vector<std::string> leaders, std::chrono::milliseconds grace)
    : leaders_(std::move(leaders)), nodes_(static_cast<std::uint32_t>(leaders_.size())),
      grace_(grace), gone_(nodes_), left_(nodes_), polled_(nodes_), frozen_(nodes_) {}

std::vector<Agreement::Sending> Agreement::receive(std::uint32_t node, Message message, Time now) {
  out_.clear();
  if (gone_[node]) {
    return {}; // what it sends by another connection is of other teams
  }
  switch (message.type) {
  case MessageType::suspect: suspect(node, message, now); break;
  case MessageType::failed:
    if (state_ == State::watching) {
      freeze(message.text());
    }
    break;
  case MessageType::status: count_status(node, message, now); break;
  case MessageType::frozen: count_frozen(node, std::move(message)); break;
  case MessageType::contribution: gather(node, std::move(message)); break;
  case MessageType::mismatch: end(message.text()); break;
  case MessageType::left: count_left(node); break;
  default: end(fmt::format("node {} sent a message that only the coordinator sends", node)); break;
  }
  return std::exchange(out_, {});
}

std::vector<Agreement::Sending> Agreement::lost(std::uint32_t node) {
  out_.clear();
  gone_[node] = true;
  // It may have ended its program, with all its calls: then no node needs it.
  if (polling_ || state_ == State::freezing) {
    end_without(node);
  }
  for (const auto& [step, gathering] : gathering_) {
    if (!gathering.contributions[node]) {
      end_without(node);
      break;
    }
  }
  end_when_all_have_left();
  return std::exchange(out_, {});
}

void Agreement::count_left(std::uint32_t node) {
  const bool is_first = std::find(left_.begin(), left_.end(), true) == left_.end();
  left_[node] = true;
  if (is_first) {
    for (std::uint32_t other = 0; other < nodes_; ++other) {
      if (other != node && !gone_[other]) {
        out_.push_back({other, {.type = MessageType::vacate, .payload = {}}});
      }
    }
  }
  end_when_all_have_left();
}

void Agreement::end_when_all_have_left() {
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    if (!left_[node] && !gone_[node]) {
      return;
    }
  }
  if (!over_) {
    over_ = true;
    to_all({.type = MessageType::ended, .payload = {}});
  }
}

void Agreement::suspect(std::uint32_t node, const Message& message, Time now) {
  if (state_ == State::watching && polling_) { // shows that this end is there
    out_.push_back({node, {.type = MessageType::poll, .step = message.step, .payload = {}}});
  }
  if (state_ != State::watching || polling_) {
    return;
  }
  suspicion_ = message.text();
  if (std::find(gone_.begin(), gone_.end(), true) != gone_.end()) {
    freeze(suspicion_); // a node that is gone never delivers its missing part
    return;
  }
  polling_ = true;
  polled_at_ = now;
  said_overdue_ = false;
  polled_.assign(nodes_, std::nullopt);
  to_all({.type = MessageType::poll, .step = message.step, .payload = {}});
}

void Agreement::count_status(std::uint32_t node, const Message& message, Time now) {
  if (state_ != State::watching || !polling_) {
    return;
  }
  polled_[node] =
      Polled{.contributed = message.step, .completed = message.call, .pieces = message.elements};
  if (std::any_of(polled_.begin(), polled_.end(), [](const auto& one) { return !one; })) {
    return;
  }
  polling_ = false;
  const auto by_contributed = [](const auto& a, const auto& b) {
    return a->contributed < b->contributed;
  };
  const auto by_completed = [](const auto& a, const auto& b) {
    return a->completed < b->completed;
  };
  const auto contributed =
      (*std::min_element(polled_.begin(), polled_.end(), by_contributed))->contributed;
  const auto completed =
      (*std::min_element(polled_.begin(), polled_.end(), by_completed))->completed;
  std::uint64_t pieces = 0;
  for (const auto& one : polled_) {
    pieces += one->pieces;
  }
  const StepNumber oldest = completed + 1; // the oldest that some node still waits for
  if (contributed < oldest) {
    stuck_ = 0; // some rank is late
    late_since_ = late_since_.value_or(now);
    late_.clear();
    for (const auto& one : polled_) {
      late_.push_back(one->contributed < oldest);
    }
    return;
  }
  late_since_.reset();
  if (stuck_ != oldest || stuck_pieces_ != pieces) {
    stuck_ = oldest;
    stuck_pieces_ = pieces;
    stuck_since_ = now;
  } else if (now - stuck_since_ >= grace_) {
    freeze(suspicion_);
  }
}

std::optional<Agreement::Time> Agreement::deadline() const {
  return polling_ && !said_overdue_ ? std::optional(polled_at_ + answer_limit) : std::nullopt;
}

std::string Agreement::overdue(Time now) {
  const auto due = deadline();
  if (!due || now < *due) {
    return late(now);
  }
  said_overdue_ = true;
  std::vector<std::string_view> silent;
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    if (!polled_[node]) {
      silent.push_back(leaders_[node]);
    }
  }
  return fmt::format("{} {} not answered for {} s; a machine may be down, or cannot be reached",
                     fmt::join(silent, ", "), silent.size() == 1 ? "has" : "have",
                     answer_limit.count());
}

std::string Agreement::late(Time now) {
  const auto limit = 2 * grace_;
  if (said_late_ || !late_since_ || now - *late_since_ < limit) {
    return {};
  }
  said_late_ = true;
  std::vector<std::string_view> leaders;
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    if (late_[node]) {
      leaders.push_back(leaders_[node]);
    }
  }
  return fmt::format("{}, or a rank on the same node, has not made a call that others have waited "
                     "in for {} s; they keep waiting, forever if it has made another call instead",
                     fmt::join(leaders, ", "),
                     std::chrono::duration_cast<std::chrono::seconds>(limit).count());
}

void Agreement::freeze(const std::string& why) {
  why_ = why;
  if (const auto it = std::find(gone_.begin(), gone_.end(), true); it != gone_.end()) {
    end(fmt::format("{} is gone, and a reduction waits for its part: {}",
                    leaders_[static_cast<std::size_t>(it - gone_.begin())], why));
    return;
  }
  state_ = State::freezing;
  to_all(text_message(MessageType::freeze, 0, why));
}

void Agreement::count_frozen(std::uint32_t node, Message message) {
  if (state_ != State::freezing) {
    return;
  }
  frozen_[node] = std::move(message);
  if (std::all_of(frozen_.begin(), frozen_.end(),
                  [](const auto& one) { return one.has_value(); })) {
    decide();
  }
}

void Agreement::decide() {
  CallNumber entered = 0;
  for (auto& one : frozen_) {
    entered = std::max(entered, one->call);
    if (one->step >= completed_) {
      completed_ = one->step;
      result_ = std::move(one->payload);
    }
  }
  state_ = State::frozen;
  Message decision = text_message(MessageType::decision, completed_, why_);
  decision.call = entered;
  to_all(decision);
}

void Agreement::gather(std::uint32_t node, Message message) {
  if (state_ == State::broken) {
    return;
  }
  if (state_ != State::frozen || message.step < completed_) {
    end(fmt::format("node {} sent step {}, which every node has", node, message.step));
    return;
  }
  if (message.step == completed_ && message.payload.size() != result_.size()) {
    end_differing(
        node, fmt::format("{} bytes of a step, others {}", message.payload.size(), result_.size()));
    return;
  }
  if (message.step == completed_) {
    out_.push_back({node, {.type = MessageType::result, .step = completed_, .payload = result_}});
    return;
  }
  const StepNumber step = message.step;
  Gathering& gathering = gathering_[step];
  gathering.contributions.resize(nodes_);
  if (!gathering.contributions[node]) {
    ++gathering.here;
  }
  gathering.contributions[node] = std::move(message);
  if (gathering.here == nodes_) {
    finish(step, gathering);
    gathering_.erase(step);
    return;
  }
  for (std::uint32_t other = 0; other < nodes_; ++other) {
    if (gone_[other] && !gathering.contributions[other]) {
      end_without(other);
      return;
    }
  }
}

void Agreement::finish(StepNumber step, Gathering& gathering) {
  Message total = std::move(*gathering.contributions[0]);
  for (std::uint32_t node = 1; node < nodes_; ++node) {
    const Message& part = *gathering.contributions[node];
    const bool alike = part.frame_type == total.frame_type && part.op == total.op &&
                       part.elements == total.elements &&
                       part.payload.size() == total.payload.size();
    const bool done =
        alike && (total.elements == 0 || combine(total.frame_type, total.op, total.payload.data(),
                                                 part.payload.data(), total.elements));
    if (!done) {
      end_differing(node, "another call than that of rank 0's node");
      return;
    }
  }
  total.type = MessageType::result;
  total.step = step;
  to_all(total);
}

void Agreement::end_differing(std::uint32_t node, const std::string& what) {
  end(fmt::format("the ranks on one node made different calls from those on others: {} brought {}",
                  leaders_[node], what));
}

void Agreement::end_without(std::uint32_t node) {
  end(fmt::format("{} is gone while its part was needed", leaders_[node]));
}

void Agreement::end(const std::string& why) {
  if (state_ == State::broken) {
    return;
  }
  state_ = State::broken;
  out_.clear();
  to_all(text_message(MessageType::broken, 0, why));
  // The first nodes last: the coordinator's own message ends this very process.
  std::reverse(out_.begin(), out_.end());
}

void Agreement::to_all(const Message& message) {
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    if (!gone_[node]) {
      out_.push_back({node, message});
    }
  }
}

} // namespace tributary::mpi
