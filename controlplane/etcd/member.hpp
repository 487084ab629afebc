// A manager among those that share a fabric's records in etcd: it follows them as a standby, takes
// the lead when it is free, and writes as the leader. What it decides is in election/ and
// protocol/; here is what asks etcd and waits.
//
//   Member member(settings);                throws StoreError for files that cannot be used
//   member.follow([&] { ... });
//   member.start();
//   ... until member.standing() is `leads`, or member.failure() says why it never will
//   auto records = member.take_records();   as the leader before it left them
//   member.commit(changes);                 returns, or throws, when the outcome is known
//
// It has one thread, and three connections to etcd: the election's, the watch's and the writer's,
// so that a lease is renewed while a write takes its time.
//
//   prepare   the version of etcd, and whose keys are below the prefix
//   load      all records at one revision, a page at a time
//   watch     changes since: the replica is complete up to a few milliseconds ago
//   drive     the election's calls, one at a time
//
// Beside etcd it hears from the leader itself (peer.hpp), and ends its lease when it is dead.
//
// A manager that takes the lead is `leads` once its replica is complete up to the takeover. From
// then on it watches the leader's key alone.
//
// Shell.
#pragma once

#include "controlplane/election/election.hpp"
#include "controlplane/etcd/client.hpp"
#include "controlplane/etcd/peer.hpp"
#include "controlplane/etcd/protocol/commit.hpp"
#include "controlplane/etcd/protocol/replica.hpp"
#include "controlplane/store/leadership.hpp"
#include "controlplane/store/store_error.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tributary::etcd {

struct MemberSettings {
  ClientSettings client;
  std::string prefix = "/tributary/fabric"; ///< without a slash at the end
  std::string name;                         ///< of this manager, its own among those of the fabric
  std::vector<std::string> addresses;       ///< of its HTTP API, as others reach it
  std::vector<std::string> switches{};      ///< for switches, as they reach it
  /// Where it answers other managers; port 0 selects a free one. Absent: they wait for the end of
  /// its lease.
  std::optional<net::HostPort> peer{};
  election::Timing timing{};
};

class Member final : public store::Leadership {
public:
  /// Throws net::ListenFailed for the address at which it answers others.
  explicit Member(const MemberSettings& settings);
  ~Member() override;

  void start();

  // ---- Leadership ----

  [[nodiscard]] store::Standing standing() const override;
  [[nodiscard]] std::string reason() const override;
  [[nodiscard]] bool is_expired() const override;
  [[nodiscard]] std::uint64_t epoch() const override;
  void follow(std::function<void()> changed) override;
  void progressed() override;
  void resign(const std::string& successor) override;
  void ends_within(std::chrono::milliseconds limit) override;
  [[nodiscard]] std::vector<store::RegisteredManager> managers() const override;

  // ---- a standby ----

  /// Whether its name is its own: another run of this manager, or another manager of its name, is
  /// away.
  [[nodiscard]] bool is_registered() const;
  /// Why it can neither follow nor lead, for good.
  [[nodiscard]] std::optional<store::StoreError> failure() const;
  /// For the log and the service manager: "standby: manager a leads with epoch 7".
  [[nodiscard]] std::string status() const;
  /// The leader's key, as last seen; its own when it leads.
  [[nodiscard]] std::optional<election::LeaderKey> leader() const;
  /// The leader with this lease does not answer: revokes its lease, so that the lead is free. If it
  /// was wrong, that costs a takeover and nothing else.
  void depose(election::LeaseId lease);
  /// The identity of the fabric, 16 hexadecimal digits; "" before etcd has answered.
  [[nodiscard]] std::string fabric() const;

  // ---- a leader; the thread of the store ----

  /// Once.
  [[nodiscard]] record_text::RecordMap take_records();
  /// All records, read again. Throws StoreError.
  [[nodiscard]] record_text::RecordMap read_records();
  /// No parts: a confirmation. Throws StoreError, as store::Store::apply does.
  void commit(std::vector<Part> parts);
  /// Keeps texts of records that could not be used, below "damaged/EPOCH/".
  void keep_damaged(const std::vector<record_text::Put>& texts);
  /// The text of a record, as it is in etcd.
  [[nodiscard]] std::optional<std::string> text_of(std::string_view record);

private:
  using Limit = std::chrono::milliseconds;

  // The member's thread.
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<bool> prepare();
  boost::asio::awaitable<bool> check_version();
  boost::asio::awaitable<std::optional<Failure>> load(Client& client, Replica& into);
  boost::asio::awaitable<void> load_until_complete();
  boost::asio::awaitable<void> watch();
  boost::asio::awaitable<void> drive();
  boost::asio::awaitable<void> become_ready();
  boost::asio::awaitable<void> compact();
  boost::asio::awaitable<election::Answer> ask(election::Call call);
  boost::asio::awaitable<election::Answer> enter(election::LeaseId lease);
  boost::asio::awaitable<void> write(std::vector<Part> parts);
  boost::asio::awaitable<TransactionAnswer> transact(Request request);
  boost::asio::awaitable<void> pause(Limit time);
  /// One that throws ends the member.
  void spawn(boost::asio::awaitable<void> work);
  void take(const WatchAnswer& answer);
  /// Asks the manager that leads whether it runs.
  void watch_leader();
  void fail(store::StoreError error);
  /// Reports a failure that will be tried again, once until this works again: endpoints that fail
  /// in turn are a line each.
  void complain(std::string_view doing, const Failure& failure);
  void works_again(std::string_view doing);
  void notify();
  [[nodiscard]] store::Standing standing_locked() const;
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] ManagerValue self() const;
  /// Runs it on the member's thread, and waits for the end.
  template <typename T> T wait_for(boost::asio::awaitable<T> work);

  Keys keys_;
  MemberSettings settings_;
  std::string instance_;
  boost::asio::io_context context_{1};
  Client election_client_;
  Client watch_client_;
  Client write_client_;
  boost::asio::steady_timer drive_timer_;
  std::optional<PeerListener> answers_;
  PeerAsker asks_;
  Replica replica_;
  std::uint64_t sequence_ = 0;                                           ///< of the last write
  std::map<std::string, std::set<std::string>, std::less<>> complaints_; ///< by what was done
  std::optional<std::chrono::steady_clock::time_point> ends_at_;
  bool is_abandoned_ = false; ///< a write had no known outcome when the process ended

  mutable std::mutex mutex_; ///< of what follows
  election::Election election_;
  bool is_ready_ = false; ///< it leads, and its replica is complete
  std::optional<store::StoreError> failure_;
  std::string fabric_;
  std::vector<ManagerValue> managers_;
  std::optional<election::LeaderKey> leader_;
  store::Standing notified_ = store::Standing::standby;

  std::mutex following_; ///< held while `changed_` runs or is replaced
  std::function<void()> changed_;

  std::thread thread_;
};

} // namespace tributary::etcd
