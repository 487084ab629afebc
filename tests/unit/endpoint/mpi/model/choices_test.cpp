#include "endpoint/mpi/model/choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace tributary::mpi::test {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = kib * kib;

/// Calls of an unknown size before the network is tried: its loss and after-effects may cost five
/// percent of them.
constexpr int before_network = 1'040;
/// After them a probe: eight calls of the library, and three of the network.
constexpr int probe = 11;

Comparison comparison(double network_us, double library_us) {
  Comparison made;
  while (!made.is_decided()) {
    made.add({.network_us = network_us, .library_us = library_us});
  }
  return made;
}

/// A communicator: any number of ranks, each with its own choices, that make the same calls.
class Ranks {
public:
  using Time = std::function<double(std::size_t rank, Transport transport)>;
  explicit Ranks(std::size_t count) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      all_.emplace_back(Choices::Corrections::while_it_runs);
    }
  }
  std::vector<Choices>& all() { return all_; }

  /// One call at all ranks, which must agree on its path. `timed` counts those that are of an
  /// experiment.
  Transport call(Kind kind, std::uint64_t bytes, const Time& time) {
    std::vector<Experiment*> experiments;
    for (Choices& one : all_) {
      experiments.push_back(one.experiment(kind, bytes));
    }
    if (experiments[0] != nullptr && experiments[0]->block_is_over()) {
      std::vector<double> mean(experiments[0]->times().size());
      for (const Experiment* const experiment : experiments) {
        for (std::size_t i = 0; i < mean.size(); ++i) {
          mean[i] += experiment->times()[i] / static_cast<double>(experiments.size());
        }
      }
      for (std::size_t rank = 0; rank < all_.size(); ++rank) {
        all_[rank].agree(kind, bytes, mean);
        experiments[rank] = all_[rank].experiment(kind, bytes);
      }
    }
    const auto way_of = [&](std::size_t rank) {
      return experiments[rank] != nullptr ? experiments[rank]->transport()
                                          : all_[rank].transport(kind, bytes);
    };
    const Transport transport = way_of(0);
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      EXPECT_EQ(way_of(rank), transport) << "rank " << rank;
      const double took = time(rank, transport);
      if (experiments[rank] != nullptr) {
        experiments[rank]->took(took);
      }
    }
    timed += experiments[0] != nullptr ? 1 : 0;
    if (++made_ % 100 == 0) {
      EXPECT_EQ(all_.front().fingerprint(), all_.back().fingerprint());
    }
    return transport;
  }
  int calls(int count, Kind kind, std::uint64_t bytes, const Time& time) {
    int network = 0;
    for (int i = 0; i < count; ++i) {
      network += call(kind, bytes, time) == Transport::network ? 1 : 0;
    }
    return network;
  }
  int timed = 0;

private:
  std::vector<Choices> all_;
  int made_ = 0;
};

TEST(Choices, SizesOfTheSamePowerOfTwoAreOneClass) {
  EXPECT_EQ(size_class(0), 0U);
  EXPECT_EQ(size_class(1), 1U);
  EXPECT_EQ(size_class(8), size_class(15));
  EXPECT_NE(size_class(15), size_class(16));
  EXPECT_EQ(size_class(~std::uint64_t{0}), size_class_count - 1);
}

TEST(Choices, WhatWasNotMeasuredGoesAsItsNeighboursIfTheyAgree) {
  Choices choices;
  choices.set(Kind::allreduce, 8, comparison(10, 50));
  choices.set(Kind::allreduce, kib, comparison(10, 50));
  choices.set(Kind::allreduce, 64 * kib, comparison(400, 300));
  EXPECT_EQ(choices.transport(Kind::allreduce, 1), Transport::network) << "below the first";
  EXPECT_EQ(choices.transport(Kind::allreduce, 200), Transport::network);
  EXPECT_EQ(choices.transport(Kind::iallreduce, kib), Transport::network);
  EXPECT_EQ(choices.transport(Kind::allreduce, mib), Transport::library) << "above the last";
  EXPECT_EQ(choices.transport(Kind::bcast, 8), Transport::library) << "it was not measured";
}

