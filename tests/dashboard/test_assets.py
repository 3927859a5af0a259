"""The page is served from a bundle, which is made of the present sources."""

import re
from pathlib import PurePosixPath

from bundle_dashboard import BUNDLE, hash_sources

from lonnymq.dashboard.files import STATIC, load_assets


def test_the_bundle_is_made_of_the_present_sources():
    """If this fails, run scripts/bundle_dashboard.py and commit the result."""
    for name in ("app.js", "style.css"):
        assert f"from sources {hash_sources()} " in (BUNDLE / name).read_text()[:200]


def test_the_page_names_three_files_and_an_icon():
    page = load_assets()["index.html"].content.decode()
    named = re.findall(r'(?:src|href)="static/([^"?]+)\?(\w+)"', page)
    assert sorted(named) == [
        (name, load_assets()[name].hash)
        for name in ("bundle/app.js", "bundle/style.css", "icon.svg", "theme.js")
    ]


def test_modules_import_only_files_that_exist():
    for name, asset in load_assets().items():
        if name.endswith(".js") and not name.startswith("bundle/"):
            for target in re.findall(r'from\s*"([^"]+)"', asset.content.decode()):
                path = STATIC / PurePosixPath(name).parent / target
                assert path.resolve().is_file(), f"{name} imports {target}"
