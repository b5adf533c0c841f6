// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace stepleak {

/// An open file of ours, closed in its destructor. Below 0 where it could not be opened: errno says why.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  /// 0, or the error number: some file systems tell only then that there was no room.
  [[nodiscard]] int close();

 private:
  int number_;
};

/// Opens /dev/null for each of stdin, stdout and stderr that is closed, so that no file of ours takes its number and
/// gets what is printed.
void open_standard_streams();

/// The same file under a number from 256 on, close-on-exec: out of the way of the numbers that a program counts on. The
/// given descriptor is closed. Where there is no such number left, the given descriptor itself; -1 stays -1.
[[nodiscard]] int moved_up(int descriptor);

/// Writes the whole text. Returns 0, or the error number of the write that failed.
[[nodiscard]] int write_all(int descriptor, std::string_view text);

}  // namespace stepleak
