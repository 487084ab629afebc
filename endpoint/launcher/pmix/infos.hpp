// A list of pmix_info_t that owns its contents.
//
//   Infos infos;
//   infos.text(PMIX_HOSTNAME, "ns1");
//   infos.number(PMIX_JOB_SIZE, std::uint32_t{16});
//   infos.list(PMIX_PROC_DATA, std::move(of_rank));
//   PMIx_server_register_nspace(name, n, infos.data(), infos.size(), ...);
//
// Every value is copied. Impure only in that the library's allocator is used.
#pragma once

#include <pmix_common.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::launch::pmix {

class Infos {
public:
  Infos() = default;
  Infos(Infos&& other) noexcept : all_(std::move(other.all_)) { other.all_.clear(); }
  Infos& operator=(Infos&&) = delete;
  ~Infos();

  void text(const char* key, const std::string& value);
  void number(const char* key, std::uint32_t value);
  void short_number(const char* key, std::uint16_t value);
  void rank(const char* key, std::uint32_t value);
  void size(const char* key, std::size_t value);
  void flag(const char* key, bool value);
  void bytes(const char* key, std::string_view value);
  void reals(const char* key, std::span<const double> values);
  void numbers(const char* key, std::span<const std::uint32_t> values);
  void process(const char* key, const pmix_proc_t& value);
  void processes(const char* key, std::span<const pmix_proc_t> values);
  /// A regular expression as PMIx_generate_regex makes it.
  void expression(const char* key, const char* value);
  /// One end point of a fabric: its address, and its interface and end point there.
  void end_point(const char* key, const std::string& address, const std::string& interface,
                 const std::string& end_point);
  void list(const char* key, Infos inner);

  [[nodiscard]] pmix_info_t* data() { return all_.empty() ? nullptr : all_.data(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// Passes ownership to the caller, as an array that PMIX_INFO_FREE takes.
  [[nodiscard]] pmix_info_t* release(std::size_t& count);

private:
  pmix_info_t& add(const char* key, pmix_data_type_t type);
  std::vector<pmix_info_t> all_; // moved bytewise: they are plain C
};

/// A number of any of PMIx's types; 0 when the info holds something else, or a negative number.
[[nodiscard]] std::uint32_t number_in(const pmix_info_t& info);
/// The text of an info, or "" when it holds something else.
[[nodiscard]] std::string text_in(const pmix_info_t& info);

} // namespace tributary::launch::pmix
