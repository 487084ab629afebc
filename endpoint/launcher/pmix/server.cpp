#include "endpoint/launcher/pmix/server.hpp"

#include "endpoint/launcher/pmix/infos.hpp"
#include "endpoint/launcher/pmix/upcall_module.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>

#include <unistd.h>

namespace tributary::launch::pmix {

namespace {

constexpr std::chrono::seconds answer_limit{10};

void demand(int status, const std::string& doing) {
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) {
    throw PmixError(doing, status);
  }
}

/// Calls an asynchronous function of the library, and waits for its answer.
template <typename Call> void perform(const std::string& doing, Call&& call) {
  auto* const answer = new std::promise<int>; // owned by the library until it has called back
  std::future<int> answered = answer->get_future();
  const pmix_op_cbfunc_t callback = [](pmix_status_t status, void* data) {
    const std::unique_ptr<std::promise<int>> own(static_cast<std::promise<int>*>(data));
    own->set_value(status);
  };
  const int status = call(callback, static_cast<void*>(answer));
  if (status != PMIX_SUCCESS) {
    delete answer;
    return demand(status, doing);
  }
  if (answered.wait_for(answer_limit) != std::future_status::ready) {
    throw PmixError(doing, PMIX_ERR_TIMEOUT);
  }
  demand(answered.get(), doing);
}

pmix_proc_t process_of(const std::string& job, std::uint32_t rank) {
  pmix_proc_t process;
  PMIX_PROC_LOAD(&process, job.c_str(), rank);
  return process;
}

/// A text that the library allocated.
struct Freed {
  void operator()(char* text) const { std::free(text); }
};
using OwnedText = std::unique_ptr<char, Freed>;

OwnedText node_map(const messages::Job& job) {
  std::vector<std::string> names;
  for (const messages::Node& node : job.nodes()) {
    names.push_back(node.name());
  }
  char* map = nullptr;
  demand(PMIx_generate_regex(fmt::format("{}", fmt::join(names, ",")).c_str(), &map),
         "PMIx_generate_regex");
  return OwnedText(map);
}

OwnedText rank_map(const messages::Job& job) {
  std::string ranks;
  for (const messages::Node& node : job.nodes()) {
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ";", fmt::join(node.ranks(), ","));
  }
  char* map = nullptr;
  demand(PMIx_generate_ppn(ranks.c_str(), &map), "PMIx_generate_ppn");
  return OwnedText(map);
}

void add_value(Infos& infos, const messages::Value& value) {
  const char* const key = value.name().c_str();
  switch (value.value_case()) {
  case messages::Value::kNumber: return infos.number(key, value.number());
  case messages::Value::kText: return infos.text(key, value.text());
  case messages::Value::kData: return infos.bytes(key, value.data());
  case messages::Value::kReals:
    return infos.reals(key, {value.reals().values().data(),
                             static_cast<std::size_t>(value.reals().values_size())});
  case messages::Value::kNumbers:
    return infos.numbers(key, {value.numbers().values().data(),
                               static_cast<std::size_t>(value.numbers().values_size())});
  case messages::Value::VALUE_NOT_SET: return;
  }
}

/// The job's data that every rank may ask for (PMIx 4.1, 17.2.3.2).
void add_job(Infos& infos, const messages::Job& job) {
  const messages::Node& own = job.nodes(static_cast<int>(job.own_node()));
  const auto local = static_cast<std::uint32_t>(own.ranks_size());
  infos.number(PMIX_UNIV_SIZE, job.ranks());
  infos.number(PMIX_JOB_SIZE, job.ranks());
  infos.number(PMIX_MAX_PROCS, job.ranks());
  infos.number(PMIX_JOB_NUM_APPS, 1);
  infos.number(PMIX_NUM_NODES, static_cast<std::uint32_t>(job.nodes_size()));
  infos.text(PMIX_JOBID, job.id());
  infos.flag(PMIX_SPAWNED, false);
  infos.expression(PMIX_NODE_MAP, node_map(job).get());
  infos.expression(PMIX_PROC_MAP, rank_map(job).get());
  infos.number(PMIX_APPNUM, 0);
  infos.number(PMIX_LOCAL_SIZE, local);
  infos.number(PMIX_NODE_SIZE, local);
  infos.text(PMIX_LOCAL_PEERS, fmt::format("{}", fmt::join(own.ranks(), ",")));
  infos.rank(PMIX_LOCALLDR, own.ranks(0));
  infos.number(PMIX_NODEID, job.own_node());
  infos.text(PMIX_HOSTNAME, own.name());
  for (const messages::Value& value : job.allocation()) {
    if (value.use() == messages::Value::JOB) {
      add_value(infos, value);
    }
  }
}

