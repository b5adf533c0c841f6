// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepleak {

/// Makes this process one that workers can be forked from: with the interpreter started and torch imported, so that no
/// worker need do it. Where that leaves threads behind (a sitecustomize that starts one, OpenBLAS asked for several), a
/// fork would copy their locks and not them: then this program starts anew, once, and each worker starts its own
/// interpreter instead. Throws a failure error where there are threads even so.
void start_server();

/// Whether this program was started anew by start_server().
[[nodiscard]] bool starts_in_workers();

}  // namespace stepleak
