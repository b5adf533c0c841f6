// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/explain/user_frames.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "harness/base/source_root.hpp"

namespace stepleak {
namespace {

// Where a path begins: the system's headers, what glibc was built from.
constexpr std::array<std::string_view, 4> kRuntimeRoots{"/usr/include", "csu", "sysdeps", "nptl"};

// The same of our sources as they were compiled, where a checkout is known.
constexpr std::array<std::string_view, 2> kOwnRoots{STEPLEAK_SOURCE_ROOT "/harness",
                                                    STEPLEAK_SOURCE_ROOT "/scenarios/cpp/scenario_of.hpp"};
constexpr bool kHasCheckout = !std::string_view(STEPLEAK_SOURCE_ROOT).empty();

// Wherever they are installed or built: torch and stepleak as packages, and headers, which lie in include/NAME, of
// torch, the bindings, the test framework and ours.
constexpr std::array<std::string_view, 13> kRuntimeFolders{
    "/site-packages/torch",   "/dist-packages/torch", "/site-packages/stepleak", "/dist-packages/stepleak",
    "/include/ATen",          "/include/c10",         "/include/torch/csrc",     "/libtorch/include",
    "/include/pybind11",      "/include/gtest",       "/googletest/src",         "/include/stepleak",
    "/harness/gtest/stepleak"};

constexpr std::array<std::string_view, 2> kPackageFolders{"/site-packages", "/dist-packages"};
constexpr std::string_view kInstalledHeaders = "/usr/local/include";

bool is_folder_end(std::string_view path, std::size_t at) { return at == path.size() || path[at] == '/'; }

/// The length of the deepest known folder around a file, by whose it is; 0: in none.
struct Depths {
  std::size_t runtime = 0;
  std::size_t library = 0;
  std::size_t user = 0;
};

std::size_t depth_below(std::string_view path, std::string_view root) {
  return path.starts_with(root) && is_folder_end(path, root.size()) ? root.size() : 0;
}

std::size_t depth_inside(std::string_view path, std::string_view folder) {
  auto at = path.rfind(folder);
  while (at != std::string_view::npos && !is_folder_end(path, at + folder.size())) {
    at = at == 0 ? std::string_view::npos : path.rfind(folder, at - 1);
  }
  return at == std::string_view::npos ? 0 : at + folder.size();
}

// ".../include/c++/12/bits/stl_vector.h" of libstdc++ and ".../include/c++/v1/vector" of libc++.
std::size_t depth_inside_standard_headers(std::string_view path) {
  static constexpr std::string_view kFolder = "/c++/";
  const auto at = path.rfind(kFolder);
  if (at == std::string_view::npos || path.substr(0, at + 1).find("/include/") == std::string_view::npos) return 0;
  const auto version = path.substr(at + kFolder.size());
  const bool is_standard = version.starts_with("v1/") || (!version.empty() && std::isdigit(version.front()) != 0);
  return is_standard ? at + kFolder.size() : 0;
}

Depths depths_of(std::string_view path, const CodeFolders& folders) {
  Depths depths{.runtime = depth_inside_standard_headers(path), .library = depth_below(path, kInstalledHeaders)};
  if (kHasCheckout) {
    for (const auto root : kOwnRoots) depths.runtime = std::max(depths.runtime, depth_below(path, root));
  }
  for (const auto root : kRuntimeRoots) depths.runtime = std::max(depths.runtime, depth_below(path, root));
  for (const auto folder : kRuntimeFolders) depths.runtime = std::max(depths.runtime, depth_inside(path, folder));
  for (const auto& folder : folders.runtime) depths.runtime = std::max(depths.runtime, depth_below(path, folder));
  for (const auto folder : kPackageFolders) depths.library = std::max(depths.library, depth_inside(path, folder));
  for (const auto& folder : folders.installed) depths.library = std::max(depths.library, depth_below(path, folder));
  for (const auto& folder : folders.user) depths.user = std::max(depths.user, depth_below(path, folder));
  return depths;
}

}  // namespace

FrameOwner owner_of(const Frame& frame, const CodeFolders& folders) {
  // Python names code without a file "<frozen runpy>" or "<string>".
  if (frame.file.empty() || frame.file == "??" || frame.line <= 0) return FrameOwner::runtime;
  if (frame.file.starts_with("<frozen ") || frame.file == "<string>") return FrameOwner::runtime;
  const auto depths = depths_of(frame.file, folders);
  if (depths.runtime > 0 && depths.runtime >= std::max(depths.library, depths.user)) return FrameOwner::runtime;
  return depths.library > depths.user ? FrameOwner::library : FrameOwner::user;
}

}  // namespace stepleak
