"""QR codes as pictures within a page."""

import io

import segno
from markupsafe import Markup

SCALE = 4


def drawn(text: str) -> Markup:
    """Returns an SVG of the text's QR code, dark on light whatever the page's colours are: cameras want it so."""
    picture = io.BytesIO()
    code = segno.make(text, error="m", micro=False)
    code.save(
        picture,
        kind="svg",
        scale=SCALE,
        border=4,
        dark="#000",
        light="#fff",
        xmldecl=False,
        svgns=True,
        title="QR code",
    )
    return Markup(picture.getvalue().decode())  # noqa: S704 - made of squares, by a library
