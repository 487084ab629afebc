// What an event is about, beside its words: by that the jobs that it touches are found. Pure.
#pragma once

#include "controlplane/rdma/peer_table.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::manager {

/// Of one event. Without a code no job is told of it.
struct About {
  std::string_view code{};             ///< a literal of tributary/event_codes.hpp
  std::vector<std::string> switches{}; ///< by name
  std::optional<retransmit::PeerId> peer{};
};

/// An event for people: kind and text; and for jobs.
class Tell {
public:
  using Told = std::function<void(std::string kind, std::string text, const About& about)>;
  Tell(Told told) : told_(std::move(told)) {} // NOLINT: a lambda is one
  void operator()(std::string kind, std::string text, const About& about = {}) const {
    told_(std::move(kind), std::move(text), about);
  }

private:
  Told told_;
};

} // namespace tributary::manager
