// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/holder_search.hpp"

namespace stepleak {

/// Who keeps what a C++ step leaves behind, as the sources say: from the line where a survivor was made, what is done
/// with it is followed to the container that it is put into, and what bounds that is read (cpp_structure.hpp). The
/// sources are those to which debug information leads; without them nothing is found.
///
/// No object is looked at: a holder found so is what the sources name, and how much it holds is not known.
class SourceHolderSearch final : public HolderSearch {
 public:
  void search(Recording& recording) override;
};

}  // namespace stepleak
