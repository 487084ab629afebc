#include "controlplane/etcd/member.hpp"

#include "lib/net/as_result.hpp"
#include "lib/net/signals_blocked.hpp"
#include "lib/net/steady_clock.hpp"
#include "tributary/leader.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <random>
#include <stdexcept>
#include <utility>

namespace tributary::etcd {

namespace asio = boost::asio;
namespace json = boost::json;
using boost::system::error_code;
using election::Answer;
using election::Call;
using election::Role;
using net::as_result;
using net::boot_now;
using std::chrono::milliseconds;
using store::Standing;
using store::StoreError;

namespace {

constexpr milliseconds patient_limit{5000};  ///< of calls that no lease waits for
constexpr milliseconds write_limit{2000};    ///< of one attempt
constexpr milliseconds attempt_pause{100};   ///< after one that brought nothing
constexpr milliseconds complete_limit{1000}; ///< until the watch has shown the takeover
constexpr milliseconds complete_pause{5};
constexpr milliseconds longest_drive_pause{1000};
constexpr std::chrono::seconds compact_interval{60};
constexpr milliseconds resign_limit{1000};
/// How many leases another manager of the same name may take to go away.
constexpr std::uint64_t leases_of_a_name = 3;
/// Different failures of one thing that are logged before it works again.
constexpr std::size_t most_complaints = 8;

std::string random_hex(std::size_t digits) {
  std::random_device random;
  std::string text;
  while (text.size() < digits) {
    text += fmt::format("{:08x}", random());
  }
  text.resize(digits);
  return text;
}

/// {3, 4, 23} of "3.4.23".
std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> numbers;
  const char* at = version.data();
  const char* const end = at + version.size();
  while (at != end) {
    int number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) {
      break;
    }
    numbers.push_back(number);
    at = after != end && *after == '.' ? after + 1 : end;
  }
  return numbers;
}

StoreError::Kind kind_of(const Failure& failure) {
  switch (failure.kind) {
  case Failure::Kind::no_room: return StoreError::Kind::no_room;
  case Failure::Kind::denied: return StoreError::Kind::no_permission;
  case Failure::Kind::unknown:
  case Failure::Kind::busy:
  case Failure::Kind::token:
  case Failure::Kind::gone: return StoreError::Kind::unreachable;
  case Failure::Kind::rejected: break;
  }
  return StoreError::Kind::failed;
}

std::string_view advice(const Failure& failure) {
  switch (failure.kind) {
  case Failure::Kind::no_room:
    return "; nothing of this change was stored; make room: compact and defragment etcd, raise its "
           "quota, and disarm its alarm";
  case Failure::Kind::rejected:
    // With users, its gateway takes no certificate that has one.
    return failure.text.find("CommonName") != std::string::npos
               ? "; give the manager a certificate without a common name, for example with the "
                 "subject /O=tributary, in store.etcd_certificate"
               : "";
  case Failure::Kind::denied:
    return "; check store.etcd_user, its password, and that its role may read and write the keys "
           "below store.etcd_prefix";
  default: return "";
  }
}

StoreError error_of(const Failure& failure) {
  return {kind_of(failure), fmt::format("etcd: {}{}", failure.text, advice(failure))};
}

} // namespace

Member::Member(const MemberSettings& settings)
    : keys_(settings.prefix), settings_(settings), instance_(random_hex(16)),
      election_client_(context_, settings.client), watch_client_(context_, settings.client),
      write_client_(context_, settings.client), drive_timer_(context_),
      asks_(context_, [this](election::LeaseId lease) { depose(lease); }), replica_(keys_),
      election_(settings.timing, settings.name, instance_, boot_now()) {
  if (settings.peer) {
    answers_.emplace(context_, *settings.peer, instance_);
    error_code is_name;
    static_cast<void>(asio::ip::make_address(settings.peer->host, is_name));
    if (is_name && settings.peer->host != "localhost" && answers_->is_loopback()) {
      spdlog::warn("store.peer {} is reached from this machine alone, because its name has a "
                   "loopback address here; give an address of this machine, or correct /etc/hosts",
                   settings.peer->text());
    }
  }
}

