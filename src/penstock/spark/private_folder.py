"""A folder in the host's temporary folder that is this user's alone, reached through real directories.

Others may write to the temporary folder too, and plant a link or a folder of theirs where ours is expected. So nothing
is read, written or removed unless the root is a real directory of this user's that nobody else may enter; and below it
everything is opened relative to the directory above it, and no link is followed. What is not so raises OSError.
"""

from __future__ import annotations

import mmap
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

Signature = list[int]
"""A file as it was left: inode, size, time of its last change."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@contextmanager
def opened(root: Path, *names: str, create: bool = False) -> Iterator[int]:
    """A folder below the root, by the names on the way to it; made, where it is missing, if asked to."""
    if create:
        _made(os.fspath(root), None)
    folder = os.open(root, _FOLDER)
    try:
        found = os.fstat(folder)
        if found.st_uid != os.getuid() or found.st_mode & _OTHERS:
            raise PermissionError(f"{root} is not a folder of this user's alone")
        for name in names:
            if create:
                _made(name, folder)
            inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _made(name: str, folder: int | None) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        return


def mapped_file(folder: int, name: str) -> tuple[Any, Signature]:
    """The content of a file, mapped into memory, and its signature."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        found = os.fstat(file)
        if not found.st_size:
            return pa.py_buffer(b""), _signature(found)
        return pa.py_buffer(mmap.mmap(file, found.st_size, prot=mmap.PROT_READ)), _signature(found)
    finally:
        os.close(file)


def write_file(folder: int, name: str, data: bytes) -> Signature:
    """Write a new file under that name: whoever has mapped the old one keeps reading the old one."""
    aside = f"{name}.new"
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(aside, how, 0o600, dir_fd=folder), "wb") as file:
        file.write(data)
    os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    return _signature(os.stat(name, dir_fd=folder, follow_symlinks=False))


def remove_file(folder: int, name: str) -> None:
    """Remove a file, if it is there."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return


def remove_folder(folder: int, name: str) -> None:
    """Remove a folder within another and all that is in it; what cannot be removed stays."""
    shutil.rmtree(name, ignore_errors=True, dir_fd=folder)


def folders_in(folder: int) -> Iterator[tuple[str, float]]:
    """The real directories within a folder, and the time of the last change of each."""
    for name in os.listdir(folder):
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode):
            yield name, found.st_mtime


def _signature(found: os.stat_result) -> Signature:
    return [found.st_ino, found.st_size, found.st_mtime_ns]
