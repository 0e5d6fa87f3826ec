"""What people type into a search, and what it finds among a few memories about pumps."""

PUMPS = ["The pump BENCH-100821 is at h52.1", "Pump 9 runs", "Don't restart it in src/main.py"]
OTHERS = ["The crane is slow", "Shed two is dry"]
FINDS = {
    "BENCH-100821": PUMPS[:1],
    "don't restart": PUMPS[2:],
    "h52.1 - x": PUMPS[:1],
    "src/main.py": PUMPS[2:],
    "NOT pump": PUMPS[:2],
    **{nothing: [] for nothing in ('"', "(", "title:(", "a:b:c", "*", "**", "[a TO]")},
}
BLANK = ["", "   ", "\u3000"]
"""No question: a recall finds nothing, a list shows everything."""
