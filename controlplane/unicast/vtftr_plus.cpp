#include "controlplane/unicast/vtftr_plus.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <vector>

namespace tributary::unicast {
namespace {

class Masks final : public CornerRules {
public:
  Masks(const Shape& shape, const Faults& known, Detours detours)
      : shape_(shape), columns_of_(shape.size(1), Bitmap(shape.size(0))),
        rows_of_(shape.size(0), Bitmap(shape.size(1))), detours_(detours) {
    for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
      if (!known.leaves.contains(leaf)) {
        columns_of_[row(leaf)].insert(column(leaf));
        rows_of_[column(leaf)].insert(row(leaf));
      }
    }
  }

  FirstStep first_step(std::uint32_t from, std::uint32_t to) const override {
    if (columns_of_[row(from)].contains(column(to))) {
      return FirstStep::row;
    }
    if (rows_of_[column(from)].contains(row(to))) {
      return FirstStep::column;
    }
    if (columns_of_[row(from)].meets(columns_of_[row(to)])) {
      return FirstStep::row;
    }
    if (detours_ != Detours::rows && rows_of_[column(from)].meets(rows_of_[column(to)])) {
      return FirstStep::column;
    }
    Bitmap columns(shape_.size(0));
    four_segments(row(from), to, columns);
    return columns.empty() ? FirstStep::none : FirstStep::row;
  }
  void spare_columns(std::uint32_t at, std::uint32_t to, Bitmap& columns) const override {
    columns = columns_of_[at];
    columns &= columns_of_[row(to)];
    if (columns.empty()) {
      four_segments(at, to, columns);
    }
  }
  void spare_rows(std::uint32_t at, std::uint32_t to, Bitmap& rows) const override {
    if (detours_ != Detours::rows) {
      rows = rows_of_[at];
      rows &= rows_of_[column(to)];
    }
  }

private:
  std::uint32_t row(std::uint32_t leaf) const { return shape_.coordinate(leaf, 1); }
  std::uint32_t column(std::uint32_t leaf) const { return shape_.coordinate(leaf, 0); }
  void four_segments(std::uint32_t at, std::uint32_t to, Bitmap& columns) const {
    if (detours_ == Detours::all) {
      columns_of_[at].for_each([&](std::size_t s) {
        if (rows_of_[s].meets(rows_of_[column(to)])) {
          columns.insert(s);
        }
      });
    }
  }

  const Shape& shape_;
  std::vector<Bitmap> columns_of_; ///< by row: M
  std::vector<Bitmap> rows_of_;    ///< by column: N
  Detours detours_;
};

} // namespace

VtftrPlus::VtftrPlus(const Shape& shape, const RouteOptions& options, Detours detours)
    : shape_(shape), options_(options), detours_(detours) {
  require_corners("vtftr_plus", shape);
  if (options.vcs < 2) {
    throw RouteError("vtftr_plus needs two virtual channels: give it 2, or use general");
  }
}

TableSet VtftrPlus::tables(const Faults& known) {
  require_dead_leaves_only("vtftr_plus", shape_, known);
  return corner_tables(shape_, *rules(known), options_);
}

std::unique_ptr<CornerRules> VtftrPlus::rules(const Faults& known) const {
  return std::make_unique<Masks>(shape_, known, detours_);
}

} // namespace tributary::unicast
