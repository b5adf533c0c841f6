// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/linked_sources.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "harness/base/descriptor.hpp"

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 5> kUnitEndings{".cpp", ".cc", ".cxx", ".c++", ".C"};
constexpr std::array<std::string_view, 4> kNamingSections{".debug_line", ".debug_line_str", ".debug_str", ".strtab"};

class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    struct stat known {};
    if (!file.is_open() || ::fstat(file.number(), &known) != 0 || known.st_size <= 0) return;
    size_ = static_cast<std::size_t>(known.st_size);
    bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (bytes_ != MAP_FAILED) ::munmap(bytes_, size_);
  }
  [[nodiscard]] std::string_view bytes() const {
    return bytes_ == MAP_FAILED ? std::string_view() : std::string_view(static_cast<const char*>(bytes_), size_);
  }

 private:
  void* bytes_ = MAP_FAILED;
  std::size_t size_ = 0;
};

// Empty where the object does not have all of it.
std::string_view part_of(std::string_view object, std::uint64_t offset, std::uint64_t size) {
  return offset <= object.size() && size <= object.size() - offset ? object.substr(offset, size) : std::string_view();
}

template <typename Header>
bool read_header(std::string_view object, std::uint64_t offset, Header& header) {
  const auto bytes = part_of(object, offset, sizeof(Header));
  if (bytes.empty()) return false;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  return true;
}

std::vector<Elf64_Shdr> sections_of(std::string_view object, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!read_header(object, header.e_shoff + i * header.e_shentsize, section)) return {};
    sections.push_back(section);
  }
  return sections;
}

void add_names(std::string_view strings, SourceNames& names) {
  while (!strings.empty()) {
    const auto text = strings.substr(0, strings.find('\0'));
    if (is_unit_of_cpp(text)) names.emplace(text.substr(text.rfind('/') + 1));
    strings.remove_prefix(std::min(strings.size(), text.size() + 1));
  }
}

// None of the user's: ours, and torch's, whose symbols alone are 150 MB to read.
bool is_known_to_have_none(std::string_view object) {
  return object.starts_with("libstepleak") || object.starts_with("libtorch") || object.starts_with("libc10");
}

}  // namespace

bool is_unit_of_cpp(std::string_view path) {
  return std::any_of(kUnitEndings.begin(), kUnitEndings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

SourceNames sources_named_in(std::string_view object) {
  SourceNames names;
  Elf64_Ehdr header{};
  if (!object.starts_with(std::string_view(ELFMAG, SELFMAG)) || !read_header(object, 0, header)) return names;
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return names;
  const auto sections = sections_of(object, header);
  if (header.e_shstrndx >= sections.size()) return names;
  const auto& titles = sections[header.e_shstrndx];
  const auto all_titles = part_of(object, titles.sh_offset, titles.sh_size);
  for (const auto& section : sections) {
    if (section.sh_type == SHT_NOBITS || section.sh_name >= all_titles.size()) continue;
    auto title = all_titles.substr(section.sh_name);
    title = title.substr(0, title.find('\0'));
    const bool is_naming = std::find(kNamingSections.begin(), kNamingSections.end(), title) != kNamingSections.end();
    if (!is_naming || (section.sh_flags & SHF_COMPRESSED) != 0) continue;
    add_names(part_of(object, section.sh_offset, section.sh_size), names);
  }
  return names;
}

SourceNames linked_sources() {
  std::vector<std::string> objects;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        const std::string name = info->dlpi_name;
        static_cast<std::vector<std::string>*>(found)->push_back(name.empty() ? "/proc/self/exe" : name);
        return 0;
      },
      &objects);
  SourceNames all;
  for (const auto& object : objects) {
    if (is_known_to_have_none(std::filesystem::path(object).filename().string())) continue;
    all.merge(sources_named_in(MappedFile(object.c_str()).bytes()));
  }
  return all;
}

}  // namespace stepleak
