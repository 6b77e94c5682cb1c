"""`heliograph account`: the commands of accounts, with the ledger of one."""

from heliograph.app.resources.accounts import ACCOUNTS, LEDGER
from heliograph.cli.drawn import command_of, group_of

account = group_of(ACCOUNTS)
account.add_command(command_of(LEDGER, LEDGER.operation("list"), name="ledger"))