TEST(Choices, BetweenTwoThatDifferASizeGoesAsTheNearerOneUnlessTheOtherIsFarClearer) {
  Choices choices;
  choices.set(Kind::allreduce, kib, comparison(60, 100));
  choices.set(Kind::allreduce, 16 * kib, comparison(100, 60));
  EXPECT_EQ(choices.transport(Kind::allreduce, 2 * kib), Transport::network);
  EXPECT_EQ(choices.transport(Kind::allreduce, 4 * kib), Transport::library)
      << "a tie is the library's";
  EXPECT_EQ(choices.transport(Kind::allreduce, 8 * kib), Transport::library);
  choices.set(Kind::allreduce, 16 * kib, comparison(105, 100));
  EXPECT_EQ(choices.transport(Kind::allreduce, 4 * kib), Transport::network);
  EXPECT_EQ(choices.transport(Kind::allreduce, 8 * kib), Transport::library)
      << "gains less than it must";
}

TEST(Choices, SomewhatLongerThanTheLongestKnownASizeGoesAsThatOneIfItWasClear) {
  Choices choices;
  choices.set(Kind::bcast, 64, comparison(75, 100));
  EXPECT_EQ(choices.transport(Kind::bcast, 128), Transport::network);
  EXPECT_EQ(choices.transport(Kind::bcast, 256), Transport::network);
  EXPECT_EQ(choices.transport(Kind::bcast, 512), Transport::library);
  choices.set(Kind::bcast, 64, comparison(85, 100));
  EXPECT_EQ(choices.transport(Kind::bcast, 128), Transport::library) << "which may be slower";
}

TEST(Choices, AboveTheLongestKnownSizeANetworkThatGainsLessAndLessIsTakenToGoOnSo) {
  Choices choices;
  choices.set(Kind::allreduce, 8 * kib, comparison(46, 100));
  choices.set(Kind::allreduce, 16 * kib, comparison(60, 100));
  EXPECT_EQ(choices.transport(Kind::allreduce, 32 * kib), Transport::network) << "0.78";
  EXPECT_EQ(choices.transport(Kind::allreduce, 64 * kib), Transport::library) << "1.02";
  choices.set(Kind::allreduce, 8 * kib, comparison(60, 100));
  EXPECT_EQ(choices.transport(Kind::allreduce, 64 * kib), Transport::network)
      << "it stays as it is";
  choices.set(Kind::allreduce, 8 * kib, comparison(70, 100));
  EXPECT_EQ(choices.transport(Kind::allreduce, 128 * kib), Transport::library)
      << "it does not grow, either";
}

TEST(Choices, WhatGrowsOverSeveralSizesGrowsByAPartOfThatFromOneToTheNext) {
  Choices choices;
  choices.set(Kind::allreduce, kib, comparison(16, 100));
  choices.set(Kind::allreduce, 16 * kib, comparison(64, 100)); // by the root of two each
  EXPECT_EQ(choices.transport(Kind::allreduce, 32 * kib), Transport::library) << "0.91";
  choices.set(Kind::allreduce, 16 * kib, comparison(50, 100)); // by 1.33
  EXPECT_EQ(choices.transport(Kind::allreduce, 32 * kib), Transport::network) << "0.66";
  EXPECT_EQ(choices.transport(Kind::allreduce, 64 * kib), Transport::library) << "0.88";
}

TEST(Choices, ASizeThatGoesThroughTheNetworkAsItsNeighboursDoIsCheckedSoon) {
  Choices choices(Choices::Corrections::while_it_runs);
  choices.set(Kind::allreduce, kib, comparison(10, 50));
  for (int call = 0; call < 31; ++call) {
    Experiment* const experiment = choices.experiment(Kind::allreduce, 2 * kib);
    ASSERT_EQ(experiment != nullptr, call == 30) << "call " << call;
    EXPECT_TRUE(experiment == nullptr || experiment->challenger() == Transport::library);
  }
}

TEST(Choices, ASizeFollowsWhatItsNeighboursTrialsFind) {
  Ranks ranks(2);
  const auto time = [](auto, Transport transport) {
    return transport == Transport::network ? 50.0 : 100.0;
  };
  EXPECT_EQ(ranks.calls(100, Kind::bcast, 16, time), 0);
  EXPECT_GT(ranks.calls(before_network + probe + 1, Kind::bcast, 8, time), 0);
  EXPECT_EQ(ranks.calls(30, Kind::bcast, 16, time), 30);
  ranks.timed = 0;
  EXPECT_EQ(ranks.calls(8, Kind::bcast, 16, time), 8);
  EXPECT_EQ(ranks.timed, 8) << "after thirty calls of its new way the old one is tried";
}

