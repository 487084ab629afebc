#include "controlplane/unicast/vtftr.hpp"

#include "controlplane/unicast/route_error.hpp"

namespace tributary::unicast {
namespace {

class SpareLists final : public CornerRules {
public:
  SpareLists(const Shape& shape, const Faults& known, Detours detours)
      : shape_(shape), known_(known), columns_(shape.size(0)), rows_(shape.size(1)) {
    columns_.insert_all();
    rows_.insert_all();
    known.leaves.for_each([&](std::size_t leaf) {
      columns_.erase(shape.coordinate(static_cast<std::uint32_t>(leaf), 0));
      rows_.erase(shape.coordinate(static_cast<std::uint32_t>(leaf), 1));
    });
    if (detours == Detours::rows) {
      rows_.clear();
    }
  }

  FirstStep first_step(std::uint32_t from, std::uint32_t to) const override {
    if (alive(shape_.coordinate(from, 1), shape_.coordinate(to, 0))) {
      return FirstStep::row;
    }
    if (alive(shape_.coordinate(to, 1), shape_.coordinate(from, 0))) {
      return FirstStep::column;
    }
    return !columns_.empty() ? FirstStep::row
                             : (!rows_.empty() ? FirstStep::column : FirstStep::none);
  }
  void spare_columns(std::uint32_t, std::uint32_t, Bitmap& columns) const override {
    columns = columns_;
  }
  void spare_rows(std::uint32_t, std::uint32_t, Bitmap& rows) const override { rows = rows_; }

private:
  bool alive(std::uint32_t row, std::uint32_t column) const {
    return !known_.leaves.contains(row * shape_.size(0) + column);
  }

  const Shape& shape_;
  const Faults& known_;
  Bitmap columns_; ///< clean ones
  Bitmap rows_;
};

} // namespace

Vtftr::Vtftr(const Shape& shape, const RouteOptions& options, Detours detours)
    : shape_(shape), options_(options), detours_(detours) {
  require_corners("vtftr", shape);
  if (options.vcs < 2) {
    throw RouteError("vtftr needs two virtual channels: give it 2, or use general");
  }
}

TableSet Vtftr::tables(const Faults& known) {
  require_dead_leaves_only("vtftr", shape_, known);
  return corner_tables(shape_, *rules(known), options_);
}

std::unique_ptr<CornerRules> Vtftr::rules(const Faults& known) const {
  return std::make_unique<SpareLists>(shape_, known, detours_);
}

} // namespace tributary::unicast
