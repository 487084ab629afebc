// An answer in JSON, read tolerantly: a member that is absent or of another kind is empty, because
// a newer program at the other end may send more or less than this one knows.
//
// Refers to the value, which must outlive it.
#pragma once

#include <boost/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::cli {

class Entry {
public:
  explicit Entry(const boost::json::value& value) : value_(value) {}

  /// A member as text.
  [[nodiscard]] std::string text(std::string_view name) const {
    const boost::json::value* v = find(name);
    return v == nullptr || v->is_null() ? std::string() : Entry(*v).self();
  }
  [[nodiscard]] std::uint64_t number(std::string_view name) const {
    const boost::json::value* v = find(name);
    boost::json::error_code error;
    const auto n = v == nullptr ? 0 : v->to_number<std::uint64_t>(error);
    return error ? 0 : n;
  }
  [[nodiscard]] double real(std::string_view name) const {
    const boost::json::value* v = find(name);
    boost::json::error_code error;
    const auto n = v == nullptr ? 0 : v->to_number<double>(error);
    return error ? 0 : n;
  }
  [[nodiscard]] bool flag(std::string_view name) const {
    const boost::json::value* v = find(name);
    return v != nullptr && v->is_bool() && v->get_bool();
  }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// A member that is an object; an empty one otherwise.
  [[nodiscard]] Entry entry(std::string_view name) const {
    static const boost::json::value nothing = boost::json::object();
    const boost::json::value* v = find(name);
    return Entry(v == nullptr ? nothing : *v);
  }
  /// The elements of a list.
  [[nodiscard]] std::vector<Entry> entries(std::string_view name) const {
    const boost::json::value* v = find(name);
    return v == nullptr ? std::vector<Entry>() : Entry(*v).elements();
  }
  /// The value itself as a list.
  [[nodiscard]] std::vector<Entry> elements() const {
    std::vector<Entry> all;
    if (const boost::json::array* array = value_.if_array()) {
      for (const boost::json::value& element : *array) {
        all.emplace_back(element);
      }
    }
    return all;
  }
  /// The value itself as text.
  [[nodiscard]] std::string self() const {
    return value_.is_string() ? std::string(value_.get_string()) : boost::json::serialize(value_);
  }
  /// A list of texts in one line.
  [[nodiscard]] std::string joined(std::string_view name, std::string_view separator = " ") const {
    std::string out;
    for (const Entry& element : entries(name)) {
      out += out.empty() ? "" : separator;
      out += element.self();
    }
    return out;
  }
  template <typename F> void for_each_member(std::string_view name, F&& f) const {
    if (const boost::json::value* v = find(name); v != nullptr && v->is_object()) {
      for (const auto& member : v->get_object()) {
        f(std::string_view(member.key().data(), member.key().size()), Entry(member.value()));
      }
    }
  }

private:
  [[nodiscard]] const boost::json::value* find(std::string_view name) const {
    const boost::json::object* object = value_.if_object();
    return object == nullptr
               ? nullptr
               : object->if_contains(boost::json::string_view(name.data(), name.size()));
  }
  const boost::json::value& value_;
};

} // namespace tributary::cli
