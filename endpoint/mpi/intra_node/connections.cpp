#include "endpoint/mpi/intra_node/connections.hpp"

#include "endpoint/mpi/intra_node/quiet_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <poll.h>
#include <random>
#include <span>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace tributary::mpi::intra_node {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t most_strangers = 64;
constexpr std::chrono::seconds stranger_limit{10};
/// After accept() failed, as without descriptors: otherwise the thread would spin.
constexpr std::chrono::seconds accept_pause{1};
constexpr milliseconds look_again{500};
/// Messages that wait for a leader's hello; its socket has the hello, so they are few.
constexpr std::size_t most_early = 1024;

std::uint64_t random_word() {
  static thread_local std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

Secret random_secret() {
  Secret secret;
  const std::array<std::uint64_t, 2> words{random_word(), random_word()};
  static_assert(sizeof words == sizeof secret);
  std::memcpy(secret.data(), words.data(), sizeof words);
  return secret;
}

} // namespace

Connections::Connections(std::function<void(const std::string&)> say)
    : say_(std::move(say)), number_(random_word() | 1), secret_(random_secret()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) {
    fault_ = fmt::format("no event descriptor: {}", std::strerror(errno));
    return;
  }
  try {
    listener_.emplace();
  } catch (const std::exception& error) {
    fault_ = error.what();
  }
}

void Connections::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake();
  if (thread_.joinable()) {
    thread_.join();
  }
  const std::lock_guard lock(mutex_);
  broken_ = true;
  coordinators_.clear();
  leaders_.clear();
  strangers_.clear();
  coordinations_.clear();
  listener_.reset();
}

void Connections::begin_thread(const Lock&) {
  if (!thread_.joinable()) {
    thread_ = quiet_thread([this] { run(); });
  }
}

void Connections::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof one);
}

void Connections::connect(const Process& coordinator, milliseconds limit) {
  const std::lock_guard one_at_a_time(connecting_);
  {
    const std::lock_guard lock(mutex_);
    if (!fault_.empty()) {
      throw std::runtime_error(fault_);
    }
    if (broken_) {
      throw std::runtime_error("this process has ended its connections to other nodes' leaders");
    }
    if (coordinator.number == number_ || coordinators_.contains(coordinator.number)) {
      return;
    }
  }
  if (coordinator.port == 0) {
    throw std::runtime_error("the process of rank 0 cannot listen for the other nodes' leaders");
  }
  auto made = std::make_shared<Connection>();
  made->socket = connect_to(coordinator.addresses, coordinator.port, limit);
  made->process = coordinator.number;
  made->to_coordinator = true;
  enqueue(*made, {.type = MessageType::hello,
                  .step = number_,
                  .payload = {coordinator.secret.begin(), coordinator.secret.end()}});
  Lock lock(mutex_);
  flush(*made); // at once: the other end waits for it only so long
  coordinators_[coordinator.number] = std::move(made);
  begin_thread(lock);
  lock.unlock();
  wake();
}

void Connections::attach(TeamKey team, ProcessNumber coordinator, Receiver& receiver) {
  {
    Lock lock(mutex_);
    attached_[team] = {.coordinator = coordinator, .receiver = &receiver};
    if (!broken_ && (coordinator == number_ || coordinators_.contains(coordinator))) {
      begin_thread(lock);
      return;
    }
  }
  receiver.lose();
}

void Connections::detach(TeamKey team) {
  Lock lock(mutex_);
  attached_.erase(team);
  delivered_.wait(lock, [&] { return delivering_ != team; });
}

bool Connections::send(TeamKey team, ProcessNumber coordinator, Message message) {
  message.team = team;
  {
    const std::lock_guard lock(mutex_);
    if (broken_) {
      return false;
    }
    if (coordinator == number_) {
      local_.push_back({.to_coordinator = true, .message = std::move(message)});
    } else {
      const auto found = coordinators_.find(coordinator);
      if (found == coordinators_.end()) {
        return false;
      }
      enqueue(*found->second, message);
    }
  }
  wake();
  return true;
}

