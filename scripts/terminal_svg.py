"""The screen of a terminal as an SVG picture: the text of `tmux capture-pane -e`, with its colours, as text."""

import html
import re
import unicodedata

CELL, LINE, SIZE, MARGIN = 8, 17, 13, 12
# background, text, and the 16 colours of a terminal, chosen for contrast on that background
LIGHT = ("#ffffff", "#24292f", ["#24292f", "#b3261e", "#1a7f37", "#8a6100", "#0550ae", "#8250df", "#11707f", "#57606a",
                                "#6e7781", "#cf222e", "#1a7f37", "#8a6100", "#0969da", "#8250df", "#11707f", "#24292f"])
DARK = ("#0d1117", "#d6dde6", ["#484f58", "#ff7b72", "#4ac26b", "#d9a336", "#6cb0ff", "#c297ff", "#4bc4d6", "#b1bac4",
                               "#8b949e", "#ffa198", "#6fdd8b", "#e8bd5c", "#8cc4ff", "#d8b9ff", "#74d9e8", "#ffffff"])
SGR = re.compile(r"\x1b\[([\d;]*)m")


class Look:
    """How the following characters look."""

    def __init__(self):
        self.fore = self.back = None
        self.is_bold = self.is_dim = self.is_reverse = self.is_underlined = False

    def take(self, codes):
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                colour, codes = extended(codes)
                self.set(code == 38, colour)
            else:
                self.take_one(code)

    def take_one(self, code):
        if code == 0:
            self.__init__()
        elif code in (1, 2, 4, 7):
            setattr(self, {1: "is_bold", 2: "is_dim", 4: "is_underlined", 7: "is_reverse"}[code], True)
        elif code == 22:
            self.is_bold = self.is_dim = False
        elif code in (24, 27):
            setattr(self, {24: "is_underlined", 27: "is_reverse"}[code], False)
        elif code in (39, 49):
            self.set(code == 39, None)
        else:
            for first, is_fore, bright in ((30, True, 0), (40, False, 0), (90, True, 8), (100, False, 8)):
                if first <= code < first + 8:
                    self.set(is_fore, code - first + bright)

    def set(self, is_fore, colour):
        if is_fore:
            self.fore = colour
        else:
            self.back = colour

    def key(self):
        return (self.fore, self.back, self.is_bold, self.is_dim, self.is_reverse, self.is_underlined)


def extended(codes):
    """Of 5;N or 2;R;G;B behind 38 or 48: the colour, and the codes behind it."""
    if codes[:1] == [5]:
        return codes[1], codes[2:]
    return "#{:02x}{:02x}{:02x}".format(*codes[1:4]), codes[4:]


def colour_of(colour, theme, otherwise):
    if colour is None:
        return otherwise
    if isinstance(colour, str):
        return colour
    if colour < 16:
        return theme[2][colour]
    if colour >= 232:
        return "#{0:02x}{0:02x}{0:02x}".format(8 + 10 * (colour - 232))
    levels = (0, 95, 135, 175, 215, 255)
    return "#{:02x}{:02x}{:02x}".format(*(levels[(colour - 16) // step % 6] for step in (36, 6, 1)))


def runs_of(line, look):
    """(column, text, look) of the parts of a line; `look` holds on into the next line."""
    runs, column = [], 0
    for i, part in enumerate(SGR.split(line)):
        if i % 2:
            look.take(part)
        elif part:
            runs.append((column, part, look.key()))
            column += width(part)
    return runs


def width(text):
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def drawn(column, row, text, key, theme):
    fore, back, is_bold, is_dim, is_reverse, is_underlined = key
    fore, back = colour_of(fore, theme, theme[1]), colour_of(back, theme, None)
    if is_reverse:
        fore, back = back or theme[0], fore
    x, y, wide = MARGIN + column * CELL, MARGIN + row * LINE, width(text) * CELL
    box = f'<rect x="{x}" y="{y}" width="{wide}" height="{LINE}" fill="{back}"/>' if back else ""
    if not text.strip():
        return box
    style = f' fill="{fore}"' if fore != theme[1] else ""
    style += ' font-weight="bold"' if is_bold else ""
    style += ' fill-opacity="0.65"' if is_dim else ""
    style += ' text-decoration="underline"' if is_underlined else ""
    return box + "".join(f'<text x="{x + begin * CELL}" y="{y + SIZE}" '
                         f'textLength="{width(word) * CELL}"{style}>{html.escape(word)}</text>'
                         for begin, word in words_of(text))


def words_of(text):
    """(column, word): blanks between words are places, so no font shifts what stands below one another."""
    return [(width(text[:match.start()]), match[0]) for match in re.finditer(r"\S+(?: \S+)*", text)]


def picture(screen, title, theme):
    """The whole SVG. `screen`: lines with SGR sequences, all of one width or shorter."""
    look, parts, columns = Look(), [], 0
    lines = screen.rstrip("\n").split("\n")
    for row, line in enumerate(lines):
        for column, text, key in runs_of(line, look):
            parts.append(drawn(column, row, text, key, theme))
            columns = max(columns, column + width(text))
    wide, high = 2 * MARGIN + columns * CELL, 2 * MARGIN + len(lines) * LINE
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" fill="{theme[1]}" width="{wide}" height="{high}" '
            f'viewBox="0 0 {wide} {high}">\n'
            f"<title>{html.escape(title)}</title>\n"
            f"<style>text {{ font: {SIZE}px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: "
            "pre; }</style>\n"
            f'<rect width="{wide}" height="{high}" rx="6" fill="{theme[0]}" stroke="#8b949e" stroke-opacity="0.5"/>\n'
            + "\n".join(filter(None, parts)) + "\n</svg>\n")
