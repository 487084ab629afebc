// What libfabric's pages promise, capability by capability, through libfabric and the provider: two
// programs on a veth pair, and two on one interface. Needs root, as raw sockets do.
#include "tests/unit/lib/link/private_network.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tributary::ofi::test {
namespace {

using link::test::PrivateNetwork;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t version = FI_VERSION(1, 17);
constexpr int patience_ms = 10'000;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

Info hints(std::uint64_t caps) {
  Info h(fi_allocinfo());
  h->caps = caps;
  h->ep_attr->type = FI_EP_RDM;
  h->domain_attr->mr_mode = FI_MR_PROV_KEY;
  h->fabric_attr->prov_name = ::strdup("tributary");
  return h;
}

/// What there is for these hints; null for -FI_ENODATA.
Info info_for(const Info& h) {
  fi_info* info = nullptr;
  const int code = fi_getinfo(version, nullptr, nullptr, 0, h.get(), &info);
  EXPECT_TRUE(code == 0 || code == -FI_ENODATA) << fi_strerror(-code);
  return Info(info);
}

void require(int code, const char* what) {
  if (code != 0) {
    throw std::runtime_error(std::string(what) + ": " + fi_strerror(-code));
  }
}

/// A program with an end point, as an application has it.
class Side {
public:
  explicit Side(const char* interface,
                std::uint64_t caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV) {
    ::setenv("TRIBUTARY_OFI_INTERFACE", interface, 1);
    info = info_for(hints(caps));
    if (info == nullptr) {
      throw std::runtime_error("fi_getinfo finds nothing");
    }
    require(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    require(fi_domain(fabric, info.get(), &domain, nullptr), "fi_domain");
    fi_av_attr av_attr{};
    require(fi_av_open(domain, &av_attr, &av, nullptr), "fi_av_open");
    fi_cq_attr cq_attr{};
    cq_attr.format = FI_CQ_FORMAT_TAGGED;
    cq_attr.wait_obj = FI_WAIT_FD;
    require(fi_cq_open(domain, &cq_attr, &sends, nullptr), "fi_cq_open");
    require(fi_cq_open(domain, &cq_attr, &receives, nullptr), "fi_cq_open");
    require(fi_endpoint(domain, info.get(), &ep, nullptr), "fi_endpoint");
    require(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
    require(fi_ep_bind(ep, &sends->fid, FI_TRANSMIT), "fi_ep_bind");
    require(fi_ep_bind(ep, &receives->fid, FI_RECV), "fi_ep_bind");
    require(fi_enable(ep), "fi_enable");
    std::size_t length = name.size();
    require(fi_getname(&ep->fid, name.data(), &length), "fi_getname");
    EXPECT_EQ(length, name.size());
  }
  ~Side() {
    EXPECT_EQ(fi_close(&ep->fid), 0);
    EXPECT_EQ(fi_close(&sends->fid), 0);
    EXPECT_EQ(fi_close(&receives->fid), 0);
    EXPECT_EQ(fi_close(&av->fid), 0);
    EXPECT_EQ(fi_close(&domain->fid), 0);
    EXPECT_EQ(fi_close(&fabric->fid), 0);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  fi_addr_t insert(const std::array<std::byte, 12>& address) {
    fi_addr_t place = FI_ADDR_NOTAVAIL;
    EXPECT_EQ(fi_av_insert(av, address.data(), 1, &place, 0, nullptr), 1);
    return place;
  }
  /// Retries as applications do.
  template <typename F> void begin(const F& f) {
    ssize_t code = -FI_EAGAIN;
    for (int i = 0; i < 1'000'000 && code == -FI_EAGAIN; ++i) {
      code = f();
    }
    EXPECT_EQ(code, 0) << fi_strerror(static_cast<int>(-code));
  }
  fi_cq_tagged_entry wait(fid_cq* cq) {
    fi_cq_tagged_entry entry{};
    const ssize_t n = fi_cq_sread(cq, &entry, 1, nullptr, patience_ms);
    EXPECT_EQ(n, 1) << (n < 0 ? fi_strerror(static_cast<int>(-n)) : "");
    return entry;
  }
  fi_cq_err_entry wait_error(fid_cq* cq) {
    fi_cq_tagged_entry entry{};
    fi_cq_err_entry error{};
    EXPECT_EQ(fi_cq_sread(cq, &entry, 1, nullptr, patience_ms), -FI_EAVAIL);
    EXPECT_EQ(fi_cq_readerr(cq, &error, 0), 1);
    return error;
  }

  Info info;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* av = nullptr;
  fid_cq* sends = nullptr;
  fid_cq* receives = nullptr;
  fid_ep* ep = nullptr;
  std::array<std::byte, 12> name{};
};

Bytes numbered(std::size_t count, unsigned seed = 1) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 31 + i / 256 + seed);
  }
  return bytes;
}

class Conformance : public testing::Test {
protected:
  void SetUp() override {
    if (const std::string& reason = PrivateNetwork::skip_reason(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    static const bool once = [] {
      PrivateNetwork::add_pair();
      ::setenv("FI_PROVIDER_PATH", TRIBUTARY_PROVIDER_FOLDER, 1);
      ::setenv("TRIBUTARY_VNI", "1024", 1);
      ::setenv("TRIBUTARY_HOST_AGENT", "/nonexistent/host.sock", 1);
      return true;
    }();
    static_cast<void>(once);
    ::setenv("TRIBUTARY_OFI_INTERFACE", "left", 1);
  }
  /// On both ends of the veth pair, or on one.
  void open(const char* second = "right") {
    a = std::make_unique<Side>("left");
    b = std::make_unique<Side>(second);
    to_b = a->insert(b->name);
    to_a = b->insert(a->name);
  }
  void send(const Bytes& data, std::uint64_t tag, void* context = nullptr) {
    a->begin(
        [&] { return fi_tsend(a->ep, data.data(), data.size(), nullptr, to_b, tag, context); });
  }
  void receive(Bytes& memory, std::uint64_t tag, std::uint64_t ignored = 0, void* context = nullptr,
               fi_addr_t from = FI_ADDR_UNSPEC) {
    b->begin([&] {
      return fi_trecv(b->ep, memory.data(), memory.size(), nullptr, from, tag, ignored, context);
    });
  }
  void messages_of_every_length_arrive() {
    for (const std::size_t length : std::initializer_list<std::size_t>{
             0, 1, 8, 1'023, 1'024, 1'025, 1'405, 16'384, 16'385, 1'000'000}) {
      const Bytes data = numbered(length);
      Bytes memory(length + 1, std::byte{0xC5});
      int mark = 0;
      b->begin([&] { return fi_trecv(b->ep, memory.data(), length, nullptr, to_a, 7, 0, &mark); });
      send(data, 7);
      const fi_cq_tagged_entry got = b->wait(b->receives);
      EXPECT_EQ(got.op_context, &mark);
      EXPECT_EQ(got.len, length);
      EXPECT_EQ(got.tag, 7U);
      EXPECT_EQ(got.flags & (FI_RECV | FI_TAGGED), FI_RECV | FI_TAGGED);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), memory.begin())) << length;
      EXPECT_EQ(memory.back(), std::byte{0xC5});
      const fi_cq_tagged_entry sent = a->wait(a->sends);
      EXPECT_EQ(sent.flags & (FI_SEND | FI_TAGGED), FI_SEND | FI_TAGGED);
    }
  }

