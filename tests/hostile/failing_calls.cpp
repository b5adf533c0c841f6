// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// To be preloaded: makes one call of ours fail, as a full disk, a limit or an exhausted machine would.
//
//   STEPLEAK_FAULT=write:3           the third write() that stepleak's own code makes in this process
//   STEPLEAK_FAULT=new@server:9      the ninth allocation of the process that was started
//   STEPLEAK_FAULT=new@worker:7,0,4  the seventh of the first worker, none of the second, the fourth of the third
//   STEPLEAK_FAULT=new@server:places none fails; the log says by number the first allocation of each place of ours
//   STEPLEAK_FAULT_LOG=FILE          a line for each call that was made to fail; with @, how many a process made
//
// Calls of torch, Python and the C library are left alone. A forked child goes on counting where its parent stood, but
// a worker, which is the child of the server's child, from its own start.

// Here open() and open64() are two, as they are for the linker.
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace {

struct Fault {
  std::string_view call;
  std::string_view where;         ///< "server", "worker"; empty: in each process
  const char* numbers = nullptr;  ///< which call; of workers one for each, with commas between
};

Fault fault_of_environment() {
  const char* text = std::getenv("STEPLEAK_FAULT");
  const char* colon = text != nullptr ? std::strchr(text, ':') : nullptr;
  if (colon == nullptr) return {};
  const std::string_view call(text, static_cast<std::size_t>(colon - text));
  const auto at = call.find('@');
  if (at == std::string_view::npos) return {call, {}, colon + 1};
  return {call.substr(0, at), call.substr(at + 1), colon + 1};
}

constexpr int kServer = 0;
constexpr int kWorker = 2;  // its keeper stands between

const Fault fault = fault_of_environment();
long number = fault.numbers != nullptr ? std::strtol(fault.numbers, nullptr, 10) : 0;
long calls = 0;
int generation = kServer;
int workers = 0;

// No call fails where no number is left.
long number_of_worker(int worker) {
  const char* text = fault.numbers;
  for (int i = 1; i < worker && text != nullptr; ++i) {
    text = std::strchr(text, ',');
    if (text != nullptr) ++text;
  }
  return text != nullptr ? std::strtol(text, nullptr, 10) : 0;
}

bool is_counted_here() {
  if (fault.where.empty()) return true;
  return generation == (fault.where == "server" ? kServer : kWorker);
}

void be_child() {
  if (++generation != kWorker || fault.where != "worker") return;
  number = number_of_worker(workers);
  calls = 0;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void log_line(const char* line) {
  const char* file = std::getenv("STEPLEAK_FAULT_LOG");
  if (file == nullptr) return;
  static auto* const open_file = real<int(const char*, int, ...)>("open");
  static auto* const write_text = real<ssize_t(int, const void*, std::size_t)>("write");
  const int descriptor = open_file(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  (void)!write_text(descriptor, line, std::strlen(line));
  ::close(descriptor);
}

void log_number(const char* what, long value) {
  std::array<char, 64> line{};
  std::snprintf(line.data(), line.size(), "%s %ld\n", what, value);
  log_line(line.data());
}

// dladdr() also looks for the nearest symbol, which in torch's library takes a millisecond, for each of its
// allocations.
const char* object_of(void* address) {
#if __GLIBC_PREREQ(2, 35)
  dl_find_object found{};
  if (::_dl_find_object(address, &found) != 0) return nullptr;
  const char* name = found.dlfo_link_map->l_name;
  return name != nullptr && *name != '\0' ? name : program_invocation_name;
#else
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
#endif
}

bool is_ours(void* caller) {
  const auto* object = object_of(caller);
  if (object == nullptr) return false;
  const auto* name = std::strrchr(object, '/');
  return std::string_view(name != nullptr ? name + 1 : object).find("stepleak") != std::string_view::npos;
}

constexpr std::size_t kPlaces = std::size_t{1} << 16;
constexpr std::ptrdiff_t kFrames = 4;  // a container's own functions, and who uses it

// Whether the call's frames are seen for the first time. The linker lets torch use our copies of a container's
// functions: none but ours may stand above them.
bool is_new_place(void* caller) {
  static std::array<std::size_t, kPlaces> seen{};
  std::array<void*, 16> frames{};
  const auto* const end = frames.data() + ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const auto* const first = std::find(std::as_const(frames).data(), end, caller);
  std::size_t place = 0;
  for (const auto* frame = first; frame != end && frame - first < kFrames; ++frame) {
    if (!is_ours(*frame)) return false;
    place = place * 1'000'003 + reinterpret_cast<std::size_t>(*frame);
  }
  for (std::size_t i = place % kPlaces;; i = (i + 1) % kPlaces) {
    if (seen.at(i) == place) return false;
    if (seen.at(i) != 0) continue;
    seen.at(i) = place;
    return true;
  }
}

bool are_places_asked_for() { return fault.numbers != nullptr && std::string_view(fault.numbers) == "places"; }

bool fails(std::string_view call, void* caller) {
  if (call != fault.call || !is_counted_here() || !is_ours(caller)) return false;
  ++calls;
  if (are_places_asked_for() && is_new_place(caller)) log_number("place", calls);
  if (calls != number) return false;
  log_line("fault\n");
  return true;
}

void log_count() {
  if (fault.where.empty() || !is_counted_here()) return;
  std::array<char, 64> line{};
  std::snprintf(line.data(), line.size(), "calls %d %ld\n", generation == kServer ? 0 : workers, calls);
  log_line(line.data());
}

// The server returns from main().
[[maybe_unused]] const int at_exit = std::atexit(log_count);

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

ssize_t write(int descriptor, const void* data, std::size_t size) {
  static auto* const next = real<decltype(write)>("write");
  if (!fails("write", CALLER)) return next(descriptor, data, size);
  errno = ENOSPC;
  return -1;
}

int open(const char* path, int flags, ...) {
  static auto* const next = real<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  if (!fails("open", CALLER)) return next(path, flags, mode);
  errno = EMFILE;
  return -1;
}

// What open() and mmap() are where files may be larger than two gibibytes: on machines of 64 bits the same.
[[gnu::alias("open")]] int open64(const char* path, int flags, ...);

int fsync(int descriptor) {
  static auto* const next = real<decltype(fsync)>("fsync");
  if (!fails("fsync", CALLER)) return next(descriptor);
  errno = EIO;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = real<int(const char*, const char*)>("rename");
  if (!fails("rename", CALLER)) return next(from, to);
  errno = EACCES;
  return -1;
}

pid_t fork() noexcept {
  static auto* const next = real<pid_t()>("fork");
  if (fails("fork", CALLER)) {
    errno = EAGAIN;
    return -1;
  }
  if (!is_ours(CALLER)) return next();
  if (generation == kServer) ++workers;
  const auto child = next();
  if (child == 0) be_child();
  return child;
}

[[noreturn]] void _exit(int code) {
  static auto* const next = real<void(int)>("_exit");
  if (is_ours(CALLER)) log_count();
  next(code);
  std::abort();
}

void* mmap(void* address, std::size_t size, int protection, int flags, int descriptor, off_t offset) noexcept {
  static auto* const next = real<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (!fails("mmap", CALLER)) return next(address, size, protection, flags, descriptor, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

[[gnu::alias("mmap")]] void* mmap64(void* address, std::size_t size, int protection, int flags, int descriptor,
                                    off64_t offset) noexcept;

int memfd_create(const char* name, unsigned flags) noexcept {
  static auto* const next = real<int(const char*, unsigned)>("memfd_create");
  if (!fails("memfd_create", CALLER)) return next(name, flags);
  errno = EMFILE;
  return -1;
}

void* dlopen(const char* file, int flags) noexcept {
  // The loader finds a library beside the one that asks for it: ours would be the preloaded one.
  static auto* const next = real<void*(const char*, int)>("dlopen");
  if (!fails("dlopen", CALLER)) return next(file, flags);
  return nullptr;
}

}  // extern "C"

void* operator new(std::size_t size) {
  if (fails("new", CALLER)) throw std::bad_alloc();
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
