// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/sources/cpp_project.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/base/files.hpp"
#include "harness/sources/cpp_file.hpp"
#include "tests/unit/source_case.hpp"

namespace stepleak {
namespace {

TEST(CppFileTest, HasNothingBehindItsEnd) {
  const CppFile file("end.cpp", "int x = 0; class Session");
  const auto end = file.tokens().size();
  for (auto token = end; token < end + 5; ++token) EXPECT_FALSE(file.is_declaration(token)) << token;
  EXPECT_TRUE(file.is_declaration(1));
  EXPECT_EQ(file.extent_of(end - 1).end, end);
}

TEST(CppProjectTest, LeavesOutTheSourcesOfOthers) {
  const SourceFolder folder;
  write_file(folder.path() + "/meson.build", "");
  write_file(folder.path() + "/step.cpp", "int mine;");
  for (const std::string name : {"subprojects", "projects"}) {
    std::filesystem::create_directory(folder.path() + "/" + name);
    write_file(folder.path() + "/" + name + "/other.cpp", "int of_" + name + ";");
  }
  const CppProject project({folder.path() + "/step.cpp"});
  EXPECT_EQ(project.uses("mine").size(), 1U);
  EXPECT_EQ(project.uses("of_projects").size(), 1U);
  EXPECT_TRUE(project.uses("of_subprojects").empty());
}

// Two programs of a folder may each have a class of one name.
TEST(CppProjectTest, LeavesOutWhatOtherProgramsAreCompiledFrom) {
  const SourceFolder folder;
  for (const std::string name : {"step.cpp", "linked.cpp", "other.cpp", "header.hpp", "kernels.cu"}) {
    write_file(folder.path() + "/" + name, "int of_" + name.substr(0, name.find('.')) + ";");
  }
  const CppProject project({folder.path() + "/step.cpp"}, {}, {"step.cpp", "linked.cpp"});
  for (const auto* const name : {"of_step", "of_linked", "of_header", "of_kernels"}) {
    EXPECT_EQ(project.uses(name).size(), 1U) << name;
  }
  EXPECT_TRUE(project.uses("of_other").empty());
  // A program without debug information names none, or others.
  EXPECT_EQ(CppProject({folder.path() + "/step.cpp"}, {}, {"linked.cpp"}).uses("of_other").size(), 1U);
}

TEST(CppProjectTest, LeavesOutTheHeadersOfOtherPrograms) {
  const SourceFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file(folder.path() + "/" + name, text + "int of_" + name.substr(0, name.find('.')) + ";\n");
  };
  write("step.cpp", "#include \"mine.hpp\"\n");
  write("other.cpp", "#include \"theirs.hpp\"\n#include \"shared.hpp\"\n");
  write("mine.hpp", "#include \"shared.hpp\"\n");
  write("theirs.hpp", "#include \"inner.hpp\"\n");
  for (const std::string name : {"shared.hpp", "inner.hpp", "forced.hpp"}) write(name, "");
  const auto is_read = [&](const CppProject& project, const std::string& name) {
    return !project.uses("of_" + name).empty();
  };
  const auto step = folder.path() + "/step.cpp";
  const CppProject project({step}, {}, {"step.cpp"});
  for (const std::string name : {"mine", "shared", "forced"}) EXPECT_TRUE(is_read(project, name)) << name;
  for (const std::string name : {"theirs", "inner"}) EXPECT_FALSE(is_read(project, name)) << name;
  EXPECT_TRUE(is_read(CppProject({step}), "theirs"));
  EXPECT_TRUE(is_read(CppProject({step, folder.path() + "/theirs.hpp"}, {}, {"step.cpp"}), "theirs"));
}

}  // namespace
}  // namespace stepleak
