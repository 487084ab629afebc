// Event streams with something to send are woken a few at a time: an event for ten thousand of them
// takes a tenth of a second, and other ready work runs in between. Event loop thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace tributary::rest {

class Wakes : public std::enable_shared_from_this<Wakes> {
public:
  /// The loop calls `wake`, in the order of the calls.
  void add(const boost::asio::any_io_executor& loop, std::function<void()> wake) {
    waiting_.push_back(std::move(wake));
    if (waiting_.size() == 1) {
      next_soon(loop);
    }
  }

private:
  static constexpr int at_once = 64;

  void next_soon(const boost::asio::any_io_executor& loop) {
    boost::asio::post(loop, [weak = weak_from_this(), loop] {
      if (const auto self = weak.lock()) {
        self->next(loop);
      }
    });
  }
  void next(const boost::asio::any_io_executor& loop) {
    for (int i = 0; i < at_once && !waiting_.empty(); ++i) {
      waiting_.front()();
      waiting_.pop_front();
    }
    if (!waiting_.empty()) {
      next_soon(loop);
    }
  }

  std::deque<std::function<void()>> waiting_;
};

} // namespace tributary::rest
