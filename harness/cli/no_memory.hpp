// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace stepleak {

/// While one lives, a lack of memory that no exception can report ends the program with its exit code and with words,
/// not by SIGABRT: nlohmann_json takes memory to destroy a value (basic_json::json_value::destroy), and a destructor
/// hands nothing on. Not thread-safe, and not to live while a user's code runs.
class NoMemoryEnd {
 public:
  NoMemoryEnd();
  ~NoMemoryEnd() { std::set_terminate(previous_); }
  NoMemoryEnd(const NoMemoryEnd&) = delete;
  NoMemoryEnd& operator=(const NoMemoryEnd&) = delete;

  /// The code that the program ends with then; that of a failure, where none is set.
  static void set_exit_code(int code);

 private:
  std::terminate_handler previous_;
};

}  // namespace stepleak
