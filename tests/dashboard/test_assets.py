"""The page names all of its files, under a path that changes with them."""

import re
from pathlib import PurePosixPath

from lonnymq.dashboard.assets import STATIC, load_assets, version


def test_the_page_names_every_module_and_every_style():
    page = load_assets()["index.html"].content.decode()
    named = re.findall(r'(?:src|href)="static/(\w+)/([^"]+)', page)
    assert {prefix for prefix, _ in named} == {version()}
    files = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.*s")}
    assert {name for _, name in named} == files | {"icon.svg"}


def test_modules_import_only_files_that_exist():
    for name, asset in load_assets().items():
        if name.endswith(".js"):
            for target in re.findall(r'from\s*"([^"]+)"', asset.content.decode()):
                path = STATIC / PurePosixPath(name).parent / target
                assert path.resolve().is_file(), f"{name} imports {target}"
