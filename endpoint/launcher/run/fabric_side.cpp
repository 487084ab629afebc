#include "endpoint/launcher/run/fabric_side.hpp"

#include "endpoint/launcher/run/answers.hpp"
#include "endpoint/launcher/run/offload_library.hpp"
#include "endpoint/manager_client/environment.hpp"
#include "lib/net/steady_clock.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace tributary::launch::run {

using control::NodeIndex;

void FabricSide::ask_for_allocation() {
  if (!options_.offload) {
    return launch_.allocated({}, {}, net::steady_now());
  }
  std::vector<fabric::NodeFacts> nodes;
  for (const messages::Node& own : launch_.job().nodes()) {
    const messages::Hello& hello = launch_.hello(static_cast<NodeIndex>(nodes.size()));
    nodes.push_back({own.name(), {own.ranks().begin(), own.ranks().end()}, hello});
  }
  try {
    const auto text = [](const std::optional<std::string>& value) {
      return value ? value->c_str() : nullptr;
    };
    fabric::FabricSettings settings;
    settings.manager = manager_client::settings_from(
        {text(options_.manager), text(options_.token), text(options_.certificate_authority)});
    settings.job = manager_client::job_from(options_.job.empty() ? nullptr : options_.job.c_str());
    settings.new_job = launch_.job().id();
    settings.interface = options_.interface;
    settings.multicast_limit = options_.multicast_limit;
    manager_ = settings.manager;
    fabric_ = std::make_unique<FabricThread>(io_, std::move(settings));
  } catch (const std::exception& failed) {
    return allocated({}, failed.what());
  }
  fabric_->allocate(std::move(nodes), [this](fabric::Allocation allocation, std::string error) {
    allocated(std::move(allocation), error);
    pump_();
  });
}

void FabricSide::allocated(fabric::Allocation allocation, const std::string& error) {
  for (const std::string& note : allocation.notes) {
    fmt::print(stderr, "tributary-run: {}\n", note);
  }
  if (error.empty()) {
    has_allocation_ = true;
    follow_events(allocation);
    say_whether_ranks_reach_it(allocation);
    if (const std::string problem = offload(allocation); !problem.empty()) {
      return launch_.cannot_start(problem + " (--require-offload)", net::steady_now());
    }
    return launch_.allocated(std::move(allocation.values), std::move(allocation.nodes),
                             net::steady_now());
  }
  if (options_.require_offload) {
    return launch_.cannot_start(error + " (--require-offload)", net::steady_now());
  }
  fmt::print(stderr,
             "tributary-run: {}; ranks run without reductions in the network (--no-offload does "
             "not ask, --require-offload makes it an error)\n",
             error);
  fabric_.reset();
  launch_.allocated({}, {}, net::steady_now());
}

void FabricSide::follow_events(const fabric::Allocation& allocation) {
  relay_ = control::EventRelay(allocation.events_after);
  manager_.token = allocation.token;
  events_ = std::make_unique<EventThread>(
      io_, manager_, allocation.job, allocation.events_after,
      [this](const control::FabricEvent& event) {
        if (const auto notice = relay_.take(event)) {
          launch_.notify(*notice);
          pump_();
        }
      },
      [](const std::string& why) {
        fmt::print(stderr,
                   "tributary-run: ranks receive the fabric's events a few seconds late: {}\n",
                   why);
      },
      [](const std::string& why) {
        fmt::print(stderr, "tributary-run: ranks do not receive the fabric's events: {}\n", why);
      });
}

void FabricSide::report(NodeIndex node) {
  if (fabric_) {
    fabric_->report(launch_.job().nodes(static_cast<int>(node)).name(), launch_.hello(node));
  }
}

void FabricSide::say_whether_ranks_reach_it(const fabric::Allocation& allocation) const {
  const bool elsewhere = options_.reach == Reach::ssh || options_.reach == Reach::slurm;
  for (const messages::Value& value : allocation.values) {
    if (elsewhere && value.name() == "TRIBUTARY_FABRIC_MANAGER_URL" &&
        value.text().starts_with("unix:")) {
      fmt::print(stderr,
                 "tributary-run: ranks on other machines cannot reach the fabric manager at {}; "
                 "--manager http://HOST:PORT is for all\n",
                 value.text());
    }
  }
}

std::string FabricSide::offload(fabric::Allocation& allocation) const {
  OffloadLibrary library = offload_library(options_.command, options_.directory, options_.mpi);
  if (!allocation.notes.empty()) {
    return options_.require_offload ? allocation.notes.front() : std::string();
  }
  if (library.unknown) {
    if (options_.require_offload) {
      return fmt::format("which MPI library {} uses is not found; --mpi ompi or --mpi mpich names "
                         "it, --mpi none is for a program that uses the host library itself",
                         options_.command.front());
    }
    launch_.expect_mpi(control::MpiUse::unseen);
  }
  if (options_.require_offload) {
    for (const char* const name : {"TRIBUTARY_MPI_REQUIRE", "TRIBUTARY_TORCH_REQUIRE"}) {
      messages::Value& require = allocation.values.emplace_back();
      require.set_name(name);
      require.set_use(messages::Value::ENVIRONMENT);
      require.set_text("1");
    }
  }
  if (library.name.empty()) {
    return {};
  }
  if (!library.preload) {
    return options_.require_offload ? fmt::format("{} is neither beside tributary-run nor in {}",
                                                  library.name, TRIBUTARY_LIBRARY_FOLDER)
                                    : std::string();
  }
  allocation.values.push_back(std::move(*library.preload));
  if (options_.require_offload) {
    launch_.expect_mpi(control::MpiUse::required);
  }
  return {};
}

void FabricSide::answer(const control::Question& question) {
  if (question.query.key() == "fm.events") {
    launch_.answer(question.node, relay_.answer(question.query));
    if (relay_.take_subscription_changed() && events_) {
      events_->want(relay_.environment());
    }
    return;
  }
  messages::QueryAnswer now = answer_here(question.query, launch_, net::steady_now());
  if (now.status() != ask_the_manager) {
    return launch_.answer(question.node, std::move(now));
  }
  if (!fabric_) {
    return launch_.answer(question.node, no_manager(question.query.number()));
  }
  fabric_->request(
      request_in(question.query),
      [this, node = question.node, number = question.query.number()](const fabric::Reply& reply) {
        launch_.answer(node, answer_of(number, reply));
        pump_();
      });
}

void FabricSide::end() {
  events_.reset();
  fabric_.reset();
}

} // namespace tributary::launch::run
