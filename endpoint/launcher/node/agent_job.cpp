#include "endpoint/launcher/node/agent_job.hpp"

#include "endpoint/agent/messages.hpp"

#include <charconv>
#include <cstdint>
#include <exception>
#include <utility>

#include <fcntl.h>

namespace tributary::launch::node {

std::optional<host_agent::AddJobRequest> agent_request_of(const messages::Job& job) {
  host_agent::AddJobRequest request{.job = job.id(), .is_attached = true};
  std::uint16_t vni = 0;
  const auto take = [&](const std::string& name, const std::string& value) {
    if (name == "TRIBUTARY_JOB_ID") {
      request.job = value;
    } else if (name == "TRIBUTARY_VNI") {
      std::from_chars(value.data(), value.data() + value.size(), vni);
    } else if (name == "TRIBUTARY_FABRIC_MANAGER_URL") {
      request.manager.url = value;
    } else if (name == "TRIBUTARY_FABRIC_MANAGER_TOKEN") {
      request.manager.token = value;
    } else if (name == "TRIBUTARY_FABRIC_MANAGER_CACERT") {
      request.manager.certificate_authority = value;
    }
  };
  for (const messages::Variable& variable : job.variables()) {
    take(variable.name(), variable.value());
  }
  for (const messages::Value& value : job.allocation()) {
    if (value.use() == messages::Value::ENVIRONMENT) {
      take(value.name(), value.has_text() ? value.text() : std::to_string(value.number()));
    }
  }
  request.vni = Vni{vni};
  return vni == 0 ? std::nullopt : std::optional(std::move(request));
}

std::string AgentJob::declare() {
  boost::system::error_code ignored;
  connection_.close(ignored);
  agent_.reset();
  try {
    agent_.emplace(host_client::agent_path(), call_limit);
    agent_->ask(host_agent::line_of(request_));
  } catch (const host_client::HostAgentAbsent&) {
    agent_.reset();
    return {};
  } catch (const host_agent::AgentError& error) {
    agent_.reset();
    return error.what();
  }
  watch();
  return {};
}

void AgentJob::end() noexcept {
  try {
    again_.cancel();
    boost::system::error_code ignored;
    connection_.close(ignored);
    if (agent_) {
      agent_->ask(host_agent::line_of(host_agent::EndJobRequest{.job = request_.job}));
    }
  } catch (const std::exception&) {
    // It ends by itself, a while after the connection.
  }
  agent_.reset();
}

void AgentJob::watch() {
  // Not for ranks, which would ask as who started the job, and keep it attached.
  const int second = ::fcntl(agent_->fd(), F_DUPFD_CLOEXEC, 0);
  if (second < 0) {
    return; // the job is attached all the same
  }
  connection_.assign(second);
  connection_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& cancelled) {
                           if (!cancelled) {
                             declare_later(); // the agent says nothing unasked: it has ended
                           }
                         });
}

void AgentJob::declare_later() {
  again_.expires_after(retry_interval);
  again_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) {
      static_cast<void>(declare());
      if (!agent_) {
        declare_later();
      }
    }
  });
}

} // namespace tributary::launch::node
