// What the store says when it cannot do what it is asked.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tributary::store {

class StoreError : public std::runtime_error {
public:
  enum class Kind : std::uint8_t {
    not_a_database, ///< the file is something else, or damaged
    newer_version,  ///< written by a newer program
    locked,         ///< another manager uses it
    no_permission,
    no_room, ///< disk, quota or file size limit; try again when there is room
    failed,  ///< anything else the disk or SQLite says
  };
  StoreError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

private:
  Kind kind_;
};

} // namespace tributary::store
