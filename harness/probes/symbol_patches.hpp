// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stepleak {

/// A function of the process by its linker name, and what takes its place.
struct SymbolPatch {
  std::string name;
  void* replacement = nullptr;
  void* definition = nullptr;  ///< where calls of it lead
  void* address = nullptr;     ///< what a pointer to it holds: in a program that is not position-independent another
};

/// Finds a function that the process calls by this name: the first one of what is loaded, as the loader does. Without
/// a definition where there is none.
[[nodiscard]] SymbolPatch find_symbol(const std::string& name, void* replacement);

/// Lets what is loaded call other functions: changes the entries of the objects' tables (ELF's GOT) that lead to an
/// original, as memray and heaptrack do. Calls inside the object that has the function, and pointers to it that
/// somebody has stored, stay as they are; so does an object in whose own scope the name means another function
/// (RTLD_DEEPBIND).
///
/// Used from one thread; other threads may call the functions meanwhile. Opens each object while it is changed, so the
/// calling thread must not hold a lock that an unloaded library's destructors may want.
class SymbolPatches {
 public:
  explicit SymbolPatches(std::vector<SymbolPatch> patches);
  SymbolPatches(const SymbolPatches&) = delete;
  SymbolPatches& operator=(const SymbolPatches&) = delete;
  ~SymbolPatches() { detach(); }

  /// All objects that are loaded now. Again: those that were loaded since.
  void attach();
  /// Puts the originals back, wherever a replacement stands.
  void detach() noexcept;

 private:
  std::vector<SymbolPatch> patches_;
  unsigned long long seen_loads_ = 0;  // 0: not attached
};

}  // namespace stepleak
