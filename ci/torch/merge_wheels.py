# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Makes one wheel of several that were built against different releases of torch, for one version of Python.

    python3 ci/torch/merge_wheels.py OUTPUT_FOLDER WHEEL...

What faces torch moves into a folder of its own for each (stepleak._torch picks one at import); all else must be the
same in each wheel, and is taken once. Prints the path of the new wheel. Used by ci/wheel.
"""

from __future__ import annotations

import base64
import hashlib
import runpy
import sys
import tempfile
import zipfile
from pathlib import Path

FACES_TORCH = ("_built_for.py", "_core.", "libstepleak.so", "libstepleak_observing.so")
"""In the package's folder; the core's name goes on with the version of Python."""


class MergeError(Exception):
    """Wheels that are not of one stepleak and one Python."""


def faces_torch(name: str) -> bool:
    package, _, file = name.rpartition("/")
    return package == "stepleak" and file.startswith(FACES_TORCH)


def folder_of(wheel: zipfile.ZipFile) -> str:
    """_torch_2_11_cu13: torch's series and the major version of its CUDA."""
    with tempfile.NamedTemporaryFile(suffix=".py") as file:
        file.write(wheel.read("stepleak/_built_for.py"))
        file.flush()
        names = runpy.run_path(file.name)
    series = "_".join(names["TORCH"].split("+")[0].split(".")[:2])
    cuda = names["CUDA"].partition(".")[0]
    return f"stepleak/_torch_{series}_{'cu' + cuda if cuda else 'cpu'}"


def merge(paths: list[Path], output: Path) -> Path:
    if len({path.name for path in paths}) != 1:
        raise MergeError(f"of different versions of stepleak or Python: {', '.join(path.name for path in paths)}")
    members: dict[str, tuple[zipfile.ZipInfo, bytes]] = {}
    record = ""
    for path in paths:
        with zipfile.ZipFile(path) as wheel:
            own = folder_of(wheel)
            if any(name.startswith(own + "/") for name in members):
                raise MergeError(f"two wheels for {own.removeprefix('stepleak/')}: {path}")
            for info in wheel.infolist():
                name, content = info.filename, wheel.read(info)
                if name.endswith(".dist-info/RECORD"):
                    record = name
                    continue
                if faces_torch(name):
                    name = f"{own}/{name.rpartition('/')[2]}"
                elif name in members and content != members[name][1]:
                    raise MergeError(f"{name} is not the same in {path} as in {paths[0]}")
                members.setdefault(name, (info, content))
    result = output / paths[0].name
    output.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        lines = []
        for name, (info, content) in members.items():
            entry = zipfile.ZipInfo(name, info.date_time)
            entry.external_attr, entry.compress_type = info.external_attr, zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
        wheel.writestr(record, "".join(lines) + f"{record},,\n")
    return result


if __name__ == "__main__":
    try:
        print(merge([Path(argument) for argument in sys.argv[2:]], Path(sys.argv[1])))
    except MergeError as error:
        sys.exit(f"error:  {error}")
