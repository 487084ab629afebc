// `tributaryctl host job run`: a command, and a job on this node for as long as it runs.
#pragma once

#include <string>
#include <vector>

namespace tributary::cli {

/// Declares the job with `request`, a line of endpoint/agent/messages.hpp that attaches it, runs
/// `words` and waits for their end; signals that are sent to this process are passed on. Where the
/// agent restarts meanwhile, the job is declared again. Returns the command's exit code, 128 + its
/// signal, or 127 if it cannot be started. Throws AgentError where the agent refuses the job, and
/// HostAgentAbsent without an agent: then nothing is started.
int run_with_job(const std::string& agent_socket, const std::string& request,
                 const std::vector<std::string>& words);

} // namespace tributary::cli
