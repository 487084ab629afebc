#include "endpoint/launcher/pmix/upcall_module.hpp"

#include "endpoint/launcher/pmix/infos.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace tributary::launch::pmix {

namespace {

std::atomic<Upcalls*> receiver = nullptr;
std::string job;

/// libpmix 4.2 has its own timer besides the answer to a group with PMIX_TIMEOUT, which ends the
/// server when it fires. The answer is given before.
constexpr std::uint64_t own_timer_margin_ms = 150;

Upcalls::Done done_with(pmix_op_cbfunc_t callback, void* data) {
  return [callback, data](int status) {
    if (callback != nullptr) {
      callback(status, data);
    }
  };
}

Upcalls::DataAnswer data_answer(pmix_modex_cbfunc_t callback, void* data) {
  return [callback, data](int status, std::string bytes) {
    auto* const kept = new std::string(std::move(bytes)); // until the library releases it
    callback(
        status, kept->data(), kept->size(), data,
        [](void* owned) { delete static_cast<std::string*>(owned); }, kept);
  };
}

/// The library holds the infos until it releases them.
void give(Infos infos, int status, pmix_info_cbfunc_t callback, void* data) {
  auto* const kept = new Infos(std::move(infos));
  callback(
      status, kept->data(), kept->size(), data,
      [](void* owned) { delete static_cast<Infos*>(owned); }, kept);
}

/// libpmix 4.2 leaves Nagle's algorithm on: a message after an unacknowledged one waits for the
/// peer's delayed acknowledgement, 40 ms.
void send_without_delay() {
  DIR* const open = opendir("/proc/self/fd");
  if (open == nullptr) {
    return;
  }
  while (const dirent* const entry = readdir(open)) {
    const int fd = std::atoi(entry->d_name);
    int protocol = 0;
    socklen_t size = sizeof(protocol);
    if (fd > 2 && getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
        protocol == IPPROTO_TCP) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
  }
  closedir(open);
}

pmix_status_t on_connected(const pmix_proc_t* process, void*, pmix_info_t*, std::size_t,
                           pmix_op_cbfunc_t callback, void* data) {
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    return PMIX_ERR_NOT_AVAILABLE;
  }
  send_without_delay();
  upcalls->connected(process->rank, done_with(callback, data));
  return PMIX_SUCCESS;
}

pmix_status_t on_finalized(const pmix_proc_t* process, void*, pmix_op_cbfunc_t callback,
                           void* data) {
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    return PMIX_ERR_NOT_AVAILABLE;
  }
  upcalls->finalized(process->rank, done_with(callback, data));
  return PMIX_SUCCESS;
}

pmix_status_t on_abort(const pmix_proc_t* process, void*, int status, const char text[],
                       pmix_proc_t*, std::size_t, pmix_op_cbfunc_t callback, void* data) {
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    return PMIX_ERR_NOT_AVAILABLE;
  }
  upcalls->aborted(process->rank, status, text == nullptr ? "" : text, done_with(callback, data));
  return PMIX_SUCCESS;
}

/// A rank of the job, or one that is in no job.
std::uint32_t rank_of(const pmix_proc_t& process) {
  return PMIX_CHECK_NSPACE(process.nspace, job.c_str()) ? process.rank : PMIX_RANK_INVALID;
}

void add_ranks(messages::Fence& part, const pmix_proc_t processes[], std::size_t count) {
  bool all = false;
  for (std::size_t at = 0; at < count; ++at) {
    const std::uint32_t rank = rank_of(processes[at]);
    const bool here = rank == PMIX_RANK_LOCAL_PEERS || rank == PMIX_RANK_LOCAL_NODE;
    part.set_local(part.local() || here);
    all = all || here || rank == PMIX_RANK_WILDCARD;
    part.add_ranks(rank);
  }
  if (all) {
    part.clear_ranks();
  }
}

/// A directive of a fence or group.
void add_directive(messages::Fence& part, const pmix_info_t& info) {
  if (PMIX_CHECK_KEY(&info, PMIX_TIMEOUT)) {
    part.set_limit_ms(std::uint64_t{number_in(info)} * 1000);
  } else if (PMIX_CHECK_KEY(&info, PMIX_LOCAL_COLLECTIVE_STATUS) &&
             info.value.type == PMIX_STATUS) {
    part.set_status(info.value.data.status);
  }
}

pmix_status_t on_fence(const pmix_proc_t processes[], std::size_t count, const pmix_info_t infos[],
                       std::size_t info_count, char* bytes, std::size_t size,
                       pmix_modex_cbfunc_t callback, void* data) {
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    return PMIX_ERR_NOT_AVAILABLE;
  }
  messages::Fence part;
  add_ranks(part, processes, count);
  for (std::size_t at = 0; at < info_count; ++at) {
    add_directive(part, infos[at]);
  }
  if (bytes != nullptr) {
    part.set_data(bytes, size);
    std::free(bytes); // the call passed ownership to us
  }
  upcalls->gather(std::move(part), [answer = data_answer(callback, data)](
                                       int status, std::string all, std::uint32_t) {
    answer(status, std::move(all));
  });
  return PMIX_SUCCESS;
}

