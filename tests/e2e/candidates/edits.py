"""Answers that are kept as edits of other answers, NAME.toml beside the whole ones (README.md says what such a file has)."""
import os
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class EditError(ValueError):
    """An edit that can't be applied; the message names the file and the edit."""


def header_of(text):
    """The lines `// key: value` at the top of a whole answer, and the text behind them."""
    lines, header = text.splitlines(keepends=True), {}
    while len(header) < len(lines):
        start, colon, value = lines[len(header)].partition(": ")
        key = start.removeprefix("// ")
        if not colon or key == start or not key.isidentifier() or key in header:
            break
        header[key] = value.strip()
    return header, "".join(lines[len(header):])


def apply(text, edits, name):
    """`text` with each edit's `find` replaced. All are looked for in `text` as it was, so their order means nothing."""
    places = []
    for number, edit in enumerate(edits, 1):
        what = f"{name}: edit {number}"
        find, replace = edit.get("find"), edit.get("replace")
        if not isinstance(find, str) or not isinstance(replace, str) or find == "":
            raise EditError(f"{what}: needs the texts `find`, not empty, and `replace`")
        what += f" ({find.strip().splitlines()[0] if find.strip() else 'white space'})"
        if find == replace:
            raise EditError(f"{what}: `find` and `replace` are the same")
        if (count := text.count(find)) != 1:
            raise EditError(f"{what}: `find` occurs {count} times")
        places.append((text.index(find), find, replace, what))
    made, end = "", 0
    for at, find, replace, what in sorted(places):
        if at < end:
            raise EditError(f"{what}: overlaps another edit")
        made += text[end:at] + replace
        end = at + len(find)
    return made + text[end:]


def read(path):
    """Header and text of an edited answer. The text has the header above it, as a whole answer has."""
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            keys = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise EditError(f"{name}: {error}") from None
    base, edits = keys.pop("base", ""), keys.pop("edit", [])
    if not isinstance(base, str) or not base.endswith(".cu") or not os.path.isfile(os.path.join(ROOT, base)):
        raise EditError(f"{name}: `base` is no whole answer, from the root of the repository: {base!r}")
    if not isinstance(edits, list) or not edits:
        raise EditError(f"{name}: has no [[edit]]")
    for number, edit in enumerate(edits, 1):
        if not isinstance(edit, dict) or set(edit) - {"find", "replace"}:
            raise EditError(f"{name}: edit {number}: has only `find` and `replace`")
    header = {}
    for key, value in keys.items():
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise EditError(f"{name}: {key}: is neither a text nor a whole number")
        header[key] = str(value)
    with open(os.path.join(ROOT, base), encoding="utf-8") as file:
        _, text = header_of(file.read())
    text = apply(text, edits, f"{name} (of {base})")
    return header, "".join(f"// {key}: {value}\n" for key, value in header.items()) + text
