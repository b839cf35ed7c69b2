# SPDX-License-Identifier: BSD-3-Clause
"""Text files that are whole or not there, by the rules of <equipoise/more/base.h>."""
import contextlib
import fcntl
import os
import random
import stat


@contextlib.contextmanager
def written(path):
    """A file that takes the place of `path`, behind its links and with its mode, when the block ends; an error, such as a
    full disk, leaves the old one. A pipe or a device is written directly."""
    target, mode = os.path.realpath(path), None
    if os.path.exists(path):
        old = os.stat(path)
        if not stat.S_ISREG(old.st_mode) or str(path).startswith(("/dev/", "/proc/")):
            with open(path, "w", encoding="utf-8", newline="") as file:
                yield file
            return
        mode = stat.S_IMODE(old.st_mode)
    temporary = f"{target}.eqp-{''.join(random.SystemRandom().choices('abcdefghijklmnopqrstuvwxyz012345', k=8))}.part"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            yield file
            file.flush()
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
