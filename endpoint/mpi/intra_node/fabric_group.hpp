// A node's membership in the reduction group of one communicator, through the C API. It has a host
// of its own: closing that ends all operations, and none of them is written to any more.
#pragma once

#include "endpoint/mpi/model/plan.hpp"
#include "endpoint/mpi/model/refusal.hpp"
#include "tributary/tributary.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace tributary::mpi::intra_node {

struct GroupSettings {
  std::string interface; ///< the one connected to the switch
  std::string name;      ///< name of the group
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint32_t spin_usec = 0;
  std::chrono::milliseconds join_limit{};
  /// Asks for in-switch results, or refuses them; nullopt: as the manager's file says.
  std::optional<bool> in_switch_results{};
};

/// There is no group; the text has a hint.
class NoGroup : public std::runtime_error {
public:
  NoGroup(Refusal cause, const std::string& text) : std::runtime_error(text), cause_(cause) {}
  [[nodiscard]] Refusal cause() const { return cause_; }

private:
  Refusal cause_;
};

class FabricGroup {
public:
  /// Opens the interface. Throws NoGroup.
  explicit FabricGroup(const std::string& interface, std::uint32_t spin_usec);
  FabricGroup(const FabricGroup&) = delete;
  FabricGroup& operator=(const FabricGroup&) = delete;
  /// Closes without leaving the group.
  ~FabricGroup();

  /// Throws like the constructor.
  void join(const GroupSettings& settings);
  [[nodiscard]] bool has_wide_frames() const;

  /// `differs`: nodes began different steps. With it and `failed` error() has the reason.
  enum class Outcome : std::uint8_t { done, not_yet, failed, differs };
  /// Begins a step.
  Outcome begin_reduction(const Plan& plan, const std::byte* in, std::byte* out,
                          std::size_t elements);
  Outcome begin_broadcast(std::byte* buffer, std::size_t bytes, std::uint32_t from_node);
  Outcome begin_barrier();
  /// Waits for the step.
  Outcome wait(std::chrono::milliseconds limit);

  /// Pieces of steps completed so far.
  [[nodiscard]] std::uint64_t pieces() const;
  /// Members that it waits for, on one line.
  [[nodiscard]] std::string state() const;
  /// Error of the last call that failed.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Leaves the group together with the other members, and closes.
  void leave();
  /// Closes immediately: afterwards nothing is read or written any more.
  void close();

private:
  Outcome begun(int code);
  Outcome ended(int code);
  [[noreturn]] void refuse(const std::string& what, int code);

  tributary_host* host_ = nullptr;
  tributary_group* group_ = nullptr;
  tributary_request* request_ = nullptr;
  std::string error_;
};

} // namespace tributary::mpi::intra_node