Member::~Member() {
  context_.stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Member::start() {
  spawn(run());
  const net::SignalsBlocked blocked; // they are the process's
  thread_ = std::thread([this] {
    const auto work = asio::make_work_guard(context_);
    context_.run();
  });
}

ManagerValue Member::self() const {
  return {.name = settings_.name,
          .instance = instance_,
          .addresses = settings_.addresses,
          .switches = settings_.switches,
          .peer = answers_ ? answers_->place().text() : ""};
}

// ---- Leadership ----

Standing Member::standing_locked() const {
  if (failure_) {
    return Standing::over;
  }
  const Standing standing = election_.standing(boot_now());
  return standing == Standing::over || is_ready_ ? standing : Standing::standby;
}

Standing Member::standing() const {
  const std::scoped_lock lock(mutex_);
  return standing_locked();
}

std::string Member::reason() const {
  const std::scoped_lock lock(mutex_);
  return failure_ ? failure_->what() : election_.reason(boot_now());
}

bool Member::is_expired() const {
  const std::scoped_lock lock(mutex_);
  return election_.is_expired(boot_now());
}

std::uint64_t Member::epoch() const {
  const std::scoped_lock lock(mutex_);
  return election_.epoch();
}

void Member::follow(std::function<void()> changed) {
  const std::scoped_lock lock(following_);
  changed_ = std::move(changed);
}

void Member::progressed() {
  const std::scoped_lock lock(mutex_);
  election_.progressed(boot_now());
}

void Member::resign(const std::string& successor) {
  {
    const std::scoped_lock lock(mutex_);
    election_.resign(successor);
  }
  asio::post(context_, [this] { drive_timer_.cancel(); });
  const auto end = std::chrono::steady_clock::now() + resign_limit;
  while (standing() != Standing::over && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(complete_pause);
  }
}

void Member::ends_within(milliseconds limit) {
  asio::post(context_, [this, limit] { ends_at_ = std::chrono::steady_clock::now() + limit; });
}

std::vector<store::RegisteredManager> Member::managers() const {
  const std::scoped_lock lock(mutex_);
  std::vector<store::RegisteredManager> all;
  const std::string leader = leader_ ? leader_->instance : "";
  for (const ManagerValue& one : managers_) {
    all.push_back({.name = one.name,
                   .instance = one.instance,
                   .addresses = one.addresses,
                   .leads = !leader.empty() && one.instance == leader});
  }
  return all;
}

// ---- a standby ----

std::optional<StoreError> Member::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

std::optional<election::LeaderKey> Member::leader() const {
  const std::scoped_lock lock(mutex_);
  return leader_;
}

std::string Member::fabric() const {
  const std::scoped_lock lock(mutex_);
  return fabric_;
}

std::string Member::status() const {
  const std::scoped_lock lock(mutex_);
  const Standing standing = standing_locked();
  if (standing == Standing::leads) {
    return fmt::format("leads with epoch {}", election_.epoch());
  }
  if (standing != Standing::standby) {
    return fmt::format("{}: {}", store::name_of(standing),
                       failure_ ? failure_->what() : election_.reason(boot_now()));
  }
  if (!election_.name_taken_by().empty()) {
    return fmt::format("standby: another manager named {} is registered from {}", settings_.name,
                       election_.name_taken_by());
  }
  return leader_
             ? fmt::format("standby: manager {} leads with epoch {}", leader_->name, leader_->epoch)
             : "standby: no manager leads";
}

bool Member::is_registered() const {
  const std::scoped_lock lock(mutex_);
  return election_.has_entered();
}

void Member::depose(election::LeaseId lease) {
  {
    const std::scoped_lock lock(mutex_);
    if (leader_ && leader_->lease == lease) {
      spdlog::warn("manager {} leads, and does not answer any more: its lease is ended",
                   leader_->name);
    }
    election_.depose(lease);
  }
  asio::post(context_, [this] { drive_timer_.cancel(); });
}

// ---- a leader ----

template <typename T> T Member::wait_for(asio::awaitable<T> work) {
  return asio::co_spawn(context_, std::move(work), asio::use_future).get();
}

record_text::RecordMap Member::take_records() {
  return wait_for([](Replica& replica) -> asio::awaitable<record_text::RecordMap> {
    co_return replica.take_records();
  }(replica_));
}

record_text::RecordMap Member::read_records() {
  return wait_for([](Member& member) -> asio::awaitable<record_text::RecordMap> {
    Replica all(member.keys_);
    if (const auto failure = co_await member.load(member.write_client_, all)) {
      throw error_of(*failure);
    }
    co_return all.take_records();
  }(*this));
}

void Member::commit(std::vector<Part> parts) { wait_for(write(std::move(parts))); }

void Member::keep_damaged(const std::vector<record_text::Put>& texts) {
  for (const record_text::Put& one : texts) {
    Transaction transaction;
    {
      const std::scoped_lock lock(mutex_);
      transaction
          .when({.target = Compare::Target::created,
                 .key = keys_.of("leader"),
                 .revision = election_.created()})
          .put(keys_.of(fmt::format("damaged/{}/{}", election_.epoch(), one.key)), one.text);
    }
    static_cast<void>(wait_for(transact(transaction.request())));
  }
}

std::optional<std::string> Member::text_of(std::string_view record) {
  Transaction transaction;
  transaction.read(keys_.record(record));
  const TransactionAnswer answer = wait_for(transact(transaction.request()));
  return !answer.read.empty() && answer.read[0] ? std::optional(answer.read[0]->value)
                                                : std::nullopt;
}

asio::awaitable<TransactionAnswer> Member::transact(Request request) {
  const Reply reply = co_await write_client_.call(std::move(request), patient_limit);
  if (const auto* const failure = std::get_if<Failure>(&reply)) {
    throw error_of(*failure);
  }
  try {
    co_return transaction_answer(std::get<json::object>(reply));
  } catch (const std::exception& wrong) {
    throw StoreError(StoreError::Kind::unreachable, fmt::format("etcd: {}", wrong.what()));
  }
}

asio::awaitable<void> Member::write(std::vector<Part> parts) {
  if (is_abandoned_) {
    throw StoreError(StoreError::Kind::unreachable, "the process ends, and a write is unfinished");
  }
  Fence fence{.name = "leader", .created = 0, .term = {}};
  {
    const std::scoped_lock lock(mutex_);
    fence.created = election_.created();
    fence.term = std::to_string(election_.epoch());
    election_.writing(boot_now());
  }
  Commit commit(keys_, fence, sequence_, std::move(parts));
  bool over = false;
  while (commit.state() == Commit::State::running && !over && !is_abandoned_) {
    const Reply reply = co_await write_client_.call(commit.request(), write_limit);
    commit.answered(reply);
    if (commit.state() != Commit::State::running || !commit.pauses()) {
      continue;
    }
    if (commit.unknown_attempts() == 1) {
      spdlog::warn("etcd did not say whether a write was stored ({}); it is repeated until it is "
                   "known",
                   commit.failure().text);
    }
    over = is_over();
    is_abandoned_ = ends_at_ && std::chrono::steady_clock::now() >= *ends_at_;
    co_await pause(attempt_pause);
  }
  sequence_ = commit.sequence();
  {
    const std::scoped_lock lock(mutex_);
    election_.wrote();
    if (commit.state() == Commit::State::fenced) {
      election_.fenced();
    }
  }
  switch (commit.state()) {
  case Commit::State::done: co_return;
  case Commit::State::refused: throw error_of(commit.failure());
  case Commit::State::fenced: break;
  case Commit::State::running:
    if (!over) {
      throw StoreError(StoreError::Kind::unreachable,
                       fmt::format("etcd did not say whether the last write was stored: {}",
                                   commit.failure().text));
    }
    break;
  }
  notify();
  throw StoreError(StoreError::Kind::fenced,
                   fmt::format("this manager does not lead any more: {}", reason()));
}

// ---- the member's thread ----

void Member::spawn(asio::awaitable<void> work) {
  asio::co_spawn(context_, std::move(work), [this](const std::exception_ptr& error) {
    try {
      if (error) {
        std::rethrow_exception(error);
      }
    } catch (const std::exception& wrong) {
      // Nothing renews the lease any more: it must not go unnoticed.
      fail({StoreError::Kind::failed, fmt::format("the connection to etcd: {}", wrong.what())});
    }
  });
}

asio::awaitable<void> Member::pause(milliseconds time) {
  asio::steady_timer timer(context_);
  timer.expires_after(time);
  co_await timer.async_wait(as_result);
}

bool Member::is_over() const {
  const std::scoped_lock lock(mutex_);
  return failure_ || election_.role() == Role::over;
}

void Member::fail(StoreError error) {
  {
    const std::scoped_lock lock(mutex_);
    failure_ = std::move(error);
  }
  notify();
}

void Member::complain(std::string_view doing, const Failure& failure) {
  std::set<std::string>& said = complaints_[std::string(doing)];
  if (said.size() < most_complaints && said.insert(failure.text).second) {
    spdlog::warn("etcd: {}: {}{}", doing, failure.text, advice(failure));
  }
}

void Member::works_again(std::string_view doing) {
  if (const auto found = complaints_.find(doing); found != complaints_.end()) {
    complaints_.erase(found);
    spdlog::info("etcd: {} works again", doing);
  }
}

void Member::notify() {
  {
    const std::scoped_lock lock(mutex_);
    const Standing standing = standing_locked();
    if (standing == std::exchange(notified_, standing)) {
      return;
    }
  }
  const std::scoped_lock lock(following_);
  if (changed_) {
    changed_();
  }
}

asio::awaitable<void> Member::run() {
  // Not as the condition of the loop: GCC 12 gives such a coroutine a frame that it cannot resume.
  for (;;) {
    const bool is_prepared = co_await prepare();
    if (is_prepared) {
      break;
    }
    if (is_over()) {
      co_return;
    }
    co_await pause(attempt_pause);
  }
  co_await load_until_complete();
  spawn(watch());
  co_await drive();
}

asio::awaitable<bool> Member::check_version() {
  const Reply reply = co_await election_client_.get("/version", patient_limit);
  if (const auto* const failure = std::get_if<Failure>(&reply)) {
    if (failure->kind == Failure::Kind::rejected) {
      fail({StoreError::Kind::failed,
            fmt::format("{} is not etcd: {}", election_client_.place(), failure->text)});
    } else {
      complain("reading its version", *failure);
    }
    co_return false;
  }
  works_again("reading its version");
  const json::value* const version = std::get<json::object>(reply).if_contains("etcdserver");
  const std::string text =
      version != nullptr && version->is_string() ? std::string(version->get_string()) : "";
  const std::vector<int> numbers = numbers_of(text);
  if (numbers < std::vector<int>{3, 4}) {
    fail({StoreError::Kind::other_version,
          fmt::format("etcd at {} has version \"{}\"; at least 3.4 is needed",
                      election_client_.place(), text)});
    co_return false;
  }
  const bool has_known_faults =
      numbers < std::vector<int>{3, 4, 32} ||
      (numbers >= std::vector<int>{3, 5} && numbers < std::vector<int>{3, 5, 14});
  if (has_known_faults) {
    spdlog::warn("etcd at {} has version {}, which may lose or corrupt data in faults that 3.4.32 "
                 "and 3.5.14 have mended; upgrade it",
                 election_client_.place(), text);
  }
  co_return true;
}

/// Whose keys are below the prefix; makes the first ones.
asio::awaitable<bool> Member::prepare() {
  if (!co_await check_version()) {
    co_return false;
  }
  for (;;) {
    Transaction look;
    look.read(keys_.of("format")).read(keys_.of("fabric")).read(keys_.of("import"));
    const Reply reply = co_await election_client_.call(look.request(), patient_limit);
    if (const auto* const failure = std::get_if<Failure>(&reply)) {
      if (failure->kind == Failure::Kind::denied || failure->kind == Failure::Kind::rejected) {
        fail(error_of(*failure));
      } else {
        complain("reading the fabric's keys", *failure);
      }
      co_return false;
    }
    works_again("reading the fabric's keys");
    TransactionAnswer seen;
    try {
      seen = transaction_answer(std::get<json::object>(reply));
    } catch (const std::exception& wrong) {
      fail({StoreError::Kind::failed, fmt::format("{} does not answer as etcd does: {}",
                                                  election_client_.place(), wrong.what())});
      co_return false;
    }
    const auto& format = seen.read.at(0);
    if (seen.read.at(2)) {
      fail(
          {StoreError::Kind::unfinished,
           fmt::format("below {} in etcd are records of an import that did not end ({}); repeat it "
                       "with \"tributaryctl store import --replace\"",
                       keys_.prefix(), seen.read.at(2)->value)});
      co_return false;
    }
    const auto& fabric = seen.read.at(1);
    if (format && format->value != format_version) {
      fail({StoreError::Kind::other_version,
            fmt::format("the keys below {} in etcd have format version \"{}\", and this program "
                        "reads version {} only; run the tributary-fabricd that wrote them, or "
                        "configure another store.etcd_prefix",
                        keys_.prefix(), format->value, format_version)});
      co_return false;
    }
    if (format && fabric) {
      const std::scoped_lock lock(mutex_);
      fabric_ = fabric->value;
      co_return true;
    }
    const Reply others = co_await election_client_.call(
        range_request(keys_.of(""), keys_.end(), 0, 1), patient_limit);
    if (const auto* const failure = std::get_if<Failure>(&others)) {
      complain("reading the fabric's keys", *failure);
      co_return false;
    }
    const auto found = range_answer(std::get<json::object>(others)).found;
    if (!format && !found.empty() && found.front().key != keys_.of("format")) {
      fail({StoreError::Kind::not_a_database,
            fmt::format("below {} in etcd are keys that are not a fabric manager's, such as {}; "
                        "configure another store.etcd_prefix",
                        keys_.prefix(), found.front().key)});
      co_return false;
    }
    Transaction make;
    make.when({.target = Compare::Target::changed,
               .key = keys_.of("format"),
               .revision = format ? format->changed : 0})
        .when({.target = Compare::Target::created, .key = keys_.of("fabric")})
        .when({.target = Compare::Target::created, .key = keys_.of("import")})
        .put(keys_.of("format"), format_version)
        .put(keys_.of("fabric"), random_hex(fabric_digits));
    const Reply made = co_await election_client_.call(make.request(), patient_limit);
    if (const auto* const failure = std::get_if<Failure>(&made)) {
      if (failure->kind == Failure::Kind::denied) {
        fail(error_of(*failure));
      } else {
        complain("making the fabric's first keys", *failure);
      }
      co_return false;
    }
  }
}

asio::awaitable<std::optional<Failure>> Member::load(Client& client, Replica& into) {
  into.clear();
  Revision revision = 0;
  std::string from = keys_.of("");
  for (bool has_more = true; has_more;) {
    const Reply reply = co_await client.call(
        range_request(from, keys_.end(), revision, records_a_page), patient_limit);
    if (const auto* const failure = std::get_if<Failure>(&reply)) {
      co_return *failure;
    }
    RangeAnswer answer;
    try {
      answer = range_answer(std::get<json::object>(reply));
    } catch (const std::exception& wrong) {
      co_return Failure{Failure::Kind::unknown, wrong.what()};
    }
    revision = revision == 0 ? answer.revision : revision;
    for (const KeyValue& entry : answer.found) {
      into.add(entry);
    }
    has_more = answer.has_more && !answer.found.empty();
    if (has_more) {
      from = answer.found.back().key + '\0';
    }
  }
  into.complete(revision);
  co_return std::nullopt;
}

asio::awaitable<void> Member::load_until_complete() {
  for (;;) {
    const auto failure = co_await load(watch_client_, replica_);
    if (!failure) {
      break;
    }
    complain("reading all records", *failure);
    co_await pause(attempt_pause);
    if (is_over()) {
      co_return;
    }
  }
  works_again("reading all records");
  {
    const std::scoped_lock lock(mutex_);
    managers_ = replica_.managers();
    leader_ = leader_key(replica_.leader());
  }
  watch_leader();
}

asio::awaitable<void> Member::watch() {
  const auto leads_now = [this] {
    const std::scoped_lock lock(mutex_);
    return is_ready_;
  };
  bool load_first = false;
  while (!is_over()) {
    const bool leads = leads_now();
    if (std::exchange(load_first, false)) {
      co_await load_until_complete();
    }
    // A leader has no use for its own writes: it watches "leader" and "manager/...".
    const std::string from = leads ? keys_.of("leader") : keys_.of("");
    const std::string end = leads ? record_text::end_of(keys_.of("manager")) : keys_.end();
    WatchReader reader;
    std::optional<Failure> ended;
    const auto take_all = [&](std::string_view bytes) {
      for (const WatchAnswer& answer : reader.take(bytes)) {
        take(answer);
        if (answer.end) {
          ended = answer.end;
          throw std::runtime_error(answer.end->text);
        }
      }
      if (leads != leads_now()) {
        throw std::runtime_error("another watch takes its place");
      }
    };
    Failure failure = co_await watch_client_.stream(
        watch_request(from, end, replica_.revision() + 1), patient_limit, take_all);
    failure = ended.value_or(failure);
    if (leads != leads_now()) {
      continue; // the watch was ended for another one
    }
    complain("watching", failure);
    // What was missed is compacted, and everything is read again.
    load_first = failure.kind == Failure::Kind::gone;
    co_await pause(attempt_pause);
  }
}

void Member::take(const WatchAnswer& answer) {
  replica_.apply(answer);
  works_again("watching");
  if (answer.events.empty()) {
    return;
  }
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    for (const WatchEvent& event : answer.events) {
      if (event.entry.key == keys_.of("leader")) {
        leader_ = event.erased ? std::nullopt : leader_key(event.entry);
        election_.watched(event.entry.changed, leader_);
        wake = true;
      }
    }
    managers_ = replica_.managers();
  }
  if (wake) {
    drive_timer_.cancel();
    watch_leader();
  }
}

