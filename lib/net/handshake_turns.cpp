#include "lib/net/handshake_turns.hpp"

#include "lib/net/as_result.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace tributary::net {

namespace asio = boost::asio;

asio::awaitable<void> HandshakeTurns::wait(std::string address) {
  const auto timer =
      std::make_shared<asio::steady_timer>(loop_, asio::steady_timer::time_point::max());
  std::vector<Timer>& own = by_address_[address];
  if (own.empty()) {
    round_.push_back(std::move(address));
  }
  own.push_back(timer);
  ++waiting_;
  next_soon();
  static_cast<void>(co_await timer->async_wait(as_result));
}

void HandshakeTurns::next_soon() {
  if (waiting_ > 0 && !std::exchange(is_due_, true)) {
    asio::post(loop_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->next();
      }
    });
  }
}

void HandshakeTurns::next() {
  is_due_ = false;
  const auto found = by_address_.find(round_.front());
  const Timer timer = found->second.back();
  found->second.pop_back();
  --waiting_;
  if (found->second.empty()) {
    by_address_.erase(found);
    round_.pop_front();
  } else {
    round_.splice(round_.end(), round_, round_.begin());
  }
  timer->cancel();
  next_soon();
}

} // namespace tributary::net
