// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace stepleak {

/// Folders of this process's interpreter, absolute; none where there is no interpreter.
struct CodeFolders {
  std::vector<std::string> runtime;    ///< of Python's own library, torch's package and stepleak's
  std::vector<std::string> installed;  ///< that packages were installed into, beside site-packages and the like
  std::vector<std::string> user;       ///< the package of the step itself, where that is installed like a library
};

/// Whose code a frame is. The innermost known folder around its file decides: site-packages and the like are
/// libraries', headers of C++, of torch and of the system are the runtime's, what lies in no known folder is the
/// user's. A folder counts by its whole name and place, never by a part of it.
[[nodiscard]] FrameOwner owner_of(const Frame& frame, const CodeFolders& folders = {});

}  // namespace stepleak
