#include "controlplane/etcd/transfer.hpp"

#include "controlplane/etcd/protocol/commit.hpp"
#include "controlplane/etcd/protocol/replica.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace tributary::etcd {

namespace asio = boost::asio;
using record_text::Exported;
using store::StoreError;
using Kind = StoreError::Kind;

namespace {

constexpr std::chrono::milliseconds call_limit{5000};
constexpr std::chrono::milliseconds pause{200};
constexpr std::chrono::seconds longest{60}; ///< in which the same request is repeated

/// One call after the other, on this thread.
class Calls {
public:
  Calls(const ClientSettings& settings, const std::string& prefix)
      : keys_(prefix), client_(context_, settings) {}
  [[nodiscard]] const Keys& keys() const { return keys_; }

  Reply once(const Request& request) {
    auto reply = asio::co_spawn(context_, client_.call(request, call_limit), asio::use_future);
    context_.restart();
    while (reply.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      context_.run_one();
    }
    return reply.get();
  }
  /// A request that may be repeated.
  boost::json::object demand(const Request& request) {
    const auto end = std::chrono::steady_clock::now() + longest;
    for (;;) {
      Reply reply = once(request);
      if (auto* const body = std::get_if<boost::json::object>(&reply)) {
        return std::move(*body);
      }
      const Failure& failure = std::get<Failure>(reply);
      const bool may_pass = failure.kind == Failure::Kind::unknown ||
                            failure.kind == Failure::Kind::busy ||
                            failure.kind == Failure::Kind::token;
      if (!may_pass || std::chrono::steady_clock::now() > end) {
        throw StoreError(failure.kind == Failure::Kind::no_room  ? Kind::no_room
                         : failure.kind == Failure::Kind::denied ? Kind::no_permission
                                                                 : Kind::unreachable,
                         fmt::format("etcd: {}", failure.text));
      }
      std::this_thread::sleep_for(pause);
    }
  }

private:
  asio::io_context context_{1};
  Keys keys_;
  Client client_;
};

struct Seen {
  std::optional<KeyValue> format;
  std::optional<KeyValue> fabric;
  std::optional<KeyValue> epoch;
  std::optional<KeyValue> leader;
  std::optional<KeyValue> import;
};

Seen look(Calls& calls) {
  const Keys& keys = calls.keys();
  Transaction transaction;
  for (const char* const key : {"format", "fabric", "epoch", "leader", "import"}) {
    transaction.read(keys.of(key));
  }
  TransactionAnswer answer = transaction_answer(calls.demand(transaction.request()));
  return {answer.read.at(0), answer.read.at(1), answer.read.at(2), answer.read.at(3),
          answer.read.at(4)};
}

/// Takes the right to write: the key "import", made now. Returns its revision.
Revision begin_import(Calls& calls, const Seen& seen) {
  const Keys& keys = calls.keys();
  if (seen.import) {
    Transaction forget;
    forget
        .when({.target = Compare::Target::created,
               .key = keys.of("import"),
               .revision = seen.import->created})
        .erase(keys.of("import"));
    static_cast<void>(calls.demand(forget.request()));
  }
  Transaction begin;
  begin.when({.target = Compare::Target::created, .key = keys.of("leader")})
      .when({.target = Compare::Target::created, .key = keys.of("import")})
      .when({.target = Compare::Target::changed,
             .key = keys.of("format"),
             .revision = seen.format ? seen.format->changed : 0})
      .put(keys.of("import"), "begun, and not ended")
      .put(keys.of("commit"), "import/0")
      .erase(keys.of("format"))
      .erase_range(keys.record(""), record_text::end_of(keys.of("record")));
  const TransactionAnswer answer = transaction_answer(calls.demand(begin.request()));
  if (!answer.succeeded) {
    throw StoreError(Kind::locked,
                     fmt::format("the keys below {} have changed meanwhile: a manager leads, or "
                                 "another import runs; try again with \"--replace\"",
                                 keys.prefix()));
  }
  return answer.revision;
}

std::uint64_t number_of(const std::optional<KeyValue>& epoch) {
  return epoch ? std::stoull(epoch->value) : 0;
}

} // namespace

