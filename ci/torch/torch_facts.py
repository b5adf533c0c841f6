# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the build asks of torch and of CUDA's files beside it, without importing torch.

    PYTHON ci/torch/torch_facts.py              of the interpreter's torch
    PYTHON ci/torch/torch_facts.py LIBTORCH     of a LibTorch for C++ (include/, lib/); of CUDA the major version alone

Prints a line each: torch's folder, its version, the CUDA that it was built for, of that CUDA the runtime
library; then the compiler's arguments for its headers. A line is empty where there is no such thing.
"""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

# All that we include, each from the first folder that has it: what wheels of CUDA leave out is in another wheel.
HEADERS = ("cuda_runtime.h", "crt/host_config.h", "cuda.h", "cupti.h", "generated_cuda_meta.h")


def torch_folder() -> Path | None:
    """pip hides the environment's packages from an isolated build; the torch that is there is meant all the same."""
    spec = importlib.util.find_spec("torch")
    folders = list(spec.submodule_search_locations or []) if spec else []
    folders += [sysconfig.get_path(kind) + "/torch" for kind in ("platlib", "purelib")]
    return next((Path(folder) for folder in folders if (Path(folder) / "version.py").is_file()), None)


def cuda_roots(site: Path, major: str, is_of_python: bool) -> Iterator[Path]:
    """Folders with include/ and lib/: those that came with the wheel match torch exactly; a toolkit is the last."""
    spec = importlib.util.find_spec("nvidia") if is_of_python else None
    for folder in [*map(Path, (spec.submodule_search_locations or []) if spec else []), site / "nvidia"]:
        yield folder / f"cu{major}"
        # One folder a library, before CUDA 13.
        yield from (folder / name for name in ("cuda_runtime", "cuda_cupti", "cuda_nvcc"))
    # Triton carries headers for what it compiles, crt/ among them, which wheels of CUDA 12 leave out.
    yield site / "triton/backends/nvidia"
    yield Path(f"/usr/local/cuda-{major}")
    yield Path("/usr/local/cuda")


def is_of(major: str, root: Path) -> bool:
    """Whether the CUDA of a folder is that one, as far as the folder tells: CUDA_VERSION is 12080 for 12.8."""
    header = root / "include/cuda.h"
    if not header.is_file():
        return True
    version = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(encoding="utf-8", errors="replace"))
    return version is not None and version[1][:-3] == major


def cuda_files(site: Path, version: str, *, is_of_python: bool = True) -> tuple[str, list[str]]:
    """The runtime library and the folders of headers, or nothing where one of HEADERS is missing."""
    major = version.partition(".")[0]
    roots = [root for root in cuda_roots(site, major, is_of_python) if is_of(major, root)]
    runtime = [f for root in roots for lib in ("lib", "lib64") if (f := root / lib / f"libcudart.so.{major}").exists()]
    folders = [f for root in roots for f in (root / "include", root / "extras/CUPTI/include") if f.is_dir()]
    of_header = [next((folder for folder in folders if (folder / header).is_file()), None) for header in HEADERS]
    if None in of_header or not runtime:
        return "", []
    # In the order of the roots, so that each header is found where it was chosen.
    return str(runtime[0]), [str(folder) for folder in dict.fromkeys(folders) if folder in of_header]


def about(folder: Path) -> tuple[str, str]:
    """Version and CUDA of a torch."""
    names = runpy.run_path(str(folder / "version.py"))
    return str(names["__version__"]), names.get("cuda") or ""


def about_libtorch(folder: Path) -> tuple[str, str] | None:
    """The same of a LibTorch for C++, by its headers and by the CUDA runtime that its library asks for."""
    include = folder / "include/torch"
    # Where torch has the second, the first only includes it.
    for header in (include / "csrc/api/include/torch/version.h", include / "headeronly/version.h"):
        text = header.read_text(encoding="utf-8") if header.is_file() else ""
        if version := re.findall(r"#define TORCH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text):
            library = folder / "lib/libc10_cuda.so"
            needed = re.search(rb"libcudart[-\w]*\.so\.(\d+)", library.read_bytes()) if library.is_file() else None
            return ".".join(version), needed[1].decode() if needed else ""
    return None


def libtorch_runtime(folder: Path, major: str) -> str:
    """The runtime library that was packed with a LibTorch, under a name of its own (libcudart-0123abcd.so.13)."""
    return next((str(file) for file in (folder / "lib").glob(f"libcudart*.so.{major}")), "")


def main() -> None:
    named = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else None
    folder = named or torch_folder()
    if folder is None:
        return
    facts = about_libtorch(folder) if named else about(folder)
    if facts is None:
        return
    version, cuda = facts
    runtime, includes = cuda_files(folder.parent, cuda, is_of_python=named is None) if cuda else ("", [])
    if named and runtime:
        runtime = libtorch_runtime(named, cuda) or runtime
    print(folder, version, cuda, runtime, *(f"-isystem{path}" for path in includes), sep="\n")


if __name__ == "__main__":
    main()
