// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/explain/user_frames.hpp"
#include "harness/probes/raw_stack.hpp"

namespace stepleak {

struct NamedStacks {
  std::vector<std::vector<Frame>> stacks;
  std::vector<std::string> notes;  ///< what could not be named
};

/// Captured stacks as a person reads them, in the same order: the interpreter's frames first, then C++'s with inlined
/// functions expanded, each innermost first; whose code a frame is, and the user's source lines. Slow (debug
/// information is read): call it once a record pass, in the process that captured them.
[[nodiscard]] NamedStacks named_stacks(const std::vector<RawStack>& stacks, const CodeFolders& folders);

}  // namespace stepleak
