// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/explain/user_frames.hpp"

#include <gtest/gtest.h>

#include "harness/base/source_root.hpp"
#include "harness/trace/frames.hpp"

namespace stepleak {
namespace {

const CodeFolders kFolders{.runtime = {"/usr/lib/python3.11", "/venv/lib/python3.11/site-packages/torch",
                                       "/venv/lib/python3.11/site-packages/stepleak"}};

FrameOwner owner_of_file(const std::string& file, const CodeFolders& folders = kFolders) {
  return owner_of({file, 7, "step"}, folders);
}

TEST(OwnerOfTest, TakesAFolderByItsWholeNameAndPlace) {
  for (const auto* file :
       {"/home/me/c++/train.py", "/home/me/c++/12/train.cpp", "/home/me/harness/cli/train.py",
        "/home/me/harness/session/train.cpp", "/home/me/python/stepleak/train.py", "/home/me/sysdeps/nptl/train.cpp",
        "/usr/lib/trainer/train.py", "/usr/lib/python3.11-trainer/train.py", "/opt/torch/include/train.cpp",
        "/home/me/pybind11/step.cpp", "/home/me/old-site-packages/train.py", "/home/me/include/c++/vector.hpp",
        "/usr/included/train.cpp", "train.cpp"}) {
    EXPECT_EQ(owner_of_file(file), FrameOwner::user) << file;
  }
}

TEST(OwnerOfTest, KnowsTheRuntime) {
  for (const auto* file :
       {"/usr/lib/python3.11/contextlib.py", "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
        "/venv/lib/python3.11/site-packages/stepleak/_load.py", "/usr/include/c++/12/bits/stl_vector.h",
        "/opt/gcc/x86_64/include/c++/13.2.0/bits/std_function.h", "/usr/lib/llvm-17/include/c++/v1/vector",
        "/usr/include/x86_64-linux-gnu/bits/stdio2.h", "/libtorch/include/ATen/core/Tensor.h",
        "/venv/lib/python3.11/site-packages/pybind11/include/pybind11/cast.h", "/home/me/include/gtest/gtest.h",
        "/home/me/_deps/googletest-src/googletest/src/gtest.cc", "sysdeps/x86_64/start.S", "csu/libc-start.c",
        STEPLEAK_SOURCE_ROOT "/harness/session/session.cpp", STEPLEAK_SOURCE_ROOT "/scenarios/cpp/scenario_of.hpp",
        "<frozen importlib._bootstrap>", "<string>", "??", ""}) {
    EXPECT_EQ(owner_of_file(file), FrameOwner::runtime) << file;
  }
  EXPECT_EQ(owner_of({"/home/me/train.py", 0, "step"}, kFolders), FrameOwner::runtime);
}

TEST(OwnerOfTest, KnowsTheRuntimeWithoutAnInterpreter) {
  for (const auto* file : {"/venv/lib/python3.11/site-packages/torch/include/torch/library.h",
                           "/opt/libtorch/include/torch/library.h", "/usr/local/include/stepleak/gtest.hpp"}) {
    EXPECT_EQ(owner_of({file, 7, "step"}), FrameOwner::runtime) << file;
  }
  EXPECT_EQ(owner_of({"/venv/lib/python3.11/site-packages/torch_extra/op.cpp", 7, "step"}), FrameOwner::library);
}

TEST(OwnerOfTest, KnowsItsOwnScenariosForAUsersCode) {
  EXPECT_EQ(owner_of_file(STEPLEAK_SOURCE_ROOT "/scenarios/cpp/kv_cache_cat.cpp"), FrameOwner::user);
  EXPECT_EQ(owner_of_file(STEPLEAK_SOURCE_ROOT "/scenarios/python/kv_cache_cat.py"), FrameOwner::user);
}

TEST(OwnerOfTest, TakesInstalledPackagesForLibraries) {
  for (const auto* file :
       {"/venv/lib/python3.11/site-packages/transformers/cache_utils.py", "/usr/lib/python3/dist-packages/trainer.py",
        "/venv/lib/python3.11/site-packages/torchvision/ops.py", "/usr/local/include/opencv4/mat.hpp",
        "/usr/lib/python3.11/site-packages/trainer.py"}) {
    EXPECT_EQ(owner_of_file(file), FrameOwner::library) << file;
  }
}

TEST(OwnerOfTest, TakesTheInstalledPackageOfTheStepForTheUsers) {
  auto folders = kFolders;
  folders.user = {"/venv/lib/python3.11/site-packages/mine"};
  EXPECT_EQ(owner_of_file("/venv/lib/python3.11/site-packages/mine/train.py", folders), FrameOwner::user);
  EXPECT_EQ(owner_of_file("/venv/lib/python3.11/site-packages/mine_too/train.py", folders), FrameOwner::library);
  EXPECT_EQ(owner_of_file("/venv/lib/python3.11/site-packages/torch/serialization.py", folders), FrameOwner::runtime);
}

TEST(OwnerOfTest, TakesForLibrariesWhatWasInstalledIntoAFolderOfItsOwn) {
  auto folders = kFolders;
  folders.installed = {"/opt/libraries"};
  EXPECT_EQ(owner_of_file("/opt/libraries/other/loop.py", folders), FrameOwner::library);
  EXPECT_EQ(owner_of_file("/opt/libraries_of_mine/loop.py", folders), FrameOwner::user);
  folders.user = {"/opt/libraries/mine"};
  EXPECT_EQ(owner_of_file("/opt/libraries/mine/train.py", folders), FrameOwner::user);
}

TEST(OwnerOfTest, LetsNoStepMakeTorchTheUsers) {
  auto folders = kFolders;
  folders.user = {"/venv/lib/python3.11/site-packages/torch"};
  EXPECT_EQ(owner_of_file("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", folders),
            FrameOwner::runtime);
}

TEST(OwnerOfTest, GoesByTheFileAndNotByTheFunction) {
  // What calls a lambda may be compiled as if it stood in the lambda's own line.
  EXPECT_EQ(owner_of({"/home/me/train.cpp", 7, "std::_Function_handler<void "}), FrameOwner::user);
  EXPECT_EQ(owner_of({"/usr/include/c++/12/bits/std_function.h", 7, "Trainer::step"}), FrameOwner::runtime);
}

Frame frame(const std::string& file, int line, FrameOwner owner) { return {file, line, "f", "", owner}; }

const Frame kTorch = frame("torch.py", 1, FrameOwner::runtime);
const Frame kCache = frame("cache.py", 2, FrameOwner::library);
const Frame kModel = frame("model.py", 3, FrameOwner::library);
const Frame kGenerate = frame("train.py", 4, FrameOwner::user);
const Frame kStep = frame("train.py", 5, FrameOwner::user);
const Frame kRunner = frame("runner.py", 6, FrameOwner::library);

TEST(WhereOfTest, PutsTheUsersFramesFirstAndFoldsTheLibraryBelowThem) {
  auto folded = kCache;
  folded.folded_count = 1;
  EXPECT_EQ(where_of({kTorch, kCache, kTorch, kModel, kTorch, kGenerate, kStep}),
            (std::vector<Frame>{kGenerate, kStep, folded}));
  EXPECT_EQ(where_of({kCache, kGenerate}), (std::vector<Frame>{kGenerate, kCache}));
}

TEST(WhereOfTest, LeavesOutLibrariesThatOnlyCallTheUser) {
  EXPECT_EQ(where_of({kTorch, kGenerate, kModel, kStep, kRunner}), (std::vector<Frame>{kGenerate, kStep}));
}

TEST(WhereOfTest, ShowsLibrariesWhereNoFrameIsTheUsers) {
  EXPECT_EQ(where_of({kTorch, kCache, kModel, kRunner}), (std::vector<Frame>{kCache, kModel, kRunner}));
  EXPECT_TRUE(where_of({kTorch}).empty());
}

TEST(WhereOfTest, TakesCppFramesBelowPythonsForBindings) {
  const auto binding = frame("binding.cpp", 7, FrameOwner::user);
  EXPECT_EQ(where_of({binding, kStep}), (std::vector<Frame>{kStep}));
  EXPECT_EQ(where_of({binding, kModel}), (std::vector<Frame>{kModel}));
  EXPECT_EQ(where_of({binding}), (std::vector<Frame>{binding}));
}

TEST(PlaceOfTest, IsTheUsersLineWhateverTheLibraryDid) {
  EXPECT_EQ(place_of(where_of({kCache, kModel, kStep})), place_of(where_of({kModel, kStep})));
  EXPECT_NE(place_of(where_of({kCache, kModel})), place_of(where_of({kModel})));
  EXPECT_NE(place_of(where_of({kStep})), place_of(where_of({kGenerate})));
  EXPECT_EQ(place_of(where_of({kTorch})), "");
}

}  // namespace
}  // namespace stepleak
