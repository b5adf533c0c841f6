// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepleak {

/// The rule by which fingerprints are made: what goes into one, and which of several places and holders a finding
/// names. Raise it where either changes: fingerprints of two rules are not compared.
inline constexpr int kFingerprintRule = 2;

}  // namespace stepleak
