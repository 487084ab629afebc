#include "pktgen/report/live.hpp"

#include "lib/terminal/descriptor.hpp"
#include "pktgen/report/progress.hpp"
#include "pktgen/report/watch.hpp"

namespace tributary::pktgen::report {
namespace {

class NoView final : public result::LiveView {
public:
  void show(const result::LiveFigures& /*figures*/, TimeNs /*now*/) override {}
  void finish() override {}
};

} // namespace

std::unique_ptr<result::LiveView> live_view(const LiveOptions& options, int descriptor) {
  if (options.quiet) {
    return std::make_unique<NoView>();
  }
  if (options.watch && terminal::is_terminal(descriptor)) {
    return std::make_unique<Watch>(descriptor);
  }
  return std::make_unique<Progress>(descriptor);
}

} // namespace tributary::pktgen::report
