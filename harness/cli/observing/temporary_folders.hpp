// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace stepleak {

/// Is told the path of each folder that the interpreter makes to remove it at its exit: those of
/// tempfile.TemporaryDirectory and of multiprocessing (pymp-*), in this process and in children that it forks. Not
/// those that tempfile.mkdtemp() makes for its caller, who may want to find them again.
using OnTemporaryFolder = std::function<void(std::string_view folder)>;

/// For the rest of the process: an audit hook cannot be taken back. To be called with the GIL, once.
void watch_temporary_folders(OnTemporaryFolder on_folder);

}  // namespace stepleak
