// Reductions that the short way of contributions (process_burst.cpp) found full: it goes on without
// a look at what a result needs, and so has its registers for contributions. The results of a tree
// are written here, before the run ends or goes on with another tree. In between no frame meets one
// of these reductions: its match word says `full`, which is like no frame's own, so that the run
// ends with a frame for it.

#include "dataplane/core/applied.hpp"
#include "dataplane/core/results.hpp"
#include "dataplane/core/tree_image.hpp"

namespace tributary::core {

/// `full`: the places of the frames that brought the last contributions; `of_tree`: the descriptors
/// of this tree.
[[gnu::noinline, gnu::flatten]] void
SwitchCore::complete_run(std::span<const FrameView> run, Places full, const MulticastEntry& entry,
                         Descriptor* of_tree, Decision* decisions) {
  const PortNumber parent = entry.parent;
  if (entry.turns || !up_.contains(parent)) [[unlikely]] {
    full.for_each([&](std::size_t i) {
      Descriptor& d = IdOfFrame(run[i].data).descriptor(of_tree);
      d.match = d.match.holding();
      decisions[i].set(
          complete(Applied(*this), run[i], engines_.key_of(d), entry, d.accumulator.contributions));
    });
    return;
  }
  ReductionEngines::Results results(engines_, engines_.key_of(*of_tree).tree(), entry);
  full.for_each([&](std::size_t i) {
    std::byte* const data = run[i].data;
    const std::uint8_t traffic_class = run[i].traffic_class;
    results.write(IdOfFrame(data).descriptor(of_tree), data);
    decisions[i].set_rest(emitted_full(parent, traffic_class));
  });
}

} // namespace tributary::core
