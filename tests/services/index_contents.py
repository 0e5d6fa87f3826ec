"""What an index holds, whole: for tests that compare one with a fresh rebuild."""

from collections import defaultdict
from pathlib import Path

from whoosh.index import open_dir

from banks.models import Bank
from recall import indexer

Contents = dict[str, dict[tuple[str, str], float]]


def contents(bank: Bank) -> Contents:
    """By id of a document: the weight of each term of each field, and `created`."""
    folder: Path = indexer.folder_of(bank)
    engine = open_dir(str(folder / (folder / "CURRENT").read_text()))
    held: Contents = {}
    with engine.reader() as reader:
        for leaf, _ in reader.leaf_readers():
            ids = {number: fields["id"] for number, fields in leaf.iter_docs()}
            assert not held.keys() & set(ids.values()), "a document stands twice"
            documents: Contents = defaultdict(dict)
            for field, term in leaf.all_terms():
                matcher = leaf.postings(field, term)
                while matcher.is_active():
                    if matcher.id() in ids:
                        documents[ids[matcher.id()]][field, term.decode()] = matcher.weight()
                    matcher.next()
            if ids:
                created = leaf.column_reader("created", translate=False)
                for number, key in ids.items():
                    documents[key]["created", ""] = created[number]
            held |= documents
    return held


def assert_index_is_as_rebuilt(bank: Bank) -> None:
    """Catching up gives what a rebuild gives."""
    assert indexer.catch_up(bank) == indexer.IndexState("ok", 0)
    followed = contents(bank)
    indexer.rebuild(bank)
    assert followed == contents(bank)