void Connections::coordinate(TeamKey team, Coordination coordination) {
  Lock lock(mutex_);
  coordinations_[team] = std::make_shared<Coordination>(std::move(coordination));
  begin_thread(lock);
}

void Connections::stop_coordinating(TeamKey team) {
  const std::lock_guard lock(mutex_);
  coordinations_.erase(team);
}

void Connections::run() {
  while (serve()) {
  }
}

bool Connections::serve() {
  std::vector<pollfd> waits;
  std::vector<Shared> connections;
  milliseconds limit{-1};
  const auto limit_to = [&](milliseconds other) {
    limit = limit.count() < 0 ? other : std::min(limit, other);
  };
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      return false;
    }
    const auto add = [&](const Shared& one) {
      const short events = static_cast<short>(one->to_send.empty() ? POLLIN : POLLIN | POLLOUT);
      waits.push_back({.fd = one->socket.get(), .events = events, .revents = 0});
      connections.push_back(one);
    };
    for (const auto& [process, one] : coordinators_) {
      add(one);
    }
    for (const auto& [process, one] : leaders_) {
      add(one);
    }
    for (const Shared& one : strangers_) {
      add(one);
      limit_to(look_again);
    }
    const bool accepts = steady_clock::now() >= accept_again_;
    waits.push_back({.fd = accepts && listener_ ? listener_->descriptor() : -1,
                     .events = POLLIN,
                     .revents = 0});
    waits.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    if (!accepts || std::any_of(coordinations_.begin(), coordinations_.end(), [](const auto& one) {
          return one.second->agreement.deadline().has_value();
        })) {
      limit_to(look_again);
    }
    if (!local_.empty()) {
      limit = milliseconds{0};
    }
  }
  if (poll(waits.data(), waits.size(), static_cast<int>(limit.count())) < 0) {
    if (errno == EINTR) {
      return true;
    }
    give_up(fmt::format("poll: {}", std::strerror(errno)));
    return false;
  }
  if (waits.back().revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto bytes = read(wake_.get(), &count, sizeof count);
  }
  for (std::size_t i = 0; i < connections.size(); ++i) {
    if ((waits[i].revents & POLLOUT) != 0) {
      const std::lock_guard lock(mutex_);
      flush(*connections[i]);
    }
    if ((waits[i].revents & ~POLLOUT) != 0 && !receive_from(connections[i])) {
      drop(connections[i]);
    }
  }
  std::deque<Local> local;
  {
    const std::lock_guard lock(mutex_);
    local.swap(local_);
  }
  for (Local& one : local) {
    if (one.to_coordinator) {
      to_coordination(number_, std::move(one.message));
    } else {
      to_receiver(number_, std::move(one.message));
    }
  }
  if (waits[connections.size()].revents != 0) {
    accept();
  }
  drop_late_strangers();
  look_at_clocks();
  return true;
}

void Connections::give_up(const std::string& why) {
  say_("the agreement on failures of the fabric has ended (" + why +
       "); the program ends if the fabric fails now");
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    coordinators_.clear(); // the other ends notice it
    leaders_.clear();
    strangers_.clear();
  }
  // One at a time, because detach() waits for the one that is being called only.
  for (;;) {
    Receiver* receiver = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(attached_.begin(), attached_.end(), [](const auto& one) {
        return one.second.receiver != nullptr;
      });
      if (found == attached_.end()) {
        return;
      }
      receiver = std::exchange(found->second.receiver, nullptr);
      delivering_ = found->first;
    }
    receiver->lose();
    const std::lock_guard lock(mutex_);
    delivering_.reset();
    delivered_.notify_all();
  }
}

