"""`heliograph template`: texts that a registry of operators has."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import Failure, Group, Invocation, as_json, examples, print_fields, print_table, tell
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.app.admin.template_table import TemplateTable
    from heliograph.app.admin.templates import TemplateView

_SHOWN_CHARS = 48

_tlv = click.option(
    "--tlv", "tlvs", multiple=True, metavar="NAME=VALUE", help="A TLV that goes along, by name or number. Repeatable."
)


@click.group(
    cls=Group,
    epilog=examples(
        "# the operator is sent these two with each message, and nothing else than registered texts",
        "heliograph connector set op1 templates=required 'tlvs=entity=0x1400/text, template=0x1401/text'",
        "heliograph template import templates.csv --account acme --tlv entity=1101456780000012345",
        "heliograph template check --sender HELIO --text 'Your code is 4711.'",
    ),
)
def template() -> None:
    """Texts that a registry, such as India's DLT, has.

    Over a connector with the option templates=required each text must fit a template of its account and sender.
    Variables are written {#var#}, {#numeric#}, {#alphanumeric#}, {#url#}, {#email#} or {#cbn#}.

    A running gateway goes by it within five seconds. Messages that are accepted keep what they were sent with."""


@template.command(
    "add",
    epilog=examples(
        "heliograph template add otp --sender HELIO --text 'Your code is {#numeric#}. Helio' "
        "--tlv entity=1101456780000012345 --tlv template=1107161234567890123",
    ),
)
@click.argument("name")
@click.option("--text", required=True, metavar="TEXT", help="The registered text with its variables.")
@click.option("--sender", metavar="SENDER", default="", help="The sender ID that it is registered for [any].")
@click.option("--account", metavar="NAME", default="", help="The account that may use it [any].")
@_tlv
@click.pass_obj
def add_template(
    invocation: Invocation, name: str, text: str, sender: str, account: str, tlvs: tuple[str, ...]
) -> None:
    """Adds a template."""
    from heliograph.app.admin.templates import TemplateView

    wanted = TemplateView(name, text, sender, account, _tlvs(tlvs))
    added = invocation.templates(lambda manage: manage.add(wanted))
    invocation.show(_as_json(added), lambda: tell(f"Added the template {name}."))


@template.command("list", epilog=examples("heliograph template list", "heliograph template list --sender HELIO"))
@click.option("--account", metavar="NAME", help="Only those that this account may use.")
@click.option("--sender", metavar="SENDER", help="Only those that messages from this sender may fit.")
@click.pass_obj
def list_templates(invocation: Invocation, account: str | None, sender: str | None) -> None:
    """Every template, by name."""
    found = invocation.templates(lambda manage: manage.templates(account, sender))
    invocation.show(
        {"templates": [_as_json(each) for each in found]},
        lambda: print_table(
            ("NAME", "SENDER", "ACCOUNT", "TLVS", "TEXT"),
            [(each.name, each.sender or "(any)", each.account or "(any)", _said(each), _cut(each)) for each in found],
            empty="There is none: heliograph template add NAME --text TEXT",
        ),
    )


@template.command("show", epilog=examples("heliograph template show otp"))
@click.argument("name")
@click.pass_obj
def show_template(invocation: Invocation, name: str) -> None:
    """One template with its whole text."""
    found = invocation.templates(lambda manage: manage.template(name))
    invocation.show(_as_json(found), lambda: _print(found))


@template.command(
    "set",
    epilog=examples(
        "heliograph template set otp --text 'Your code is {#numeric#}.'",
        "# from any sender, and without the TLV entity",
        "heliograph template set otp --sender '' --tlv entity=",
    ),
)
@click.argument("name")
@click.option("--text", metavar="TEXT", help="The registered text with its variables [as it was].")
@click.option("--sender", metavar="SENDER", help='The sender ID; "" is any [as it was].')
@click.option("--account", metavar="NAME", help='The account that may use it; "" is any [as it was].')
@_tlv
@click.pass_obj
def set_template(
    invocation: Invocation, name: str, text: str | None, sender: str | None, account: str | None, tlvs: tuple[str, ...]
) -> None:
    """Changes a template. A TLV without a value is removed, the others stay."""
    given = _tlvs(tlvs)
    changed = invocation.templates(lambda manage: manage.set(name, text, sender, account, given))
    invocation.show(_as_json(changed), lambda: _print(changed))


@template.command("remove", epilog=examples("heliograph template remove otp"))
@click.argument("name")
@click.pass_obj
def remove_template(invocation: Invocation, name: str) -> None:
    """Removes a template: texts that fit no other are refused."""
    invocation.templates(lambda manage: manage.remove(name))
    invocation.show({"name": name, "removed": True}, lambda: tell(f"The template {name} is removed."))


@template.command(
    "import",
    epilog=examples(
        "heliograph template import templates.csv --account acme --tlv entity=1101456780000012345",
        "iconv -f utf-16 -t utf-8 export.csv | heliograph template import - --sender HELIO",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--account", metavar="NAME", default="", help="The account of rows that name none [any].")
@click.option("--sender", metavar="SENDER", default="", help="The sender ID of rows that have none [any].")
@_tlv
@click.pass_obj
def import_templates(invocation: Invocation, file: str, account: str, sender: str, tlvs: tuple[str, ...]) -> None:
    """Adds or replaces the templates of a table, all or none.

    A template whose name is there is replaced; the file - is standard input. The table is CSV in UTF-8 with a heading,
    its cells apart by commas, semicolons or tabs. Columns are known by their headings: "name" or "template name";
    "text", "content" or "template content"; "sender", "header" or "sender id" (several apart by commas make a template
    each); "template id" and "entity id", which become the TLVs template and entity; "tlv NAME" for another TLV;
    "account"; and "status": rows that are not approved are left out. Others are passed over."""
    table = _read(file, account, sender, _tlvs(tlvs))
    for line in table.bad:
        tell(str(line), err=True)
    if table.bad:
        raise Failure(f"{counted(len(table.bad), 'line')} of {file} cannot be used.", "Nothing was imported.")
    if not table.templates:
        raise Failure(f"{file} has no template that could be imported.", "Nothing was imported.")
    new = invocation.templates(lambda manage: manage.put(table.templates))
    changed = len(table.templates) - new
    left_out = [{"line": each.line, "problem": each.problem} for each in table.left_out]
    invocation.show(
        {"added": new, "changed": changed, "left_out": left_out},
        lambda: print_fields([("new", new), ("replaced", changed), ("not approved, left out", len(left_out))]),
    )


@template.command("check", epilog=examples("heliograph template check --sender HELIO --text 'Your code is 4711.'"))
@click.option("--sender", metavar="SENDER", required=True, help="The sender ID of the message.")
@click.option("--text", metavar="TEXT", required=True, help="Its content.")
@click.option("--account", metavar="NAME", help="Only templates that this account may use.")
@click.pass_obj
def check_text(invocation: Invocation, sender: str, text: str, account: str | None) -> None:
    """Tells which template a text fits, or the nearest.

    Of the nearest the first place is told where the text departs from it. Exits with 1 where it fits none."""
    from heliograph.admin_api import serialize

    found = invocation.templates(lambda manage: manage.check(sender, text, account))
    near = found.template

    def people() -> None:
        if near is None or found.fits:
            tell(found.problem if near is None else f"It fits the template {near.name}.")
        else:
            tell(f"It fits none. The nearest is {near.name}. {found.problem}")

    invocation.show(as_json(serialize.template_check(found)), people)
    if not found.fits:
        raise SystemExit(1)


def _tlvs(given: tuple[str, ...]) -> dict[str, str]:
    tlvs: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise Failure(f"{each!r} is no TLV.", "Write a name and its value, such as --tlv entity=1101456780.")
        tlvs[name.strip().lower()] = value.strip()
    return tlvs


def _read(file: str, account: str, sender: str, tlvs: dict[str, str]) -> "TemplateTable":
    from heliograph.app.admin.template_table import TemplateTable

    try:
        with click.open_file(file, encoding="utf-8") as lines:
            return TemplateTable(lines, account, sender, tlvs)
    except UnicodeDecodeError as problem:
        raise Failure(f"{file} is no UTF-8.", "Nothing was imported. Save it as CSV in UTF-8.") from problem
    except OSError as problem:
        raise Failure(f"{file} cannot be read: {problem.strerror or problem}", "Nothing was imported.") from problem


def _as_json(found: "TemplateView") -> dict[str, Any]:
    from heliograph.admin_api import serialize

    return as_json(serialize.template(found))


def _print(found: "TemplateView") -> None:
    print_fields(
        [
            ("name", found.name),
            ("sender", found.sender or "(any)"),
            ("account", found.account or "(any)"),
            ("tlvs", _said(found)),
            ("text", found.text),
        ]
    )


def _said(found: "TemplateView") -> str:
    return ", ".join(f"{name}={value}" for name, value in found.tlvs.items())


def _cut(found: "TemplateView") -> str:
    text = found.text.replace("\r\n", " ").replace("\n", " ")
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."
