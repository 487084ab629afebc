// Any bytes as lines on the host agent's socket, from several users, and as its record:
//
//   1  nothing but AgentError comes out, and its message can be sent as JSON
//   2  a request that is accepted is accepted again when our side writes it
//   3  no two users have one VNI, no two jobs one mark, and no user another's job
//   4  a record that is accepted is the same when it is written and read again
//
// The first byte says which; in 1 to 3 each line's first byte is the user.

#include "endpoint/agent/guard.hpp"
#include "endpoint/agent/messages.hpp"
#include "endpoint/agent/registry.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace tributary::fuzz {
namespace {

using namespace tributary::host_agent;

void check_message(const AgentError& error) {
  TRIBUTARY_REQUIRE(name_of(error.reason()).size() > 3);
  const std::string line = refusal(error);
  TRIBUTARY_REQUIRE(line.back() == '\n' && line.find('\n') == line.size() - 1);
}

void check_jobs(const Registry& registry) {
  std::map<Vni, std::uint32_t> owners;
  std::set<Mark> marks;
  for (const auto& [id, job] : registry.jobs()) {
    TRIBUTARY_REQUIRE(owners.try_emplace(job.vni, job.uid).first->second == job.uid);
    TRIBUTARY_REQUIRE(marks.insert(job.mark).second);
    TRIBUTARY_REQUIRE(is_printable(id) && !id.empty());
    TRIBUTARY_REQUIRE(job.vni.value != 0);
  }
}

class Node {
public:
  Node() : registry_(settings(), 0) {}

  void hear(std::uint8_t user, std::string_view line) {
    now_ = now_ + ns_per_second;
    const Peer peer{.pid = 1, .uid = user % 4U, .gid = 7, .cgroup = "/a/b"};
    try {
      const Request request = parse_request(line);
      std::visit([&](const auto& each) { handle(peer, each); }, request);
    } catch (const AgentError& error) {
      check_message(error);
    }
    static_cast<void>(registry_.expire(now_));
    check_jobs(registry_);
  }

private:
  static Settings settings() {
    Settings settings;
    settings.services = {{.name = "all", .first = Vni{1}, .last = Vni{2000}}};
    settings.limits = {.jobs = 6, .jobs_per_user = 2, .sockets_per_user = 3};
    return settings;
  }

  void handle(const Peer& peer, const OpenRequest& request) {
    again(request);
    const Job& job = registry_.choose(peer, request, now_);
    TRIBUTARY_REQUIRE(job.uid == peer.uid || peer.is_root());
    TRIBUTARY_REQUIRE(!request.vni || job.vni == *request.vni);
    if (!registry_.is_at_socket_limit(peer) && registry_.overhearing(job) == nullptr) {
      registry_.opened({.inode = ++inode_, .uid = peer.uid, .mark = job.mark, .vni = job.vni});
    }
  }
  void handle(const Peer& peer, const AddJobRequest& request) {
    again(request);
    const auto added = registry_.add(peer, request, now_);
    TRIBUTARY_REQUIRE(added.job.vni == request.vni);
    TRIBUTARY_REQUIRE(added.job.uid == peer.uid || peer.is_root());
    TRIBUTARY_REQUIRE(!added.is_new || registry_.sockets_of(added.job.mark) == 0);
  }
  void handle(const Peer& peer, const EndJobRequest& request) {
    again(request);
    const Job ended = registry_.end(peer, request, now_);
    TRIBUTARY_REQUIRE(peer.is_root() || (ended.uid == peer.uid && ended.is_own));
  }
  void handle(const Peer&, const ShowRequest& request) {
    again(request);
    registry_.keep_only({inode_});
    const std::string text = text_of(registry_.record());
    TRIBUTARY_REQUIRE(text_of(record_of(text)) == text);
  }

  void handle(const Peer&, const NodeRequest& request) { again(request); }

  template <typename R> static void again(const R& request) {
    const std::string line = line_of(request);
    TRIBUTARY_REQUIRE(std::holds_alternative<R>(parse_request(line)));
    TRIBUTARY_REQUIRE(line_of(std::get<R>(parse_request(line))) == line);
  }

  Registry registry_;
  TimeNs now_{ns_per_second};
  std::uint64_t inode_ = 0;
};

void run(Input input) {
  const std::uint8_t what = input.take<std::uint8_t>();
  const auto bytes = input.bytes(1U << 20U);
  std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  if (what % 4 == 1) {
    try {
      const std::string written = text_of(record_of(text));
      TRIBUTARY_REQUIRE(text_of(record_of(written)) == written);
    } catch (const AgentError& error) {
      check_message(error);
    }
    return;
  }
  if (what % 4 == 2) {
    try {
      static_cast<void>(opened_of(result_of(text)));
    } catch (const AgentError& error) {
      check_message(error);
    }
    return;
  }
  if (what % 4 == 3) {
    static_cast<void>(guard_state(text));
    return;
  }
  Node node;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty()) {
      node.hear(static_cast<std::uint8_t>(line.front()), line.substr(1));
    }
  }
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::run({data, size});
  return 0;
}
