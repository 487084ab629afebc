// The shell around an engine: owns its link, asks the clock, and waits.
//
//   Loop loop(std::make_unique<link::RawSocket>(...), ethertype, spin_ns);
//   loop.engine().add(protocol);
//   loop.progress();                             all that can be done without sleeping
//   loop.wait_until([&] { return done; });       the same, and sleeps meanwhile
//
// Errors of the link are thrown as LinkError. When it is down, everything stays as it is and goes
// on later. When it is gone the loop is broken: protocols are not called any more, and every
// further round throws the same error again. One thread at a time.
#pragma once

#include "endpoint/engine/engine.hpp"
#include "link/link_error.hpp"
#include "link/port.hpp"
#include "net/steady_clock.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace tributary::engine {

class Loop {
public:
  /// `spin_ns`: how long it looks for frames before it sleeps.
  Loop(std::unique_ptr<link::Port> port, std::uint16_t ethertype, std::uint64_t spin_ns);

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] link::Port& port() { return *port_; }
  [[nodiscard]] const link::Port& port() const { return *port_; }

  /// Throws if the link is gone.
  void throw_if_broken() const;
  /// Rounds until there is nothing more to be done at once.
  void progress();
  /// Sends what a protocol has now. What is wrong with the link is for the next round to say.
  void send(Protocol& protocol);
  /// Rounds until `done()` or until `deadline`; answers whether it is done.
  template <typename Done> bool wait_until(const Done& done, TimeNs deadline = never) {
    for (;;) {
      progress();
      if (done()) {
        return true;
      }
      if (net::steady_now() >= deadline) {
        return false;
      }
      pause(deadline);
    }
  }
  /// The same without a deadline, waiting on while the link is down.
  template <typename Done> void wait_through(const Done& done) {
    for (;;) {
      try {
        wait_until(done);
        return;
      } catch (const link::LinkError& error) {
        ride_out(error);
      }
    }
  }

private:
  /// Looks for frames for the spinning time, then sleeps until something may be due.
  void pause(TimeNs deadline);
  /// Sleeps a little if the link is only down; throws the error again otherwise.
  static void ride_out(const link::LinkError& error);

  std::unique_ptr<link::Port> port_;
  Engine engine_;
  std::uint64_t spin_ns_;
  std::optional<link::LinkError> broken_;
};

} // namespace tributary::engine