TEST(Choices, WithoutCorrectionsThereAreNoTrials) {
  Choices choices(Choices::Corrections::none);
  EXPECT_EQ(choices.experiment(Kind::allreduce, 8), nullptr);
  Choices fixed(Tuning::parse("barrier"));
  EXPECT_EQ(fixed.experiment(Kind::barrier, 0), nullptr);
  EXPECT_EQ(fixed.transport(Kind::ibarrier, 0), Transport::network);
  EXPECT_EQ(fixed.transport(Kind::allreduce, 8), Transport::library);
}

TEST(Choices, CallsThatDoNotBlockAreNeverOfATrial) {
  Choices choices(Choices::Corrections::while_it_runs);
  const auto is_ever_tried = [&](Kind kind) {
    for (int call = 0; call <= before_network; ++call) {
      if (choices.experiment(kind, 8) != nullptr) {
        return true;
      }
    }
    return false;
  };
  EXPECT_FALSE(is_ever_tried(Kind::iallreduce));
  EXPECT_TRUE(is_ever_tried(Kind::allreduce));
}

TEST(Choices, AnUnknownSizeIsDecidedInTheProgramsFirstCalls) {
  Ranks ranks(4);
  const int network = ranks.calls(13, Kind::bcast, 16 * mib, [](auto, Transport transport) {
    return transport == Transport::network ? 40 : 100;
  });
  EXPECT_EQ(ranks.timed, 4) << "of long calls: two each way, after eight that were not tried";
  EXPECT_EQ(network, 3);
  for (const Choices& one : ranks.all()) {
    EXPECT_EQ(one.transport(Kind::bcast, 16 * mib), Transport::network);
    EXPECT_EQ(one.transport(Kind::bcast, 16), Transport::network) << "a neighbour";
  }
}

TEST(Choices, AWrongChoiceOfTheStartIsCorrected) {
  Ranks ranks(3);
  for (Choices& one : ranks.all()) {
    one.set(Kind::barrier, 0, comparison(200, 190)); // the machine was busy
  }
  const auto time = [](auto, Transport transport) {
    return transport == Transport::network ? 106.0 : 189.0;
  };
  EXPECT_EQ(ranks.calls(before_network + probe - 3, Kind::barrier, 0, time), 0);
  EXPECT_EQ(ranks.calls(100, Kind::barrier, 0, time), 100) << "three probed, and all that follow";
}

/// As measured with 16 ranks and 64 KiB: a path takes half as long again until it has been used a
/// few times in a row.
class Cold {
public:
  Cold(double network_us, double library_us) : network_us_(network_us), library_us_(library_us) {}
  double operator()(std::size_t rank, Transport transport) {
    if (rank == 0) {
      row_ = transport == last_ ? row_ + 1 : 0;
      last_ = transport;
      const double warm = transport == Transport::network ? network_us_ : library_us_;
      took_ = row_ < 4 ? 1.6 * warm : warm;
    }
    return took_;
  }

private:
  double network_us_;
  double library_us_;
  double took_ = 0;
  Transport last_ = Transport::network;
  int row_ = 0;
};

TEST(Choices, AWayThatIsOnlySlowWhileItIsColdIsFound) {
  Ranks ranks(2);
  for (Choices& one : ranks.all()) {
    one.set(Kind::allreduce, 64 * kib, comparison(4'900, 5'500)); // both cold
  }
  Cold time(3'300, 2'100);
  ranks.calls(80, Kind::allreduce, 64 * kib, std::ref(time));
  EXPECT_EQ(ranks.all()[0].transport(Kind::allreduce, 64 * kib), Transport::library);
  EXPECT_EQ(ranks.calls(200, Kind::allreduce, 64 * kib, std::ref(time)), 0) << "and stays";
}

TEST(Choices, ANetworkThatGetsWarmInAHundredCallsIsFoundAtItsFirstTrial) {
  // As measured with 16 ranks on two nodes and 4 B, after hundreds of calls of the library.
  Ranks ranks(2);
  int row = 0;
  const auto time = [&](std::size_t rank, Transport transport) {
    row = transport == Transport::library ? 0 : rank == 0 ? row + 1 : row;
    return transport == Transport::library ? 226.0 : row < 4 ? 400.0 : row < 70 ? 240.0 : 105.0;
  };
  ranks.calls(before_network + probe + 96, Kind::allreduce, 4, time);
  EXPECT_EQ(ranks.calls(100, Kind::allreduce, 4, time), 100);
  EXPECT_EQ(ranks.all()[1].transport(Kind::allreduce, 4), Transport::network);
}

