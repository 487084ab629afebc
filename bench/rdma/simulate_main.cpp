// RDMA over a line that loses and reorders frames, in virtual time: our protocol, the one of the
// paper it is based on, and three others.
//
//   rdma-simulate                     every table of docs/benchmarks/rdma.md, and the goals
//   rdma-simulate --quick --json      a tenth of the transfers; JSON to standard output
//
// Times are of the simulated line, and the same for the same seed on any machine. Exit code 3 when
// a goal is missed.

#include "bench/rdma/measure.hpp"

#include <boost/json.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tributary::rdma::simulation;
namespace json = boost::json;

constexpr int exit_success = 0;
constexpr int exit_missed = 3;

struct Options {
  std::uint64_t seed = 1;
  std::uint32_t transfers = 300; ///< of each point
  bool quick = false;
  bool json = false;
};

struct Contender {
  SchemeName scheme;
  std::uint32_t window;
};

class Session {
public:
  explicit Session(const Options& options) : options_(options) {}

  /// A new table.
  void begin(std::string_view name, std::string_view title) {
    table_ = std::string(name);
    if (!options_.json) {
      fmt::print("\n{}\n\n  {:<18}{:>6}{:>9}{:>8}{:>8}{:>10}{:>11}{:>11}{:>9}{:>10}\n", title,
                 "scheme", "W", "bytes", "frame", "loss", "spread ns", "mean us", "p99 us",
                 "sent/N", "control/N");
    }
  }
  Summary measure(Contender contender, Line line, Transfer transfer, std::uint32_t transfers = 0) {
    transfer.window = contender.window;
    const Summary s = tributary::rdma::simulation::measure(
        contender.scheme, line, transfer, transfers == 0 ? options_.transfers : transfers,
        options_.seed);
    if (!options_.json) {
      fmt::print("  {:<18}{:>6}{:>9}{:>8}{:>7.1f}%{:>10}{:>11.1f}{:>11.1f}{:>9.3f}{:>10.3f}{}\n",
                 name_of(contender.scheme), contender.window, transfer.bytes, transfer.payload,
                 100 * line.loss, line.spread_ns, s.mean_us, s.p99_us, s.data_a_frame,
                 s.control_a_frame,
                 s.given_up == 0 ? std::string() : fmt::format("  {} given up", s.given_up));
    }
    points_.push_back(json::object{{"table", table_},
                                   {"scheme", name_of(contender.scheme)},
                                   {"window", contender.window},
                                   {"bytes", transfer.bytes},
                                   {"payload", transfer.payload},
                                   {"timer_ns", transfer.timer_ns},
                                   {"loss", line.loss},
                                   {"loses_only_data", line.loses_only_data},
                                   {"spread_ns", line.spread_ns},
                                   {"mean_us", s.mean_us},
                                   {"p99_us", s.p99_us},
                                   {"data_a_frame", s.data_a_frame},
                                   {"control_a_frame", s.control_a_frame},
                                   {"given_up", s.given_up}});
    return s;
  }
  void goal(std::string_view what, double reached, double aim, bool at_least) {
    const bool met = at_least ? reached >= aim : reached <= aim;
    missed_ |= !met;
    goals_.push_back(json::object{
        {"goal", what}, {"aim", aim}, {"at_least", at_least}, {"reached", reached}, {"met", met}});
  }
  int end() {
    if (options_.json) {
      fmt::print("{}\n", json::serialize(json::object{{"seed", options_.seed},
                                                      {"transfers", options_.transfers},
                                                      {"points", points_},
                                                      {"goals", goals_}}));
    } else {
      fmt::print("\nGoals (seed {}, {} transfers a point)\n\n", options_.seed, options_.transfers);
      for (const json::value& goal : goals_) {
        fmt::print("  {:<9}{}: {:.4f}, at {} {:.4f}\n",
                   goal.at("met").as_bool() ? "reached" : "MISSED",
                   goal.at("goal").as_string().c_str(), goal.at("reached").as_double(),
                   goal.at("at_least").as_bool() ? "least" : "most", goal.at("aim").as_double());
      }
    }
    return missed_ ? exit_missed : exit_success;
  }

private:
  Options options_;
  std::string table_;
  json::array points_;
  json::array goals_;
  bool missed_ = false;
};

constexpr Contender ours{SchemeName::ours, 512};
constexpr Contender ours_narrow{SchemeName::ours, 128};
constexpr Contender paper{SchemeName::paper, 128};
constexpr Contender sender_window{SchemeName::sender_window, 128};
constexpr Contender go_back_n{SchemeName::go_back_n, 128};
constexpr Contender receiver_counter{SchemeName::receiver_counter, 128};

/// The paper's figures 4 and 5: no loss, by length.
void by_length(Session& session) {
  session.begin("length", "By length, without loss");
  for (const std::uint64_t kib : {32U, 64U, 128U, 256U}) {
    for (const Contender c :
         {ours, ours_narrow, paper, sender_window, Contender{SchemeName::sender_window, 16},
          go_back_n, receiver_counter}) {
      session.measure(c, {}, {.bytes = kib * 1024});
    }
  }
}

