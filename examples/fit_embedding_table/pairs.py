#!/usr/bin/env python3
"""Collects the pairs of translations that `fit_embedding_table languages` fits pieces of other languages to.

Each line of the output: source, language, text in that language, the same in English; separated by tabs, ascending.
The same packages give the same bytes. INPUT is a folder with what these packages have, unpacked:

    INPUT/descriptions/LANGUAGE   Debian's package descriptions, LANGUAGE being en, de, fr, es, zh_CN, ja
    INPUT/deb                     libreoffice-l10n-{de,fr,es,zh-cn,ja}, libreoffice-help-{en-us,de,fr,es,zh-cn,ja},
                                  chromium (for en-US.pak), chromium-l10n, unicode-data
    INPUT/npm/NAME                cldr-{annotations,localenames,units,numbers,dates}-full,
                                  @openstreetmap/id-tagging-schema (as id-tagging-schema)
    INPUT/pypi                    home-assistant-frontend

`examples/fit_embedding_table/main.rs` has the commands that fetch them, with their versions.
"""

import bz2
import hashlib
import html
import json
import re
import struct
import sys
from pathlib import Path

LANGUAGES = ["de", "fr", "es", "zh", "ja"]
# The most pairs of a source for a language: the many texts about software don't drown the few about everyday things.
MOST = {
    "cldr": 40_000,
    "places": 40_000,
    "home": 8_000,
    "debian": 16_000,
    "office": 16_000,
    "help": 14_000,
    "browser": 12_000,
    "characters": 6_000,
    "forms": 12_000,
}
LONGEST = 300
FORMS = Path(__file__).with_name("forms.tsv")
# Names that forms are filled with, for each form and language.
FILLED = 40
IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def main(folder, output):
    folder, pairs = Path(folder), set()
    for source, language, foreign, english in collected(folder):
        foreign, english = clean(foreign), clean(english)
        if is_useful(language, foreign, english):
            pairs.add((source, language, foreign, english))
    names = sorted(pair for pair in pairs if pair[0] in ("cldr", "places") and is_name(pair[2], pair[3]))
    for language, foreign, english in forms(names):
        pairs.add(("forms", language, clean(foreign), clean(english)))
    chosen = sorted(limited(pairs))
    text = "".join("\t".join(pair) + "\n" for pair in chosen)
    Path(output).write_text(text, encoding="utf-8")
    counts = {}
    for source, language, *_ in chosen:
        counts.setdefault(source, dict.fromkeys(LANGUAGES + ["en"], 0))[language] += 1
    for source, by_language in sorted(counts.items()):
        print(source, by_language, file=sys.stderr)
    print(len(chosen), "pairs, SHA-256", hashlib.sha256(text.encode()).hexdigest(), file=sys.stderr)


def collected(folder):
    yield from descriptions(folder / "descriptions")
    yield from office(folder / "deb/usr/lib/libreoffice/program/resource")
    yield from office_help(folder / "deb/usr/share/libreoffice/help")
    yield from browser(folder / "deb/usr/lib/chromium/locales")
    yield from characters(folder / "deb/usr/share/unicode/Unihan_Readings.txt.bz2")
    yield from cldr(folder / "npm")
    yield from places(folder / "npm/id-tagging-schema/package/dist/translations")
    yield from home(folder / "pypi/hass_frontend/static/translations")


def clean(text):
    text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    text = re.sub(r"%PRODUCTNAME|%PRODUCTVERSION|%[0-9]*\$?[a-zA-Z0-9]%?|\$\(?[A-Z0-9]+\)?|\{[^{}]*\}", " ", text)
    text = re.sub(r"\([_&~][A-Z]\)", "", text)
    text = re.sub(r"[_&~…\u00ad]|\.\.\.", "", text)
    return " ".join(text.split())


def is_useful(language, foreign, english):
    if not (foreign and english) or len(foreign) > LONGEST or len(english) > LONGEST:
        return False
    if "{" in foreign or foreign.lower() == english.lower() or not re.search("[a-zA-Z]{2}", english):
        return False
    return language not in ("zh", "ja") or bool(IDEOGRAPHS.search(foreign))


def is_name(foreign, english):
    return len(english.split()) <= 2 and len(foreign) <= 24 and english.isascii()


