// Processes of a job that agree over their connections: here several Connections of one process, on
// loopback.
#include "endpoint/mpi/intra_node/connections.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tributary::mpi::intra_node::test {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

constexpr std::chrono::seconds longest_wait{10};

/// What a leader receives.
class Inbox final : public Receiver {
public:
  void receive(Message message) override {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  void lose() override {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    changed_.notify_all();
  }
  /// nullopt: none came in time.
  std::optional<Message> next(std::chrono::milliseconds limit = longest_wait) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [this] { return !messages_.empty(); })) {
      return std::nullopt;
    }
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  MessageType next_type() {
    const auto message = next();
    return message ? message->type : MessageType::hello;
  }
  bool is_lost() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, longest_wait, [this] { return lost_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool lost_ = false;
};

/// Lines for people.
class Lines {
public:
  std::function<void(const std::string&)> say() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      text_ += text;
      changed_.notify_all();
    };
  }
  bool has(const std::string& words) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, longest_wait,
                             [&] { return text_.find(words) != std::string::npos; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

Process process_of(const Connections& connections) {
  return {.number = connections.number(),
          .secret = connections.secret(),
          .port = connections.port(),
          .addresses = "127.0.0.1"};
}

/// A coordinator and leaders of two other nodes, with any number of teams.
class Job : public ::testing::Test {
protected:
  static constexpr std::size_t nodes = 3;
  Lines lines_;
  std::vector<std::unique_ptr<Connections>> processes_;

  void SetUp() override {
    for (std::size_t i = 0; i < nodes; ++i) {
      processes_.push_back(std::make_unique<Connections>(lines_.say()));
      ASSERT_NE(processes_.back()->port(), 0);
    }
  }

  struct Members {
    std::vector<std::unique_ptr<Inbox>> inboxes;
  };
  /// All nodes of a team, with node 0's process as the coordinator.
  Members begin(TeamKey team, std::size_t first = 0) {
    Members members;
    std::vector<ProcessNumber> leaders;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < nodes; ++i) {
      leaders.push_back(processes_[(first + i) % nodes]->number());
      names.push_back("rank " + std::to_string(i));
    }
    processes_[first]->coordinate(
        team, {.leaders = leaders, .agreement = Agreement(names, 1s), .say = lines_.say()});
    for (std::size_t i = 0; i < nodes; ++i) {
      Connections& process = *processes_[(first + i) % nodes];
      process.connect(process_of(*processes_[first]), 2000ms);
      members.inboxes.push_back(std::make_unique<Inbox>());
      process.attach(team, leaders[0], *members.inboxes.back());
    }
    return members;
  }
  void end(TeamKey team) {
    for (const auto& process : processes_) {
      process->detach(team);
    }
  }
};

TEST_F(Job, TeamsAgreeOverOneConnectionWithoutKnowingOfEachOther) {
  Members one = begin(1);
  Members two = begin(2);
  const ProcessNumber first = processes_[0]->number();
  ASSERT_TRUE(
      processes_[1]->send(1, first, text_message(MessageType::failed, 0, "the group ended")));
  for (auto& inbox : one.inboxes) {
    const auto message = inbox->next();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->type, MessageType::freeze);
    EXPECT_EQ(message->team, 1U);
  }
  for (auto& inbox : two.inboxes) {
    EXPECT_FALSE(inbox->next(50ms).has_value()) << "of another team";
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    ASSERT_TRUE(processes_[i]->send(
        1, first, {.type = MessageType::frozen, .step = 3, .call = 4 + i, .payload = {}}));
  }
  for (auto& inbox : one.inboxes) {
    const auto message = inbox->next();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->type, MessageType::decision);
    EXPECT_EQ(message->call, 6U);
  }
  end(1);
  end(2);
}

TEST_F(Job, ATeamEndsWhenAllHaveLeftAndThenNothingMoreIsReceived) {
  Members members = begin(1);
  const ProcessNumber first = processes_[0]->number();
  const Message left{.type = MessageType::left, .payload = {}};
  ASSERT_TRUE(processes_[2]->send(1, first, left));
  EXPECT_EQ(members.inboxes[0]->next_type(), MessageType::vacate);
  EXPECT_EQ(members.inboxes[1]->next_type(), MessageType::vacate);
  ASSERT_TRUE(processes_[0]->send(1, first, left));
  ASSERT_TRUE(processes_[1]->send(1, first, left));
  for (auto& inbox : members.inboxes) {
    EXPECT_EQ(inbox->next_type(), MessageType::ended);
  }
  ASSERT_TRUE(processes_[1]->send(1, first, text_message(MessageType::suspect, 1, "late")));
  EXPECT_FALSE(members.inboxes[1]->next(50ms).has_value());
  end(1);
}

