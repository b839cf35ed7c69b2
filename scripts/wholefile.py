# SPDX-License-Identifier: BSD-3-Clause
"""Text files that are whole or not there."""
import contextlib
import os
import secrets


@contextlib.contextmanager
def written(path):
    """A file that takes the place of `path` when the block ends. An error, such as a full disk, leaves the old one, and a
    link is replaced, not followed."""
    temporary = f"{path}.{secrets.token_hex(4)}.part"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
