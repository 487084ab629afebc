// A loop with a thread of its own: progress without calls.
#include "endpoint/engine/loop.hpp"

#include "fakes.hpp"
#include "tests/support/eventually.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace tributary::engine::test {
namespace {

using link::LinkError;
using tributary::test::eventually;

class OwnThreadTest : public testing::Test {
protected:
  OwnThreadTest() : OwnThreadTest(waitable_link()) {}
  explicit OwnThreadTest(std::unique_ptr<FakeLink> made)
      : link(*made), loop(std::move(made), ethertype, {.spin_ns = 0, .own_thread = true}) {
    const auto lock = loop.lock();
    loop.engine().add(protocol);
    loop.engine().claim(protocol, TreeNumber{1});
  }
  ~OwnThreadTest() override { loop.end_thread(); }

  static std::unique_ptr<FakeLink> waitable_link() {
    auto made = std::make_unique<FakeLink>();
    made->make_waitable();
    return made;
  }
  /// Under the lock.
  template <typename F> auto with_lock(F f) {
    const auto lock = loop.lock();
    return f();
  }
  void deliver(std::uint64_t number) {
    with_lock([&] { link.deliver(on_tree(1), number); });
  }
  [[nodiscard]] bool received(std::size_t count) {
    return eventually([&] { return with_lock([&] { return protocol.received.size(); }) >= count; });
  }

  FakeProtocol protocol;
  FakeLink& link;
  Loop loop;
};

TEST_F(OwnThreadTest, FramesAreTakenThoughNobodyCalls) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    deliver(i);
  }
  ASSERT_TRUE(received(200));
  EXPECT_EQ(with_lock([&] { return protocol.received; }), numbers(0, 200));
}

TEST_F(OwnThreadTest, ADeadlineThatIsSetWhileItSleepsIsKept) {
  deliver(0);
  ASSERT_TRUE(received(1)); // and now it sleeps without a deadline, or soon will
  const auto polls = [&] { return with_lock([&] { return protocol.polled.size(); }); };
  const TimeNs due = net::steady_now() + 30 * ns_per_ms;
  with_lock([&] {
    protocol.deadline = due;
    protocol.on_poll = [&] {
      if (protocol.polled.back() >= due) {
        protocol.deadline = never;
      }
    };
    loop.send(protocol);
  });
  EXPECT_TRUE(eventually([&] { return with_lock([&] { return protocol.deadline == never; }); }))
      << polls() << " polls";
}

TEST_F(OwnThreadTest, ADeadlineThatACallLeavesBehindIsKeptByTheThread) {
  for (int i = 0; i < 20; ++i) {
    // Time for the thread to fall asleep without a deadline; whether it does cannot be observed.
    std::this_thread::sleep_for(std::chrono::milliseconds(i));
    const TimeNs due = net::steady_now() + 2 * ns_per_ms;
    with_lock([&] {
      protocol.on_poll = [this, due] {
        protocol.deadline = protocol.polled.back() >= due ? never : due;
      };
      loop.progress();
    });
    ASSERT_TRUE(eventually([&] { return with_lock([&] { return protocol.deadline == never; }); }));
    with_lock([&] { protocol.on_poll = nullptr; });
  }
}

TEST_F(OwnThreadTest, ItComesBackWhenNobodyDrivesAnyMore) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto lock = loop.lock();
    link.deliver(on_tree(1), 2 * i);
    EXPECT_TRUE(loop.wait_until(lock, [&] { return protocol.received.size() == 2 * i + 1; }));
    link.deliver(on_tree(1), 2 * i + 1);
    lock.unlock();
    ASSERT_TRUE(received(2 * i + 2));
  }
}

TEST_F(OwnThreadTest, WhatTheLinkDidNotTakeLeavesLater) {
  with_lock([&] {
    link.takes = 0;
    protocol.give(numbers(0, 5));
    loop.send(protocol);
    EXPECT_TRUE(link.sent.empty());
    link.takes = 100;
  });
  EXPECT_TRUE(eventually([&] { return with_lock([&] { return link.sent.size(); }) == 5; }));
}

TEST_F(OwnThreadTest, AWaitEndsWithTheFramesItWaitsFor) {
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < 100; ++i) {
      deliver(i);
    }
  });
  auto lock = loop.lock();
  EXPECT_TRUE(loop.wait_until(lock, [&] { return protocol.received.size() == 100; }));
  EXPECT_TRUE(lock.owns_lock());
  EXPECT_FALSE(loop.wait_until(
      lock, [] { return false; }, net::steady_now() + ns_per_ms));
  lock.unlock();
  sender.join();
}

TEST_F(OwnThreadTest, AWaitThatIsUnderWayThrowsWhatEitherMeets) {
  std::thread cutter([&] {
    with_lock([&] { link.fails = LinkError(LinkError::Kind::no_interface, "gone"); });
    deliver(0);
  });
  auto lock = loop.lock();
  EXPECT_THROW(loop.wait_through(lock, [] { return false; }), LinkError);
  EXPECT_THROW(loop.progress(), LinkError);
  EXPECT_THROW(loop.throw_if_broken(), LinkError);
  lock.unlock();
  cutter.join();
}

TEST_F(OwnThreadTest, ALinkThatIsDownEndsAWaitAndIsWaitedForByOneThatIsPatient) {
  with_lock([&] { link.fails = LinkError(LinkError::Kind::interface_down, "down"); });
  deliver(0);
  auto lock = loop.lock();
  EXPECT_THROW(loop.wait_until(lock, [] { return false; }), LinkError);
  std::thread mender([&] { with_lock([&] { link.fails.reset(); }); });
  loop.wait_through(lock, [&] { return protocol.received.size() == 1; });
  lock.unlock();
  mender.join();
}

TEST_F(OwnThreadTest, ItsDescriptorSaysThatItDidSomething) {
  const auto readable = [](int fd) {
    pollfd poll{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&poll, 1, 0) > 0;
  };
  const int fd = with_lock([&] { return loop.fd(); });
  EXPECT_TRUE(readable(fd)) << "what was before it was asked for counts";
  with_lock([&] { loop.progress(); });
  // A round of the thread may have followed that.
  EXPECT_TRUE(eventually([&] {
    with_lock([&] { loop.progress(); });
    return !readable(fd);
  }));
  deliver(0);
  EXPECT_TRUE(eventually([&] { return readable(fd); }));
  EXPECT_EQ(with_lock([&] { return loop.next_call(); }), never) << "nothing has to be called";
}

TEST_F(OwnThreadTest, ItEndsWhileItSleeps) {
  deliver(0);
  ASSERT_TRUE(received(1));
  loop.end_thread(); // the test hangs if not
  deliver(1);
  EXPECT_EQ(protocol.received.size(), 1U) << "no protocol takes frames any more";
  loop.progress();
  EXPECT_EQ(protocol.received.size(), 2U) << "but the caller may";
}

TEST(OwnThreadForkTest, AChildMayDestroyTheLoopWhateverTheThreadHoldsThere) {
  auto made = std::make_unique<FakeLink>();
  auto loop = std::make_unique<Loop>(std::move(made), ethertype,
                                     Loop::Options{.spin_ns = 0, .own_thread = true});
  auto lock = loop->lock(); // no thread will unlock it in the child
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    lock.release();
    loop.reset();
    ::_exit(7);
  }
  lock.unlock();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

} // namespace
} // namespace tributary::engine::test