  std::unique_ptr<Side> a;
  std::unique_ptr<Side> b;
  fi_addr_t to_a = FI_ADDR_NOTAVAIL;
  fi_addr_t to_b = FI_ADDR_NOTAVAIL;
};

TEST_F(Conformance, OfWhatIsNotThereNothingIsFound) {
  EXPECT_NE(info_for(hints(FI_TAGGED)), nullptr);
  EXPECT_EQ(info_for(hints(FI_TAGGED | FI_MULTICAST)), nullptr);
  EXPECT_NE(info_for(hints(FI_ATOMIC)), nullptr);
  Info h = hints(FI_MSG);
  h->ep_attr->type = FI_EP_MSG;
  EXPECT_EQ(info_for(h), nullptr);
  h = hints(FI_RMA);
  h->domain_attr->mr_mode = 0;
  EXPECT_EQ(info_for(h), nullptr) << "keys are drawn";
  h = hints(FI_TAGGED);
  h->domain_attr->mr_mode = 0;
  EXPECT_NE(info_for(h), nullptr) << "without RMA it does not matter";
  h->tx_attr->inject_size = 1'025;
  EXPECT_EQ(info_for(h), nullptr);
  h->tx_attr->inject_size = 1'024;
  h->tx_attr->iov_limit = 2;
  EXPECT_EQ(info_for(h), nullptr);
}

