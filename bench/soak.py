"""A minute of 8 readers and 2 writers over one index: wrong answers, faults, growth of memory.

Two processes of four reading threads, and two writing processes of which one builds the index anew
every ten seconds. `SECONDS=...` for another time.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.soaking import soak

DOCUMENTS = 2_000


def main() -> None:
    seconds = float(os.environ.get("SECONDS", "60"))
    with tempfile.TemporaryDirectory() as folder:
        told = soak(
            Path(folder) / "1",
            seconds=seconds,
            processes=2,
            threads=4,
            writers=2,
            documents=DOCUMENTS,
        )
    print(f"\n{seconds:.0f} s, {DOCUMENTS} memories, 8 readers, 2 writers")
    for name in ("compared", "passed_by", "written"):
        print(f"  {name.replace('_', ' '):12}{sum(getattr(each, name) for each in told):8}")
    wrong, faults = (sum(len(getattr(each, name)) for each in told) for name in ("wrong", "faults"))
    print(f"  wrong       {wrong:8}\n  faults      {faults:8}")
    for each in told:
        print("".join(f"    {fault}\n" for fault in each.faults[:3]), end="")
        if each.compared:
            first, last = each.resident
            print(f"  a reading process held {first:.0f} MB in the first third, {last:.0f} at last")
    sys.exit(bool(wrong or faults))


if __name__ == "__main__":
    main()