TEST_F(Job, TheEndOfAProcessConcernsAllItsTeamsAndNoOthers) {
  Members one = begin(1);
  Members two = begin(2);
  Members elsewhere = begin(3, 1); // process 1 coordinates it
  // Seen by the coordinator, once the hello of that process has been read.
  const ProcessNumber first = processes_[0]->number();
  for (const TeamKey team : {TeamKey{1}, TeamKey{2}}) {
    ASSERT_TRUE(processes_[2]->send(team, first, {.type = MessageType::left, .payload = {}}));
    EXPECT_EQ((team == 1 ? one : two).inboxes[1]->next_type(), MessageType::vacate);
    EXPECT_EQ((team == 1 ? one : two).inboxes[0]->next_type(), MessageType::vacate);
  }
  for (const TeamKey team : {TeamKey{1}, TeamKey{2}, TeamKey{3}}) {
    processes_[2]->detach(team);
  }
  processes_[2]->close();
  for (const TeamKey team : {TeamKey{1}, TeamKey{2}}) {
    ASSERT_TRUE(processes_[0]->send(team, first, text_message(MessageType::suspect, 1, "stuck")));
    Members& members = team == 1 ? one : two;
    for (std::size_t i = 0; i < 2; ++i) {
      std::optional<Message> message;
      do { // until the coordinator knows
        message = members.inboxes[i]->next(20ms);
        if (!message) {
          processes_[0]->send(team, first, text_message(MessageType::suspect, 1, "stuck"));
        }
      } while (!message || message->type == MessageType::poll);
      EXPECT_EQ(message->type, MessageType::broken);
      EXPECT_NE(message->text().find("rank 2 is gone"), std::string::npos) << message->text();
    }
  }
  EXPECT_FALSE(elsewhere.inboxes[0]->next(20ms).has_value());
  for (const TeamKey team : {TeamKey{1}, TeamKey{2}, TeamKey{3}}) {
    processes_[0]->detach(team);
    processes_[1]->detach(team);
  }
}

TEST_F(Job, ALostCoordinatorIsToldToEveryLeaderOfItsTeams) {
  Members one = begin(1);
  Members two = begin(2);
  processes_[0]->detach(1);
  processes_[0]->detach(2);
  processes_[0]->close();
  for (std::size_t i = 1; i < nodes; ++i) {
    EXPECT_TRUE(one.inboxes[i]->is_lost());
    EXPECT_TRUE(two.inboxes[i]->is_lost());
    EXPECT_FALSE(processes_[i]->send(1, processes_[0]->number(), {.payload = {}}));
  }
  Inbox late; // for a team that is made a moment later
  processes_[1]->attach(9, processes_[0]->number(), late);
  EXPECT_TRUE(late.is_lost());
  end(9);
  end(1);
  end(2);
}

TEST_F(Job, TwoThatCoordinateATeamOfEachOthersSendLongMessagesAtTheSameTime) {
  constexpr std::size_t bytes = std::size_t{8} << 20; // more than sockets hold
  Members one = begin(1);
  Members two = begin(2, 1);
  const auto long_message = [](MessageType type) {
    return Message{.type = type, .step = 1, .call = 1, .payload = std::vector<std::byte>(bytes)};
  };
  const std::array<std::size_t, 2> coordinators{0, 1}; // of teams 1 and 2
  for (const std::size_t at : coordinators) {
    ASSERT_TRUE(processes_[at]->send(at + 1, processes_[at]->number(),
                                     text_message(MessageType::failed, 0, "the group ended")));
  }
  for (Members* const members : {&one, &two}) {
    for (auto& inbox : members->inboxes) {
      EXPECT_EQ(inbox->next_type(), MessageType::freeze);
    }
  }
  for (const std::size_t at : coordinators) {
    for (const auto& process : processes_) {
      ASSERT_TRUE(
          process->send(at + 1, processes_[at]->number(), long_message(MessageType::frozen)));
    }
  }
  for (Members* const members : {&one, &two}) {
    for (auto& inbox : members->inboxes) {
      EXPECT_EQ(inbox->next_type(), MessageType::decision);
    }
  }
  end(1);
  end(2);
}

