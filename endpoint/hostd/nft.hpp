// Runs the program nft: puts a text of rules in force, or lists our table. Blocking, for some tens
// of milliseconds; at most `limit`.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::hostd {

/// The program is missing, or it refused; the message says what to do.
class NftError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class Nft {
public:
  static constexpr std::chrono::seconds limit{10};

  /// A path, or a name in PATH.
  explicit Nft(std::string program) : program_(std::move(program)) {}

  /// All of the text, or nothing of it. Throws NftError.
  void apply(const std::string& text) const;
  /// The table in nft's JSON; empty if it does not exist. Throws NftError.
  [[nodiscard]] std::optional<std::string> list_table(const std::string& table) const;

private:
  struct Outcome {
    int exit_code = 0;
    std::string output;
    std::string errors;
  };
  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                            const std::string& input) const;

  std::string program_;
};

} // namespace tributary::hostd
