"""`heliograph template`: texts that are registered with operators."""

import click

from heliograph.app.resources.templates import TEMPLATES
from heliograph.cli.command import Failure, Invocation, examples, print_fields
from heliograph.cli.drawn import group_of

template = group_of(TEMPLATES)
template.epilog = examples(
    "# the operator gets these two TLVs with each message, and only registered texts",
    "heliograph connector set op1 templates=required 'tlvs=entity=0x1400/text, template=0x1401/text'",
    "heliograph template import templates.csv --account acme --tlv entity=1101456780000012345",
    "heliograph template check --sender HELIO --text 'Your code is 4711.'",
)


@template.command(
    "import",
    epilog=examples(
        "heliograph template import templates.csv --account acme --tlv entity=1101456780000012345",
        "iconv -f utf-16 -t utf-8 export.csv | heliograph template import - --sender HELIO",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--account", metavar="NAME", default="", help="The account of rows without an account [any].")
@click.option("--sender", metavar="SENDER", default="", help="The sender ID of rows without a sender ID [any].")
@click.option(
    "--tlv",
    "tlvs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A TLV that is sent with the texts, by name or number. Repeatable.",
)
@click.pass_obj
def import_templates(invocation: Invocation, file: str, account: str, sender: str, tlvs: tuple[str, ...]) -> None:
    """Adds or replaces the templates of a CSV file, all or none.

    A template replaces a known template of the same name. The file - is standard input. It is in UTF-8 with a heading;
    cells are separated by commas, semicolons or tabs. These columns are read, other columns are ignored:

    \b
      name, template name              the name
      text, content, template content  the text
      sender, sender id, header        the sender ID; several, separated by commas, make a template each
      account                          the account
      template id, entity id           the TLVs template and entity
      tlv NAME                         a further TLV
      status                           rows with a status other than approved are skipped
    """
    from heliograph.app.admin.template_table import TemplateTable
    from heliograph.app.resources.fields import Pairs
    from heliograph.cli.lists.reading import read_file, refuse_bad

    try:
        given = Pairs().parse_each(tlvs)
    except ValueError as problem:
        raise Failure(f"--tlv: {problem}.", "Nothing was imported.") from problem
    table = read_file(file, lambda lines: TemplateTable(lines, account, sender, given))
    refuse_bad(table.bad, file, table.ignored)
    if not table.templates:
        raise Failure(f"{file} has no approved template.", "Nothing was imported.")
    put = invocation.ask(TEMPLATES, "put", {"templates": table.templates})
    left_out = [{"line": each.line, "problem": each.problem} for each in table.left_out]
    lines = [("new", put["added"]), ("replaced", put["changed"]), ("not approved, skipped", len(left_out))]
    invocation.show({**put, "left_out": left_out}, lambda: print_fields(lines))
