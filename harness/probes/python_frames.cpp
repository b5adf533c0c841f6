// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python_frames.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <optional>

#include "harness/base/descriptor.hpp"

namespace stepleak {
namespace {

// The interpreter's functions, found by name: this library is loaded into programs without Python too.
struct Interpreter {
  void* (*own_thread_state)() = nullptr;
  void* (*current_thread_state)() = nullptr;
  void (*write_frames)(int file, void* thread_state) = nullptr;

  template <typename Function>
  static void find(Function& function, const char* name) {
    if (function == nullptr) function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  }
  Interpreter() {
    find(own_thread_state, "PyGILState_GetThisThreadState");
    find(current_thread_state, "PyThreadState_GetUnchecked");  // 3.13 and later
    find(current_thread_state, "_PyThreadState_UncheckedGet");
    find(write_frames, "PyUnstable_DumpTraceback");  // 3.15 and later
    find(write_frames, "_Py_DumpTraceback");         // up to 3.12
  }
  // It may be loaded at any time, and is never unloaded.
  static const Interpreter& instance() {
    static const Interpreter found;
    return found;
  }
  [[nodiscard]] void* thread_state() const { return own_thread_state != nullptr ? own_thread_state() : nullptr; }
};

// A file in memory, one a thread: written to and read back without a lock.
class Page {
 public:
  Page() { open(); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    if (is_ours()) ::close(file_);
  }
  /// Negative where there is none. A program may close all descriptors that it finds, and a file of its own then has
  /// the number: nothing of ours is written there.
  [[nodiscard]] int file() {
    if (!is_ours()) open();
    return file_;
  }
  [[nodiscard]] std::string take() const {
    const auto length = ::lseek(file_, 0, SEEK_CUR);
    if (length <= 0) return {};
    std::string text(static_cast<std::size_t>(length), '\0');
    const auto read = ::pread(file_, text.data(), text.size(), 0);
    text.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
    ::lseek(file_, 0, SEEK_SET);
    return text;
  }

 private:
  void open() {
    file_ = moved_up(::memfd_create("frames", MFD_CLOEXEC));
    if (::fstat(file_, &identity_) != 0) file_ = -1;
  }
  [[nodiscard]] bool is_ours() const {
    struct stat now {};
    return ::fstat(file_, &now) == 0 && now.st_ino == identity_.st_ino && now.st_dev == identity_.st_dev;
  }

  int file_ = -1;
  struct stat identity_ {};
};

// Where a program limits how large a file may be, who writes more gets SIGXFSZ, which ends a process that does not
// ignore it.
bool may_be_written() {
  constexpr rlim_t kMostBytes = 1 << 17;  // of a hundred frames: the interpreter writes no more
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= kMostBytes;
}

void append_utf8(std::string& text, std::uint32_t character) {
  constexpr std::uint32_t kFirstEscaped = 0xdc80;  // a byte of a file's name that is no UTF-8 (PEP 383)
  constexpr std::uint32_t kLastEscaped = 0xdcff;
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_rest = [&](int bits) { add(0x80 | ((character >> bits) & 0x3f)); };
  if (character < 0x80) {
    add(character);
  } else if (character >= kFirstEscaped && character <= kLastEscaped) {
    add(character - 0xdc00);
  } else if (character < 0x800) {
    add(0xc0 | (character >> 6));
    add_rest(0);
  } else if (character < 0x10000) {
    add(0xe0 | (character >> 12));
    add_rest(6);
    add_rest(0);
  } else {
    add(0xf0 | ((character >> 18) & 0x07));
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
}

// The interpreter writes what is not ASCII as `\xe9`, `\u00e9` or `\U000000e9`, and a backslash as it is.
std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const char type = text.size() > 1 && text.front() == '\\' ? text[1] : '\0';
    const std::size_t digits = type == 'x' ? 2 : type == 'u' ? 4 : type == 'U' ? 8 : 0;
    std::uint32_t character = 0;
    const auto* const begin = text.data() + 2;
    const bool is_escape = digits > 0 && text.size() >= 2 + digits &&
                           std::from_chars(begin, begin + digits, character, 16).ptr == begin + digits;
    if (is_escape) {
      append_utf8(plain, character);
    } else {
      plain += text.front();
    }
    text.remove_prefix(is_escape ? 2 + digits : 1);
  }
  return plain;
}

// `  File "train.py", line 12 in step`; nothing for the heading and for a line that was cut.
std::optional<Frame> parse_frame(std::string_view line) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  constexpr std::string_view kIn = " in ";
  const auto line_at = line.rfind(kLine);
  if (!line.starts_with(kFile) || line_at == std::string_view::npos) return std::nullopt;
  const auto number = line.substr(line_at + kLine.size());
  const auto name_at = number.find(kIn);
  if (name_at == std::string_view::npos) return std::nullopt;
  Frame frame;
  frame.file = unescaped(line.substr(kFile.size(), line_at - kFile.size()));
  std::from_chars(number.data(), number.data() + name_at, frame.line);
  frame.function = unescaped(number.substr(name_at + kIn.size()));
  return frame;
}

}  // namespace

bool holds_gil() {
  const auto& python = Interpreter::instance();
  auto* own = python.thread_state();
  return own != nullptr && python.current_thread_state != nullptr && python.current_thread_state() == own;
}

std::string write_python_frames() {
  const auto& python = Interpreter::instance();
  auto* own = python.thread_state();
  if (own == nullptr || python.write_frames == nullptr || !may_be_written()) return {};
  thread_local Page page;
  const int file = page.file();
  if (file < 0) return {};
  python.write_frames(file, own);
  return page.take();
}

std::vector<Frame> parse_python_frames(std::string_view text) {
  std::vector<Frame> frames;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (auto frame = parse_frame(text.substr(0, end))) frames.push_back(std::move(*frame));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return frames;
}

}  // namespace stepleak
