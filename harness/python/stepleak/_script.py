# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The program that `stepleak watch` starts in the user's interpreter: python _script.py REQUEST SCRIPT ARGS..."""

import json
import os
import sys

if __name__ == "__main__":
    # In the place of this file's folder comes that of the script; ours comes last, where it is not installed.
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not getattr(sys.flags, "safe_path", False):
        sys.path.pop(0)
    if folder not in sys.path:
        sys.path.append(folder)
    from stepleak._kept_file import KeptFile
    from stepleak._messages import Messages
    from stepleak._script_run import run
    from stepleak._script_watch import Request

    asked = json.loads(sys.argv[1])
    recorder, messages = KeptFile(asked.pop("recorder")), Messages(KeptFile(asked.pop("messages")))
    run(Request(recorder=recorder, messages=messages, **asked), sys.argv[2:])