def rank(*parts):
    return hashlib.sha256("\t".join(parts).encode()).digest()


def limited(pairs):
    groups = {}
    for pair in pairs:
        groups.setdefault(pair[:2], []).append(pair)
    for (source, _), group in groups.items():
        yield from sorted(group, key=lambda pair: rank(*pair))[: MOST[source]]


def descriptions(folder):
    """The first line, and the first three sentences of the first two paragraphs where both have equally many."""

    def read(language):
        found = {}
        for block in (folder / language).read_text(encoding="utf-8").split("\n\n"):
            checksum = re.search(r"^Description-md5: (\S+)", block, re.M)
            text = re.search(r"^Description-(?!md5)[\w-]+: (.*(?:\n .*)*)", block, re.M)
            if checksum and text:
                found[checksum[1]] = text[1]
        return found

    english = read("en")
    for language in LANGUAGES:
        for checksum, foreign in read("zh_CN" if language == "zh" else language).items():
            if checksum not in english:
                continue
            (one, *ones), (other, *others) = foreign.split("\n"), english[checksum].split("\n")
            yield "debian", language, one, other
            for one, other in list(zip(paragraphs(ones), paragraphs(others)))[:2]:
                one, other = sentences(one), sentences(other)
                if len(one) == len(other):
                    yield from (("debian", language, *pair) for pair in list(zip(one, other))[:3])


def paragraphs(lines):
    found = [""]
    for line in lines:
        if line.strip() == ".":
            found.append("")
        elif not line.startswith("  "):
            found[-1] += line
    return [paragraph.strip() for paragraph in found if paragraph.strip()]


def sentences(text):
    return [part for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])\s*", text) if part]


def office(folder):
    for language in LANGUAGES:
        for path in sorted((folder / {"zh": "zh_CN"}.get(language, language) / "LC_MESSAGES").glob("*.mo")):
            data = path.read_bytes()
            count, ids, texts = struct.unpack_from("<III", data, 8)
            for at in range(count):
                english, foreign = (
                    data[start : start + length].decode("utf-8").split("\0")[0]
                    for length, start in (struct.unpack_from("<II", data, table + 8 * at) for table in (ids, texts))
                )
                yield "office", language, foreign, english.split("\4")[-1].split("|")[-1]


def office_help(folder):
    paragraph = re.compile(r'<(?:p|h\d) id="([^"]+)"[^>]*>(.*?)</(?:p|h\d)>', re.S)
    for path in sorted((folder / "en-US/text").rglob("*.html")):
        english = dict(paragraph.findall(path.read_text(encoding="utf-8")))
        for language in LANGUAGES:
            other = folder / {"zh": "zh-CN"}.get(language, language) / path.relative_to(folder / "en-US")
            if other.exists():
                for key, foreign in paragraph.findall(other.read_text(encoding="utf-8")):
                    if key in english:
                        yield "help", language, foreign, english[key]


def browser(folder):
    def read(name):
        data = (folder / f"{name}.pak").read_bytes()
        version, count = struct.unpack_from("<I4xH", data)
        assert version == 5, name
        entries = [struct.unpack_from("<HI", data, 12 + 6 * at) for at in range(count + 1)]
        return {
            key: data[start:end].decode("utf-8", "replace") for (key, start), (_, end) in zip(entries, entries[1:])
        }

    english = read("en-US")
    for language in LANGUAGES:
        for key, foreign in read({"zh": "zh-CN"}.get(language, language)).items():
            if key in english:
                yield "browser", language, foreign, english[key]


def characters(path):
    for line in bz2.open(path, "rt", encoding="utf-8"):
        code, field, text = (line.rstrip("\n").split("\t") + ["", ""])[:3]
        if field == "kDefinition" and "4E00" <= code[2:] <= "9FFF":
            meaning = re.sub(r"\([^)]*\)|KangXi radical \d+", "", text)
            meaning = " ".join(part.strip().removeprefix("to ") for part in re.split("[;,]", meaning)[:4])
            yield "characters", "zh", chr(int(code[2:], 16)), meaning