void add_node(Infos& infos, const messages::Node& node, std::uint32_t number) {
  Infos own;
  own.text(PMIX_HOSTNAME, node.name());
  own.number(PMIX_NODEID, number);
  own.number(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(node.ranks_size()));
  own.number(PMIX_NODE_SIZE, static_cast<std::uint32_t>(node.ranks_size()));
  own.rank(PMIX_LOCALLDR, node.ranks(0));
  own.text(PMIX_LOCAL_PEERS, fmt::format("{}", fmt::join(node.ranks(), ",")));
  if (!node.fabric_address().empty()) {
    own.text("fm.address", node.fabric_address());
  }
  infos.list(PMIX_NODE_INFO_ARRAY, std::move(own));
}

void add_rank(Infos& infos, const messages::Node& node, std::uint32_t number, std::uint32_t rank,
              std::uint16_t local) {
  Infos own;
  own.rank(PMIX_RANK, rank);
  own.number(PMIX_APPNUM, 0);
  own.rank(PMIX_GLOBAL_RANK, rank);
  own.rank(PMIX_APP_RANK, rank);
  own.short_number(PMIX_LOCAL_RANK, local);
  own.short_number(PMIX_NODE_RANK, local);
  own.number(PMIX_NODEID, number);
  own.text(PMIX_HOSTNAME, node.name());
  if (local < node.end_points_size() && !node.end_points(local).empty()) {
    own.end_point(PMIX_FABRIC_ENDPT, node.fabric_address(), node.interface(),
                  node.end_points(local));
  }
  infos.list(PMIX_PROC_DATA, std::move(own));
}

/// From PMIx 5 on the library's default, a memory that server and ranks share, numbers keys; each
/// process numbers keys that are not PMIx's own independently, so that a rank gets one key's value
/// for another's (openpmix issue 3339). The store that copies has the keys themselves. The server
/// hands its choice to ranks.
void choose_store() {
  constexpr int first_with_numbers = 5;
  if (library_release() >= first_with_numbers) {
    setenv("PMIX_MCA_gds", "hash", 1);
  }
}

} // namespace

PmixError::PmixError(const std::string& doing, int status)
    : std::runtime_error(
          fmt::format("{} answers {} ({})", doing, PMIx_Error_string(status), status)) {}

Server::Server(const ServerSettings& settings, Upcalls& upcalls) {
  choose_store();
  set_upcalls(&upcalls);
  Infos infos;
  infos.text(PMIX_SERVER_TMPDIR, settings.directory);
  infos.text(PMIX_SYSTEM_TMPDIR, settings.directory);
  infos.text(PMIX_SERVER_NSPACE, fmt::format("tributary-run-{}", getpid()));
  infos.rank(PMIX_SERVER_RANK, settings.node);
  infos.text(PMIX_HOSTNAME, settings.host);
  infos.flag(PMIX_SERVER_TOOL_SUPPORT, false);
  const int status = PMIx_server_init(&upcall_module(), infos.data(), infos.size());
  if (status != PMIX_SUCCESS) {
    set_upcalls(nullptr);
    throw PmixError("PMIx_server_init", status);
  }
}

Server::~Server() {
  set_upcalls(nullptr);
  if (!job_.empty()) {
    PMIx_server_deregister_nspace(job_.c_str(), nullptr, nullptr);
  }
  PMIx_server_finalize();
}

