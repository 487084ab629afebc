#include "endpoint/library/operators.hpp"

#include <cstddef>
#include <iterator>

namespace tributary::library {

using collective::ElementType;
using wire::Opcode;

std::optional<ElementType> element_type(int type) {
  static_assert(TRIBUTARY_INT8 == static_cast<int>(ElementType::int8));
  static_assert(TRIBUTARY_UINT64 == static_cast<int>(ElementType::uint64));
  static_assert(TRIBUTARY_MINMAXLOC_DOUBLE == static_cast<int>(ElementType::minmaxloc_float64));
  static_assert(TRIBUTARY_BFLOAT16 == static_cast<int>(ElementType::bfloat16));
  static_assert(TRIBUTARY_REPSUM_STATE == static_cast<int>(ElementType::repsum_state));
  if (type < 0 || static_cast<std::size_t>(type) >= collective::element_type_count) {
    return std::nullopt;
  }
  return static_cast<ElementType>(type);
}

std::optional<Opcode> opcode_for(int op, ElementType type, bool wide_group) {
  for (const wire::Operator& row : wire::operators) {
    if (row.call.number == op && collective::reduces_in(wide_group, row.code, type)) {
      return row.code;
    }
  }
  return std::nullopt;
}

std::string_view operator_name(int op) {
  return op >= 0 && static_cast<std::size_t>(op) < wire::calls.size()
             ? wire::calls[static_cast<std::size_t>(op)].name
             : "which is not in enum tributary_op";
}

std::string_view type_name(ElementType type) {
  static constexpr const char* names[] = {"INT8",
                                          "UINT8",
                                          "INT16",
                                          "UINT16",
                                          "INT32",
                                          "UINT32",
                                          "INT64",
                                          "UINT64",
                                          "DOUBLE",
                                          "MINMAXLOC_INT64",
                                          "MINMAXLOC_DOUBLE",
                                          "FLOAT",
                                          "FLOAT16",
                                          "BFLOAT16",
                                          "REPSUM_STATE"};
  static_assert(std::size(names) == collective::element_type_count);
  return names[static_cast<std::size_t>(type)];
}

} // namespace tributary::library
