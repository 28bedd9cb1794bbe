"""The store: whole files in, whole files out, nothing outside its root."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas.errors import ContractError, IntegrityError
from schemas.format_version import TABLE_FORMAT
from tasks.store import Store, digest_of, read_source


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


def test_what_is_written_is_read(store):
    assert store.write("e/runs/r/file", b"abc") == digest_of(b"abc")
    assert store.read("e/runs/r/file") == b"abc"
    assert (store.exists("e/runs/r/file"), store.exists("e/other")) == (True, False)


def test_writing_again_replaces(store):
    store.write("a", b"long text")
    store.write("a", b"x")
    assert store.read("a") == b"x"


@pytest.mark.parametrize("key", ["../a", "a/../b", "/a", "a//b", "", "a/./b", "a\\b", "a/\0b"])
def test_a_key_outside_the_root_is_refused(store, key):
    with pytest.raises(IntegrityError, match="no key inside the store"):
        store.write(key, b"")


def test_listing_shows_names_without_temporary_files(store, tmp_path):
    store.write("folder/b", b"")
    store.write("folder/a/c", b"")
    (tmp_path / "store" / "folder" / ".tmp-0123-b").write_bytes(b"half")
    assert store.names("folder") == ["a", "b"]
    assert store.names("nowhere") == []


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(store, tmp_path, monkeypatch):
    store.write("a", b"old")

    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store.write("a", b"new")
    assert (store.read("a"), [path.name for path in (tmp_path / "store").iterdir()]) == (b"old", ["a"])


def test_tables_keep_rows_footer_and_digest(store):
    table = pa.table({"x": pa.array([1, 2], pa.int64())})
    digest = store.write_table("t.parquet", table, {"plan_id": "p"})
    assert store.read_table("t.parquet") == (table, {"plan_id": "p", "format_version": TABLE_FORMAT}, digest)


def test_a_table_that_is_written_again_keeps_its_version(store):
    store.write_table("t.parquet", pa.table({"x": [1]}), {"format_version": 0})
    table, footer, _ = store.read_table("t.parquet")
    store.write_table("t.parquet", table, footer)
    assert store.read_table("t.parquet")[1] == {"format_version": 0}


def test_a_table_of_a_newer_version_is_refused_by_name(store):
    store.write_table("t.parquet", pa.table({"x": [1]}), {"format_version": TABLE_FORMAT + 1})
    with pytest.raises(IntegrityError, match=rf"t\.parquet: has format version {TABLE_FORMAT + 1}, "):
        store.read_table("t.parquet")


@pytest.mark.parametrize("footer", [b"[]", b"{", b"\xff"])
def test_a_footer_that_is_no_object_is_named(store, footer, tmp_path):
    table = pa.table({"x": [1]}).replace_schema_metadata({b"fanfold": footer})
    (tmp_path / "store").mkdir()
    pq.write_table(table, tmp_path / "store" / "t.parquet")
    with pytest.raises(IntegrityError, match=r"t\.parquet: has a footer that is no JSON object"):
        store.read_table("t.parquet")


@pytest.mark.parametrize("cut", [0, 3, 20])
def test_a_cut_table_is_named(store, cut):
    store.write_table("t.parquet", pa.table({"x": [1]}))
    data = store.read("t.parquet")
    store.write("t.parquet", data[:-cut] if cut else b"")
    with pytest.raises(IntegrityError, match=r"t\.parquet: is no Parquet file"):
        store.read_table("t.parquet")


@pytest.mark.parametrize("text", ["{", '{"a": NaN}', '{"a": -Infinity}'])
def test_what_is_no_json_is_named(store, text):
    store.write("d.json", text.encode())
    with pytest.raises(IntegrityError, match=r"d\.json: is no JSON"):
        store.read_json("d.json")


def test_nan_is_never_written(store):
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.write_json("d.json", {"a": float("nan")})


def test_an_unwritable_store_is_bad_input(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ContractError, match="cannot be written"):
        Store(str(tmp_path / "file" / "store")).check_writable()


def test_the_probe_of_a_store_leaves_no_file(store, tmp_path):
    store.check_writable()
    assert [path.name for path in tmp_path.rglob("*")] == ["store"]


def test_a_store_may_be_probed_while_others_write_to_it(tmp_path):
    """An audit that found the root missing must not take it away from one that just began."""
    root = tmp_path / "store"
    store = Store(str(root))

    def probe() -> None:
        for _ in range(50):
            store.check_writable()

    def write() -> None:
        for number in range(50):
            Store(str(root)).write(f"e/{number}", b"1", is_durable=False)

    with ThreadPoolExecutor() as pool:
        for work in [pool.submit(probe), pool.submit(write), pool.submit(probe)]:
            work.result()
    assert [path.name for path in root.iterdir()] == ["e"]


def test_a_missing_source_is_bad_input(tmp_path):
    with pytest.raises(ContractError, match="cannot be read"):
        read_source(str(tmp_path / "none.json"))


def test_an_object_store_is_written_by_one_put():
    store = Store("memory://bucket/root")
    store.write("e/a", b"1")
    assert (store.read("e/a"), store.names("e"), store.is_local) == (b"1", ["a"], False)


def test_a_file_in_the_place_of_a_folder_is_bad_input_and_a_stray_one_beside_holds_nothing(store, tmp_path):
    store.write("e/runs", b"")
    for touch in (lambda: store.names("e/runs"), lambda: store.write("e/runs/r1/plan.json", b"")):
        with pytest.raises(ContractError, match=rf"a file is in the place of the folder {tmp_path}/store/e/runs"):
            touch()
    assert (store.names("e/runs/r1"), store.exists("e/runs/r1/plan.json")) == ([], False)
    with pytest.raises(FileNotFoundError):
        store.read("e/runs/r1/plan.json")


@pytest.mark.parametrize("root", ["nosuch://bucket", "oss://bucket/store"])
def test_an_address_that_nobody_can_open_is_bad_input(root):
    """The second needs a package that is no part of ours."""
    with pytest.raises(ContractError, match=rf"store {root}: cannot be opened"):
        Store(root)


def test_no_message_says_a_secret_of_a_stores_address():
    with pytest.raises(ContractError, match=r"store nosuch://\S*@bucket") as caught:
        Store("nosuch://user:hush@bucket")
    assert "hush" not in str(caught.value)
