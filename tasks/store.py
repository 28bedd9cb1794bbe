"""The store: the only place that opens files, local or in an object store.

Here: whole files in, whole files out, under one root; a reader never sees half a file. Locally that is a temporary name
in the same folder, fsync and rename; in an object store the bytes are built first and put at once.
Not here: what the files mean (`schemas/`), where they lie (`schemas/layout.py`).
"""

import hashlib
import io
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.address import address_for_messages
from schemas.errors import ContractError, IntegrityError, bad_input
from schemas.format_version import TABLE_FORMAT, VERSION_KEY, newer_fault
from schemas.settings import IdentitySwitches

FOOTER = b"fanfold"
ROW_GROUP_ROWS = 50_000


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of bytes in hex."""
    return hashlib.sha256(data).hexdigest()


class Store:
    """Files under one root; keys are relative paths with `/`.

    Args:
        root: a local folder or any fsspec address (`s3://bucket/folder`). `shown_root` is the same without secrets.

    Raises:
        ContractError: nobody here knows how to open such an address.
    """

    def __init__(self, root: str) -> None:
        self.root, self.shown_root = root, address_for_messages(root, IdentitySwitches())
        try:
            self._files, self._base = fsspec.core.url_to_fs(root)
        except (ValueError, ImportError) as error:
            raise bad_input(f"store {self.shown_root}", f"cannot be opened ({error})",
                            "a folder, or an address that fsspec knows", "Set `store` or FANFOLD_STORE.") from None
        self.is_local = "file" in self._files.protocol

    def read(self, key: str) -> bytes:
        """Read a whole file.

        Raises:
            FileNotFoundError: there is none.
        """
        try:
            data: bytes = self._files.cat_file(self._path(key))
        except NotADirectoryError as error:  # a stray file beside the folders holds nothing
            raise FileNotFoundError(*error.args) from None
        return data

    def write(self, key: str, data: bytes, *, is_durable: bool = True) -> str:
        """Write a whole file and return its digest; what was there before is replaced.

        Args:
            is_durable: wait until the disk has it (local stores).

        Raises:
            ContractError: a file lies where its folder should be.
        """
        path = self._path(key)
        if self.is_local:
            try:
                _replace_file(Path(path), data, is_durable)
            except (NotADirectoryError, FileExistsError):
                raise self._no_folder(path.rpartition("/")[0]) from None
        else:
            self._files.pipe_file(path, data)
        return digest_of(data)

    def exists(self, key: str) -> bool:
        return bool(self._files.exists(self._path(key)))

    def names(self, key: str) -> list[str]:
        """List a folder (the root: an empty key): names of files and folders, sorted; nothing where it is absent.

        Raises:
            ContractError: it is a file.
        """
        self._files.invalidate_cache()
        try:
            path = self._path(key) if key else self._base
            found = self._files.ls(path, detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return []
        if found == [path]:  # a file lists itself
            raise self._no_folder(path)
        return sorted(name for path in found if (name := path.rstrip("/").rsplit("/", 1)[-1]) and ".tmp-" not in name)

    def remove(self, key: str) -> None:
        """Remove a file or a folder with all that is in it; nothing happens where there is none."""
        if self._files.exists(self._path(key)):
            self._files.rm(self._path(key), recursive=True)

    def read_json(self, key: str) -> Any:
        """Read a JSON document.

        Raises:
            IntegrityError: the file is no JSON.
        """
        try:
            return json.loads(self.read(key).decode("utf-8"), parse_constant=_refuse_constant)
        except ValueError as error:
            raise IntegrityError(key, f"is no JSON ({error})") from None

    def write_json(self, key: str, document: object) -> str:
        """Write a JSON document in UTF-8, keys in their order, without NaN."""
        return self.write(key, (json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode())

    def read_table(self, key: str) -> tuple[pa.Table, dict[str, Any], str]:
        """Read a Parquet file.

        Returns:
            The table without its metadata, our footer (empty without one), and the digest of the file.

        Raises:
            IntegrityError: the file is no Parquet, or of a newer version than this program reads.
        """
        data = self.read(key)
        try:
            table = pq.ParquetFile(pa.BufferReader(data)).read()  # `read_table` imports pandas; shards would wait
        except (pa.ArrowException, OSError) as error:
            raise IntegrityError(key, f"is no Parquet file ({str(error).splitlines()[0][:200]})") from None
        footer = _footer_of(table, key)
        if fault := newer_fault(footer, TABLE_FORMAT):
            raise IntegrityError(key, fault)
        return table.replace_schema_metadata(None), footer, digest_of(data)

    def write_table(self, key: str, table: pa.Table, footer: Mapping[str, object] | None = None) -> str:
        """Write a Parquet file and return its digest.

        Args:
            footer: what the file says of itself; its format version is ours unless it says another (a table that was
                read, changed, and is written again).
        """
        buffer = io.BytesIO()
        said = json.dumps({VERSION_KEY: TABLE_FORMAT, **(footer or {})}, sort_keys=True)
        table = table.replace_schema_metadata({FOOTER: said.encode()})
        pq.write_table(table, buffer, compression="zstd", row_group_size=ROW_GROUP_ROWS)
        return self.write(key, buffer.getvalue())

    def check_writable(self) -> None:
        """Try a write and take it back; the root stays, for whoever else begins to write here.

        Raises:
            ContractError: the store can't be written.
        """
        probe = f".probe-{secrets.token_hex(4)}"
        try:
            self.write(probe, b"")
            self.remove(probe)
        except OSError as error:
            raise bad_input(f"store {self.shown_root}", f"cannot be written ({error.strerror or error})",
                            "a folder or bucket that this user may write", "Set `store` or FANFOLD_STORE.") from None

    def _no_folder(self, path: str) -> ContractError:
        return bad_input(f"store {self.shown_root}", f"cannot be written (a file is in the place of the folder {path})",
                         "a folder", "Move the file away, or set `store` or FANFOLD_STORE.")

    def _path(self, key: str) -> str:
        parts = key.split("/")
        if not key or any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
            raise IntegrityError(repr(key), "is no key inside the store")
        return f"{self._base}/{key}"


def read_source(path: str) -> bytes:
    """Read a file that the user named, from disk or any fsspec address.

    Raises:
        ContractError: there is no such file or it can't be read.
    """
    try:
        with fsspec.open(path, "rb") as file:
            data: bytes = file.read()
            return data
    except (OSError, ValueError, ImportError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise bad_input(path, f"cannot be read ({reason})", "a file that exists and may be read") from None


def concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Put tables of one schema together, also none."""
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _footer_of(table: pa.Table, key: str) -> dict[str, Any]:
    try:
        footer = json.loads((table.schema.metadata or {}).get(FOOTER, b"{}"))
    except ValueError:
        footer = None
    if not isinstance(footer, dict):
        raise IntegrityError(key, "has a footer that is no JSON object")
    return footer


def _replace_file(path: Path, data: bytes, is_durable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".tmp-{secrets.token_hex(6)}-{path.name[-100:]}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if is_durable:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a finite number")