TEST(Choices, ALateLongCallOfTheLibraryKeepsNoSlowerWay) {
  // As measured with 16 ranks on two nodes, reductions of 1 MiB: the library's calls scatter.
  Ranks ranks(2);
  int library_calls = 0;
  const auto time = [&](std::size_t rank, Transport transport) {
    library_calls += rank == 0 && transport == Transport::library ? 1 : 0;
    return transport == Transport::network ? 6'500.0 : library_calls == 9 ? 9'000.0 : 5'000.0;
  };
  EXPECT_LE(ranks.calls(100, Kind::reduce, mib, time), 8);
  EXPECT_EQ(ranks.all()[0].transport(Kind::reduce, mib), Transport::library);
}

/// As measured with 8 nodes and 64 KiB: calls of the library that follow one of the network take
/// half as long again, for eighty calls.
class Aftermath {
public:
  explicit Aftermath(double ratio) : ratio_(ratio) {}
  double operator()(std::size_t rank, Transport transport) {
    if (rank == 0) {
      behind_ = transport == Transport::network ? 80 : std::max(behind_ - 1, 0);
      took_ = transport == Transport::network ? ratio_ : behind_ > 0 ? 1.5 : 1;
      spent += took_;
    }
    return 100 * took_;
  }
  double spent = 0; ///< in calls of an undisturbed library

private:
  double ratio_;
  double took_ = 0;
  int behind_ = 0;
};

