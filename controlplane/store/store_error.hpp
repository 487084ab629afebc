// Errors of the store.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tributary::store {

class StoreError : public std::runtime_error {
public:
  enum class Kind : std::uint8_t {
    not_a_database, ///< the file is something else, or damaged
    other_version,  ///< written by a program of another version
    locked,         ///< another manager uses it
    no_permission,
    no_room, ///< disk, quota or file size limit; try again when there is room
    failed,  ///< any other error of the disk or SQLite
  };
  StoreError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

private:
  Kind kind_;
};

} // namespace tributary::store
