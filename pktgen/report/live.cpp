#include "pktgen/report/live.hpp"

#include "pktgen/report/progress.hpp"
#include "pktgen/report/watch.hpp"
#include "terminal/descriptor.hpp"

namespace tributary::pktgen {
namespace {

class TrafficWatchdog final : public LiveView {
public:
  void show(const LiveFigures& /*figures*/, TimeNs /*now*/) override {}
  void finish() override {}
};

} // namespace

std::unique_ptr<LiveView> live_view(const LiveOptions& options, int descriptor) {
  if (options.quiet) {
    return std::make_unique<TrafficWatchdog>();
  }
  if (options.watch && terminal::is_terminal(descriptor)) {
    return std::make_unique<Watch>(descriptor);
  }
  return std::make_unique<Progress>(descriptor);
}

} // namespace tributary::pktgen
