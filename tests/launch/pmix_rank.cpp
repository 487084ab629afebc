// A rank that uses PMIx directly and prints its findings as one line of JSON.
//
//   pmix-rank instant     everything that a rank can know without communication: job data and
//                         every rank's end point; no fence
//   pmix-rank given KEY... the values of these keys: of the job, or KEY@NODE of a node
//   pmix-rank direct      puts a value, gets its right neighbour's; fences are without data
//   pmix-rank fence       the same with values collected in a fence
//   pmix-rank die RANK    rank RANK kills itself, the others wait for the notification
//   pmix-rank event       rank 0 notifies all others
//   pmix-rank ask PATH    asks the fabric manager, and for the inventory

#include <fmt/format.h>

#include <pmix.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include <signal.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

pmix_proc_t self;
constexpr pmix_status_t notice_code = PMIX_EXTERNAL_ERR_BASE - 1;
std::atomic<std::int64_t> heard = -1; ///< rank that an event is about
std::atomic<int> times = 0;

void demand(pmix_status_t status, const char* doing) {
  if (status != PMIX_SUCCESS) {
    fmt::print(stderr, "pmix-rank {}: {}: {}\n", self.rank, doing, PMIx_Error_string(status));
    std::_Exit(3);
  }
}

pmix_proc_t process(pmix_rank_t rank) {
  pmix_proc_t other;
  PMIX_PROC_LOAD(&other, self.nspace, rank);
  return other;
}

/// A value as text; "none" without one.
std::string get(pmix_rank_t rank, const char* key, pmix_info_t* infos = nullptr,
                std::size_t count = 0) {
  const pmix_proc_t of = process(rank);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&of, key, infos, count, &value) != PMIX_SUCCESS || value == nullptr) {
    return "none";
  }
  std::string text = "?";
  switch (value->type) {
  case PMIX_UINT32: text = fmt::format("{}", value->data.uint32); break;
  case PMIX_STRING: text = value->data.string; break;
  case PMIX_BYTE_OBJECT:
    text.clear();
    for (std::size_t at = 0; at < value->data.bo.size; ++at) {
      text += fmt::format("{:02x}", static_cast<unsigned char>(value->data.bo.bytes[at]));
    }
    break;
  case PMIX_DATA_ARRAY: {
    const pmix_data_array_t& array = *value->data.darray;
    text.clear();
    for (std::size_t at = 0; at < array.size; ++at) {
      if (array.type == PMIX_DOUBLE) {
        text += fmt::format("{}{}", at == 0 ? "" : ",", static_cast<double*>(array.array)[at]);
      } else if (array.type == PMIX_UINT32) {
        text +=
            fmt::format("{}{}", at == 0 ? "" : ",", static_cast<std::uint32_t*>(array.array)[at]);
      } else if (array.type == PMIX_ENDPOINT) {
        const pmix_endpoint_t& point = static_cast<pmix_endpoint_t*>(array.array)[at];
        text += fmt::format("{} {} {}", point.uuid, point.osname,
                            std::string_view(point.endpt.bytes, point.endpt.size));
      }
    }
    break;
  }
  default: break;
  }
  PMIX_VALUE_RELEASE(value);
  return text;
}

/// A value of the job, or of a node: "fm.address@1".
std::string given(const std::string& key) {
  const std::size_t at = key.find('@');
  if (at == std::string::npos) {
    return get(PMIX_RANK_WILDCARD, key.c_str());
  }
  std::array<pmix_info_t, 2> infos;
  for (pmix_info_t& info : infos) {
    PMIX_INFO_CONSTRUCT(&info);
  }
  const bool yes = true;
  const auto node = static_cast<std::uint32_t>(std::atoi(key.c_str() + at + 1));
  PMIX_INFO_LOAD(&infos[0], PMIX_NODE_INFO, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_NODEID, &node, PMIX_UINT32);
  return get(PMIX_RANK_WILDCARD, key.substr(0, at).c_str(), infos.data(), infos.size());
}

std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return out + "\"";
}

void on_event(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t* infos,
              std::size_t count, pmix_info_t*, std::size_t,
              pmix_event_notification_cbfunc_fn_t done, void* data) {
  std::int64_t about = source->rank;
  for (std::size_t at = 0; at < count; ++at) {
    if (PMIX_CHECK_KEY(&infos[at], PMIX_EVENT_AFFECTED_PROC)) {
      about = infos[at].value.data.proc->rank;
    }
  }
  heard = about;
  ++times;
  if (done != nullptr) {
    done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
  }
}

void listen(pmix_status_t code) {
  std::atomic<bool> there = false;
  PMIx_Register_event_handler(
      &code, 1, nullptr, 0, on_event,
      [](pmix_status_t, std::size_t, void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; },
      &there);
  while (!there) {
    std::this_thread::sleep_for(1ms);
  }
}

bool hear(std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (heard < 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(1ms);
  }
  return heard >= 0;
}

