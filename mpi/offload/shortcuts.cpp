#include "mpi/offload/shortcuts.hpp"

#include "mpi/offload/communicator.hpp"
#include "mpi/offload/runtime.hpp"

namespace tributary::mpi::offload {

namespace {

void count(Kind kind, const Shortcuts::Why& why, std::uint64_t calls) {
  Runtime::get()->count(kind, why.reason, calls);
  if (why.owner != nullptr) {
    static_cast<Communicator*>(why.owner)->made_alike(kind, why.bytes, calls);
  }
}

} // namespace

constinit Shortcuts shortcuts(count);

} // namespace tributary::mpi::offload
