"""What a person does with the page, by mouse and keyboard, and what they read on it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

import halftrek as ht

Kind = Literal["->", "<->"]
_HANDLES = {"->": ".handle-arrow", "<->": ".handle-hidden"}


class Driver:
    """A tab. Places are pixels from the drawing's corner; a variable is known by where it was made."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.places: dict[str, tuple[float, float]] = {}
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            self.faults.append(message.text)

    def open(self, address: str) -> None:
        """Opens the page and waits for its tools."""
        self.page.goto(address)
        self.page.locator(".toolbar").wait_for()

    # What is drawn

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A place of the drawing as one of the window."""
        box = self.page.locator(".canvas").bounding_box()
        assert box is not None
        return box["x"] + x, box["y"] + y

    def variable(self, name: str, x: float, y: float) -> None:
        """Double-clicks and writes the name."""
        self.page.mouse.dblclick(*self.at(x, y))
        field = self.page.locator(".name-field")
        field.fill(name)
        field.press("Enter")
        field.wait_for(state="detached")
        self.places[name] = (x, y)

    def join(self, first: str, kind: Kind, second: str) -> None:
        """Drags from a handle of one variable to the other."""
        self.page.mouse.move(*self.at(*self.places[first]))
        handle = self.page.locator(_HANDLES[kind])
        handle.wait_for()
        box = handle.bounding_box()
        assert box is not None
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.mouse.down()
        self.page.mouse.move(*self.at(*self.places[second]), steps=5)
        self.page.mouse.up()

    def front_door(self) -> None:
        """The graph of smoking, tar and cancer, by mouse."""
        for name, x in (("smoking", 120), ("tar", 350), ("cancer", 600)):
            self.variable(name, x, 250)
        self.join("smoking", "->", "tar")
        self.join("tar", "->", "cancer")
        self.join("smoking", "<->", "cancer")

    def menu(self, name: str, item: str) -> None:
        """Right-clicks a variable and chooses."""
        self.page.mouse.click(*self.at(*self.places[name]), button="right")
        self.page.locator(".menu").get_by_text(item, exact=True).click()

    # What is written

    def editor(self, which: Literal["graph", "question"]) -> Locator:
        """The field of the text."""
        return self.page.locator(f"[data-editor={which}] .cm-content")

    def write(self, which: Literal["graph", "question"], text: str) -> None:
        """Replaces the text by another one, as a paste does."""
        field = self.editor(which)
        field.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Escape")

    def text(self, which: Literal["graph", "question"] = "graph") -> str:
        """What stands in the field."""
        return self.editor(which).inner_text().rstrip("\n")

    def notation(self, name: str) -> None:
        """Chooses a notation."""
        self.page.get_by_role("tab", name=name, exact=True).click()

    # What is read

    def expect_graph(self, arrows: str) -> ht.Graph:
        """Waits until the text, in arrows, is this graph."""
        wanted = ht.graph(arrows)
        for _ in range(200):
            written = self.text()
            try:
                if ht.graph(written) == wanted:
                    return wanted
            except ht.InputError:
                pass
            self.page.wait_for_timeout(50)
        raise AssertionError(f"the text is {self.text()!r}")

    def expect_verdict(self, status: str, question: str | None = None) -> str:
        """Waits for the verdict, and gives what is said of it."""
        head = self.page.locator(".verdict-head")
        if question is not None:
            expect(head).to_have_attribute("data-question", question)
        expect(head).to_have_attribute("data-status", status)
        return head.inner_text()

    def shown(self) -> str:
        """The line of the answer, as the library prints it, once it is there."""
        line = self.page.locator(".result [data-shown]").first
        line.wait_for()
        expect(self.page.locator(".result.stale")).to_have_count(0)
        found = line.get_attribute("data-shown")
        assert found is not None
        return found

    # Data

    def drop(self, path: Path) -> None:
        """Drops a file on the page."""
        transfer = self.page.evaluate_handle(
            """([name, bytes]) => {
                const data = new DataTransfer();
                data.items.add(new File([Uint8Array.from(atob(bytes), letter => letter.charCodeAt(0))], name));
                return data;
            }""",
            [path.name, b64encode(path.read_bytes()).decode()],
        )
        self.page.dispatch_event(".app", "drop", {"dataTransfer": transfer})

    def choose(self, path: Path) -> None:
        """Chooses a file by the button."""
        self.page.locator("input[type=file]").set_input_files(str(path))

    def take_away(self, item: str) -> Path:
        """Chooses from the menu of what can be taken away, and gives the file, under the name that it has."""
        self.page.get_by_role("button", name="Take away").click()
        with self.page.expect_download() as download:
            self.page.locator(".menu").get_by_text(item, exact=True).click()
        path = self.folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def file(self, name: str, columns: Mapping[str, object]) -> Path:
        """Columns as a CSV file."""
        import pandas as pd

        path = self.folder / name
        pd.DataFrame(dict(columns)).to_csv(path, index=False)
        return path
