#include "controlplane/store/schema.hpp"

#include <fmt/format.h>

namespace tributary::store {
namespace {

/// "Trib"
constexpr std::int64_t application_id = 0x54726962;
constexpr std::int64_t format_version = 1;

/// An empty store. `meta` also has 'fabric', 'superseded_by', and 'adopted ' with a fabric's 16 hex
/// digits. `jobs.hosts` and `jobs.vnis`: decimal numbers separated by commas; NULL: any.
/// `jobs.allocation`: JSON; NULL: none. `groups.wanted_in_switch`: 0 unspecified, 1 asked for, 2
/// refused. `rdma_settings.vni`: 65536 for all VNIs.
constexpr const char* tables = R"sql(
  CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('epoch', 0);

  CREATE TABLE jobs (
    id              TEXT PRIMARY KEY,
    multicast_limit INTEGER NOT NULL,
    token           TEXT NOT NULL,
    vni             INTEGER,
    deleting        INTEGER NOT NULL,
    hosts           TEXT,
    vnis            TEXT,
    allocation      TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE groups (
    id             INTEGER PRIMARY KEY,
    job            TEXT NOT NULL,
    name           TEXT NOT NULL,
    step           TEXT NOT NULL,
    multicast      INTEGER NOT NULL,
    size           INTEGER NOT NULL,
    trees          INTEGER NOT NULL,
    wanted_root    INTEGER,
    root           INTEGER,
    vni            INTEGER NOT NULL,
    cookie         INTEGER NOT NULL,
    timeout_us     INTEGER NOT NULL,
    state          TEXT NOT NULL,
    wanted_slots   INTEGER NOT NULL,
    wanted_payload INTEGER NOT NULL,
    slots          INTEGER NOT NULL,
    payload        INTEGER NOT NULL,
    half_floats    INTEGER NOT NULL,
    frames_note    TEXT NOT NULL,
    wanted_in_switch  INTEGER NOT NULL,
    in_switch_results INTEGER NOT NULL,
    in_switch_note    TEXT NOT NULL
  ) STRICT;

  CREATE TABLE members (
    group_id INTEGER NOT NULL,
    rank     INTEGER NOT NULL,
    nid      INTEGER NOT NULL,
    host     TEXT NOT NULL,
    state    TEXT NOT NULL,
    slots    INTEGER NOT NULL,
    payload  INTEGER NOT NULL,
    PRIMARY KEY (group_id, rank)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE trees (
    number     INTEGER PRIMARY KEY,
    group_id   INTEGER NOT NULL,
    tree_index INTEGER NOT NULL,
    form       TEXT NOT NULL
  ) STRICT;
  CREATE INDEX trees_of_group ON trees (group_id);

  CREATE TABLE addresses (
    space TEXT PRIMARY KEY,
    next  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE switches (
    number INTEGER PRIMARY KEY,
    name   TEXT NOT NULL,
    guid   INTEGER NOT NULL,
    ports  INTEGER NOT NULL,
    up     INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE links (
    number     INTEGER PRIMARY KEY,
    a_switch   INTEGER NOT NULL,
    a_port     INTEGER NOT NULL,
    b_switch   INTEGER NOT NULL,
    b_port     INTEGER NOT NULL,
    speed_mbps INTEGER NOT NULL,
    up         INTEGER NOT NULL,
    plugged    INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE hosts (
    nid       INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    at_switch INTEGER NOT NULL,
    at_port   INTEGER NOT NULL,
    up        INTEGER NOT NULL,
    plugged   INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE drains (
    at TEXT PRIMARY KEY
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE rdma_settings (
    vni   INTEGER NOT NULL,
    field TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (vni, field)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE rdma_quarantines (
    vni INTEGER NOT NULL,
    nid INTEGER NOT NULL,
    PRIMARY KEY (vni, nid)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE vni_releases (
    vni           INTEGER PRIMARY KEY,
    number        INTEGER NOT NULL,
    in_quarantine INTEGER NOT NULL
  ) STRICT;
)sql";

/// The file's format version; 0: an empty file.
std::int64_t version_of(Database& database) { return database.integer("PRAGMA user_version"); }

} // namespace

void check_format(Database& database, const std::filesystem::path& file) {
  using Kind = StoreError::Kind;
  const std::int64_t tables = database.integer("SELECT count(*) FROM sqlite_schema");
  if (tables == 0) {
    return; // a new file
  }
  const std::int64_t application = database.integer("PRAGMA application_id");
  if (application != application_id) {
    throw StoreError(Kind::not_a_database,
                     fmt::format("{} is an SQLite database, but not a fabric manager's store; "
                                 "configure another file",
                                 file.string()));
  }
  if (const std::int64_t version = version_of(database); version != format_version) {
    throw StoreError(
        Kind::other_version,
        fmt::format("{} has format version {}, and this program reads version {} only: start the "
                    "tributary-fabricd that wrote it, or move the file away (the fabric is "
                    "discovered again, and members join again)",
                    file.string(), version, format_version));
  }
  Statement check = database.prepare("PRAGMA quick_check(1)");
  if (check.step() && check.text(0) != "ok") {
    throw StoreError(Kind::not_a_database,
                     fmt::format("{} is damaged: {}; move it away and put a back-up in its place",
                                 file.string(), check.text(0)));
  }
}

std::uint64_t next_epoch(Database& database, const std::filesystem::path& file) {
  if (version_of(database) == 0) {
    throw StoreError(
        StoreError::Kind::no_room,
        fmt::format("{}: no room for a new store; make room and start again", file.string()));
  }
  return static_cast<std::uint64_t>(
      database.integer("SELECT value + 1 FROM meta WHERE key = 'epoch'"));
}

std::uint64_t count_start(Database& database, std::uint32_t epochs) {
  if (version_of(database) == 0) {
    database.execute(tables);
    database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                 application_id, format_version));
  }
  database.execute("INSERT OR IGNORE INTO meta VALUES ('fabric', random() | 1)"); // never 0
  database.execute(fmt::format("UPDATE meta SET value = value + {} WHERE key = 'epoch'", epochs));
  return static_cast<std::uint64_t>(database.integer("SELECT value FROM meta WHERE key = 'epoch'"));
}

} // namespace tributary::store
