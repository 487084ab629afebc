#include "controlplane/store/store.hpp"

#include "controlplane/store/lock_file.hpp"
#include "controlplane/store/schema.hpp"
#include "controlplane/store/sqlite.hpp"
#include "controlplane/store/tree_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <system_error>
#include <unistd.h>

namespace tributary::store {
namespace {

using Kind = StoreError::Kind;

/// Makes an empty file that only its owner may read, for it will hold tokens, unless there is one.
/// SQLite gives the files beside it the same mode.
const std::filesystem::path& prepared(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const int why = errno;
    const auto kind =
        why == EACCES || why == EPERM || why == EROFS ? Kind::no_permission : Kind::failed;
    throw StoreError(kind, fmt::format("{} cannot be opened: {}", file.string(),
                                       std::generic_category().message(why)));
  }
  ::close(descriptor);
  return file;
}

template <typename Number> std::optional<Number> optional_at(const Statement& row, int column) {
  return row.null(column) ? std::nullopt : std::optional(static_cast<Number>(row.integer(column)));
}

std::optional<std::uint16_t> value_of(const std::optional<Vni>& vni) {
  return vni ? std::optional(vni->value) : std::nullopt;
}

/// One prepared statement for each kind of change.
class Writer {
public:
  explicit Writer(Database& db)
      : job_(db.prepare("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?)")),
        group_(db.prepare(
            "INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")),
        member_(db.prepare("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?)")),
        tree_(db.prepare("INSERT OR REPLACE INTO trees VALUES (?, ?, ?, ?)")),
        address_(db.prepare("INSERT OR REPLACE INTO addresses VALUES (?, ?)")),
        topology_(db.prepare("INSERT OR REPLACE INTO topology VALUES (1, ?)")),
        erase_job_(db.prepare("DELETE FROM jobs WHERE id = ?")),
        erase_group_(db.prepare("DELETE FROM groups WHERE id = ?")),
        erase_members_(db.prepare("DELETE FROM members WHERE group_id = ?")),
        erase_trees_(db.prepare("DELETE FROM trees WHERE group_id = ?")),
        erase_member_(db.prepare("DELETE FROM members WHERE group_id = ? AND rank = ?")) {}