void Connections::accept() {
  for (;;) {
    net::FileDescriptor socket = listener_->accept();
    if (!socket) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED) {
        accept_again_ = steady_clock::now() + accept_pause;
      }
      return;
    }
    auto made = std::make_shared<Connection>();
    made->socket = std::move(socket);
    made->since = steady_clock::now();
    const std::lock_guard lock(mutex_);
    strangers_.push_back(std::move(made));
    if (strangers_.size() > most_strangers) {
      strangers_.pop_front();
    }
  }
}

void Connections::drop_late_strangers() {
  const auto now = steady_clock::now();
  const std::lock_guard lock(mutex_);
  while (!strangers_.empty() && now - strangers_.front()->since > stranger_limit) {
    strangers_.pop_front();
  }
}

bool Connections::receive_from(const Shared& connection) {
  std::array<std::byte, std::size_t{64} << 10> bytes;
  bool open = true;
  for (;;) {
    const ssize_t n = recv(connection->socket.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    }
    if (n <= 0) {
      open = false; // but what came before it counts
      break;
    }
    connection->received.insert(connection->received.end(), bytes.begin(), bytes.begin() + n);
    if (connection->process == 0) {
      break; // a stranger gets no more of the thread's time and memory
    }
  }
  std::vector<std::byte>& received = connection->received;
  std::size_t at = 0;
  while (received.size() - at >= header_bytes) {
    const auto header = std::span<const std::byte>(received).subspan(at).first<header_bytes>();
    std::size_t payload = 0;
    Message message;
    try {
      message = decode_header(header, payload);
    } catch (const std::exception&) {
      return false; // nothing that follows can be parsed
    }
    if (connection->process == 0 && payload > secret_bytes) {
      return false;
    }
    if (received.size() - at < header_bytes + payload) {
      break;
    }
    const auto begin = received.begin() + static_cast<std::ptrdiff_t>(at + header_bytes);
    message.payload.assign(begin, begin + static_cast<std::ptrdiff_t>(payload));
    at += header_bytes + payload;
    if (!take(connection, std::move(message))) {
      return false;
    }
  }
  received.erase(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(at));
  return open;
}

bool Connections::take(const Shared& connection, Message message) {
  if (connection->process == 0) {
    return greet(connection, message);
  }
  if (connection->to_coordinator) {
    to_receiver(connection->process, std::move(message));
  } else {
    to_coordination(connection->process, std::move(message));
  }
  return true;
}

bool Connections::greet(const Shared& stranger, const Message& hello) {
  if (hello.type != MessageType::hello || hello.step == 0 || hello.step == number_ ||
      !std::equal(hello.payload.begin(), hello.payload.end(), secret_.begin(), secret_.end())) {
    return false;
  }
  Shared before;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = leaders_.find(hello.step); found != leaders_.end()) {
      before = found->second;
    }
  }
  if (before) {
    drop(before); // it connects again, because it has lost that one
  }
  const std::lock_guard lock(mutex_);
  stranger->process = hello.step;
  std::erase(strangers_, stranger);
  leaders_[hello.step] = stranger;
  if (auto early = early_.extract(hello.step)) {
    for (const Message& message : early.mapped()) {
      enqueue(*stranger, message);
    }
    flush(*stranger);
  }
  return true;
}

void Connections::drop(const Shared& connection) {
  const ProcessNumber process = connection->process;
  {
    const std::lock_guard lock(mutex_);
    if (process == 0) {
      std::erase(strangers_, connection);
      return;
    }
    auto& all = connection->to_coordinator ? coordinators_ : leaders_;
    const auto found = all.find(process);
    if (found == all.end() || found->second != connection) {
      return; // it was dropped before
    }
    all.erase(found);
  }
  if (connection->to_coordinator) {
    lose_coordinator(process);
  } else {
    lose_leader(process);
  }
}

void Connections::lose_leader(ProcessNumber process) {
  std::vector<std::pair<TeamKey, std::shared_ptr<Coordination>>> concerned;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [team, one] : coordinations_) {
      if (std::find(one->leaders.begin(), one->leaders.end(), process) != one->leaders.end()) {
        concerned.emplace_back(team, one);
      }
    }
  }
  for (const auto& [team, one] : concerned) {
    const auto at = std::find(one->leaders.begin(), one->leaders.end(), process);
    deliver(team, *one, one->agreement.lost(static_cast<std::uint32_t>(at - one->leaders.begin())));
  }
}