TEST_F(Conformance, TaggedMessagesOfEveryLengthArrive) {
  open();
  messages_of_every_length_arrive();
}

TEST_F(Conformance, ProgramsOfOneHostReachEachOther) {
  open("left");
  EXPECT_NE(a->name, b->name);
  messages_of_every_length_arrive();
}

TEST_F(Conformance, AProgramReachesItself) {
  a = std::make_unique<Side>("left");
  const fi_addr_t self = a->insert(a->name);
  for (const std::size_t length : std::initializer_list<std::size_t>{10, 100'000}) {
    const Bytes data = numbered(length);
    Bytes memory(length);
    a->begin([&] { return fi_trecv(a->ep, memory.data(), length, nullptr, self, 1, 0, nullptr); });
    a->begin([&] { return fi_tsend(a->ep, data.data(), length, nullptr, self, 1, nullptr); });
    EXPECT_EQ(a->wait(a->receives).len, length);
    a->wait(a->sends);
    EXPECT_EQ(memory, data);
  }
}

TEST_F(Conformance, MessagesWithoutATagAndData) {
  open();
  const Bytes data = numbered(100);
  Bytes memory(100);
  b->begin([&] { return fi_recv(b->ep, memory.data(), 100, nullptr, FI_ADDR_UNSPEC, nullptr); });
  a->begin([&] { return fi_senddata(a->ep, data.data(), 100, nullptr, 0x1234, to_b, nullptr); });
  fi_cq_tagged_entry entry{};
  fi_addr_t source = FI_ADDR_NOTAVAIL;
  ASSERT_EQ(fi_cq_sreadfrom(b->receives, &entry, 1, &source, nullptr, patience_ms), 1);
  EXPECT_EQ(entry.data, 0x1234U);
  EXPECT_NE(entry.flags & FI_REMOTE_CQ_DATA, 0U);
  EXPECT_NE(entry.flags & FI_MSG, 0U);
  EXPECT_EQ(source, to_a);
  EXPECT_EQ(memory, data);
}

TEST_F(Conformance, WhatIsTooLongIsCut) {
  open();
  Bytes memory(10);
  receive(memory, 1);
  send(numbered(100), 1);
  const fi_cq_err_entry error = b->wait_error(b->receives);
  EXPECT_EQ(error.err, FI_ETRUNC);
  EXPECT_EQ(error.len, 10U);
  EXPECT_EQ(error.olen, 90U);
  char text[128];
  EXPECT_NE(std::string(fi_cq_strerror(b->receives, error.prov_errno, nullptr, text, sizeof text))
                .find("longer"),
            std::string::npos);
}

TEST_F(Conformance, PeekClaimAndDiscard) {
  open();
  const Bytes data = numbered(50);
  int context = 0;
  fi_msg_tagged probe{};
  probe.addr = FI_ADDR_UNSPEC;
  probe.tag = 3;
  probe.context = &context;
  ASSERT_EQ(fi_trecvmsg(b->ep, &probe, FI_PEEK), 0);
  EXPECT_EQ(b->wait_error(b->receives).err, FI_ENOMSG);
  send(data, 3);
  fi_cq_tagged_entry seen{};
  for (int i = 0; i < 10'000 && seen.len == 0; ++i) { // until it has come
    ASSERT_EQ(fi_trecvmsg(b->ep, &probe, FI_PEEK | FI_CLAIM), 0);
    fi_cq_err_entry none{};
    if (fi_cq_sread(b->receives, &seen, 1, nullptr, patience_ms) == -FI_EAVAIL) {
      ASSERT_EQ(fi_cq_readerr(b->receives, &none, 0), 1);
      ASSERT_EQ(none.err, FI_ENOMSG);
    }
  }
  ASSERT_EQ(seen.len, 50U);
  ASSERT_EQ(fi_trecvmsg(b->ep, &probe, FI_PEEK), 0);
  EXPECT_EQ(b->wait_error(b->receives).err, FI_ENOMSG) << "it is claimed";
  Bytes memory(50);
  const iovec part{.iov_base = memory.data(), .iov_len = memory.size()};
  probe.msg_iov = &part;
  probe.iov_count = 1;
  ASSERT_EQ(fi_trecvmsg(b->ep, &probe, FI_CLAIM), 0);
  EXPECT_EQ(b->wait(b->receives).op_context, &context);
  EXPECT_EQ(memory, data);
}

TEST_F(Conformance, CancelEndsAReceive) {
  open();
  Bytes memory(10);
  int context = 0;
  receive(memory, 9, 0, &context);
  EXPECT_EQ(fi_cancel(&b->ep->fid, &context), 0);
  const fi_cq_err_entry error = b->wait_error(b->receives);
  EXPECT_EQ(error.err, FI_ECANCELED);
  EXPECT_EQ(error.op_context, &context);
  EXPECT_EQ(fi_cancel(&b->ep->fid, &context), -FI_ENOENT);
}

TEST_F(Conformance, InjectedMessagesNeedNoCompletion) {
  open();
  Bytes memory(1'024);
  receive(memory, 4);
  Bytes data = numbered(1'024);
  const Bytes before = data;
  a->begin([&] { return fi_tinject(a->ep, data.data(), data.size(), to_b, 4); });
  std::ranges::fill(data, std::byte{0});
  EXPECT_EQ(b->wait(b->receives).len, 1'024U);
  EXPECT_EQ(memory, before);
  fi_cq_tagged_entry entry{};
  EXPECT_EQ(fi_cq_read(a->sends, &entry, 1), -FI_EAGAIN);
  EXPECT_EQ(fi_tinject(a->ep, Bytes(1'025).data(), 1'025, to_b, 4), -FI_EMSGSIZE);
}

TEST_F(Conformance, WritesAndReads) {
  open();
  Bytes there(5'000);
  fid_mr* mr = nullptr;
  ASSERT_EQ(fi_mr_reg(b->domain, there.data(), there.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
                      0, &mr, nullptr),
            0);
  Bytes data = numbered(4'000);
  a->begin([&] {
    return fi_writedata(a->ep, data.data(), data.size(), nullptr, 77, to_b, 100, fi_mr_key(mr),
                        nullptr);
  });
  EXPECT_NE(a->wait(a->sends).flags & FI_WRITE, 0U);
  const fi_cq_tagged_entry arrival = b->wait(b->receives);
  EXPECT_EQ(arrival.data, 77U);
  EXPECT_NE(arrival.flags & FI_REMOTE_WRITE, 0U);
  Bytes back(4'000);
  a->begin([&] {
    return fi_read(a->ep, back.data(), back.size(), nullptr, to_b, 100, fi_mr_key(mr), nullptr);
  });
  EXPECT_NE(a->wait(a->sends).flags & FI_READ, 0U);
  EXPECT_EQ(back, data);
  Bytes few = numbered(8, 5);
  a->begin([&] { return fi_inject_write(a->ep, few.data(), 8, to_b, 0, fi_mr_key(mr)); });
  Bytes seen(8);
  for (int i = 0; i < 1'000 && seen != few; ++i) { // injected: nothing says when it is there
    a->begin(
        [&] { return fi_read(a->ep, seen.data(), 8, nullptr, to_b, 0, fi_mr_key(mr), nullptr); });
    a->wait(a->sends);
  }
  EXPECT_EQ(seen, few);
  const std::uint64_t key = fi_mr_key(mr);
  EXPECT_EQ(fi_close(&mr->fid), 0);
  a->begin([&] { return fi_read(a->ep, back.data(), 8, nullptr, to_b, 0, key, nullptr); });
  EXPECT_EQ(a->wait_error(a->sends).err, FI_EACCES);
}

TEST_F(Conformance, Atomics) {
  open();
  std::vector<std::uint64_t> there(4, 40);
  fid_mr* mr = nullptr;
  ASSERT_EQ(fi_mr_reg(b->domain, there.data(), 32, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr,
                      nullptr),
            0);
  const std::uint64_t key = fi_mr_key(mr);
  const std::uint64_t two = 2;
  int context = 0;
  a->begin([&] {
    return fi_atomic(a->ep, &two, 1, nullptr, to_b, 8, key, FI_UINT64, FI_SUM, &context);
  });
  const fi_cq_tagged_entry written = a->wait(a->sends);
  EXPECT_EQ(written.op_context, &context);
  EXPECT_EQ(written.flags, FI_ATOMIC | FI_WRITE);
  std::uint64_t old = 0;
  a->begin([&] {
    return fi_fetch_atomic(a->ep, &two, 1, nullptr, &old, nullptr, to_b, 8, key, FI_UINT64, FI_PROD,
                           nullptr);
  });
  EXPECT_EQ(a->wait(a->sends).flags, FI_ATOMIC | FI_READ);
  EXPECT_EQ(old, 42U);
  const std::uint64_t expected = 84;
  const std::uint64_t seven = 7;
  a->begin([&] {
    return fi_compare_atomic(a->ep, &seven, 1, nullptr, &expected, nullptr, &old, nullptr, to_b, 8,
                             key, FI_UINT64, FI_CSWAP, nullptr);
  });
  a->wait(a->sends);
  EXPECT_EQ(old, 84U);
  a->begin([&] {
    return fi_fetch_atomic(a->ep, nullptr, 1, nullptr, &old, nullptr, to_b, 8, key, FI_UINT64,
                           FI_ATOMIC_READ, nullptr);
  });
  a->wait(a->sends);
  EXPECT_EQ(old, 7U);
  a->begin([&] { return fi_inject_atomic(a->ep, &two, 1, to_b, 0, key, FI_UINT64, FI_SUM); });
  a->begin([&] {
    return fi_fetch_atomic(a->ep, nullptr, 1, nullptr, &old, nullptr, to_b, 0, key, FI_UINT64,
                           FI_ATOMIC_READ, nullptr);
  });
  a->wait(a->sends);
  EXPECT_EQ(old, 42U) << "atomics with one peer are done in their order";
  std::size_t count = 0;
  EXPECT_EQ(fi_atomicvalid(a->ep, FI_UINT64, FI_SUM, &count), 0);
  EXPECT_EQ(count, 128U);
  EXPECT_EQ(fi_compare_atomicvalid(a->ep, FI_UINT64, FI_CSWAP, &count), 0);
  EXPECT_GE(count, 64U);
  EXPECT_EQ(fi_atomicvalid(a->ep, FI_LONG_DOUBLE, FI_SUM, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomicvalid(a->ep, FI_DOUBLE, FI_BOR, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomicvalid(a->ep, FI_UINT64, FI_CSWAP, &count), -FI_EOPNOTSUPP);
  fi_atomic_attr attr{};
  EXPECT_EQ(fi_query_atomic(a->domain, FI_INT32, FI_MIN, &attr, FI_FETCH_ATOMIC), 0);
  EXPECT_EQ(attr.count * attr.size, 1'024U);
  std::vector<std::uint64_t> many(129);
  EXPECT_EQ(fi_atomic(a->ep, many.data(), 129, nullptr, to_b, 0, key, FI_UINT64, FI_SUM, nullptr),
            -FI_EMSGSIZE);
  EXPECT_EQ(fi_atomic(a->ep, &two, 1, nullptr, to_b, 0, key, FI_FLOAT, FI_BXOR, nullptr),
            -FI_EOPNOTSUPP);
  a->begin([&] {
    return fi_atomic(a->ep, &two, 1, nullptr, to_b, 32, key, FI_UINT64, FI_SUM, nullptr);
  });
  EXPECT_EQ(a->wait_error(a->sends).err, FI_EACCES) << "beyond the region";
  EXPECT_EQ(fi_close(&mr->fid), 0);
}

TEST_F(Conformance, ThreadsSendAtOnce) {
  open();
  constexpr std::size_t threads = 4;
  constexpr std::uint32_t each = 200;
  std::vector<std::thread> senders;
  for (std::size_t n = 0; n < threads; ++n) {
    senders.emplace_back([&, n] {
      for (std::uint32_t i = 0; i < each; ++i) {
        a->begin([&] { return fi_tinject(a->ep, &i, sizeof i, to_b, n); });
      }
    });
  }
  std::array<std::uint32_t, threads> next{};
  for (std::size_t i = 0; i < threads * each; ++i) {
    std::uint32_t number = 0;
    b->begin([&] {
      return fi_trecv(b->ep, &number, sizeof number, nullptr, FI_ADDR_UNSPEC, 0, ~0ULL, nullptr);
    });
    const std::uint64_t tag = b->wait(b->receives).tag;
    ASSERT_LT(tag, threads);
    EXPECT_EQ(number, next[tag]++) << "those of a thread are in order";
  }
  for (std::thread& sender : senders) {
    sender.join();
  }
}

TEST_F(Conformance, WithoutAThreadCallsMakeProgress) {
  ::setenv("TRIBUTARY_OFI_PROGRESS", "caller", 1);
  Info h = hints(FI_TAGGED);
  const Info there = info_for(h);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there->domain_attr->data_progress, FI_PROGRESS_MANUAL);
  EXPECT_EQ(there->domain_attr->threading, FI_THREAD_DOMAIN);
  h->domain_attr->data_progress = FI_PROGRESS_AUTO;
  EXPECT_EQ(info_for(h), nullptr);
  h->domain_attr->data_progress = FI_PROGRESS_UNSPEC;
  h->domain_attr->threading = FI_THREAD_SAFE;
  EXPECT_EQ(info_for(h), nullptr);
  open();
  for (const std::size_t length : std::initializer_list<std::size_t>{10, 100'000}) {
    const Bytes data = numbered(length);
    Bytes memory(length);
    bool sent = false;
    bool received = false;
    receive(memory, 1);
    ssize_t code = -FI_EAGAIN;
    for (int i = 0; i < 1'000'000 && !(sent && received); ++i) {
      if (code == -FI_EAGAIN) {
        code = fi_tsend(a->ep, data.data(), length, nullptr, to_b, 1, nullptr);
      }
      fi_cq_tagged_entry entry{};
      sent = sent || fi_cq_read(a->sends, &entry, 1) == 1;
      received = received || fi_cq_read(b->receives, &entry, 1) == 1;
    }
    EXPECT_TRUE(sent && received) << length;
    EXPECT_EQ(memory, data);
  }
  ::unsetenv("TRIBUTARY_OFI_PROGRESS");
}

TEST_F(Conformance, WhatAnEndPointUsesStays) {
  open();
  EXPECT_EQ(fi_close(&a->sends->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&a->av->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&a->domain->fid), -FI_EBUSY);
  send(numbered(10), 1);
  a->wait(a->sends);
}

TEST_F(Conformance, AddressesOfOthersAreRefused) {
  open();
  std::array<std::byte, 12> other = b->name;
  other[0] = std::byte{'x'};
  fi_addr_t place = 0;
  EXPECT_EQ(fi_av_insert(a->av, other.data(), 1, &place, 0, nullptr), 0);
  EXPECT_EQ(place, FI_ADDR_NOTAVAIL);
  other = b->name;
  other[10] ^= std::byte{1}; // the VNI
  EXPECT_EQ(fi_av_insert(a->av, other.data(), 1, &place, 0, nullptr), 0);
  EXPECT_EQ(fi_tsend(a->ep, nullptr, 0, nullptr, 1'000, 0, nullptr), -FI_EINVAL);
}

TEST_F(Conformance, APeerThatClosesIsNamedByAnError) {
  open();
  send(numbered(10), 1);
  a->wait(a->sends);
  const Bytes data = numbered(100'000);
  send(data, 2); // without a receive
  b.reset();
  const fi_cq_err_entry error = a->wait_error(a->sends);
  EXPECT_TRUE(error.err == FI_ECONNRESET || error.err == FI_EHOSTUNREACH) << error.err;
}

TEST_F(Conformance, ADescriptorIsReadableWhenSomethingHasEnded) {
  open();
  Bytes memory(10);
  receive(memory, 1);
  int descriptor = -1;
  ASSERT_EQ(fi_control(&b->receives->fid, FI_GETWAIT, &descriptor), 0);
  send(numbered(10), 1);
  fi_cq_tagged_entry entry{};
  ssize_t n = -FI_EAGAIN;
  for (int i = 0; i < 100 && n == -FI_EAGAIN; ++i) {
    fid* fids[] = {&b->receives->fid};
    if (fi_trywait(b->fabric, fids, 1) == 0) {
      pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
      ASSERT_GT(::poll(&waiting, 1, patience_ms), 0);
    }
    n = fi_cq_read(b->receives, &entry, 1);
  }
  EXPECT_EQ(n, 1);
}

TEST_F(Conformance, ATimeOutOfAWaitIsKept) {
  open();
  fi_cq_tagged_entry entry{};
  EXPECT_EQ(fi_cq_sread(b->receives, &entry, 1, nullptr, 20), -FI_EAGAIN);
}

} // namespace
} // namespace tributary::ofi::test
