// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "harness/trace/trace.hpp"

namespace stepleak {

/// What a Python step returned may be its work itself, not run yet: a coroutine, a generator, a function without its
/// parentheses, an iterator that nobody asked, a context manager that nobody entered. Made and asked with the GIL;
/// dropped without it, or with it.
class PythonReturns {
 public:
  PythonReturns();
  PythonReturns(const PythonReturns&) = delete;
  PythonReturns& operator=(const PythonReturns&) = delete;
  ~PythonReturns();

  /// After each step; `returned` is a `PyObject*`. Runs a coroutine to its end, all in one event loop; a generator that
  /// was not started is wrong use, also within a context manager of contextlib's, or as what a coroutine gives. Throws
  /// what Python raises, and Error.
  void take(void* returned);
  /// Where each step returned such a function, iterator or manager and made no tensor; else empty. Needs no GIL.
  [[nodiscard]] std::string note(const Trace& trace) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> own_;
};

}  // namespace stepleak