/// What the ranks of this node request with a group; false for what this server does not support.
bool add_directives(messages::Fence& part, const pmix_info_t infos[], std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    const pmix_info_t& info = infos[at];
    if (PMIX_CHECK_KEY(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID)) {
      part.set_wants_id(part.wants_id() || PMIX_INFO_TRUE(&info));
    } else if (PMIX_CHECK_KEY(&info, PMIX_GROUP_LOCAL_ONLY)) {
      part.set_local(part.local() || PMIX_INFO_TRUE(&info));
    } else if (PMIX_CHECK_KEY(&info, PMIX_GROUP_ENDPT_DATA)) {
      if (info.value.type == PMIX_BYTE_OBJECT && info.value.data.bo.bytes != nullptr) {
        part.set_data(info.value.data.bo.bytes, info.value.data.bo.size);
      }
    } else if (PMIX_CHECK_KEY(&info, PMIX_GROUP_ADD_MEMBERS) ||
               PMIX_CHECK_KEY(&info, "pmix.grp.btstrp")) { // PMIX_GROUP_BOOTSTRAP of later ones
      return false;
    } else {
      add_directive(part, info);
    }
  }
  if (library_release() < 5 && part.limit_ms() > 0) {
    part.set_limit_ms(std::max(part.limit_ms(), 2 * own_timer_margin_ms) - own_timer_margin_ms);
  }
  return true;
}

pmix_status_t on_group(pmix_group_operation_t operation, char* name, const pmix_proc_t processes[],
                       std::size_t count, const pmix_info_t infos[], std::size_t info_count,
                       pmix_info_cbfunc_t callback, void* data) {
  // Errors by the callback: the library frees a rank's request twice when this returns one.
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    give({}, PMIX_ERR_NOT_AVAILABLE, callback, data);
    return PMIX_SUCCESS;
  }
  messages::Fence part;
  if (name == nullptr || processes == nullptr || count == 0 ||
      (operation != PMIX_GROUP_CONSTRUCT && operation != PMIX_GROUP_DESTRUCT) ||
      !add_directives(part, infos, info_count)) {
    give({}, PMIX_ERR_NOT_SUPPORTED, callback, data);
    return PMIX_SUCCESS;
  }
  const bool constructs = operation == PMIX_GROUP_CONSTRUCT;
  part.set_kind(constructs ? messages::Fence::CONSTRUCT : messages::Fence::DESTRUCT);
  part.set_name(name);
  add_ranks(part, processes, count);
  if (!constructs && part.local()) {
    return PMIX_OPERATION_SUCCEEDED; // libpmix 5.0 answers its ranks itself, whatever this returns
  }
  upcalls->gather(std::move(part),
                  [callback, data, constructs, members = std::vector(processes, processes + count)](
                      int status, const std::string& all, std::uint32_t context_id) {
                    Infos answer;
                    if (constructs && status == PMIX_SUCCESS) {
                      answer.processes(PMIX_GROUP_MEMBERSHIP, members);
                      if (context_id != 0) {
                        answer.size(PMIX_GROUP_CONTEXT_ID, context_id);
                      }
                      if (!all.empty()) {
                        answer.bytes(PMIX_GROUP_ENDPT_DATA, all);
                      }
                    }
                    give(std::move(answer), status, callback, data);
                  });
  return PMIX_SUCCESS;
}

pmix_status_t on_modex(const pmix_proc_t* process, const pmix_info_t*, std::size_t,
                       pmix_modex_cbfunc_t callback, void* data) {
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    return PMIX_ERR_NOT_AVAILABLE;
  }
  upcalls->modex(process->rank, data_answer(callback, data));
  return PMIX_SUCCESS;
}

pmix_status_t on_notice(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                        pmix_info_t infos[], std::size_t count, pmix_op_cbfunc_t callback,
                        void* data) {
  (void)callback;
  (void)data;
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    return PMIX_ERR_NOT_AVAILABLE;
  }
  messages::Notice notice;
  notice.set_code(code);
  notice.set_range(range);
  if (source != nullptr && source->rank <= PMIX_RANK_VALID) {
    notice.set_rank(source->rank);
  }
  notice.set_infos(packed(infos, count));
  upcalls->notice(std::move(notice));
  return PMIX_OPERATION_SUCCEEDED;
}

/// Answers for several keys, delivered together when the last one is there.
struct Asked {
  std::mutex lock;
  std::size_t open = 0;
  int status = PMIX_ERR_NOT_FOUND; ///< success once one key has a value
  Infos infos;
  pmix_info_cbfunc_t callback = nullptr;
  void* data = nullptr;