void Member::watch_leader() {
  const std::optional<election::LeaderKey> key = leader();
  try {
    if (key && key->instance != instance_ && !key->peer.empty()) {
      return asks_.follow(key->lease, key->instance,
                          net::parse_host_port(key->peer, net::Purpose::dial));
    }
  } catch (const net::AddressError& wrong) {
    spdlog::warn("manager {} cannot be asked whether it runs: {}", key->name, wrong.what());
  }
  asks_.follow(0, {}, {});
}

asio::awaitable<void> Member::drive() {
  bool leads = false;
  for (;;) {
    std::optional<Call> call;
    TimeNs now{};
    TimeNs deadline{};
    {
      const std::scoped_lock lock(mutex_);
      now = boot_now();
      call = election_.next(now);
      deadline = election_.next_deadline(now);
      if (election_.name_taken_since() != never &&
          elapsed_ns(now, election_.name_taken_since()) >
              leases_of_a_name * settings_.timing.lease_ns) {
        failure_.emplace(
            StoreError::Kind::locked,
            fmt::format("another manager named {} runs, at {}; give each its own manager.name",
                        settings_.name, election_.name_taken_by()));
      }
    }
    notify();
    if (is_over()) {
      co_return;
    }
    if (call) {
      const Answer answer = co_await ask(*call);
      bool begins_to_lead = false;
      {
        const std::scoped_lock lock(mutex_);
        election_.answered(boot_now(), call->number, answer);
        begins_to_lead = election_.role() == Role::leader && !std::exchange(leads, true);
      }
      if (begins_to_lead) {
        spawn(become_ready());
      }
      continue;
    }
    const auto until_deadline = deadline == never
                                    ? std::chrono::nanoseconds(longest_drive_pause)
                                    : std::chrono::nanoseconds(elapsed_ns(deadline, now));
    drive_timer_.expires_after(
        std::min<std::chrono::nanoseconds>(until_deadline, longest_drive_pause));
    co_await drive_timer_.async_wait(as_result);
  }
}

