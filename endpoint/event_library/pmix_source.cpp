#include "endpoint/event_library/pmix_source.hpp"

#include "tributary/event_codes.hpp"

#include <fmt/format.h>

#include <pmix.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

extern char** environ;

namespace tributary::event_library {

namespace {

/// PMIx passes no context to its callback: all sources of the process get all events, and each
/// drops those it knows.
std::mutex listening_lock;
std::set<const std::function<void(events::Event)>*> listening;

std::optional<std::string> text_named(const pmix_info_t* infos, std::size_t count,
                                      const char* name) {
  for (std::size_t at = 0; at < count; ++at) {
    if (std::strncmp(infos[at].key, name, PMIX_MAX_KEYLEN) == 0 &&
        infos[at].value.type == PMIX_STRING && infos[at].value.data.string != nullptr) {
      return infos[at].value.data.string;
    }
  }
  return std::nullopt;
}

void on_event(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, std::size_t count,
              pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
  const std::optional<std::string> text = text_named(infos, count, "fm.event");
  if (const auto event = text ? events::event_of(*text) : std::nullopt) {
    const std::scoped_lock held(listening_lock);
    for (const auto* const arrived : listening) {
      (*arrived)(*event);
    }
  }
  // The program's own PMIx handlers follow.
  if (done != nullptr) {
    done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, data);
  }
}

/// The port of "pmix-server.12;tcp4://127.0.0.1:40123" in one of PMIX_SERVER_URI...
std::set<std::uint16_t> server_ports() {
  std::set<std::uint16_t> ports;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::size_t colon = variable.rfind(':');
    std::uint16_t port = 0;
    if (variable.starts_with("PMIX_SERVER_URI") && colon != std::string_view::npos &&
        std::from_chars(variable.data() + colon + 1, variable.data() + variable.size(), port).ec ==
            std::errc{}) {
      ports.insert(port);
    }
  }
  return ports;
}

/// libpmix 4.2 leaves Nagle's algorithm on, by which a message waits up to 40 ms. The program's own
/// connections are left alone.
void send_without_delay() {
  const std::set<std::uint16_t> ports = server_ports();
  DIR* const open = opendir("/proc/self/fd");
  if (open == nullptr) {
    return;
  }
  while (const dirent* const entry = readdir(open)) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (fd > 2 && getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && ports.contains(ntohs(peer.sin_port)) &&
        ntohl(peer.sin_addr.s_addr) == INADDR_LOOPBACK) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
  }
  closedir(open);
}

struct InfosFreed {
  std::size_t count = 0;
  void operator()(pmix_info_t* infos) const {
    std::size_t n = count;
    PMIX_INFO_FREE(infos, n);
  }
};

std::string said(pmix_status_t status) {
  return fmt::format("{} ({})", PMIx_Error_string(status), status);
}

} // namespace

PmixSource::PmixSource(std::function<void(events::Event)> arrived) : arrived_(std::move(arrived)) {
  pmix_proc_t self;
  // Without a server PMIx would make the process a job of its own, which gets no events.
  if (server_ports().empty()) {
    throw SourceError(true,
                      "this process has no PMIx server; tributary-run starts ranks that have");
  }
  if (const pmix_status_t status = PMIx_Init(&self, nullptr, 0); status != PMIX_SUCCESS) {
    throw SourceError(
        true, fmt::format("PMIx_Init answers {}; is tributary-run still there?", said(status)));
  }
  try {
    send_without_delay();
    listen();
  } catch (...) {
    PMIx_Finalize(nullptr, 0);
    throw;
  }
}

PmixSource::~PmixSource() {
  stop_listening();
  PMIx_Finalize(nullptr, 0);
}

void PmixSource::listen() {
  {
    const std::scoped_lock held(listening_lock);
    listening.insert(&arrived_);
  }
  std::array<pmix_status_t, event_codes.size()> codes{};
  std::ranges::transform(event_codes, codes.begin(), &EventCode::number);
  struct Registered {
    pmix_status_t status = PMIX_ERROR;
    std::size_t handler = 0;
  };
  std::promise<Registered> answer;
  PMIx_Register_event_handler(
      codes.data(), codes.size(), nullptr, 0, on_event,
      [](pmix_status_t status, std::size_t handler, void* promise) {
        static_cast<std::promise<Registered>*>(promise)->set_value({status, handler});
      },
      &answer);
  const Registered registered = answer.get_future().get();
  if (registered.status != PMIX_SUCCESS) {
    const std::scoped_lock held(listening_lock);
    listening.erase(&arrived_);
    throw SourceError(
        false, fmt::format("PMIx_Register_event_handler answers {}", said(registered.status)));
  }
  handler_ = registered.handler;
}

void PmixSource::stop_listening() {
  std::promise<void> done;
  PMIx_Deregister_event_handler(
      handler_,
      [](pmix_status_t, void* promise) { static_cast<std::promise<void>*>(promise)->set_value(); },
      &done);
  done.get_future().wait();
  const std::scoped_lock held(listening_lock);
  listening.erase(&arrived_);
}

PmixSource::History PmixSource::ask(std::uint64_t after, const std::string& environment) const {
  pmix_query_t* query = nullptr;
  PMIX_QUERY_CREATE(query, 1);
  const std::unique_ptr<pmix_query_t, void (*)(pmix_query_t*)> freed(
      query, [](pmix_query_t* own) { PMIX_QUERY_FREE(own, 1); });
  pmix_status_t status = PMIX_SUCCESS;
  PMIX_ARGV_APPEND(status, query->keys, "fm.events");
  PMIX_QUERY_QUALIFIERS_CREATE(query, 3);
  const bool refresh = true; // do not repeat the cached answer
  PMIX_INFO_LOAD(&query->qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &refresh, PMIX_BOOL);
  PMIX_INFO_LOAD(&query->qualifiers[1], "fm.after", fmt::format("{}", after).c_str(), PMIX_STRING);
  PMIX_INFO_LOAD(&query->qualifiers[2], "fm.environment", environment.c_str(), PMIX_STRING);
  pmix_info_t* answers = nullptr;
  std::size_t count = 0;
  status = PMIx_Query_info(query, 1, &answers, &count);
  const std::unique_ptr<pmix_info_t, InfosFreed> owned(answers, InfosFreed{count});
  if (status != PMIX_SUCCESS) {
    throw SourceError(
        status == PMIX_ERR_NOT_SUPPORTED || status == PMIX_ERR_NOT_FOUND,
        fmt::format("asking tributary-run for events: PMIx_Query_info answers {}", said(status)));
  }
  History history;
  for (std::size_t at = 0; at < count; ++at) {
    const pmix_info_t& info = answers[at];
    if (info.value.type == PMIX_UINT32) {
      if (std::strcmp(info.key, "fm.first") == 0) {
        history.first = info.value.data.uint32;
      } else if (std::strcmp(info.key, "fm.last") == 0) {
        history.last = info.value.data.uint32;
      }
    } else if (info.value.type == PMIX_STRING && std::strcmp(info.key, "fm.event") == 0) {
      if (auto event = events::event_of(info.value.data.string)) {
        history.events.push_back(*std::move(event));
      }
    }
  }
  return history;
}

} // namespace tributary::event_library
