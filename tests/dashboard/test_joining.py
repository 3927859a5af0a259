"""The page's modules and styles are served as one file each, whatever files they are written in."""

import re

import pytest

from lonnymq.dashboard.files import STATIC, files
from lonnymq.dashboard.joining import CannotJoin, joined_modules


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_a_module_becomes_a_function_that_gives_back_its_exports():
    found = {
        "app.js": 'import { one, two as zwei } from "./lib/a.js";\nimport b from "./lib/b.js";\nuse(one, zwei, b);\n',
        "lib/a.js": 'export { three } from "./b.js";\nexport const one = 1;\nexport async function two() {}\n',
        "lib/b.js": "var x=1;export default function(){}export{x as three};",
    }
    assert lines(joined_modules(found, "app.js")) == [
        "const modules = {};",
        'modules["lib/b.js"] = (() => {',
        "var x=1;const ours = function(){}",
        "return { three: x, default: ours };",
        "})();",
        'modules["lib/a.js"] = (() => {',
        "const one = 1;",
        "async function two() {}",
        'return { three: modules["lib/b.js"].three, one, two };',
        "})();",
        'modules["app.js"] = (() => {',
        'const { one, two: zwei } = modules["lib/a.js"];',
        'const { default: b } = modules["lib/b.js"];',
        "use(one, zwei, b);",
        "return {  };",
        "})();",
    ]


@pytest.mark.parametrize(
    "line",
    [
        'import "./b.js";',
        'import * as b from "./b.js";',
        'export * from "./b.js";',
        "export let changing = 1;",
        'const late = await import("./b.js");',
        "const here = import.meta.url;",
    ],
)
def test_a_form_that_is_not_known_is_refused(line):
    with pytest.raises(CannotJoin, match=re.escape(f"app.js: {line}")):
        joined_modules({"app.js": f"{line}\n", "b.js": ""}, "app.js")


def test_modules_that_import_each_other_are_refused():
    found = {
        "app.js": 'import { b } from "./b.js";',
        "b.js": 'import { a } from "./app.js";',
    }
    with pytest.raises(CannotJoin, match=re.escape("app.js → b.js → app.js")):
        joined_modules(found, "app.js")


def test_every_module_and_every_style_is_in_what_is_served():
    script, style = (files()[name].content.decode() for name in ("page.js", "page.css"))
    named = set(re.findall(r'^modules\["([^"]+)"\] = ', script, re.M))
    there = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js")}
    assert named == there - {"theme.js"}
    for path in (STATIC / "style").iterdir():
        assert path.read_text() in style


def test_the_page_names_three_files_and_an_icon():
    page = files()["index.html"].content.decode()
    named = re.findall(r'(?:src|href)="([^"?]+)', page)
    assert sorted(named) == [
        "static/icon.svg",
        "static/page.css",
        "static/page.js",
        "static/theme.js",
    ]