/// The records of the leader before this one may still be on their way.
asio::awaitable<void> Member::become_ready() {
  const Revision created = [this] {
    const std::scoped_lock lock(mutex_);
    return election_.created();
  }();
  const auto end = std::chrono::steady_clock::now() + complete_limit;
  while (replica_.revision() < created && std::chrono::steady_clock::now() < end) {
    co_await pause(complete_pause);
  }
  while (replica_.revision() < created && !is_over()) {
    Replica all(keys_);
    if (const auto failure = co_await load(write_client_, all)) {
      complain("reading all records", *failure);
      co_await pause(attempt_pause);
      continue;
    }
    replica_ = std::move(all);
  }
  if (is_over()) {
    co_return;
  }
  {
    const std::scoped_lock lock(mutex_);
    is_ready_ = true;
    election_.progressed(boot_now());
  }
  watch_client_.close(); // and watch less from now on
  spawn(compact());
  notify();
}

/// etcd keeps every revision until it is compacted. A standby that is a minute behind reads all
/// records again.
asio::awaitable<void> Member::compact() {
  Client client(context_, settings_.client);
  Revision before = 0;
  while (!is_over()) {
    const Reply reply = co_await client.call(look_request(keys_), patient_limit);
    if (const auto* const body = std::get_if<json::object>(&reply)) {
      if (before != 0) {
        static_cast<void>(co_await client.call(compact_request(before), patient_limit));
      }
      before = transaction_answer(*body).revision;
    }
    co_await pause(compact_interval);
  }
}

