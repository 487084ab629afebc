// bench-reduce: the cost of the codec and the operators, in cache, on one thread.
//
// The column CPU is nanoseconds for one frame or one contribution, independent of other load.
// `loop` is the benchmark's own cost of stepping through its operands, the floor of all figures of
// the kernel:
//
//   start/OP         the first contribution of a reduction
//   combine/OP       each later one, in a thread of default floating-point state
//   combine_keep/OP  the same where the thread keeps the mode of the sum (FloatState::keep)
//   from_frame/OP    combine, taking word and payload out of a frame first
//
// Those of wide frames report bytes of payload a second, for a payload and a working set:
//
//   wide_add/OP/FORM/INSTRUCTION SET/PAYLOAD/WORKING SET
//   wide_begin, wide_emit                                  the first contribution, a partial result
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
