// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// Drops our weak references to a living tensor (`impl`: its `_cdata`), and takes them again: around what torch does
/// only to tensors without any. From any thread; the tensor must be alive at both. Implemented by the graph probe.
void let_go_of_tensor(std::uintptr_t impl);
void take_tensor_again(std::uintptr_t impl);

/// What of ours is attached to torch's operators at this moment.
struct GraphAttachments {
  bool has_callback = false;
  std::int64_t tensor_references = 0;
};
[[nodiscard]] GraphAttachments graph_attachments();

}  // namespace stepleak