// ---- the election's calls ----

asio::awaitable<Answer> Member::ask(Call call) {
  using Kind = Call::Kind;
  const Limit limit(settings_.timing.silence_ns / ns_per_ms);
  if (call.kind == Kind::enter) {
    co_return co_await enter(call.lease);
  }
  Request request;
  switch (call.kind) {
  case Kind::grant: request = grant_request(settings_.timing.lease_ns / ns_per_second); break;
  case Kind::renew: request = renew_request(call.lease); break;
  case Kind::depose: request = revoke_request(call.lease); break;
  case Kind::look: request = look_request(keys_); break;
  case Kind::campaign: request = campaign_request(keys_, self(), call.lease, call.sight); break;
  case Kind::resign: {
    // Without a successor its name becomes free as well, for the next run.
    const std::scoped_lock lock(mutex_);
    request = call.successor.empty()
                  ? revoke_request(call.lease)
                  : resign_request(keys_, election_.created(), call.lease, call.successor);
    break;
  }
  case Kind::enter: break;
  }
  const Reply reply = co_await election_client_.call(std::move(request), limit);
  if (const auto* const failure = std::get_if<Failure>(&reply)) {
    if (failure->kind == Failure::Kind::gone &&
        (call.kind == Kind::depose || call.kind == Kind::resign)) {
      co_return election::Done{}; // its lease has ended by itself
    }
    complain("the election", *failure);
    co_return election::NoAnswer{};
  }
  works_again("the election");
  const json::object& body = std::get<json::object>(reply);
  try {
    switch (call.kind) {
    case Kind::grant: {
      const LeaseAnswer lease = lease_answer(body);
      co_return election::Granted{lease.lease, lease.ttl_ns};
    }
    case Kind::renew: co_return election::Renewed{lease_answer(body).ttl_ns};
    case Kind::look: co_return sight_of(transaction_answer(body));
    case Kind::campaign: {
      const TransactionAnswer answer = transaction_answer(body);
      if (answer.succeeded) {
        co_return election::Won{answer.revision};
      }
      co_return election::Lost{sight_of(answer)};
    }
    case Kind::depose:
    case Kind::resign:
    case Kind::enter: break;
    }
  } catch (const std::exception& wrong) {
    complain("the election", {Failure::Kind::rejected, wrong.what()});
    co_return election::NoAnswer{};
  }
  co_return election::Done{};
}