  void add(int answered, const std::vector<messages::Value>& values) {
    const std::scoped_lock held(lock);
    if (answered == PMIX_SUCCESS) {
      status = PMIX_SUCCESS;
    } else if (status == PMIX_ERR_NOT_FOUND) {
      status = answered;
    }
    for (const messages::Value& value : values) {
      const char* const key = value.name().c_str();
      switch (value.value_case()) {
      case messages::Value::kNumber: infos.number(key, value.number()); break;
      case messages::Value::kText: infos.text(key, value.text()); break;
      case messages::Value::kData: infos.bytes(key, value.data()); break;
      case messages::Value::kReals:
        infos.reals(key, {value.reals().values().data(),
                          static_cast<std::size_t>(value.reals().values_size())});
        break;
      case messages::Value::kNumbers:
        infos.numbers(key, {value.numbers().values().data(),
                            static_cast<std::size_t>(value.numbers().values_size())});
        break;
      case messages::Value::VALUE_NOT_SET: break;
      }
    }
    if (--open > 0) {
      return;
    }
    give(std::move(infos), status, callback, data);
  }
};

pmix_status_t on_query(pmix_proc_t* process, pmix_query_t* queries, std::size_t count,
                       pmix_info_cbfunc_t callback, void* data) {
  Upcalls* const upcalls = receiver;
  if (upcalls == nullptr) {
    return PMIX_ERR_NOT_AVAILABLE;
  }
  std::vector<messages::Query> all;
  for (std::size_t at = 0; at < count; ++at) {
    for (char** key = queries[at].keys; key != nullptr && *key != nullptr; ++key) {
      messages::Query query;
      query.set_rank(process->rank);
      query.set_key(*key);
      for (std::size_t each = 0; each < queries[at].nqual; ++each) {
        messages::Variable& qualifier = *query.add_qualifiers();
        qualifier.set_name(queries[at].qualifiers[each].key);
        qualifier.set_value(text_in(queries[at].qualifiers[each]));
      }
      all.push_back(std::move(query));
    }
  }
  if (all.empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  const auto asked = std::make_shared<Asked>();
  asked->open = all.size();
  asked->callback = callback;
  asked->data = data;
  for (messages::Query& query : all) {
    upcalls->query(std::move(query), [asked](int status, const std::vector<messages::Value>& v) {
      asked->add(status, v);
    });
  }
  return PMIX_SUCCESS;
}

/// System events that ranks register for are delivered through `notify` whatever they registered.
pmix_status_t on_register(pmix_status_t*, std::size_t, const pmix_info_t*, std::size_t,
                          pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}
pmix_status_t on_deregister(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

} // namespace

void set_upcalls(Upcalls* upcalls) { receiver = upcalls; }
void set_job(const std::string& name) { job = name; }

int library_release() {
  const std::string_view version = PMIx_Get_version(); // "OpenPMIx 5.0.7, repo rev: ..."
  const std::size_t digit = version.find_first_of("0123456789");
  return digit == std::string_view::npos ? 0 : std::atoi(version.data() + digit);
}

pmix_server_module_t& upcall_module() {
  static pmix_server_module_t module = [] {
    pmix_server_module_t made;
    std::memset(&made, 0, sizeof(made));
    made.client_connected2 = on_connected;
    made.client_finalized = on_finalized;
    made.abort = on_abort;
    made.fence_nb = on_fence;
    made.group = on_group;
    made.direct_modex = on_modex;
    made.notify_event = on_notice;
    made.query = on_query;
    made.register_events = on_register;
    made.deregister_events = on_deregister;
    return made;
  }();
  return module;
}

std::string packed(pmix_info_t* infos, std::size_t count) {
  if (count == 0) {
    return {};
  }
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  std::string bytes;
  if (PMIx_Data_pack(nullptr, &buffer, &count, 1, PMIX_SIZE) == PMIX_SUCCESS &&
      PMIx_Data_pack(nullptr, &buffer, infos, static_cast<std::int32_t>(count), PMIX_INFO) ==
          PMIX_SUCCESS) {
    bytes.assign(buffer.base_ptr, buffer.bytes_used);
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return bytes;
}

pmix_info_t* unpacked(const std::string& bytes, std::size_t& count) {
  count = 0;
  if (bytes.empty()) {
    return nullptr;
  }
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_byte_object_t payload;
  payload.bytes = static_cast<char*>(std::malloc(bytes.size()));
  payload.size = bytes.size();
  std::memcpy(payload.bytes, bytes.data(), bytes.size());
  PMIx_Data_load(&buffer, &payload); // the buffer has them now
  pmix_info_t* infos = nullptr;
  std::size_t announced = 0;
  std::int32_t one = 1;
  // Each takes more than a byte: a larger announced number is not a valid list.
  if (PMIx_Data_unpack(nullptr, &buffer, &announced, &one, PMIX_SIZE) == PMIX_SUCCESS &&
      announced > 0 && announced < bytes.size()) {
    PMIX_INFO_CREATE(infos, announced);
    auto number = static_cast<std::int32_t>(announced);
    if (PMIx_Data_unpack(nullptr, &buffer, infos, &number, PMIX_INFO) == PMIX_SUCCESS) {
      count = announced;
    } else {
      PMIX_INFO_FREE(infos, announced);
      infos = nullptr;
    }
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return infos;
}

} // namespace tributary::launch::pmix
