// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "harness/base/descriptor.hpp"
#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

Error unwritable(const std::filesystem::path& path, int error) {
  return failure_error(fmt::format("cannot write {}: {}", path.string(), reason_of(error)),
                       error == ENOSPC || error == EDQUOT ? "free some space or name a folder on another disk"
                                                          : "name a folder that you may write to");
}

Error unreadable(const std::filesystem::path& path, const std::string& reason) {
  return failure_error(fmt::format("cannot read {}: {}", path.string(), reason), "check the name and the permissions");
}

/// Opened without waiting for who would write into a pipe.
struct OpenFile {
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int descriptor;
};

/// Beside the file that it is to become, with that one's mode. Closes and removes itself unless it was renamed.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::filesystem::path& target) {
    // Never an existing file, which another process may have left, nor through a link that another user put there.
    for (int attempt = 0; attempt < 8 && (attempt == 0 || errno == EEXIST) && descriptor_ < 0; ++attempt) {
      path_ = target;
      path_ += fmt::format(".unfinished-{}-{}", ::getpid(), attempt);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    struct stat old {};
    if (descriptor_ >= 0 && ::lstat(target.c_str(), &old) == 0) (void)::fchmod(descriptor_, old.st_mode & 07777);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  /// 0, or the error number. On the disk before it has the name: a crash of the machine leaves the old file or the new.
  [[nodiscard]] int write(std::string_view text) const {
    const int error = write_all(descriptor_, text);
    if (error != 0) return error;
    return ::fsync(descriptor_) == 0 ? 0 : errno;
  }
  [[nodiscard]] int rename_to(const std::filesystem::path& target) {
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed == 0 && ::rename(path_.c_str(), target.c_str()) == 0) return 0;
    const int error = errno;
    ::unlink(path_.c_str());
    return error;
  }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
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

int open_in_place(const std::filesystem::path& path) {
  // A pipe that nobody reads is an error, and not waited for.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw unwritable(path, errno);
  ::fcntl(descriptor, F_SETFL, O_APPEND);
  return descriptor;
}

void make_parent_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  constexpr off_t kMostBytes = off_t{1} << 30U;
  const OpenFile file(path);
  struct stat status {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0) throw unreadable(path, reason_of(errno));
  if (S_ISDIR(status.st_mode)) throw unreadable(path, reason_of(EISDIR));
  if (!S_ISREG(status.st_mode)) throw unreadable(path, "it is no regular file");
  if (status.st_size > kMostBytes) throw unreadable(path, "it is larger than a gibibyte");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto got = ::read(file.descriptor, text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR) throw unreadable(path, reason_of(errno));
    if (got == 0) break;  // it became shorter
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

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
    const int descriptor = open_in_place(path);
    const int error = write_all(descriptor, text);
    ::close(descriptor);
    if (error != 0) throw unwritable(path, error);
    return;
  }
  UnfinishedFile unfinished(path);
  if (!unfinished.is_open()) throw unwritable(path, errno);
  int error = unfinished.write(text);
  if (error == 0) error = unfinished.rename_to(path);
  if (error != 0) throw unwritable(path, error);
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