void Server::register_job(const messages::Job& job) {
  Infos infos;
  add_job(infos, job);
  for (int node = 0; node < job.nodes_size(); ++node) {
    add_node(infos, job.nodes(node), static_cast<std::uint32_t>(node));
  }
  for (int node = 0; node < job.nodes_size(); ++node) {
    for (int local = 0; local < job.nodes(node).ranks_size(); ++local) {
      add_rank(infos, job.nodes(node), static_cast<std::uint32_t>(node),
               job.nodes(node).ranks(local), static_cast<std::uint16_t>(local));
    }
  }
  const messages::Node& own = job.nodes(static_cast<int>(job.own_node()));
  perform("PMIx_server_register_nspace", [&](pmix_op_cbfunc_t callback, void* data) {
    return PMIx_server_register_nspace(job.id().c_str(), own.ranks_size(), infos.data(),
                                       infos.size(), callback, data);
  });
  job_ = job.id();
  set_job(job_);
  perform("PMIx_server_setup_local_support", [&](pmix_op_cbfunc_t callback, void* data) {
    return PMIx_server_setup_local_support(job_.c_str(), nullptr, 0, callback, data);
  });
  for (const std::uint32_t rank : own.ranks()) {
    const pmix_proc_t process = process_of(job_, rank);
    perform("PMIx_server_register_client", [&](pmix_op_cbfunc_t callback, void* data) {
      return PMIx_server_register_client(&process, geteuid(), getegid(), nullptr, callback, data);
    });
  }
}

std::vector<std::string> Server::environment(std::uint32_t rank) {
  const pmix_proc_t process = process_of(job_, rank);
  char** variables = nullptr;
  demand(PMIx_server_setup_fork(&process, &variables), "PMIx_server_setup_fork");
  std::vector<std::string> all;
  for (char** each = variables; each != nullptr && *each != nullptr; ++each) {
    all.emplace_back(*each);
    std::free(*each);
  }
  std::free(variables);
  return all;
}

void Server::notify(const messages::Notice& notice) {
  std::size_t count = 0;
  pmix_info_t* infos = unpacked(notice.infos(), count);
  pmix_proc_t source = process_of(job_, notice.affected_size() > 0 ? notice.affected(0)
                                        : notice.has_rank()        ? notice.rank()
                                                                   : PMIX_RANK_UNDEF);
  Infos own;
  for (const std::uint32_t rank : notice.affected()) {
    own.process(PMIX_EVENT_AFFECTED_PROC, process_of(job_, rank));
  }
  for (const messages::Value& value : notice.values()) {
    add_value(own, value);
  }
  // Without a callback the library copies what it needs before it returns.
  PMIx_Notify_event(
      notice.code(), &source,
      notice.range() == 0 ? PMIX_RANGE_NAMESPACE : static_cast<pmix_data_range_t>(notice.range()),
      own.size() > 0 ? own.data() : infos, own.size() > 0 ? own.size() : count, nullptr, nullptr);
  if (infos != nullptr) {
    PMIX_INFO_FREE(infos, count);
  }
}

void Server::forget(std::uint32_t rank) {
  const pmix_proc_t process = process_of(job_, rank);
  // Without a callback the library would wait for its own thread.
  PMIx_server_deregister_client(
      &process, [](pmix_status_t, void*) {}, nullptr);
}

void Server::fetch(std::uint32_t rank, std::function<void(int, std::string)> found) {
  using Found = std::function<void(int, std::string)>;
  auto* const kept = new Found(std::move(found));
  const pmix_proc_t process = process_of(job_, rank);
  const int status = PMIx_server_dmodex_request(
      &process,
      [](pmix_status_t answered, char* bytes, std::size_t size, void* data) {
        const std::unique_ptr<Found> own(static_cast<Found*>(data));
        (*own)(answered, bytes == nullptr ? std::string() : std::string(bytes, size));
      },
      kept);
  if (status != PMIX_SUCCESS) {
    const std::unique_ptr<Found> own(kept);
    (*own)(status, {});
  }
}

} // namespace tributary::launch::pmix