asio::awaitable<Answer> Member::enter(election::LeaseId lease) {
  const Limit limit(settings_.timing.silence_ns / ns_per_ms);
  const std::string key = keys_.of("manager/" + settings_.name);
  Transaction look;
  look.read(key);
  const Reply seen = co_await election_client_.call(look.request(), limit);
  if (const auto* const failure = std::get_if<Failure>(&seen)) {
    complain("entering the manager's name", *failure);
    co_return election::NoAnswer{};
  }
  try {
    const auto there = transaction_answer(std::get<json::object>(seen)).read.at(0);
    if (there) {
      const ManagerValue other = decode_manager(there->value);
      if (other.instance != instance_) {
        co_return election::Entered{other.addresses.empty()
                                        ? "a manager without an address"
                                        : fmt::format("{}", fmt::join(other.addresses, ", "))};
      }
    }
    Transaction put;
    put.when(
           {.target = Compare::Target::changed, .key = key, .revision = there ? there->changed : 0})
        .put(key, encode(self()), lease);
    const Reply reply = co_await election_client_.call(put.request(), limit);
    if (const auto* const body = std::get_if<json::object>(&reply);
        body != nullptr && transaction_answer(*body).succeeded) {
      works_again("entering the manager's name");
      co_return election::Entered{};
    }
  } catch (const std::exception& wrong) {
    complain("entering the manager's name", {Failure::Kind::rejected, wrong.what()});
  }
  co_return election::NoAnswer{};
}

} // namespace tributary::etcd