void put(const std::string& text) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = const_cast<char*>(text.c_str());
  demand(PMIx_Put(PMIX_GLOBAL, "test.card", &value), "PMIx_Put");
  demand(PMIx_Commit(), "PMIx_Commit");
}

void fence(bool collect) {
  const pmix_proc_t all = process(PMIX_RANK_WILDCARD);
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  demand(PMIx_Fence(&all, 1, &info, 1), "PMIx_Fence");
}

std::string ask(const char* key, const char* qualifier, const std::string& argument) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  char* keys[] = {const_cast<char*>(key), nullptr};
  query.keys = keys;
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, qualifier, argument.c_str(), PMIX_STRING);
  query.qualifiers = argument.empty() ? nullptr : &info; // packed if it is there, whatever nqual
  query.nqual = argument.empty() ? 0 : 1;
  pmix_info_t* answers = nullptr;
  std::size_t count = 0;
  const pmix_status_t status = PMIx_Query_info(&query, 1, &answers, &count);
  if (status != PMIX_SUCCESS) {
    return in_quotes(PMIx_Error_string(status));
  }
  std::string text = "{";
  for (std::size_t at = 0; at < count; ++at) {
    const pmix_value_t& value = answers[at].value;
    text += fmt::format("{}\"{}\": {}", at == 0 ? "" : ", ", answers[at].key,
                        value.type == PMIX_STRING   ? in_quotes(value.data.string)
                        : value.type == PMIX_UINT32 ? fmt::format("{}", value.data.uint32)
                                                    : std::string("null"));
  }
  return text + "}";
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "none" : value;
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "instant";
  demand(PMIx_Init(&self, nullptr, 0), "PMIx_Init");
  const auto size =
      static_cast<pmix_rank_t>(std::atoi(get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE).c_str()));
  std::string line = fmt::format("{{\"rank\": {}, \"size\": {}", self.rank, size);
  if (what == "instant") {
    for (const char* const key : {"fm.job", "fm.vni", "fm.mcast", "fm.cookie", "fm.routetime"}) {
      line += fmt::format(", \"{}\": {}", key, in_quotes(get(PMIX_RANK_WILDCARD, key)));
    }
    line += ", \"end_points\": [";
    for (pmix_rank_t rank = 0; rank < size; ++rank) {
      line += (rank == 0 ? "" : ", ") + in_quotes(get(rank, PMIX_FABRIC_ENDPT));
    }
    line += "]";
    for (const char* const name :
         {"TRIBUTARY_JOB_ID", "TRIBUTARY_FABRIC_MANAGER_URL", "TRIBUTARY_VNI",
          "TRIBUTARY_MPI_INTERFACE", "TRIBUTARY_RDMA_POLICY", "LD_PRELOAD"}) {
      line += fmt::format(", \"{}\": {}", name, in_quotes(variable(name)));
    }
    // The first message could leave now.
    static_cast<void>(ask("fm.mark", "fm.name", "first message possible"));
  } else if (what == "given") {
    line += ", \"values\": {";
    for (int at = 2; at < argc; ++at) {
      line += fmt::format("{}{}: {}", at == 2 ? "" : ", ", in_quotes(argv[at]),
                          in_quotes(given(argv[at])));
    }
    line += "}";
  } else if (what == "direct" || what == "fence") {
    put(fmt::format("card of {}", self.rank));
    // Without data it only synchronises: before it, PMIx 4.2 answers immediately "not found" for a
    // rank on the same node that has not put its value.
    fence(what == "fence");
    line += fmt::format(", \"card\": {}", in_quotes(get((self.rank + 1) % size, "test.card")));
    fence(false);
  } else if (what == "die" || what == "event") {
    const pmix_rank_t dying = argc > 2 ? static_cast<pmix_rank_t>(std::atoi(argv[2])) : 0;
    listen(what == "die" ? PMIX_ERR_PROC_ABORTED : notice_code);
    fence(false);
    if (what == "die" && self.rank == dying) {
      ::kill(::getpid(), SIGKILL);
    }
    if (what == "event" && self.rank == 0) {
      PMIx_Notify_event(notice_code, &self, PMIX_RANGE_NAMESPACE, nullptr, 0, nullptr, nullptr);
    }
    const bool quiet = what == "event" && self.rank == 0;
    if (!quiet && !hear(10s)) {
      fmt::print(stderr, "pmix-rank {}: nothing was heard\n", self.rank);
      return 4;
    }
    line += fmt::format(", \"heard\": {}", heard.load());
    if (what == "event") {
      fence(false);
    }
  } else if (what == "ask") {
    line += fmt::format(", \"manager\": {}", ask("fm.request", "fm.path", argc > 2 ? argv[2] : ""));
    line += fmt::format(", \"inventory\": {}", ask("fm.inventory", PMIX_HOSTNAME, ""));
    line += fmt::format(", \"nothing\": {}", ask("fm.nothing", PMIX_HOSTNAME, ""));
  }
  fmt::print("{}}}\n", line);
  std::fflush(stdout);
  demand(PMIx_Finalize(nullptr, 0), "PMIx_Finalize");
  return 0;
}
