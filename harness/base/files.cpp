// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <system_error>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

Error unwritable(const std::filesystem::path& path, int error) {
  return failure_error(fmt::format("cannot write {}: {}", path.string(), reason_of(error)),
                       error == ENOSPC || error == EDQUOT ? "free some space or name a folder on another disk"
                                                          : "name a folder that you may write to");
}

/// Returns 0, or the error number of the write that failed.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Closes and removes the unfinished file unless it was renamed into place.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::filesystem::path path)
      : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {}
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      ::unlink(path_.c_str());
    }
  }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int write(std::string_view text) const { return write_all(descriptor_, text); }
  [[nodiscard]] int rename_to(const std::filesystem::path& target) {
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 || ::rename(path_.c_str(), target.c_str()) != 0) {
      const int error = errno;
      ::unlink(path_.c_str());
      return error;
    }
    return 0;
  }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad() || std::filesystem::is_directory(path)) {
    throw failure_error(fmt::format("cannot read {}: {}", path.string(), reason_of(errno != 0 ? errno : EIO)),
                        "check the name and the permissions");
  }
  return text.str();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    // A device or a pipe cannot be replaced by a rename; it is written to as it is.
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) throw unwritable(path, errno);
    const int error = write_all(descriptor, text);
    ::close(descriptor);
    if (error != 0) throw unwritable(path, error);
    return;
  }
  auto unfinished_path = path;
  unfinished_path += fmt::format(".unfinished-{}", ::getpid());
  UnfinishedFile unfinished(unfinished_path);
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
