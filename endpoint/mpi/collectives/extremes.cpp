#include "endpoint/mpi/collectives/extremes.hpp"

#include "endpoint/mpi/collectives/by_library.hpp"
#include "endpoint/mpi/collectives/handles.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/model/arithmetic.hpp"
#include "endpoint/mpi/model/plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace tributary::mpi::collectives {

namespace {

/// total = part (operator) total, on elements of the program.
template <Operator op, Element element, bool nan_wins, typename Count>
void add(void* part, void* total, Count* count, MPI_Datatype*) {
  constexpr std::size_t some = 64;
  constexpr std::size_t widest = 32;
  static const Plan plan =
      plan_reduction(op, element,
                     {.wide_frames = true, .reproducible = false, .nan_wins = nan_wins})
          .plan;
  std::array<std::byte, some * widest> ours;
  std::array<std::byte, some * widest> theirs;
  auto* out = static_cast<std::byte*>(total);
  const auto* in = static_cast<const std::byte*>(part);
  for (auto left = static_cast<std::size_t>(*count); left > 0;) {
    const std::size_t now = std::min(left, some);
    to_frames(plan, out, now, ours.data());
    to_frames(plan, in, now, theirs.data());
    static_cast<void>(combine(plan.type, plan.op, ours.data(), theirs.data(), now));
    from_frames(plan, ours.data(), now, out);
    out += now * plan.user_bytes;
    in += now * plan.user_bytes;
    left -= now;
  }
}

/// `Count`: int, or MPI_Count for reductions of more elements than an int can count.
template <typename Count> class Operators {
public:
  explicit Operators(const Runtime& runtime) {
    if (runtime.settings().nan_wins) {
      make<true>();
    } else {
      make<false>();
    }
  }

  [[nodiscard]] MPI_Op of(Operator op, Element element) const {
    for (const Made& one : made_) {
      if (one.op == op && one.element == element) {
        return one.handle;
      }
    }
    return MPI_OP_NULL;
  }

private:
  struct Made {
    Operator op;
    Element element;
    MPI_Op handle;
  };

  template <Operator op, Element element, bool nan_wins> static Made made() {
    Made one{op, element, MPI_OP_NULL};
    if constexpr (std::is_same_v<Count, int>) {
      PMPI_Op_create(&add<op, element, nan_wins, int>, 1, &one.handle);
    } else if (PMPI_Op_create_c != nullptr) {
      PMPI_Op_create_c(&add<op, element, nan_wins, Count>, 1, &one.handle);
    }
    return one;
  }
  template <bool nan_wins> void make() {
    made_ = {made<Operator::min, Element::float64, nan_wins>(),
             made<Operator::max, Element::float64, nan_wins>(),
             made<Operator::min, Element::float32, nan_wins>(),
             made<Operator::max, Element::float32, nan_wins>(),
             made<Operator::minloc, Element::double_int, nan_wins>(),
             made<Operator::maxloc, Element::double_int, nan_wins>(),
             made<Operator::minloc, Element::float_int, nan_wins>(),
             made<Operator::maxloc, Element::float_int, nan_wins>()};
  }

  std::array<Made, 8> made_;
};

} // namespace

MPI_Op operator_by_library(MPI_Op op, MPI_Datatype datatype, MPI_Count count) {
  if (op != MPI_MIN && op != MPI_MAX && op != MPI_MINLOC && op != MPI_MAXLOC) {
    return op;
  }
  Runtime* const runtime = Runtime::get();
  if (runtime == nullptr || !runtime->settings().on) {
    return op;
  }
  const Operator which = operator_of(op);
  const Element element = element_of(datatype, which);
  static OfRuntime<Operators<int>> usual;
  static OfRuntime<Operators<MPI_Count>> large;
  const MPI_Op ours =
      is_int(count) ? usual.of(*runtime).of(which, element) : large.of(*runtime).of(which, element);
  return ours == MPI_OP_NULL ? op : ours;
}

} // namespace tributary::mpi::collectives
