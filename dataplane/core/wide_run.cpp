// Consecutive vectors: one pass over the leading wide frames of a burst.
//
// Most of them are one more vector for a slot that holds some (`joined`), where the addition takes
// most of the time. So the rest of that case is in one loop: the frame's own bytes are checked in
// few comparisons, and a frame that is not such a vector, for example the first of a reduction or
// its last, is decided with all other wide frames (`decide_wide`).
#include "dataplane/core/applied.hpp"
#include "dataplane/core/tracing.hpp"

#include "tributary/reduce/held_floats.hpp"

#include <algorithm>

namespace tributary::core {
namespace {

/// How far ahead frames' headers are fetched: vectors are far apart.
constexpr std::size_t header_lookahead = 2;

} // namespace

template <bool usual>
[[gnu::noinline]] SwitchCore::Run SwitchCore::wide_run(PortNumber in,
                                                       std::span<const FrameView> run, TimeNs now,
                                                       Decision* decisions) {
  const IngressCheck& check = checks_[in.value];
  const Tables& tables = *tables_;
  const bool guarded = check.guarded();
  PortSet from;
  from.insert(in);
  reduce::HeldFloats floats;
  wide_.hold(floats.held());
  const FrameView* const end = run.data() + run.size();
  const FrameView* frame = run.data();
  Places others;
  const FrameView* const ahead_end = end - std::min(run.size(), header_lookahead);
  for (; frame != end; ++frame, ++decisions) {
    if (frame < ahead_end) {
      __builtin_prefetch(frame[header_lookahead].data);
    }
    wire::FabricAddress dfa;
    if (!check.is_wide<usual>(*frame, dfa)) {
      break;
    }
    const MulticastEntry& entry = tables.tree(dfa.tree());
    if (entry.wait_count == 0 || !owners_.has(dfa.tree())) {
      break;
    }
    const ReductionKey key(dfa.tree(), dfa.slot());
    if (entry.has_place() && entry.children.contains(in) &&
        joined(Applied(*this), Vector(*frame, entry.key_of(key)), entry,
               entry.has_one_endpoint(guarded), from) != 0) [[likely]] {
      decisions->set_rest(absorbed());
    } else {
      const PackedDecision decision = decide_wide(Applied(*this), in, *frame, key, guarded, now);
      decisions->set(decision);
      if (!is_contribution(decision)) {
        others.insert(static_cast<std::size_t>(frame - run.data()));
      }
    }
  }
  wide_.hold(nullptr);
  return {static_cast<std::size_t>(frame - run.data()), others};
}

template SwitchCore::Run SwitchCore::wide_run<true>(PortNumber, std::span<const FrameView>, TimeNs,
                                                    Decision*);
template SwitchCore::Run SwitchCore::wide_run<false>(PortNumber, std::span<const FrameView>, TimeNs,
                                                     Decision*);

} // namespace tributary::core