  void operator()(const JobRecord& j) {
    job_.run(j.id, j.multicast_limit, j.token, value_of(j.vni), j.ending);
  }
  void operator()(const GroupRecord& g) {
    group_.run(g.id.value, g.job, g.name, g.step, g.multicast, g.size, g.trees, g.wanted_root,
               g.root, g.vni.value, g.cookie.value, g.timeout_us, name_of(g.state));
  }
  void operator()(const MemberRecord& m) {
    member_.run(m.group.value, m.rank, m.nid.value, m.host, name_of(m.state));
  }
  void operator()(const TreeRecord& t) {
    const std::string form = encode(t.form);
    tree_.run(t.number.value, t.group.value, t.index, form);
  }
  void operator()(const AddressRecord& a) { address_.run(a.space, a.next); }
  void operator()(const TopologyRecord& t) { topology_.run(t.document); }
  void operator()(const EraseJob& e) { erase_job_.run(e.id); }
  void operator()(const EraseGroup& e) {
    erase_trees_.run(e.id.value);
    erase_members_.run(e.id.value);
    erase_group_.run(e.id.value);
  }
  void operator()(const EraseMember& e) { erase_member_.run(e.group.value, e.rank); }

private:
  Statement job_;
  Statement group_;
  Statement member_;
  Statement tree_;
  Statement address_;
  Statement topology_;
  Statement erase_job_;
  Statement erase_group_;
  Statement erase_members_;
  Statement erase_trees_;
  Statement erase_member_;
};

/// Begins, and drops what was done unless `commit` came to its end.
class Transaction {
public:
  explicit Transaction(Database& database) : database_(database) {
    database_.execute("BEGIN IMMEDIATE");
  }
  ~Transaction() { database_.roll_back(); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() { database_.execute("COMMIT"); }

private:
  Database& database_;
};

Snapshot read_all(Database& db, std::uint64_t epoch) {
  Snapshot all;
  all.epoch = epoch;
  Statement jobs =
      db.prepare("SELECT id, multicast_limit, token, vni, ending FROM jobs ORDER BY 1");
  while (jobs.step()) {
    const auto vni = optional_at<std::uint16_t>(jobs, 3);
    all.jobs.push_back({std::string(jobs.text(0)), static_cast<std::uint32_t>(jobs.integer(1)),
                        std::string(jobs.text(2)), vni ? std::optional(Vni{*vni}) : std::nullopt,
                        jobs.integer(4) != 0});
  }
  Statement groups =
      db.prepare("SELECT id, job, name, step, multicast, size, trees, wanted_root, root, vni, "
                 "cookie, timeout_us, state FROM groups ORDER BY 1");
  while (groups.step()) {
    all.groups.push_back({.id = GroupId{static_cast<std::uint64_t>(groups.integer(0))},
                          .job = std::string(groups.text(1)),
                          .name = std::string(groups.text(2)),
                          .step = std::string(groups.text(3)),
                          .multicast = groups.integer(4) != 0,
                          .size = static_cast<std::uint32_t>(groups.integer(5)),
                          .trees = static_cast<std::uint32_t>(groups.integer(6)),
                          .wanted_root = optional_at<std::uint32_t>(groups, 7),
                          .root = optional_at<std::uint32_t>(groups, 8),
                          .vni = Vni{static_cast<std::uint16_t>(groups.integer(9))},
                          .cookie = Cookie{static_cast<std::uint32_t>(groups.integer(10))},
                          .timeout_us = static_cast<std::uint64_t>(groups.integer(11)),
                          .state = group_state_named(groups.text(12)).value()});
  }
  Statement members =
      db.prepare("SELECT group_id, rank, nid, host, state FROM members ORDER BY 1, 2");
  while (members.step()) {
    all.members.push_back({GroupId{static_cast<std::uint64_t>(members.integer(0))},
                           static_cast<std::uint32_t>(members.integer(1)),
                           Nid{static_cast<std::uint32_t>(members.integer(2))},
                           std::string(members.text(3)),
                           member_state_named(members.text(4)).value()});
  }
  Statement trees = db.prepare("SELECT number, group_id, tree_index, form FROM trees ORDER BY 1");
  while (trees.step()) {
    all.trees.push_back({TreeNumber{static_cast<std::uint16_t>(trees.integer(0))},
                         GroupId{static_cast<std::uint64_t>(trees.integer(1))},
                         static_cast<std::uint32_t>(trees.integer(2)),
                         decode_tree_form(trees.text(3))});
  }
  Statement addresses = db.prepare("SELECT space, next FROM addresses ORDER BY 1");
  while (addresses.step()) {
    all.addresses.push_back(
        {std::string(addresses.text(0)), static_cast<std::uint32_t>(addresses.integer(1))});
  }
  Statement topology = db.prepare("SELECT document FROM topology");
  while (topology.step()) {
    all.topology = TopologyRecord{std::string(topology.text(0))};
  }
  return all;
}

} // namespace

struct Store::Open {
  explicit Open(const std::filesystem::path& path)
      : file(path), lock(path.string() + ".lock"), database(prepared(path)) {}

  std::filesystem::path file;
  LockFile lock;
  Database database;
  std::uint64_t epoch = 0;
  std::optional<Writer> writer;
};

Store::Store(const std::filesystem::path& file, const StoreOptions& options)
    : open_(std::make_unique<Open>(file)) {
  Database& db = open_->database;
  db.execute("PRAGMA busy_timeout = 5000");
  check_format(db, file);
  // WAL with FULL: one fsync a transaction, and what is committed survives a power cut.
  db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
             "PRAGMA journal_size_limit = 67108864");
  if (options.size_limit_bytes != 0) {
    const auto page = static_cast<std::uint64_t>(db.integer("PRAGMA page_size"));
    const std::uint64_t pages =
        std::clamp<std::uint64_t>(options.size_limit_bytes / page, 1, 4'294'967'294);
    db.execute(fmt::format("PRAGMA max_page_count = {}", pages));
  }
  Transaction transaction(db);
  open_->epoch = migrate_and_count(db);
  transaction.commit();
  open_->writer.emplace(db);
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

std::uint64_t Store::epoch() const { return open_->epoch; }

Snapshot Store::load() {
  try {
    return read_all(open_->database, open_->epoch);
  } catch (const StoreError&) {
    throw;
  } catch (const std::exception& wrong) {
    throw StoreError(
        Kind::not_a_database,
        fmt::format("{} is damaged: a record cannot be read ({}); move it away and put "
                    "a back-up in its place",
                    open_->file.string(), wrong.what()));
  }
}

void Store::apply(std::span<const Change> changes) {
  if (changes.empty()) {
    return;
  }
  Transaction transaction(open_->database);
  for (const Change& change : changes) {
    std::visit(*open_->writer, change);
  }
  transaction.commit();
}

} // namespace tributary::store
