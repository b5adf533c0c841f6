// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <system_error>
#include <thread>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

Error unwritable(const std::filesystem::path& path, int error) {
  const auto* const remedy = error == ENOSPC || error == EDQUOT ? "free some space or name a folder on another disk"
                             : error == EFBIG                   ? kLargerFiles
                                                                : "name a folder that you may write to";
  return failure_error(fmt::format("cannot write {}: {}", path.string(), reason_of(error)), remedy);
}

Error unreadable(const std::filesystem::path& path, const std::string& reason) {
  return failure_error(fmt::format("cannot read {}: {}", path.string(), reason), "check the name and the permissions");
}

/// Beside the file that it is to become, with that one's mode. Closes and removes itself unless it was renamed.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::filesystem::path& target) {
    // Never an existing file, which another process may have left, nor through a link that another user put there.
    for (int attempt = 0; attempt < 8 && (attempt == 0 || errno == EEXIST) && !is_open(); ++attempt) {
      path_ = target;
      path_ += fmt::format(".unfinished-{}-{}", ::getpid(), attempt);
      file_.emplace(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    }
    struct stat old {};
    if (is_open() && ::lstat(target.c_str(), &old) == 0) (void)::fchmod(file_->number(), old.st_mode & 07777);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (is_open()) ::unlink(path_.c_str());
  }
  [[nodiscard]] bool is_open() const { return file_ && file_->is_open(); }
  /// 0, or the error number. On the disk before it has the name: a crash of the machine leaves the old file or the new.
  [[nodiscard]] int write(std::string_view text) const {
    const int error = write_all(file_->number(), text);
    if (error != 0) return error;
    return ::fsync(file_->number()) == 0 ? 0 : errno;
  }
  [[nodiscard]] int rename_to(const std::filesystem::path& target) {
    int error = file_->close();
    if (error == 0 && ::rename(path_.c_str(), target.c_str()) == 0) return 0;
    if (error == 0) error = errno;
    ::unlink(path_.c_str());
    return error;
  }

 private:
  std::filesystem::path path_;
  std::optional<Descriptor> file_;
};

// What a rename would replace instead of writing to it: devices, pipes, and the system's names of open descriptors
// (/dev/stdout, /dev/fd/63), which are links.
bool is_written_in_place(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return false;
  if (!std::filesystem::is_symlink(status)) return true;
  const auto folder = std::filesystem::weakly_canonical(path.parent_path(), ignored).string();
  if (folder.starts_with("/dev") || folder.starts_with("/proc")) return true;
  throw failure_error(fmt::format("cannot write {}: it is a symbolic link", path.string()),
                      "name the file that it leads to");
}

// Descriptor, or -1 with errno. A pipe that nobody reads is an error; a reader that a shell starts beside us
// (`cat pipe & stepleak … --json pipe`) may open it a moment later than we do.
int open_in_place(const std::filesystem::path& path) {
  constexpr auto kPatience = std::chrono::seconds(2);
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const int opened = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (opened >= 0 || errno != ENXIO || std::chrono::steady_clock::now() > end) return opened;
    std::this_thread::sleep_for(kPause);
  }
}

void write_in_place(const std::filesystem::path& path, std::string_view text) {
  const Descriptor file(open_in_place(path));
  if (!file.is_open()) throw unwritable(path, errno);
  ::fcntl(file.number(), F_SETFL, O_APPEND);
  if (const int error = write_all(file.number(), text); error != 0) throw unwritable(path, error);
}

/// Open for reading, with its size. Throws for what is no regular file.
class RegularFile {
 public:
  // A pipe is not waited for: nobody may ever write into it.
  explicit RegularFile(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (!file_.is_open() || ::fstat(file_.number(), &status) != 0) throw unreadable(path, reason_of(errno));
    if (S_ISDIR(status.st_mode)) throw unreadable(path, reason_of(EISDIR));
    if (!S_ISREG(status.st_mode)) throw unreadable(path, "it is no regular file");
    size_ = static_cast<std::size_t>(status.st_size);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string read(std::size_t most) const {
    std::string text(std::min(most, size_), '\0');
    std::size_t size = 0;
    while (size < text.size()) {
      const auto got = ::read(file_.number(), text.data() + size, text.size() - size);
      if (got < 0 && errno != EINTR) throw unreadable(path_, reason_of(errno));
      if (got == 0) break;  // it became shorter
      if (got > 0) size += static_cast<std::size_t>(got);
    }
    text.resize(size);
    return text;
  }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::size_t size_ = 0;
};

void make_parent_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30U;
  const RegularFile file(path);
  if (file.size() > kMostBytes) throw unreadable(path, "it is larger than a gibibyte");
  return file.read(file.size());
}

std::string read_beginning(const std::filesystem::path& path, std::size_t most) { return RegularFile(path).read(most); }

void check_writable(const std::filesystem::path& path) {
  if (path == kStandardOutput) return;
  make_parent_of(path);
  if (is_written_in_place(path)) {
    // Not opened: who reads a pipe would see its end.
    if (std::filesystem::is_directory(path)) throw unwritable(path, EISDIR);
    if (::access(path.c_str(), W_OK) != 0) throw unwritable(path, errno);
  } else if (!UnfinishedFile(path).is_open()) {
    throw unwritable(path, errno);
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  if (path == kStandardOutput) {
    std::fflush(stdout);
    if (const int error = write_all(STDOUT_FILENO, text); error != 0) throw unwritable("the standard output", error);
    return;
  }
  make_parent_of(path);
  if (is_written_in_place(path)) {
    write_in_place(path, text);
    return;
  }
  UnfinishedFile unfinished(path);
  if (!unfinished.is_open()) throw unwritable(path, errno);
  int error = unfinished.write(text);
  if (error == 0) error = unfinished.rename_to(path);
  if (error != 0) throw unwritable(path, error);
}

Descriptor lock_of_folder(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) (void)::flock(descriptor, LOCK_EX);
  return Descriptor(descriptor);
}

std::string fnv1a_hex(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3ULL;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace stepleak
