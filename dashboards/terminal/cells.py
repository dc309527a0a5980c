"""Text in lines of a fixed width, by the cells that a screen needs for each letter."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells, set_cell_size


def wrapped(said: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Return lines that fit; the first one begins with `first`, the others with `rest`."""
    lines, line, empty = [], first, True
    for word in said.split():
        for piece in chop_cells(word, width - cell_len(rest)):
            longer = line + ("" if empty else " ") + piece
            if empty or cell_len(longer) <= width:
                line, empty = longer, False
            else:
                lines.append(line)
                line = rest + piece
    return [*lines, line]


def left(cell: str, width: int) -> str:
    """Return it in so many cells, cut where it is longer."""
    return set_cell_size(cell, width) if cell_len(cell) <= width else set_cell_size(cell, width - 1) + "…"


def right(cell: str, width: int) -> str:
    """Return it at the right edge of so many cells."""
    return " " * (width - cell_len(cell)) + cell