TEST(Choices, NoProgramIsSlowerThanWithTheLibraryAloneByMoreThanFivePercent) {
  // For any times of the paths, in a class without measurements.
  for (const double ratio : {0.5, 0.8, 0.95, 1.05, 1.2, 1.5, 2.0, 2.9, 3.1, 5.0, 20.0}) {
    for (const std::uint64_t bytes : {std::uint64_t{8}, 64 * kib}) {
      Ranks ranks(2);
      Aftermath time(ratio);
      double worst = 0;
      for (int calls = 1; calls <= 20'000; ++calls) {
        ranks.call(Kind::bcast, bytes, std::ref(time));
        worst = std::max(worst, time.spent / calls);
      }
      // The cost of the probe's own calls is unavoidable.
      const double unknown = 3 * std::max(ratio - 1, 0.0) / before_network;
      EXPECT_LE(worst, 1.05 + unknown) << "ratio " << ratio << ", " << bytes << " bytes";
      EXPECT_LE(time.spent / 20'000, 1.02) << "ratio " << ratio << ", " << bytes << " bytes";
    }
  }
}

TEST(Choices, NoProgramIsSlowerInLongCallsFromTheHundredAndFiftiethOn) {
  for (const double ratio : {0.5, 0.95, 1.05, 1.5, 2.9, 5.0, 20.0}) {
    Ranks ranks(2);
    double spent = 0;
    double worst = 0;
    const auto time = [&](std::size_t rank, Transport transport) {
      spent += rank == 0 ? (transport == Transport::network ? ratio : 1) : 0;
      return 1e5 * (transport == Transport::network ? ratio : 1);
    };
    int calls = 0;
    for (; calls < 20'000; ++calls) {
      ranks.call(Kind::bcast, 16 * mib, time);
      worst = std::max(worst, calls >= 150 ? spent / (calls + 1) : 0);
    }
    const double unknown = std::max(ratio - 2.5, 0.0) / 150;
    EXPECT_LE(worst, 1.05 + unknown) << "ratio " << ratio;
    EXPECT_LE(spent / calls, 1.02) << "ratio " << ratio;
  }
}

TEST(Choices, ExperimentsGetRareAndTheirSlowerCallsFew) {
  // Plain MPI is four times faster: the experiments cost less than one percent of the time.
  Ranks ranks(2);
  const int network = ranks.calls(100'000, Kind::allreduce, 8, [](auto, Transport transport) {
    return transport == Transport::network ? 40 : 10;
  });
  EXPECT_GT(network, 2 * 3) << "the first trial is not the last";
  EXPECT_LT(network * 30, 10'000);
}

TEST(Choices, ThatHaveChangedAreCheckedAgainSoon) {
  // The machine is busy with something else for the first 3,000 calls, in a way that favours us.
  Ranks ranks(2);
  int call = 0;
  const auto time = [&](auto, Transport transport) {
    return transport == Transport::library ? 50.0 : call < 3'000 ? 40.0 : 100.0;
  };
  const auto calls = [&](int count) {
    int network = 0;
    for (int i = 0; i < count; ++i, ++call) {
      network += ranks.call(Kind::allreduce, 8, time) == Transport::network ? 1 : 0;
    }
    return network;
  };
  EXPECT_LE(calls(before_network + probe), 3);
  EXPECT_GT(calls(1'949), 1'800) << "the network, but for trials of the library";
  calls(5'000);
  EXPECT_LT(calls(1'000), 100);
}

TEST(Choices, ARankThatIsAlwaysSlowLeavesTheChoiceToTheWays) {
  Ranks ranks(8);
  ranks.calls(before_network + 100, Kind::allreduce, 8, [](std::size_t rank, Transport transport) {
    return (rank == 5 ? 100 : 0) + (transport == Transport::network ? 60.0 : 100.0);
  });
  EXPECT_EQ(ranks.all()[5].transport(Kind::allreduce, 8), Transport::network);
}

TEST(Choices, ACommunicatorOfTheSameShapeBeginsWithWhatIsKnown) {
  Choices first(Choices::Corrections::while_it_runs);
  first.set(Kind::allreduce, 8, comparison(10, 50));
  Choices second(Choices::Corrections::while_it_runs);
  second.set(first.known());
  EXPECT_EQ(second.transport(Kind::allreduce, 8), Transport::network);
  for (int call = 0; call < 101; ++call) {
    EXPECT_EQ(second.experiment(Kind::allreduce, 8), nullptr);
  }
  for (int call = 0; call <= before_network; ++call) {
    EXPECT_EQ(second.experiment(Kind::reduce, 8) != nullptr, call == before_network)
        << "nothing is known of it";
  }
}

TEST(Choices, TheFingerprintTellsARankThatHasMissedACall) {
  Choices one(Choices::Corrections::while_it_runs);
  Choices other(Choices::Corrections::while_it_runs);
  EXPECT_EQ(one.fingerprint(), other.fingerprint());
  for (int call = 0; call < before_network + 10; ++call) { // some of an experiment
    if (Experiment* const experiment = one.experiment(Kind::allreduce, 8)) {
      experiment->took(1);
    }
    EXPECT_NE(one.fingerprint(), other.fingerprint()) << "call " << call;
    if (Experiment* const experiment = other.experiment(Kind::allreduce, 8)) {
      experiment->took(2);
    }
    EXPECT_EQ(one.fingerprint(), other.fingerprint())
        << "the times are its own until they are agreed on";
  }
}

TEST(Choices, AreHopelessWhereTheNetworkLostByFarUpToTheLongestSize) {
  Choices choices(Choices::Corrections::while_it_runs);
  EXPECT_FALSE(choices.is_hopeless()) << "nothing is known";
  choices.set(Kind::allreduce, 8, comparison(40, 10));
  EXPECT_FALSE(choices.is_hopeless()) << "long ones may do better";
  choices.set(Kind::allreduce, longest_at_start, comparison(1'200, 1'000));
  EXPECT_FALSE(choices.is_hopeless()) << "nearly as fast";
  choices.set(Kind::allreduce, longest_at_start, comparison(2'000, 1'000));
  EXPECT_TRUE(choices.is_hopeless());
  Choices uncorrected;
  uncorrected.set(Kind::allreduce, 8, comparison(11, 10));
  EXPECT_TRUE(uncorrected.is_hopeless()) << "nothing will ever go through the network";
  EXPECT_TRUE(Choices(Tuning::never()).is_hopeless());
  EXPECT_FALSE(Choices(Tuning::always()).is_hopeless());
}

TEST(Choices, TheTextSaysWhatWasMeasuredAndWhatFollows) {
  Choices choices;
  choices.set(Kind::barrier, 0, comparison(10, 50));
  const std::string text = choices.text();
  EXPECT_NE(text.find("network     (network 10.0 us, MPI library 50.0 us, 3 rounds)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("bcast: nothing measured"), std::string::npos) << text;
}

} // namespace
} // namespace tributary::mpi::test
