// Which of two ways is faster, the network or the MPI library: decided from rounds, in each of
// which both ways took their turn one after the other.
//
// A round that the network wins is a step up, one that the library wins a step down; a round that
// is clear, by a factor of two and more, is two. The network wins with at most `needed_gain` of the
// library's time, the library when it is not slower; in between there is no step. The comparison is
// decided when one direction leads by `margin` steps (Wald's sequential test of a coin). With the
// usual margin of five, clear cases end after three rounds, close ones continue, and a single round
// that another program disturbed decides nothing. If a comparison is still open after
// `most_rounds`, the median of the rounds' ratios decides by the same measure, and in between the
// previous way is kept: at first, the library's.
//
// Knows neither clock nor MPI. Ranks that are fed the same rounds decide alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::mpi {

enum class Transport : std::uint8_t { library, network };

/// Microseconds for one call, each way.
struct Round {
  double network_us = 0;
  double library_us = 0;
};

/// 0 without any.
[[nodiscard]] double median(std::vector<double> all);

class Comparison {
public:
  static constexpr double needed_gain = 0.9;

  struct Rules {
    double clear = 2; ///< a round won by this factor is two steps
    int margin = 5;
    std::size_t most_rounds = 9;
  };

  /// `before`: the way that wins a tie.
  explicit Comparison(Transport before = Transport::library) : Comparison(before, Rules{}) {}
  Comparison(Transport before, const Rules& rules) : before_(before), rules_(rules) {}

  void add(const Round& round);

  [[nodiscard]] std::size_t rounds() const { return ratios_.size(); }
  [[nodiscard]] bool is_decided() const;
  /// The winner of the rounds so far. Without any, the previous way.
  [[nodiscard]] Transport winner() const;
  /// The median of each way. Zeros without any rounds.
  [[nodiscard]] Round medians() const {
    return {.network_us = median(network_us_), .library_us = median(library_us_)};
  }

private:
  Transport before_;
  Rules rules_;
  std::vector<double> network_us_;
  std::vector<double> library_us_;
  std::vector<double> ratios_; ///< network over library
  int score_ = 0;              ///< positive: for the network
};

} // namespace tributary::mpi
