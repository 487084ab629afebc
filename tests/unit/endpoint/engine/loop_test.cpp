// The loop around the engine: the effect of a link error on later calls.
#include "endpoint/engine/loop.hpp"

#include "fakes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tributary::engine::test {
namespace {

using link::LinkError;

class LoopTest : public testing::Test {
protected:
  LoopTest() : LoopTest(std::make_unique<FakeLink>()) {}
  explicit LoopTest(std::unique_ptr<FakeLink> made)
      : link(*made), loop(std::move(made), ethertype, {}) {
    loop.engine().add(protocol);
    loop.engine().claim(protocol, TreeNumber{1});
  }

  FakeProtocol protocol;
  FakeLink& link;
  Loop loop;
  Loop::Lock lock = loop.lock();
};

TEST_F(LoopTest, ProgressTakesAllThatCameInHoweverManyBursts) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    link.deliver(on_tree(1), i);
  }
  loop.progress();
  EXPECT_EQ(protocol.received, numbers(0, 1000));
}

TEST_F(LoopTest, ALinkThatIsGoneIsTheSameErrorForEverAndNoProtocolIsCalledAgain) {
  link.fails = LinkError(LinkError::Kind::no_interface, "interface 'x' is gone");
  EXPECT_THROW(loop.progress(), LinkError);
  link.fails.reset();
  protocol.polled.clear();
  link.deliver(on_tree(1), 1);
  try {
    loop.progress();
    FAIL() << "it is broken";
  } catch (const LinkError& error) {
    EXPECT_EQ(error.kind(), LinkError::Kind::no_interface);
    EXPECT_STREQ(error.what(), "interface 'x' is gone");
  }
  EXPECT_THROW(loop.wait_through(lock, [] { return false; }), LinkError);
  EXPECT_THROW(loop.throw_if_broken(), LinkError);
  EXPECT_TRUE(protocol.polled.empty());
  EXPECT_TRUE(protocol.received.empty());
}

TEST_F(LoopTest, ALinkThatIsDownEndsARoundAndGoesOnLater) {
  link.fails = LinkError(LinkError::Kind::interface_down, "down");
  protocol.give(numbers(0, 3));
  loop.send(protocol);
  EXPECT_THROW(loop.progress(), LinkError);
  EXPECT_NO_THROW(loop.throw_if_broken());
  link.fails.reset();
  loop.progress();
  EXPECT_EQ(link.sent_to(on_tree(1)), numbers(0, 3));
}

TEST_F(LoopTest, AnAnswerIsNotLookedForBeforeItCanBeThere) {
  const TimeNs began = net::steady_now();
  EXPECT_EQ(loop.wait_for_answer(lock, [&] { return !protocol.polled.empty(); }),
            Loop::Answer::done);
  constexpr std::uint64_t pause_ns = 50'000; // at a link that has nothing to wait on
  EXPECT_GE(elapsed_ns(protocol.polled.front(), began), pause_ns);
  EXPECT_EQ(loop.wait_for_answer(
                lock, [] { return false; }, net::steady_now()),
            Loop::Answer::timed_out);
}

TEST_F(LoopTest, AWaitIsWokenByAnotherThread) {
  link.make_waitable();
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    loop.wake();
  });
  EXPECT_EQ(loop.wait_for_answer(lock, [] { return false; }), Loop::Answer::woken);
  other.join();
  EXPECT_EQ(loop.wait_for_answer(
                lock, [] { return false; }, net::steady_now() + 1'000'000),
            Loop::Answer::timed_out)
      << "a wake ends one wait";
}

TEST_F(LoopTest, AWakeIsKeptForTheNextWaitWhoseAnswerIsNotThere) {
  link.make_waitable();
  loop.wake();
  loop.wake();
  EXPECT_EQ(loop.wait_for_answer(lock, [] { return true; }), Loop::Answer::done);
  const TimeNs began = net::steady_now();
  EXPECT_FALSE(loop.wait_until(
      lock, [] { return false; }, began + 5'000'000))
      << "other waits are not woken";
  EXPECT_GE(elapsed_ns(net::steady_now(), began), 5'000'000U);
  EXPECT_EQ(loop.wait_for_answer(lock, [] { return false; }), Loop::Answer::woken);
}

TEST_F(LoopTest, NoWakeIsLostHoweverItMeetsAWait) {
  link.make_waitable();
  std::atomic<int> seen{0};
  constexpr int times = 2000;
  std::thread other([&] {
    for (int n = 0; n < times; ++n) {
      loop.wake();
      while (seen.load() <= n) {
        std::this_thread::yield();
      }
    }
  });
  for (int n = 0; n < times; ++n) {
    EXPECT_EQ(loop.wait_for_answer(
                  lock, [] { return false; }, net::steady_now() + 10 * ns_per_second),
              Loop::Answer::woken);
    seen = n + 1;
  }
  other.join();
}

/// How often a wait checks for frames before it sleeps, on a link that is never readable.
std::size_t looks_of(std::uint64_t spin_ns, Loop::Wait wait, std::uint64_t timeout_ns) {
  auto made = std::make_unique<FakeLink>();
  FakeLink& link = *made;
  link.make_waitable();
  Loop loop(std::move(made), ethertype, {.spin_ns = spin_ns, .only_short = true});
  Loop::Lock lock = loop.lock();
  bool looked = false;
  link.on_look = [&] { looked = true; }; // and it reports frames
  const bool done = loop.wait_until(
      lock, [&] { return looked; }, net::steady_now() + timeout_ns, wait);
  EXPECT_EQ(done, looked);
  return link.looks;
}

TEST(LoopWaits, AVectorIsLookedForOnceMoreBeforeItIsSleptFor) {
  constexpr std::uint64_t spin_ns = 30'000;
  constexpr std::uint64_t long_ns = 60'000'000'000; // is over with the first look
  constexpr std::uint64_t short_ns = 2'000'000;     // is slept for
  EXPECT_EQ(looks_of(spin_ns, Loop::Wait::vector, long_ns), 1U);
  EXPECT_EQ(looks_of(spin_ns, Loop::Wait::short_one, long_ns), 1U);
  EXPECT_EQ(looks_of(spin_ns, Loop::Wait::any, short_ns), 0U);
  EXPECT_EQ(looks_of(0, Loop::Wait::vector, short_ns), 0U)
      << "who does not want to look sleeps at once";
}

TEST(LoopWaits, ABurstIsLookedForBeforeItIsSleptFor) {
  constexpr std::uint64_t spin_ns = 30'000;
  constexpr std::uint64_t long_ns = 60'000'000'000;
  constexpr std::uint64_t short_ns = 2'000'000;
  EXPECT_EQ(looks_of(spin_ns, Loop::Wait::burst, long_ns), 1U) << "the first look ends the wait";
  EXPECT_EQ(looks_of(0, Loop::Wait::burst, short_ns), 0U);
}

TEST_F(LoopTest, AWaitEndsWithItsDeadlineOrWhenItIsDone) {
  EXPECT_FALSE(loop.wait_until(
      lock, [] { return false; }, net::steady_now()));
  int looks = 0;
  EXPECT_TRUE(loop.wait_until(lock, [&] { return ++looks == 3; }))
      << "a link with nothing to wait on is looked at again and again";
  protocol.on_poll = [&] {
    if (protocol.polled.size() == 2) {
      protocol.deadline = never;
    }
  };
  protocol.deadline = net::steady_now();
  EXPECT_TRUE(loop.wait_until(lock, [&] { return protocol.polled.size() >= 2; }));
}

} // namespace
} // namespace tributary::engine::test
