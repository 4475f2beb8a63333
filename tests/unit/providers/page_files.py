"""Small files as servers send them: PDF documents and Word documents with the text that a test says."""

import io
import zipfile
from xml.sax.saxutils import escape

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf_file(*pages: str, title: str = "", created: str = "") -> bytes:
    """A PDF of these pages, in plain Latin letters; the lines of a page stand below each other."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, text in enumerate(pages):
        shown = " T* ".join(f"({line}) Tj" for line in text.split("\n"))
        content = f"BT /F1 10 Tf 12 TL 40 800 Td {shown} ET" if text else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 2000 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) /CreationDate (D:{created}) >>")
    return _pdf_of(objects)


def _pdf_of(objects: list[str]) -> bytes:
    written = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\n"
    return bytes(written) + f"{end}startxref\n{len(written)}\n%%EOF\n".encode()


def word_file(body: str, *, title: str = "", author: str = "", heading: str = "heading 1") -> bytes:
    """A Word document whose body is this WordprocessingML; the name of its style `H1` is `heading`."""
    about = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>"
        "<dcterms:modified>2024-03-05T10:00:00Z</dcterms:modified></cp:coreProperties>"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        style = f'<w:style w:styleId="H1"><w:name w:val="{heading}"/></w:style>'
        archive.writestr("word/styles.xml", f"<w:styles {W}>{style}</w:styles>")
        archive.writestr("docProps/core.xml", about)
    return packed.getvalue()


def paragraph(text: str, style: str = "") -> str:
    """A paragraph for `word_file`."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"