/// Its figure 6: data are lost, answers are not.
void by_loss_of_data(Session& session) {
  session.begin("loss_of_data", "By loss of data alone, timer 6 us");
  for (int per_mille = 0; per_mille <= 5; ++per_mille) {
    const Line line{.loss = per_mille / 1000.0, .loses_only_data = true};
    for (const Contender c : {ours, paper, sender_window, go_back_n, receiver_counter}) {
      session.measure(c, line, {.timer_ns = 6'000});
    }
  }
}

/// All kinds of frames are lost, and arrive out of order.
void by_loss_and_disorder(Session& session) {
  session.begin("loss_and_disorder", "By loss of all frames, and disorder");
  struct Case {
    double loss;
    std::uint64_t spread_ns;
  };
  double loss_free = 0;
  for (const Case c : {Case{0, 0},
                       {0.001, 0},
                       {0.005, 0},
                       {0.01, 0},
                       {0.02, 0},
                       {0, 2'700},
                       {0.005, 2'700},
                       {0.01, 2'700},
                       {0.02, 2'700}}) {
    const Line line{.spread_ns = c.spread_ns, .loss = c.loss};
    const Summary wide = session.measure(ours, line, {});
    const Summary narrow = session.measure(ours_narrow, line, {});
    const Summary papers = session.measure(paper, line, {});
    for (const Contender other : {sender_window, go_back_n, receiver_counter}) {
      session.measure(other, line, {});
    }
    if (c.spread_ns != 0) {
      continue;
    }
    if (c.loss == 0) {
      loss_free = wide.mean_us;
      session.goal("control frames a data frame, W = 128", narrow.control_a_frame, 0.04, false);
      session.goal("control frames a data frame, W = 512", wide.control_a_frame, 0.015, false);
    } else {
      session.goal(fmt::format("frames sent a frame, {} % lost", 100 * c.loss), wide.data_a_frame,
                   1 + 2.5 * c.loss, false);
    }
    if (c.loss == 0.005) {
      session.goal("time at 0.5 % to the one without loss", wide.mean_us / loss_free, 1.05, false);
    } else if (c.loss == 0.01) {
      session.goal("the paper's time to ours, 1 %", papers.mean_us / wide.mean_us, 1.5, true);
    } else if (c.loss == 0.02) {
      session.goal("the paper's time to ours, 2 %", papers.mean_us / wide.mean_us, 3, true);
    }
  }
}

/// A window that is short in time.
void small_frames(Session& session) {
  session.begin("small_frames", "Frames of 256 bytes, timer 6 us");
  for (const double loss : {0.0, 0.001, 0.005, 0.01}) {
    for (const Contender c : {ours, paper, sender_window, receiver_counter}) {
      session.measure(c, {.loss = loss}, {.payload = 256, .timer_ns = 6'000}, 60);
    }
  }
}

constexpr std::uint64_t frame_ns = 89; ///< of the default payload, on the default line

/// Its figure 7: how much disorder a window bears.
void by_disorder(Session& session) {
  session.begin("disorder", "4 MiB, by how many places data frames come out of order");
  const Transfer long_one{.bytes = 4ULL << 20U};
  for (const std::uint64_t places : {0U, 16U, 32U, 48U, 64U, 96U, 128U}) {
    const Line line{.spread_ns = places * frame_ns, .spreads_only_data = true};
    for (const Contender c : {ours, ours_narrow, Contender{SchemeName::paper, 32},
                              Contender{SchemeName::paper, 64}, paper}) {
      session.measure(c, line, long_one, 2);
    }
    if (places <= 64) { // beyond that, one frame takes hundreds of seconds
      session.measure(go_back_n, line, long_one, 1);
    }
  }
}

/// The cost of a window for a long transfer under disorder; where answers are reordered, too, as
/// much of the window is on its way back.
void rate_under_disorder(Session& session) {
  const Transfer long_one{.bytes = 16ULL << 20U};
  for (const bool only_data : {true, false}) {
    const std::string_view what = only_data ? "data frames" : "all frames";
    session.begin(only_data ? "rate" : "rate_all",
                  fmt::format("The rate of 16 MiB, {} up to 64 places out of order", what));
    const Line line{.spread_ns = 64 * frame_ns, .spreads_only_data = only_data};
    for (const std::uint32_t window : {128U, 256U, 512U, 1024U}) {
      const Contender c{SchemeName::ours, window};
      const double in_order = session.measure(c, {}, long_one, 2).mean_us;
      const double disordered = session.measure(c, line, long_one, 2).mean_us;
      if (only_data || window > 128) {
        session.goal(fmt::format("rate with {} 64 places out of order, W = {}", what, window),
                     in_order / disordered, 0.95, true);
      }
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("RDMA over a line that loses and reorders frames, in virtual time.");
  app.footer("Examples:\n"
             "  rdma-simulate\n"
             "  rdma-simulate --quick --json --seed 7");
  app.add_option("--seed", options.seed, "of everything that is drawn")->capture_default_str();
  app.add_option("--transfers", options.transfers, "of each point")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "a tenth of the transfers");
  app.add_flag("--json", options.json, "JSON to standard output");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.transfers = std::max(1U, options.transfers / 10);
  }
  Session session(options);
  by_length(session);
  by_loss_of_data(session);
  by_loss_and_disorder(session);
  small_frames(session);
  by_disorder(session);
  rate_under_disorder(session);
  return session.end();
}
