#include "endpoint/launcher/pmix/infos.hpp"

#include <fmt/format.h>

#include <pmix.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tributary::launch::pmix {

namespace {

/// The library frees it with free(3).
template <typename T> T* allocated(std::size_t count) {
  auto* const memory = static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

char* copied(std::string_view text) {
  char* const copy = allocated<char>(text.size() + 1);
  std::memcpy(copy, text.data(), text.size());
  return copy;
}

pmix_data_array_t* array_of(void* elements, std::size_t count, pmix_data_type_t type) {
  auto* const array = allocated<pmix_data_array_t>(1);
  array->type = type;
  array->size = count;
  array->array = elements;
  return array;
}

} // namespace

Infos::~Infos() {
  for (pmix_info_t& info : all_) {
    PMIX_INFO_DESTRUCT(&info);
  }
}

pmix_info_t& Infos::add(const char* key, pmix_data_type_t type) {
  pmix_info_t& info = all_.emplace_back();
  PMIX_INFO_CONSTRUCT(&info);
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = type;
  return info;
}

void Infos::text(const char* key, const std::string& value) {
  add(key, PMIX_STRING).value.data.string = copied(value);
}
void Infos::number(const char* key, std::uint32_t value) {
  add(key, PMIX_UINT32).value.data.uint32 = value;
}
void Infos::short_number(const char* key, std::uint16_t value) {
  add(key, PMIX_UINT16).value.data.uint16 = value;
}
void Infos::rank(const char* key, std::uint32_t value) {
  add(key, PMIX_PROC_RANK).value.data.rank = value;
}
void Infos::size(const char* key, std::size_t value) {
  add(key, PMIX_SIZE).value.data.size = value;
}
void Infos::flag(const char* key, bool value) { add(key, PMIX_BOOL).value.data.flag = value; }

void Infos::bytes(const char* key, std::string_view value) {
  pmix_byte_object_t& bytes = add(key, PMIX_BYTE_OBJECT).value.data.bo;
  bytes.bytes = copied(value);
  bytes.size = value.size();
}

void Infos::reals(const char* key, std::span<const double> values) {
  auto* const copy = allocated<double>(values.size());
  std::copy(values.begin(), values.end(), copy);
  add(key, PMIX_DATA_ARRAY).value.data.darray = array_of(copy, values.size(), PMIX_DOUBLE);
}

void Infos::numbers(const char* key, std::span<const std::uint32_t> values) {
  auto* const copy = allocated<std::uint32_t>(values.size());
  std::copy(values.begin(), values.end(), copy);
  add(key, PMIX_DATA_ARRAY).value.data.darray = array_of(copy, values.size(), PMIX_UINT32);
}

void Infos::process(const char* key, const pmix_proc_t& value) {
  pmix_value_t& own = add(key, PMIX_PROC).value;
  own.data.proc = allocated<pmix_proc_t>(1);
  *own.data.proc = value;
}

void Infos::processes(const char* key, std::span<const pmix_proc_t> values) {
  auto* const copy = allocated<pmix_proc_t>(values.size());
  std::copy(values.begin(), values.end(), copy);
  add(key, PMIX_DATA_ARRAY).value.data.darray = array_of(copy, values.size(), PMIX_PROC);
}

void Infos::expression(const char* key, const char* value) {
  pmix_info_t& info = add(key, PMIX_UNDEF);
  PMIX_VALUE_LOAD(&info.value, value, PMIX_REGEX);
}

void Infos::end_point(const char* key, const std::string& address, const std::string& interface,
                      const std::string& end_point) {
  auto* const point = allocated<pmix_endpoint_t>(1);
  point->uuid = copied(address);
  point->osname = copied(interface);
  point->endpt.bytes = copied(end_point);
  point->endpt.size = end_point.size();
  add(key, PMIX_DATA_ARRAY).value.data.darray = array_of(point, 1, PMIX_ENDPOINT);
}

void Infos::list(const char* key, Infos inner) {
  std::size_t count = 0;
  pmix_info_t* const elements = inner.release(count);
  add(key, PMIX_DATA_ARRAY).value.data.darray = array_of(elements, count, PMIX_INFO);
}

pmix_info_t* Infos::release(std::size_t& count) {
  count = all_.size();
  auto* const elements = allocated<pmix_info_t>(count);
  std::memcpy(elements, all_.data(), count * sizeof(pmix_info_t));
  all_.clear();
  return elements;
}

std::uint32_t number_in(const pmix_info_t& info) {
  std::int64_t number = 0;
  int status = PMIX_SUCCESS;
  PMIX_VALUE_GET_NUMBER(status, &info.value, number, std::int64_t);
  return status == PMIX_SUCCESS
             ? static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, UINT32_MAX))
             : 0;
}

std::string text_in(const pmix_info_t& info) {
  switch (info.value.type) {
  case PMIX_STRING: return info.value.data.string == nullptr ? "" : info.value.data.string;
  case PMIX_BOOL: return info.value.data.flag ? "true" : "false";
  case PMIX_UINT32: return fmt::format("{}", info.value.data.uint32);
  case PMIX_INT: return fmt::format("{}", info.value.data.integer);
  default: return {};
  }
}

} // namespace tributary::launch::pmix