void Connections::lose_coordinator(ProcessNumber process) {
  for (;;) {
    Receiver* receiver = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(attached_.begin(), attached_.end(), [&](const auto& one) {
        return one.second.coordinator == process && one.second.receiver != nullptr;
      });
      if (found == attached_.end()) {
        return;
      }
      receiver = std::exchange(found->second.receiver, nullptr); // nothing more is received
      delivering_ = found->first;
    }
    receiver->lose();
    const std::lock_guard lock(mutex_);
    delivering_.reset();
    delivered_.notify_all();
  }
}

void Connections::to_receiver(ProcessNumber from, Message message) {
  Receiver* receiver = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = attached_.find(message.team);
    if (found == attached_.end() || found->second.coordinator != from) {
      return; // of a team that has ended here
    }
    receiver = found->second.receiver;
    if (receiver == nullptr) {
      return;
    }
    delivering_ = message.team;
  }
  receiver->receive(std::move(message));
  const std::lock_guard lock(mutex_);
  delivering_.reset();
  delivered_.notify_all();
}

void Connections::to_coordination(ProcessNumber from, Message message) {
  const TeamKey team = message.team;
  std::shared_ptr<Coordination> coordination;
  {
    const std::lock_guard lock(mutex_);
    const auto found = coordinations_.find(team);
    if (found == coordinations_.end()) {
      return; // it has ended
    }
    coordination = found->second;
  }
  const auto& leaders = coordination->leaders;
  const auto at = std::find(leaders.begin(), leaders.end(), from);
  if (at != leaders.end()) { // others have no part in it
    deliver(team, *coordination,
            coordination->agreement.receive(static_cast<std::uint32_t>(at - leaders.begin()),
                                            std::move(message), steady_clock::now()));
  }
}

void Connections::deliver(TeamKey team, Coordination& coordination,
                          std::vector<Agreement::Sending> all) {
  const std::lock_guard lock(mutex_);
  for (Agreement::Sending& one : all) {
    one.message.team = team;
    const ProcessNumber process = coordination.leaders[one.node];
    if (process == number_) {
      local_.push_back({.to_coordinator = false, .message = std::move(one.message)});
    } else if (const auto found = leaders_.find(process); found != leaders_.end()) {
      enqueue(*found->second, one.message);
      flush(*found->second);
    } else if (auto& early = early_[process]; early.size() < most_early) {
      early.push_back(std::move(one.message));
    }
  }
  if (coordination.agreement.is_over()) {
    coordinations_.erase(team);
  }
}

void Connections::look_at_clocks() {
  std::vector<std::shared_ptr<Coordination>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [team, one] : coordinations_) {
      all.push_back(one);
    }
  }
  const auto now = steady_clock::now();
  for (const auto& one : all) {
    if (const std::string late = one->agreement.overdue(now); !late.empty()) {
      one->say(late);
    }
  }
}

void Connections::enqueue(Connection& connection, const Message& message) {
  const Header header = encode_header(message);
  std::vector<std::byte> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), message.payload.begin(), message.payload.end());
  connection.to_send.push_back(std::move(bytes));
}

void Connections::flush(Connection& connection) {
  while (!connection.to_send.empty()) {
    const std::vector<std::byte>& first = connection.to_send.front();
    const ssize_t n = ::send(connection.socket.get(), first.data() + connection.sent,
                             first.size() - connection.sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return;
    }
    if (n <= 0) {
      connection.to_send.clear(); // its end is noticed when it is read
      connection.sent = 0;
      return;
    }
    connection.sent += static_cast<std::size_t>(n);
    if (connection.sent == first.size()) {
      connection.to_send.pop_front();
      connection.sent = 0;
    }
  }
}

} // namespace tributary::mpi::intra_node