/// Somebody who is not of the job.
class Stranger {
public:
  explicit Stranger(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const timeval limit{.tv_sec = longest_wait.count(), .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  void send(const std::vector<std::byte>& bytes) {
    ASSERT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void send(const Message& message) {
    const Header header = encode_header(message);
    std::vector<std::byte> bytes(header.begin(), header.end());
    bytes.insert(bytes.end(), message.payload.begin(), message.payload.end());
    send(bytes);
  }
  [[nodiscard]] bool is_closed() const {
    std::byte byte{};
    errno = 0;
    return recv(socket_.get(), &byte, 1, 0) <= 0 && errno != EAGAIN;
  }

private:
  net::FileDescriptor socket_;
};

TEST_F(Job, StrangersAreClosedAndDisturbNoTeam) {
  Members members = begin(1);
  const std::uint16_t port = processes_[0]->port();
  Stranger silent(port);
  Stranger noise(port);
  noise.send(std::vector<std::byte>(200, std::byte{0x5a}));
  EXPECT_TRUE(noise.is_closed());
  Stranger guesses(port);
  guesses.send({.type = MessageType::hello,
                .step = processes_[1]->number(),
                .payload = std::vector<std::byte>(secret_bytes, std::byte{7})});
  EXPECT_TRUE(guesses.is_closed());
  Stranger short_of_it(port);
  short_of_it.send({.type = MessageType::hello, .step = processes_[1]->number(), .payload = {}});
  EXPECT_TRUE(short_of_it.is_closed());
  Stranger long_winded(port);
  Header header = encode_header(
      {.type = MessageType::hello, .payload = std::vector<std::byte>(std::size_t{1} << 20)});
  long_winded.send({header.begin(), header.end()});
  EXPECT_TRUE(long_winded.is_closed()) << "it may take memory";
  Stranger pretends(port);
  pretends.send(text_message(MessageType::mismatch, 1, "end the program"));
  EXPECT_TRUE(pretends.is_closed());
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 100; ++i) {
    crowd.push_back(std::make_unique<Stranger>(port));
  }
  EXPECT_TRUE(silent.is_closed()) << "the oldest of too many";
  const ProcessNumber first = processes_[0]->number();
  ASSERT_TRUE(processes_[1]->send(1, first, text_message(MessageType::suspect, 1, "stuck")));
  for (auto& inbox : members.inboxes) {
    EXPECT_EQ(inbox->next_type(), MessageType::poll);
  }
  end(1);
}

TEST_F(Job, AMemberHasNoPartInTeamsOfOthers) {
  Members members = begin(1);
  Connections other(lines_.say());
  other.connect(process_of(*processes_[0]), 2000ms);
  ASSERT_TRUE(other.send(1, processes_[0]->number(),
                         text_message(MessageType::mismatch, 0, "end the program")));
  for (auto& inbox : members.inboxes) {
    EXPECT_FALSE(inbox->next(30ms).has_value());
  }
  end(1);
}

TEST(Connections, WhatIsNotThereIsNamed) {
  Lines lines;
  Connections one(lines.say());
  Process gone = process_of(one);
  gone.number ^= 2;
  gone.port = 1; // no process listens there
  try {
    one.connect(gone, 500ms);
    ADD_FAILURE() << "it is connected";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("127.0.0.1: Connection refused"), std::string::npos)
        << error.what();
  }
  gone.port = 0;
  EXPECT_THROW(one.connect(gone, 500ms), std::runtime_error);
}

/// No descriptor beyond this number may be opened, nor may poll() be given more than this many.
class DescriptorLimit {
public:
  explicit DescriptorLimit(rlim_t limit) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit now{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

private:
  rlimit before_{};
};

TEST(Connections, TheThreadSaysWhyAndEndsItsConnectionsWhenPollFails) {
  Lines lines;
  Connections coordinator(lines.say());
  Lines of_leader;
  Connections leader(of_leader.say());
  coordinator.coordinate(1, {.leaders = {coordinator.number(), leader.number()},
                             .agreement = Agreement({"rank 0 on h0", "rank 4 on h1"}, 1s),
                             .say = lines.say()});
  leader.connect(process_of(coordinator), 2000ms);
  Inbox own;
  Inbox inbox;
  coordinator.attach(1, coordinator.number(), own);
  leader.attach(1, coordinator.number(), inbox);
  ASSERT_TRUE(
      leader.send(1, coordinator.number(), text_message(MessageType::suspect, 1, "silent")));
  ASSERT_EQ(inbox.next_type(), MessageType::poll) << "its thread does not answer";
  // Not earlier: a sanitizer needs descriptors to check a thread that starts.
  const DescriptorLimit fewer_than_it_polls(1);
  coordinator.send(1, coordinator.number(), text_message(MessageType::status, 0, ""));
  EXPECT_TRUE(lines.has("poll: Invalid argument")) << "it continues to poll";
  EXPECT_TRUE(own.is_lost()) << "its own leader does not notice";
  coordinator.detach(1);
  leader.detach(1);
}

} // namespace
} // namespace tributary::mpi::intra_node::test
