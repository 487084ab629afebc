// bench-reduce: what the codec and the operators cost, in cache, on one thread.
//
// The column Time is nanoseconds for one frame or one contribution. `loop` is the bench's own cost
// of stepping through its operands, the floor of all other figures of the kernel.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
