#include "controlplane/store/sqlite.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace tributary::store {
namespace {

using Kind = StoreError::Kind;

struct Meaning {
  Kind kind;
  std::string_view advice;
};

Meaning meaning_of(int code, int system_error) {
  constexpr Meaning no_room{Kind::no_room, "make room; nothing of this change was stored"};
  constexpr Meaning no_permission{
      Kind::no_permission,
      "the file and its directory have to be readable and writable for the manager's user"};
  switch (code & 0xFF) {
  case SQLITE_FULL: return no_room;
  case SQLITE_NOTADB:
  case SQLITE_CORRUPT: return {Kind::not_a_database, "move it away and put a back-up in its place"};
  case SQLITE_PERM:
  case SQLITE_READONLY:
  case SQLITE_AUTH: return no_permission;
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return {Kind::locked, "end the program that has it open for writing"};
  case SQLITE_IOERR:
  case SQLITE_CANTOPEN:
    if (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG) {
      return no_room;
    }
    if (system_error == EACCES || system_error == EPERM || system_error == EROFS) {
      return no_permission;
    }
    return {Kind::failed, "look at the disk"};
  default: return {Kind::failed, "look at the disk and the file"};
  }
}

} // namespace

// ---- Database ----

Database::Database(const std::filesystem::path& file) : file_(file) {
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(opened);
  if (opened != nullptr) {
    sqlite3_extended_result_codes(opened, 1);
  }
  if (result != SQLITE_OK) {
    fail();
  }
}

/// The system error of the failed write. SQLite records it on some paths only, so the file itself,
/// the database or its log, is tested.
int Database::system_error() const {
  sqlite3* const connection = handle_.get();
  if (sqlite3_extended_errcode(connection) != SQLITE_IOERR_WRITE) {
    return sqlite3_system_errno(connection);
  }
  for (const int which : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    int error = 0;
    if (sqlite3_file_control(connection, "main", which, &file) == SQLITE_OK && file != nullptr &&
        file->pMethods != nullptr &&
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK &&
        error != 0) {
      return error;
    }
  }
  return 0;
}

void Database::fail() const {
  if (handle_ == nullptr) {
    throw StoreError(Kind::failed, fmt::format("{}: out of memory", file_.string()));
  }
  const int code = sqlite3_extended_errcode(handle_.get());
  const int said_by_system = system_error();
  const Meaning meaning = meaning_of(code, said_by_system);
  const std::string said = sqlite3_errmsg(handle_.get());
  const bool disk = meaning.kind != Kind::not_a_database && said_by_system != 0;
  throw StoreError(
      meaning.kind,
      fmt::format("{}: {}{}; {}", file_.string(), said,
                  disk ? fmt::format(" ({})", std::generic_category().message(said_by_system)) : "",
                  meaning.advice));
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail();
  }
}

std::int64_t Database::integer(std::string_view sql) {
  Statement query = prepare(sql);
  if (!query.step()) {
    throw StoreError(Kind::not_a_database,
                     fmt::format("{}: no answer to: {}", file_.string(), sql));
  }
  return query.integer(0);
}

void Database::roll_back() noexcept {
  if (sqlite3_get_autocommit(handle_.get()) == 0) {
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

// ---- Statement ----

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* prepared = nullptr;
  const int result =
      sqlite3_prepare_v3(database.handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  handle_.reset(prepared);
  check(result);
}

void Statement::check(int result) {
  if (result != SQLITE_OK) {
    database_->fail();
  }
}

void Statement::bind(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), index, value));
}

void Statement::bind(int index, std::string_view value) {
  check(sqlite3_bind_text64(handle_.get(), index, value.data() != nullptr ? value.data() : "",
                            value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind_null(int index) { check(sqlite3_bind_null(handle_.get(), index)); }

bool Statement::step() {
  const int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) {
    return true;
  }
  const int ended = sqlite3_reset(handle_.get());
  check(result == SQLITE_DONE ? ended : result);
  return false;
}

void Statement::finish() {
  while (step()) {
  }
}

bool Statement::null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* const begin = reinterpret_cast<const char*>(
      sqlite3_column_text(handle_.get(), column)); // UTF-8 by contract
  const int length = sqlite3_column_bytes(handle_.get(), column);
  return begin == nullptr ? std::string_view()
                          : std::string_view(begin, static_cast<std::size_t>(length));
}

} // namespace tributary::store