def cldr(folder):
    def read(package, kind, language, file):
        path = folder / f"cldr-{package}-full" / "package" / kind / language / file
        return json.loads(path.read_text(encoding="utf-8"))

    def annotations(language):
        return read("annotations", "annotations", language, "annotations.json")["annotations"]["annotations"]

    def names(language):
        def of(package, file, *path):
            found = read(package, "main", language, file)["main"][language]
            for part in path:
                found = found[part]
            return found

        named = {}
        for file, kind in [("languages.json", "languages"), ("territories.json", "territories")]:
            named |= {(kind, key): [text] for key, text in of("localenames", file, "localeDisplayNames", kind).items()}
        for key, currency in of("numbers", "currencies.json", "numbers", "currencies").items():
            named["currency", key] = [currency.get("displayName", "")]
        for key, unit in of("units", "units.json", "units", "long").items():
            named["unit", key] = [unit.get("displayName", "")]
        for key, field in of("dates", "dateFields.json", "dates", "fields").items():
            for member, text in field.items():
                if isinstance(text, str):
                    named["field", key, member] = [text]
        calendar = of("dates", "ca-gregorian.json", "dates", "calendars", "gregorian")
        for part in ("months", "days", "quarters", "dayPeriods"):
            for key, text in calendar[part]["stand-alone"]["wide"].items():
                named[part, key] = [text]
        for key, zone in walk(of("dates", "timeZoneNames.json", "dates", "timeZoneNames")):
            named["zone", key] = [zone]
        return named

    english_names, english = names("en"), annotations("en")
    for language in LANGUAGES:
        for key, (text,) in names(language).items():
            if key in english_names:
                yield "cldr", language, text, english_names[key][0]
        for character, meant in annotations(language).items():
            if character not in english:
                continue
            name, words = english[character].get("tts", [""])[0], english[character].get("default", [])
            own_name, own_words = meant.get("tts", [""])[0], meant.get("default", [])
            together = " ".join([name, *words])
            yield "cldr", language, own_name, name
            yield "cldr", language, " ".join(own_words), " ".join(words)
            yield from (("cldr", language, word, together) for word in own_words)


def walk(tree, path=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from walk(value, f"{path}/{key}")
        elif isinstance(value, str):
            yield f"{path}/{key}", value


def places(folder):
    def read(language):
        path = folder / f"{'zh-CN' if language == 'zh' else language}.json"
        [tree] = json.loads(path.read_text(encoding="utf-8")).values()
        return tree["presets"]

    english = read("en")
    for language in LANGUAGES:
        own = read(language)
        for key, preset in own["presets"].items():
            known = english["presets"].get(key)
            if not known or "name" not in preset:
                continue
            terms = [preset["name"], *preset.get("aliases", []), *preset.get("terms", [])]
            yield "places", language, preset["name"], known["name"]
            yield from (("places", language, term, known["name"]) for term in terms)
            yield "places", language, " ".join(terms), " ".join([known["name"], *known.get("terms", [])])
        others = dict(walk(english["fields"]))
        for key, text in walk(own["fields"]):
            if key in others and not key.endswith("placeholder"):
                yield "places", language, text, others[key]


def home(folder):
    def read(language):
        found = {}
        for path in sorted(folder.rglob("*.json")):
            if re.fullmatch(re.escape(language) + r"-[0-9a-f]{32}\.json", path.name):
                tree = json.loads(path.read_text(encoding="utf-8"))
                found |= {f"{path.parent.name}/{key}": text for key, text in walk(tree)}
        return found

    english = read("en")
    for language in LANGUAGES:
        for key, text in read({"zh": "zh-Hans"}.get(language, language)).items():
            if key in english:
                yield "home", language, text, english[key]


def forms(names):
    """Requests as people word them, each with some names in it; alternatives are separated by ` / `."""
    header, *rows = [line.split("\t") for line in FORMS.read_text(encoding="utf-8").splitlines() if line]
    for row in rows:
        form = dict(zip(header, row, strict=True))
        for language in LANGUAGES:
            fitting = [pair for pair in names if pair[1] == language]
            for wording in form[language].split(" / "):
                if "{}" not in wording:
                    yield language, wording, form["en"]
                    continue
                fitting.sort(key=lambda pair: rank(wording, *pair))
                for _, _, foreign, english in fitting[:FILLED]:
                    yield language, wording.replace("{}", foreign), form["en"].replace("{}", english)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: pairs.py INPUT OUTPUT")
    main(*sys.argv[1:])
