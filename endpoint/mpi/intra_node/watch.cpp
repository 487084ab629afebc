#include "endpoint/mpi/intra_node/watch.hpp"

#include "endpoint/mpi/model/agreement.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tributary::mpi::intra_node {

namespace {

const char* const gone =
    "the leader of rank 0's node is gone, and the fabric has failed: no rank can "
    "complete the calls that were begun";

} // namespace

Watch::Watch(const Place& place, node::Arena& arena, Reporter reporter)
    : place_(place), arena_(arena), reporter_(std::move(reporter)) {
  place_.connections.attach(place_.team, place_.coordinator, *this);
}

Watch::~Watch() { place_.connections.detach(place_.team); }

bool Watch::begin(StepNumber step, const Terms& terms) {
  const std::lock_guard lock(mutex_);
  terms_ = terms;
  if (frozen_) {
    return false;
  }
  contributed_ = step;
  return true;
}

bool Watch::commit(StepNumber step, std::size_t result_bytes) {
  const std::lock_guard lock(mutex_);
  if (frozen_) {
    return false;
  }
  completed_ = step;
  result_bytes_ = result_bytes;
  return true;
}

bool Watch::is_frozen() const {
  const std::lock_guard lock(mutex_);
  return frozen_;
}

void Watch::progress(std::uint64_t pieces) {
  const std::lock_guard lock(mutex_);
  pieces_ = pieces;
}

bool Watch::is_connected() const {
  const std::lock_guard lock(mutex_);
  return !lost_;
}

bool Watch::try_to_send(Message message) {
  // A later connection to that process is not one of this team: it counts this node as gone.
  return is_connected() &&
         place_.connections.send(place_.team, place_.coordinator, std::move(message));
}

void Watch::send(Message message) {
  if (!try_to_send(std::move(message))) {
    reporter_.fatal(gone);
  }
}

void Watch::leave() {
  if (!try_to_send({.type = MessageType::left, .payload = {}})) {
    reporter_.ended(); // no node is left to wait for
  }
}

void Watch::suspect(StepNumber step, const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  bool late = false;
  {
    const std::lock_guard lock(mutex_);
    asked_ = asked_.value_or(now);
    late = now - *asked_ >= Agreement::answer_limit && !std::exchange(said_unanswered_, true);
  }
  if (late) {
    reporter_.unanswered();
  }
  send(text_message(MessageType::suspect, step, what));
}

void Watch::disagree(const std::string& what) {
  // Others may have ended it already.
  static_cast<void>(try_to_send(text_message(MessageType::mismatch, 0, what)));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return lost_; });
  lock.unlock();
  reporter_.fatal(what);
  std::abort();
}

void Watch::report_failure(const std::string& why) {
  send(text_message(MessageType::failed, 0, why));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return decided_ || lost_; });
}

void Watch::complete(StepNumber step, const Plan& plan, std::size_t elements, const std::byte* part,
                     std::byte* result, const node::Idle& idle) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return decided_ || lost_; });
  }
  Message message{.type = MessageType::contribution,
                  .step = step,
                  .call = 0,
                  .frame_type = plan.type,
                  .op = plan.op,
                  .elements = elements,
                  .payload = {part, part + elements * plan.frame_bytes}};
  send(std::move(message));
  constexpr std::chrono::milliseconds while_idle{1};
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, while_idle, [&] { return results_.contains(step) || lost_; })) {
    lock.unlock();
    idle();
    lock.lock();
  }
  const auto found = results_.find(step);
  if (found == results_.end()) {
    lock.unlock();
    reporter_.fatal(gone);
    return;
  }
  std::memcpy(result, found->second.data(), found->second.size());
  results_.erase(found);
  completed_ = step;
}

void Watch::lose() {
  std::unique_lock lock(mutex_);
  lost_ = true;
  changed_.notify_all();
  if (frozen_ && !decided_) {
    lock.unlock();
    reporter_.fatal(gone); // ranks wait for the decision
  }
}

void Watch::receive(Message message) {
  {
    const std::lock_guard lock(mutex_);
    asked_.reset();
    said_unanswered_ = false;
  }
  switch (message.type) {
  case MessageType::poll: {
    Message status{.type = MessageType::status, .payload = {}};
    {
      const std::lock_guard lock(mutex_);
      status.step = contributed_;
      status.call = completed_;
      status.elements = pieces_;
    }
    static_cast<void>(try_to_send(std::move(status)));
    return;
  }
  case MessageType::freeze: answer_freeze(); return;
  case MessageType::decision:
    reporter_.decided(message.text(), message.call);
    arena_.decide(message.call);
    {
      const std::lock_guard lock(mutex_);
      decided_ = true;
    }
    changed_.notify_all();
    return;
  case MessageType::result: {
    const std::lock_guard lock(mutex_);
    results_[message.step] = std::move(message.payload);
    changed_.notify_all();
    return;
  }
  case MessageType::broken: {
    std::unique_lock lock(mutex_);
    const std::string mine =
        contributed_ == 0 ? ""
                          : fmt::format("; {} called last: {}", reporter_.who, text_of(terms_));
    lock.unlock();
    reporter_.fatal(message.text() + mine);
    return;
  }
  case MessageType::vacate: reporter_.vacate(); return;
  case MessageType::ended: reporter_.ended(); return;
  default: return;
  }
}

void Watch::answer_freeze() {
  Message frozen{.type = MessageType::frozen, .payload = {}};
  {
    const std::lock_guard lock(mutex_);
    frozen_ = true;
    frozen.step = completed_;
  }
  // Nothing is committed from here on, so the result of that step is stable.
  const std::byte* const result = arena_.result(frozen.step);
  frozen.payload.assign(result, result + (frozen.step == 0 ? 0 : result_bytes_));
  frozen.call = arena_.freeze();
  static_cast<void>(try_to_send(std::move(frozen)));
}

} // namespace tributary::mpi::intra_node
