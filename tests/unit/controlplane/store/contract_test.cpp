// The contract of stores, kept by SQLite.
#include "tests/unit/controlplane/store/contract.hpp"

#include "controlplane/store/sqlite.hpp"
#include "controlplane/store/sqlite_store.hpp"
#include "tests/support/scratch_directory.hpp"

#include <fmt/format.h>

namespace tributary::test {
namespace {

class SqliteBench final : public StoreBench {
public:
  std::unique_ptr<store::Store> open() override {
    return std::make_unique<store::SqliteStore>(scratch_.file("fabric.db"));
  }
  void damage(records::GroupId id) override {
    store::Database(scratch_.file("fabric.db"))
        .execute(fmt::format("UPDATE groups SET state = 'dancing' WHERE id = {}", id.value));
  }

private:
  ScratchDirectory scratch_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(&bench_of<SqliteBench>));

} // namespace
} // namespace tributary::test
