// A byte string as a sequence of frames, bursts, time steps and table changes for one switch core.

#include "tests/fuzz/core_world.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input input(data, size);
  tributary::fuzz::CoreWorld world(input);
  while (!input.empty()) {
    world.step(input);
  }
  return 0;
}
