// Runs a task of a group to its end, for the functions of the C API that block.
#pragma once

#include "endpoint/collective/vector_pipeline.hpp"
#include "endpoint/engine/loop.hpp"
#include "endpoint/library/group.hpp"

namespace tributary::library {

/// Returns a code of the C API; an error has set the host's last_error. `result` may be null.
/// Throws LinkError when the interface is gone. Requires the loop's lock, which it releases while
/// it sleeps.
[[nodiscard]] int run_task(engine::Loop::Lock& lock, tributary_group& group,
                           const collective::VectorTask& task, tributary_result* result);

/// Throws std::invalid_argument for a group that holds its tree for others.
void require_ids(const tributary_group& group);

} // namespace tributary::library
