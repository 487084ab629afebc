#include "controlplane/rest/deadline.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>

namespace tributary::rest {

struct Deadline::State {
  explicit State(Transport& t) : transport(&t), timer(t.socket().get_executor()) {}
  Transport* transport; ///< nullptr after the deadline's destruction
  asio::steady_timer timer;
  std::uint64_t round = 0; ///< distinguishes an expired limit from one that was moved in time
  bool expired = false;
};

Deadline::Deadline(Transport& transport) : state_(std::make_shared<State>(transport)) {}

Deadline::~Deadline() {
  state_->transport = nullptr;
  state_->timer.cancel();
}

void Deadline::arm(std::chrono::milliseconds limit) {
  const std::uint64_t round = ++state_->round;
  state_->expired = false;
  state_->timer.expires_after(limit);
  state_->timer.async_wait([state = state_, round](error_code error) {
    if (!error && round == state->round && state->transport != nullptr) {
      state->expired = true;
      state->transport->cancel();
    }
  });
}

void Deadline::disarm() {
  ++state_->round;
  state_->expired = false;
  state_->timer.cancel();
}

bool Deadline::expired() const { return state_->expired; }

} // namespace tributary::rest