Exported read_records(const ClientSettings& settings, const std::string& prefix) {
  Calls calls(settings, prefix);
  const Keys& keys = calls.keys();
  const Seen seen = look(calls);
  if (!seen.format || seen.format->value != format_version) {
    throw StoreError(seen.import ? Kind::unfinished : Kind::not_a_database,
                     fmt::format("below {} in etcd are no records of a fabric{}", prefix,
                                 seen.import ? ", but those of an import that did not end" : ""));
  }
  Replica replica(keys);
  Revision revision = 0;
  std::string from = keys.record("");
  for (bool has_more = true; has_more;) {
    const RangeAnswer answer = range_answer(calls.demand(
        range_request(from, record_text::end_of(keys.of("record")), revision, records_a_page)));
    revision = revision == 0 ? answer.revision : revision;
    for (const KeyValue& entry : answer.found) {
      replica.add(entry);
    }
    has_more = answer.has_more && !answer.found.empty();
    if (has_more) {
      from = answer.found.back().key + '\0';
    }
  }
  Exported all{.records = replica.records().snapshot(),
               .fabric = seen.fabric ? seen.fabric->value : ""};
  all.records.epoch = std::max(all.records.epoch, number_of(seen.epoch));
  return all;
}

void write_records(const ClientSettings& settings, const std::string& prefix, const Exported& all,
                   bool replace) {
  Calls calls(settings, prefix);
  const Keys& keys = calls.keys();
  const Seen seen = look(calls);
  if (const auto leader = leader_key(seen.leader)) {
    throw StoreError(Kind::locked, fmt::format("manager {} leads the fabric below {}; stop all "
                                               "managers of it first",
                                               leader->name, prefix));
  }
  if ((seen.format || seen.import) && !replace) {
    throw StoreError(
        Kind::failed,
        fmt::format("below {} in etcd are {}; \"--replace\" erases them", prefix,
                    seen.import ? "records of an import that did not end" : "records of a fabric"));
  }
  std::vector<Part> parts;
  try {
    parts = parts_of(record_text::changes_of(all.records));
  } catch (const TooLarge& error) {
    throw StoreError(Kind::failed, error.what());
  }
  const Revision begun = begin_import(calls, seen);
  if (!parts.empty()) {
    Commit commit(keys, {"import", begun, "import"}, 0, std::move(parts));
    const auto end = std::chrono::steady_clock::now() + longest;
    while (commit.state() == Commit::State::running) {
      commit.answered(calls.once(commit.request()));
      if (commit.state() == Commit::State::running && commit.pauses()) {
        if (std::chrono::steady_clock::now() > end) {
          throw StoreError(Kind::unreachable, fmt::format("etcd: {}; repeat the import with "
                                                          "\"--replace\"",
                                                          commit.failure().text));
        }
        std::this_thread::sleep_for(pause);
      }
    }
    if (commit.state() != Commit::State::done) {
      throw StoreError(Kind::failed,
                       fmt::format("the import was not ended: {}; repeat it with \"--replace\"",
                                   commit.state() == Commit::State::fenced
                                       ? "another import has replaced it"
                                       : commit.failure().text));
    }
  }
  Transaction finish;
  finish.when({.target = Compare::Target::created, .key = keys.of("import"), .revision = begun})
      .put(keys.of("format"), format_version)
      .put(keys.of("epoch"), std::to_string(std::max(all.records.epoch, number_of(seen.epoch))))
      .erase(keys.of("import"));
  if (!all.fabric.empty()) {
    finish.put(keys.of("fabric"), all.fabric);
  }
  static_cast<void>(calls.demand(finish.request()));
  if (look(calls).import) {
    throw StoreError(Kind::failed, "another import has replaced this one");
  }
}

} // namespace tributary::etcd
