// Which way the calls of a communicator go: its ranks agree on the measurements, before the first
// call (measure.cpp) and in the program's own ones (model/choices.hpp).
#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/report.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/collectives/timed_call.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace tributary::mpi::collectives {

void Communicator::choose_ways(bool has_new_team) {
  const Settings& settings = runtime_.settings();
  if (settings.tuning) {
    choices_ = Choices(*settings.tuning);
    if (!has_new_team) {
      return; // as its last communicator has said
    }
    print_choices("what goes through the network");
    return;
  }
  choices_ = Choices(settings.corrections ? Choices::Corrections::while_it_runs
                                          : Choices::Corrections::none);
  if (!has_new_team && use_.known) {
    choices_.set(*use_.known);
    print_choices("as in the last communicator of these ranks");
    return;
  }
  // Knowledge from another communicator on these nodes, as its first rank has it.
  struct {
    Knowledge known{};
    std::uint8_t is_known = 0;
  } message;
  if (rank_ == 0) {
    if (const auto known = runtime_.known_of(nodes())) {
      message = {.known = *known, .is_known = 1};
    }
  }
  PMPI_Bcast(&message, sizeof message, MPI_BYTE, 0, comm_);
  std::string when = "as in an earlier communicator of this shape";
  if (message.is_known != 0) {
    choices_.set(message.known);
  } else {
    when = settings.at_start ? fmt::format("measured at the start in {:.0f} ms", measure() / 1e3)
                             : "to be measured while it runs";
  }
  runtime_.remember(nodes(), choices_.known());
  print_choices(when);
}

std::vector<std::uint32_t> Communicator::nodes() const {
  std::vector<std::uint32_t> nodes;
  for (const intra_node::Place& place : shape_->places) {
    nodes.push_back(place.node);
  }
  return nodes;
}

void Communicator::print_choices(std::string_view when) const {
  const Settings& settings = runtime_.settings();
  if (rank_ == 0 && (settings.print_tuning || settings.verbose > 0)) {
    std::string text =
        fmt::format("{}: {} ranks; tuning, {}\n{}", name(), size_, when, choices_.text());
    text.pop_back();
    say(text);
  }
  if (settings.verbose > 1) {
    say(fmt::format("{}: rank {} of {}; tuning, {}: {}", name(), rank_, size_, when,
                    choices_.fingerprint()));
  }
}

Transport Communicator::next_way(Kind kind, std::uint64_t bytes) {
  Experiment* experiment = choices_.experiment(kind, bytes);
  if (experiment != nullptr && experiment->block_is_over()) {
    choices_.agree(kind, bytes, mean_of_all(experiment->times()));
    experiment = choices_.experiment(kind, bytes);
  }
  if (experiment == nullptr) {
    return choices_.transport(kind, bytes);
  }
  TimedCall::begin(*experiment);
  return experiment->transport();
}

std::vector<double> Communicator::mean_of_all(std::span<const double> microseconds) const {
  // The program's mean time for a call. (The minimum would include neither the time that ranks wait
  // for each other, nor the cost of waking them.) Whole nanoseconds, for a sum of doubles may
  // differ from rank to rank.
  std::vector<std::uint64_t> ns;
  for (const double us : microseconds) {
    ns.push_back(static_cast<std::uint64_t>(us * 1e3));
  }
  PMPI_Allreduce(MPI_IN_PLACE, ns.data(), static_cast<int>(ns.size()), MPI_UINT64_T, MPI_SUM,
                 comm_);
  std::vector<double> mean;
  for (const std::uint64_t sum : ns) {
    mean.push_back(static_cast<double>(sum) / 1e3 / size_);
  }
  return mean;
}

} // namespace tributary::mpi::collectives
