#include "endpoint/mpi/collectives/shortcuts.hpp"

#include "endpoint/mpi/collectives/communicator.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"

namespace tributary::mpi::collectives {

namespace {

void count(Kind kind, const CallCaches::Why& why, std::uint64_t calls) {
  Runtime::get()->count(kind, why.reason, calls);
  if (why.owner != nullptr) {
    static_cast<Communicator*>(why.owner)->made_alike(kind, why.bytes, calls);
  }
}

} // namespace

constinit CallCaches caches(count);

} // namespace tributary::mpi::collectives
