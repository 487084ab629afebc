// One transfer over one line in virtual time, by any scheme: the testbed in which the schemes of
// other protocols are compared. A frame is its number; nothing is copied.
//
//   source --- request --->  sink     both may be lost; asked again after a timer
//          <-- response ---
//          --- frames ---->           as fast as the line takes them and the scheme has some
//          <-- answers ----           what the scheme says
//          <-- done -------           asked for when all is quiet
//
// A line has a rate, a delay and a spread, which delays each frame by up to that much more and so
// reorders them; and it loses frames. All draws come from one seed.
#pragma once

#include "lib/virtual_time/timeline.hpp"
#include "tributary/random.hpp"

#include <cstdint>
#include <optional>

namespace tributary::rdma::simulation {

struct Line {
  std::uint64_t bits_per_second = 100'000'000'000;
  std::uint64_t delay_ns = 1'000; ///< one way
  std::uint64_t spread_ns = 0;
  bool spreads_only_data = false; ///< as where data frames are sprayed, and others are not
  double loss = 0;
  bool loses_only_data = false;
};

struct Transfer {
  std::uint64_t bytes = 256 * 1024;
  std::uint32_t payload = 1024; ///< of a frame
  std::uint32_t window = 512;   ///< frames
  std::uint64_t timer_ns = 8'000;

  [[nodiscard]] std::uint32_t frames() const {
    return static_cast<std::uint32_t>((bytes + payload - 1) / payload);
  }
};

/// Cost of one transfer.
struct Cost {
  double us = 0;             ///< from the request until the source knows that all has arrived
  std::uint64_t data = 0;    ///< frames with data that were sent
  std::uint64_t control = 0; ///< frames without, of both ends
  bool finished = false;     ///< or it was given up, see Exchange::most_rounds
};

/// An answer of a sink; the meaning of the fields depends on the scheme.
struct Answer {
  enum class Kind : std::uint8_t { acknowledge, resend_one, resend_from } kind{};
  std::uint32_t frame = 0;
};

class Exchange;

/// Both ends of one transfer.
class Scheme {
public:
  Scheme() = default;
  Scheme(const Scheme&) = delete;
  Scheme& operator=(const Scheme&) = delete;
  virtual ~Scheme() = default;

  // Called at the source.

  /// The next frame to send; none while it has none or must wait.
  virtual std::optional<std::uint32_t> next() = 0;
  virtual void heard(Exchange& exchange, Answer answer) = 0;
  /// The frame has just been sent.
  virtual void sent(Exchange& /*exchange*/, std::uint32_t /*frame*/) {}
  virtual void source_alarm(Exchange& /*exchange*/, std::uint32_t /*what*/) {}

  // Called at the sink.

  virtual void arrived(Exchange& exchange, std::uint32_t frame) = 0;
  virtual void sink_alarm(Exchange& exchange, std::uint64_t what) = 0;
  [[nodiscard]] virtual bool complete() const = 0;
};

class Exchange {
public:
  /// A transfer that has sent its frames this many times is given up.
  static constexpr std::uint64_t most_rounds = 3'000;

  /// `overhead`: bytes of a frame beside its payload.
  Exchange(const Line& line, const Transfer& transfer, std::uint32_t overhead, Random& random);

  [[nodiscard]] Cost run(Scheme& scheme);

  // For schemes.

  [[nodiscard]] std::uint64_t now() const { return timeline_.now(); }
  [[nodiscard]] const Transfer& transfer() const { return transfer_; }
  /// From the sink to the source.
  void answer(Answer answer);
  void alarm_source(std::uint64_t after_ns, std::uint32_t what);
  void alarm_sink(std::uint64_t after_ns, std::uint64_t what);

private:
  enum class Kind : std::uint8_t {
    request,
    response,
    data,
    answer,
    done,
    query,
    line_free,
    request_again,
    quiet,
    source_alarm,
    sink_alarm,
  };
  struct Event {
    Kind kind;
    std::uint64_t value;
    Answer answer;
  };
  void schedule(std::uint64_t at, Kind kind, std::uint64_t value = 0, Answer answer = {});
  void send_control(Kind kind, Answer answer = {});
  void pump(Scheme& scheme);
  void handle(Scheme& scheme, const Event& event);
  [[nodiscard]] std::uint64_t travel(bool data);

  Line line_;
  Transfer transfer_;
  std::uint64_t frame_ns_;
  Random& random_;
  virtual_time::Timeline<Event, std::uint64_t> timeline_; ///< nanoseconds
  std::uint64_t line_free_ = 0;
  std::uint64_t last_heard_ = 0; ///< or sent, at the source
  bool started_ = false;
  Cost cost_;
};

} // namespace tributary::rdma::simulation
