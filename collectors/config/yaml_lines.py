"""Reads YAML with the line of every key, and tells keys that stand twice: what messages about a config need.

PyYAML parses. Its nodes become values here, because its own constructor drops the lines, takes the last of
equal keys, and unfolds aliases without a bound. ruamel.yaml keeps lines, but stops at the first equal key.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

Place = tuple[str | int, ...]
_MOST: Final = 200_000  # values; those of an alias count each time it is used
_MERGE: Final = "tag:yaml.org,2002:merge"


class YamlMistake(Exception):  # noqa: N818 -- it speaks of the file
    """The text is not YAML that a config may have; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class YamlFile:
    """A document's plain values, and their lines; YamlMistake when it cannot be read."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Place, int] = {(): 1}
        self.duplicates: list[Place] = []
        self.duplicate_lines: list[int] = []
        self._left = _MOST
        try:
            loader = yaml.SafeLoader(text)
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise YamlMistake(line, f"the character {chr(error.character)!a} is not allowed") from None
        try:
            node = loader.get_single_node()
            self.value = self._value(loader, node, ()) if node else None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise YamlMistake(mark.line + 1 if mark else 1, error.problem or "not YAML") from None
        except RecursionError:
            raise YamlMistake(1, "it is nested too deep, or an alias stands in what it is of") from None
        except yaml.YAMLError as error:
            raise YamlMistake(1, " ".join(str(error).split())) from None
        finally:
            loader.dispose()

    def line(self, place: Place) -> int:
        """Returns the line of a place, or of the nearest one around it that has a line."""
        while place not in self.lines:
            place = place[:-1]
        return self.lines[place]

    def _value(self, loader: yaml.SafeLoader, node: yaml.Node, place: Place) -> Any:
        self._left -= 1
        if self._left < 0:
            raise yaml.MarkedYAMLError(
                problem=f"more than {_MOST} values, those of aliases each time", problem_mark=node.start_mark
            )
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            result: dict[Any, Any] = {}
            for key_node, value_node in node.value:
                if key_node.tag == _MERGE:
                    raise yaml.MarkedYAMLError(
                        problem="merge keys (`<<`) are not read: write out what they stand for",
                        problem_mark=key_node.start_mark,
                    )
                key = _made(loader, key_node)
                if not isinstance(key, str | int | float | bool | None):
                    raise yaml.MarkedYAMLError(
                        problem="a key that is not a text", problem_mark=key_node.start_mark
                    )
                inner = (*place, str(key))
                if str(key) in result:
                    self.duplicates.append(inner)
                    self.duplicate_lines.append(key_node.start_mark.line + 1)
                    continue
                self.lines[inner] = key_node.start_mark.line + 1
                result[str(key)] = self._value(loader, value_node, inner)
            return result
        if isinstance(node, yaml.SequenceNode):
            return [self._value(loader, item, (*place, n)) for n, item in enumerate(node.value)]
        return _made(loader, node)


def _made(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    try:
        return loader.construct_object(node, deep=True)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        problem = f"this is no value, or needs quotes: {error}"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None
