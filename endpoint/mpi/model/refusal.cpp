#include "endpoint/mpi/model/refusal.hpp"

#include <fmt/format.h>

#include <numeric>

namespace tributary::mpi {

std::string_view text_of(Refusal refusal) {
  switch (refusal) {
  case Refusal::ranks_differ: return "their ranks have different versions or settings";
  case Refusal::foreign_ranks: return "they have ranks that were not started with the others";
  case Refusal::no_interface: return "an interface could not be used";
  case Refusal::no_shared_memory: return "a node had no shared memory for them";
  case Refusal::no_connection: return "their nodes could not connect to each other";
  case Refusal::manager_unreachable: return "the fabric manager could not be reached";
  case Refusal::manager_refused: return "the fabric manager refused";
  case Refusal::not_ready: return "not all of their nodes joined in time";
  case Refusal::other: return "of another error";
  }
  return "?";
}

std::string refusal_line(const Refusals& refusals, std::uint64_t groups, std::string_view example) {
  const std::uint64_t refused = std::accumulate(refusals.begin(), refusals.end(), std::uint64_t{0});
  if (refused == 0) {
    return {};
  }
  std::string why;
  for (std::size_t i = 0; i < refusal_count; ++i) {
    if (refusals[i] > 0) {
      why += fmt::format("{} {} because {}", why.empty() ? ":" : ",", refusals[i],
                         text_of(static_cast<Refusal>(i)));
    }
  }
  return fmt::format("{} of {} communicators of several nodes got no group of the fabric{}{}{}",
                     refused, refused + groups, why, example.empty() ? "" : "; for example ",
                     example);
}

} // namespace tributary::mpi
